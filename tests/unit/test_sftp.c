// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_sftp.c - a guest's binaries by ssh: what --objects takes, and files from OpenSSH's own
 * sftp-server, behind sshd and ssh where they are installed, else behind a script called ssh; and
 * how long is waited for those that the agent sends.
 */
#include "free_port.h"
#include "gen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "collect/carry.h"
#include "collect/clock.h"
#include "collect/sftp.h"
#include "util/log.h"
#include "util/text.h"

#define SERVER "/usr/lib/openssh/sftp-server"

static char dir[64], guest[80], heard[8192];
static struct vmp_vm vm;
static const uint8_t id[] = { 0xab, 0xcd, 0xef, 1, 2, 3, 4, 5 };

static void hear(void *arg, enum vmp_log_level level, const char *text)
{
	size_t n = strlen(heard);

	(void)arg, (void)level;
	snprintf(heard + n, sizeof(heard) - n, "%s\n", text);
}

/* Run in the test's folder. */
#define sh(...) gen_sh(dir, __VA_ARGS__)

static const char *server(void)
{
	const char *path = getenv("SFTP_SERVER");

	return path ? path : SERVER;
}

/* What the collector runs as ssh */
static void ssh_is(const char *script)
{
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "%s/bin/ssh", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\necho \"$@\" >> %s/args\n%s\n", dir, script);
	fclose(f);
	assert_int_equal(chmod(path, 0755), 0);
}

static int group_setup(void **state)
{
	char path[4096];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	strcpy(dir, "/tmp/vmprof-sftp-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(guest, sizeof(guest), "%s/guest", dir);
	sh("mkdir -p bin guest cache && echo 'int visible(int x) { return x * 7; }' > x.c &&"
	   "${CC:-cc} -O2 -g -fPIC -shared -Wl,--build-id=0xabcdef0102030405 -o lib.so x.c &&"
	   "${CC:-cc} -O2 -g -fPIC -shared -Wl,--build-id=0xabcdef0102030406 -o other.so x.c &&"
	   "head -c 3000000 /dev/zero >> lib.so");
	snprintf(path, sizeof(path), "%s/cache", dir);
	setenv("VMPROF_OBJCACHE", path, 1);
	snprintf(path, sizeof(path), "%s/bin:%s", dir, getenv("PATH"));
	setenv("PATH", path, 1);
	vmp_log_set(hear, NULL);
	return 0;
}

static int group_teardown(void **state)
{
	(void)state;
	sh("rm -rf %s", dir);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	memset(&vm, 0, sizeof(vm));
	strcpy(vm.dom.shown, "web01");
	vmp_fetch_init(&vm.fetch);
	vm.fetch.verify = 1;
	vm.objects = (struct vmp_objects){ .way = VMP_OBJECTS_SSH, .host = "guest" };
	*heard = 0;
	sh("rm -rf guest cache && mkdir guest cache && rm -f args");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vmp_carry_end(&vm);
	vmp_fetch_free(&vm.fetch);
	return 0;
}

static uint64_t size_of(const char *name)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_size;
}

static void need(const char *path, const char *key, uint64_t bytes)
{
	const struct vmp_needed n = {
		.bytes = bytes, .build_id = id, .build_id_len = sizeof(id), .key = key, .path = path,
	};

	assert_int_equal(vmp_fetch_add(&vm.fetch, &n), 0);
}

/* A file below the guest's folder */
static void need_below(const char *name, const char *key)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", guest, name);
	need(path, key, size_of("lib.so"));
}

static void hear_ssh(void)
{
	struct pollfd p = vmp_carry_poll(&vm);

	if (poll(&p, 1, 20) > 0)
		vmp_carry_ready(&vm);
}

/* As the collector's loop does; 1 all is done, 0 not within @seconds */
static int carry(uint64_t skew_ns, int seconds)
{
	uint64_t until = vmp_now_ns() + (uint64_t)seconds * 1000000000;

	while (!vmp_carry_step(&vm, vmp_now_ns() + skew_ns)) {
		if (vmp_now_ns() > until)
			return 0;
		hear_ssh();
	}
	return 1;
}

/* The same up to where the agent is asked for what ssh did not find */
static void carry_to_agent(void)
{
	int i;

	vm.agent.fd = -1;
	vm.agent.state = VMP_AGENT_DONE;
	vm.agent.ksyms_whole = 1;
	for (i = 0; i < 3000 && !(vm.fetch.second && vm.fetch.asked_bytes > vm.fetch.got_bytes); i++) {
		assert_false(vmp_carry_step(&vm, vmp_now_ns()));
		hear_ssh();
	}
	assert_true(vm.fetch.second);
}

static int files_in_cache(void)
{
	char cmd[128];
	FILE *f;
	int n = -1;

	snprintf(cmd, sizeof(cmd), "find %s/cache -type f | wc -l", dir);
	f = popen(cmd, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &n), 1);
	pclose(f);
	return n;
}

static void serve(void)
{
	char script[256];

	if (access(server(), X_OK))
		skip();
	snprintf(script, sizeof(script), "exec %s", server());
	ssh_is(script);
}

/* ------------------------------------------------------------ --objects */

static struct vmp_objects parsed;

static int parse(const char *text)
{
	size_t len;

	return vmp_objects_parse(text, &parsed, &len) ? -1 : (int)len;
}

static void test_values(void **state)
{
	static const char *const bad[] = {
		"", "ssh", "ssh://", "agents", "none:", "ssh://-oProxyCommand=x", "ssh://a b", "ssh://-l@a", "ssh://@a",
		"ssh://a:", "ssh://a:0", "ssh://a:65536", "ssh://a:22x", "ssh://[::1", "ssh://[::1]22", "ssh://a/b",
		"ssh://a;b", "ssh://a\nb", "ssh://$(a)", "=none", "web01=", "web01=-a", "ssh://a@b@c", "sftp://a",
	};
	size_t i;

	(void)state;
	assert_int_equal(parse("agent"), 0);
	assert_int_equal(parsed.way, VMP_OBJECTS_AGENT);
	assert_int_equal(parse("web=1=none"), 5);
	assert_int_equal(parsed.way, VMP_OBJECTS_NONE);
	assert_int_equal(parse("ssh://root@web01.example.org:2222"), 0);
	assert_string_equal(parsed.user, "root");
	assert_string_equal(parsed.host, "web01.example.org");
	assert_string_equal(parsed.port, "2222");
	assert_int_equal(parse("ssh://[fe80::1%eth0]:22"), 0);
	assert_string_equal(parsed.host, "fe80::1%eth0");
	assert_string_equal(parsed.user, "");
	assert_int_equal(parse("web01=ssh://web01"), 5);
	assert_string_equal(parsed.port, "");
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		*heard = 0;
		assert_int_equal(parse(bad[i]), -1);
		assert_non_null(strstr(heard, "--objects "));
	}
}

static void test_choice(void **state)
{
	struct vmp_opt_list v = { { "web01=ssh://a", "none", "web02=agent" }, 3 };
	const struct vmp_opt_list two = { { "web01", "web02" }, 2 }, one = { { "web01" }, 1 };
	const struct vmp_opt_list address = { { "ssh://a" }, 1 };

	(void)state;
	assert_int_equal(vmp_objects_of(&v, "web01").way, VMP_OBJECTS_SSH);
	assert_int_equal(vmp_objects_of(&v, "web02").way, VMP_OBJECTS_AGENT);
	assert_int_equal(vmp_objects_of(&v, "web0").way, VMP_OBJECTS_NONE);
	v.nr = 0;
	assert_int_equal(vmp_objects_of(&v, "web01").way, VMP_OBJECTS_AGENT);
	v.nr = 3;
	assert_int_equal(vmp_objects_check(&v, &two, 0), 0);
	assert_int_equal(vmp_objects_check(&v, &one, 0), -EINVAL);
	assert_non_null(strstr(heard, "'web02' is not profiled"));
	assert_int_equal(vmp_objects_check(&v, &one, 1), 0);
	assert_int_equal(vmp_objects_check(&address, &one, 0), 0);
	assert_int_equal(vmp_objects_check(&address, &two, 0), -EINVAL);
	assert_int_equal(vmp_objects_check(&address, &one, 1), -EINVAL);
}

/* ---------------------------------------------------------------- files */

static void test_files(void **state)
{
	static const char *const names[] = {
		"lib.so", "-rf", "a b", "*", "[x]?", "a\nb", "\"'`$(touch x)`\\", "!ls", "\x1b[2J", "..x",
	};
	char key[64];
	int i, nr = sizeof(names) / sizeof(*names);

	(void)state;
	serve();
	for (i = 0; i < nr; i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s/%s", guest, names[i]);
		setenv("TO", path, 1);
		sh("cp lib.so \"$TO\"");
		snprintf(key, sizeof(key), "u-1/abcd%02x", i);
		need_below(names[i], key);
	}
	assert_true(carry(0, 60));
	assert_int_equal(vm.fetch.fetched, nr);
	assert_int_equal(vm.fetch.failed, 0);
	assert_int_equal(files_in_cache(), nr);
	sh("for f in cache/u-1/ab/*; do cmp lib.so $f || exit 1; done && test ! -e x && test ! -e guest/x");
	assert_null(vm.sftp);
	assert_string_equal(heard, "");
	/* it was told never to ask, and no path came near its command line */
	sh("grep -q -- '-o BatchMode=yes -o ConnectTimeout=' args && grep -q -- '-s -- guest sftp$' args &&"
	   "test $(wc -l < args) = 1");
}

static void test_refusals(void **state)
{
	char name[5000];

	(void)state;
	serve();
	sh("cp other.so guest/other.so && truncate -r lib.so guest/other.so && cp other.so guest/short.so &&"
	   "mkfifo guest/fifo && mkdir guest/dir && ln -s /dev/zero guest/zero && head -c %llu /dev/urandom > guest/random &&"
	   "ln -s nowhere guest/link && cp lib.so guest/last.so", (unsigned long long)size_of("lib.so"));
	need_below("gone.so", "u-1/abcd01");		/* absent */
	need_below("fifo", "u-1/abcd02");		/* absent: nobody waits for a writer */
	need_below("dir", "u-1/abcd03");
	need_below("zero", "u-1/abcd04");
	need_below("link", "u-1/abcd05");
	need_below("short.so", "u-1/abcd06");		/* another size */
	need_below("other.so", "u-1/abcd07");		/* another build-id */
	need_below("random", "u-1/abcd08");		/* no ELF file */
	need("[vdso]", "u-1/abcd09", 8192);		/* blind: not even the agent can send it */
	need("[vdso]", "u-1/abcd0d", 8192);		/* it could, if it were there */
	vm.fetch.items[vm.fetch.nr - 1].file = 5;
	memset(name, 'x', sizeof(name) - 1);
	name[0] = '/';
	name[4090] = 0;
	need(name, "u-1/abcd0a", 8192);
	name[4090] = 'x';
	name[sizeof(name) - 1] = 0;
	need(name, "u-1/abcd0b", 8192);
	need_below("last.so", "u-1/abcd0c");		/* all of that did not hinder this one */
	assert_true(carry(0, 60));
	assert_int_equal(vm.fetch.fetched, 1);
	assert_int_equal(vm.fetch.failed, 12);
	assert_int_equal(vm.fetch.why[VMP_FETCH_ABSENT], 8);
	assert_int_equal(vm.fetch.why[VMP_FETCH_OTHER], 3);
	assert_int_equal(vm.fetch.why[VMP_FETCH_BLIND], 1);
	assert_int_equal(files_in_cache(), 1);
}

/* The agent sends what it is asked for: of @name, if it has it. */
static void agent_sends(uint32_t file, const char *name)
{
	struct vmp_msg_object o = { .file = file, .status = name ? 0 : EACCES };
	size_t len = 0;
	char *data = NULL, path[128];

	carry_to_agent();
	assert_int_equal(vm.fetch.items[vm.fetch.at].file, file);
	if (name) {
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		data = (char *)gen_read(path, &len);
	}
	for (o.total = len; vm.fetch.second; ) {
		o.offset = vm.fetch.got_bytes;
		o.data.p = data + o.offset;
		o.data.len = (size_t)(vm.fetch.asked_bytes - o.offset);
		assert_int_equal(vmp_fetch_object(&vm.fetch, &o, vmp_now_ns()), 1);
		if (vm.fetch.second && vm.fetch.ask_rest)
			carry_to_agent();
	}
	free(data);
}

/* A container's files lie elsewhere in the guest's own root, or others lie there: the agent has them. */
static void test_container(void **state)
{
	static const char *const names[] = { "gone.so", "long.so", "other.so", "refused.so", "lib.so" };
	uint64_t size = size_of("lib.so"), room = 5 * size;
	char key[64];
	uint32_t i;

	(void)state;
	serve();
	sh("cp lib.so guest/lib.so && cp other.so guest/other.so && truncate -r lib.so guest/other.so && cat lib.so lib.so > guest/long.so");
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s/%s", guest, names[i]);
		snprintf(key, sizeof(key), "u-1/abcd%02x", i + 1);
		need(path, key, size);
		vm.fetch.items[i].file = i + 1;
	}
	vm.fetch.cache_room = &room;
	agent_sends(1, "lib.so");
	agent_sends(2, "lib.so");
	agent_sends(3, "lib.so");
	agent_sends(4, NULL);
	assert_true(carry(0, 60));
	assert_int_equal(vm.fetch.fetched, 4);
	assert_int_equal(vm.fetch.failed, 1);
	assert_int_equal(vm.fetch.why[VMP_FETCH_ABSENT], 1);
	assert_int_equal(room, size);	/* that of the one which did not come */
	assert_string_equal(heard, "");
	sh("for i in 1 2 3 5; do cmp lib.so cache/u-1/ab/cd0$i || exit 1; done; test ! -e cache/u-1/ab/cd04");
}

/* An agent that does not send it costs that file; ssh goes on. */
static void test_silent_agent(void **state)
{
	(void)state;
	serve();
	sh("cp lib.so guest/lib.so");
	need_below("lib.so", "u-1/abcd01");
	vm.fetch.items[0].path[strlen(vm.fetch.items[0].path) - 1] = 'x';
	need_below("lib.so", "u-1/abcd02");
	carry_to_agent();
	vm.fetch.heard_ns -= VMP_FETCH_PATIENCE_NS;
	assert_false(vmp_carry_step(&vm, vmp_now_ns()));
	assert_int_equal(vm.fetch.why[VMP_FETCH_SLOW], 1);
	assert_true(carry(0, 60));
	assert_int_equal(vm.fetch.fetched, 1);
	assert_string_equal(heard, "");
}

static void test_limits(void **state)
{
	uint64_t room = size_of("lib.so") + 100;

	(void)state;
	serve();
	sh("cp lib.so guest/a && cp lib.so guest/b");
	need_below("a", "u-1/abcd01");
	need_below("b", "u-1/abcd02");
	vm.fetch.cache_room = &room;
	assert_true(carry(0, 60));
	assert_int_equal(vm.fetch.fetched, 1);
	assert_int_equal(vm.fetch.why[VMP_FETCH_ROOM], 1);
	assert_int_equal(room, 100);
}

/* --------------------------------------------------- servers that are none */

static void is_cut(const char *script, const char *says, enum vmp_fetch_cause why)
{
	assert_int_equal(setup(NULL), 0);
	ssh_is(script);
	need_below("a", "u-1/abcd01");
	need_below("b", "u-1/abcd02");
	assert_true(carry(0, 40));	/* the scripts sleep for longer */
	assert_int_equal(vm.fetch.failed, 2);
	assert_int_equal(vm.fetch.why[why], 2);
	assert_non_null(strstr(heard, says));
	assert_null(strchr(heard, '\x1b'));
	assert_int_equal(files_in_cache(), 0);
	teardown(NULL);
}

/* Version 3; when something was asked for; then of request 0: a regular file of the right size; the next request */
#define ASKED \
	"printf '\\0\\0\\0\\5\\2\\0\\0\\0\\3'; head -c $ASKED > /dev/null;"
#define ATTRS_FOR_IT ASKED \
	"printf '\\0\\0\\0\\25\\151\\0\\0\\0\\0\\0\\0\\0\\5\\0\\0\\0\\0'; printf $BYTES; printf '\\0\\0\\201\\244'; head -c $OPENED > /dev/null;"

static void test_cut(void **state)
{
	uint64_t n = size_of("lib.so");
	char bytes[32];

	(void)state;
	snprintf(bytes, sizeof(bytes), "\\%03o\\%03o\\%03o\\%03o", (unsigned)(n >> 24 & 255), (unsigned)(n >> 16 & 255),
		 (unsigned)(n >> 8 & 255), (unsigned)(n & 255));
	setenv("BYTES", bytes, 1);
	/* INIT and STAT; OPEN */
	snprintf(bytes, sizeof(bytes), "%zu", 9 + 13 + strlen(guest) + 2);
	setenv("ASKED", bytes, 1);
	snprintf(bytes, sizeof(bytes), "%zu", 13 + strlen(guest) + 2 + 8);
	setenv("OPENED", bytes, 1);
	is_cut("echo 'who are you\\033[2J?' >&2; exit 255", "web01: ssh to guest: who are you\\x1b[2J?", VMP_FETCH_CUT);
	is_cut("exit 255", "ssh ended without a word", VMP_FETCH_CUT);
	is_cut("kill -9 $$", "ssh ended without a word", VMP_FETCH_CUT);
	is_cut("echo 'Welcome to this guest!'", "no sftp server", VMP_FETCH_CUT);
	/* VERSION 2; VERSION 3 and then something that nobody asked for; and no end of it */
	is_cut("printf '\\0\\0\\0\\5\\2\\0\\0\\0\\2'; sleep 60", "no sftp server", VMP_FETCH_CUT);
	is_cut("printf '\\0\\0\\0\\5\\2\\0\\0\\0\\3\\0\\0\\0\\5\\145\\0\\0\\0\\11'; sleep 60", "nobody asked", VMP_FETCH_CUT);
	is_cut("printf '\\0\\0\\0\\5\\2\\0\\0\\0\\3\\0\\377\\0\\0'; sleep 60", "impossible messages", VMP_FETCH_CUT);
	is_cut("printf '\\0\\0\\0\\5\\2\\0\\0\\0\\3'; cat /dev/zero", "impossible messages", VMP_FETCH_CUT);
	is_cut("exec yes", "no sftp server", VMP_FETCH_CUT);
	/* when something was asked, request 0: another's answer; a handle without an end; more data than was asked for */
	is_cut(ASKED "printf '\\0\\0\\0\\5\\145\\0\\0\\0\\11'; sleep 60", "nobody asked",
	       VMP_FETCH_CUT);
	is_cut(ATTRS_FOR_IT "printf '\\0\\0\\0\\11\\146\\0\\0\\0\\1\\377\\377\\377\\377'; sleep 60", "impossible handle", VMP_FETCH_CUT);
	is_cut(ATTRS_FOR_IT "printf '\\0\\0\\0\\12\\146\\0\\0\\0\\1\\0\\0\\0\\1x'; head -c 26 > /dev/null; printf '\\0\\0\\200\\12\\147\\0\\0\\0\\2\\0\\0\\200\\1';"
	       "head -c 32769 /dev/zero; sleep 60", "more than it was asked for", VMP_FETCH_CUT);
}

/* OpenSSH's server, of whose answers some bytes are wrong */
static void test_damaged(void **state)
{
	static const char damage[] =
		"import os, random, sys\n"
		"r = random.Random(int(sys.argv[1]))\n"
		"while True:\n"
		"    b = bytearray(os.read(0, 65536))\n"
		"    if not b: break\n"
		"    if r.random() < (0.4, 0.05, 0.01)[int(sys.argv[1]) % 3]: b[r.randrange(min(len(b), 64))] = r.choice((0, 1, 0x7f, 0x80, 0xff, r.randrange(256)))\n"
		"    while b: b = b[os.write(1, b):]\n";
	char script[256], path[96];
	int seed, fetched = 0;
	FILE *f;

	(void)state;
	if (access(server(), X_OK))
		skip();
	snprintf(path, sizeof(path), "%s/damage.py", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(damage, f);
	fclose(f);
	for (seed = 1; seed <= 30; seed++) {
		assert_int_equal(setup(NULL), 0);
		snprintf(script, sizeof(script), "%s | python3 %s %d", server(), path, seed);
		ssh_is(script);
		sh("cp lib.so guest/a && cp lib.so guest/b");
		need_below("a", "u-1/abcd01");
		need_below("b", "u-1/abcd02");
		/* a length that is wrong may leave both sides waiting */
		if (!carry(0, 2))
			assert_true(carry(VMP_SFTP_PATIENCE_NS, 20));
		assert_int_equal(vm.fetch.fetched + vm.fetch.failed, 2);
		assert_int_equal(files_in_cache(), vm.fetch.fetched);
		fetched += vm.fetch.fetched;
		teardown(NULL);
	}
	/* neither all nor none of it was damaged */
	assert_in_range(fetched, 1, 59);
}

/* One that hangs, before and after it let us in: given up by the clock, which the test sets forward */
static void test_hangs(void **state)
{
	int i;

	(void)state;
	ssh_is("exec sleep 1000");
	need_below("a", "u-1/abcd01");
	assert_false(carry(0, 1));
	assert_true(carry(VMP_SFTP_PATIENCE_NS, 20));
	assert_int_equal(vm.fetch.why[VMP_FETCH_SLOW], 1);
	assert_non_null(strstr(heard, "the guest does not answer"));
	teardown(NULL);
	setup(NULL);
	ssh_is("printf '\\0\\0\\0\\5\\2\\0\\0\\0\\3'; exec sleep 1000");
	need_below("a", "u-1/abcd01");
	need_below("b", "u-1/abcd02");
	for (i = 0; i < 40 && vm.fetch.fd < 0; i++)	/* until it was let in, and asks */
		assert_false(carry(0, 1));
	assert_int_equal(vmp_carry_step(&vm, vmp_now_ns() + VMP_FETCH_PATIENCE_NS + 2000000000), 1);
	/* the others would have to wait for it: the way is given up with it */
	assert_int_equal(vm.fetch.why[VMP_FETCH_SLOW], 2);
	assert_null(vm.sftp);
}

/* The guest ends while it sends */
static void test_gone(void **state)
{
	(void)state;
	serve();
	sh("cp lib.so guest/a");
	need_below("a", "u-1/abcd01");
	assert_false(vmp_carry_step(&vm, vmp_now_ns()));
	vm.gone = 1;
	assert_true(vmp_carry_step(&vm, vmp_now_ns()));
	assert_int_equal(vm.fetch.why[VMP_FETCH_CUT], 1);
	assert_null(vm.sftp);
	assert_int_equal(files_in_cache(), 0);
}

/* By the agent, which sends its kernel's symbols first: a guest that still does is not silent */
static void test_agent(void **state)
{
	uint64_t now_ns = vmp_now_ns();

	(void)state;
	vm.objects.way = VMP_OBJECTS_AGENT;
	vm.agent.fd = -1;
	vm.agent.state = VMP_AGENT_DONE;
	need("/bin/a", "u-1/abcd01", 100);
	need("/bin/b", "u-1/abcd02", 100);
	assert_false(vmp_carry_step(&vm, now_ns));
	now_ns += VMP_FETCH_PATIENCE_NS;
	vm.agent.heard_ns = now_ns;
	assert_false(vmp_carry_step(&vm, ++now_ns));
	assert_int_equal(vm.fetch.why[VMP_FETCH_SLOW], 0);
	/* they have come, and nothing else */
	vm.agent.ksyms_whole = 1;
	now_ns += VMP_FETCH_PATIENCE_NS;
	vm.agent.heard_ns = now_ns;
	assert_false(vmp_carry_step(&vm, now_ns));
	assert_int_equal(vm.fetch.why[VMP_FETCH_SLOW], 1);
	/* a guest that falls silent before it has sent them is late */
	vm.agent.ksyms_whole = 0;
	assert_true(vmp_carry_step(&vm, now_ns + VMP_FETCH_PATIENCE_NS + 1));
	assert_int_equal(vm.fetch.why[VMP_FETCH_SLOW], 2);
}

/* What the cache has is not fetched: no connection is made */
static void test_cached(void **state)
{
	(void)state;
	ssh_is("exit 1");
	sh("mkdir -p cache/u-1/ab && cp lib.so cache/u-1/ab/cd01");
	need_below("a", "u-1/abcd01");
	assert_true(carry(0, 5));
	assert_int_equal(vm.fetch.failed, 0);
	sh("test ! -e args");
}

/* ------------------------------------------------------- a real sshd and ssh */

static void test_ssh(void **state)
{
	pid_t pid;
	FILE *f;
	char path[128], line[64] = "";
	int port = free_port();

	(void)state;
	if (access("/usr/sbin/sshd", X_OK) || access("/usr/bin/ssh", X_OK) || access(server(), X_OK))
		skip();
	sh("{ test $(id -u) != 0 || mkdir -p /run/sshd; } && ssh-keygen -q -t ed25519 -N '' -f hostkey && ssh-keygen -q -t ed25519 -N '' -f key &&"
	   "cp key.pub authorized");
	sh("printf 'Port %d\\nListenAddress 127.0.0.1\\nHostKey %s/hostkey\\nAuthorizedKeysFile %s/authorized\\n"
	   "PidFile %s/sshd.pid\\nStrictModes no\\nUsePAM no\\nPasswordAuthentication no\\nKbdInteractiveAuthentication no\\n"
	   "Subsystem sftp %s\\n' > sshd_config", port, dir, dir, dir, server());
	sh("/usr/sbin/sshd -f %s/sshd_config -E %s/sshd.log; for i in $(seq 600); do test -s sshd.pid && break; sleep 0.1; done", dir, dir);
	snprintf(path, sizeof(path), "%s/sshd.pid", dir);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	pid = atoi(line);
	assert_true(pid > 1);
	snprintf(vm.objects.host, sizeof(vm.objects.host), "127.0.0.1");
	snprintf(vm.objects.port, sizeof(vm.objects.port), "%d", port);
	sh("printf '[127.0.0.1]:%d ' > known && cut -d' ' -f1,2 hostkey.pub >> known && : > unknown && cp lib.so 'guest/a b'",
	   port);
	snprintf(path, sizeof(path), "exec /usr/bin/ssh -F %s/config \"$@\"", dir);
	ssh_is(path);

	/* the host is not known: nobody is asked, nothing is sent */
	sh("printf 'IdentityFile %s/key\\nUserKnownHostsFile %s/unknown\\nGlobalKnownHostsFile none\\n' > config", dir, dir);
	need_below("a b", "u-1/abcd01");
	assert_true(carry(0, 60));
	assert_int_equal(vm.fetch.why[VMP_FETCH_CUT], 1);
	assert_non_null(strstr(heard, "Host key verification failed"));
	teardown(NULL);

	/* no key: no password is asked for */
	vmp_fetch_init(&vm.fetch);
	*heard = 0;
	sh("printf 'IdentityFile %s/hostkey\\nIdentitiesOnly yes\\nUserKnownHostsFile %s/known\\n' > config", dir, dir);
	need_below("a b", "u-1/abcd01");
	assert_true(carry(0, 60));
	assert_int_equal(vm.fetch.why[VMP_FETCH_CUT], 1);
	assert_non_null(strstr(heard, "Permission denied"));
	teardown(NULL);

	vmp_fetch_init(&vm.fetch);
	vm.fetch.verify = 1;
	*heard = 0;
	sh("printf 'IdentityFile %s/key\\nUserKnownHostsFile %s/known\\n' > config", dir, dir);
	need_below("a b", "u-1/abcd01");
	need_below("gone", "u-1/abcd02");
	assert_true(carry(0, 60));
	assert_string_equal(heard, "");
	assert_int_equal(vm.fetch.fetched, 1);
	assert_int_equal(vm.fetch.why[VMP_FETCH_ABSENT], 1);
	sh("cmp lib.so cache/u-1/ab/cd01");
	kill(pid, SIGTERM);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values), cmocka_unit_test(test_choice), T(test_files), T(test_refusals),
		T(test_container), T(test_silent_agent),
		T(test_limits), cmocka_unit_test(test_cut), cmocka_unit_test(test_damaged), T(test_hangs), T(test_gone), T(test_cached), T(test_agent), T(test_ssh),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
