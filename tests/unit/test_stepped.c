// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_stepped.c - real code, run an instruction at a time: this program itself, position
 * independent, with its libraries and the kernel's vdso, as a guest's process with last branches;
 * how often each block ran is known.  An instruction is a cycle.  Then the same, stripped.
 */
#include "program.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <math.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "blocks/estimate.h"
#include "model/decode.h"
#include "util/text.h"

#define DEPTH		16
#define CR3		0x7000000ULL
#define PID		70U

static char *dir, path[128];
static char **program;	/* that is stepped, with its arguments; NULL: work() */
static uint64_t moved;	/* records say that branches went so many bytes too far */
static uint64_t steps = 300000, period = 61;
static struct gen g;

/* ------------------------------------------------------------- what runs */

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Sorting, printing, copying, the time: loops and calls of several libraries' kinds, and the vdso's */
static int work(void)
{
	int v[200], i, n = 0;
	struct timespec now;
	char text[64];

	for (;;) {
		for (i = 0; i < 200; i++)
			v[i] = (i * 7919 + n) % 1009;
		qsort(v, 200, sizeof(v[0]), by_value);
		for (i = 0; i < 20; i++)
			n += snprintf(text, sizeof(text), "%d %s", v[i], "words") + (int)strlen(text);
		for (i = 0; i < 40; i++)
			n += clock_gettime(CLOCK_MONOTONIC, &now) + (int)(now.tv_nsec & 1);
	}
	return n;
}

/* -------------------------------------------------------------- stepping */

/* How often code from start to end really ran */
struct truth {
	uint64_t start, end, runs;
};

struct stepped {
	pid_t child;
	int mem;
	void *decoder;
	struct vmp_hash by_block;
	VMP_VEC(struct truth) truth;
	struct prog_branch lbr[DEPTH];
	uint64_t steps, start;
};

static uint64_t ip_of(pid_t child)
{
	return (uint64_t)ptrace(PTRACE_PEEKUSER, child, offsetof(struct user_regs_struct, rip), NULL);
}

static int step(pid_t child)
{
	int status;

	return !ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) && waitpid(child, &status, 0) == child &&
	       WIFSTOPPED(status);
}

static void count_block(struct stepped *s, uint64_t end)
{
	uint64_t key = s->start * 31 + end;
	const uint32_t *i = vmp_hash_find(&s->by_block, key);
	struct truth new = { s->start, end, 1 };

	if (i) {
		s->truth.v[*i].runs++;
		return;
	}
	assert_int_equal(vmp_vec_push(&s->truth, new), 0);
	assert_int_equal(vmp_hash_set(&s->by_block, key, s->truth.nr - 1), 0);
}

static void sample(struct stepped *s, uint64_t ip)
{
	struct vmprof_sample r = {
		.hdr = { VMPROF_REC_SAMPLE, sizeof(r), 0 }, .tsc = 10000 + s->steps, .host_pid = GEN_VM, .host_tid = GEN_VM + 1,
		.vm = GEN_VM, .vcpu_tid = GEN_VM + 1, .mode = VMPROF_MODE_GUEST, .cpl = 3, .vendor = VMPROF_VENDOR_SVM,
		.flags = VMPROF_SF_VCPU | VMPROF_SF_LONG_MODE | VMPROF_SF_IRQ_NMI | VMPROF_SF_COUNTS,
		.guest_ip = ip, .guest_cr3 = CR3, .exit_reason = 0x61, .cycles = period, .instructions = period,
	};

	gen_record(&g, &r, sizeof(r));
	gen_lbr(&g, r.tsc, VMPROF_LBR_ALL & ~VMPROF_LBR_KERNEL, VMPROF_LBR_FROM_TO, s->lbr, DEPTH, 0);
	if (g.records_len > sizeof(g.records) - 4096)
		gen_records_flush(&g, 0, 10000, r.tsc);
}

/* One instruction more, from @ip; the samples are those of the steps that count.  Return: 0 it is over */
static int go_on(struct stepped *s, uint64_t *ip, int counts)
{
	enum vmp_flow flow = VMP_FLOW_ON;
	uint8_t code[16] = { 0 };
	uint64_t next;
	unsigned int bytes;

	if (pread(s->mem, code, sizeof(code), (off_t)*ip) < 1)
		return 0;
	bytes = vmp_decode_step(s->decoder, code, sizeof(code), &flow);
	do {	/* a repeated instruction is one */
		if (!step(s->child))
			return 0;
		next = ip_of(s->child);
	} while (next == *ip && flow == VMP_FLOW_ON);
	if (counts && ++s->steps % period == 0)
		sample(s, *ip);
	/* a jump to the next instruction is one all the same */
	if (next != *ip + bytes || vmp_flow_leaves(flow) || flow == VMP_FLOW_CALL) {
		memmove(s->lbr + 1, s->lbr, sizeof(s->lbr) - sizeof(s->lbr[0]));
		s->lbr[0] = (struct prog_branch){ *ip, next + moved, 0 };
		if (counts && s->start)
			count_block(s, *ip);
		s->start = next;
	}
	*ip = next;
	return 1;
}

/* Where the object cache has a build */
static void object_path(char to[160], const char *hex)
{
	snprintf(to, 160, "%s/u-%u/%.2s/%s", dir, GEN_VM, hex, hex + 2);
}

/* What lies in the child's memory, as a file */
static void save(struct stepped *s, uint64_t start, uint64_t end, const char *to)
{
	uint8_t *bytes = malloc(end - start);

	assert_non_null(bytes);
	assert_int_equal(pread(s->mem, bytes, end - start, (off_t)start), end - start);
	gen_write(to, bytes, end - start);
	free(bytes);
}

/* One binary that was mapped, and the agent's word of it; without a build-id there is none */
static void tell_map(struct stepped *s, uint32_t handle, const char *line)
{
	char file[4096], from[4200], to[160], cmd[9000], hex[65], perms[8];
	unsigned long start, end, off, inode;
	struct vmp_elf *e;
	const uint8_t *id;
	size_t len;

	if (sscanf(line, "%lx-%lx %7s %lx %*s %lu %4095s", &start, &end, perms, &off, &inode, file) != 6 ||
	    perms[2] != 'x')
		return;
	snprintf(from, sizeof(from), "%s", file);
	if (!strcmp(file, "[vdso]")) {
		snprintf(from, sizeof(from), "%s/vdso.so", dir);
		save(s, start, end, from);
	}
	if (*from != '/' || vmp_elf_open(&e, from))
		return;
	id = vmp_elf_own_id(e, &len);
	if (len == 20) {
		vmp_text_hex(hex, id, len);
		gen_file(&g, handle, inode, 1 << 20, id, (uint32_t)len, file);
		gen_map(&g, 2000, CR3, PID, start, end, off, inode, file);
		object_path(to, hex);
		snprintf(cmd, sizeof(cmd), "mkdir -p \"$(dirname '%s')\" && cp '%s' '%s'", to, from, to);
		assert_int_equal(system(cmd), 0);
	}
	vmp_elf_close(e);
}

static void tell_maps(struct stepped *s)
{
	char name[64], line[4096];
	uint32_t handle = 1;
	FILE *f;

	gen_hello(&g, 2000, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 2000, CR3, PID, 1, 0, "stepped");
	snprintf(name, sizeof(name), "/proc/%d/maps", s->child);
	f = fopen(name, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		tell_map(s, handle++, line);
	fclose(f);
	gen_agent_flush(&g, GEN_VM, 3000);
}

/* Return: 0, or -errno where no process can be stepped */
static int run(struct stepped *s)
{
	char name[64];
	int status;
	uint64_t ip, i;

	s->child = fork();
	if (!s->child) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(77);
		if (program)
			execv(*program, program);
		raise(SIGSTOP);
		_exit(work());
	}
	if (waitpid(s->child, &status, 0) != s->child || !WIFSTOPPED(status))
		return -EPERM;
	snprintf(name, sizeof(name), "/proc/%d/mem", s->child);
	s->mem = open(name, O_RDONLY | O_CLOEXEC);
	assert_true(s->mem >= 0);
	tell_maps(s);
	ip = ip_of(s->child);
	for (i = 0; i < (program ? 100000 : 20000); i++)	/* it starts */
		assert_true(go_on(s, &ip, 0));
	while (s->steps < steps)
		assert_true(go_on(s, &ip, 1));
	gen_records_flush(&g, 0, 10000, 10000 + s->steps);
	kill(s->child, SIGKILL);
	waitpid(s->child, &status, 0);
	close(s->mem);
	return 0;
}

/* ------------------------------------------------------------------- test */

static uint64_t seen(const struct vmp_set *set, uint32_t point)
{
	return set->points.points.v[point].seen;
}

static const struct truth *truth_of(const struct stepped *s, uint64_t start, uint64_t end)
{
	const uint32_t *i = vmp_hash_find(&s->by_block, start * 31 + end);

	return i ? &s->truth.v[*i] : NULL;
}

static void forget(struct stepped *s)
{
	vmp_decoder_destroy(s->decoder);
	vmp_hash_free(&s->by_block);
	vmp_vec_free(&s->truth);
}

/* Return: as run(); the capture is in @path, its binaries are in @dir */
static int record(struct stepped *s)
{
	char meta[96];
	int err;

	s->decoder = vmp_decoder_create();
	snprintf(path, sizeof(path), "%s/stepped.vmprof", dir);
	gen_begin(&g, path);
	gen_vm(&g, GEN_VM, "web01");
	gen_clock(&g, GEN_VM);
	snprintf(meta, sizeof(meta), "{\"event\":\"cycles\",\"trigger\":\"pmc\",\"period\":%" PRIu64 "}", period);
	gen_text(&g, VMPROF_CAP_META, 0, meta);
	err = run(s);
	gen_end(&g);
	return err;
}

static const char *name_of(const struct vmp_set *set, uint32_t str)
{
	return vmp_model_name(set->m, str);
}

/* Blocks of a module; @named: whose function's name begins so */
static int blocks_in(const struct vmp_set *set, const char *module, const char *named)
{
	uint32_t i;
	int n = 0;

	for (i = 0; i < set->blocks.nr; i++) {
		const struct vmp_point *p = &set->points.points.v[set->blocks.v[i].start];

		n += !strcmp(name_of(set, p->module), module) &&
		     !strncmp(name_of(set, p->function), named, strlen(named));
	}
	return n;
}

/* This program without symbols: names are gone, the blocks are the same */
static void check_stripped(const struct vmp_set *full)
{
	struct vmp_set_choice all = { .vcpu = -1, .pid = -1 };
	char to[160], cmd[256], hex[65];
	struct vmp_model *model;
	struct vmp_set *set;
	struct vmp_elf *e;
	const uint8_t *id;
	size_t len;
	uint32_t i;

	assert_int_equal(vmp_elf_open(&e, "/proc/self/exe"), 0);
	id = vmp_elf_own_id(e, &len);
	vmp_text_hex(hex, id, len);
	vmp_elf_close(e);
	object_path(to, hex);
	snprintf(cmd, sizeof(cmd), "strip --strip-all '%s'", to);
	assert_int_equal(system(cmd), 0);
	assert_int_equal(vmp_model_open(&model, path), 0);
	assert_int_equal(vmp_set_create(&set, model, &all), 0);
	assert_int_equal(set->totals.flaw[VMP_FLAW_NONE], full->totals.steps);
	assert_int_equal(set->blocks.nr, full->blocks.nr);
	for (i = 0; i < set->blocks.nr; i++) {
		assert_int_equal(seen(set, set->blocks.v[i].start), seen(full, full->blocks.v[i].start));
		assert_int_equal(set->blocks.v[i].insns, full->blocks.v[i].insns);
		assert_int_equal(set->blocks.v[i].n, full->blocks.v[i].n);
	}
	assert_true(blocks_in(full, "test_stepped", "by_value") > 0);
	assert_int_equal(blocks_in(set, "test_stepped", "by_value"), 0);
	/* what the linker adds has no names in the first place */
	assert_true(blocks_in(set, "test_stepped", "sub_") > blocks_in(full, "test_stepped", "sub_"));
	vmp_set_destroy(set);
	vmp_model_close(model);
}

/* How many of a block's two figures are further off than chance allows */
static int wrong(const struct vmp_estimate *e, double insns, double runs)
{
	const double cycles_error = fmax(e->error, insns / sqrt(e->samples));
	const double runs_error = fmax(e->executions_error, runs / sqrt(e->samples));

	return (fabs(e->cycles[VMP_SOURCE_TIME] - insns) > 0.03 * insns + 4 * cycles_error) +
	       (fabs(e->executions - runs) > 0.03 * runs + 4 * runs_error);
}

/* Blocks of a module that were compared, and how many of these are right and known to a quarter of their cycles */
struct fared {
	const char *module;
	int compared, right;
};

static void test_real_code(void **state)
{
	/* a program that is position independent, and a shared library, which the loader put elsewhere */
	struct fared of[] = { { .module = "test_stepped" }, { .module = "libc.so.6" } };
	const size_t modules = sizeof(of) / sizeof(of[0]);
	struct vmp_set_choice all = { .vcpu = -1, .pid = -1 };
	struct stepped s = { 0 };
	struct vmp_estimates *e;
	struct vmp_measure *m;
	struct vmp_model *model;
	struct vmp_set *set;
	int compared = 0, missed = 0;
	uint32_t i;
	size_t k;

	(void)state;
	dir = gen_dir();
	setenv("VMPROF_OBJCACHE", dir, 1);
	if (record(&s)) {
		forget(&s);
		gen_rmdir(dir);
		skip();
	}
	assert_int_equal(vmp_model_open(&model, path), 0);
	assert_int_equal(vmp_set_create(&set, model, &all), 0);
	assert_int_equal(vmp_measure_create(&m, set), 0);
	assert_int_equal(vmp_estimate_create(&e, m, 0), 0);
	for (i = 0; i < VMP_FLAW_NR; i++)
		if (getenv("SHOW") && set->totals.flaw[i])
			print_message("# %s: %d\n", vmp_flaw_key(i), (int)set->totals.flaw[i]);
	/* all code is in files that are here */
	assert_int_equal(set->totals.flaw[VMP_FLAW_NONE], set->totals.steps);
	assert_int_equal(set->totals.astray, 0);
	for (i = 0; i < set->blocks.nr; i++) {
		const struct vmp_block_code *b = &set->blocks.v[i];
		const struct truth *t = truth_of(&s, seen(set, b->start), seen(set, b->end));
		const struct vmp_point *p = &set->points.points.v[b->start];
		int n;

		if (e->block[i].samples < 15)
			continue;
		assert_non_null(t);
		if (getenv("SHOW"))
			print_message("# %s, %s: insns %u, cycles %.2f +- %.2f, runs %d, %.0f +- %.0f, samples %.0f\n",
				      name_of(set, p->module), name_of(set, p->function), b->insns,
				      e->block[i].cycles[VMP_SOURCE_TIME], e->block[i].error, (int)t->runs,
				      e->block[i].executions, e->block[i].executions_error, e->block[i].samples);
		n = wrong(&e->block[i], b->insns, (double)t->runs);
		missed += n;
		compared++;
		for (k = 0; k < modules; k++) {
			if (strcmp(name_of(set, p->module), of[k].module))
				continue;
			of[k].compared++;
			of[k].right += !n && e->block[i].error <= 0.25 * b->insns;
		}
	}
	assert_true(compared >= 10);
	assert_true(10 * missed <= compared);	/* a thousand samples: errors are themselves uncertain */
	for (k = 0; k < modules; k++) {
		if (getenv("SHOW"))
			print_message("# %s: %d blocks, %d compared, %d right and known\n", of[k].module, blocks_in(set, of[k].module, ""),
				      of[k].compared, of[k].right);
		assert_true(blocks_in(set, of[k].module, "") > 0);
		assert_true(of[k].right > 0);
	}
	assert_true(blocks_in(set, "[vdso]", "") > 0);	/* the kernel's: no file of the guest has it */
	check_stripped(set);				/* ... and without symbols blocks are the same */
	vmp_estimate_destroy(e);
	vmp_measure_destroy(m);
	vmp_set_destroy(set);
	vmp_model_close(model);
	forget(&s);
	gen_rmdir(dir);
}

/* Where records lead into the middle of instructions, or not where branches go, hardly a step is used: 0 to 7 %, by what libc chooses for the processor */
static void test_moved(void **state)
{
	struct vmp_set_choice all = { .vcpu = -1, .pid = -1 };
	struct vmp_model *model;
	struct vmp_set *set;

	(void)state;
	steps = 30000;
	for (moved = 0; moved <= 3; moved++) {
		struct stepped s = { 0 };
		int err;

		dir = gen_dir();
		setenv("VMPROF_OBJCACHE", dir, 1);
		err = record(&s);
		forget(&s);
		if (err) {
			gen_rmdir(dir);
			skip();
		}
		assert_int_equal(vmp_model_open(&model, path), 0);
		assert_int_equal(vmp_set_create(&set, model, &all), 0);
		if (getenv("SHOW"))
			print_message("# moved by %d: %d of %d good, %d in the middle, %d elsewhere\n", (int)moved,
				      (int)set->totals.flaw[VMP_FLAW_NONE], (int)set->totals.steps,
				      (int)set->totals.flaw[VMP_FLAW_MIDDLE], (int)set->totals.flaw[VMP_FLAW_ELSEWHERE]);
		assert_true(set->totals.steps > 5000);
		if (moved)
			assert_true(set->totals.flaw[VMP_FLAW_NONE] * 10 < set->totals.steps);
		else
			assert_int_equal(set->totals.flaw[VMP_FLAW_MIDDLE] + set->totals.flaw[VMP_FLAW_ELSEWHERE], 0);
		vmp_set_destroy(set);
		vmp_model_close(model);
		gen_rmdir(dir);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_real_code), cmocka_unit_test(test_moved) };
	struct stepped s = { 0 };
	int err;

	if (argc >= 5 && !strcmp(argv[1], "--moved")) {	/* so many bytes, for trying things out */
		moved = strtoul(argv[2], NULL, 0);
		argv += 2;
		argc -= 2;
	}
	if (argc >= 3 && !strcmp(argv[1], "--capture")) {	/* for blocks.t */
		dir = argv[2];
		steps = 400000;	/* blocks.t knows what comes of these */
		period = 251;
		program = argc > 3 ? argv + 3 : NULL;
		err = record(&s);
		forget(&s);
		return err != 0;
	}
	return VMP_DECODES ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
