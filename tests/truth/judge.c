// SPDX-License-Identifier: GPL-2.0-only
/*
 * judge.c - a capture beside what truly ran.
 *
 * Usage: judge [OPTION VALUE]... EXACT CAPTURE
 *
 * --min SAMPLES                        wanted in the guest
 * --kthreads SAMPLES                   so many of the guest's kernel threads, idle ones too
 * --qemu SAMPLES                       so many of the user code of the VMs' QEMU
 * --steal PID                          this process of the host only stole
 * --not-steal PID                      this one ran while a vCPU slept ...
 * --waited PART                        ... which wanted to run for that part of its time, by the scheduler
 * --neighbours SAMPLES                 so many are steal by another VM of the session
 * --behind PERCENT                     so many interrupts may come while a sample is handled
 * --vcpus shared                       vCPUs share pCPUs
 * --pcpus some                         not each pCPU is a vCPU's home: other work there is not sampled
 * --blocks NR                          so many of the hottest blocks of user code and of the kernel, and the hottest function, too
 * --host-blocks NR                     so many of the hottest blocks of the host's kernel and of QEMU
 * --function NAME                      the hottest one has to be this
 * --within US                          guest events, whatever bound is printed
 * --report whole                       the report's rows are those of the overflows; of a whole session only
 * --moved RESIDENCES                   so many lie before the guest's clock was moved, and as many after that
 *
 * EXACT is what the emulator counted in its window.  Prints the
 * functions, sampled beside exact, then a line for each question,
 * "yes QUESTION: NUMBERS" or "NO QUESTION: NUMBERS" (verdict.h).  Exit status: 0 all yes,
 * 1 some no, 2 nothing to judge.
 *
 * The statistical questions use two-sided exact binomial tests, all of one run
 * together at the level FAMILY_LEVEL (Bonferroni: each at that divided by
 * their number).
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binomial.h"
#include "group.h"
#include "join.h"
#include "judge_blocks.h"
#include "judge_cpi.h"
#include "judge_host.h"
#include "judge_periods.h"
#include "judge_report.h"
#include "report/exits.h"
#include "verdict.h"

#define FAMILY_LEVEL	1e-4
#define SAMPLES_MIN	2000	/* in the guest; fewer say too little, if --min does not */
#define LEFT_MAX	10000	/* of so many samples of the guest one may have come with another #VMEXIT: "sti; hlt" ends so */
#define ENTRIES_MAX	500	/* of so many exits one may be on the way into the guest by the sample alone, or the overflow */
#define KNOWN_MIN	99	/* per cent of user code's samples, and of the kernel's: a name that neither side knows is no difference between them */
#define TASKS_MIN	99	/* per cent of them with a task; the window is behind what the agents tell at first */
#define HELD_MAX	50	/* per cent of the host's samples whose interrupt had to wait: 43 were, of a guest alone on a pCPU */
#define FUNCTION_OFF	0.01	/* of the hottest function, where periods are fixed: it is no fault ... */
#define FUNCTION_ERRORS	3.5	/* ... and so many standard errors: one in 2,000 by chance */

struct asked {
	uint64_t min;		/* guest samples */
	uint64_t kthreads;	/* of kernel threads */
	uint64_t qemu;		/* of QEMU's user code */
	uint32_t hog;		/* the host's process whose time must be steal; 0 not asked */
	uint32_t idle_hog;	/* the one whose time must not be; 0 not asked */
	double waited;
	double behind;		/* per cent; HUGE_VAL not asked */
	int shared;		/* vCPUs share pCPUs: exits are not held against the pCPU's last one */
	int homeless;		/* some pCPU is no vCPU's home */
	uint32_t blocks;	/* hottest ones; 0 not asked */
	uint32_t host_blocks;	/* of the host; 0 not asked */
	const char *function;	/* of user code: the hottest has to be this one; NULL: any */
	double within_us;	/* guest events; HUGE_VAL not asked */
	uint64_t neighbours;	/* samples of steal by another VM; 0 not asked */
	uint64_t moved;		/* residences on either side of a move of the guest's clock */
	int report;		/* its rows are asked about */
};

static void print_group(const struct join *j, const struct group *g, uint64_t cycles,
			uint64_t samples, double p)
{
	const struct join_row *r = &j->rows.v[g->row];
	char function[160], module[80], comm[40];

	printf("  %8.3f %8.3f %8" PRIu64 " %10.1f %9.2g %6.3f  %-26s %-18s %s\n",
	       100.0 * (double)g->cycles_at / (double)cycles,
	       100.0 * (double)g->samples / (double)samples, g->samples,
	       (double)samples * (double)g->cycles_at / (double)cycles, p,
	       g->insns ? (double)g->cycles / (double)g->insns : 0,
	       group_text(j, r->function, function, sizeof(function)),
	       group_text(j, r->module, module, sizeof(module)),
	       group_text(j, r->comm, comm, sizeof(comm)));
}

/* Functions of enough weight */
static uint32_t judged(const struct group *g, uint32_t nr, uint64_t cycles)
{
	uint32_t n = 0;

	while (n < nr && (double)g[n].cycles_at >= SHARE_MIN * (double)cycles)
		n++;
	return n;
}

/* The guest's user code, and its kernel: shares are judged within either */
struct part {
	uint64_t cycles, samples;
	uint64_t rest_cycles, rest_samples;	/* of functions that are not judged */
};

static void make_parts(const struct join *j, const struct group *g, uint32_t nr, uint32_t n, struct part *parts)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		struct part *part = &parts[group_part(j, &g[i])];

		part->cycles += g[i].cycles_at;
		part->samples += g[i].samples;
		part->rest_cycles += i < n ? 0 : g[i].cycles_at;
		part->rest_samples += i < n ? 0 : g[i].samples;
	}
}

/*
 * Interrupts come by the clock, also while the host handles a sample; they are taken right behind it,
 * a whole period before the next overflow.  The kernel's functions that handle them lose up to that
 * part of their samples, and its others have these; so has user code, whose own shares stay as they are.
 * Where periods are random the next overflow is as likely there as anywhere.
 * Return: the part.
 */
static double bias_of(const struct join *j)
{
	const struct exact *x = j->exact;
	double lost = x->injected ? (double)x->behind / (double)x->injected : 0;

	printf("  %.1f %% of %" PRIu64 " interrupts came while a sample was handled%s\n", 100 * lost, x->injected,
	       j->model->meta.random ? "; periods are random" : "");
	return j->model->meta.random ? 0 : lost;
}

/* How likely a count is at least as far out, of a share that may lie between two ends */
static double chance(uint64_t samples, uint64_t all, double least, double most)
{
	const double got = all ? (double)samples / (double)all : 0;

	return !all || (got >= least && got <= most) ? 1 : binomial_test(all, samples, got < least ? least : most);
}

static double chance_within(int part, const struct part *parts, uint64_t cycles, uint64_t samples, double lost)
{
	const struct part *whole = &parts[part];
	const double p = whole->cycles ? (double)cycles / (double)whole->cycles : 0;

	if (part == USER || lost >= 1)
		return chance(samples, whole->samples, p, p);
	return chance(samples, whole->samples, p * (1 - lost), p / (1 - lost) < 1 ? p / (1 - lost) : 1);
}

/* The kernel's share of the guest: it alone loses samples so */
static double chance_of_kernel(const struct part *parts, double lost)
{
	const double p = (double)parts[KERNEL].cycles / (double)(parts[KERNEL].cycles + parts[USER].cycles);

	return chance(parts[KERNEL].samples, parts[KERNEL].samples + parts[USER].samples,
		      p * (1 - lost) / (1 - p * lost), p);
}

static void print_sum(const char *what, uint64_t cycles, uint64_t samples, const struct part *all, double p)
{
	printf("  %8.3f %8.3f %8" PRIu64 " %10.1f %9.2g         (%s)\n",
	       100.0 * (double)cycles / (double)all->cycles, 100.0 * (double)samples / (double)all->samples, samples,
	       (double)all->samples * (double)cycles / (double)all->cycles, p, what);
}

/* What is no function that is judged alone.  Return: how many are beyond sampling error. */
static uint32_t judge_sums(const struct part *parts, double lost, double level)
{
	const struct part all = { .cycles = parts[USER].cycles + parts[KERNEL].cycles,
				  .samples = parts[USER].samples + parts[KERNEL].samples };
	double p = chance_of_kernel(parts, lost);
	uint32_t bad = p < level;
	int i;

	print_sum("all of the kernel", parts[KERNEL].cycles, parts[KERNEL].samples, &all, p);
	for (i = 0; i < PARTS; i++) {
		p = chance_within(i, parts, parts[i].rest_cycles, parts[i].rest_samples, lost);
		bad += p < level;
		print_sum(i == USER ? "all other user code" : "all other of the kernel", parts[i].rest_cycles,
			  parts[i].rest_samples, &all, p);
	}
	return bad;
}

/*
 * Functions of several programs that are nowhere enough for a test of their own, but in all of them together.
 * @tests: So many there are; NULL: they are judged.  Return: how many are beyond sampling error.
 */
static uint32_t judge_shared(const struct join *j, const struct group *g, uint32_t nr, uint64_t cycles, const struct part *parts, double level,
			     uint32_t *tests)
{
	uint32_t i, n, bad = 0;
	struct group *shared = groups_across_programs(j, g, nr, &n);

	for (i = 0; shared && i < n && (double)shared[i].cycles_at >= SHARE_MIN * (double)cycles; i++) {
		double p;

		if (tests) {
			++*tests;
			continue;
		}
		p = chance_within(USER, parts, shared[i].cycles_at, shared[i].samples, 0);
		bad += p < level;
		print_group(j, &shared[i], cycles, parts[USER].samples + parts[KERNEL].samples, p);
	}
	free(shared);
	return shared ? bad : 1;
}

static void judge_functions(const struct join *j, const struct group *g, uint32_t nr, double level,
			    uint64_t min)
{
	uint64_t cycles, samples, ghosts = 0;
	struct part parts[PARTS] = { 0 };
	const double lost = bias_of(j);
	uint32_t i, n, bad = 0;

	for (i = 0, cycles = 0; i < nr; i++)
		cycles += g[i].cycles_at;
	n = judged(g, nr, cycles);
	make_parts(j, g, nr, n, parts);
	samples = parts[USER].samples + parts[KERNEL].samples;
	printf("   exact %%  sampled   samples   expected    chance    CPI  function\n");
	for (i = 0; i < n; i++) {
		double p = chance_within(group_part(j, &g[i]), parts, g[i].cycles_at, g[i].samples, lost);

		bad += p < level;
		print_group(j, &g[i], cycles, samples, p);
	}
	bad += judge_shared(j, g + n, nr - n, cycles, parts, level, NULL);
	bad += judge_sums(parts, lost, level);
	for (i = n; i < nr; i++) {
		if (g[i].cycles_at || g[i].insns_at || !(g[i].samples + g[i].insn_samples))
			continue;
		ghosts += g[i].samples + g[i].insn_samples;
		print_group(j, &g[i], cycles, samples, 0);
	}
	verdict(samples >= min, "enough samples", "%" PRIu64 " in the guest, wanted %" PRIu64,
		samples, min);
	verdict(n && !bad, "functions have their exact share",
		"%" PRIu32 " functions of %g %% or more, those that several programs have together, and what is left, %" PRIu32 " beyond sampling error (each below %.2g)",
		n, 100 * SHARE_MIN, bad, level);
	verdict_never(!!ghosts, 1, "no sample is in a function that did not run", "%" PRIu64 " samples are", ghosts);
}

/*
 * The time of the user code's hottest function: its samples, a period each, beside its exact cycles.
 * @named: What it has to be; NULL: whichever it is.
 *
 * Return: its name, the model's.
 */
static const char *judge_hottest(const struct join *j, const struct group *g, uint32_t nr, uint64_t period, const char *named)
{
	const double allowed = j->model->meta.random ? 0 : FUNCTION_OFF;
	double sampled, error, off;
	char function[160];
	uint32_t i;

	for (i = 0; i + 1 < nr && group_part(j, &g[i]) != USER; i++)
		;
	sampled = (double)(g[i].samples * period);
	error = 1 / sqrt((double)g[i].samples);
	off = sampled / (double)g[i].cycles_at - 1;
	group_text(j, j->rows.v[g[i].row].function, function, sizeof(function));
	verdict(g[i].samples && fabs(off) <= allowed + FUNCTION_ERRORS * error && (!named || !strcmp(function, named)),
		"the hottest function's time is exact",
		"%s: %.0f cycles sampled, %" PRIu64 " exact, %+.2f %% (to %g %% and %g standard errors of %.2f %%)",
		function, sampled, g[i].cycles_at, 100 * off, 100 * allowed, FUNCTION_ERRORS, 100 * error);
	return vmp_model_name(j->model, j->rows.v[g[i].row].function);
}

/* Random periods: each of the guest's cycles was an overflow with the same probability */
static double chance_of_sides(const struct join *j, uint64_t period, uint64_t guest)
{
	const uint64_t overflows = j->cycles / period, of_guest = j->checks.main_guest;

	if (j->model->meta.random)
		return binomial_test(guest, of_guest, 1 / (double)period);
	return binomial_test(overflows, of_guest < overflows ? of_guest : overflows, (double)guest / (double)j->cycles);
}

static void judge_sides(const struct join *j, uint64_t period, double level)
{
	const uint64_t guest = j->side[EXACT_GUEST] + j->side[EXACT_GUEST | EXACT_USER];
	const uint64_t overflows = j->cycles / period;
	double p = chance_of_sides(j, period, guest);

	if (j->model->meta.random)
		verdict(p >= level, "guest and host have their exact share",
			"guest ran %" PRIu64 " cycles, %.0f overflows expected, %" PRIu64 " sampled, chance %.2g",
			guest, (double)guest / (double)period, j->checks.main_guest, p);
	else
		verdict(p >= level, "guest and host have their exact share",
			"guest exact %.3f %%, sampled %.3f %% of %" PRIu64 " overflows, chance %.2g",
			100.0 * (double)guest / (double)j->cycles,
			100.0 * (double)j->checks.main_guest / (double)overflows, overflows, p);
}

static double per_cent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

static int is_known(uint64_t known, uint64_t all)
{
	return all && 100 * known >= KNOWN_MIN * all;
}

static void judge_samples(const struct join *j, const struct asked *a)
{
	const struct join_checks *c = &j->checks;
	const struct threads *t = &j->threads;

	verdict_never(!!c->orphans, 1, "each sample has an overflow of its own",
		      "%" PRIu64 " of %" PRIu64 " have none", c->orphans, c->samples);
	verdict_never(c->guest_of_host || c->host_of_guest, 1, "no sample is on the wrong side",
		      "%" PRIu64 " of %" PRIu64 " guest samples are the host's, %" PRIu64 " of %" PRIu64
		      " host samples are the guest's", c->guest_of_host, c->guest, c->host_of_guest, c->host);
	verdict_never(c->elsewhere || c->held_user || c->astray,
		      c->host > c->held + c->host_of_guest && 100 * c->held <= HELD_MAX * c->host,
		      "host samples are where the counter overflowed",
		      "%" PRIu64 " of %" PRIu64 " are elsewhere; %" PRIu64 " more had to wait (%.1f %%, at most %d %%), %" PRIu64
		      " of them in user code, %" PRIu64 " are not where their interrupt came", c->elsewhere,
		      c->host - c->held - c->host_of_guest, c->held, per_cent(c->held, c->host), HELD_MAX, c->held_user, c->astray);
	verdict_never(c->wrong_vm || c->wrong_cr3 || c->wrong_cpl, c->left <= 2 + c->guest / LEFT_MAX,
		      "VM, CR3 and CPL are those of the overflow",
		      "%" PRIu64 ", %" PRIu64 ", %" PRIu64 " differ; %" PRIu64 " came when the guest had just been left",
		      c->wrong_vm, c->wrong_cr3, c->wrong_cpl, c->left);
	verdict(is_known(c->user_known, c->user) && is_known(c->kernel_known, c->kernel), "guest code is known",
		"process, module and function of %" PRIu64 " of %" PRIu64 " samples of user code (%.2f %%), function of %"
		PRIu64 " of %" PRIu64 " of the kernel (%.2f %%, wanted %d %% of either)", c->user_known, c->user,
		per_cent(c->user_known, c->user), c->kernel_known, c->kernel, per_cent(c->kernel_known, c->kernel), KNOWN_MIN);
	verdict_never(!!c->other_task, c->tasks && 100 * c->tasks >= TASKS_MIN * c->user,
		      "user code's task is of the process whose CR3 it was",
		      "%" PRIu64 " of %" PRIu64 " are of another's; %" PRIu64 " samples of user code (%.2f %% have one, wanted %d %%)",
		      c->other_task, c->tasks, c->user, per_cent(c->tasks, c->user), TASKS_MIN);
	verdict_never(t->mixed || t->with_fs, t->seen.nr && t->kthreads >= a->kthreads, "the thread is the one that ran",
		      "%" PRIu64 " samples of %" PRIu64 " threads by their FS, %" PRIu64 " times another came in between; %"
		      PRIu64 " of %" PRIu64 " of kernel threads have one, wanted %" PRIu64, (uint64_t)t->seen.nr, t->bases,
		      t->mixed, t->with_fs, t->kthreads, a->kthreads);
	if (!a->shared)
		verdict_never(!!c->wrong_exit, c->exits && ENTRIES_MAX * c->entry <= c->exits,
			      "the exit reason is that of the last #VMEXIT",
			      "%" PRIu64 " of %" PRIu64 " differ, and %" PRIu64
			      " more were on the way into the guest by one of the two alone", c->wrong_exit, c->exits, c->entry);
	verdict_never(!!c->skid, 1, "there is no skid in guest code",
		      "%" PRIu64 " samples have some, at most %" PRIu64 " bytes", c->skid, c->skid_max);
}

static void print_exits(const struct join *j)
{
	char buf[VMP_EXIT_NAME_MAX];
	uint32_t i;

	printf("  #VMEXITs:");
	for (i = 0; i < j->exact->exits.nr; i++)
		printf(" %s %" PRIu64, vmp_exit_name(buf, VMPROF_VENDOR_SVM, j->exact->exits.v[i].code),
		       j->exact->exits.v[i].count);
	printf("\n");
}

/* Where periods are fixed that is how far a function of the kernel may be off (bias_of()) */
static void judge_behind(const struct exact *x, double most)
{
	const double got = x->injected ? 100 * (double)x->behind / (double)x->injected : 0;

	verdict(x->injected && got <= most, "few interrupts come while a sample is handled",
		"%.2f %% of %" PRIu64 ", at most %g %%", got, x->injected, most);
}

/* How many statistical tests the run makes */
static uint32_t all_tests(const struct join *j, const struct group *g, uint32_t nr, uint64_t cycles,
			  const struct asked *a)
{
	const uint32_t alone = judged(g, nr, cycles);
	uint32_t n = alone + PARTS + 2 + judge_host_tests(j) + !!a->hog + !!a->idle_hog;

	judge_shared(j, g + alone, nr - alone, cycles, NULL, 0, &n);
	return n + (vmp_weigh_paired(j->model) ? judge_cpi_tests(j, g, nr) : 0);
}

/* @hottest: of user code, where blocks are asked about.  Return: 0, or 2: there is nothing to judge. */
static int judge(const struct join *j, const struct asked *a, const char **hottest)
{
	uint64_t period = j->model->meta.period, cycles = 0;
	struct group *g;
	uint32_t nr, i;
	double level;

	g = groups_make(j, &nr);
	if (!g || !period || !j->cycles) {
		fprintf(stderr, "judge: nothing was counted, or the capture has no period\n");
		free(g);
		return 2;
	}
	for (i = 0; i < nr; i++)
		cycles += g[i].cycles_at;
	level = FAMILY_LEVEL / all_tests(j, g, nr, cycles, a);
	printf("  %" PRIu64 " cycles counted, %" PRIu64 " with the counters stopped; "
	       "two-sided binomial tests, family level %g\n", j->cycles, j->quiet_cycles, FAMILY_LEVEL);
	print_exits(j);
	judge_functions(j, g, nr, level, a->min);
	if (vmp_weigh_paired(j->model))
		judge_cpi(j, g, nr, level);
	judge_sides(j, period, level);
	judge_samples(j, a);
	judge_balance(j, period);
	judge_covered(j, period);
	judge_host(j, a->shared, a->homeless, a->qemu, level);
	if (a->hog)
		judge_steal(j, a->hog, level);
	if (a->idle_hog)
		judge_not_steal(j, a->idle_hog, a->waited, level);
	if (a->neighbours)
		judge_neighbours(j, a->neighbours);
	if (a->behind < HUGE_VAL)
		judge_behind(j->exact, a->behind);
	judge_axis(j, a->within_us, a->moved);
	if (a->blocks)
		*hottest = judge_hottest(j, g, nr, period, a->function);
	free(g);
	return 0;
}

static void usage(void)
{
	fprintf(stderr, "usage: judge [--min SAMPLES] [--kthreads SAMPLES] [--qemu SAMPLES] [--steal PID] [--not-steal PID [--waited PART]] [--neighbours SAMPLES] [--behind PERCENT]\n"
		"             [--vcpus shared] [--pcpus some] [--blocks NR] [--host-blocks NR] [--function NAME] [--within US] [--report whole] [--moved RESIDENCES] EXACT CAPTURE\n");
	exit(2);
}

int main(int argc, char **argv)
{
	struct asked a = { .min = SAMPLES_MIN, .within_us = HUGE_VAL, .behind = HUGE_VAL };
	const char *hottest = NULL;
	struct blocks_asked blocks;
	struct vmp_model *m;
	struct exact x;
	struct join j;
	int err;

	for (; argc > 3; argc -= 2, argv += 2) {
		if (!strcmp(argv[1], "--min"))
			a.min = strtoull(argv[2], NULL, 10);
		else if (!strcmp(argv[1], "--kthreads"))
			a.kthreads = strtoull(argv[2], NULL, 10);
		else if (!strcmp(argv[1], "--qemu"))
			a.qemu = strtoull(argv[2], NULL, 10);
		else if (!strcmp(argv[1], "--steal"))
			a.hog = (uint32_t)strtoul(argv[2], NULL, 10);
		else if (!strcmp(argv[1], "--not-steal"))
			a.idle_hog = (uint32_t)strtoul(argv[2], NULL, 10);
		else if (!strcmp(argv[1], "--waited"))
			a.waited = strtod(argv[2], NULL);
		else if (!strcmp(argv[1], "--behind"))
			a.behind = strtod(argv[2], NULL);
		else if (!strcmp(argv[1], "--vcpus") && !strcmp(argv[2], "shared"))
			a.shared = 1;
		else if (!strcmp(argv[1], "--pcpus") && !strcmp(argv[2], "some"))
			a.homeless = 1;
		else if (!strcmp(argv[1], "--blocks"))
			a.blocks = (uint32_t)strtoul(argv[2], NULL, 10);
		else if (!strcmp(argv[1], "--host-blocks"))
			a.host_blocks = (uint32_t)strtoul(argv[2], NULL, 10);
		else if (!strcmp(argv[1], "--function"))
			a.function = argv[2];
		else if (!strcmp(argv[1], "--within"))
			a.within_us = strtod(argv[2], NULL);
		else if (!strcmp(argv[1], "--neighbours"))
			a.neighbours = strtoull(argv[2], NULL, 10);
		else if (!strcmp(argv[1], "--report") && !strcmp(argv[2], "whole"))
			a.report = 1;
		else if (!strcmp(argv[1], "--moved"))
			a.moved = strtoull(argv[2], NULL, 10);
		else
			usage();
	}
	if (argc != 3)
		usage();
	err = exact_read(&x, argv[1]);
	if (err) {
		fprintf(stderr, "judge: cannot read %s: %s\n", argv[1], exact_why(err));
		return 2;
	}
	err = vmp_model_open(&m, argv[2]);
	if (err) {
		fprintf(stderr, "judge: cannot read %s: %s\n", argv[2], strerror(-err));
		exact_free(&x);
		return 2;
	}
	err = join_create(&j, m, &x);
	if (err) {
		fprintf(stderr, "judge: cannot join them: %s\n", strerror(-err));
		err = 2;
	} else {
		if (!a.shared)
			host_take_own(&j.host);
		err = judge(&j, &a, &hottest);
		if (!err && a.report && judge_report(&j)) {
			fprintf(stderr, "judge: out of memory, or the capture cannot be read again\n");
			err = 2;
		}
		blocks = (struct blocks_asked){
			.blocks = a.blocks, .host = a.host_blocks, .function = a.function ? a.function : hottest,
			.qemu = m->vms.nr ? host_proc_cr3(&j.host, m->vms.v[0].vm) : 0,
		};
		join_free(&j);
	}
	if (!err && (a.blocks || a.host_blocks) && judge_blocks(m, &x, &blocks)) {
		fprintf(stderr, "judge: cannot judge blocks: the capture has no branches, or is not of one domain\n");
		err = 2;
	}
	vmp_model_close(m);
	exact_free(&x);
	return err ? err : verdict_noes() ? 1 : 0;
}
