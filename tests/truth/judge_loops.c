// SPDX-License-Identifier: GPL-2.0-only
/*
 * judge_loops.c - a loop's iterations are the runs of its first instruction; those that no branch back led to began at its entries. What
 * one takes are the cycles of its code by their number.
 */
#include "judge_loops.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blocks/loops.h"
#include "model/weigh.h"
#include "util/text.h"
#include "verdict.h"

#define OFF		0.03	/* of a figure, that is no fault */
#define ERRORS		6	/* and so many standard errors: one in 2,000 by chance, for eight groups (t, 7) */
#define LOOPS		12	/* are judged, the hottest ones */
#define LOOPS_MIN	2	/* have to be, and have to be known to ..., and the cycles of as many (gzip and sha256sum have few that can be told) */
#define SURE		0.1	/* ... so much of their trips */
#define MEAN_OFF	0.02	/* of the trips of these together, or of their cycles, by the weight of their errors: no fault ... */
#define MEAN_ERRORS	3.5	/* ... and so many standard errors: one in 2,000 by chance */
#define SAMPLES_MIN	200	/* in the body of a loop that is judged */
#define ENTRIES_MIN	1000	/* exact ones, of such a loop */
#define OPEN		0.02	/* of its iterations, that none of the branches explains which vmprof saw lead there */

/* Figures that are known, together: parts that they are off, by the inverse of their variance */
struct known {
	uint32_t nr;
	double weighed, weights;
};

/* What is asked of loops, and of how many */
struct tally {
	uint32_t judged, bad, close, open, untold;	/* close: trips within OFF; untold: not judged, for the emulator's counts do not tell */
	uint32_t dashes;		/* without trips: no window may show how a loop is entered, or too few */
	double off;			/* of trips, without sign */
	struct known trips, cycles;
};

/* As the emulator has it */
struct counted {
	double iterations, entries, back, cycles;
};

static const struct vmp_point *point(const struct pieces *p, uint32_t number)
{
	return &p->set->points.points.v[number];
}

/* How often a branch was taken; below 0: the emulator's counts do not tell */
static double taken(const struct pieces *p, const struct vmp_unit *u)
{
	const struct vmp_point *end = point(p, u->end);
	const uint64_t next = vmp_set_behind(p->set, end->object, end->addr);

	if (!next || (u->flow != VMP_FLOW_COND && u->flow != VMP_FLOW_JUMP && u->flow != VMP_FLOW_CALL))
		return -1;
	return pieces_taken(p, end->object, next);
}

/* Back from the kernel: what an interrupt broke off goes on */
static int is_resumed(const struct pieces *p, const struct vmp_unit *u)
{
	const struct vmp_point *from = point(p, u->end);

	return u->flow == VMP_FLOW_SYSRET || (from->object != VMP_NONE && p->set->points.objects.v[from->object].kernel);
}

/* Is there an earlier unit with the same branch? */
static int is_known(const struct pieces *p, uint32_t unit)
{
	const struct vmp_unit *u = p->set->units.v;
	uint32_t i;

	for (i = 0; i < unit; i++)
		if (!u[i].flaw && u[i].end == u[unit].end && u[i].next == u[unit].next)
			return 1;
	return 0;
}

/*
 * Entries by branches from outside, and in line. What is left of iterations without branches back would be next to
 * nothing of many, and as uncertain as these.  Return: 1; 0 the emulator's counts do not tell
 */
static int count_loop(const struct pieces *p, const struct vmp_loop *l, struct counted *c)
{
	const struct vmp_point *h = point(p, l->header);
	double n;
	uint32_t i;

	*c = (struct counted){
		.iterations = pieces_runs(p, h->object, h->addr), .entries = pieces_in_line(p, h->object, h->addr),
		.cycles = pieces_cycles(p, h->object, h->addr, vmp_set_behind(p->set, h->object, l->end)),
	};
	for (i = 0; i < p->set->units.nr; i++) {
		const struct vmp_unit *u = &p->set->units.v[i];
		const struct vmp_point *from, *to;
		int inside;

		if (u->flaw || u->end == VMP_NONE || u->next == VMP_NONE)
			continue;
		from = point(p, u->end);
		to = point(p, u->next);
		if (to->object != h->object || to->addr < h->addr || to->addr > l->end)
			continue;
		if (is_resumed(p, u)) {
			/* an entry, of which the emulator's counts do not tell how often */
			if (to->addr == h->addr && vmp_loops_behind_system_call(p->set, to))
				return 0;
			continue;
		}
		inside = from->object == h->object && from->addr >= h->addr && from->addr <= l->end;
		if (to->addr == h->addr && !is_known(p, i)) {
			n = from->object == h->object ? taken(p, u) : -1;
			if (n < 0)
				return 0;
			*(inside ? &c->back : &c->entries) += n;
		} else if (to->addr != h->addr && !inside && from->addr < h->addr && u->flow != VMP_FLOW_RETURN) {
			return 0;	/* into the middle */
		}
	}
	return c->entries >= ENTRIES_MIN && c->entries <= c->iterations && !isnan(c->cycles);
}

static int is_off(double sampled, double exact, double error)
{
	return !(fabs(sampled - exact) <= OFF * exact + ERRORS * error);
}

/* Of eight groups an error can come out next to nothing */
static void know(struct known *k, double sampled, double exact, double error, double samples)
{
	const double part = fmax(error / exact, 1 / sqrt(samples));

	if (!(error <= SURE * sampled))
		return;
	k->nr++;
	k->weights += 1 / (part * part);
	k->weighed += (sampled / exact - 1) / (part * part);
}

static int is_known_off(const struct known *k)
{
	return k->nr && !(fabs(k->weighed / k->weights) <= MEAN_OFF + MEAN_ERRORS / sqrt(k->weights));
}

static void tally_loop(struct tally *t, const struct vmp_loop *l, const struct counted *exact)
{
	double trips = exact->iterations / exact->entries, cycles = exact->cycles / exact->iterations, off = l->trips / trips - 1;

	t->judged++;
	t->open += !(fabs(exact->entries + exact->back - exact->iterations) <= OPEN * exact->iterations);
	t->bad += is_off(l->trips, trips, l->trips_error) || is_off(l->iterations, exact->iterations, l->iterations_error) ||
		  is_off(l->cycles, cycles, l->cycles_error);
	t->close += fabs(off) <= OFF;
	t->off += isnan(off) ? 1 : fabs(off);
	know(&t->trips, l->trips, trips, l->trips_error, l->samples);
	know(&t->cycles, l->cycles, cycles, l->cycles_error, l->samples);
}

static const char *together_text(const struct known *k, char *buf, size_t size)
{
	if (k->nr)
		snprintf(buf, size, "%+.2f %%, error %.2f %%", 100 * k->weighed / k->weights, 100 / sqrt(k->weights));
	else
		snprintf(buf, size, "-");
	return buf;
}

static void tally_verdict(const struct tally *t, int paired)
{
	const struct known *k = &t->trips, *c = &t->cycles;
	char trips[64], cycles[64];

	verdict(t->judged >= LOOPS_MIN && t->judged >= t->dashes && k->nr >= LOOPS_MIN && (!paired || c->nr >= LOOPS_MIN) && !t->bad && !t->open && !is_known_off(k) && !is_known_off(c),
		"loops have their exact trips and cycles",
		"of the %" PRIu32 " hottest loops (wanted %d) %" PRIu32 " are more than %g %% and %d standard errors off, in trips, in iterations or in the cycles of one; trips of %" PRIu32 " within %g %%, %.2f %% off in the mean; %" PRIu32 " are known to %g %%, these together %s; cycles of %" PRIu32 ", these %s; of %" PRIu32 " not all that leads there was seen; %" PRIu32 " others have no figure, %" PRIu32 " cannot be told",
		t->judged, LOOPS_MIN, t->bad, 100 * OFF, ERRORS, t->close, 100 * OFF, t->judged ? 100 * t->off / t->judged : 0,
		k->nr, 100 * SURE, together_text(k, trips, sizeof(trips)), c->nr, together_text(c, cycles, sizeof(cycles)),
		t->open, t->dashes, t->untold);
}

static int hotter(const void *pa, const void *pb)
{
	const struct vmp_loop *a = pa, *b = pb;

	return a->samples > b->samples ? -1 : a->samples < b->samples;
}

int judge_loops(const struct pieces *p, const struct vmp_model *m, const struct vmp_estimates *e, int paired)
{
	struct vmp_loops *loops;
	struct tally t = { 0 };
	struct counted exact;
	char function[160];
	uint32_t i;
	int err = vmp_loops_create(&loops, p->set, e);

	if (err)
		return err;
	if (loops->list.nr)
		qsort(loops->list.v, loops->list.nr, sizeof(*loops->list.v), hotter);
	printf("  samples  trips exact   sampled      +-  iterations exact      sampled       +-  cycles exact   sampled      +-  loop\n");
	for (i = 0; i < loops->list.nr && t.judged < LOOPS; i++) {
		const struct vmp_loop *l = &loops->list.v[i];
		const struct vmp_point *h = point(p, l->header);
		const char *name = vmp_model_name(m, h->function);

		if (l->samples < SAMPLES_MIN || p->set->points.objects.v[h->object].kernel ||
		    p->set->points.objects.v[h->object].vm == VMP_NONE)
			continue;
		if (!count_loop(p, l, &exact)) {
			t.untold++;
			continue;
		}
		if (isnan(l->trips)) {
			t.dashes++;
			continue;
		}
		printf("  %7.0f %12.2f %9.2f %7.2f  %16.0f %12.0f %8.0f  %12.2f %9.2f %7.2f  %" PRIx64 "-%" PRIx64 " %s\n", l->samples,
		       exact.iterations / exact.entries, l->trips, l->trips_error, exact.iterations, l->iterations, l->iterations_error,
		       exact.cycles / exact.iterations, l->cycles, l->cycles_error, h->addr, l->end, vmp_text(function, sizeof(function), name, strlen(name)));
		tally_loop(&t, l, &exact);
	}
	tally_verdict(&t, paired);
	vmp_loops_destroy(loops);
	return 0;
}
