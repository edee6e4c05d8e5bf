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

/* Kernels had two names for a system call; nobody means this one. */
static int old_syscall(const char *s)
{
	return !strncmp(s, "SyS", 3) || !strncmp(s, "compat_SyS", 10);
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
	if (!d)		/* the longer one says more */
		d = cmp_u64(strlen(b->name), strlen(a->name));
	if (!d)
		d = old_syscall(a->name) - old_syscall(b->name);
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
	t->hint = 0;
	vmp_vec_trim(&t->sym);
	v = t->sym.v;
	free(t->reach);
	free(t->shown);
	free(t->offset);
	t->reach = malloc(n * sizeof(*t->reach));
	t->shown = calloc(n, sizeof(*t->shown));
	t->offset = malloc(n * sizeof(*t->offset));
	if (!t->reach || !t->shown || !t->offset)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		if (!v[i].end) {
			end = i + 1 < n ? v[i + 1].start : UINT64_MAX;
			v[i].end = v[i].limit < end ? v[i].limit : end;
		}
		t->offset[i] = v[i].start - v[0].start < UINT32_MAX ? (uint32_t)(v[i].start - v[0].start) :
								     UINT32_MAX;
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

/* Does symbol @i start behind @addr, which is @rel behind the first one? */
static int is_behind(const struct vmp_symtab *t, uint32_t i, uint64_t rel)
{
	uint32_t o = t->offset[i];

	return o != UINT32_MAX ? o > rel : t->sym.v[i].start - t->sym.v[0].start > rel;
}

/* Number of the first symbol that starts behind, known to be in lo .. hi */
static uint32_t behind(const struct vmp_symtab *t, uint64_t rel, uint32_t lo, uint32_t hi)
{
	uint32_t mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (is_behind(t, mid, rel))
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* The innermost symbol that holds @addr; @n starts behind it */
static struct vmp_symbol *holder(const struct vmp_symtab *t, uint64_t addr, uint32_t n)
{
	uint32_t i;

	for (i = n; i && n - i < WALK_BACK && t->reach[i - 1] > addr; i--)
		if (t->sym.v[i - 1].end > addr)
			return &t->sym.v[i - 1];
	return NULL;
}

const struct vmp_symbol *vmp_symtab_find(const struct vmp_symtab *t, uint64_t addr)
{
	if (!t->sym.nr || addr < t->sym.v[0].start)
		return NULL;
	return holder(t, addr, behind(t, addr - t->sym.v[0].start, 0, t->sym.nr));
}

struct vmp_symbol *vmp_symtab_find_until(struct vmp_symtab *t, uint64_t addr, uint64_t *same)
{
	uint32_t lo = t->hint, step = 1, n;
	struct vmp_symbol *sym;
	uint64_t rel;

	*same = t->sym.nr ? t->sym.v[0].start : UINT64_MAX;
	if (!t->sym.nr || addr < *same)
		return NULL;
	rel = addr - *same;
	/* from the last one up, in longer and longer steps */
	if (lo && !is_behind(t, lo - 1, rel)) {
		while (lo + step < t->sym.nr && !is_behind(t, lo + step, rel))
			step *= 2;
		n = behind(t, rel, lo, lo + step < t->sym.nr ? lo + step : t->sym.nr);
	} else {
		n = behind(t, rel, 0, t->sym.nr);
	}
	t->hint = n;
	sym = holder(t, addr, n);
	*same = n < t->sym.nr ? t->sym.v[n].start : UINT64_MAX;
	if (sym && sym->end < *same)
		*same = sym->end;
	return sym;
}

void vmp_symtab_free(struct vmp_symtab *t)
{
	vmp_vec_free(&t->sym);
	free(t->reach);
	free(t->shown);
	free(t->offset);
	t->reach = NULL;
	t->shown = NULL;
	t->offset = NULL;
}
