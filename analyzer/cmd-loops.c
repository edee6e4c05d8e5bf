// SPDX-License-Identifier: GPL-2.0-only
/* cmd-loops.c - vmprof loops: how often loops go round, and what a round takes. */
#include <math.h>
#include <stdlib.h>

#include "blocks/loops.h"
#include "branchargs.h"
#include "cmd.h"
#include "util/log.h"

struct view {
	const struct branch_data *d;
	const struct vmp_loops *loops;
};

enum column {
	SHARE, SAMPLES, LEVEL, TRIPS, TRIPS_ERROR, CYCLES, ERROR, ITERATIONS, ITERATIONS_ERROR, ENTRIES,
	ENTRIES_ERROR, SEEN, START, END, FUNCTION, MODULE, DOMAIN, COLUMNS
};

static const struct vmp_sheet_column columns[COLUMNS] = {
	[SHARE] = { "percent", "%Time", VMP_SHEET_REAL, 2, VMP_SHEET_SHARE },
	[SAMPLES] = { "samples", "Samples", VMP_SHEET_REAL, 0, 0, 3 },
	[LEVEL] = { "level", "Level", VMP_SHEET_REAL, 0 },
	[TRIPS] = { "trips", "Trips", VMP_SHEET_REAL, 1 },
	[TRIPS_ERROR] = { "trips_error", "+-", VMP_SHEET_REAL, 1 },
	[CYCLES] = { "cycles", "Cycles", VMP_SHEET_REAL, 2 },
	[ERROR] = { "cycles_error", "+-", VMP_SHEET_REAL, 2 },
	[ITERATIONS] = { "iterations", "Iterations", VMP_SHEET_REAL, 0 },
	[ITERATIONS_ERROR] = { "iterations_error", "+-", VMP_SHEET_REAL, 0, 0, 4 },
	[ENTRIES] = { "entries", "Entries", VMP_SHEET_REAL, 0, 0, 2 },
	[ENTRIES_ERROR] = { "entries_error", "+-", VMP_SHEET_REAL, 0, 0, 4 },
	[SEEN] = { "seen", "Seen", VMP_SHEET_REAL, 0, VMP_SHEET_HIDDEN },
	[START] = { "start", "Start", VMP_SHEET_HEX },
	[END] = { "end", "End", VMP_SHEET_HEX, 0, 0, 1 },
	[FUNCTION] = { "function", "Function", VMP_SHEET_TEXT },
	[MODULE] = { "module", "Module", VMP_SHEET_TEXT },
	[DOMAIN] = { "domain", "Domain", VMP_SHEET_TEXT },
};

static void cell(void *arg, uint32_t row, int column, struct vmp_sheet_cell *cell)
{
	const struct view *v = arg;
	const struct vmp_loop *l = &v->loops->list.v[row];
	const struct vmp_point *p = &v->d->set->points.points.v[l->header];

	switch ((enum column)column) {
	case SHARE: cell->real = v->d->set->totals.timed ? 100 * l->samples / (double)v->d->set->totals.timed : NAN; break;
	case SAMPLES: cell->real = l->samples; break;
	case LEVEL: cell->real = l->level; break;
	case TRIPS: cell->real = l->trips; break;
	case TRIPS_ERROR: cell->real = l->trips_error; break;
	case CYCLES: cell->real = l->cycles; break;
	case ERROR: cell->real = l->cycles_error; break;
	case ITERATIONS: cell->real = l->iterations; break;
	case ITERATIONS_ERROR: cell->real = l->iterations_error; break;
	case ENTRIES: cell->real = l->entries; break;
	case ENTRIES_ERROR: cell->real = l->entries_error; break;
	case SEEN: cell->real = (double)l->seen; break;
	case START: cell->hex = p->addr; break;
	case END: cell->hex = l->end; break;
	case FUNCTION: cell->text = vmp_model_name(v->d->m, p->function); break;
	case MODULE: cell->text = vmp_model_name(v->d->m, p->module); break;
	case DOMAIN: cell->text = vmp_about_domain(v->d->set, l->header); break;
	case COLUMNS: break;
	}
}

static int show(const struct branch_data *d, const void *arg)
{
	const struct branch_args *a = arg;
	struct vmp_loops *loops = NULL;
	struct view v = { .d = d };
	struct vmp_sheet s = { .columns = columns, .nr = COLUMNS, .cell = cell, .arg = &v };
	int ret = VMP_EXIT_FAILED;
	uint32_t i;

	if (vmp_loops_create(&loops, d->set, d->estimates) ||
	    !(s.rows = malloc((loops->list.nr + 1) * sizeof(*s.rows)))) {
		vmp_err("out of memory");
		vmp_loops_destroy(loops);
		return ret;
	}
	v.loops = loops;
	for (i = 0; i < loops->list.nr; i++)
		if (branch_wanted(a, d->set, loops->list.v[i].header))
			s.rows[s.nr_rows++] = i;
	s.hidden = d->m->vms.nr < 2 ? 1U << DOMAIN : 0;
	ret = branch_print(d, a, &s, "loops", "level:asc,percent,module,start");
	free(s.rows);
	vmp_loops_destroy(loops);
	return ret;
}

int cmd_loops(int argc, char **argv)
{
	struct branch_args a = { 0 };
	const struct vmp_opt opts[] = {
		BRANCH_SAMPLES(&a),
		BRANCH_ROWS(&a),
		{ "sort", 0, VMP_OPT_STR, "LIST", "by these columns, with :asc or :desc; default level:asc,percent", &a.sort },
		{ "json", 0, VMP_OPT_FLAG, NULL, "JSON instead of text, with all columns", &a.json },
		{ "csv", 0, VMP_OPT_FLAG, NULL, "comma-separated values, with all columns", &a.csv },
		BRANCH_LOOK(&a),
		{ NULL },
	};
	const struct vmp_cmdline cmd = {
		.usage = "vmprof loops [OPTION]... [FILE]",
		.about = "Print the loops that branches show, the innermost first: how often they go round each\n"
			 "time they are entered, and the cycles of one round.",
		.opts = opts,
		.more = "It takes a session that records branches (vmprof-start(1)).  Without FILE the latest capture is read.",
		.args_max = 1,
	};

	return branch_run(&cmd, argc, argv, &a, 2, show, &a);
}
