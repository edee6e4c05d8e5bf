// SPDX-License-Identifier: GPL-2.0-only
/*
 * judge_host.c - shares of what the host did: within KVM's own code, and within user code.
 *
 * Not of all that ran: the way from an overflow to where its handler stops the counters is counted and never
 * sampled, some two thousand cycles each time.  So all other code of the host has more samples
 * than its cycles ask for, by that part of a period; the sum of each tells that it is no more.
 */
#include "judge_host.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "binomial.h"
#include "report/exits.h"
#include "report/render.h"
#include "verdict.h"

#define BLIND		3000.0	/* cycles of the host's from an overflow to its handler, at most */
#define ERRORS		6	/* standard errors */

/* Of a list's cycles; smaller ones are summed up */
#define KVM_SHARE_MIN	0.01
#define QEMU_SHARE_MIN	0.01
#define PROC_SHARE_MIN	0.05	/* short-lived processes are many, and take over each other's CR3s */
#define KERNEL_SHARE_MIN	0.01	/* of the host's kernel's cycles outside of KVM; smaller ones are not asked about */

#define LOOSE_MAX	5	/* per cent of QEMU's samples in KVM's code may be without a vCPU ... */
#define LOOSE_FEW	10	/* ... and so many: it loads one, puts it away, and raises interrupts from another thread */

#define NOT_STEAL_MIN	300	/* samples of what runs beside a vCPU that sleeps */
/* What the scheduler counts, and a bit: it was asked just inside the window's beginning and just behind its end */
#define NOT_STEAL_MAX(waited)	(0.02 + (waited))

#define RESIDENCES_MIN	5	/* of user code on CR3s that had several owners: an idle guest had 11 */
#define RESOLUTION_US	5000	/* an axis that is off by more than that, either way, has to be seen: 200 to 2,400 would be, the longer the slower the emulator is */

/* Among these shares are compared */
struct whole {
	uint64_t cycles, samples;
};

static struct whole whole_of(const struct host_share *v, uint32_t nr)
{
	struct whole all = { 0 };
	uint32_t i;

	for (i = 0; i < nr; i++) {
		all.cycles += v[i].cycles;
		all.samples += v[i].samples;
	}
	return all;
}

static int is_judged(const struct whole *all, const struct host_share *s, double least)
{
	return (double)s->cycles >= least * (double)all->cycles;
}

static uint32_t tests_of(const struct host_share *v, uint32_t nr, double least)
{
	const struct whole all = whole_of(v, nr);
	uint32_t i, n = 1;	/* what is left of the list */

	for (i = 0; i < nr; i++)
		n += is_judged(&all, &v[i], least);
	return n;
}

static uint64_t kernel_cycles(const struct host *h)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < h->kernel_functions.nr; i++)
		sum += h->kernel_functions.v[i].cycles;
	return sum;
}

static int is_asked(const struct host_function *f, uint64_t all)
{
	return (double)f->cycles >= KERNEL_SHARE_MIN * (double)all;
}

static uint32_t kernel_tests(const struct host *h)
{
	const uint64_t all = kernel_cycles(h);
	uint32_t i, n = 0;

	for (i = 0; i < h->kernel_functions.nr; i++)
		n += (uint32_t)is_asked(&h->kernel_functions.v[i], all);
	return n;
}

uint32_t judge_host_tests(const struct join *j)
{
	return kernel_tests(&j->host) + tests_of(j->host.exits.v, j->host.exits.nr, KVM_SHARE_MIN) +
		tests_of(j->host.functions.v, j->host.functions.nr, KVM_SHARE_MIN) +
		tests_of(j->host.qemu.v, j->host.qemu.nr, QEMU_SHARE_MIN) +
		tests_of(j->host.procs.v, j->host.procs.nr, PROC_SHARE_MIN);
}

/* One test; its line tells the numbers.  Return: 1 beyond sampling error */
static int compare(const struct whole *all, const char *name, uint64_t cycles, uint64_t samples, double level)
{
	double share = all->cycles ? (double)cycles / (double)all->cycles : 0, n = (double)all->samples;
	double p = all->samples ? binomial_test(all->samples, samples, share) : 1;

	printf("  %8.3f %8.3f %8" PRIu64 " %10.1f %9.2g  %s\n", 100 * share, n > 0 ? 100.0 * (double)samples / n : 0,
	       samples, n * share, p, name);
	return p < level;
}

static uint32_t compare_all(const struct join *j, const struct host_share *v, uint32_t nr, double least, double level,
			    const char *(*name)(const struct join *j, char *buf, const struct host_share *s))
{
	const struct whole all = whole_of(v, nr);
	struct host_share rest = { 0 };
	char buf[VMP_EXIT_NAME_MAX];
	uint32_t i, bad = 0;

	for (i = 0; i < nr; i++) {
		if (is_judged(&all, &v[i], least)) {
			bad += (uint32_t)compare(&all, name(j, buf, &v[i]), v[i].cycles, v[i].samples, level);
			continue;
		}
		rest.cycles += v[i].cycles;
		rest.samples += v[i].samples;
	}
	return bad + (uint32_t)compare(&all, "(all others)", rest.cycles, rest.samples, level);
}

/* All of a list beside all that ran.  Return: 1 none, too little, or too much for what cannot be sampled */
static int compare_whole(const struct join *j, const struct host_share *v, uint32_t nr)
{
	const struct whole all = whole_of(v, nr);
	double period = (double)j->model->meta.period, due = (double)all.cycles / period;
	double off = ERRORS * sqrt(due), most = due * period / (period - BLIND);

	printf("  %.0f samples are due in all of it, %.0f if each overflow hides %g cycles; there are %" PRIu64 "\n",
	       due, most, BLIND, all.samples);
	return !all.samples || (double)all.samples < due - off || (double)all.samples > most + off;
}

/*
 * How likely a function of the host's kernel has as few samples as it has, or as many.  All it ran could be
 * sampled but for what it did from an overflow to the return from its NMI: at most all that it did after an NMI's
 * #VMEXIT, and from an NMI to its IRET.  @late: that part of the interrupts came while a sample was handled.
 */
static double chance_of(const struct join *j, const struct host_function *f, double late)
{
	const struct host *h = &j->host;
	const double period = (double)j->model->meta.period, n = (double)h->all;
	const double cycles = (double)f->cycles, least = (cycles - (double)f->nmi) / period * (1 - late);
	const double most = cycles / (period - BLIND) / (1 - late), got = (double)f->samples;

	printf("  %8.3f %17" PRIu64 " %10.1f %9.1f", 100 * cycles / (double)j->cycles, f->samples, least, most);
	if (n <= 0 || most > n || late >= 1)
		return 0;
	return got >= least && got <= most ? 1 : binomial_test((uint64_t)n, f->samples, (got < least ? least : most) / n);
}

static void judge_kernel(const struct join *j, double level)
{
	const struct host *h = &j->host;
	const double late = j->model->meta.random || !j->exact->injected ? 0 :
			    (double)j->exact->behind / (double)j->exact->injected;
	const uint64_t all = kernel_cycles(h);
	uint32_t i, n = 0, bad = 0, loose = 0;
	double p;

	printf("   exact %%             samples   at least   at most    chance  the host's kernel outside of KVM\n");
	for (i = 0; i < h->kernel_functions.nr; i++) {
		if (!is_asked(&h->kernel_functions.v[i], all))
			continue;
		p = chance_of(j, &h->kernel_functions.v[i], late);
		printf(" %9.2g  %s\n", p, vmp_model_name(j->model, h->kernel_functions.v[i].name));
		bad += p < level;
		loose += h->kernel_functions.v[i].nmi * 2 > h->kernel_functions.v[i].cycles;
		n++;
	}
	verdict(n && !bad, "functions of the host's kernel have their samples",
		"%" PRIu32 " of %" PRIu32 " are beyond sampling error; %" PRIu32 " ran in NMIs for the most part, so that they may have few", bad, n, loose);
}

static const char *exit_name(const struct join *j, char *buf, const struct host_share *s)
{
	(void)j;
	return s->key == EXACT_NO_EXIT ? "(none)" :
		vmp_exit_name(buf, VMPROF_VENDOR_SVM, s->key);
}

static const char *cr3_name(const struct join *j, char *buf, const struct host_share *s)
{
	(void)j;
	snprintf(buf, VMP_EXIT_NAME_MAX, "CR3 0x%" PRIx64, s->key);
	return buf;
}

static const char *function_name(const struct join *j, char *buf, const struct host_share *s)
{
	(void)buf;
	return vmp_model_name(j->model, (uint32_t)s->key);
}

/* Whose QEMU has that CR3: a VM's number in the model, or VMP_NONE */
static uint32_t vm_of_cr3(const struct join *j, uint64_t cr3)
{
	uint32_t i;

	for (i = 0; i < j->model->vms.nr; i++)
		if (cr3 && host_proc_cr3(&j->host, j->model->vms.v[i].vm) == cr3)
			return i;
	return VMP_NONE;
}

/* KVM's code for a VM ran on another CR3 than its QEMU's; of one without samples of user code nobody knows that */
static uint64_t others_in_kvm(const struct join *j, uint64_t *own)
{
	uint64_t others = 0, cr3;
	uint32_t i;

	*own = 0;
	for (i = 0; i < j->host.kvm_votes.nr; i++) {
		const struct host_vote *v = &j->host.kvm_votes.v[i];

		cr3 = host_proc_cr3(&j->host, j->model->vms.v[v->vm].vm);
		*own += cr3 == v->cr3 ? v->all : 0;
		others += cr3 && cr3 != v->cr3 ? v->all : 0;
	}
	return others;
}

/* The emulator tells whose it is by CR3, the sample by its VM */
static void judge_own(const struct join *j)
{
	uint64_t own = 0, others = 0, nobodys = 0, strangers = 0, kvm, kvm_others = others_in_kvm(j, &kvm);
	uint32_t i;

	for (i = 0; i < j->host.votes.nr; i++) {
		const struct host_vote *v = &j->host.votes.v[i];
		const uint32_t vm = vm_of_cr3(j, v->cr3);

		if (vm == v->vm)
			own += vm == VMP_NONE ? 0 : v->all;
		else if (vm == VMP_NONE)
			strangers += v->all;
		else if (v->vm == VMP_NONE)
			nobodys += v->all;
		else
			others += v->all;
	}
	verdict_never(others || nobodys || strangers || kvm_others, 1, "QEMU's samples are of their own VM",
		      "%" PRIu64 " of user code are, and %" PRIu64 " in KVM's; %" PRIu64 " are another VM's, %" PRIu64 " nobody's; %" PRIu64
		      " samples of a VM are of no QEMU, %" PRIu64 " in KVM's of another one", own, kvm, others, nobodys, strangers, kvm_others);
}

void judge_host(const struct join *j, int shared, int homeless, uint64_t qemu, double level)
{
	const struct host *h = &j->host;
	uint32_t bad;

	printf("   exact %%  sampled   samples   expected    chance  KVM's own code after a #VMEXIT\n");
	bad = compare_all(j, h->exits.v, h->exits.nr, KVM_SHARE_MIN, level, exit_name) +
		(uint32_t)compare_whole(j, h->exits.v, h->exits.nr);
	verdict(!bad, shared ? "VMM time by the pCPU's last #VMEXIT is exact" : "VMM time by exit reason is exact",
		"%" PRIu32 " beyond sampling error; %" PRIu64 " samples were held back, %" PRIu64 " came beside other tasks",
		bad, h->moved, h->beside);
	verdict(h->kvm && 100 * h->loose <= LOOSE_MAX * h->kvm + 100 * LOOSE_FEW, "KVM's code has a reason",
		"%" PRIu64 " of QEMU's %" PRIu64 " samples in it are without a vCPU, at most %d %% and %d may be", h->loose,
		h->kvm, LOOSE_MAX, LOOSE_FEW);
	judge_own(j);
	printf("   exact %%  sampled   samples   expected    chance  KVM's functions\n");
	bad = compare_all(j, h->functions.v, h->functions.nr, KVM_SHARE_MIN, level, function_name);
	verdict(h->functions.nr && !bad, "KVM's functions have their exact share", "%" PRIu32 " beyond sampling error", bad);
	verdict_never(!!h->ghosts, !!h->kernel, "no sample of the host's kernel is in a function that did not run",
		      "%" PRIu64 " of %" PRIu64 " samples are", h->ghosts, h->kernel);
	if (homeless)
		return;
	judge_kernel(j, level);
	printf("   exact %%  sampled   samples   expected    chance  user code of the host\n");
	bad = compare_all(j, h->procs.v, h->procs.nr, PROC_SHARE_MIN, level, cr3_name) +
		(uint32_t)compare_whole(j, h->procs.v, h->procs.nr);
	verdict(!bad, "host processes have their exact share", "%" PRIu32 " beyond sampling error", bad);
	printf("   exact %%  sampled   samples   expected    chance  QEMU's functions\n");
	bad = compare_all(j, h->qemu.v, h->qemu.nr, QEMU_SHARE_MIN, level, function_name);
	verdict_never(!!h->qemu_ghosts, h->user_samples.nr >= qemu && !bad, "QEMU's functions have their exact share",
		      "%" PRIu32 " beyond sampling error, of %" PRIu32 " samples (wanted %" PRIu64 "); %" PRIu64 " are in functions that did not run",
		      bad, h->user_samples.nr, qemu, h->qemu_ghosts);
}

/* A process's share of user code; all 0 without a sample */
static struct host_share share_of(const struct join *j, uint32_t pid)
{
	const uint64_t cr3 = host_proc_cr3(&j->host, pid);
	uint32_t i;

	for (i = 0; cr3 && i < j->host.procs.nr; i++)
		if (j->host.procs.v[i].key == cr3)
			return j->host.procs.v[i];
	return (struct host_share){ 0 };
}

void judge_steal(const struct join *j, uint32_t pid, double level)
{
	const struct whole user = whole_of(j->host.procs.v, j->host.procs.nr);
	const struct host_share s = share_of(j, pid);

	verdict(s.samples && !compare(&user, "steal by that process", s.cycles, s.steal, level), "steal is exact",
		"%" PRIu64 " of its %" PRIu64 " samples are steal", s.steal, s.samples);
}

void judge_not_steal(const struct join *j, uint32_t pid, double waited, double level)
{
	const struct host_share s = share_of(j, pid);
	const double most = NOT_STEAL_MAX(waited), got = s.samples ? (double)s.steal / (double)s.samples : 0;

	verdict(s.samples >= NOT_STEAL_MIN && most < 1 && (got <= most || binomial_test(s.samples, s.steal, most) >= level),
		"what runs while a vCPU sleeps is no steal",
		"%" PRIu64 " of its %" PRIu64 " samples are steal, %.2f %%; the vCPU wanted to run for %.2f %% of its time, at most %.2f %% may be",
		s.steal, s.samples, 100 * got, 100 * waited, 100 * most);
}

void judge_neighbours(const struct join *j, uint64_t min)
{
	const struct neighbours *n = &j->neighbours;

	verdict_never(!!n->stray, n->seconds >= min, "steal by another VM is beside that one's own sample",
		      "%" PRIu64 " samples are steal by another VM, wanted %" PRIu64 "; %" PRIu64 " have no sample of it beside them",
		      n->seconds, min, n->stray);
}

static double us_of(const struct join *j, uint64_t ticks)
{
	return j->model->header.tsc_khz ? (double)ticks * 1e3 / j->model->header.tsc_khz : 0;
}

static double clock_bound_us(const struct join *j)
{
	double bound = 0, us;
	uint32_t i;

	for (i = 0; i < j->model->vms.nr; i++) {
		us = vmp_clock_error_us(j->model, &j->model->vms.v[i]);
		bound = us > bound ? us : bound;
	}
	return bound;
}

/* What a guest's clock said when it was entered leads back to that time */
static void judge_clocks(const struct join *j, double bound, uint64_t moved)
{
	const struct axis *a = &j->axis;
	const double worst = us_of(j, a->clock_worst);

	verdict_never(worst > bound, a->clocks >= 1 + !!moved, "the guests' clocks are exact within the printed bound",
		      "at most %.4f us off at the first and the last entry with each of %" PRIu64 " offsets (wanted %d); bound %.3f us",
		      worst, a->clocks, 1 + !!moved, bound);
}

/* As far as an axis that is off would not be seen */
static int is_fine(double us)
{
	return us > 0 && us <= RESOLUTION_US;
}

void judge_axis(const struct join *j, double within_us, uint64_t moved)
{
	const struct axis *a = &j->axis;
	const double worst = us_of(j, a->worst), late = us_of(j, a->late), early = us_of(j, a->early);
	const double printed = clock_bound_us(j), bound = within_us < printed ? within_us : printed;

	judge_clocks(j, bound, moved);
	verdict_never(worst > bound,
		      a->residences >= RESIDENCES_MIN && a->before >= moved && a->after >= moved && is_fine(late) && is_fine(early),
		      "guest events lie within the printed bound",
		      "%" PRIu64 " of them in the middle of %" PRIu64 " residences on recycled CR3s (wanted %d; %" PRIu64
		      " before the guest's clock was moved, %" PRIu64 " after it, wanted %" PRIu64 "), %" PRIu64
		      " of which end; at most %.3f us; bound %.3f us; seen if they were %.0f us later, or %.0f us earlier (wanted %d)",
		      a->inside, a->residences, RESIDENCES_MIN, a->before, a->after, moved, a->ends, worst, bound, late, early, RESOLUTION_US);
}
