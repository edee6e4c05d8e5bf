// SPDX-License-Identifier: GPL-2.0-only
/* insn.c - the bytes at a site, and what they are; each site is looked at once. */
#include "export/insn.h"

#include <stdlib.h>

#define UNKNOWN	0xffff

struct vmp_insns {
	const struct vmp_table *t;
	void *decoder;
	uint16_t *kinds;	/* by site */
};

int vmp_insns_create(struct vmp_insns **out, const struct vmp_table *t)
{
	struct vmp_insns *d = calloc(1, sizeof(*d));
	uint32_t i;

	if (!d)
		return -ENOMEM;
	d->t = t;
	d->kinds = malloc((t->sites.nr + 1) * sizeof(*d->kinds));
	if (!d->kinds) {
		free(d);
		return -ENOMEM;
	}
	for (i = 0; i < t->sites.nr; i++)
		d->kinds[i] = UNKNOWN;
	d->decoder = vmp_decoder_create();
	*out = d;
	return 0;
}

void vmp_insns_destroy(struct vmp_insns *d)
{
	if (!d)
		return;
	vmp_decoder_destroy(d->decoder);
	free(d->kinds);
	free(d);
}

/* The file that names its functions; NULL where there is none */
static const struct vmp_elf *file_of(const struct vmp_model *m, const struct vmp_mapping *map)
{
	const uint32_t *known = map->file == VMP_NONE ? vmp_hash_find(&m->elf_by_path, map->path) :
							&m->vms.v[map->vm].files.v[map->file].elf;

	return known && *known ? m->elfs.v[*known - 1] : NULL;
}

unsigned int vmp_insns_at(struct vmp_insns *d, uint32_t site)
{
	const struct vmp_site *s = &d->t->sites.v[site];
	const struct vmp_elf *e;
	const uint8_t *code;
	uint64_t vaddr;
	size_t len;

	if (d->kinds[site] != UNKNOWN)
		return d->kinds[site];
	d->kinds[site] = 0;
	if (!d->decoder || s->mapping == VMP_NONE || d->t->mappings.v[s->mapping].kernel)
		return 0;
	e = file_of(d->t->model, &d->t->mappings.v[s->mapping]);
	if (!e || !vmp_elf_decodes(e) || vmp_elf_vaddr(e, s->offset, &vaddr))
		return 0;
	code = vmp_elf_code(e, vaddr, &len);
	if (code)
		d->kinds[site] = (uint16_t)vmp_decode(d->decoder, code, len < VMP_DECODE_BYTES ? len : VMP_DECODE_BYTES);
	return d->kinds[site];
}
