// SPDX-License-Identifier: GPL-2.0-only
/* test_early.c - binaries that go with their processes: fetched while the session samples, one after the other, slowly. */
#include "cached.h"

#include <sys/socket.h>

#include "collect/early.h"
#include "collect/session.h"
#include "elf_id.h"

#define SECOND	1000000000ULL
#define UUID	"01234567-89ab-cdef-0123-456789abcdef"
#define OWN	VMPROF_FILE_FLEETING

static struct vmp_vm vm;
static int guest = -1;			/* its end of the channel */
static uint32_t guest_seq;
static struct vmp_frame_decoder heard;	/* what the host sent */
static uint64_t now_ns;
static char *program;			/* some program's bytes */
static size_t program_len;
static struct vmp_build_id id;

static void keep(void *arg, const struct vmprof_frame *wire, const void *payload, uint32_t len)
{
	(void)arg;
	(void)wire;
	(void)payload;
	(void)len;
}

static int object(void *arg, const struct vmp_msg_object *o)
{
	(void)arg;
	return vmp_fetch_object(&vm.early, o, now_ns);
}

static void changed(void *arg)
{
	(void)arg;
}

static void file(void *arg, const struct vmp_msg_file *m)
{
	vmp_early_take(arg, m);
}

static void say(uint16_t type, const void *payload, size_t len)
{
	struct vmprof_frame f;

	vmp_frame_build(&f, type, guest_seq++, payload, len);
	assert_int_equal(write(guest, &f, sizeof(f)), sizeof(f));
	assert_int_equal(write(guest, payload, len), len);
	vmp_agent_ready(&vm.agent, POLLIN, now_ns);
}

/* The next frame that the host sent; 0 none */
static unsigned int hear(struct vmp_agent_msg *m)
{
	struct vmprof_frame f;
	const void *payload;
	size_t room;
	void *to;
	ssize_t n;

	if (!vmp_frame_next(&heard, &f, &payload)) {
		to = vmp_frame_space(&heard, &room);
		n = read(guest, to, room);
		vmp_frame_fed(&heard, n > 0 ? (size_t)n : 0);
		if (!vmp_frame_next(&heard, &f, &payload))
			return 0;
	}
	assert_int_equal(vmp_agent_msg_parse(f.type, payload, f.len, m), 0);
	return f.type;
}

static void say_hello(void)
{
	const struct vmprof_hello h = { .version = htole32(VMPROF_PROTO_VERSION), .compat = htole32(1) };
	struct vmp_agent_msg m;

	assert_int_equal(hear(&m), VMPROF_MSG_HOST_HELLO);
	guest_seq = 0;
	say(VMPROF_MSG_HELLO, &h, sizeof(h));
}

/* Up to the first whole snapshot */
static void get_running(void)
{
	struct vmprof_token t = { 0 };
	struct vmp_agent_msg m;

	say_hello();
	assert_int_equal(hear(&m), VMPROF_MSG_START);
	t.token = htole64(m.token.token);
	say(VMPROF_MSG_SNAP_BEGIN, &t, sizeof(t));
	say(VMPROF_MSG_SNAP_END, &t, sizeof(t));
	assert_int_equal(vm.agent.state, VMP_AGENT_RUNNING);
}

static int setup(void **state)
{
	static const struct vmp_agent_ops ops = { keep, object, changed, NULL, file };
	int fd = open("/bin/true", O_RDONLY | O_CLOEXEC), pair[2];
	struct vmp_elf_source src = vmp_elf_fd(&fd);

	if (make_cache(state) || vmp_elf_build_id(&src, &id) || vmp_file_read("/bin/true", 1 << 24, &program, &program_len) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
		return -1;
	close(fd);
	memset(&vm, 0, sizeof(vm));
	strcpy(vm.dom.uuid, UUID);
	vmp_early_init(&vm);
	now_ns = 10 * SECOND;
	vmp_frame_decoder_init(&heard);
	guest = pair[1];
	vmp_agent_init(&vm.agent, 0x1234, &ops, &vm);
	vmp_agent_adopt(&vm.agent, pair[0], now_ns);
	get_running();
	return 0;
}

static int teardown(void **state)
{
	vmp_agent_close(&vm.agent);
	vmp_fetch_free(&vm.early);
	close(guest);
	free(program);
	return remove_cache(state);
}

/* @last: of its build-id, which is else the program's */
static void say_file(uint32_t number, uint32_t flags, uint64_t bytes, uint8_t last)
{
	struct vmprof_file f = {
		.file = htole32(number), .flags = htole32(flags), .ino = htole64(number), .bytes = htole64(bytes),
		.build_id_len = htole32(id.len), .path_len = htole32(4),
	};
	char wire[sizeof(f) + 4];

	memcpy(f.build_id, id.bytes, id.len);
	f.build_id[id.len - 1] ^= last;
	memcpy(wire, &f, sizeof(f));
	memcpy(wire + sizeof(f), "/app", 4);
	say(VMPROF_MSG_FILE, wire, sizeof(wire));
}

/* What the host asks for now: a file's number, 0 nothing */
static uint32_t asks(int more, struct vmp_msg_get_object *ask)
{
	struct vmp_agent_msg m;
	unsigned int type;

	vmp_early_step(&vm, now_ns, more);
	while ((type = hear(&m)) == VMPROF_MSG_CREDIT)
		;
	if (type != VMPROF_MSG_GET_OBJECT)
		return 0;
	if (ask)
		*ask = m.get_object;
	return m.get_object.file;
}

/* @len bytes of a file from @from on, in pieces; @data is all of it */
static void send_object(uint32_t number, const char *data, size_t from, size_t len, size_t total)
{
	const struct vmprof_object o = { .file = htole32(number), .offset = htole64(from), .total = htole64(total) };
	char wire[sizeof(o) + 16384];
	size_t n;

	for (; len; len -= n, from += n) {
		struct vmprof_object piece = o;

		n = len < 16384 ? len : 16384;
		piece.offset = htole64(from);
		memcpy(wire, &piece, sizeof(piece));
		memcpy(wire + sizeof(piece), data + from, n);
		say(VMPROF_MSG_OBJECT, wire, sizeof(piece) + n);
	}
}

static void test_fetched(void **state)
{
	char key[VMP_OBJKEY_MAX], path[4096], *data;
	struct vmp_msg_get_object ask;
	struct vmp_msg_file m = { .build_id_len = id.len };
	size_t len;

	(void)state;
	say_file(1, 0, program_len, 0);
	assert_int_equal(asks(1, NULL), 0);		/* it stays where it is */
	say_file(2, OWN, program_len, 0);
	assert_int_equal(asks(1, &ask), 2);
	assert_int_equal(ask.offset, 0);
	assert_int_equal(ask.len, program_len);
	assert_int_equal(asks(1, NULL), 0);
	send_object(2, program, 0, program_len, program_len);
	memcpy(m.build_id, id.bytes, id.len);
	vmp_objcache_key(key, vm.agent.boot_id, &m);
	vmp_objcache_own(key, UUID);
	assert_true(vmp_objcache_has(key));
	assert_int_equal(vmp_objcache_path(path, sizeof(path), key), 0);
	assert_int_equal(vmp_file_read(path, 1 << 24, &data, &len), 0);
	assert_int_equal(len, program_len);
	assert_memory_equal(data, program, len);
	free(data);
	/* the same in another container */
	say_file(3, OWN, program_len, 0);
	assert_int_equal(asks(1, NULL), 0);
}

/* The agent goes, and comes again */
static void come_again(void)
{
	vmp_agent_gone(&vm.agent);
	vmp_early_step(&vm, now_ns, 1);
	get_running();
}

/* Two containers of one image: the second's is asked for where the first's does not come, and only there */
static void test_twins(void **state)
{
	(void)state;
	say_file(1, OWN, program_len, 0);
	say_file(2, OWN, program_len, 0);
	say_file(3, OWN, program_len, 0);
	assert_int_equal(asks(1, NULL), 1);
	send_object(1, program, 1, 1, program_len);	/* no answer to what was asked */
	assert_int_equal(asks(1, NULL), 2);
	send_object(2, program, 0, program_len, program_len);
	assert_int_equal(asks(1, NULL), 0);
	assert_int_equal(files_in_cache(), 1);
}

/* What is not what it was said to be, or cannot be judged, is not there */
static void test_refused(void **state)
{
	const struct vmprof_file blind = { .file = htole32(5), .flags = htole32(OWN), .bytes = htole64(100) };

	(void)state;
	say_file(1, OWN, program_len, 1);
	assert_int_equal(asks(1, NULL), 1);
	send_object(1, program, 0, program_len, program_len);
	say_file(2, OWN | VMPROF_FILE_NO_ACCESS, program_len, 2);
	say_file(3, OWN, 0, 3);
	say_file(4, OWN, VMP_EARLY_SUM_BYTES + 1, 4);
	say(VMPROF_MSG_FILE, &blind, sizeof(blind));
	vm.objects.way = VMP_OBJECTS_NONE;
	say_file(6, OWN, program_len, 6);
	vm.objects.way = VMP_OBJECTS_AGENT;
	assert_int_equal(asks(1, NULL), 0);
	assert_int_equal(files_in_cache(), 0);
}

static void test_slowly(void **state)
{
	static char zeros[VMP_EARLY_RATE_BYTES];
	const size_t total = 3 * VMP_EARLY_RATE_BYTES / 2;
	struct vmp_msg_get_object ask;

	(void)state;
	say_file(1, OWN, total, 1);
	assert_int_equal(asks(1, &ask), 1);
	assert_int_equal(ask.len, VMP_EARLY_RATE_BYTES);
	send_object(1, zeros, 0, VMP_EARLY_RATE_BYTES, total);
	assert_int_equal(asks(1, NULL), 0);		/* that was enough for a second */
	now_ns += SECOND;
	assert_int_equal(asks(1, &ask), 1);
	assert_int_equal(ask.offset, VMP_EARLY_RATE_BYTES);
	assert_int_equal(ask.len, total - VMP_EARLY_RATE_BYTES);
}

/* All guests of a session have one room */
static void test_room_of_all(void **state)
{
	static struct vmp_session session;

	(void)state;
	session.early_room = VMP_EARLY_LEAST_BYTES + 1;
	vm.session = &session;
	vmp_early_forget(&vm);
	say_file(1, OWN, program_len, 0);
	assert_int_equal(asks(1, NULL), 1);
	assert_int_equal(session.early_room, 1);
	send_object(1, program, 0, program_len, program_len);
	assert_int_equal(files_in_cache(), 1);
	say_file(2, OWN, program_len, 1);
	assert_int_equal(asks(1, NULL), 0);
	assert_int_equal(vm.early.why[VMP_FETCH_ROOM], 1);
	/* what does not come takes none */
	session.early_room = VMP_EARLY_LEAST_BYTES;
	say_file(3, OWN, program_len, 3);
	assert_int_equal(asks(1, NULL), 3);
	assert_int_equal(session.early_room, 0);
	send_object(3, program, 1, 1, program_len);
	assert_int_equal(session.early_room, VMP_EARLY_LEAST_BYTES);
}

/* A file of one byte counts for its work: a second has its number of them, however often the agent comes */
static void test_tiny(void **state)
{
	const uint32_t a_second = VMP_EARLY_RATE_BYTES / VMP_EARLY_LEAST_BYTES;
	uint32_t i, asked;

	(void)state;
	for (i = 1; i <= 2 * a_second; i++)
		say_file(i, OWN, 1, (uint8_t)i);
	for (asked = 0; asks(1, NULL) == asked + 1; asked++)
		send_object(asked + 1, program, 0, 1, 1);	/* it is no binary: it goes again */
	assert_int_equal(asked, a_second);
	come_again();
	say_file(1, OWN, 1, 1);
	assert_int_equal(asks(1, NULL), 0);
	now_ns += SECOND;
	assert_int_equal(asks(1, NULL), 1);
	/* where its room is used up nothing more is made */
	come_again();
	now_ns += SECOND;
	vm.early_room = VMP_EARLY_LEAST_BYTES - 1;
	say_file(1, OWN, 1, 1);
	assert_int_equal(asks(1, NULL), 0);
	assert_int_equal(vm.early.why[VMP_FETCH_ROOM], 1);
	assert_int_equal(files_in_cache(), 0);
}

/* Copies of one program, and what does not come, cost nothing of what others may have */
static void test_copies(void **state)
{
	const uint64_t bytes = VMP_EARLY_SUM_BYTES / 2;
	uint32_t i;

	(void)state;
	for (i = 1; i <= 40; i++)
		say_file(i, OWN, bytes, 1);
	say_file(41, OWN, program_len, 0);
	for (i = 1; i <= 40; i++) {
		assert_int_equal(asks(1, NULL), i);
		send_object(i, program, 1, 1, bytes);	/* none comes */
		now_ns += SECOND;
	}
	assert_int_equal(asks(1, NULL), 41);
	send_object(41, program, 0, program_len, program_len);
	assert_int_equal(files_in_cache(), 1);
	assert_int_equal(vm.early_room, VMP_EARLY_SUM_BYTES - VMP_EARLY_LEAST_BYTES);
}

/* Where the session ends, what was begun comes to its end, and nothing more begins */
static void test_end(void **state)
{
	(void)state;
	say_file(1, OWN, program_len, 0);
	say_file(2, OWN, program_len, 1);
	assert_int_equal(asks(1, NULL), 1);
	assert_int_equal(vmp_early_step(&vm, now_ns, 0), 0);
	send_object(1, program, 0, program_len, program_len);
	assert_int_equal(vmp_early_step(&vm, now_ns, 0), 1);
	assert_int_equal(asks(0, NULL), 0);
	assert_int_equal(files_in_cache(), 1);
}

/* An agent that comes again has other handles; what was fetched counts all the same, and what was not counts no more */
static void test_again(void **state)
{
	(void)state;
	say_file(1, OWN, program_len, 0);
	assert_int_equal(asks(1, NULL), 1);
	assert_int_equal(vm.early_room, VMP_EARLY_SUM_BYTES - VMP_EARLY_LEAST_BYTES);
	come_again();
	assert_int_equal(asks(1, NULL), 0);
	assert_int_equal(vm.early_room, VMP_EARLY_SUM_BYTES);
	say_file(2, OWN, program_len, 0);
	assert_int_equal(asks(1, NULL), 2);
	send_object(2, program, 0, program_len, program_len);
	come_again();
	assert_int_equal(vm.early_room, VMP_EARLY_SUM_BYTES - VMP_EARLY_LEAST_BYTES);
	now_ns += SECOND;
	/* one that does not answer is not waited for */
	say_file(7, OWN, program_len, 7);
	assert_int_equal(asks(1, NULL), 7);
	now_ns += VMP_FETCH_PATIENCE_NS + 1;
	assert_int_equal(vmp_early_step(&vm, now_ns, 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_fetched, setup, teardown),
		cmocka_unit_test_setup_teardown(test_twins, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slowly, setup, teardown),
		cmocka_unit_test_setup_teardown(test_room_of_all, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tiny, setup, teardown),
		cmocka_unit_test_setup_teardown(test_copies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_again, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
