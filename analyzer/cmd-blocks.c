// SPDX-License-Identifier: GPL-2.0-only
/* cmd-blocks.c - vmprof blocks: the time of every block of instructions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "branchargs.h"
#include "cmd.h"
#include "report/profile.h"
#include "report/render.h"
#include "util/log.h"

enum column {
	SHARE, SAMPLES, RUNS, RUNS_ERROR, CYCLES, ERROR, BY, INSNS, CPI, TIME, LBR, EQUATION1, EQUATION1_ERROR, P50, P95, SPREAD,
	SEEN, MISSED, AFTER, AFTER_SAMPLES, AFTER_CYCLES, AFTER_ERROR, ELSE_SAMPLES, ELSE_CYCLES, ELSE_ERROR,
	START, END, FUNCTION, MODULE, SIDE, DOMAIN, COLUMNS
};

static const struct vmp_sheet_column columns[COLUMNS] = {
	[SHARE] = { "percent", "%Time", VMP_SHEET_REAL, 2, VMP_SHEET_SHARE },
	[SAMPLES] = { "samples", "Samples", VMP_SHEET_REAL, 0, 0, 4 },
	[RUNS] = { "runs", "Runs", VMP_SHEET_REAL, 0 },
	[RUNS_ERROR] = { "runs_error", "+-", VMP_SHEET_REAL, 0, 0, 3 },
	[CYCLES] = { "cycles", "Cycles", VMP_SHEET_REAL, 2 },
	[ERROR] = { "cycles_error", "+-", VMP_SHEET_REAL, 2 },
	[BY] = { "by", "By", VMP_SHEET_TEXT, 0, 0, 5 },
	[INSNS] = { "instructions", "Insns", VMP_SHEET_REAL, 0 },
	[CPI] = { "cpi", "CPI", VMP_SHEET_REAL, 2, 0, 2 },
	[TIME] = { "cycles_time", "Cycles(time)", VMP_SHEET_REAL, 2, VMP_SHEET_HIDDEN },
	[LBR] = { "cycles_lbr", "LBR", VMP_SHEET_REAL, 2, 0, 6 },
	[EQUATION1] = { "cycles_cpi", "Eq.1", VMP_SHEET_REAL, 2, 0, 6 },
	[EQUATION1_ERROR] = { "cycles_cpi_error", "+-(Eq.1)", VMP_SHEET_REAL, 2, VMP_SHEET_HIDDEN },
	[P50] = { "p50", "p50(Eq.1)", VMP_SHEET_REAL, 1, 0, 7 },
	[P95] = { "p95", "p95(Eq.1)", VMP_SHEET_REAL, 1, 0, 7 },
	[SPREAD] = { "percentiles_by", "Percentiles", VMP_SHEET_TEXT, 0, VMP_SHEET_HIDDEN },
	[SEEN] = { "seen", "Seen", VMP_SHEET_REAL, 0, VMP_SHEET_HIDDEN },
	[MISSED] = { "mispredicted", "%Missed", VMP_SHEET_REAL, 2, 0, 8 },
	[AFTER] = { "after_mispredicted", "%After", VMP_SHEET_REAL, 2, 0, 8 },
	[AFTER_SAMPLES] = { "samples_mispredicted", "Samples(m)", VMP_SHEET_REAL, 0, 0, 9 },
	[AFTER_CYCLES] = { "cycles_mispredicted", "Cycles(m)", VMP_SHEET_REAL, 2, 0, 9 },
	[AFTER_ERROR] = { "cycles_mispredicted_error", "+-", VMP_SHEET_REAL, 2, 0, 9 },
	[ELSE_SAMPLES] = { "samples_predicted", "Samples(p)", VMP_SHEET_REAL, 0, 0, 9 },
	[ELSE_CYCLES] = { "cycles_predicted", "Cycles(p)", VMP_SHEET_REAL, 2, 0, 9 },
	[ELSE_ERROR] = { "cycles_predicted_error", "+-", VMP_SHEET_REAL, 2, 0, 9 },
	[START] = { "start", "Start", VMP_SHEET_HEX },
	[END] = { "end", "End", VMP_SHEET_HEX, 0, 0, 1 },
	[FUNCTION] = { "function", "Function", VMP_SHEET_TEXT },
	[MODULE] = { "module", "Module", VMP_SHEET_TEXT },
	[SIDE] = { "side", "Side", VMP_SHEET_TEXT, 0, VMP_SHEET_HIDDEN },
	[DOMAIN] = { "domain", "Domain", VMP_SHEET_TEXT, 0 },
};

static double percent(double n, double of)
{
	return of > 0 ? 100 * n / of : NAN;
}

static void place_cell(const struct branch_data *d, const struct vmp_block_code *b, int column,
		       struct vmp_sheet_cell *cell)
{
	const struct vmp_point *start = &d->set->points.points.v[b->start];

	if (column == START)
		cell->hex = start->addr;
	else if (column == END)
		cell->hex = d->set->points.points.v[b->end].addr;
	else if (column == FUNCTION)
		cell->text = vmp_model_name(d->m, start->function);
	else if (column == MODULE)
		cell->text = vmp_model_name(d->m, start->module);
	else if (column == SIDE)
		cell->text = vmp_about_side(d->set, b->start);
	else
		cell->text = vmp_about_domain(d->set, b->start);
}

static void cell(void *arg, uint32_t row, int column, struct vmp_sheet_cell *cell)
{
	const struct branch_data *d = arg;
	const struct vmp_block_code *b = &d->set->blocks.v[row];
	const struct vmp_estimate *e = &d->estimates->block[row];

	switch ((enum column)column) {
	case SHARE: cell->real = percent(e->samples, (double)d->set->totals.timed); break;
	case SAMPLES: cell->real = e->samples; break;
	case RUNS: cell->real = e->executions; break;
	case RUNS_ERROR: cell->real = isnan(e->executions) ? NAN : e->executions_error; break;
	case CYCLES: cell->real = e->cycles[e->source]; break;
	case ERROR: cell->real = vmp_estimate_error(e); break;
	case BY: cell->text = vmp_source_key(e->source); break;
	case P50: cell->real = vmp_spread_part(&d->measure->spreads, row, 0.5); break;
	case P95: cell->real = vmp_spread_part(&d->measure->spreads, row, 0.95); break;
	case INSNS: cell->real = b->insns ? b->insns : NAN; break;
	case CPI: cell->real = b->insns ? e->cycles[e->source] / b->insns : NAN; break;
	case TIME: cell->real = e->cycles[VMP_SOURCE_TIME]; break;
	case EQUATION1: cell->real = e->cycles[VMP_SOURCE_CPI]; break;
	case EQUATION1_ERROR: cell->real = vmp_estimate_cpi_error(d->estimates, row); break;
	case SPREAD: cell->text = vmp_source_key(vmp_estimate_spread(d->estimates)); break;
	case LBR: cell->real = e->cycles[VMP_SOURCE_LBR]; break;
	case SEEN: cell->real = b->n; break;
	case MISSED: cell->real = percent(b->mispredicted, b->n); break;
	case AFTER: cell->real = percent(b->missed.n, b->n); break;
	case AFTER_SAMPLES: cell->real = e->missed; break;
	case AFTER_CYCLES: cell->real = e->cycles_missed; break;
	case AFTER_ERROR: cell->real = e->missed_error; break;
	case ELSE_SAMPLES: cell->real = e->samples - e->missed; break;
	case ELSE_CYCLES: cell->real = e->cycles_predicted; break;
	case ELSE_ERROR: cell->real = e->predicted_error; break;
	default: place_cell(d, b, column, cell);
	}
}

/* A block's measures for the filter: what the cells of its row show */
static void measures_of(const struct branch_data *d, uint32_t block, double *measure)
{
	static const struct { enum vmp_column measure; enum column column; } same[] = {
		{ VMP_COL_SAMPLES, SAMPLES }, { VMP_COL_PERCENT, SHARE }, { VMP_COL_CYCLES, CYCLES },
		{ VMP_COL_INSTRUCTIONS, INSNS }, { VMP_COL_CPI, CPI },
	};
	struct vmp_sheet_cell c;
	unsigned int i;

	for (i = 0; i < VMP_COL_NR; i++)
		measure[i] = NAN;
	for (i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		cell((void *)d, block, same[i].column, &c);
		measure[same[i].measure] = c.real;
	}
	if (measure[VMP_COL_CPI] > 0)
		measure[VMP_COL_IPC] = 1 / measure[VMP_COL_CPI];
}

/* The block's keys as a row of a report, for the filter's sake */
static int passes(const struct branch_data *d, const struct branch_args *a, uint32_t block)
{
	const struct vmp_point *p = &d->set->points.points.v[d->set->blocks.v[block].start];
	const struct vmp_object *o = p->object == VMP_NONE ? NULL : &d->set->points.objects.v[p->object];
	struct vmp_profile profile = { .model = d->m };
	struct vmp_domain domain = { .vm = o ? o->vm : VMP_NONE };
	struct vmp_row row = {
		.function = p->function, .module = p->module, .pid = VMP_NONE, .track = VMP_NONE,
		.side = o && o->vm == VMP_NONE ? VMP_SIDE_VMM : p->seen >> 63 ? VMP_SIDE_KERNEL : VMP_SIDE_USER,
	};
	double measure[VMP_COL_NR];

	measures_of(d, block, measure);
	return branch_wanted(a, d->set, d->set->blocks.v[block].start) &&
	       vmp_filter_place(a->filter, &profile, &domain, &row) &&
	       vmp_filter_measured(a->filter, &profile, &domain, &row, measure);
}

/* Columns that would be empty or all the same stay away. */
static uint32_t hidden(const struct branch_data *d)
{
	const uint32_t errors = 1U << AFTER_ERROR | 1U << ELSE_ERROR;
	const uint32_t after = 1U << AFTER | 1U << AFTER_SAMPLES | 1U << AFTER_CYCLES | 1U << AFTER_ERROR |
			       1U << ELSE_SAMPLES | 1U << ELSE_CYCLES | 1U << ELSE_ERROR;
	uint32_t bits = after, i;

	if (d->m->vms.nr < 2)
		bits |= 1U << DOMAIN;
	if (d->estimates->source == VMP_SOURCE_CPI)
		bits |= 1U << BY;
	if (!d->estimates->chained)
		bits |= 1U << RUNS_ERROR;
	bits |= 1U << LBR;
	for (i = 0; i < d->set->blocks.nr; i++) {
		if (d->set->blocks.v[i].cycled)
			bits &= ~(1U << LBR);
		if (d->set->blocks.v[i].missed.n)
			bits &= ~after;
	}
	if (d->estimates->source != VMP_SOURCE_TIME)
		bits |= errors;
	return d->estimates->source == VMP_SOURCE_LBR ? bits | 1U << LBR : bits;
}

static int show(const struct branch_data *d, const void *arg)
{
	const struct branch_args *a = arg;
	struct vmp_sheet_column titled[COLUMNS];
	struct vmp_sheet s = { .columns = titled, .nr = COLUMNS, .cell = cell, .arg = (void *)d };
	uint32_t i;
	int ret;

	memcpy(titled, columns, sizeof(titled));
	if (vmp_estimate_spread(d->estimates) == VMP_SOURCE_LBR) {
		titled[P50].title = "p50(LBR)";
		titled[P95].title = "p95(LBR)";
	}
	s.rows = malloc((d->set->blocks.nr + 1) * sizeof(*s.rows));
	if (!s.rows) {
		vmp_err("out of memory");
		return VMP_EXIT_FAILED;
	}
	for (i = 0; i < d->set->blocks.nr; i++)
		if (passes(d, a, i))
			s.rows[s.nr_rows++] = i;
	s.hidden = hidden(d);
	ret = branch_print(d, a, &s, "blocks", "percent,seen,module,start,end");
	free(s.rows);
	return ret;
}

int cmd_blocks(int argc, char **argv)
{
	struct branch_args a = { .spread = 1 };
	const struct vmp_opt opts[] = {
		BRANCH_SAMPLES(&a),
		BRANCH_ROWS(&a),
		{ "filter", 0, VMP_OPT_STR, "EXPR", "only blocks such as 'module ~ \"libq*\" && cpi > 2', as in report", &a.filter_text },
		{ "sort", 0, VMP_OPT_STR, "LIST", "by these columns, with :asc or :desc; default percent", &a.sort },
		{ "json", 0, VMP_OPT_FLAG, NULL, "JSON instead of text, with all columns", &a.json },
		{ "csv", 0, VMP_OPT_FLAG, NULL, "comma-separated values, with all columns", &a.csv },
		BRANCH_LOOK(&a),
		{ NULL },
	};
	const struct vmp_cmdline cmd = {
		.usage = "vmprof blocks [OPTION]... [FILE]",
		.about = "Print how many cycles each block of instructions takes, and how often it ran: from\n"
			 "the last branches that were recorded with the samples.",
		.opts = opts,
		.more = "It takes a session that records branches (vmprof-start(1)).  Without FILE the latest capture is read.\n"
			"A block is code between two taken branches.",
		.args_max = 1,
	};

	return branch_run(&cmd, argc, argv, &a, 1, show, &a);
}
