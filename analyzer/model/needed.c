// SPDX-License-Identifier: GPL-2.0-only
/* needed.c - count guest user samples, and their branches, by the file that holds the address. */
#include "model/needed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/classify.h"
#include "model/count.h"
#include "model/lbr.h"

struct file_count {
	uint64_t n;
	uint32_t vm, file;
};

/* A file that can be had */
struct place {
	uint32_t file;
	uint32_t before;	/* place that was told of before it, of the same content */
};

/* All of one content, of which the agent can send all or none */
struct content {
	uint32_t first, last;	/* places */
	uint8_t sendable, told;
};

struct work {
	struct vmp_model *m;
	struct vmp_counts pages;	/* space: vm and image by number, address: the page */
	VMP_VEC(struct vmp_hit) hits;	/* what a space stands for */
	struct vmp_hash by_hit;
	struct vmp_counts files;
	VMP_VEC(struct file_count) order;
	VMP_VEC(struct place) places;
	VMP_VEC(struct content) contents;
	struct vmp_hash by_key;		/* VM and object key -> content */
};

/* What was sampled comes before what only branches name */
#define SAMPLE_WEIGHT	64U

/* Pages that branches of user code lead from and to */
static int add_branches(struct work *w, uint32_t space, const struct vmp_lbr *lbr)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < lbr->nr; i++) {
		if (lbr->b[i].from && !(lbr->b[i].from >> 63))
			err = vmp_counts_add(&w->pages, space, lbr->b[i].from >> 12, 1);
		if (!err && lbr->b[i].to && !(lbr->b[i].to >> 63))
			err = vmp_counts_add(&w->pages, space, lbr->b[i].to >> 12, 1);
	}
	return err;
}

static int on_sample(void *arg, const struct vmp_lbr_sample *ls)
{
	struct work *w = arg;
	struct vmp_hit hit;
	uint32_t key[3], *i, space;
	uint64_t sum;
	int err;

	err = vmp_classify(w->m, ls->s, &hit);
	if (err || hit.kind != VMP_KIND_GUEST_USER || hit.image == VMP_NONE)
		return err;
	key[0] = hit.vm;
	key[1] = hit.image;
	key[2] = hit.version;
	sum = vmp_hash_bytes(key, sizeof(key));
	i = vmp_hash_find(&w->by_hit, sum);
	space = i ? *i : w->hits.nr;
	if (!i && (vmp_vec_push(&w->hits, hit) || vmp_hash_set(&w->by_hit, sum, space)))
		return -ENOMEM;
	err = vmp_counts_add(&w->pages, space, hit.addr >> 12, SAMPLE_WEIGHT);
	return err || !ls->lbr ? err : add_branches(w, space, ls->lbr);
}

static int by_file(struct work *w)
{
	const struct vmp_count *c;
	struct file_count f;
	uint64_t at = 0;
	int err = 0;

	while (!err && (c = vmp_counts_next(&w->pages, &at))) {
		const struct vmp_hit *hit = &w->hits.v[c->space];
		const struct vmp_map *map;

		map = vmp_space_map(&w->m->vms.v[hit->vm].space, hit->image, hit->version, c->addr << 12);
		if (map && map->file != VMP_FILE_ANON)
			err = vmp_counts_add(&w->files, hit->vm, map->file, c->n);
	}
	for (at = 0; !err && (c = vmp_counts_next(&w->files, &at)); ) {
		f = (struct file_count){ c->n, c->space, (uint32_t)c->addr };
		err = vmp_vec_push(&w->order, f);
	}
	return err;
}

static int most_first(const void *pa, const void *pb)
{
	const struct file_count *a = pa, *b = pb;

	if (a->n != b->n)
		return a->n > b->n ? -1 : 1;
	if (a->vm != b->vm)
		return a->vm < b->vm ? -1 : 1;
	return a->file < b->file ? -1 : a->file > b->file;
}

/* Does the agent have a handle for it now? */
static int can_be_sent(const struct vmp_machine *vm, const struct vmp_file *f)
{
	return f->handle && f->hello == vm->hellos;
}

/* Without the agent only the build-id tells that it is the file which was mapped */
static int can_be_had(const struct vmp_machine *vm, const struct vmp_file *f)
{
	return *f->key && f->bytes && f->bytes <= VMPROF_OBJECT_BYTES_MAX &&
	       !(f->flags & (VMPROF_FILE_NO_ACCESS | VMPROF_FILE_CHANGED)) &&
	       (can_be_sent(vm, f) || f->build_id_len);
}

static uint64_t key_sum(uint32_t vm, const struct vmp_file *f)
{
	struct {
		uint64_t vm;
		char key[VMP_OBJKEY_MAX + 7];	/* no padding */
	} id = { .vm = vm };

	strcpy(id.key, f->key);
	return vmp_hash_bytes(&id, sizeof(id));
}

/* The handle that a file had in an earlier conversation, or boot, is void, but the same content
   may have a new one: then the files without are left out. */
static int index_key(struct work *w, uint32_t v, uint32_t i)
{
	const struct vmp_machine *vm = &w->m->vms.v[v];
	const struct vmp_file *f = &vm->files.v[i];
	uint64_t sum = key_sum(v, f);
	struct content new = { .first = w->places.nr, .last = w->places.nr, .sendable = (uint8_t)can_be_sent(vm, f) };
	struct place here = { .file = i, .before = w->places.nr };
	struct content *known;
	uint32_t *at;

	if (!can_be_had(vm, f))
		return 0;
	at = vmp_hash_find(&w->by_key, sum);
	known = at ? &w->contents.v[*at] : NULL;
	if (known && known->sendable > new.sendable)
		return 0;
	if (known && known->sendable == new.sendable) {
		here.before = known->last;
		known->last = w->places.nr;
	} else if (known) {
		*known = new;
	} else if (vmp_vec_push(&w->contents, new) || vmp_hash_set(&w->by_key, sum, w->contents.nr - 1)) {
		return -ENOMEM;
	}
	return vmp_vec_push(&w->places, here);
}

static int index_keys(struct work *w)
{
	uint32_t v, i;
	int err = 0;

	for (v = 0; v < w->m->vms.nr; v++)
		for (i = 0; !err && i < w->m->vms.v[v].files.nr; i++)
			err = index_key(w, v, i);
	return err;
}

static struct vmp_needed describe(const struct vmp_model *m, const struct vmp_machine *vm, const struct vmp_file *f)
{
	return (struct vmp_needed){
		.vm = vm->vm, .file = can_be_sent(vm, f) ? f->handle : 0, .bytes = f->bytes,
		.build_id = f->build_id, .build_id_len = f->build_id_len, .key = f->key,
		.path = vmp_model_name(m, f->path),
	};
}

/* A file that was told of long ago is likelier to stay than one of the last moment. */
static int tell(const struct work *w, const struct vmp_machine *vm, const struct content *c,
		int (*fn)(void *arg, const struct vmp_needed *n), void *arg)
{
	uint32_t at = c->first;
	int nr, err = 0;

	for (nr = 0; !err && nr < VMP_NEEDED_PLACES; nr++) {
		struct vmp_needed needed = describe(w->m, vm, &vm->files.v[w->places.v[at].file]);

		needed.elsewhere = nr > 0;
		err = fn(arg, &needed);
		at = nr ? w->places.v[at].before : c->last;
		if (at == c->first)
			break;
	}
	return err;
}

int vmp_needed_objects(const char *path, uint32_t only, int (*fn)(void *arg, const struct vmp_needed *n), void *arg)
{
	struct work w = { 0 };
	uint32_t i;
	int err;

	err = vmp_model_open_vm(&w.m, path, only);
	if (err)
		return err;
	err = vmp_model_lbr_samples(w.m, on_sample, &w);
	if (!err)
		err = by_file(&w);
	if (!err)
		err = index_keys(&w);
	if (w.order.nr)
		qsort(w.order.v, w.order.nr, sizeof(*w.order.v), most_first);
	for (i = 0; !err && i < w.order.nr; i++) {
		const struct vmp_machine *vm = &w.m->vms.v[w.order.v[i].vm];
		const struct vmp_file *f = &vm->files.v[w.order.v[i].file];
		uint32_t *n = *f->key ? vmp_hash_find(&w.by_key, key_sum(w.order.v[i].vm, f)) : NULL;

		if (!n || w.contents.v[*n].told)
			continue;
		w.contents.v[*n].told = 1;
		err = tell(&w, vm, &w.contents.v[*n], fn, arg);
	}
	vmp_counts_free(&w.pages);
	vmp_counts_free(&w.files);
	vmp_vec_free(&w.hits);
	vmp_vec_free(&w.order);
	vmp_vec_free(&w.places);
	vmp_vec_free(&w.contents);
	vmp_hash_free(&w.by_hit);
	vmp_hash_free(&w.by_key);
	vmp_model_close(w.m);
	return err;
}
