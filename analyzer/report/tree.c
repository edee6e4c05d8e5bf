// SPDX-License-Identifier: GPL-2.0-only
/* tree.c - a node is a range of its domain's rows; opening it sorts that range by the next key. */
#include "report/tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/render.h"

struct sorting {
	const struct vmp_tree *t;
	const struct vmp_domain *d;
	enum vmp_column column;
};

/* Those with time, then those without */
static const struct vmp_row *row_at(const struct vmp_domain *d, uint32_t i)
{
	return i < d->rows.nr ? &d->rows.v[i] : &d->timeless.v[i - d->rows.nr];
}

/* What two rows differ in when a column tells them apart */
static uint64_t key_of(const struct vmp_tree *t, const struct vmp_domain *d, const struct vmp_row *row,
		       enum vmp_column c)
{
	uint32_t str = c == VMP_COL_CGROUP ? row->cgroup : vmp_column_string(t->p, d, row, c);

	if (str != VMP_NONE)
		return t->rank[str];
	if (c == VMP_COL_PID)
		return row->pid;
	if (c == VMP_COL_NSPID)
		return row->nspid;
	if (c == VMP_COL_SIDE)
		return row->side;
	/* behind the threads that have names */
	if (c == VMP_COL_VCPU && row->track & VMP_TRACK_IS_THREAD)
		return 1ULL << 32 | VMP_NONE;
	return 1ULL << 32 | row->track;
}

static int cmp_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int cmp_keys(const void *a, const void *b, void *arg)
{
	const struct sorting *s = arg;

	return cmp_u64(key_of(s->t, s->d, row_at(s->d, *(const uint32_t *)a), s->column),
		       key_of(s->t, s->d, row_at(s->d, *(const uint32_t *)b), s->column));
}

/* By the measures and the key that --sort names, else most samples first */
static int cmp_nodes(const void *pa, const void *pb, void *arg)
{
	const struct vmp_node *a = pa, *b = pb;
	const struct sorting *s = arg;
	const struct vmp_options *o = s->t->o;
	int i, d = 0;

	for (i = 0; !d && i < o->nr_sort; i++) {
		enum vmp_column c = o->sort[i].column;
		double x = 0, y = 0;

		if (VMP_IS_MEASURE(c)) {
			vmp_column_number(s->t->p, s->d, &a->row, c, &x);
			vmp_column_number(s->t->p, s->d, &b->row, c, &y);
			if (o->sort[i].size) {
				x = fabs(x);
				y = fabs(y);
			}
			d = x < y ? -1 : x > y;
		} else if (c == s->column) {
			d = cmp_u64(key_of(s->t, s->d, &a->row, c), key_of(s->t, s->d, &b->row, c));
		}
		d = o->sort[i].up ? d : -d;
	}
	if (!d)
		d = cmp_u64(b->row.samples, a->row.samples);
	return d ? d : cmp_u64(key_of(s->t, s->d, &a->row, s->column), key_of(s->t, s->d, &b->row, s->column));
}

static void add_measures(struct vmp_row *sum, const struct vmp_row *row)
{
	sum->samples += row->samples;
	sum->cycles += row->cycles;
	sum->instructions += row->instructions;
	sum->before += row->before;
}

/* The parent's keys, and one more of @row */
static struct vmp_row keys_of(const struct vmp_node *parent, const struct vmp_row *row, enum vmp_column c)
{
	struct vmp_row keys = parent->row;

	keys.samples = keys.cycles = keys.instructions = keys.before = 0;
	switch (c) {
	case VMP_COL_PROCESS:
		keys.comm = row->comm;
		break;
	case VMP_COL_PID:
		keys.pid = row->pid;
		break;
	case VMP_COL_NSPID:
		keys.nspid = row->nspid;
		break;
	case VMP_COL_CGROUP:
		keys.cgroup = row->cgroup;
		break;
	case VMP_COL_THREAD:
		keys.thread = row->thread;
		if (row->thread)
			break;
		/* fallthrough */
	case VMP_COL_VCPU:
		keys.track = row->track;
		break;
	case VMP_COL_MODULE:
		keys.module = row->module;
		break;
	case VMP_COL_BUILD_ID:
		keys.build_id = row->build_id;
		break;
	case VMP_COL_FUNCTION:
		keys.function = row->function;
		break;
	case VMP_COL_SIDE:
		keys.side = row->side;
		break;
	default:
		keys.cause = row->cause;
	}
	return keys;
}

static int make_children(struct vmp_tree *t, uint32_t parent, const struct sorting *s)
{
	const struct vmp_node up = t->nodes.v[parent];
	const uint32_t *order = t->order[up.domain];
	uint64_t key, last = 0;
	uint32_t i;

	for (i = up.from; i < up.to; i++) {
		const struct vmp_row *row = row_at(s->d, order[i]);
		struct vmp_node new = {
			.domain = up.domain, .parent = parent, .depth = up.depth + 1, .from = i,
		};

		key = key_of(t, s->d, row, s->column);
		if (i == up.from || key != last) {
			new.row = keys_of(&up, row, s->column);
			if (vmp_vec_push(&t->nodes, new))
				return -ENOMEM;
		}
		last = key;
		add_measures(&t->nodes.v[t->nodes.nr - 1].row, row);
		t->nodes.v[t->nodes.nr - 1].to = i + 1;
	}
	return 0;
}

/* Children from @first on without time are none, as they are no rows; they stay in the sums above. */
static void drop_timeless(struct vmp_tree *t, uint32_t first)
{
	uint32_t i, n = first;

	for (i = first; i < t->nodes.nr; i++)
		if (t->nodes.v[i].row.samples || t->nodes.v[i].row.before)
			t->nodes.v[n++] = t->nodes.v[i];
	t->nodes.nr = n;
}

int vmp_tree_open(struct vmp_tree *t, uint32_t node)
{
	struct vmp_node *n = &t->nodes.v[node];
	struct sorting s = { t, vmp_tree_domain(t, n), 0 };
	uint32_t first = t->nodes.nr;
	int err;

	if (n->opened || vmp_tree_is_leaf(t, n))
		return 0;
	s.column = t->levels.column[n->depth];
	qsort_r(t->order[n->domain] + n->from, n->to - n->from, sizeof(uint32_t), cmp_keys, &s);
	err = make_children(t, node, &s);
	if (err) {
		t->nodes.nr = first;
		return err;
	}
	drop_timeless(t, first);
	n = &t->nodes.v[node];
	n->opened = 1;
	n->first = first;
	n->nr = t->nodes.nr - first;
	if (n->nr)
		qsort_r(&t->nodes.v[first], n->nr, sizeof(*n), cmp_nodes, &s);
	return 0;
}

static int add_domain(struct vmp_tree *t, uint32_t domain)
{
	const struct vmp_domain *d = &t->p->domains.v[domain];
	uint32_t i, nr = d->rows.nr + d->timeless.nr;
	struct vmp_node n = {
		.domain = domain, .parent = VMP_NONE, .to = nr,
		.row = { .pid = VMP_NONE, .nspid = VMP_NONE, .track = VMP_NONE, .side = VMP_SIDE_NR },
	};

	t->order[domain] = malloc(nr * sizeof(uint32_t) + 1);
	if (!t->order[domain])
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		t->order[domain][i] = i;
		add_measures(&n.row, row_at(d, i));
	}
	return vmp_vec_push(&t->nodes, n) ? -ENOMEM : 0;
}

int vmp_tree_create(struct vmp_tree **out, const struct vmp_profile *p, const struct vmp_options *o,
		    const struct vmp_column_list *levels)
{
	struct vmp_tree *t = calloc(1, sizeof(*t));
	int i, err = 0;
	uint32_t d;

	if (!t)
		return -ENOMEM;
	*t = (struct vmp_tree){ .p = p, .o = o };
	for (i = 0; i < levels->nr; i++)
		if (levels->column[i] != VMP_COL_DOMAIN)
			t->levels.column[t->levels.nr++] = levels->column[i];
	t->rank = vmp_strings_ranks(&p->model->strings);
	t->order = calloc(p->domains.nr + 1, sizeof(*t->order));
	if (!t->rank || !t->order)
		err = -ENOMEM;
	for (d = 0; !err && d < p->domains.nr; d++)
		err = add_domain(t, d);
	if (err) {
		vmp_tree_destroy(t);
		return err;
	}
	*out = t;
	return 0;
}

void vmp_tree_destroy(struct vmp_tree *t)
{
	uint32_t d;

	if (!t)
		return;
	for (d = 0; t->order && d < t->p->domains.nr; d++)
		free(t->order[d]);
	free(t->order);
	free(t->rank);
	vmp_vec_free(&t->nodes);
	free(t);
}

enum vmp_column vmp_tree_column(const struct vmp_tree *t, const struct vmp_node *n)
{
	return n->depth ? t->levels.column[n->depth - 1] : VMP_COL_DOMAIN;
}

int vmp_tree_is_leaf(const struct vmp_tree *t, const struct vmp_node *n)
{
	return n->depth >= (uint32_t)t->levels.nr;
}

int vmp_tree_is_small(const struct vmp_domain *d, const struct vmp_row *row, double percent)
{
	return vmp_percent(row->samples, d->total) < percent && vmp_percent(row->before, d->before_total) < percent;
}

const char *vmp_tree_label(const struct vmp_tree *t, const struct vmp_node *n, char *buf)
{
	const struct vmp_domain *d = vmp_tree_domain(t, n);
	enum vmp_column c = vmp_tree_column(t, n);
	const char *s = vmp_column_text(t->p, d, &n->row, c, buf);

	if (c == VMP_COL_PID || c == VMP_COL_NSPID || c == VMP_COL_VCPU) {
		char number[32];

		snprintf(number, sizeof(number), "%.20s", s);
		snprintf(buf, 64, "%s %s", vmp_column_title(c), number);
		return buf;
	}
	return s;
}
