// SPDX-License-Identifier: GPL-2.0-only
/* estimate.c - what the chain says of blocks, its error, and which figure is used for which block. */
#include "blocks/estimate.h"

#include <math.h>
#include <string.h>

#include "blocks/share.h"
#include "blocks/solutions.h"
#include "util/big.h"
#include "util/parallel.h"

#define FAR		2.0	/* times equation 1, or a part of it */

const char *vmp_source_key(enum vmp_source source)
{
	static const char *const keys[VMP_SOURCE_NR] = { "none", "cpi", "time", "lbr" };

	return source < VMP_SOURCE_NR ? keys[source] : "";
}

/* ------------------------------------------------------------------- chain */

/* Blocks, without one group */
struct without {
	double *executions, *cycles;
	double *missed;		/* samples in runs to which a mispredicted branch led */
};

/* Groups that a thread leaves out, as many together as there are lanes */
struct worker {
	struct vmp_estimates *e;
	const struct vmp_chain *chain;
	const struct vmp_solutions *all;
	struct without *without;	/* by group */
	unsigned int first, step;
	int err;
};

/* What the whole says */
static void take(struct vmp_estimates *e, const struct vmp_solutions *s)
{
	uint32_t i;

	for (i = 0; i < e->m->set->blocks.nr; i++) {
		struct vmp_estimate *b = &e->block[i];

		b->samples = s->time[i];
		e->samples += s->time[i];
		b->executions = s->block[i] > 0 ? s->block[i] : NAN;
		b->cycles[VMP_SOURCE_TIME] = s->block[i] > 0 ? s->time[i] * e->period / s->block[i] : NAN;
	}
	e->guessed_part = s->guessed;
}

/* Samples to which a mispredicted branch led are shared out as all are.  @s: what was taken of its time is not needed any more. */
static void take_missed(struct vmp_estimates *e, const struct vmp_chain *c, struct vmp_solutions *s)
{
	uint32_t i;

	vmp_share(c, s, e->m->missed, s->time);
	for (i = 0; i < e->m->set->blocks.nr; i++)
		e->block[i].missed = s->time[i];
}

static void take_missed_of_groups(struct worker *w, struct vmp_solutions *s)
{
	unsigned int l;
	uint32_t i;

	vmp_share(w->chain, s, w->e->m->missed, s->time);
	for (l = 0; l < VMP_LANES; l++)
		for (i = 0; i < w->e->m->set->blocks.nr; i++)	/* a group less is so much less of it */
			w->without[s->first + l].missed[i] = s->time[i * VMP_LANES + l] * VMP_GROUPS / (VMP_GROUPS - 1);
}

static void take_group(struct worker *w, const struct vmp_solutions *s, unsigned int lane)
{
	const struct vmp_set *set = w->e->m->set;
	struct without *to = &w->without[s->first + lane];
	float *block = w->e->block_without[s->first + lane];
	uint32_t i;

	for (i = 0; i < set->blocks.nr; i++) {
		double runs = s->block[i * VMP_LANES + lane], time = s->time[i * VMP_LANES + lane];

		/* a group less is so much less of everything */
		to->executions[i] = runs * VMP_GROUPS / (VMP_GROUPS - 1);
		to->cycles[i] = runs > 0 ? time * w->e->period / runs : 0;
		if (block)
			block[i] = (float)to->executions[i];
	}
}

static int take_units_of_groups(struct worker *w, struct vmp_solutions *s)
{
	const uint32_t nr = w->e->m->set->units.nr;
	double *unit = vmp_big_alloc(((size_t)nr + 1) * VMP_LANES * sizeof(*unit));
	unsigned int l;
	uint32_t i;

	if (!unit)
		return -ENOMEM;
	vmp_solutions_units(w->chain, s, unit);
	for (l = 0; l < VMP_LANES; l++)
		for (i = 0; i < nr; i++)
			w->e->unit_without[s->first + l][i] = (float)unit[i * VMP_LANES + l];
	free(unit);
	return 0;
}

static int solve_lanes(struct worker *w, unsigned int first)
{
	struct vmp_solutions s;
	unsigned int l;
	size_t i;
	int err = vmp_solutions_init(&s, w->chain, first, VMP_LANES);

	if (!err) {
		for (i = 0; i < (size_t)w->e->m->rows * VMP_LANES; i++)
			s.x[i] = w->all->x[i / VMP_LANES];
		vmp_solutions_solve(w->chain, &s);
		for (l = 0; l < VMP_LANES; l++)
			take_group(w, &s, l);
		if (w->e->unit)
			err = take_units_of_groups(w, &s);
		take_missed_of_groups(w, &s);
	}
	vmp_solutions_deinit(&s);
	return err;
}

/* Each group begins with what the whole said: how many threads there are says nothing. */
static void *solve_groups(void *arg)
{
	struct worker *w = arg;
	unsigned int g;

	_Static_assert(VMP_GROUPS % VMP_LANES == 0, "no lane is empty");
	for (g = w->first; !w->err && g < VMP_GROUPS; g += w->step)
		w->err = solve_lanes(w, g);
	return NULL;
}

static int solve_all_groups(struct vmp_estimates *e, const struct vmp_chain *c, const struct vmp_solutions *all,
			    struct without without[VMP_GROUPS])
{
	unsigned int nr = vmp_scan_threads(), i;
	struct worker w[VMP_PARALLEL_MAX];
	void *args[VMP_PARALLEL_MAX];
	int err = 0;

	for (i = 0; i < nr; i++) {
		w[i] = (struct worker){ .e = e, .chain = c, .all = all, .without = without,
			.first = i * VMP_LANES, .step = nr * VMP_LANES };
		args[i] = &w[i];
	}
	vmp_parallel(solve_groups, args, nr);
	for (i = 0; i < nr; i++)
		err = err ? err : w[i].err;
	return err;
}

/* So much of the mean, of 7 at most, it is where one is 1,000 times all others: without that group there is no solution */
#define FELL_APART	6.95

double vmp_error_of(const double without[VMP_GROUPS])
{
	double sum = 0, squares = 0, mean, v, error;
	int g;

	for (g = 0; g < VMP_GROUPS; g++) {
		if (!isfinite(without[g]))
			return NAN;
		sum += without[g];
		squares += without[g] * without[g];
	}
	mean = sum / VMP_GROUPS;
	v = squares / VMP_GROUPS - mean * mean;
	error = v > 0 ? sqrt(v * (VMP_GROUPS - 1)) : 0;
	return error > FELL_APART * fabs(mean) ? NAN : error;
}

/* Where next to no window shows a block, groups without it have no runs to differ by, but cycles
   that are far off: both are the same uncertainty. */
static void widen(struct vmp_estimate *b)
{
	double part = b->cycles[VMP_SOURCE_TIME] > 0 ? b->error / b->cycles[VMP_SOURCE_TIME] : 0;

	if (b->executions * part > b->executions_error)
		b->executions_error = b->executions * part;
}

/* The same figures as part() finds, without each group; where one needs a certain group, nothing is known of its error. */
static void part_errors(struct vmp_estimates *e, const struct without *without, uint32_t block)
{
	double missed[VMP_GROUPS], predicted[VMP_GROUPS];
	uint32_t number = e->m->part_of[block];
	int g;

	for (g = 0; g < VMP_GROUPS; g++) {
		double runs = number == VMP_NONE ? 0 : vmp_part_missed(&e->m->parts[number], g), cycles = without[g].cycles[block];
		double after = without[g].missed[block] * e->period / without[g].executions[block];

		missed[g] = after / runs;
		predicted[g] = (cycles - after) / (1 - runs);
	}
	e->block[block].missed_error = vmp_error_of(missed);
	e->block[block].predicted_error = vmp_error_of(predicted);
}

struct errors {
	struct vmp_estimates *e;
	const struct without *without;	/* by group */
};

/* Of blocks from @i until before @to */
static void take_errors(void *arg, uint32_t i, uint32_t to)
{
	const struct errors *a = arg;
	double executions[VMP_GROUPS], cycles[VMP_GROUPS];
	int g;

	for (; i < to; i++) {
		struct vmp_estimate *b = &a->e->block[i];

		for (g = 0; g < VMP_GROUPS; g++) {
			executions[g] = a->without[g].executions[i];
			cycles[g] = a->without[g].cycles[i];
		}
		b->executions_error = vmp_error_of(executions);
		b->error = vmp_error_of(cycles);
		widen(b);
		b->error = vmp_time_error(b->cycles[VMP_SOURCE_TIME], b->error);
		part_errors(a->e, a->without, i);
	}
}

static int alloc_groups(struct vmp_estimates *e, struct without without[VMP_GROUPS], double **room, int groups)
{
	size_t blocks = (size_t)e->m->set->blocks.nr + 1, nr = (size_t)e->m->set->units.nr + 1;
	int g;

	*room = vmp_big_alloc(3 * VMP_GROUPS * blocks * sizeof(**room));
	if (groups) {
		e->unit = vmp_big_alloc(nr * sizeof(*e->unit));
		e->unit_chance = calloc(nr, sizeof(*e->unit_chance));
	}
	if (!*room || (groups && (!e->unit || !e->unit_chance)))
		return -ENOMEM;
	for (g = 0; g < VMP_GROUPS; g++) {
		without[g].executions = *room + 3 * g * blocks;
		without[g].cycles = without[g].executions + blocks;
		without[g].missed = without[g].cycles + blocks;
		if (groups) {
			e->unit_without[g] = calloc(nr, sizeof(*e->unit_without[g]));
			e->block_without[g] = calloc(blocks, sizeof(*e->block_without[g]));
		}
		if (groups && (!e->unit_without[g] || !e->block_without[g]))
			return -ENOMEM;
	}
	return 0;
}

static int timed(struct vmp_estimates *e, int groups)
{
	struct without without[VMP_GROUPS] = { { 0 } };
	double *room = NULL;	/* what they lie in */
	struct errors errors = { e, without };
	struct vmp_solutions all = { 0 };
	struct vmp_chain c;
	int err = vmp_chain_init(&c, e->m, e->period, e->by_instructions);

	if (!err)
		err = vmp_solutions_init(&all, &c, VMP_CHAIN_ALL, 1);
	if (!err)
		err = alloc_groups(e, without, &room, groups);
	if (!err) {
		vmp_solutions_solve(&c, &all);
		take(e, &all);
		if (groups) {
			vmp_solutions_units(&c, &all, e->unit);
			e->window = vmp_solutions_chance(&c, &all, e->unit_chance);
		}
		take_missed(e, &c, &all);
		err = solve_all_groups(e, &c, &all, without);
	}
	if (!err)
		vmp_parallel_ranges(e->m->set->blocks.nr, vmp_scan_threads(), take_errors, &errors);
	free(room);
	vmp_solutions_deinit(&all);
	vmp_chain_deinit(&c);
	return err;
}

/* ------------------------------------------------------------------- choice */

/* Equation 1, and what the processor counted itself, of blocks from @i until before @to */
static void untimed_some(void *arg, uint32_t i, uint32_t to)
{
	const struct vmp_estimates *e = arg;

	for (; i < to; i++) {
		const struct vmp_block_code *b = &e->m->set->blocks.v[i];
		const struct vmp_cpi *s = &e->m->cpi[i];
		struct vmp_estimate *x = &e->block[i];

		*x = (struct vmp_estimate){ .executions = NAN, .executions_error = NAN, .error = NAN,
			.missed_error = NAN, .predicted_error = NAN };
		x->cycles[VMP_SOURCE_NONE] = x->cycles[VMP_SOURCE_TIME] = NAN;
		x->cycles[VMP_SOURCE_CPI] = s->n && b->insns ?
			(double)s->sum / VMP_CPI_ONE / (double)s->n * b->insns : NAN;
		x->cycles[VMP_SOURCE_LBR] = b->cycled ? (double)b->cycles / b->cycled : NAN;
	}
}

static void untimed(struct vmp_estimates *e)
{
	const struct vmp_set *set = e->m->set;
	uint64_t cycled = 0, n = 0;
	uint32_t i, without = 0;

	vmp_parallel_ranges(set->blocks.nr, vmp_scan_threads(), untimed_some, e);
	for (i = 0; i < set->blocks.nr; i++) {
		const struct vmp_block_code *b = &set->blocks.v[i];

		e->guessed += b->insns ? 0 : b->n;
		cycled += b->cycled;
		n += b->n;
		without += b->n && !b->cycled;
	}
	e->uncycled = cycled ? n - cycled : 0;
	e->uncycled_blocks = cycled ? without : 0;
	e->source = 2 * cycled > n ? VMP_SOURCE_LBR : VMP_SOURCE_CPI;
}

/* An error that holds a part of the figure as well */
static void add_part(double *error, double figure, double part)
{
	if (!isnan(figure))
		*error = hypot(isnan(*error) ? 0 : *error, figure * part);
}

/*
 * The counters say how fast a phase is by what they counted between two samples in it.  Where phases take turns within a
 * period, others ran in between.  Return: the part of their word that is not the phase's own: 0 it ran alone, 1 no more
 * than if all were one.  If turns end by chance, with what is left of them after a period, @again, and the phase's @share of
 * the time, it runs at the part u of a period with the probability (share + (1 - share) again^u), the same backwards.
 */
static double foreign(const struct vmp_measure *m, double all_cycles, uint32_t row)
{
	const struct vmp_phase *p = row == VMP_NONE ? NULL : &m->phase.v[m->phase_of_row[row]];
	double own, share, again, mean;

	if (!p || !(all_cycles > 0))
		return 0;
	own = vmp_groups_without(&p->cycles, VMP_GROUPS);
	share = vmp_groups_without(&p->all_cycles, VMP_GROUPS);
	again = share > 0 ? own / share : 0;
	share /= all_cycles;
	if (share >= 1)
		return 0;
	again = (again - share) / (1 - share);
	if (!(again > 0))
		return 1;
	if (again >= 1)
		return 0;
	mean = (again - 1) / log(again);
	own = (share * share + 2 * share * (1 - share) * mean + (1 - share) * (1 - share) * again) / (share + (1 - share) * again);
	return (1 - own) / (1 - share);
}

/*
 * Where runs come from the chain alone: what it says otherwise than equation 1 is the one's fault or the other's, and what
 * the counters say of other phases is in the scale.  Nobody knows, so that errors hold both: of cycles, of runs
 * (equation 1's are the samples by its cycles), and of what hangs on them.
 */
static void doubt(const struct vmp_estimates *e, struct vmp_estimate *b, double scale)
{
	double times = b->cycles[VMP_SOURCE_TIME] / b->cycles[VMP_SOURCE_CPI];

	if (b->source == VMP_SOURCE_LBR || e->by_instructions)
		return;
	if (b->source != VMP_SOURCE_TIME) {	/* its runs are the chain's all the same */
		b->executions_doubt = scale;
		add_part(&b->executions_error, b->executions, scale);
		return;
	}
	b->doubt = hypot(times > 0 ? 1 - 1 / times : 0, scale);
	b->executions_doubt = hypot(times > 0 ? 1 - times : 0, scale);
	add_part(&b->error, b->cycles[VMP_SOURCE_TIME], b->doubt);
	add_part(&b->executions_error, b->executions, b->executions_doubt);
	add_part(&b->missed_error, b->cycles_missed, b->doubt);
	add_part(&b->predicted_error, b->cycles_predicted, b->doubt);
}

static int is_doubted(const struct vmp_estimates *e, const struct vmp_estimate *b)
{
	double times = b->cycles[VMP_SOURCE_TIME] / b->cycles[VMP_SOURCE_CPI];

	return !e->by_instructions && b->source == VMP_SOURCE_TIME && (times > FAR || times < 1 / FAR);
}

/*
 * Runs to which a mispredicted branch led, apart from the others: by the processor's cycles; or by the
 * share that they have of the block's samples, and of its runs in the windows.
 */
static void part(const struct vmp_block_code *b, const struct vmp_part *part, struct vmp_estimate *e)
{
	double runs = part ? vmp_part_missed(part, VMP_GROUPS) : 0, time = e->samples > 0 ? e->missed / e->samples : 0;
	double cycles = e->cycles[e->source];

	e->cycles_missed = e->cycles_predicted = NAN;
	if (e->source == VMP_SOURCE_LBR) {
		if (b->missed.cycled)
			e->cycles_missed = (double)b->missed.cycles / b->missed.cycled;
		if (b->cycled > b->missed.cycled)
			e->cycles_predicted = (double)(b->cycles - b->missed.cycles) / (b->cycled - b->missed.cycled);
	} else if (e->source == VMP_SOURCE_TIME) {
		if (runs > 0 && e->missed >= VMP_FEW_SAMPLES)
			e->cycles_missed = cycles * time / runs;
		if (runs < 1 && e->samples - e->missed >= VMP_FEW_SAMPLES)
			e->cycles_predicted = cycles * (1 - time) / (1 - runs);
	}
	if (e->source != VMP_SOURCE_TIME || isnan(e->cycles_missed))
		e->missed_error = NAN;
	if (e->source != VMP_SOURCE_TIME || isnan(e->cycles_predicted))
		e->predicted_error = NAN;
}

/* How far equation 1 is off if the samples are right */
static double off_time(const struct vmp_estimates *e, const struct vmp_estimate *b)
{
	return b->executions > 0 ? fabs(b->cycles[VMP_SOURCE_CPI] - b->samples * e->period / b->executions) : 0;
}

/*
 * The best of the figures that a block has.  Few samples tell little; but a block that is known to have run often, and has one or two, is
 * not slow, whatever the CPI of samples is that were taken elsewhere.
 */
static enum vmp_source source_of(const struct vmp_estimates *e, const struct vmp_estimate *b)
{
	if (e->source == VMP_SOURCE_LBR && !isnan(b->cycles[VMP_SOURCE_LBR]))
		return VMP_SOURCE_LBR;
	if (!isnan(b->cycles[VMP_SOURCE_TIME]) &&
	    (b->samples >= VMP_FEW_SAMPLES || (e->by_instructions && b->samples >= 1 && off_time(e, b) > 2 * vmp_few_error(b->samples, e->period, b->executions))))
		return VMP_SOURCE_TIME;
	return isnan(b->cycles[VMP_SOURCE_CPI]) ? VMP_SOURCE_NONE : VMP_SOURCE_CPI;
}

/*
 * The processor measures each run; by equation 1 all runs in a window have the CPI of one sample.  What is kept of
 * single runs is by the processor where the whole is.
 */
double vmp_estimate_cpi_error(const struct vmp_estimates *e, uint32_t block)
{
	const struct vmp_set_totals *t = &e->m->set->totals;

	if (vmp_estimate_spread(e) != VMP_SOURCE_CPI || isnan(e->block[block].cycles[VMP_SOURCE_CPI]) || !t->with_branches)
		return NAN;
	return vmp_spread_error(&e->m->spreads, block, (double)t->steps / (double)t->with_branches);
}

/* Equation 1 gives a block the CPI of others: it is no better than what its own samples let it be, or than nothing */
static double unsure(const struct vmp_estimates *e, const struct vmp_estimate *b)
{
	return fmin(b->cycles[VMP_SOURCE_CPI], off_time(e, b) + vmp_few_error(b->samples, e->period, b->executions));
}

static double runs_spread(const struct vmp_estimates *e, uint32_t block)
{
	switch (e->block[block].source) {
	case VMP_SOURCE_LBR:
		return vmp_spread_error(&e->m->spreads, block, 1);
	case VMP_SOURCE_CPI:
		return hypot(vmp_estimate_cpi_error(e, block), unsure(e, &e->block[block]));
	default:
		return NAN;
	}
}

struct choosing {
	struct vmp_estimates *e;
	double all_cycles;	/* of all phases */
};

/* Which figure the summary uses for blocks from @i until before @to */
static void choose_some(void *arg, uint32_t i, uint32_t to)
{
	const struct choosing *c = arg;
	struct vmp_estimates *e = c->e;
	const struct vmp_measure *m = e->m;
	int g;

	for (; i < to; i++) {
		struct vmp_estimate *b = &e->block[i];

		if (!e->m->set->blocks.v[i].insns)	/* its runs hang on a guess */
			b->executions = b->executions_error = b->cycles[VMP_SOURCE_TIME] = b->error = NAN;
		b->source = source_of(e, b);
		if (b->source == VMP_SOURCE_TIME && b->samples < VMP_FEW_SAMPLES)
			b->error = fmax(b->error, vmp_few_error(b->samples, e->period, b->executions));
		/* with few samples of its own what windows say of its runs says more */
		if (b->source == VMP_SOURCE_LBR && b->samples >= VMP_FEW_SAMPLES) {
			b->executions = b->samples * e->period / b->cycles[VMP_SOURCE_LBR];
			b->executions_error = b->executions / sqrt(b->samples > 1 ? b->samples : 1);
			for (g = 0; g < VMP_GROUPS && e->block_without[g]; g++)
				e->block_without[g][i] = NAN;
		}
		part(&e->m->set->blocks.v[i], m->part_of[i] == VMP_NONE ? NULL : &m->parts[m->part_of[i]], b);
		doubt(e, b, foreign(m, c->all_cycles, m->row_of[m->set->blocks.v[i].start]));
		b->runs_spread = runs_spread(e, i);
	}
}

static void choose(struct vmp_estimates *e)
{
	const struct vmp_measure *m = e->m;
	struct choosing c = { .e = e };
	uint32_t i;

	for (i = 0; i < m->phase.nr; i++)
		c.all_cycles += vmp_groups_without(&m->phase.v[i].all_cycles, VMP_GROUPS);
	vmp_parallel_ranges(m->set->blocks.nr, vmp_scan_threads(), choose_some, &c);
	for (i = 0; i < m->set->blocks.nr; i++) {
		if (!is_doubted(e, &e->block[i]))
			continue;
		e->doubted++;
		e->doubted_samples += e->block[i].samples;
	}
}

static int is_cycles(const struct vmp_model *m)
{
	const char *event = vmp_model_name(m, m->meta.event);

	return !strncmp(event, "cycles", 6) && (!event[6] || event[6] == ':');
}

static int has_second_samples(const struct vmp_measure *m)
{
	uint32_t i;

	for (i = 0; i < m->set->landings.nr; i++)
		if (vmp_groups_without(&m->seconds[i], VMP_GROUPS) > 0)
			return 1;
	return 0;
}

int vmp_estimate_create(struct vmp_estimates **out, const struct vmp_measure *m, int groups)
{
	struct vmp_estimates *e = calloc(1, sizeof(*e));
	const struct vmp_model *model = m->set->m;
	int err = 0, paired = vmp_weigh_paired(model);

	if (!e)
		return -ENOMEM;
	e->m = m;
	e->block = vmp_big_alloc(((size_t)m->set->blocks.nr + 1) * sizeof(*e->block));
	if (!e->block) {
		free(e);
		return -ENOMEM;
	}
	untimed(e);
	if (is_cycles(model))
		e->period = paired ? (double)model->pair.cycles : (double)model->meta.period;
	e->by_instructions = paired && has_second_samples(m);
	if (e->period > 0 && (m->counts || e->by_instructions)) {
		err = timed(e, groups);
		e->chained = 1;
		if (e->source == VMP_SOURCE_CPI)
			e->source = VMP_SOURCE_TIME;
	}
	if (err) {
		vmp_estimate_destroy(e);
		return err;
	}
	choose(e);
	*out = e;
	return 0;
}

void vmp_estimate_destroy(struct vmp_estimates *e)
{
	int g;

	if (!e)
		return;
	for (g = 0; g < VMP_GROUPS; g++) {
		free(e->unit_without[g]);
		free(e->block_without[g]);
	}
	free(e->unit_chance);
	free(e->unit);
	free(e->block);
	free(e);
}
