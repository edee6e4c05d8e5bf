// SPDX-License-Identifier: GPL-2.0-only
/* diff.c - rows of two captures are the same when all that tells rows apart is, by name. */
#include "report/diff.h"

#include <stdlib.h>
#include <string.h>

#include "report/rows.h"

struct joining {
	struct vmp_model *m;		/* of the later profile */
	const struct vmp_model *old;
	uint32_t *number;		/* its strings' numbers in @m, + 1; 0 not asked yet */
	struct vmp_hash by_row;
};

static void translate(struct joining *j, uint32_t *str, int *err)
{
	const char *s = vmp_model_name(j->old, *str);

	if (!j->number[*str])
		j->number[*str] = vmp_strings_add(&j->m->strings, s, strlen(s), err) + 1;
	*str = j->number[*str] - 1;
}

/* The row like @row, VMP_NONE none; @sum: where it is to be put */
static uint32_t find(struct joining *j, const struct vmp_domain *d, const struct vmp_row *row, uint64_t *sum)
{
	uint32_t *i;

	for (*sum = vmp_row_hash(row); (i = vmp_hash_find(&j->by_row, *sum)); (*sum)++)
		if (vmp_row_same(&d->rows.v[*i], row))
			return *i;
	return VMP_NONE;
}

static int index_rows(struct joining *j, const struct vmp_domain *d)
{
	uint64_t sum;
	uint32_t i;

	for (i = 0; i < d->rows.nr; i++) {
		find(j, d, &d->rows.v[i], &sum);
		if (vmp_hash_set(&j->by_row, sum, i))
			return -ENOMEM;
	}
	return 0;
}

/* Rows of both; those that are only in the earlier one have no samples now. */
static int join_rows(struct joining *j, struct vmp_domain *d, const struct vmp_domain *old)
{
	uint32_t i, at;
	uint64_t sum;
	int err;

	d->compared = 1;
	if (!old)
		return 0;
	d->before_total = old->total;
	err = index_rows(j, d);
	for (i = 0; !err && i < old->rows.nr; i++) {
		struct vmp_row row = old->rows.v[i];
		uint32_t cause = row.cause;

		row.samples = row.cycles = row.instructions = row.before = 0;
		translate(j, &row.function, &err);
		translate(j, &row.module, &err);
		translate(j, &row.comm, &err);
		translate(j, &cause, &err);
		row.cause = cause & ((1U << 29) - 1);
		translate(j, &row.build_id, &err);
		translate(j, &row.thread, &err);
		translate(j, &row.cgroup, &err);
		at = find(j, d, &row, &sum);
		if (at == VMP_NONE) {
			at = d->rows.nr;
			err = err || vmp_vec_push(&d->rows, row) || vmp_hash_set(&j->by_row, sum, at) ? -ENOMEM : 0;
		}
		if (!err)
			d->rows.v[at].before += old->rows.v[i].samples;
	}
	return err;
}

static const struct vmp_domain *partner(const struct vmp_profile *after, const struct vmp_domain *d,
					const struct vmp_profile *before)
{
	const char *name, *other;
	uint32_t i;

	if (after->domains.nr == 1 && before->domains.nr == 1)
		return &before->domains.v[0];
	for (i = 0; i < before->domains.nr; i++) {
		const struct vmp_domain *b = &before->domains.v[i];

		if (b->vm == VMP_NONE || d->vm == VMP_NONE) {
			if (b->vm == d->vm)
				return b;
			continue;
		}
		name = vmp_model_name(after->model, after->model->vms.v[d->vm].name);
		other = vmp_model_name(before->model, before->model->vms.v[b->vm].name);
		if (!strcmp(name, other))
			return b;
	}
	return NULL;
}

int vmp_diff(struct vmp_profile *after, const struct vmp_profile *before, const struct vmp_options *o)
{
	struct vmp_options order = *o;
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < after->domains.nr; i++) {
		struct vmp_domain *d = &after->domains.v[i];
		struct joining j = { .m = after->model, .old = before->model };

		j.number = calloc(before->model->strings.str.nr + 1, sizeof(*j.number));
		err = j.number ? join_rows(&j, d, partner(after, d, before)) : -ENOMEM;
		free(j.number);
		vmp_hash_free(&j.by_row);
	}
	order.all_rows = 0;
	return err ? err : vmp_profile_order(after, &order);
}
