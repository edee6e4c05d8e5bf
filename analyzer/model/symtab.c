// SPDX-License-Identifier: GPL-2.0-only
/* symtab.c - sort symbols, choose among aliases, find by address. */
#include "model/symtab.h"

#include <string.h>

/* Symbols inside others are rare; a table made to be slow is not followed. */
#define WALK_BACK	64

static size_t underscores(const char *s)
{
	return strspn(s, "_");
}

static int cmp_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* By address; the best name first */
static int by_start(const void *pa, const void *pb)
{
	const struct vmp_symbol *a = pa, *b = pb;
	int d = cmp_u64(a->start, b->start);

	if (!d)
		d = !a->end - !b->end;		/* known size first */
	if (!d)
		d = a->rank - b->rank;
	if (!d)
		d = cmp_u64(underscores(a->name), underscores(b->name));
	if (!d)
		d = cmp_u64(strlen(a->name), strlen(b->name));
	return d ? d : strcmp(a->name, b->name);
}

int vmp_symtab_sort(struct vmp_symtab *t)
{
	struct vmp_symbol *v = t->sym.v;
	uint32_t i, n = 0;
	uint64_t end;

	if (!t->sym.nr)
		return 0;
	qsort(v, t->sym.nr, sizeof(*v), by_start);
	for (i = 0; i < t->sym.nr; i++)
		if (!n || v[n - 1].start != v[i].start)
			v[n++] = v[i];
	t->sym.nr = n;
	vmp_vec_trim(&t->sym);
	v = t->sym.v;
	free(t->reach);
	free(t->shown);
	t->reach = malloc(n * sizeof(*t->reach));
	t->shown = calloc(n, sizeof(*t->shown));
	if (!t->reach || !t->shown)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		if (!v[i].end) {
			end = i + 1 < n ? v[i + 1].start : UINT64_MAX;
			v[i].end = v[i].limit < end ? v[i].limit : end;
		}
		t->reach[i] = i && t->reach[i - 1] > v[i].end ? t->reach[i - 1] : v[i].end;
	}
	return 0;
}

int vmp_symtab_merge(struct vmp_symtab *t, const struct vmp_symtab *from)
{
	uint32_t i;

	for (i = 0; i < from->sym.nr; i++)
		if (vmp_vec_push(&t->sym, from->sym.v[i]))
			return -ENOMEM;
	return vmp_symtab_sort(t);
}

const struct vmp_symbol *vmp_symtab_find_until(const struct vmp_symtab *t, uint64_t addr, uint64_t *same)
{
	const struct vmp_symbol *v = t->sym.v;
	uint32_t lo = 0, hi = t->sym.nr, mid, i;

	while (lo < hi) {	/* first symbol that starts behind addr */
		mid = lo + (hi - lo) / 2;
		if (v[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	*same = lo < t->sym.nr ? v[lo].start : UINT64_MAX;
	for (i = lo; i && lo - i < WALK_BACK && t->reach[i - 1] > addr; i--) {
		if (v[i - 1].end <= addr)
			continue;
		if (v[i - 1].end < *same)
			*same = v[i - 1].end;
		return &v[i - 1];
	}
	return NULL;
}

const struct vmp_symbol *vmp_symtab_find(const struct vmp_symtab *t, uint64_t addr)
{
	uint64_t same;

	return vmp_symtab_find_until(t, addr, &same);
}

void vmp_symtab_free(struct vmp_symtab *t)
{
	vmp_vec_free(&t->sym);
	free(t->reach);
	free(t->shown);
	t->reach = NULL;
	t->shown = NULL;
}
