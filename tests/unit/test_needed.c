// SPDX-License-Identifier: GPL-2.0-only
/* test_needed.c - which of the guest's files a capture needs for its names. */
#include "modelled.h"

#include <signal.h>
#include <sys/wait.h>

#include "collect/needs.h"

#define PATIENCE_NS	600000000000ULL

struct needed {
	uint32_t vm[8], file[8];
	char key[8][VMP_OBJKEY_MAX], path[8][64];
	int nr;
	uint32_t elsewhere[8];	/* other files of the last one's content */
	int nr_elsewhere;
};

static int on_needed(void *arg, const struct vmp_needed *needed)
{
	struct needed *n = arg;

	assert_true(needed->bytes > 0);
	if (needed->elsewhere) {
		assert_string_equal(needed->key, n->key[n->nr - 1]);
		n->elsewhere[n->nr_elsewhere++] = needed->file;
		return 0;
	}
	assert_true(needed->build_id_len == 2 || strstr(needed->key, "/x"));
	n->vm[n->nr] = needed->vm;
	n->file[n->nr] = needed->file;
	snprintf(n->path[n->nr], sizeof(n->path[0]), "%s", needed->path);
	snprintf(n->key[n->nr++], sizeof(n->key[0]), "%s", needed->key);
	return 0;
}

static void test_needed(void **state)
{
	struct needed n = { 0 };

	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_file(&g, 9, 104, 10, NULL, 0, "/old/handle");
	gen_hello(&g, 1550, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "app");
	gen_map(&g, 1600, CR3_A, 10, PROG, 100, "/bin/app");
	gen_map(&g, 1600, CR3_A, 10, 0x600000, 0x700000, 0, 101, "/lib/hot.so");
	gen_map(&g, 1600, CR3_A, 10, 0x700000, 0x800000, 0, 102, "/lib/cold.so");
	gen_map(&g, 1600, CR3_A, 10, 0x800000, 0x900000, 0, 103, "/lib/untold.so");
	gen_map(&g, 1600, CR3_A, 10, 0x900000, 0xa00000, 0, 104, "/old/handle");
	gen_file(&g, 1, 100, 10, (const uint8_t *)"\x12\xab", 2, "/bin/app");
	gen_file(&g, 2, 101, 10, NULL, 0, "/lib/hot.so");
	gen_file(&g, 3, 102, 10, NULL, 0, "/lib/cold.so");
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, 0x601000, 1);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, 0x603000, 1);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, 0x801000, 1);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, 0x901000, 1);
	finish();
	assert_int_equal(vmp_needed_objects(path, 0, on_needed, &n), 0);
	assert_int_equal(n.nr, 2);
	assert_int_equal(n.file[0], 2);		/* most sampled first */
	assert_int_equal(n.vm[0], GEN_VM);
	assert_non_null(strstr(n.key[0], "u-1000/x"));
	assert_int_equal(n.file[1], 1);
	assert_string_equal(n.key[1], "u-1000/12ab");
}

/* One program in many files: the first is asked for, then the latest; the same in each is one content */
static void test_needed_elsewhere(void **state)
{
	struct needed n = { 0 };
	uint32_t i;

	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "app");
	gen_map(&g, 1600, CR3_A, 10, PROG, 105, "/tmp/5");
	for (i = 1; i <= 12; i++)
		gen_file(&g, i, 100 + i, 10, (const uint8_t *)"\x12\xab", 2, "/tmp/copy");
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, CODE, 1);
	finish();
	assert_int_equal(vmp_needed_objects(path, 0, on_needed, &n), 0);
	assert_int_equal(n.nr, 1);
	assert_int_equal(n.file[0], 5);		/* of which its mapping told */
	assert_int_equal(n.nr_elsewhere, VMP_NEEDED_PLACES - 1);
	for (i = 0; i < VMP_NEEDED_PLACES - 1; i++)
		assert_int_equal(n.elsewhere[i], 12 - i);
}

/* A file that only an earlier boot's agent told of, and its like that can be had now */
static void test_needed_after_reboot(void **state)
{
	struct needed n = { 0 };

	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "app");
	gen_map(&g, 1600, CR3_A, 10, PROG, 100, "/bin/app");
	gen_map(&g, 1600, CR3_A, 10, 0x600000, 0x700000, 0, 101, "/lib/gone.so");
	gen_map(&g, 1600, CR3_A, 10, 0x800000, 0x900000, 0, 102, "/bin/copy");
	gen_file(&g, 1, 100, 10, (const uint8_t *)"\x12\xab", 2, "/bin/app");
	gen_file(&g, 2, 101, 10, (const uint8_t *)"\x12\xac", 2, "/lib/gone.so");
	gen_file(&g, 3, 102, 10, (const uint8_t *)"\x12\xab", 2, "/bin/copy");
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, 0x601000, 1);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, 0x801000, 1);
	g.offset = (uint64_t)-4000;
	gen_clock_at(&g, GEN_VM, 0, 4000, g.offset);
	gen_hello(&g, 5000, 2, 0);
	gen_file(&g, 7, 100, 10, (const uint8_t *)"\x12\xab", 2, "/bin/app");
	finish();
	assert_int_equal(vmp_needed_objects(path, 0, on_needed, &n), 0);
	assert_int_equal(n.nr, 2);	/* and once only */
	assert_int_equal(n.nr_elsewhere, 0);
	assert_int_equal(n.file[0], 7);
	assert_string_equal(n.key[0], "u-1000/12ab");
	assert_string_equal(n.path[0], "/bin/app");
	/* the agent has no handle for it, but its build-id says what it is */
	assert_int_equal(n.file[1], 0);
	assert_string_equal(n.key[1], "u-1000/12ac");
	assert_string_equal(n.path[1], "/lib/gone.so");
}

/* One VM alone: what others' agents told is not looked at */
static void test_needed_of_one(void **state)
{
	struct needed n = { 0 };

	(void)state;
	gen_vm(&g, 2000, "web02");
	gen_clock(&g, 2000);
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "app");
	gen_map(&g, 1600, CR3_A, 10, PROG, 100, "/bin/app");
	gen_file(&g, 1, 100, 10, (const uint8_t *)"\x12\xab", 2, "/bin/app");
	gen_agent_flush(&g, GEN_VM, 0);
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "other");
	gen_map(&g, 1600, CR3_A, 10, PROG, 100, "/bin/other");
	gen_file(&g, 1, 100, 10, (const uint8_t *)"\x12\xac", 2, "/bin/other");
	gen_agent_flush(&g, 2000, 0);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, CODE, 1);
	gen_guest(&g, 2000, 2000, CR3_A, 3, CODE, 2);
	finish();
	assert_int_equal(vmp_needs(path, 0, PATIENCE_NS, on_needed, &n), 0);
	assert_int_equal(n.nr, 2);
	assert_int_equal(n.vm[0], 2000);
	n.nr = 0;
	assert_int_equal(vmp_needs(path, GEN_VM, PATIENCE_NS, on_needed, &n), 0);
	assert_int_equal(n.nr, 1);
	assert_int_equal(n.vm[0], GEN_VM);
	assert_string_equal(n.path[0], "/bin/app");
}

/* The other process tells the same, and why it cannot */
static void test_in_another_process(void **state)
{
	struct needed n = { 0 };
	char absent[256];

	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "app");
	gen_map(&g, 1600, CR3_A, 10, PROG, 100, "/bin/app");
	gen_map(&g, 1600, CR3_A, 10, 0x600000, 0x700000, 0, 101, "/lib/hot.so");
	gen_file(&g, 1, 100, 10, (const uint8_t *)"\x12\xab", 2, "/bin/app");
	gen_file(&g, 2, 101, 10, NULL, 0, "/lib/hot.so");
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, 0x601000, 2);
	finish();
	assert_int_equal(vmp_needs(path, 0, PATIENCE_NS, on_needed, &n), 0);
	assert_int_equal(n.nr, 2);
	assert_int_equal(n.file[0], 2);
	assert_int_equal(n.file[1], 1);
	assert_int_equal(n.vm[1], GEN_VM);
	assert_string_equal(n.key[1], "u-1000/12ab");
	assert_string_equal(n.path[1], "/bin/app");
	snprintf(absent, sizeof(absent), "%s.absent", path);
	assert_int_equal(vmp_needs(absent, 0, PATIENCE_NS, on_needed, &n), -ENOENT);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);	/* nothing is left of it */
}

/* When it has begun to read, it is sent a signal: ended as the kernel would that has no memory left, or stopped. */
static void signal_it(pid_t parent, int signal)
{
	char list[64], score[64], words[256];
	unsigned int pid = 0, at;
	int n;
	FILE *f;

	alarm(60);
	snprintf(list, sizeof(list), "/proc/%d/task/%d/children", parent, parent);
	while (!pid) {
		f = fopen(list, "r");
		n = f ? (int)fread(words, 1, sizeof(words) - 1, f) : 0;
		words[n] = 0;
		for (at = 0; sscanf(words + at, "%u %n", &pid, &n) == 1 && pid == (unsigned int)getpid(); pid = 0)
			at += (unsigned int)n;
		if (f)
			fclose(f);
		snprintf(score, sizeof(score), "/proc/%u/oom_score_adj", pid);
		f = pid ? fopen(score, "r") : NULL;
		if (!f || fscanf(f, "%d", &n) != 1 || n != 1000)
			pid = 0;
		if (f)
			fclose(f);
	}
	kill((pid_t)pid, signal);
	_exit(0);
}

/* What comes of looking, where the process that does gets this signal; -ENOSYS: the kernel does not tell which it is */
static int signalled(int signal, uint64_t patience_ns)
{
	struct needed n = { 0 };
	pid_t parent = getpid(), killer;
	char list[64];
	uint32_t i;
	int err;

	/* enough that it is still read when it is ended */
	gen_hello(&g, 1500, 1, 0);
	for (i = 0; i < 400000; i++) {
		gen_proc(&g, VMPROF_MSG_FORK, 2000 + i, (1ULL << 40) + i * 4096ULL, 1000 + i, 1, 0, "app");
		if (g.agent_len > sizeof(g.agent) - 4096)
			gen_agent_flush(&g, GEN_VM, 0);
	}
	gen_agent_flush(&g, GEN_VM, 0);
	gen_end(&g);
	snprintf(list, sizeof(list), "/proc/%d/task/%d/children", parent, parent);
	if (access(list, R_OK))
		return -ENOSYS;
	killer = fork();
	if (!killer)
		signal_it(parent, signal);
	alarm(120);
	err = vmp_needs(path, 0, patience_ns, on_needed, &n);
	alarm(0);
	assert_int_equal(n.nr, 0);
	assert_int_equal(waitpid(killer, NULL, 0), killer);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);	/* nothing is left of it */
	return err;
}

static void test_out_of_memory(void **state)
{
	int err = signalled(SIGKILL, PATIENCE_NS);

	(void)state;
	if (err == -ENOSYS)
		skip();
	assert_int_equal(err, -ENOMEM);
}

/* What takes too long is ended, and nothing is taken of it */
static void test_out_of_time(void **state)
{
	int err = signalled(SIGSTOP, 1000000000);

	(void)state;
	if (err == -ENOSYS)
		skip();
	assert_int_equal(err, -ETIMEDOUT);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_needed), T(test_needed_elsewhere), T(test_needed_after_reboot),
		T(test_needed_of_one), T(test_in_another_process), T(test_out_of_memory), T(test_out_of_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
