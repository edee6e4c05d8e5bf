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

#include <string.h>

#include "util/text.h"

#define SYMBOL_MAX	(1ULL << 20)
#define PAGE		4096ULL

static uint64_t page_end(uint64_t addr)
{
	return addr < UINT64_MAX - PAGE ? (addr | (PAGE - 1)) + 1 : UINT64_MAX;
}

/* "[bpf]", "[__builtin__ftrace]", "[__builtin__kprobes]" */
static int is_made(const char *module)
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
		if (is_made(module)) {
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

/* The last symbol of a module ends with its page. */
static void limit_to_modules(struct vmp_symtab *t)
{
	struct vmp_symbol *v = t->sym.v;
	uint64_t limit;
	uint32_t i;

	qsort(v, t->sym.nr, sizeof(*v), by_start);
	for (i = 0; i < t->sym.nr; i++) {
		if (i + 1 < t->sym.nr && v[i].module == v[i + 1].module)
			continue;
		limit = page_end(v[i].start);
		if (limit < v[i].limit)
			v[i].limit = limit;
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
	limit_to_modules(t);
	return vmp_symtab_sort(t);
}
