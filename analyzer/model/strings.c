// SPDX-License-Identifier: GPL-2.0-only
/* strings.c - string pool: open addressing by a seeded hash, at most half full. */
#include "model/strings.h"

#include <endian.h>
#include <string.h>

#define CHUNK_BYTES	65536

int vmp_strings_init(struct vmp_strings *s)
{
	memset(s, 0, sizeof(*s));
	return vmp_vec_push(&s->str, "");
}

void vmp_strings_deinit(struct vmp_strings *s)
{
	uint32_t i;

	for (i = 0; i < s->chunks.nr; i++)
		free(s->chunks.v[i]);
	vmp_vec_free(&s->chunks);
	vmp_vec_free(&s->str);
	free(s->slots);
}

static char *place(struct vmp_strings *s, size_t bytes)
{
	size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
	char *p;

	if (bytes > s->chunk_left) {
		p = malloc(size);
		if (!p)
			return NULL;
		if (vmp_vec_push(&s->chunks, p)) {
			free(p);
			return NULL;
		}
		s->chunk = p;
		s->chunk_left = size;
	}
	p = s->chunk;
	s->chunk += bytes;
	s->chunk_left -= bytes;
	return p;
}

static int grow(struct vmp_strings *s)
{
	uint32_t mask = s->slots ? 2 * s->mask + 1 : 255, i, k;
	struct vmp_strings_slot *slots;

	slots = s->mask < UINT32_MAX / 2 ? calloc((size_t)mask + 1, sizeof(*slots)) : NULL;
	if (!slots)
		return -ENOMEM;
	for (i = 0; s->slots && i <= s->mask; i++) {
		if (!s->slots[i].id)
			continue;
		for (k = s->slots[i].hash & mask; slots[k].id; )
			k = (k + 1) & mask;
		slots[k] = s->slots[i];
	}
	free(s->slots);
	s->slots = slots;
	s->mask = mask;
	return 0;
}

/* The string's slot, or the free one where it belongs */
static struct vmp_strings_slot *find(const struct vmp_strings *s, uint32_t hash, const char *p, size_t len)
{
	struct vmp_strings_slot *slot;
	uint32_t i;

	for (i = hash & s->mask; (slot = &s->slots[i])->id; i = (i + 1) & s->mask)
		if (slot->hash == hash && !strncmp(s->str.v[slot->id], p, len) && !s->str.v[slot->id][len])
			return slot;
	return slot;
}

uint32_t vmp_strings_add(struct vmp_strings *s, const char *p, size_t len, int *err)
{
	const char *nul = len ? memchr(p, 0, len) : NULL;
	struct vmp_strings_slot *slot;
	uint32_t hash;
	char *copy;

	if (nul)
		len = (size_t)(nul - p);
	if (!len)
		return 0;
	if ((!s->slots || s->str.nr > s->mask / 2) && grow(s))
		goto no_memory;
	hash = (uint32_t)vmp_hash_bytes(p, len);
	slot = find(s, hash, p, len);
	if (slot->id)
		return slot->id;
	copy = place(s, len + 1);
	if (!copy || vmp_vec_reserve(&s->str, 1))
		goto no_memory;
	memcpy(copy, p, len);
	copy[len] = 0;
	*slot = (struct vmp_strings_slot){ hash, s->str.nr };
	s->str.v[s->str.nr] = copy;
	return s->str.nr++;

no_memory:
	*err = -ENOMEM;
	return 0;
}

#define PREFIX	16

/* A string with its beginning at hand: most comparisons need no more */
struct ranked {
	uint64_t prefix[PREFIX / 8];	/* big-endian, padded with NULs */
	const char *rest;		/* behind the prefix, NULL: ends within it */
	uint32_t id;
};

static int by_text(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;
	int i;

	for (i = 0; i < PREFIX / 8; i++)
		if (a->prefix[i] != b->prefix[i])
			return a->prefix[i] < b->prefix[i] ? -1 : 1;
	/* equal beginnings: either both end there or neither */
	return a->rest ? strcmp(a->rest, b->rest) : 0;
}

static struct ranked ranked(const char *text, uint32_t id)
{
	struct ranked r = { .id = id };
	char head[PREFIX] = "";
	size_t n = strnlen(text, PREFIX);
	int i;

	memcpy(head, text, n);
	memcpy(r.prefix, head, PREFIX);
	for (i = 0; i < PREFIX / 8; i++)
		r.prefix[i] = be64toh(r.prefix[i]);
	r.rest = n == PREFIX ? text + PREFIX : NULL;
	return r;
}

uint32_t *vmp_strings_ranks(const struct vmp_strings *s)
{
	struct ranked *v = calloc(s->str.nr, sizeof(*v));
	uint32_t *rank = malloc(s->str.nr * sizeof(*rank)), i;

	if (!v || !rank) {
		free(v);
		free(rank);
		return NULL;
	}
	for (i = 0; i < s->str.nr; i++)
		v[i] = ranked(s->str.v[i], i);
	qsort(v, s->str.nr, sizeof(*v), by_text);
	for (i = 0; i < s->str.nr; i++)
		rank[v[i].id] = i;
	free(v);
	return rank;
}
