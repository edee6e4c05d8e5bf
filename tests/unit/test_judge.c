// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_judge.c - the judge of tests/truth before captures and counts that are made up: two that agree, and the
 * same bent in one place, of which exactly one question says NO.
 */
#include "gen.h"

#include "tests/truth/judge_blocks.h"
#include "tests/truth/verdict.h"

int judge_main(int argc, char **argv);
#define main judge_main
#include "tests/truth/judge.c"
#undef main

#define PERIOD		1000000ULL
#define INSN_PERIOD	500000ULL
#define STEP		10000		/* ticks from one overflow to the next */
#define CR3_TURNS	0x5000000ULL	/* one program's, then the next one's */
#define CR3_LAST	0x6000000ULL
#define CR3_VMM		0x9000000ULL
#define CR3_HOG		0xa000000ULL
#define NCR3		0x70000000ULL
#define NCR3_OTHER	0x80000000ULL
#define OTHER_VM	2000U
#define HOG		77U
#define SECOND		13U	/* thread of gamma's, which is 12 */
#define KTHREAD		20U
#define JIT		0x7f0000000000ULL
#define KVM		0xffffffffc0000000ULL
#define AMD		0xffffffffc1000000ULL
#define LINUX		0xffffffff90000000ULL
#define TIMER		0x1000		/* of KVM's functions: its interrupt comes to whatever runs */
#define HLT		0x78
#define INTR		0x60

/* One after the other: what ran, for so many periods of cycles and of instructions */
enum { ALPHA, BETA, GAMMA, TICK, IDLE, RARE, OTHER, RUN_HLT, RUN_INTR, RUN_IN, EMULATE, WAKE, HOST, VMM, DEVICE, STOLEN, LOTS };

static const struct lot {
	uint8_t mode, cpl;
	uint32_t vm, pid;
	uint64_t cr3, ip, exit;
	unsigned int samples, insn_samples;
} lots[LOTS] = {
	[ALPHA]	   = { VMPROF_MODE_GUEST, 3, GEN_VM, 10, CR3_TURNS, JIT + 0x10, 0x61, 1500, 1100 },
	[BETA]	   = { VMPROF_MODE_GUEST, 3, GEN_VM, 11, CR3_TURNS, JIT + 0x110, 0x61, 1200, 500 },
	[GAMMA]	   = { VMPROF_MODE_GUEST, 3, GEN_VM, 12, CR3_LAST, JIT + 0x210, 0x61, 700, 300 },
	[TICK]	   = { VMPROF_MODE_GUEST, 0, GEN_VM, SECOND, CR3_LAST, GEN_KERNEL + 0x10, 0x61, 500, 200 },
	[IDLE]	   = { VMPROF_MODE_GUEST, 0, GEN_VM, KTHREAD, CR3_LAST, GEN_KERNEL + 0x110, 0x61, 500, 200 },
	[RARE]	   = { VMPROF_MODE_GUEST, 0, GEN_VM, 12, CR3_LAST, GEN_KERNEL + 0x310, 0x61, 30, 10 },
	[OTHER]	   = { VMPROF_MODE_GUEST, 0, OTHER_VM, 0, CR3_LAST, GEN_KERNEL + 0x10, 0x61, 300, 100 },
	[RUN_HLT]  = { VMPROF_MODE_VMM_KERNEL, 0, GEN_VM, GEN_VM, CR3_VMM, AMD + 0x10, HLT, 400, 0 },
	[RUN_INTR] = { VMPROF_MODE_VMM_KERNEL, 0, GEN_VM, GEN_VM, CR3_VMM, AMD + 0x10, INTR, 400, 0 },
	[RUN_IN]   = { VMPROF_MODE_VMM_KERNEL, 0, GEN_VM, GEN_VM, CR3_VMM, AMD + 0x10, VMPROF_EXIT_ENTRY, 150, 0 },
	[EMULATE]  = { VMPROF_MODE_VMM_KERNEL, 0, GEN_VM, GEN_VM, CR3_VMM, KVM + 0x10, INTR, 300, 0 },
	[WAKE]	   = { VMPROF_MODE_IDLE, 0, 0, 0, CR3_VMM, KVM + TIMER + 0x10, HLT, 200, 0 },
	[HOST]	   = { VMPROF_MODE_OTHER_KERNEL, 0, 0, HOG, CR3_HOG, LINUX + 0x10, INTR, 400, 20 },
	[VMM]	   = { VMPROF_MODE_VMM_USER, 3, GEN_VM, GEN_VM, CR3_VMM, 0x1000, INTR, 300, 0 },
	[DEVICE]   = { VMPROF_MODE_VMM_USER, 3, GEN_VM, GEN_VM, CR3_VMM, 0x1100, INTR, 200, 0 },
	[STOLEN]   = { VMPROF_MODE_OTHER_USER, 3, GEN_VM, HOG, CR3_HOG, 0x2000, INTR, 300, 0 },
};

/* What a test bends: counts by lot; or @first samples of a lot, behind @past others, or their overflows */
static struct bend {
	double cycles[LOTS], cycles_at[LOTS], insns_at[LOTS];	/* added, in periods */
	uint64_t early;		/* ticks by which the second owner of a CR3 is told of too late */
	uint64_t ended;		/* ticks by which the first one is told to have ended too early */
	uint64_t idle;		/* ticks before its end in which it does not run */
	uint64_t moved;		/* when the guest's clock is, by a millisecond; 0 never */
	uint64_t clock;		/* ticks by which the guest's clock is another one than the collector and the driver say */
	int clockless;		/* the emulator knows of no clock */
	int fewer;		/* residences of either owner */
	unsigned int lot, first, past;
	void (*sample)(struct vmprof_sample *s);
	void (*overflow)(struct exact_overflow *o);
	int no_sample, no_overflow;
	int held;		/* overflows of the host's kernel, whose interrupt had to wait */
	int random;
	int nameless;		/* nobody told of gamma's function */
	int symbolless;		/* ... of the other guest's kernel */
	double away;		/* periods that the guest runs on another CPU, where no counter overflows ... */
	int quiet;		/* ... nor is on */
	int after_nmi;		/* the host's kernel runs after #VMEXITs by NMIs; 2: in NMIs' handlers */
	int beside;		/* samples of the first VM's tasks while the other one's vCPU waits, which have a second record ... */
	void (*second)(struct vmprof_sample *s);	/* ... all of these */
} bend;

static char *dir, capture[96], counts[96];
static struct gen gen;

static char said_no[8][80];
static int noes, finals, asked;
static char blocks_of[64];	/* what judge_blocks() was asked about */
static struct blocks_asked blocks_asked;

void verdict(int yes, const char *question, const char *fmt, ...)
{
	(void)fmt;
	asked++;
	if (!yes)
		snprintf(said_no[noes++ % 8], sizeof(said_no[0]), "%s", question);
}

void verdict_never(int wrong, int enough, const char *question, const char *fmt, ...)
{
	(void)fmt;
	finals += wrong;
	verdict(!wrong && enough, question, "-");
}

int verdict_noes(void)
{
	return noes;
}

/* Branches and code: tests/truth/cases has them */
int judge_blocks(struct vmp_model *m, const struct exact *x, const struct blocks_asked *of)
{
	(void)m;
	(void)x;
	blocks_asked = *of;
	snprintf(blocks_of, sizeof(blocks_of), "%s", of->function ? of->function : "");
	return of->blocks || of->host ? 0 : -EINVAL;
}

/* ------------------------------------------------------------ what is made up */

static int is_guest(const struct lot *l)
{
	return l->mode == VMPROF_MODE_GUEST;
}

static uint64_t begin_of(int lot)
{
	uint64_t tsc = 1000000;
	int i;

	for (i = 0; i < lot; i++)
		tsc += (uint64_t)STEP * (lots[i].samples + lots[i].insn_samples);
	return tsc;
}

/* What the guest tells is in its own time */
static void told_at(uint64_t tsc)
{
	gen.offset = GEN_OFFSET + (bend.moved && tsc >= bend.moved ? 1000000 : 0);
}

static void program(uint64_t tsc, uint64_t cr3, uint32_t pid, const char *comm, const char *function)
{
	told_at(tsc);
	gen_proc(&gen, VMPROF_MSG_FORK, tsc, cr3, pid, 1, 0, "sh");
	gen_proc(&gen, VMPROF_MSG_EXEC, tsc, cr3, pid, 1, 0, "sh");
	gen_proc(&gen, VMPROF_MSG_EXEC, tsc, cr3, pid, 1, VMPROF_PROC_EXEC_DONE, comm);
	gen_map(&gen, tsc, cr3, pid, JIT, JIT + 0x10000, 0, 0, "");
	if (*function)
		gen_jitmap(&gen, tsc, pid, function);
	gen_task(&gen, GEN_VM, 0, tsc, pid, pid, 0, comm);
}

/* What the other guest tells: of its kernel, no more */
static void begin_other(void)
{
	gen_clock(&gen, OTHER_VM);
	gen_hello(&gen, 1500, 2, 0);
	if (!bend.symbolless)
		gen_ksyms(&gen, "ffffffff81000000 T other\nffffffff81000100 T end\n");
	gen_agent_flush(&gen, OTHER_VM, 0);
	gen.seq = 0;
}

static void begin(void)
{
	char meta[160];

	gen_begin(&gen, capture);
	snprintf(meta, sizeof(meta), "{\"event\":\"cycles\",\"period\":%llu,\"instruction_period\":%llu,"
		 "\"trigger\":\"pmc\",\"random\":%s}", PERIOD, INSN_PERIOD, bend.random ? "true" : "false");
	gen_text(&gen, VMPROF_CAP_META, 0, meta);
	gen_vm(&gen, GEN_VM, "web01");
	gen_vm(&gen, OTHER_VM, "web02");
	gen_text(&gen, VMPROF_CAP_HOST_KSYMS, 0,
		 "ffffffff90000000 T schedule\nffffffff90001000 T unused\nffffffff90002000 T end\n"
		 "ffffffffc0000000 t kvm_emulate\t[kvm]\nffffffffc0001000 t kvm_timer\t[kvm]\nffffffffc0002000 t kvm_end\t[kvm]\n"
		 "ffffffffc1000000 t svm_run\t[kvm_amd]\nffffffffc1001000 t svm_end\t[kvm_amd]\n");
	gen_text(&gen, VMPROF_CAP_HOST_MAPS, GEN_VM, "1000-1100 r-xp 00000000 08:01 5   /none/such/qemu\n1100-1200 r-xp 00000000 08:01 6   /none/such/libc\n");
	begin_other();
	gen_clock(&gen, GEN_VM);
	if (bend.moved)
		gen_clock_at(&gen, GEN_VM, 0, bend.moved, GEN_OFFSET + 1000000);
	gen_hello(&gen, 1500, 1, 0);
	gen_ksyms(&gen, "ffffffff81000000 T tick\nffffffff81000100 T idle\nffffffff81000200 T never\n"
		  "ffffffff81000300 T rare\nffffffff81000400 T end\n");
	gen_tasks(&gen, 1600, 0);
	program(2000, CR3_TURNS, 10, "alpha", "7f0000000000 100 alpha\n");
	told_at(begin_of(BETA) - STEP / 2);
	gen_exit(&gen, begin_of(BETA) - STEP / 2 - bend.ended, CR3_TURNS, 10, "alpha", 0, 0, 0, "");
	program(begin_of(BETA) - STEP / 2, CR3_TURNS, 11, "beta", "7f0000000100 100 beta\n");
	program(begin_of(GAMMA) - STEP / 2, CR3_LAST, 12, "gamma", bend.nameless ? "" : "7f0000000200 100 gamma\n");
	gen_task(&gen, GEN_VM, 0, begin_of(GAMMA) - STEP / 2, SECOND, 12, 0, "second");
	gen_task(&gen, GEN_VM, 0, begin_of(GAMMA) - STEP / 2, KTHREAD, KTHREAD, VMPROF_TASK_KTHREAD, "kworker");
	gen_agent_flush(&gen, GEN_VM, 0);
}

static struct vmprof_sample sample_of(const struct lot *l, uint64_t tsc, int is_insn)
{
	struct vmprof_sample s = {
		.hdr = { is_insn ? VMPROF_REC_INSTRUCTIONS : VMPROF_REC_SAMPLE, sizeof(s), 0 }, .tsc = tsc,
		.host_pid = l->pid, .host_tid = l->pid, .host_ip = l->ip, .vm = l->vm, .vcpu_tid = l->vm + 1,
		.mode = l->mode, .vendor = VMPROF_VENDOR_SVM, .exit_reason = l->exit,
	};

	if (is_guest(l)) {
		s = gen_guest_sample(l->vm, tsc, l->cr3, l->cpl, l->ip);
		s.hdr.type = is_insn ? VMPROF_REC_INSTRUCTIONS : VMPROF_REC_SAMPLE;
		s.guest_task = l->pid ? VMPROF_TASK_KNOWN : VMPROF_TASK_OFF;
		s.guest_tid = l->pid;
	} else if (l->mode <= VMPROF_MODE_VMM_USER) {
		s.flags = VMPROF_SF_VCPU;
	} else if (l->mode == VMPROF_MODE_OTHER_USER) {
		s.flags = VMPROF_SF_STEAL;
	}
	return s;
}

static struct exact_overflow overflow_of(const struct lot *l, uint64_t tsc)
{
	return (struct exact_overflow){
		.tsc = tsc, .of = is_guest(l) ? EXACT_GUEST : 0, .pc = l->ip, .cr3 = l->cr3,
		.flags = (is_guest(l) ? EXACT_GUEST : 0) | (l->cpl == 3 ? EXACT_USER : 0),
		.ncr3 = is_guest(l) ? l->vm == GEN_VM ? NCR3 : NCR3_OTHER : 0, .exit = l->exit,
		.fs = is_guest(l) && l->pid != KTHREAD ? 0x1000 * l->pid : 0, .nmi_pc = is_guest(l) ? LINUX : l->ip,
	};
}

static const char *side(uint32_t flags)
{
	return flags & EXACT_GUEST ? "guest" : "host";
}

static const char *mode(uint32_t flags)
{
	return flags & EXACT_USER ? "user" : "kernel";
}

/* To the other VM the same moment is steal */
static void put_second(const struct vmprof_sample *first)
{
	struct vmprof_sample s = {
		.hdr = first->hdr, .tsc = first->tsc, .host_pid = first->host_pid, .host_tid = first->host_tid, .host_ip = first->host_ip,
		.vm = OTHER_VM, .vcpu_tid = OTHER_VM + 1, .mode = VMPROF_MODE_OTHER_KERNEL, .flags = VMPROF_SF_STEAL,
	};

	if (bend.second)
		bend.second(&s);
	gen_record(&gen, &s, sizeof(s));
}

/* Samples, and the overflow of each a tick before it */
static void put_samples(FILE *f, int nr)
{
	const struct lot *l = &lots[nr];
	uint64_t tsc = begin_of(nr);
	unsigned int i;

	for (i = 0; i < l->samples + l->insn_samples; i++, tsc += STEP) {
		struct vmprof_sample s = sample_of(l, tsc, i >= l->samples);
		struct exact_overflow o = overflow_of(l, tsc - 1);
		/* not the first of all, which may be of what was before the window */
		const unsigned int from = 10 + bend.past;
		const int bent = nr == (int)bend.lot && i >= from && i < from + bend.first;

		if (bent && bend.sample)
			bend.sample(&s);
		if (bent && bend.overflow)
			bend.overflow(&o);
		if (!is_guest(l) && l->cpl == 0 && bend.held > 0)
			o.held = !!bend.held--;
		if (s.host_pid == GEN_VM && s.hdr.type == VMPROF_REC_SAMPLE && bend.beside > 0 && bend.beside--)
			put_second(&s);
		if (!bent || !bend.no_sample)
			gen_record(&gen, &s, sizeof(s));
		if (!bent || !bend.no_overflow)
			fprintf(f, "overflow %" PRIu64 " %s %s %s %s 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 " 0x%"
				PRIx64 " 0x%" PRIx64 "\n", o.tsc, side(o.of), side(o.flags), mode(o.flags), o.held ? "held" : "due", o.cr3, o.ncr3,
				o.exit, o.pc, o.fs, o.nmi_pc);
	}
	gen_records_flush(&gen, 0, begin_of(nr), tsc);
}

/* One space and one block in it for each lot: a period for each sample */
static void put_counts(FILE *f, int nr)
{
	const struct lot *l = &lots[nr];
	const struct exact_overflow o = overflow_of(l, 0);
	const double p = (double)PERIOD;

	fprintf(f, "space %d %s %s counting 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", nr + 1,
		side(o.flags), nr == HOST && bend.after_nmi == 2 ? "nmi" : mode(o.flags), o.cr3, o.ncr3,
		is_guest(l) ? EXACT_NO_EXIT : nr == HOST && bend.after_nmi == 1 ? 0x61 : l->exit,
		begin_of(nr) - 1000 - (nr == BETA ? bend.early : 0), begin_of(nr + 1) - STEP - (nr == ALPHA ? bend.idle : 0));
	fprintf(f, "block %d 0x%" PRIx64 " 4 %llu %.0f %.0f %.0f 0 0 0 0\n", nr + 1, l->ip, l->insn_samples * INSN_PERIOD,
		(l->samples + bend.cycles[nr]) * p,
		(l->insn_samples + bend.insns_at[nr]) * (double)INSN_PERIOD,
		(l->samples + bend.cycles_at[nr]) * p);
}

/* Four residences of either owner of a CR3, in the second half of its time */
static void put_residences(FILE *f)
{
	int i, nr = LOTS;

	if (bend.ended)
		fprintf(f, "space %d guest user counting 0x%llx 0x%llx 0x%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", ++nr, CR3_TURNS,
			NCR3, EXACT_NO_EXIT, begin_of(BETA) - 3 * STEP, begin_of(BETA) - STEP / 2 - 1);
	for (i = 0; i < 2 * (4 - bend.fewer); i++) {
		const int lot = i % 2 ? BETA : ALPHA;
		const uint64_t begin = (begin_of(lot) + begin_of(lot + 1)) / 2 + (uint64_t)i * 10 * STEP;

		fprintf(f, "space %d guest user counting 0x%llx 0x%llx 0x%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", ++nr, CR3_TURNS,
			NCR3, EXACT_NO_EXIT, begin, begin + 5 * STEP);
	}
}

/* The guests' clocks, as what they tell has it */
static void put_clocks(FILE *f)
{
	const uint64_t moved = bend.moved ? bend.moved : begin_of(LOTS);

	fprintf(f, "clock 0x%llx 0x%llx 900000 %" PRIu64 "\n", NCR3_OTHER, GEN_OFFSET, begin_of(LOTS));
	fprintf(f, "clock 0x%llx 0x%llx 900000 %" PRIu64 "\n", NCR3, GEN_OFFSET + bend.clock, moved - 1);
	if (bend.moved)
		fprintf(f, "clock 0x%llx 0x%llx %" PRIu64 " %" PRIu64 "\n", NCR3, GEN_OFFSET + 1000000, moved, begin_of(LOTS));
}

/* Kernel code of the guest; it leads nowhere, so that no function's share is another one */
static void put_away(FILE *f)
{
	fprintf(f, "cpu 1 900000 %" PRIu64 "\nspace 1 guest kernel %s 0x0 0x%llx 0x%" PRIx64 " 900000 1000000\n"
		"block 1 0x%llx 4 0 %.0f 0 0 0 0 0 0\n", begin_of(LOTS), bend.quiet ? "quiet" : "counting", NCR3, EXACT_NO_EXIT,
		GEN_KERNEL, bend.away * (double)PERIOD);
}

/* The judge's exit status, with these options */
static int judge_them(char *options)
{
	char *args[16] = { "judge" }, *word;
	int nr = 1, i, out = dup(STDOUT_FILENO), err;
	FILE *f = fopen(counts, "w");

	assert_non_null(f);
	noes = finals = asked = 0;
	begin();
	fprintf(f, "vmprof-exact 7\ncpu 0 900000 %" PRIu64 "\ninjected 1000 100\n", begin_of(LOTS) + STEP);
	for (i = 0; i < LOTS; i++)
		put_samples(f, i);
	for (i = 0; i < LOTS; i++)
		put_counts(f, i);
	put_residences(f);
	if (!bend.clockless)
		put_clocks(f);
	if (bend.away > 0)
		put_away(f);
	fprintf(f, "end\n");
	assert_int_equal(fclose(f), 0);
	gen_end(&gen);
	for (word = strtok(options, " "); word; word = strtok(NULL, " "))
		args[nr++] = word;
	args[nr++] = counts;
	args[nr++] = capture;
	fflush(stdout);
	assert_non_null(freopen("/dev/null", "w", stdout));
	err = judge_main(nr, args);
	fflush(stdout);
	assert_int_equal(dup2(out, STDOUT_FILENO), STDOUT_FILENO);
	close(out);
	return err;
}

#define OPTIONS "--steal 77 --blocks 1"
#define ASKED	28

/* Of these options, of which one about steal is there always */
static int to_be_asked(const char *options)
{
	return ASKED - !strstr(options, "--blocks") + !!strstr(options, "--behind") + !!strstr(options, "--neighbours") +
	       !!strstr(options, "--report");
}

static void all_yes(const char *options)
{
	char buf[80];

	snprintf(buf, sizeof(buf), "%s", options);
	if (judge_them(buf))
		fail_msg("%d of %d say NO: %s", noes, asked, said_no[0]);
	assert_int_equal(asked, to_be_asked(options));
}

static void only_says(const char *question, const char *options, int is_final)
{
	char buf[80];

	snprintf(buf, sizeof(buf), "%s", options);
	assert_int_equal(judge_them(buf), 1);
	assert_int_equal(asked, to_be_asked(options));
	if (noes != 1 || strcmp(said_no[0], question))
		fail_msg("%d say NO, not only '%s': %s, %s", noes, question, said_no[0], said_no[1]);
	if (finals != is_final)
		fail_msg("'%s' is %sfinal", question, finals ? "" : "not ");
	bend = (struct bend){ 0 };
}

/* This NO may be chance */
static void only(const char *question, const char *options)
{
	only_says(question, options, 0);
}

/* This one may not */
static void never(const char *question, const char *options)
{
	only_says(question, options, 1);
}

static int setup(void **state)
{
	(void)state;
	dir = gen_dir();
	snprintf(capture, sizeof(capture), "%s/a.vmprof", dir);
	snprintf(counts, sizeof(counts), "%s/a.exact", dir);
	setenv("VMPROF_OBJCACHE", dir, 1);
	bend = (struct bend){ 0 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	gen_rmdir(dir);
	return 0;
}

/* --------------------------------------------------------------------- tests */

static void test_agree(void **state)
{
	(void)state;
	all_yes(OPTIONS);
	bend.random = 1;
	all_yes(OPTIONS);
}

static void test_few_samples(void **state)
{
	(void)state;
	only("enough samples", "--steal 77 --blocks 1 --min 4731");
}

static void test_functions(void **state)
{
	(void)state;
	bend.cycles_at[TICK] = -200;
	bend.cycles_at[IDLE] = 200;
	only("functions have their exact share", OPTIONS);
	bend.cycles_at[BETA] = -200;
	bend.cycles_at[GAMMA] = 200;
	only("functions have their exact share", OPTIONS);
}

static void in_never(struct vmprof_sample *s)
{
	s->guest_ip = GEN_KERNEL + 0x210;
}

static void at_never(struct exact_overflow *o)
{
	o->pc = GEN_KERNEL + 0x210;
}

static void test_ghost(void **state)
{
	(void)state;
	bend.lot = TICK;
	bend.first = 1;
	bend.sample = in_never;
	bend.overflow = at_never;
	never("no sample is in a function that did not run", OPTIONS);
	/* of instructions */
	bend.lot = TICK;
	bend.first = 1;
	bend.past = lots[TICK].samples;
	bend.sample = in_never;
	bend.overflow = at_never;
	never("no sample is in a function that did not run", OPTIONS);
}

static void test_cpi(void **state)
{
	(void)state;
	bend.insns_at[ALPHA] = 400;
	only("CPI is exact within sampling error", OPTIONS);
	bend.insns_at[BETA] = 300;
	only("CPI is exact within sampling error", OPTIONS);
}

/* Of many samples some function has a thousand, or CPI is not judged as it could be: all user code is not enough then */
static void test_cpi_of_small_functions(void **state)
{
	struct join_row row = { .kind = VMP_KIND_GUEST_USER };
	struct vmp_model *m = calloc(1, sizeof(*m));
	struct group small[22];
	struct join j = { .model = m };
	unsigned int i;

	(void)state;
	assert_non_null(m);
	m->pair.cycles = PERIOD;
	m->pair.instructions = INSN_PERIOD;
	assert_int_equal(vmp_vec_push(&j.rows, row), 0);
	for (i = 0; i < 22; i++)
		small[i] = (struct group){ .cycles_at = 950 * PERIOD, .insns_at = 950 * INSN_PERIOD, .samples = 950, .insn_samples = 950 };
	noes = 0;
	judge_cpi(&j, small, 21, 1e-6);
	assert_int_equal(noes, 0);
	assert_int_equal(judge_cpi_tests(&j, small, 21), PARTS);
	judge_cpi(&j, small, 22, 1e-6);
	assert_int_equal(noes, 1);
	assert_string_equal(said_no[0], "CPI is exact within sampling error");
	vmp_vec_free(&j.rows);
	free(m);
}

static void test_sides(void **state)
{
	(void)state;
	bend.cycles[IDLE] = -400;
	bend.cycles[HOST] = 400;
	only("guest and host have their exact share", OPTIONS);
	bend.cycles[IDLE] = -400;
	bend.cycles[HOST] = 400;
	bend.random = 1;
	only("guest and host have their exact share", OPTIONS);
}

static void test_orphan(void **state)
{
	(void)state;
	bend.lot = IDLE;
	bend.first = 1;
	bend.no_overflow = 1;
	never("each sample has an overflow of its own", OPTIONS);
}

static void other_side(struct exact_overflow *o)
{
	o->of ^= EXACT_GUEST;
}

static void test_wrong_side(void **state)
{
	(void)state;
	bend.lot = IDLE;
	bend.first = 1;
	bend.overflow = other_side;
	never("no sample is on the wrong side", OPTIONS);
	bend.lot = HOST;
	bend.first = 1;
	bend.overflow = other_side;
	never("no sample is on the wrong side", OPTIONS);
}

static void next_insn(struct exact_overflow *o)
{
	o->pc += 4;
}

static void next_and_held(struct exact_overflow *o)
{
	o->pc += 4;
	o->held = 1;
}

static void held_and_elsewhere(struct exact_overflow *o)
{
	o->held = 1;
	o->nmi_pc += 4;
}

static void held_and_not_told(struct exact_overflow *o)
{
	o->held = 1;
	o->nmi_pc = 0;
}

/* In the kernel, of instructions too, in user code and where the host is idle: none but what had to wait */
static void test_elsewhere(void **state)
{
	static const int of[] = { RUN_INTR, HOST, VMM, WAKE };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		bend.lot = (unsigned int)of[i];
		bend.first = 1;
		bend.overflow = next_insn;
		never("host samples are where the counter overflowed", OPTIONS);
	}
	bend.lot = HOST;
	bend.first = 1;
	bend.past = lots[HOST].samples;
	bend.overflow = next_insn;
	never("host samples are where the counter overflowed", OPTIONS);
	bend.lot = HOST;
	bend.first = 100;
	bend.overflow = next_and_held;
	all_yes(OPTIONS);
	bend.lot = VMM;
	bend.first = 1;
	never("host samples are where the counter overflowed", OPTIONS);
	/* where it came; that of the overflow before may have found both, but that none came at all is not possible */
	bend.lot = HOST;
	bend.first = 1;
	bend.overflow = held_and_elsewhere;
	all_yes(OPTIONS);
	bend.first = 2;
	never("host samples are where the counter overflowed", OPTIONS);
	bend.lot = HOST;
	bend.first = 1;
	bend.overflow = held_and_not_told;
	all_yes(OPTIONS);
	bend.first = 2;
	never("host samples are where the counter overflowed", OPTIONS);
	/* half of the host's at most */
	bend = (struct bend){ .held = 1335 };
	all_yes(OPTIONS);
	bend.held = 1336;
	only("host samples are where the counter overflowed", OPTIONS);
}

static void other_vm(struct exact_overflow *o)
{
	o->ncr3 = NCR3;
}

static void other_cr3(struct exact_overflow *o)
{
	o->cr3 += 0x2000;
}

static void other_cpl(struct exact_overflow *o)
{
	o->flags ^= EXACT_USER;
}

/* Where it was found is the host */
static void just_left(struct exact_overflow *o)
{
	o->flags &= ~EXACT_GUEST;
}

static void test_spaces(void **state)
{
	static void (*const wrong[])(struct exact_overflow *) = { other_vm, other_cr3, other_cpl, just_left };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		bend.lot = OTHER;
		bend.first = wrong[i] == just_left ? 3 : 1;
		bend.overflow = wrong[i];
		/* to have just been left is rare, not wrong */
		only_says("VM, CR3 and CPL are those of the overflow", OPTIONS, wrong[i] != just_left);
	}
}

/* Rows of the report: one that has another VM's overflow, and misses its own; where one had just been left nobody knows */
static void test_report(void **state)
{
	char options[] = OPTIONS " --report whole", many[] = OPTIONS " --report whole";

	(void)state;
	all_yes(OPTIONS " --report whole");
	bend.lot = OTHER;
	bend.first = 1;
	bend.overflow = just_left;
	all_yes(OPTIONS " --report whole");
	bend.overflow = other_vm;
	assert_int_equal(judge_them(options), 1);
	assert_int_equal(noes, 2);
	assert_string_equal(said_no[0], "VM, CR3 and CPL are those of the overflow");
	assert_string_equal(said_no[1], "the report's rows are those of the overflows");
	assert_int_equal(finals, 1);
	/* so many of which nobody knows would hide anything */
	bend.first = 6;
	bend.overflow = just_left;
	assert_int_equal(judge_them(many), 1);
	assert_int_equal(noes, 2);
	assert_string_equal(said_no[1], "the report's rows are those of the overflows");
	bend = (struct bend){ 0 };
}

/* Counts and samples agree, and nobody knows on what */
static void test_known(void **state)
{
	(void)state;
	bend.nameless = 1;
	only("guest code is known", OPTIONS);
	bend.symbolless = 1;
	only("guest code is known", OPTIONS);
}

static void other_task(struct vmprof_sample *s)
{
	s->guest_tid = 10;
}

static void test_task(void **state)
{
	(void)state;
	bend.lot = GAMMA;
	bend.first = 1;
	bend.sample = other_task;
	never("user code's task is of the process whose CR3 it was", OPTIONS);
}

static void no_task(struct vmprof_sample *s)
{
	s->guest_task = VMPROF_TASK_NO_READ;
}

/* In 99 of 100 samples of user code there is one; of kernel threads as many as were asked for */
static void test_tasks(void **state)
{
	(void)state;
	bend.lot = ALPHA;
	bend.first = 40;
	bend.sample = no_task;
	all_yes(OPTIONS);
	bend.first = 60;
	only("user code's task is of the process whose CR3 it was", OPTIONS);
	all_yes(OPTIONS " --kthreads 700");
	only("the thread is the one that ran", OPTIONS " --kthreads 701");
}

static void second_thread(struct vmprof_sample *s)
{
	s->guest_tid = SECOND;
}

static void other_base(struct exact_overflow *o)
{
	o->fs += 0x100;
}

/* One thread's samples are called another's; two threads' are called one's; a process's a kernel thread's */
static void test_thread(void **state)
{
	(void)state;
	bend.lot = GAMMA;
	bend.first = 1;
	bend.sample = second_thread;
	never("the thread is the one that ran", OPTIONS);
	bend.lot = GAMMA;
	bend.first = 1;
	bend.overflow = other_base;
	never("the thread is the one that ran", OPTIONS);
	bend.lot = IDLE;
	bend.first = 1;
	bend.overflow = other_base;
	never("the thread is the one that ran", OPTIONS);
}

static void other_reason(struct vmprof_sample *s)
{
	s->exit_reason = HLT;
}

static void at_entry(struct vmprof_sample *s)
{
	s->exit_reason = VMPROF_EXIT_ENTRY;
}

/* A few may be on the way into the guest by one of the two alone */
static void test_reason(void **state)
{
	(void)state;
	bend.lot = RUN_INTR;
	bend.first = 1;
	bend.sample = other_reason;
	never("the exit reason is that of the last #VMEXIT", OPTIONS);
	bend.lot = RUN_INTR;
	bend.first = 3;
	bend.sample = at_entry;
	all_yes(OPTIONS);
	bend.first = 4;
	only("the exit reason is that of the last #VMEXIT", OPTIONS);
	bend.lot = RUN_IN;
	bend.first = 4;
	bend.sample = other_reason;
	only("the exit reason is that of the last #VMEXIT", OPTIONS);
}

static void test_skid(void **state)
{
	(void)state;
	bend.lot = TICK;
	bend.first = 1;
	bend.overflow = next_insn;
	never("there is no skid in guest code", OPTIONS);
}

/* On one of two CPUs no counter overflows while a guest runs, or none is on; on the other as many more do as are missing */
static void test_covered(void **state)
{
	(void)state;
	/* where there are overflows of instructions, too */
	bend.cycles[IDLE] = 6;
	only("counters run whenever a guest does", OPTIONS);
	bend.away = 3.9;
	all_yes(OPTIONS);
	bend.away = 6;
	bend.cycles[IDLE] = -6;
	only("counters run whenever a guest does", OPTIONS);
	bend.away = 6;
	bend.random = 1;
	all_yes(OPTIONS);
	bend.away = 60;
	bend.cycles[IDLE] = -60;
	only("counters run whenever a guest does", OPTIONS);
	bend.away = 0.9;
	bend.quiet = 1;
	all_yes(OPTIONS);
	bend.away = 1.1;
	never("counters run whenever a guest does", OPTIONS);
}

/* More ran than there are samples; an overflow has none */
static void test_balance(void **state)
{
	(void)state;
	bend.cycles[HOST] = 100;
	only("every period is accounted for", OPTIONS);
	bend.lot = IDLE;
	bend.first = 3;
	bend.no_sample = 1;
	only("every period is accounted for", OPTIONS);
}

static void without_vcpu(struct vmprof_sample *s)
{
	s->flags &= ~VMPROF_SF_VCPU;
	s->exit_reason = 0;
}

static void test_vmm(void **state)
{
	char options[] = OPTIONS, shared[] = OPTIONS " --vcpus shared", again[] = OPTIONS " --vcpus shared";

	(void)state;
	bend.cycles_at[RUN_HLT] = -150;
	bend.cycles_at[RUN_INTR] = 150;
	only("VMM time by exit reason is exact", OPTIONS);
	/* reasons are the samples' own, as a report has them */
	bend.lot = RUN_INTR;
	bend.first = 150;
	bend.sample = other_reason;
	assert_int_equal(judge_them(options), 1);
	assert_int_equal(noes, 2);
	assert_string_equal(said_no[1], "VMM time by exit reason is exact");
	assert_int_equal(judge_them(shared), 0);
	bend = (struct bend){ .cycles_at = { [RUN_HLT] = -150, [RUN_INTR] = 150 } };
	assert_int_equal(judge_them(again), 1);
	assert_int_equal(noes, 1);
	assert_string_equal(said_no[0], "VMM time by the pCPU's last #VMEXIT is exact");
	bend = (struct bend){ .lot = RUN_INTR, .first = 150 };
	/* without a vCPU it names none */
	bend.sample = without_vcpu;
	only("KVM's code has a reason", OPTIONS);
	bend.cycles_at[RUN_INTR] = -150;
	bend.cycles_at[EMULATE] = 150;
	only("KVM's functions have their exact share", OPTIONS);
	/* all of it: too few */
	bend.cycles_at[RUN_HLT] = bend.cycles_at[RUN_INTR] = 160;
	bend.cycles_at[EMULATE] = 120;
	only("VMM time by exit reason is exact", OPTIONS);
}

/* Of QEMU's 1250 samples in it a twentieth, and ten; where another task runs there never is a vCPU */
static void test_reasonless(void **state)
{
	(void)state;
	bend.lot = RUN_INTR;
	bend.first = 72;
	bend.sample = without_vcpu;
	all_yes(OPTIONS);
	bend.first = 73;
	only("KVM's code has a reason", OPTIONS);
}

static void in_unused(struct vmprof_sample *s)
{
	s->host_ip = LINUX + 0x1010;
}

static void at_unused(struct exact_overflow *o)
{
	o->pc = LINUX + 0x1010;
}

static void test_host_ghost(void **state)
{
	(void)state;
	bend.lot = HOST;
	bend.first = 1;
	bend.sample = in_unused;
	bend.overflow = at_unused;
	never("no sample of the host's kernel is in a function that did not run", OPTIONS);
	bend.lot = HOST;
	bend.first = 1;
	bend.past = lots[HOST].samples;
	bend.sample = in_unused;
	bend.overflow = at_unused;
	never("no sample of the host's kernel is in a function that did not run", OPTIONS);
}

/* What it did was not steal alone */
static void no_steal(struct vmprof_sample *s)
{
	s->flags = 0;
}

/* Neither more nor fewer than its cycles ask for, but of what it does after an NMI nothing need be sampled */
static void test_host_kernel(void **state)
{
	int after_nmi;

	(void)state;
	bend.random = 1;
	bend.cycles_at[HOST] = 130;
	only("functions of the host's kernel have their samples", OPTIONS);
	bend.random = 1;
	bend.cycles_at[HOST] = -110;
	only("functions of the host's kernel have their samples", OPTIONS);
	for (after_nmi = 1; after_nmi <= 2; after_nmi++) {
		bend.random = 1;
		bend.cycles_at[HOST] = 400;
		bend.after_nmi = after_nmi;
		all_yes(OPTIONS);
		/* which makes no more of it */
		bend.random = 1;
		bend.cycles_at[HOST] = -110;
		bend.after_nmi = after_nmi;
		only("functions of the host's kernel have their samples", OPTIONS);
	}
}

static void test_host_processes(void **state)
{
	(void)state;
	/* steal is a share of the same cycles: it is not asked of the process that is bent most */
	bend.cycles_at[VMM] = 150;
	bend.cycles_at[DEVICE] = 100;
	bend.cycles_at[STOLEN] = 250;
	only("host processes have their exact share", OPTIONS);
}

static void of_other_vm(struct vmprof_sample *s)
{
	s->vm = OTHER_VM;
}

static void of_nobody(struct vmprof_sample *s)
{
	s->mode = VMPROF_MODE_OTHER_USER;
	s->vm = 0;
}

static void of_qemu(struct vmprof_sample *s)
{
	s->mode = VMPROF_MODE_VMM_USER;
	s->flags = 0;
}

/* One VM's QEMU is another's, or nobody's; what is no QEMU is one's */
static void on_other_cr3(struct exact_overflow *o)
{
	o->cr3 = CR3_HOG;
}

static void test_own(void **state)
{
	static void (*const wrong[])(struct vmprof_sample *) = { of_other_vm, of_nobody };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		bend.lot = VMM;
		bend.first = 1;
		bend.sample = wrong[i];
		never("QEMU's samples are of their own VM", OPTIONS);
	}
	bend.lot = STOLEN;
	bend.first = 1;
	bend.sample = of_qemu;
	never("QEMU's samples are of their own VM", OPTIONS);
	bend.lot = EMULATE;
	bend.first = 1;
	bend.overflow = on_other_cr3;
	never("QEMU's samples are of their own VM", OPTIONS);
}

static void to_nowhere(struct vmprof_sample *s)
{
	s->host_ip = 0x1800;
}

static void overflow_nowhere(struct exact_overflow *o)
{
	o->pc = 0x1800;
}

/* Its functions, by their files here, whose cycles are exchanged; one sample is in what did not run */
static void test_qemu(void **state)
{
	(void)state;
	bend.cycles_at[VMM] = 100;
	bend.cycles_at[DEVICE] = -100;
	only("QEMU's functions have their exact share", OPTIONS);
	bend.cycles_at[VMM] = 10;
	bend.cycles_at[DEVICE] = -10;
	all_yes(OPTIONS " --qemu 500");
	only("QEMU's functions have their exact share", OPTIONS " --qemu 501");
	bend.lot = DEVICE;
	bend.first = 1;
	bend.sample = to_nowhere;
	bend.overflow = overflow_nowhere;
	never("QEMU's functions have their exact share", OPTIONS);
}

static void test_steal(void **state)
{
	(void)state;
	bend.lot = STOLEN;
	bend.first = 150;
	bend.sample = no_steal;
	only("steal is exact", OPTIONS);
	only("steal is exact", "--steal 78 --blocks 1");
}

/* It ran while a vCPU slept, but for two per cent and what the scheduler says */
static void test_not_steal(void **state)
{
	(void)state;
	only("what runs while a vCPU sleeps is no steal", "--not-steal 77 --blocks 1");
	only("what runs while a vCPU sleeps is no steal", "--not-steal 78 --blocks 1");
	bend.lot = STOLEN;
	bend.first = 290;
	bend.sample = no_steal;
	all_yes("--not-steal 77 --blocks 1");
	bend.first = 240;
	all_yes("--not-steal 77 --blocks 1 --waited 0.15");
	only("what runs while a vCPU sleeps is no steal", "--not-steal 77 --blocks 1 --waited 0.07");
	only("what runs while a vCPU sleeps is no steal", "--not-steal 77 --blocks 1");
}

static void tick_later(struct vmprof_sample *s)
{
	s->tsc++;
}

static void waits_of_itself(struct vmprof_sample *s)
{
	s->vm = s->host_pid;
}

static void waits_of_nobody(struct vmprof_sample *s)
{
	s->vm = HOG;
}

/* A library's function in three programs has less than 1 % in each, 24 of 929 cycles in all: 258 of 10,000 samples */
static void test_across_programs(void **state)
{
	enum { NO_NAME, MAIN, MEMCPY, LIBC, COMM };
	struct join_row rows[] = {
		{ .kind = VMP_KIND_GUEST_USER, .function = MAIN, .comm = COMM, .group = 0, .cycles_at = 900, .samples = 9700 },
		{ .kind = VMP_KIND_GUEST_USER, .function = MEMCPY, .module = LIBC, .comm = COMM, .group = 1, .cycles_at = 7, .samples = 100 },
		{ .kind = VMP_KIND_GUEST_USER, .function = MEMCPY, .module = LIBC, .comm = MAIN, .group = 2, .cycles_at = 9, .samples = 149 },
		{ .kind = VMP_KIND_GUEST_USER, .function = MEMCPY, .module = LIBC, .comm = LIBC, .group = 3, .cycles_at = 8 },
		{ .kind = VMP_KIND_GUEST_USER, .vm = 1, .function = MEMCPY, .module = LIBC, .comm = LIBC, .group = 4, .cycles_at = 5 },
		{ .kind = VMP_KIND_GUEST_KERNEL, .function = MEMCPY, .module = LIBC, .group = 5, .cycles_at = 40 },
		{ .kind = VMP_KIND_GUEST_USER, .function = MEMCPY, .module = LIBC, .comm = MEMCPY, .group = 6, .samples = 1 },
	};
	static const char *const names[] = { "main", "memcpy", "libc", "cc1" };
	const struct part parts[PARTS] = { [USER] = { .cycles = 929, .samples = 10000 } };
	struct vmp_model m = { 0 };
	struct join j = { .model = &m, .rows = { .v = rows, .nr = 7 } };
	uint32_t nr, shared, i, tests = 0;
	struct group *g, *all;
	int err = 0;

	(void)state;
	assert_int_equal(vmp_strings_init(&m.strings), 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(vmp_strings_add(&m.strings, names[i], strlen(names[i]), &err), i + 1);
	g = groups_make(&j, &nr);
	assert_int_equal(nr, 7);
	assert_int_equal(g[0].cycles_at, 900);
	all = groups_across_programs(&j, g + 1, nr - 1, &shared);
	assert_int_equal(shared, 2);
	assert_int_equal(all[0].cycles_at, 24);
	assert_int_equal(all[0].samples, 250);
	assert_int_equal(rows[all[0].row].function, MEMCPY);
	assert_int_equal(rows[all[1].row].vm, 1);
	free(all);
	judge_shared(&j, g + 1, nr - 1, 969, NULL, 0, &tests);
	assert_int_equal(tests, 1);
	assert_int_equal(judge_shared(&j, g + 1, nr - 1, 969, parts, 1e-6, NULL), 0);
	free(g);
	rows[2].samples = 249;
	g = groups_make(&j, &nr);
	assert_int_equal(judge_shared(&j, g + 1, nr - 1, 969, parts, 1e-6, NULL), 1);
	free(g);
	vmp_strings_deinit(&m.strings);
}

#define BESIDE	"steal by another VM is beside that one's own sample"

static void test_neighbours(void **state)
{
	static void (*const bends[])(struct vmprof_sample *) = { tick_later, waits_of_itself, waits_of_nobody };
	unsigned int i;

	(void)state;
	bend.beside = 1500;
	all_yes(OPTIONS " --neighbours 1500");
	bend.beside = 1500;
	only(BESIDE, OPTIONS " --neighbours 1501");
	/* there is none */
	only(BESIDE, OPTIONS " --neighbours 1");
	for (i = 0; i < sizeof(bends) / sizeof(bends[0]); i++) {
		bend.beside = 1500;
		bend.second = bends[i];
		never(BESIDE, OPTIONS " --neighbours 1000");
	}
	/* its own sample is missing, after the last and before any other */
	bend.beside = 1500;
	bend.lot = ALPHA;
	bend.first = 1;
	bend.no_sample = 1;
	assert_int_equal(judge_them((char[]){ OPTIONS " --neighbours 1000" }), 1);
	assert_int_equal(finals, 1);
}

/* A hundred of a thousand do */
static void test_behind(void **state)
{
	(void)state;
	all_yes(OPTIONS " --behind 10");
	only("few interrupts come while a sample is handled", OPTIONS " --behind 9.9");
}

/* The second owner of a CR3 was told of when it had run there for a while */
static void test_axis(void **state)
{
	(void)state;
	bend.early = 7000;
	never("guest events lie within the printed bound", OPTIONS);
	bend.ended = STEP / 2 - 100;	/* the first one is told to have ended, and runs on */
	never("guest events lie within the printed bound", OPTIONS);
	/* events that were too early by so many milliseconds would not be seen */
	bend.idle = GEN_KHZ;
	all_yes(OPTIONS);
	bend.idle = 6ULL * GEN_KHZ;
	only("guest events lie within the printed bound", OPTIONS);
}

/* What the guest's clock says leads to when it said so, within the bound of a few ticks */
static void test_clocks(void **state)
{
	(void)state;
	bend.clock = 1000;
	never("the guests' clocks are exact within the printed bound", OPTIONS);
	bend.clockless = 1;
	only("the guests' clocks are exact within the printed bound", OPTIONS);
}

/* Of too few times in which one could lie nothing can be said: of all, before the clock is moved, and after it */
static void test_residences(void **state)
{
	(void)state;
	bend.fewer = 3;
	all_yes(OPTIONS);
	bend.fewer = 4;
	only("guest events lie within the printed bound", OPTIONS);
	only("guest events lie within the printed bound", OPTIONS " --moved 1");
	bend.moved = begin_of(ALPHA) + 1340 * STEP;
	all_yes(OPTIONS " --moved 2");
	only("guest events lie within the printed bound", OPTIONS " --moved 3");
	bend.moved = begin_of(BETA) + 890 * STEP;
	all_yes(OPTIONS " --moved 3");
	only("guest events lie within the printed bound", OPTIONS " --moved 4");
}

static void test_hottest(void **state)
{
	int i;

	(void)state;
	/* shares and CPI are as they were */
	for (i = ALPHA; i <= OTHER; i++) {
		bend.cycles_at[i] = 0.3 * lots[i].samples;
		bend.insns_at[i] = 0.3 * lots[i].insn_samples;
	}
	only("the hottest function's time is exact", OPTIONS);
	/* blocks are asked of the same one, or of what is named */
	assert_string_equal(blocks_of, "alpha");
	all_yes(OPTIONS " --function alpha");
	only("the hottest function's time is exact", OPTIONS " --function beta");
	assert_string_equal(blocks_of, "beta");
	assert_int_equal(blocks_asked.blocks, 1);
	assert_int_equal(blocks_asked.host, 0);
}

/* Of the host's blocks alone, too; QEMU's are by the CR3 that its samples had */
static void test_host_blocks(void **state)
{
	(void)state;
	all_yes("--steal 77 --host-blocks 7");
	assert_int_equal(blocks_asked.blocks, 0);
	assert_int_equal(blocks_asked.host, 7);
	assert_int_equal(blocks_asked.qemu, CR3_VMM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_agree, setup, teardown),
		cmocka_unit_test_setup_teardown(test_few_samples, setup, teardown),
		cmocka_unit_test_setup_teardown(test_functions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ghost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cpi, setup, teardown),
		cmocka_unit_test(test_cpi_of_small_functions),
		cmocka_unit_test_setup_teardown(test_sides, setup, teardown),
		cmocka_unit_test_setup_teardown(test_orphan, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_side, setup, teardown),
		cmocka_unit_test_setup_teardown(test_elsewhere, setup, teardown),
		cmocka_unit_test_setup_teardown(test_spaces, setup, teardown),
		cmocka_unit_test_setup_teardown(test_report, setup, teardown),
		cmocka_unit_test_setup_teardown(test_known, setup, teardown),
		cmocka_unit_test_setup_teardown(test_task, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tasks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reason, setup, teardown),
		cmocka_unit_test_setup_teardown(test_skid, setup, teardown),
		cmocka_unit_test_setup_teardown(test_balance, setup, teardown),
		cmocka_unit_test_setup_teardown(test_covered, setup, teardown),
		cmocka_unit_test_setup_teardown(test_vmm, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reasonless, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host_ghost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host_kernel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host_processes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own, setup, teardown),
		cmocka_unit_test_setup_teardown(test_qemu, setup, teardown),
		cmocka_unit_test_setup_teardown(test_steal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_steal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_neighbours, setup, teardown),
		cmocka_unit_test(test_across_programs),
		cmocka_unit_test_setup_teardown(test_behind, setup, teardown),
		cmocka_unit_test_setup_teardown(test_axis, setup, teardown),
		cmocka_unit_test_setup_teardown(test_clocks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_residences, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hottest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host_blocks, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
