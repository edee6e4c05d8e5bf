// SPDX-License-Identifier: GPL-2.0-only
/* kernel.c - the symbols of a guest's kernel, by time. */
#include "model/kernel.h"

#include <string.h>

/* ------------------------------------------------------------- what comes */

static int same_symbol(const struct vmp_symbol *a, const struct vmp_symbol *b)
{
	return a->start == b->start && a->end == b->end && a->module == b->module && !strcmp(a->name, b->name);
}

static int keep_own(struct vmp_kernel *k, uint32_t text, const struct vmp_symbol *sym)
{
	if (k->symbols == VMP_KERNEL_SYMBOLS_MAX)
		return -ENOSPC;
	k->symbols++;
	return vmp_vec_push(&k->texts.v[text].own.sym, *sym) ? -ENOMEM : 0;
}

/* What the texts before had in common is not in the one that came last */
static int leave_always(struct vmp_kernel *k, const struct vmp_symbol *sym)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i + 1 < k->texts.nr; i++)
		if (k->texts.v[i].is_whole)
			err = keep_own(k, i, sym);
	return err;
}

/* The last text's symbols, sorted as k->always is, into what all have and what it alone has */
static int part(struct vmp_kernel *k, const struct vmp_symtab *t, struct vmp_strings *strings)
{
	struct vmp_symbol *a = k->always.sym.v, new;
	uint32_t i = 0, j = 0, n = 0;
	int err = 0;

	while (!err && (i < k->always.sym.nr || j < t->sym.nr)) {
		if (i < k->always.sym.nr && j < t->sym.nr && same_symbol(&a[i], &t->sym.v[j])) {
			a[n++] = a[i++];
			j++;
		} else if (j == t->sym.nr || (i < k->always.sym.nr && a[i].start <= t->sym.v[j].start)) {
			err = leave_always(k, &a[i++]);
		} else {
			new = t->sym.v[j++];
			new.name = vmp_strings_get(strings, vmp_strings_add(strings, new.name, strlen(new.name), &err));
			if (!err)
				err = keep_own(k, k->texts.nr - 1, &new);
		}
	}
	while (i < k->always.sym.nr)
		a[n++] = a[i++];
	k->always.sym.nr = n;
	return err;
}

/* What came of the last text.  Over a limit, it counts as not come. */
static int take(struct vmp_kernel *k, struct vmp_strings *strings)
{
	struct vmp_symtab t = { 0 };
	char *text = k->coming;
	int err;

	k->coming = NULL;
	err = vmp_ksyms_parse(&t, text, k->got, strings);
	if (!err && !k->whole) {
		k->always = t;
		k->names = text;
	} else {
		err = err ? err : part(k, &t, strings);
		vmp_symtab_free(&t);
		free(text);
	}
	k->whole += !err;
	k->texts.v[k->texts.nr - 1].is_whole = !err;
	return err == -ENOSPC ? 0 : err;
}

static void drop_coming(struct vmp_kernel *k)
{
	free(k->coming);
	k->coming = NULL;
}

int vmp_kernel_changed(struct vmp_kernel *k, uint64_t since, uint64_t from)
{
	const struct vmp_kernel_text new = { .is_dated = 1, .since = since, .from = from };

	drop_coming(k);
	return k->texts.nr < VMP_KERNEL_TEXTS_MAX ? vmp_vec_push(&k->texts, new) : 0;
}

/* The first piece of a text: of the one that was announced, or of another one */
static int begin_text(struct vmp_kernel *k, const struct vmp_msg_ksyms *msg, uint64_t seen)
{
	struct vmp_kernel_text new = { .seen = seen }, *last = k->texts.nr ? &k->texts.v[k->texts.nr - 1] : NULL;
	const int is_announced = last && last->is_dated && !last->is_begun;

	drop_coming(k);
	if (!is_announced && k->texts.nr < VMP_KERNEL_TEXTS_MAX && vmp_vec_push(&k->texts, new))
		return -ENOMEM;
	last = &k->texts.v[k->texts.nr - 1];
	if (k->texts.nr == VMP_KERNEL_TEXTS_MAX)
		return 0;	/* nothing is known from here on */
	last->is_begun = 1;
	last->seen = seen;
	k->coming = malloc(msg->total);
	k->bytes = msg->total;
	k->got = 0;
	return k->coming ? 0 : -ENOMEM;
}

int vmp_kernel_piece(struct vmp_kernel *k, const struct vmp_msg_ksyms *msg, uint64_t seen,
		     struct vmp_strings *strings)
{
	int err = 0;

	if (!msg->total)
		return 0;	/* the guest shows none */
	if (!msg->offset)
		err = begin_text(k, msg, seen);
	if (err || !k->coming || msg->offset != k->got || msg->text.len > k->bytes - k->got)
		return err;
	memcpy(k->coming + k->got, msg->text.p, msg->text.len);
	k->got += msg->text.len;
	return k->got == k->bytes ? take(k, strings) : 0;
}

/* ------------------------------------------------------------------ by time */

static int add_era(struct vmp_kernel *k, uint64_t from, uint32_t before, uint32_t after)
{
	const struct vmp_kernel_era new = { from, before, after };

	return vmp_vec_push(&k->eras, new);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* From when on a text is true for certain */
static uint64_t true_from(const struct vmp_kernel_text *t)
{
	return t->is_dated ? t->from : t->seen;
}

static int make_eras(struct vmp_kernel *k)
{
	uint32_t i, last = VMP_NONE, missing = 0;
	uint64_t from = 0, since = 0;
	int err = 0;

	for (i = 0; !err && i < k->texts.nr; i++) {
		const struct vmp_kernel_text *t = &k->texts.v[i];

		if (i && !missing)
			since = later(from, t->is_dated ? t->since : true_from(t - 1));
		missing = !t->is_whole;
		if (missing)
			continue;
		from = i ? later(since, true_from(t)) : 0;
		if (from > since)
			err = add_era(k, since, last, i);
		if (!err)
			err = add_era(k, from, i, i);
		last = i;
	}
	return err || !missing ? err : add_era(k, since, last, VMP_NONE);
}

int vmp_kernel_build(struct vmp_kernel *k, struct vmp_strings *strings)
{
	uint32_t i;
	int err = 0;

	/* What came is of use even if a piece is missing: lines are whole up to the first gap. */
	if (k->coming && !k->whole)
		err = take(k, strings);
	if (!err)
		err = vmp_symtab_sort(&k->always);
	for (i = 0; !err && i < k->texts.nr; i++)
		err = vmp_symtab_sort(&k->texts.v[i].own);
	return err ? err : make_eras(k);
}

uint32_t vmp_kernel_era(const struct vmp_kernel *k, uint64_t tsc, struct vmp_tsc_span *valid)
{
	uint32_t lo = 0, hi = k->eras.nr, mid;

	while (lo + 1 < hi) {
		mid = lo + (hi - lo) / 2;
		if (k->eras.v[mid].from <= tsc)
			lo = mid;
		else
			hi = mid;
	}
	if (lo && k->eras.v[lo].from > valid->from)
		valid->from = k->eras.v[lo].from;
	if (lo + 1 < k->eras.nr && k->eras.v[lo + 1].from < valid->to)
		valid->to = k->eras.v[lo + 1].from;
	return lo;
}

int vmp_kernel_known(const struct vmp_kernel *k)
{
	return k->whole > 0;
}

struct vmp_symbol *vmp_kernel_find(struct vmp_kernel *k, uint32_t era, uint64_t addr,
				   struct vmp_symtab **table, uint64_t *same)
{
	const struct vmp_kernel_era *e = &k->eras.v[era];
	const uint32_t text[2] = { e->before, e->after };
	struct vmp_symbol *lasting = vmp_symtab_find_until(&k->always, addr, same), *found = NULL, *sym;
	uint64_t end;
	int i;

	*table = &k->always;
	/* one that did not come: what was a module may be another one */
	if (e->before == VMP_NONE || e->after == VMP_NONE)
		return lasting && !lasting->module ? lasting : NULL;
	for (i = 0; i <= (e->before != e->after); i++) {
		sym = vmp_symtab_find_until(&k->texts.v[text[i]].own, addr, &end);
		if (end < *same)
			*same = end;
		if (sym && found && !same_symbol(sym, found))
			return NULL;
		if (sym) {
			found = sym;
			*table = &k->texts.v[text[i]].own;
		}
	}
	return found ? found : lasting;
}

void vmp_kernel_free(struct vmp_kernel *k)
{
	uint32_t i;

	vmp_symtab_free(&k->always);
	for (i = 0; i < k->texts.nr; i++)
		vmp_symtab_free(&k->texts.v[i].own);
	vmp_vec_free(&k->texts);
	vmp_vec_free(&k->eras);
	free(k->names);
	free(k->coming);
}
