// SPDX-License-Identifier: GPL-2.0-only
/* perfmap.c - text of /tmp/perf-PID.map to a symbol table; every byte is hostile. */
#include "model/perfmap.h"

#include <string.h>

#include "util/text.h"

/* A number, perhaps after "0x", and the blank behind it */
static int number(const char **p, const char *end, uint64_t *value)
{
	if (end - *p > 2 && (*p)[0] == '0' && (*p)[1] == 'x')
		*p += 2;
	return vmp_text_unhex(p, end, value) && *(*p)++ == ' ';
}

/* "start size name"; 1 when @sym was filled.  @end: the line's newline, which becomes a NUL */
static int parse_line(char *line, char *end, struct vmp_symbol *sym)
{
	const char *p = line;
	uint64_t start, size;

	*end = 0;
	if (memchr(line, 0, (size_t)(end - line)) || !number(&p, end, &start) || !number(&p, end, &size) || !*p)
		return 0;
	if (!size || size > UINT64_MAX - start)
		return 0;
	*sym = (struct vmp_symbol){
		.start = start, .end = start + size, .limit = start + size, .name = p,
		.rank = VMP_SYM_GLOBAL,
	};
	return 1;
}

int vmp_perfmap_lines(struct vmp_symtab *t, char *text, size_t len, struct vmp_perfmap_counts *counts)
{
	char *p = text, *end = text + len, *newline;
	struct vmp_symbol sym;

	for (; (newline = memchr(p, '\n', (size_t)(end - p))); p = newline + 1) {
		if (!parse_line(p, newline, &sym)) {
			counts->bad++;
		} else if (!counts->room) {
			counts->over++;
		} else {
			counts->room--;
			if (vmp_vec_push(&t->sym, sym))
				return -ENOMEM;
		}
	}
	return 0;
}

/* ------------------------------------------------- later lines over earlier */

/*
 * All starts and ends cut the addresses into pieces.  From the last line to
 * the first, each takes the pieces that no later one has.
 */
struct pieces {
	uint64_t *cut;		/* nr of them, rising */
	uint32_t *line;		/* whose the piece from cut[i] to cut[i + 1] is, + 1; 0 nobody's */
	uint32_t *next;		/* no piece from i up to before next[i] is free */
	uint32_t nr;
};

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int make_cuts(struct pieces *p, const struct vmp_symtab *t)
{
	uint32_t i, n = 0;

	p->cut = malloc(2ULL * t->sym.nr * sizeof(*p->cut));
	p->line = calloc(2ULL * t->sym.nr, sizeof(*p->line));
	p->next = malloc(2ULL * t->sym.nr * sizeof(*p->next));
	if (!p->cut || !p->line || !p->next)
		return -ENOMEM;
	for (i = 0; i < t->sym.nr; i++) {
		p->cut[2 * i] = t->sym.v[i].start;
		p->cut[2 * i + 1] = t->sym.v[i].end;
	}
	qsort(p->cut, 2ULL * t->sym.nr, sizeof(*p->cut), by_value);
	for (i = 0; i < 2 * t->sym.nr; i++)
		if (!n || p->cut[n - 1] != p->cut[i])
			p->cut[n++] = p->cut[i];
	p->nr = n;
	for (i = 0; i < n; i++)
		p->next[i] = i;
	return 0;
}

static uint32_t piece_at(const struct pieces *p, uint64_t addr)
{
	const uint64_t *cut = bsearch(&addr, p->cut, p->nr, sizeof(addr), by_value);

	return (uint32_t)(cut - p->cut);
}

/* The first free piece from @i on; the last one, which begins at the last cut, always is */
static uint32_t first_free(struct pieces *p, uint32_t i)
{
	while (p->next[i] != i) {
		p->next[i] = p->next[p->next[i]];	/* shorter for the next time */
		i = p->next[i];
	}
	return i;
}

static void take_pieces(struct pieces *p, const struct vmp_symtab *t)
{
	uint32_t line, i, end;

	for (line = t->sym.nr; line--; ) {
		end = piece_at(p, t->sym.v[line].end);
		for (i = first_free(p, piece_at(p, t->sym.v[line].start)); i < end; i = first_free(p, i)) {
			p->line[i] = line + 1;
			p->next[i] = i + 1;
		}
	}
}

/* Pieces of one line that follow each other are one symbol. */
static int join_pieces(const struct pieces *p, const struct vmp_symtab *from, struct vmp_symtab *to)
{
	struct vmp_symbol sym;
	uint32_t i, k;

	for (i = 0; i < p->nr; i = k) {
		k = i + 1;
		if (!p->line[i])
			continue;
		while (k < p->nr && p->line[k] == p->line[i])
			k++;
		sym = from->sym.v[p->line[i] - 1];
		sym.start = p->cut[i];
		sym.end = p->cut[k];
		if (vmp_vec_push(&to->sym, sym))
			return -ENOMEM;
	}
	return 0;
}

int vmp_perfmap_sort(struct vmp_symtab *t)
{
	struct vmp_symtab apart = { 0 };
	struct pieces p = { 0 };
	int err;

	if (!t->sym.nr)
		return 0;
	err = make_cuts(&p, t);
	if (!err) {
		take_pieces(&p, t);
		err = join_pieces(&p, t, &apart);
	}
	free(p.cut);
	free(p.line);
	free(p.next);
	if (err) {
		vmp_symtab_free(&apart);
		return err;
	}
	vmp_symtab_free(t);
	*t = apart;
	return vmp_symtab_sort(t);
}
