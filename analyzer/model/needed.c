// SPDX-License-Identifier: GPL-2.0-only
/* needed.c - count guest user samples by the file that holds the address. */
#include "model/needed.h"

#include <stdlib.h>
#include <string.h>

#include "model/classify.h"
#include "model/count.h"

struct file_count {
	uint64_t n;
	uint32_t vm, file;
};

struct work {
	struct vmp_model *m;
	struct vmp_counts pages;	/* space: vm and image by number, address: the page */
	VMP_VEC(struct vmp_hit) hits;	/* what a space stands for */
	struct vmp_hash by_hit;
	struct vmp_counts files;
	VMP_VEC(struct file_count) order;
	struct vmp_hash by_key;		/* VM and object key -> file to ask for; VMP_NONE once told */
};

static int on_sample(void *arg, const struct vmprof_sample *s)
{
	struct work *w = arg;
	struct vmp_hit hit;
	uint32_t key[3], *i;
	uint64_t sum;
	int err;

	err = vmp_classify(w->m, s, &hit);
	if (err || hit.kind != VMP_KIND_GUEST_USER || hit.image == VMP_NONE)
		return err;
	key[0] = hit.vm;
	key[1] = hit.image;
	key[2] = hit.version;
	sum = vmp_hash_bytes(key, sizeof(key));
	i = vmp_hash_find(&w->by_hit, sum);
	if (!i) {
		if (vmp_vec_push(&w->hits, hit) || vmp_hash_set(&w->by_hit, sum, w->hits.nr - 1))
			return -ENOMEM;
		return vmp_counts_add(&w->pages, w->hits.nr - 1, hit.addr >> 12, 1);
	}
	return vmp_counts_add(&w->pages, *i, hit.addr >> 12, 1);
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

static int can_be_had(const struct vmp_machine *vm, const struct vmp_file *f)
{
	return f->handle && f->hello == vm->hellos && *f->key && f->bytes &&
	       f->bytes <= VMPROF_OBJECT_BYTES_MAX &&
	       !(f->flags & (VMPROF_FILE_NO_ACCESS | VMPROF_FILE_CHANGED));
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

/* By key, one file of each VM that its agent can send now: the handle that a file had in
   an earlier conversation, or boot, is void, but the same content may have a new one. */
static int index_keys(struct work *w)
{
	uint32_t v, i;

	for (v = 0; v < w->m->vms.nr; v++) {
		const struct vmp_machine *vm = &w->m->vms.v[v];

		for (i = 0; i < vm->files.nr; i++)
			if (can_be_had(vm, &vm->files.v[i]) &&
			    vmp_hash_set(&w->by_key, key_sum(v, &vm->files.v[i]), i))
				return -ENOMEM;
	}
	return 0;
}

int vmp_needed_objects(const char *path,
		       int (*fn)(void *arg, uint32_t vm, uint32_t file, uint64_t bytes,
				 const uint8_t *build_id, size_t build_id_len, const char *key),
		       void *arg)
{
	struct work w = { 0 };
	uint32_t i;
	int err;

	err = vmp_model_open(&w.m, path);
	if (err)
		return err;
	err = vmp_model_samples(w.m, on_sample, &w);
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

		if (!n || *n == VMP_NONE)
			continue;
		f = &vm->files.v[*n];
		*n = VMP_NONE;
		err = fn(arg, vm->vm, f->handle, f->bytes, f->build_id, f->build_id_len, f->key);
	}
	vmp_counts_free(&w.pages);
	vmp_counts_free(&w.files);
	vmp_vec_free(&w.hits);
	vmp_vec_free(&w.order);
	vmp_hash_free(&w.by_hit);
	vmp_hash_free(&w.by_key);
	vmp_model_close(w.m);
	return err;
}
