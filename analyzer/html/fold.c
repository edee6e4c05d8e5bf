// SPDX-License-Identifier: GPL-2.0-only
/*
 * fold.c - keep the page small: what nobody could see is folded together.
 *
 * First processes: short-lived ones of one name become one entry.  Then the threads
 * of those that are left, likewise.  Then rows: the largest stay, the others are
 * summed up for each process, thread, vCPU and exit reason, so that only functions
 * are lost.
 */
#include "html/page.h"

#include <stdlib.h>
#include <string.h>

#define PROC_SHARE	2000	/* smaller than 1/2000 of its domain: may be folded */
#define THREADS_SHARE	4	/* so many times fewer threads than processes are kept apart */
#define PROCS_MIN	100
#define PROCS_MAX	4000
#define PROC_LANES	20000	/* processes x lanes, about */
#define ROWS_MAX	30000
#define FOLDED_MAX	60000	/* rows with those that were folded */
#define NAMES_MAX	(1500U << 10)	/* bytes of all names of functions and modules, as JSON */

struct fold {
	struct vmp_page *p;
	VMP_VEC(struct vmp_page_proc) procs;
	VMP_VEC(struct vmp_page_thread) threads;
	VMP_VEC(struct vmp_page_row) rows;
	VMP_VEC(struct vmp_page_pace) paces;
	struct vmp_hash by_proc, by_thread, by_row, by_pace, rests;
	uint32_t *to;		/* old process -> new */
	uint32_t *thread_to;	/* old thread -> new, VMP_NONE none */
	uint8_t *has_threads;	/* new process -> 1: some of its threads are kept apart */
	uint32_t procs_max;
	uint32_t s_procs, s_threads, s_functions;
};

/* A domain's total, 0 when it is not wanted */
static uint64_t total_of(const struct vmp_page *p, uint32_t vm)
{
	uint32_t i;

	for (i = 0; i < p->profile.domains.nr; i++)
		if (p->profile.domains.v[i].vm == vm)
			return p->profile.domains.v[i].total;
	return 0;
}

/* What a process is counted under: itself, its name's entry, or the last resort's */
static int move_proc(struct fold *f, uint32_t from, uint32_t comm, uint32_t pid)
{
	const struct vmp_page_proc *old = &f->p->procs.v[from];
	struct vmp_page_proc new = { .vm = old->vm, .comm = comm, .pid = pid };
	uint32_t i;

	if (vmp_page_find(&f->by_proc, &f->procs, &new, VMP_PAGE_PROC_KEY, &i))
		return -ENOMEM;
	f->procs.v[i].samples += old->samples;
	f->procs.v[i].nr += old->nr;
	f->to[from] = i;
	return 0;
}

static int cmp_procs(const void *pa, const void *pb, void *arg)
{
	const struct fold *f = arg;
	const struct vmp_page_proc *a = &f->p->procs.v[*(const uint32_t *)pa];
	const struct vmp_page_proc *b = &f->p->procs.v[*(const uint32_t *)pb];
	int d;

	if (a->samples != b->samples)
		return a->samples < b->samples ? 1 : -1;
	d = strcmp(vmp_model_name(f->p->model, a->comm), vmp_model_name(f->p->model, b->comm));
	if (!d)
		d = (a->pid > b->pid) - (a->pid < b->pid);
	return d ? d : (a->vm > b->vm) - (a->vm < b->vm);
}

/* Large ones first, so that they are what is kept apart */
static int fold_procs(struct fold *f)
{
	uint32_t nr = f->p->procs.nr, i, *order = calloc(nr ? nr : 1, sizeof(*order));
	int err = 0;

	f->to = calloc(nr ? nr : 1, sizeof(*f->to));
	if (!order || !f->to) {
		free(order);
		return -ENOMEM;
	}
	for (i = 0; i < nr; i++)
		order[i] = i;
	if (nr)
		qsort_r(order, nr, sizeof(*order), cmp_procs, f);
	for (i = 0; !err && i < nr; i++) {
		const struct vmp_page_proc *p = &f->p->procs.v[order[i]];
		uint64_t total = total_of(f->p, p->vm);
		int small = !p->samples || p->samples < total / PROC_SHARE;

		if (!total)	/* not wanted: nor is its name */
			continue;
		if (f->procs.nr < f->procs_max)
			err = move_proc(f, order[i], p->comm, small ? VMP_NONE : p->pid);
		else
			err = move_proc(f, order[i], f->s_procs, VMP_NONE);
	}
	free(order);
	return err;
}

static int cmp_threads(const void *pa, const void *pb, void *arg)
{
	const struct fold *f = arg;
	const struct vmp_page_thread *a = &f->p->threads.v[*(const uint32_t *)pa];
	const struct vmp_page_thread *b = &f->p->threads.v[*(const uint32_t *)pb];
	int d;

	if (a->samples != b->samples)
		return a->samples < b->samples ? 1 : -1;
	if (f->to[a->proc] != f->to[b->proc])
		return f->to[a->proc] < f->to[b->proc] ? -1 : 1;
	d = strcmp(vmp_model_name(f->p->model, a->comm), vmp_model_name(f->p->model, b->comm));
	return d ? d : (a->tid > b->tid) - (a->tid < b->tid);
}

/* What a thread is counted under: itself, its name's entry, its process's rest, or its process alone */
static int move_thread(struct fold *f, uint32_t from)
{
	const struct vmp_page_thread *old = &f->p->threads.v[from];
	uint32_t to = f->to[old->proc], i;
	uint64_t total = total_of(f->p, f->p->procs.v[old->proc].vm);
	struct vmp_page_thread new = { .proc = to, .comm = old->comm, .tid = old->tid };
	int full = f->threads.nr >= f->procs_max / THREADS_SHARE;

	f->thread_to[from] = VMP_NONE;
	if (!total || f->procs.v[to].pid == VMP_NONE || (full && !f->has_threads[to]))
		return 0;
	if (full)
		new.comm = f->s_threads;
	if (full || !old->samples || old->samples < total / PROC_SHARE)
		new.tid = VMP_NONE;
	if (vmp_page_find(&f->by_thread, &f->threads, &new, VMP_PAGE_THREAD_KEY, &i))
		return -ENOMEM;
	f->threads.v[i].samples += old->samples;
	f->threads.v[i].nr++;
	f->thread_to[from] = i;
	f->has_threads[to] = 1;
	return 0;
}

/* After processes have their new numbers, before they take the old ones' place */
static int fold_threads(struct fold *f)
{
	uint32_t nr = f->p->threads.nr, i, *order = calloc(nr ? nr : 1, sizeof(*order));
	int err = 0;

	f->thread_to = calloc(nr ? nr : 1, sizeof(*f->thread_to));
	f->has_threads = calloc(f->procs.nr ? f->procs.nr : 1, 1);
	if (!order || !f->thread_to || !f->has_threads) {
		free(order);
		return -ENOMEM;
	}
	for (i = 0; i < nr; i++)
		order[i] = i;
	if (nr)
		qsort_r(order, nr, sizeof(*order), cmp_threads, f);
	for (i = 0; !err && i < nr; i++)
		err = move_thread(f, order[i]);
	free(order);
	return err;
}

static uint32_t new_thread(const struct fold *f, uint32_t old)
{
	return old == VMP_NONE ? VMP_NONE : f->thread_to[old];
}

static int cmp_rows(const void *pa, const void *pb, void *arg)
{
	const struct vmp_page_row *a = pa, *b = pb;
	const struct vmp_page *p = arg;
	const struct vmp_model *m = p->model;
	int d;

	if (a->samples != b->samples)
		return a->samples < b->samples ? 1 : -1;
#define BY(x, y) do { if ((x) != (y)) return (x) > (y) ? 1 : -1; } while (0)
	BY(a->proc, b->proc);	/* numbered by size and name */
	d = strcmp(vmp_model_name(m, p->stacks.v[a->stack].function),
		   vmp_model_name(m, p->stacks.v[b->stack].function));
	if (!d)
		d = strcmp(vmp_model_name(m, p->stacks.v[a->stack].module),
			   vmp_model_name(m, p->stacks.v[b->stack].module));
	if (!d)
		d = strcmp(vmp_model_name(m, a->exit), vmp_model_name(m, b->exit));
	if (d)
		return d;
	BY(a->vcpu, b->vcpu);
	BY(a->side, b->side);
	BY(a->thread, b->thread);
#undef BY
	return 0;
}

static int add_row(struct fold *f, const struct vmp_page_row *row)
{
	struct vmp_page_row new = *row;
	uint32_t i;

	new.samples = new.cycles = new.instructions = 0;
	if (vmp_page_find(&f->by_row, &f->rows, &new, VMP_PAGE_ROW_KEY, &i))
		return -ENOMEM;
	f->rows.v[i].samples += row->samples;
	f->rows.v[i].cycles += row->cycles;
	f->rows.v[i].instructions += row->instructions;
	return 0;
}

/* The page's rows and paces are replaced by those that were made. */
static void take(struct fold *f)
{
	struct vmp_page *p = f->p;

	free(p->rows.v);
	memcpy(&p->rows, &f->rows, sizeof(p->rows));
	memset(&f->rows, 0, sizeof(f->rows));
	vmp_hash_free(&f->by_row);
}

static void sort_rows(struct vmp_page *p, uint32_t nr)
{
	if (nr)
		qsort_r(p->rows.v, nr, sizeof(*p->rows.v), cmp_rows, p);
}

/* Put rows in front of those that have fewer samples, until there are ROWS_MAX.
   Return: how many; rows of equal size stay together. */
static uint32_t large_first(struct vmp_page *p)
{
	uint32_t of_size[4096] = { 0 }, i, n = 0, least = 4096;
	struct vmp_page_row row;

	for (i = 0; i < p->rows.nr; i++)
		of_size[p->rows.v[i].samples < 4095 ? p->rows.v[i].samples : 4095]++;
	while (least > 0 && n + of_size[least - 1] <= ROWS_MAX)
		n += of_size[--least];
	if (least == 4096)	/* ROWS_MAX of the largest class */
		least = 4095;
	for (i = 0, n = 0; i < p->rows.nr; i++) {
		if (p->rows.v[i].samples >= least) {
			row = p->rows.v[n];
			p->rows.v[n++] = p->rows.v[i];
			p->rows.v[i] = row;
		}
	}
	return n;
}

static int cmp_paces(const void *pa, const void *pb)
{
	const struct vmp_page_pace *a = pa, *b = pb;

	if (a->proc != b->proc)
		return a->proc < b->proc ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->vcpu > b->vcpu) - (a->vcpu < b->vcpu);
}

static int rename_paces(struct fold *f)
{
	struct vmp_page *p = f->p;
	uint32_t i, k, n;

	for (i = 0; i < p->paces.nr; i++) {
		const struct vmp_page_pace *old = &p->paces.v[i];
		struct vmp_page_pace new = {
			.proc = f->to[old->proc], .vcpu = old->vcpu, .thread = new_thread(f, old->thread),
		};

		if (!total_of(p, p->procs.v[old->proc].vm))
			continue;
		if (vmp_page_find(&f->by_pace, &f->paces, &new, VMP_PAGE_PACE_KEY, &n))
			return -ENOMEM;
		for (k = 0; k < VMP_PACES; k++)
			f->paces.v[n].cycles[k] += old->cycles[k];
	}
	free(p->paces.v);
	memcpy(&p->paces, &f->paces, sizeof(p->paces));
	memset(&f->paces, 0, sizeof(f->paces));
	if (p->paces.nr)
		qsort(p->paces.v, p->paces.nr, sizeof(*p->paces.v), cmp_paces);
	return 0;
}

/* A row loses its function, and without @module its module. */
static int rest_of(struct fold *f, struct vmp_page_row *row, int module)
{
	struct vmp_page_stack rest = { VMP_NONE, f->s_functions, f->s_functions };
	uint32_t n;

	if (module)
		rest.module = f->p->stacks.v[row->stack].module;
	if (vmp_page_find(&f->rests, &f->p->stacks, &rest, VMP_PAGE_STACK_KEY, &n))
		return -ENOMEM;
	row->stack = n;
	return 0;
}

static int rename_procs(struct fold *f)
{
	struct vmp_page *p = f->p;
	uint32_t i;

	for (i = 0; i < p->rows.nr; i++) {
		struct vmp_page_row row = p->rows.v[i];

		if ((!row.samples && !row.instructions) || !total_of(p, p->procs.v[row.proc].vm))
			continue;
		row.proc = f->to[row.proc];
		row.thread = new_thread(f, row.thread);
		/* where only instructions were sampled is no share of time, but is in the CPI of its process */
		if ((!row.samples && rest_of(f, &row, 1)) || add_row(f, &row))
			return -ENOMEM;
	}
	if (rename_paces(f))
		return -ENOMEM;
	free(p->procs.v);
	memcpy(&p->procs, &f->procs, sizeof(p->procs));
	memset(&f->procs, 0, sizeof(f->procs));
	free(p->threads.v);
	memcpy(&p->threads, &f->threads, sizeof(p->threads));
	memset(&f->threads, 0, sizeof(f->threads));
	take(f);
	return 0;
}

/* Bytes of a name when escapes are written out */
static size_t written(const struct vmp_page *p, uint32_t str)
{
	const char *s = vmp_model_name(p->model, str);
	size_t n = 0;

	for (; *s; s++)
		n += (unsigned char)*s < 0x20 || (unsigned char)*s >= 0x7f || strchr("<>&\"\\", *s) ? 6 : 1;
	return n;
}

/* How many rows stay: as many as there is room for, and for their names */
static uint32_t rows_kept(const struct vmp_page *p, uint32_t nr)
{
	uint8_t *named = calloc(p->stacks.nr ? p->stacks.nr : 1, 1);
	size_t bytes = 0;
	uint32_t i;

	for (i = 0; named && i < nr && i < ROWS_MAX && bytes < NAMES_MAX; i++) {
		const struct vmp_page_stack *s = &p->stacks.v[p->rows.v[i].stack];

		if (!named[p->rows.v[i].stack])
			bytes += written(p, s->function) + written(p, s->module);
		named[p->rows.v[i].stack] = 1;
	}
	free(named);
	return i;
}

/* Rows from @kept on lose their function. */
static int fold_from(struct fold *f, uint32_t kept, int modules)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < f->p->rows.nr; i++) {
		struct vmp_page_row row = f->p->rows.v[i];

		if (i >= kept)
			err = rest_of(f, &row, modules);
		if (!err)
			err = add_row(f, &row);
	}
	return err;
}

static int fold_rows(struct fold *f)
{
	uint32_t large = large_first(f->p), kept;
	int err;

	sort_rows(f->p, large);
	kept = rows_kept(f->p, large);
	if (kept == f->p->rows.nr)
		return 0;
	err = fold_from(f, kept, 1);
	if (!err && f->rows.nr > FOLDED_MAX) {
		vmp_vec_free(&f->rows);
		vmp_hash_free(&f->by_row);
		err = fold_from(f, kept, 0);
	}
	if (!err) {
		take(f);
		sort_rows(f->p, f->p->rows.nr);
	}
	return err;
}

int vmp_page_fold(struct vmp_page *page)
{
	struct vmp_strings *strings = &page->model->strings;
	struct fold f = { .p = page };
	int err = 0;

	f.procs_max = PROC_LANES / (page->lanes.nr ? page->lanes.nr : 1);
	if (f.procs_max > PROCS_MAX)
		f.procs_max = PROCS_MAX;
	if (f.procs_max < PROCS_MIN)
		f.procs_max = PROCS_MIN;
	f.s_procs = vmp_strings_add(strings, "[smaller processes]", 19, &err);
	f.s_threads = vmp_strings_add(strings, "[smaller threads]", 17, &err);
	f.s_functions = vmp_strings_add(strings, "[smaller functions]", 19, &err);
	if (!err)
		err = fold_procs(&f);
	if (!err)
		err = fold_threads(&f);
	if (!err)
		err = rename_procs(&f);
	if (!err)
		err = fold_rows(&f);
	vmp_vec_free(&f.procs);
	vmp_vec_free(&f.threads);
	vmp_vec_free(&f.rows);
	vmp_vec_free(&f.paces);
	vmp_hash_free(&f.by_proc);
	vmp_hash_free(&f.by_thread);
	vmp_hash_free(&f.by_row);
	vmp_hash_free(&f.by_pace);
	vmp_hash_free(&f.rests);
	free(f.to);
	free(f.thread_to);
	free(f.has_threads);
	return err;
}
