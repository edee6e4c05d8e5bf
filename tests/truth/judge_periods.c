// SPDX-License-Identifier: GPL-2.0-only
/* judge_periods.c - what ran beside how often the counters overflowed. */
#include "judge_periods.h"

#include <inttypes.h>
#include <math.h>

#include "verdict.h"

#define COVERED_OFF	4	/* overflows of a CPU's guests: of each event the window cuts the first period and the last */

/* Overflows that no sample is of */
static uint64_t untaken(const struct exact *x, uint32_t of)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < x->overflows.nr; i++)
		n += !x->overflows.v[i].taken && (x->overflows.v[i].of & of) == of;
	return n;
}

/*
 * Every overflow is a record, a filtered one or a loss with its cause.  What was filtered and lost
 * is known of the whole session only: where the window is a part of it that is a bound.  perf leaves
 * out a period that ran by while the interrupt of the one before was held back: one in 10,000 may be so.
 * Counters are armed and taken away one after the other, by a thread that may have to wait in between, while
 * those that are on make the emulator count: the periods of a whole session are known to 16 a CPU, its overflows to two.
 * How many random periods there are is known to six standard errors besides.
 */
void judge_balance(const struct join *j, uint64_t period)
{
	const struct vmp_driver_losses *d = &j->model->driver;
	const uint64_t second = j->model->meta.instruction_period;
	const uint64_t samples = j->checks.samples;
	uint64_t none = untaken(j->exact, 0), none_guest = untaken(j->exact, EXACT_GUEST);
	const uint64_t raised = j->exact->overflows.nr, few = 2 * j->exact->cpus.nr;
	uint64_t told, slack, scatter = 0, lost = 0, due = j->cycles / period;
	int i;

	if (second)
		due += j->insns / second;
	slack = 16 * j->exact->cpus.nr + due / 10000;
	if (j->model->meta.random)
		scatter = (uint64_t)(6 * sqrt((double)due));
	for (i = 0; i < VMPROF_LOST_NR; i++)
		lost += d->lost[i];
	told = samples + (j->checks.outside ? none : d->filtered + lost);
	verdict(due <= told + slack + scatter && told <= due + slack + scatter &&
		(j->checks.outside || (raised <= told + few && told <= raised + few)) &&
		(!j->checks.outside || (none <= d->filtered + lost + slack && none_guest <= lost + few)),
		"every period is accounted for",
		"%" PRIu64 " periods ran; %" PRIu64 " samples, %" PRIu64 " filtered, %" PRIu64
		" lost (at most %" PRIu64 " apart); %" PRIu64 " overflows without a sample, %" PRIu64
		" of the guest; %" PRIu64 " samples before or after", due, samples, d->filtered, lost, slack + scatter,
		none, none_guest, j->checks.outside);
}

/* What the guests on a CPU did, all of it, and in how many overflows it was seen */
struct covered {
	uint64_t cycles, insns;
	uint64_t quiet;		/* of the cycles: no counter was on */
	uint64_t seen;
};

static struct covered covered_of(const struct exact *x, const struct exact_cpu *cpu)
{
	struct covered c = { 0 };
	uint32_t i;

	for (i = 0; i < x->blocks.nr; i++) {
		const struct exact_block *b = &x->blocks.v[i];
		const struct exact_space *s = &x->spaces.v[b->space];

		if (s->cpu != cpu->cpu || !(s->flags & EXACT_GUEST))
			continue;
		c.cycles += b->cycles;
		c.insns += b->insns;
		c.quiet += s->flags & EXACT_COUNTING ? 0 : b->cycles;
	}
	for (i = cpu->overflow; i < cpu->overflows; i++)
		c.seen += x->overflows.v[i].of == EXACT_GUEST;
	return c;
}

/*
 * Counters may be on for one side alone, or on one CPU: of each CPU its guests' overflows are as many as what
 * they did there asks for. A period that ran by while an interrupt was held back is missing, as in judge_balance().
 */
void judge_covered(const struct join *j, uint64_t period)
{
	const uint64_t second = j->model->meta.instruction_period;
	const struct exact *x = j->exact;
	uint32_t i, bad = 0, quiet = 0;
	double due, missing, most = -HUGE_VAL;
	uint64_t cycles = 0, none = 0;

	for (i = 0; i < x->cpus.nr; i++) {
		const struct covered c = covered_of(x, &x->cpus.v[i]);

		due = (double)c.cycles / (double)period + (second ? (double)c.insns / (double)second : 0);
		missing = due - (double)c.seen;
		bad += missing > COVERED_OFF + due / 10000 + (j->model->meta.random ? 6 * sqrt(due) : 0);
		most = missing > most ? missing : most;
		quiet += c.quiet > period;
		none += c.quiet;
		cycles += c.cycles;
	}
	verdict_never(!!quiet, cycles && !bad, "counters run whenever a guest does",
		      "%" PRIu64 " of the guests' %" PRIu64 " cycles ran without one (at most %" PRIu64 " may on a CPU); %" PRIu32
		      " of %" PRIu32 " CPUs have too few overflows, at most %.1f are missing", none, cycles, period, bad,
		      x->cpus.nr, most);
}
