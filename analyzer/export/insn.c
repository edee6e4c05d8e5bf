// SPDX-License-Identifier: GPL-2.0-only
/* insn.c - the bytes at a site, and what they are; each site is looked at once. */
#include "export/insn.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/objcache.h"

#define UNKNOWN	0xffff

struct vmp_insns {
	const struct vmp_table *t;
	void *decoder;
	uint16_t *kinds;	/* by site */
	uint32_t mapping;	/* whose file is open */
	int fd;
};

int vmp_insns_create(struct vmp_insns **out, const struct vmp_table *t)
{
	struct vmp_insns *d = calloc(1, sizeof(*d));
	uint32_t i;

	if (!d)
		return -ENOMEM;
	d->t = t;
	d->fd = -1;
	d->mapping = VMP_NONE;
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
	if (d->fd >= 0)
		close(d->fd);
	vmp_decoder_destroy(d->decoder);
	free(d->kinds);
	free(d);
}

/* Sites are in order of their modules, so one open file is enough. */
static void open_mapping(struct vmp_insns *d, uint32_t mapping)
{
	const struct vmp_mapping *map = &d->t->mappings.v[mapping];
	const char *path = vmp_table_str(d->t, map->path);
	char cached[4096];
	struct stat st;

	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
	d->mapping = mapping;
	if (map->file != VMP_NONE) {	/* a guest's path is never one of ours */
		path = cached;
		if (vmp_objcache_path(cached, sizeof(cached), d->t->model->vms.v[map->vm].files.v[map->file].key))
			return;
	} else if (*path != '/') {
		return;
	}
	d->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (d->fd >= 0 && (fstat(d->fd, &st) || !S_ISREG(st.st_mode))) {
		close(d->fd);
		d->fd = -1;
	}
}

unsigned int vmp_insns_at(struct vmp_insns *d, uint32_t site)
{
	const struct vmp_site *s = &d->t->sites.v[site];
	uint8_t code[VMP_DECODE_BYTES];
	ssize_t n;

	if (d->kinds[site] != UNKNOWN)
		return d->kinds[site];
	d->kinds[site] = 0;
	if (!d->decoder || s->mapping == VMP_NONE || d->t->mappings.v[s->mapping].kernel)
		return 0;
	if (s->mapping != d->mapping)
		open_mapping(d, s->mapping);
	n = d->fd < 0 || s->offset > INT64_MAX ? -1 : pread(d->fd, code, sizeof(code), (off_t)s->offset);
	if (n > 0)
		d->kinds[site] = (uint16_t)vmp_decode(d->decoder, code, (size_t)n);
	return d->kinds[site];
}
