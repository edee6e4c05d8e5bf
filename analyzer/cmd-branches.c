// SPDX-License-Identifier: GPL-2.0-only
/* cmd-branches.c - vmprof branches: which branches were taken, of all samples or of one; who calls whom. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "branchargs.h"
#include "cmd.h"
#include "util/log.h"
#include "util/text.h"

struct given {
	struct branch_args a;
	const char *sample;
	uint64_t number;
	int calls;
};

/* A branch, or with --calls a pair of functions: units summed up */
struct branch {
	uint32_t from, to;	/* points */
	enum vmp_flow flow;
	uint64_t n, mispredicted;
};

struct branches {
	const struct branch_data *d;
	VMP_VEC(struct branch) list;
	struct vmp_hash by_ends;
};

enum column { SHARE, SEEN, TYPE, MISSED, MISSES, FROM, TO, CALLER, CALLEE, FROM_MODULE, TO_MODULE, DOMAIN, COLUMNS };

static const struct vmp_sheet_column columns[COLUMNS] = {
	[SHARE] = { "percent", "%Seen", VMP_SHEET_REAL, 2, VMP_SHEET_SHARE },
	[SEEN] = { "seen", "Seen", VMP_SHEET_REAL, 0 },
	[TYPE] = { "type", "Type", VMP_SHEET_TEXT },
	[MISSED] = { "mispredicted", "%Missed", VMP_SHEET_REAL, 2 },
	[MISSES] = { "seen_mispredicted", "Missed", VMP_SHEET_REAL, 0, 0, 2 },
	[FROM] = { "from", "From", VMP_SHEET_HEX },
	[TO] = { "to", "To", VMP_SHEET_HEX },
	[CALLER] = { "from_function", "From function", VMP_SHEET_TEXT },
	[CALLEE] = { "to_function", "To function", VMP_SHEET_TEXT },
	[FROM_MODULE] = { "from_module", "From module", VMP_SHEET_TEXT, 0, 0, 1 },
	[TO_MODULE] = { "to_module", "To module", VMP_SHEET_TEXT, 0, 0, 1 },
	[DOMAIN] = { "domain", "Domain", VMP_SHEET_TEXT },
};

static const char *type_of(enum vmp_flow flow)
{
	return flow == VMP_FLOW_NR ? "-" : vmp_flow_name(flow);
}

static uint64_t address(const struct vmp_set *set, uint32_t point)
{
	return point == VMP_NONE ? 0 : set->points.points.v[point].addr;
}

static const char *function(const struct vmp_set *set, uint32_t point)
{
	return point == VMP_NONE ? "-" : vmp_model_name(set->m, set->points.points.v[point].function);
}

static const char *module(const struct vmp_set *set, uint32_t point)
{
	return point == VMP_NONE ? "-" : vmp_model_name(set->m, set->points.points.v[point].module);
}

/* Of where it starts; where that is not known, of where it ends */
static const char *domain(const struct vmp_set *set, const struct branch *b)
{
	int from = b->from != VMP_NONE && set->points.points.v[b->from].object != VMP_NONE;
	uint32_t point = from ? b->from : b->to;

	return point == VMP_NONE ? "-" : vmp_about_domain(set, point);
}

static void cell(void *arg, uint32_t row, int column, struct vmp_sheet_cell *cell)
{
	const struct branches *all = arg;
	const struct branch *b = &all->list.v[row];
	const struct vmp_set *set = all->d->set;

	switch ((enum column)column) {
	case SHARE: cell->real = 100 * (double)b->n / (double)set->totals.entries; break;
	case SEEN: cell->real = (double)b->n; break;
	case TYPE: cell->text = type_of(b->flow); break;
	case MISSED: cell->real = b->n ? 100 * (double)b->mispredicted / (double)b->n : NAN; break;
	case MISSES: cell->real = (double)b->mispredicted; break;
	case FROM: cell->hex = address(set, b->from); break;
	case TO: cell->hex = address(set, b->to); break;
	case CALLER: cell->text = function(set, b->from); break;
	case CALLEE: cell->text = function(set, b->to); break;
	case FROM_MODULE: cell->text = module(set, b->from); break;
	case TO_MODULE: cell->text = module(set, b->to); break;
	case DOMAIN: cell->text = domain(set, b); break;
	case COLUMNS: break;
	}
}

/* ------------------------------------------------------------- aggregated */

/* Nothing but calls was recorded: then an unknown branch is one */
static int only_calls(const struct vmp_set *set)
{
	const uint32_t calls = VMPROF_LBR_CALL_REL | VMPROF_LBR_CALL_IND;

	return !(set->totals.branches & (VMP_LBR_NEAR | VMPROF_LBR_FAR) & ~calls);
}

static int is_call(const struct vmp_set *set, enum vmp_flow flow)
{
	return flow == VMP_FLOW_CALL || flow == VMP_FLOW_CALL_IND || (flow == VMP_FLOW_NR && only_calls(set));
}

/* What tells rows apart: the place, or the function of a domain; no padding: it is compared as bytes */
struct end {
	uint32_t point, function, module, vm;
};

static struct end end_of(const struct vmp_set *set, uint32_t point, int by_function)
{
	const struct vmp_point *p;

	if (!by_function || point == VMP_NONE)
		return (struct end){ .point = point };
	p = &set->points.points.v[point];
	return (struct end){
		.function = p->function, .module = p->module,
		.vm = p->object == VMP_NONE ? VMP_NONE : set->points.objects.v[p->object].vm,
	};
}

static int ends_at(const struct vmp_set *set, uint32_t point, int by_function, const struct end *end)
{
	struct end other = end_of(set, point, by_function);

	return !memcmp(&other, end, sizeof(other));
}

static int add(struct branches *all, const struct vmp_unit *u, int by_function)
{
	const struct vmp_set *set = all->d->set;
	struct end from = end_of(set, u->end, by_function), to = end_of(set, u->next, by_function);
	uint64_t sum = vmp_hash_bytes(&from, sizeof(from)) ^ vmp_hash_mix(vmp_hash_bytes(&to, sizeof(to)));
	struct branch new = { .from = u->end, .to = u->next, .flow = u->flow };
	struct branch *b = NULL;
	const uint32_t *i;

	for (; (i = vmp_hash_find(&all->by_ends, sum)); sum++) {
		b = &all->list.v[*i];
		if (ends_at(set, b->from, by_function, &from) && ends_at(set, b->to, by_function, &to))
			break;
	}
	if (!i) {
		if (vmp_vec_push(&all->list, new) || vmp_hash_set(&all->by_ends, sum, all->list.nr - 1))
			return -ENOMEM;
		b = &all->list.v[all->list.nr - 1];
	}
	b->n += u->n;
	b->mispredicted += u->mispredicted;
	return 0;
}

static int gather(struct branches *all, const struct given *g)
{
	const struct vmp_set *set = all->d->set;
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < set->units.nr; i++) {
		const struct vmp_unit *u = &set->units.v[i];

		if (u->impossible || (!branch_wanted(&g->a, set, u->end) && !branch_wanted(&g->a, set, u->next)))
			continue;
		if (!g->calls || is_call(set, u->flow))
			err = add(all, u, g->calls);
	}
	return err;
}

static int show_all(const struct branch_data *d, const struct given *g)
{
	struct branches all = { .d = d };
	struct vmp_sheet s = { .columns = columns, .nr = COLUMNS, .cell = cell, .arg = &all };
	int ret = VMP_EXIT_FAILED;
	uint64_t missed = 0;
	uint32_t i;

	if (gather(&all, g) || !(s.rows = malloc((all.list.nr + 1) * sizeof(*s.rows)))) {
		vmp_err("out of memory");
		goto free_all;
	}
	for (i = 0; i < all.list.nr; i++) {
		s.rows[s.nr_rows++] = i;
		missed += all.list.v[i].mispredicted;
	}
	if (g->calls) {
		s.absent = 1U << FROM | 1U << TO | 1U << TYPE;
		s.hidden = 1U << MISSED;
	}
	if (g->calls || !missed)
		s.hidden |= 1U << MISSES;
	if (d->m->vms.nr < 2)
		s.hidden |= 1U << DOMAIN;
	ret = branch_print(d, &g->a, &s, g->calls ? "calls" : "branches",
			   g->calls ? "seen,from_module,from_function,to_module,to_function,domain" : "seen,from_module,from,to_module,to,domain");
	free(s.rows);
free_all:
	vmp_vec_free(&all.list);
	vmp_hash_free(&all.by_ends);
	return ret;
}

/* ------------------------------------------------------------- one sample */

/* The wanted sample, kept while the others pass */
struct pick {
	struct vmp_set_eye eye;
	uint64_t number, at;
	struct vmprof_sample s;
	struct vmp_lbr lbr;
	struct vmp_set_sample seen;
};

#define FOUND		1
#define PLACE_WIDTH	40	/* at least */
#define PLACE_BYTES	1280

static int on_sample(void *arg, struct vmp_scan *scan, const struct vmp_lbr_sample *ls)
{
	struct pick *p = arg;
	int got = vmp_set_see(&p->eye, scan, ls, &p->seen);

	if (got <= 0 || !ls->lbr || ++p->at != p->number)
		return got < 0 ? got : 0;
	p->s = *ls->s;
	p->lbr = *ls->lbr;
	return FOUND;
}

/* @own: user code is the process's; nobody knows what another's is called */
static void end_text(struct vmp_set *set, uint32_t context, uint64_t addr, int own, char text[PLACE_BYTES])
{
	char safe[1024];
	const char *name;
	uint32_t point;

	if (!addr || (!own && !(addr >> 63)) || vmp_points_find(&set->points, context, addr, &point)) {
		snprintf(text, PLACE_BYTES, "-");
		return;
	}
	name = function(set, point);
	snprintf(text, PLACE_BYTES, "%16" PRIx64 " %s", addr, vmp_text(safe, sizeof(safe), name, strlen(name)));
}

/* A line of the table: where it comes from is as wide as the widest */
static void print_line(const char *branch, const char *type, const char *from, int width, const char *to, const char *more)
{
	printf("%-10s %-14s %s%*s %s%s\n", branch, type, from, width - vmp_text_width(from), "", to, more);
}

/* The branch itself, where the processor named another instruction; what it does, so far as that is known */
static uint64_t branch_at(struct vmp_set *set, uint32_t context, const struct vmp_branch *b, int own, enum vmp_flow *flow)
{
	uint32_t from, to, branch;
	uint64_t bytes;

	*flow = VMP_FLOW_NR;
	if (!b->from || (!own && !(b->from >> 63)) || vmp_points_find(&set->points, context, b->from, &from))
		return b->from;
	*flow = vmp_step_flow(&set->stepper, from);
	if (*flow == VMP_FLOW_ON && !b->to)
		*flow = VMP_FLOW_NR;
	if (*flow != VMP_FLOW_ON || vmp_points_find(&set->points, context, b->to, &to))
		return b->from;
	bytes = vmp_step_branch(&set->stepper, from, to);
	if (bytes && !vmp_points_behind(&set->points, from, bytes, &branch))
		*flow = vmp_step_flow(&set->stepper, branch);
	return b->from + bytes;
}

/* As table 7 of the papers: the oldest first, the sample last */
static void print_sample(struct vmp_set *set, const struct pick *p, const char *path)
{
	uint32_t context = p->seen.context, image = set->points.contexts.v[context].from.image;
	const struct vmp_machine *vm = &set->m->vms.v[set->points.contexts.v[context].from.vm];
	const char *comm = set->points.contexts.v[context].from.kind == VMP_KIND_VMM_USER ? "[VMM]" :
			   image == VMP_NONE ? "[unknown]" : vmp_model_name(set->m, vm->space.images.v[image].comm);
	enum vmp_flow flow;
	char safe[4096], safe_domain[1024], from[PLACE_BYTES], to[PLACE_BYTES], number[16];
	int width = PLACE_WIDTH;
	const char *domain = vmp_model_name(set->m, vm->name);
	unsigned int own = vmp_window_own(&set->points, p->seen.kernel, &p->lbr), i;

	printf("Capture %s\n", vmp_text(safe, sizeof(safe), path, strlen(path)));
	printf("Sample %" PRIu64 ": TSC %#" PRIx64 ", vCPU %" PRIu32 " of %s, process %s\n", p->number,
	       (uint64_t)p->s.tsc, p->s.vcpu, vmp_text(safe_domain, sizeof(safe_domain), domain, strlen(domain)),
	       vmp_text(safe, sizeof(safe), comm, strlen(comm)));
	if (p->s.flags & VMPROF_SF_COUNTS && p->s.instructions)
		printf("%" PRIu64 " cycles, %" PRIu64 " instructions since the sample before, CPI %.2f\n",
		       (uint64_t)p->s.cycles, (uint64_t)p->s.instructions,
		       (double)p->s.cycles / (double)p->s.instructions);
	for (i = 0; i < p->lbr.nr; i++) {
		end_text(set, context, branch_at(set, context, &p->lbr.b[i], i < own, &flow), i < own, from);
		width = vmp_text_width(from) > width ? vmp_text_width(from) : width;
	}
	putchar('\n');
	print_line("Branch", "Type", "From", width, "To", "");
	for (i = p->lbr.nr; i--; ) {
		const struct vmp_branch *b = &p->lbr.b[i];

		end_text(set, context, branch_at(set, context, b, i < own, &flow), i < own, from);
		end_text(set, context, b->to, i < own, to);
		snprintf(number, sizeof(number), "LBR%u", i);
		print_line(number, type_of(flow), from, width, to, b->mispredicted ? "  mispredicted" : "");
	}
	end_text(set, context, p->seen.ip, 1, to);
	print_line("(current)", "sample", "", width, to, "");
	if (p->seen.w.switched)
		printf("\n%u of the branches are user code from before a switch of address spaces, whose it is is not known (-)\n",
		       p->seen.w.switched);
}

static int show_one(const struct given *g, const char *path)
{
	struct vmp_lbr_losses losses = { 0 };
	struct pick p = { .number = g->number };
	void *shard = &p;
	struct vmp_set *set = NULL;
	struct vmp_model *m;
	int err;

	if (args_open(&m, &path, g->a.sysroot))
		return VMP_EXIT_FAILED;
	err = args_domain(m, g->a.choice.domain);
	if (err) {
		args_close(m);
		return VMP_EXIT_FAILED;
	}
	err = vmp_set_open(&set, m, &g->a.choice);
	if (!err)
		err = vmp_set_eye_init(&p.eye, set);
	if (!err)
		err = vmp_scan_branches(m, &shard, 1, on_sample, &losses);
	if (err == FOUND)
		print_sample(set, &p, path);
	else if (err)
		vmp_err("cannot read %s: %s", args_safe(path), strerror(-err));
	else
		vmp_err("there are only %" PRIu64 " such samples with branches", p.at);
	vmp_set_eye_deinit(&p.eye);
	vmp_set_destroy(set);
	args_close(m);
	return err == FOUND ? VMP_EXIT_OK : VMP_EXIT_FAILED;
}

static int parse(struct given *g)
{
	if (branch_args_parse(&g->a))
		return -EINVAL;
	if (!g->sample)
		return 0;
	if (g->calls || g->a.json || g->a.csv || g->a.sort || g->a.limit || g->a.module || g->a.function) {
		vmp_err("--sample prints all branches of one sample; it goes with --domain, --vcpu, --pid and --comm only");
		return -EINVAL;
	}
	if (args_number("sample", g->sample, UINT64_MAX, &g->number))
		return -EINVAL;
	if (!g->number) {
		vmp_err("--sample counts from 1");
		return -EINVAL;
	}
	return 0;
}

int cmd_branches(int argc, char **argv)
{
	struct given g = { 0 };
	const struct vmp_opt opts[] = {
		BRANCH_SAMPLES(&g.a),
		BRANCH_ROWS(&g.a),
		{ "sample", 0, VMP_OPT_STR, "N", "the branches of the N-th sample that has some, oldest first", &g.sample },
		{ "calls", 0, VMP_OPT_FLAG, NULL, "who calls whom: calls only, summed up by function", &g.calls },
		{ "sort", 0, VMP_OPT_STR, "LIST", "by these columns, with :asc or :desc; default seen", &g.a.sort },
		{ "json", 0, VMP_OPT_FLAG, NULL, "JSON instead of text, with all columns", &g.a.json },
		{ "csv", 0, VMP_OPT_FLAG, NULL, "comma-separated values, with all columns", &g.a.csv },
		BRANCH_LOOK(&g.a),
		{ NULL },
	};
	const struct vmp_cmdline cmd = {
		.usage = "vmprof branches [OPTION]... [FILE]",
		.about = "Print the branches that were recorded with the samples: their type, from where\n"
			 "to where, how often they were seen and mispredicted.",
		.opts = opts,
		.more = "It takes a session that records branches (vmprof-start(1)).  Without FILE the latest capture is read.",
		.args_max = 1,
	};
	struct branch_data d;
	int args, ret, err = vmp_opts_parse(&cmd, argc, argv, &args);
	const char *path = args > 0 ? argv[1] : NULL;

	if (err)
		return err < 0 ? VMP_EXIT_USAGE : VMP_EXIT_OK;
	ret = VMP_EXIT_USAGE;
	if (!parse(&g)) {
		ret = VMP_EXIT_FAILED;
		if (g.sample) {
			ret = show_one(&g, path);
		} else if (!branch_open(&d, &g.a, path, 0)) {
			ret = show_all(&d, &g);
			branch_close(&d);
		}
	}
	branch_args_free(&g.a);
	return ret;
}
