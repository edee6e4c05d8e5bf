// SPDX-License-Identifier: GPL-2.0-only
/* jit.c - the JIT maps that a VM's agent sent, by the program that they are of. */
#include "model/jit.h"

#include <stdlib.h>
#include <string.h>

static int find_text(struct vmp_jit *jit, uint32_t epoch, const struct vmp_msg_jitmap *msg,
		     uint32_t *text, int *first)
{
	struct vmp_jit_text new = {
		.tsc = msg->tsc, .epoch = epoch, .tgid = msg->tgid, .image = VMP_NONE,
	};
	const uint64_t program[] = { msg->tsc, (uint64_t)epoch << 32 | msg->tgid };
	uint64_t sum = vmp_hash_bytes(program, sizeof(program));
	const uint32_t *known = vmp_hash_find(&jit->by_program, sum);

	*first = !known;
	if (known) {
		*text = *known;
		return 0;
	}
	if (jit->texts.nr == VMP_JIT_TEXTS_MAX)
		return -ENOSPC;
	if (vmp_vec_push(&jit->texts, new) || vmp_hash_set(&jit->by_program, sum, jit->texts.nr - 1))
		return -ENOMEM;
	*text = jit->texts.nr - 1;
	return 0;
}

int vmp_jit_add(struct vmp_jit *jit, uint32_t epoch, const struct vmp_msg_jitmap *msg,
		uint32_t *text, int *first)
{
	const struct vmp_jit_piece piece = {
		msg->after ? msg->tsc + ((uint64_t)msg->after << VMPROF_JITMAP_AFTER_SHIFT) : 0, 0
	};
	struct vmp_jit_text *t;
	int err = jit->bytes + msg->text.len > VMPROF_JITMAPS_BYTES_MAX ? -ENOSPC :
		  find_text(jit, epoch, msg, text, first);

	if (err) {
		jit->pieces_over += err == -ENOSPC;
		return err;
	}
	t = &jit->texts.v[*text];
	if (vmp_vec_reserve(&t->text, msg->text.len))
		return -ENOMEM;
	memcpy(t->text.v + t->text.nr, msg->text.p, msg->text.len);
	t->text.nr += msg->text.len;
	if ((!t->pieces.nr || t->pieces.v[t->pieces.nr - 1].from != piece.from) &&
	    vmp_vec_push(&t->pieces, piece))
		return -ENOMEM;
	t->pieces.v[t->pieces.nr - 1].end = t->text.nr;
	jit->bytes += msg->text.len;
	return 0;
}

/* The text that has the table of @image, which is @own where it is the first */
static int table_of(struct vmp_jit *jit, uint32_t image, uint32_t own, uint32_t *text)
{
	const uint32_t *known = vmp_hash_find(&jit->by_image, image);

	*text = known ? *known : own;
	return known ? 0 : vmp_hash_set(&jit->by_image, image, own);
}

/* The lines of one text behind those that its image has already, each with its time */
static int add_lines(struct vmp_jit *jit, struct vmp_jit_text *t, struct vmp_jit_text *to)
{
	uint32_t i, at = 0;
	int err = 0;

	for (i = 0; !err && i < t->pieces.nr; at = t->pieces.v[i++].end) {
		err = vmp_perfmap_lines(&to->lines, t->text.v + at, t->pieces.v[i].end - at, &jit->lines);
		while (!err && to->line_from.nr < to->lines.sym.nr)
			err = vmp_vec_push(&to->line_from, t->pieces.v[i].from);
	}
	return err;
}

/* ------------------------------------------------- when an address meant what */

struct timed {
	uint64_t start, end, from;
	const char *name;
};

static int by_start(const void *pa, const void *pb)
{
	const struct timed *a = pa, *b = pb;

	return a->start < b->start ? -1 : a->start > b->start;
}

static int by_value(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

/* Lines that lie over each other, with different names: the times of all but the first */
static uint32_t times_of(const struct timed *l, uint32_t nr, uint64_t *times)
{
	uint64_t first = UINT64_MAX;
	uint32_t i, n = 0;
	int differ = 0;

	for (i = 0; i < nr; i++) {
		differ |= strcmp(l[i].name, l[0].name) != 0;
		first = l[i].from < first ? l[i].from : first;
	}
	for (i = 0; differ && i < nr; i++)
		if (l[i].from > first)
			times[n++] = l[i].from;
	return n;
}

/* Times at which some address came to mean something else.  @times: Of as many as there are lines */
static uint32_t find_times(const struct timed *l, uint32_t nr, uint64_t *times)
{
	uint32_t i, k, n = 0, unique = 0;
	uint64_t reach;

	for (i = 0; i < nr; i = k) {
		reach = l[i].end;
		for (k = i + 1; k < nr && l[k].start < reach; k++)
			reach = l[k].end > reach ? l[k].end : reach;
		n += times_of(l + i, k - i, times + n);
	}
	if (n)
		qsort(times, n, sizeof(*times), by_value);
	for (i = 0; i < n; i++)
		if (!unique || times[unique - 1] != times[i])
			times[unique++] = times[i];
	return unique;
}

/* Of many times some, evenly: in between later lines win, as without times */
static uint32_t thin_out(uint64_t *times, uint32_t nr, uint32_t lines)
{
	uint32_t max = VMP_JIT_TABLE_LINES / lines, i;

	max = max < 1 ? 1 : max < VMP_JIT_TABLES_MAX ? max : VMP_JIT_TABLES_MAX;
	if (nr < max)
		return nr;
	for (i = 0; i + 1 < max; i++)
		times[i] = times[(uint64_t)i * nr / (max - 1)];
	return max - 1;
}

/* All lines that were there before @until */
static int add_table(struct vmp_jit_text *t, uint64_t from, uint64_t until)
{
	struct vmp_jit_table table = { .from = from };
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < t->lines.sym.nr; i++)
		if (t->line_from.v[i] < until)
			err = vmp_vec_push(&table.symbols.sym, t->lines.sym.v[i]);
	if (!err)
		err = vmp_perfmap_sort(&table.symbols);
	if (!err)
		err = vmp_vec_push(&t->tables, table);
	if (err)
		vmp_symtab_free(&table.symbols);
	return err;
}

static int make_tables(struct vmp_jit_text *t)
{
	uint32_t nr = t->lines.sym.nr, i, n;
	struct timed *l = malloc((nr + 1ULL) * sizeof(*l));
	uint64_t *times = malloc((nr + 1ULL) * sizeof(*times));
	int err = l && times ? 0 : -ENOMEM;

	for (i = 0; !err && i < nr; i++)
		l[i] = (struct timed){ t->lines.sym.v[i].start, t->lines.sym.v[i].end, t->line_from.v[i],
				       t->lines.sym.v[i].name };
	if (!err && nr) {
		qsort(l, nr, sizeof(*l), by_start);
		n = thin_out(times, find_times(l, nr, times), nr);
		for (i = 0; !err && i <= n; i++)
			err = add_table(t, i ? times[i - 1] : 0, i < n ? times[i] : UINT64_MAX);
	}
	free(l);
	free(times);
	vmp_symtab_free(&t->lines);
	vmp_vec_free(&t->line_from);
	return err;
}

int vmp_jit_build(struct vmp_jit *jit)
{
	uint32_t i, to;
	int err = 0;

	jit->lines.room = VMP_JIT_LINES_MAX;
	for (i = 0; !err && i < jit->texts.nr; i++) {
		struct vmp_jit_text *t = &jit->texts.v[i];

		if (t->image == VMP_NONE)
			continue;
		err = table_of(jit, t->image, i, &to);
		if (!err)
			err = add_lines(jit, t, &jit->texts.v[to]);
	}
	for (i = 0; !err && i < jit->texts.nr; i++)
		err = make_tables(&jit->texts.v[i]);
	return err;
}

int vmp_jit_cuts(const struct vmp_jit *jit, struct vmp_space *s)
{
	uint32_t i, k;
	int err = 0;

	for (i = 0; !err && i < jit->texts.nr; i++)
		for (k = 1; !err && k < jit->texts.v[i].tables.nr; k++)
			err = vmp_space_cut(s, jit->texts.v[i].image, jit->texts.v[i].tables.v[k].from);
	return err;
}

struct vmp_symtab *vmp_jit_table(struct vmp_jit *jit, uint32_t image, uint64_t until)
{
	const uint32_t *text = vmp_hash_find(&jit->by_image, image);
	struct vmp_jit_text *t = text ? &jit->texts.v[*text] : NULL;
	uint32_t i = t ? t->tables.nr : 0;

	while (i > 1 && t->tables.v[i - 1].from >= until)
		i--;
	return i ? &t->tables.v[i - 1].symbols : NULL;
}

void vmp_jit_free(struct vmp_jit *jit)
{
	uint32_t i, k;

	for (i = 0; i < jit->texts.nr; i++) {
		struct vmp_jit_text *t = &jit->texts.v[i];

		for (k = 0; k < t->tables.nr; k++)
			vmp_symtab_free(&t->tables.v[k].symbols);
		vmp_vec_free(&t->tables);
		vmp_vec_free(&t->text);
		vmp_vec_free(&t->pieces);
		vmp_vec_free(&t->line_from);
		vmp_symtab_free(&t->lines);
	}
	vmp_vec_free(&jit->texts);
	vmp_hash_free(&jit->by_program);
	vmp_hash_free(&jit->by_image);
}
