// SPDX-License-Identifier: GPL-2.0-only
/*
 * ksyms.c - kallsyms text to a symbol table.
 *
 * kallsyms has no sizes: a symbol reaches to the next one, but not into
 * another module, and never further than SYMBOL_MAX.  Made code (BPF programs,
 * trampolines, probes' pages) lies anywhere, beside code without symbols, such
 * as classic BPF: an agent tells how long it is, else it reaches to the end of
 * its page.
 */
#include "model/ksyms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"

#define SYMBOL_MAX	(1ULL << 20)
#define PAGE		4096ULL
#define ALIASES_MAX	64U	/* at one address: of more, which a guest may make up, nothing is looked at */

static uint64_t page_end(uint64_t addr)
{
	return addr < UINT64_MAX - PAGE ? (addr | (PAGE - 1)) + 1 : UINT64_MAX;
}

int vmp_ksyms_is_made(const char *module)
{
	return !strncmp(module, "[bpf]", 5) || !strncmp(module, "[__builtin__", 12);
}

/* What follows the module: its symbol's bytes, of made code */
static void take_bytes(struct vmp_symbol *sym, const char *p, const char *end)
{
	uint64_t bytes;

	p += strspn(p, "\t ");
	if (vmp_text_unhex(&p, end, &bytes) && p == end && bytes <= SYMBOL_MAX &&
	    sym->start + bytes > sym->start)
		sym->end = sym->start + bytes;
}

/* "address type name[\t[module][\tbytes]]"; 1 when @sym was filled */
static int parse_line(char *line, char *end, struct vmp_symbol *sym,
		      struct vmp_strings *strings, int *err)
{
	const char *p = line;
	char *name, *module;
	uint64_t addr;
	char type;

	if (!vmp_text_unhex(&p, end, &addr) || !addr || addr == UINT64_MAX || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return 0;
	type = p[1];
	if (!strchr("tTwW", type) || memchr(p, 0, (size_t)(end - p)))
		return 0;
	name = line + (p - line) + 3;
	*end = 0;
	*sym = (struct vmp_symbol){ .start = addr, .limit = addr + SYMBOL_MAX, .name = name };
	if (sym->limit < addr)
		sym->limit = UINT64_MAX;
	module = strpbrk(name, "\t ");
	if (module) {
		*module++ = 0;
		module += strspn(module, "\t ");
		if (*module == '[')
			sym->module = vmp_strings_add(strings, module, strcspn(module, "\t "), err);
		if (vmp_ksyms_is_made(module)) {
			sym->limit = page_end(addr);
			take_bytes(sym, module + strcspn(module, "\t "), end);
		}
	}
	sym->rank = type == 'T' ? VMP_SYM_GLOBAL : type == 't' ? VMP_SYM_LOCAL : VMP_SYM_WEAK;
	return *name != 0;
}

static int by_start(const void *a, const void *b)
{
	const struct vmp_symbol *p = a, *q = b;

	return p->start < q->start ? -1 : p->start > q->start;
}

/* Symbols that begin at one address, from lo to before hi */
struct group {
	uint32_t lo, hi;
};

static struct group group_from(const struct vmp_symtab *t, uint32_t lo)
{
	struct group g = { lo, lo };

	while (g.hi < t->sym.nr && t->sym.v[g.hi].start == t->sym.v[lo].start)
		g.hi++;
	return g;
}

static struct group group_before(const struct vmp_symtab *t, uint32_t hi)
{
	struct group g = { hi, hi };

	while (g.lo && t->sym.v[g.lo - 1].start == t->sym.v[hi - 1].start)
		g.lo--;
	return g;
}

static int is_too_large(struct group g)
{
	return g.hi - g.lo > ALIASES_MAX;
}

static int has_module(const struct vmp_symtab *t, struct group g, uint32_t module)
{
	for (; g.lo < g.hi && !is_too_large(g); g.lo++)
		if (t->sym.v[g.lo].module == module)
			return 1;
	return 0;
}

/* Is it a module's, in memory of that alone? */
static int is_modules(const struct vmp_symbol *sym, const struct vmp_strings *strings)
{
	return sym->module && !vmp_ksyms_is_made(vmp_strings_get(strings, sym->module));
}

/* Of two symbols of a module, does the second begin other memory than the first is in? */
static int begins_memory(uint64_t first, uint64_t second)
{
	/* with a prefix before each function, its first one is 16 bytes behind */
	return (second & (PAGE - 1)) <= 16 && second / PAGE - first / PAGE > 1;
}

/* How far apart are a module's symbols between which there are only these of others?  0: there is no such module */
static uint64_t surrounded(const struct vmp_symtab *t, const struct vmp_strings *strings, struct group g)
{
	const struct vmp_symbol *v = t->sym.v;
	struct group before = group_before(t, g.lo), behind = group_from(t, g.hi);
	uint32_t i;

	for (i = before.lo; i < before.hi; i++)
		if (is_modules(&v[i], strings) && has_module(t, behind, v[i].module) && !has_module(t, g, v[i].module) &&
		    !begins_memory(v[i].start, v[g.hi].start))
			return v[g.hi].start - v[i].start;
	return 0;
}

/* In the code of another module, whose symbols are closer than those of its own around any next to it */
static int is_inside(const struct vmp_symtab *t, const struct vmp_strings *strings, struct group g)
{
	uint64_t span = surrounded(t, strings, g), other;

	if (!span)
		return 0;
	other = g.lo ? surrounded(t, strings, group_before(t, g.lo)) : 0;
	if (other && other < span)
		return 0;
	other = g.hi < t->sym.nr ? surrounded(t, strings, group_from(t, g.hi)) : 0;
	return !other || other > span;
}

/* To the next symbol of its module, before or behind */
static uint64_t nearest(const struct vmp_symtab *t, struct group g, uint32_t module)
{
	struct group before = group_before(t, g.lo), behind = group_from(t, g.hi);
	uint64_t near = UINT64_MAX;

	if (has_module(t, before, module))
		near = t->sym.v[g.lo].start - t->sym.v[before.lo].start;
	if (has_module(t, behind, module) && t->sym.v[behind.lo].start - t->sym.v[g.lo].start < near)
		near = t->sym.v[behind.lo].start - t->sym.v[g.lo].start;
	return near;
}

/* The module whose code begins there, of several that have a symbol there; 0: it cannot be told */
static uint32_t owner(const struct vmp_symtab *t, struct group g)
{
	uint32_t module = 0, i;
	uint64_t best = UINT64_MAX, near;

	for (i = g.lo; i < g.hi; i++) {
		near = nearest(t, g, t->sym.v[i].module);
		if (near < best)
			module = t->sym.v[i].module;
		best = near < best ? near : best;
	}
	return module;
}

static uint32_t count_module(const struct vmp_symtab *t, struct group g, uint32_t module)
{
	uint32_t n = 0;

	for (; g.lo < g.hi; g.lo++)
		n += t->sym.v[g.lo].module == module;
	return n;
}

/* Apart from all others that its module has.  @counts: Symbols by module */
static int is_apart(const struct vmp_symtab *t, const struct vmp_hash *counts, struct group g, uint32_t module)
{
	struct group before = group_before(t, g.lo);

	if (has_module(t, before, module) && !begins_memory(t->sym.v[before.lo].start, t->sym.v[g.lo].start))
		return 0;
	return *vmp_hash_find(counts, module) > count_module(t, g, module) &&
	       !has_module(t, group_from(t, g.hi), module);
}

static void drop_all(struct vmp_symtab *t, const uint8_t *drop)
{
	uint32_t i, n = 0;

	for (i = 0; i < t->sym.nr; i++)
		if (!drop[i])
			t->sym.v[n++] = t->sym.v[i];
	t->sym.nr = n;
}

static int count_modules(const struct vmp_symtab *t, struct vmp_hash *counts)
{
	uint32_t i, *n;

	for (i = 0; i < t->sym.nr; i++) {
		n = vmp_hash_find(counts, t->sym.v[i].module);
		if (n)
			++*n;
		else if (vmp_hash_set(counts, t->sym.v[i].module, 1))
			return -ENOMEM;
	}
	return 0;
}

/* @drop: A byte for each symbol */
static int drop_with(struct vmp_symtab *t, const struct vmp_strings *strings, struct vmp_hash *counts, uint8_t *drop)
{
	const struct vmp_symbol *v = t->sym.v;
	struct group g;
	uint32_t i, own;
	int inside;

	for (g = group_from(t, 0); g.lo < t->sym.nr; g = group_from(t, g.hi)) {
		if (is_too_large(g))
			continue;
		inside = is_inside(t, strings, g);
		own = inside ? 0 : owner(t, g);
		for (i = g.lo; i < g.hi; i++)
			drop[i] = is_modules(&v[i], strings) && (inside || (own && v[i].module != own));
	}
	drop_all(t, drop);
	if (count_modules(t, counts))
		return -ENOMEM;
	memset(drop, 0, t->sym.nr);
	for (g = group_from(t, 0); g.lo < t->sym.nr; g = group_from(t, g.hi))
		for (i = g.lo; i < g.hi && !is_too_large(g); i++)
			drop[i] = is_modules(&v[i], strings) && is_apart(t, counts, g, v[i].module);
	drop_all(t, drop);
	return 0;
}

/*
 * A module's init function stays in the list when its memory is free again, and another module
 * may come to be there: what lies in another one's code, begins where that does, or apart from
 * its own module's, is such a remainder.
 */
static int drop_remainders(struct vmp_symtab *t, const struct vmp_strings *strings)
{
	uint8_t *drop = calloc(t->sym.nr, 1);
	struct vmp_hash counts = { 0 };
	int err = drop ? drop_with(t, strings, &counts, drop) : -ENOMEM;

	vmp_hash_free(&counts);
	free(drop);
	return err;
}

/* The last symbol of a module, or in its memory, ends with its page. */
static void limit_to_modules(struct vmp_symtab *t)
{
	struct vmp_symbol *v = t->sym.v;
	struct group g, behind;
	uint64_t limit;
	uint32_t i;

	for (g = group_from(t, 0); g.lo < t->sym.nr; g = behind) {
		behind = group_from(t, g.hi);
		limit = page_end(v[g.lo].start);
		for (i = g.lo; i < g.hi; i++) {
			if (has_module(t, behind, v[i].module) &&
			    (!v[i].module || !begins_memory(v[i].start, v[behind.lo].start)))
				continue;
			if (limit < v[i].limit)
				v[i].limit = limit;
		}
	}
}

int vmp_ksyms_parse(struct vmp_symtab *t, char *text, size_t len, struct vmp_strings *strings)
{
	char *p = text, *end = text + len, *nl;
	struct vmp_symbol sym;
	int err = 0;

	for (; p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			break;	/* a cut line would give a cut name */
		if (parse_line(p, nl, &sym, strings, &err) && vmp_vec_push(&t->sym, sym))
			return -ENOMEM;
		if (err)
			return err;
	}
	if (!t->sym.nr)
		return 0;
	qsort(t->sym.v, t->sym.nr, sizeof(*t->sym.v), by_start);
	err = drop_remainders(t, strings);
	if (err)
		return err;
	limit_to_modules(t);
	return vmp_symtab_sort(t);
}
