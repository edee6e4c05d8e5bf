// SPDX-License-Identifier: GPL-2.0-only
/*
 * judge_report.c - see judge_report.h.
 *
 * A row of the report is a program's function, or the kernel's. The emulator says of each overflow that became a sample on
 * which address space it was, when, and where: that leads to a row as well, without anything that the sampler wrote.
 */
#include "judge_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "group.h"
#include "model/hash.h"
#include "report/profile.h"
#include "verdict.h"

#define ROWS_SHOWN	10
#define ROWLESS_MAX	10000	/* of so many overflows one may have no row, and four more: else nothing would be held (seen: none) */

/* A row of either */
struct line {
	uint32_t vm, kernel, function, module, comm;	/* comm: of user code */
	uint64_t report, exact;
};

struct lines {
	VMP_VEC(struct line) v;
	struct vmp_hash by_key;
};

/* The line of @key's names, made when it is new */
static int find(struct lines *l, const struct line *key, struct line **out)
{
	const uint64_t sum = vmp_hash_bytes(key, offsetof(struct line, report));
	const uint32_t *at = vmp_hash_find(&l->by_key, sum);

	if (!at && (vmp_vec_push(&l->v, *key) || vmp_hash_set(&l->by_key, sum, l->v.nr - 1)))
		return -ENOMEM;
	*out = &l->v.v[at ? *at : l->v.nr - 1];
	return 0;
}

static int add_report(struct lines *l, const struct vmp_profile *p)
{
	uint32_t d, i;
	int err = 0;

	for (d = 0; d < p->domains.nr; d++) {
		const struct vmp_domain *domain = &p->domains.v[d];

		for (i = 0; !err && i < domain->rows.nr; i++) {
			const struct vmp_row *r = &domain->rows.v[i];
			const int kernel = r->side == VMP_SIDE_KERNEL;
			const struct line key = { domain->vm, (uint32_t)kernel, r->function, r->module, kernel ? 0 : r->comm, 0, 0 };
			struct line *line;

			if (domain->vm == VMP_NONE || (!kernel && r->side != VMP_SIDE_USER))
				continue;
			err = find(l, &key, &line);
			if (!err)
				line->report += r->samples;
		}
	}
	return err;
}

static int add_exact(struct lines *l, const struct join *j)
{
	struct line *line;
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < j->rows.nr; i++) {
		const struct join_row *r = &j->rows.v[i];
		const struct line key = { r->vm, r->kind == VMP_KIND_GUEST_KERNEL, r->function, r->module, r->comm, 0, 0 };

		if (!r->overflows)
			continue;
		err = find(l, &key, &line);
		if (!err)
			line->exact += r->overflows;
	}
	return err;
}

static void show(const struct join *j, const struct line *l)
{
	char function[160], module[80], comm[40];

	printf("  the report has %" PRIu64 " samples, the emulator %" PRIu64 " overflows of %s %s %s\n", l->report, l->exact,
	       group_text(j, l->function, function, sizeof(function)), group_text(j, l->module, module, sizeof(module)),
	       group_text(j, l->comm, comm, sizeof(comm)));
}

/* A sample in another row than its overflow is one too many there, and missing here */
static void compare(const struct join *j, const struct lines *l)
{
	uint64_t samples = 0, overflows = 0, off = 0;
	uint32_t i, bad = 0;

	for (i = 0; i < l->v.nr; i++) {
		const struct line *x = &l->v.v[i];

		samples += x->report;
		overflows += x->exact;
		if (x->report == x->exact)
			continue;
		off += x->report > x->exact ? x->report - x->exact : x->exact - x->report;
		if (bad++ < ROWS_SHOWN)
			show(j, x);
	}
	verdict(overflows && off <= j->checks.rowless && j->checks.rowless <= 4 + overflows / ROWLESS_MAX, "the report's rows are those of the overflows",
		"%" PRIu32 " rows with %" PRIu64 " samples, %" PRIu64 " overflows; %" PRIu32 " differ, by %" PRIu64
		" in all, at most %" PRIu64 ", of which the emulator does not tell a row", l->v.nr, samples, overflows, bad, off,
		j->checks.rowless);
}

int judge_report(const struct join *j)
{
	const struct vmp_options options = { .vcpu = -1, .pid = -1, .view = VMP_VIEW_TIME, .by = VMP_BY_FUNCTION, .all_rows = 1 };
	struct vmp_profile *p = NULL;
	struct lines lines = { 0 };
	int err = vmp_profile_create(&p, j->model, &options);

	if (!err)
		err = add_report(&lines, p);
	if (!err)
		err = add_exact(&lines, j);
	if (!err)
		compare(j, &lines);
	vmp_vec_free(&lines.v);
	vmp_hash_free(&lines.by_key);
	vmp_profile_destroy(p);
	return err;
}
