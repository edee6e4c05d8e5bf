// SPDX-License-Identifier: GPL-2.0-only
/* elfsegs.c - see elfsegs.h. */
#include "model/elfsegs.h"

#include <elf.h>
#include <errno.h>

#define PAGE	4096ULL

void vmp_elfsegs_read(struct vmp_elfsegs *s, Elf *elf)
{
	size_t n = 0, i;
	int loaded = 0;
	GElf_Phdr ph;
	GElf_Ehdr h;

	s->fixed = gelf_getehdr(elf, &h) && h.e_type == ET_EXEC;
	if (elf_getphdrnum(elf, &n))
		return;
	for (i = 0; i < n && s->nr < VMP_ELFSEGS_MAX; i++) {
		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD)
			continue;
		if (!loaded++)
			s->base = ph.p_vaddr;
		if (!(ph.p_flags & PF_X) || ph.p_offset + ph.p_filesz < ph.p_offset)
			continue;
		s->seg[s->nr++] = (struct vmp_elfseg){ ph.p_offset, ph.p_vaddr, ph.p_filesz };
	}
}

static int holds(const struct vmp_elfseg *seg, uint64_t offset)
{
	/* the kernel maps whole pages: what lies before the segment in its
	   first page belongs to none */
	return offset >= seg->offset && offset - seg->offset < seg->bytes;
}

/* Link-time addresses less offsets in the file */
static uint64_t shift(const struct vmp_elfseg *seg)
{
	return seg->vaddr - seg->offset;
}

/* How far the program was moved, if @map is one of segment @seg */
static uint64_t moved(const struct vmp_elfseg *seg, const struct vmp_elf_map *map)
{
	return map->start - map->pgoff - shift(seg);
}

/* Is the mapping one of a segment of a program that was moved by @by? */
static int fits(const struct vmp_elfsegs *s, const struct vmp_elf_map *map, uint64_t by)
{
	int i;

	for (i = 0; i < s->nr; i++)
		if (moved(&s->seg[i], map) == by && map->pgoff >= (s->seg[i].offset & ~(PAGE - 1)) &&
		    map->pgoff < s->seg[i].offset + s->seg[i].bytes)
			return 1;
	return 0;
}

/* How well the mappings go with the first of them being one of segment @seg */
static unsigned int plausibility(const struct vmp_elfsegs *s, const struct vmp_elfseg *seg,
				 const struct vmp_elf_map *maps, unsigned int nr)
{
	unsigned int n = 0, i;

	if (!nr || (s->fixed && moved(seg, &maps[0])))
		return 0;
	for (i = 0; i < nr; i++)
		n += fits(s, &maps[i], moved(seg, &maps[0]));
	return n;
}

int vmp_elfsegs_overlap(const struct vmp_elfsegs *s, uint64_t offset)
{
	int i, n = 0;

	for (i = 0; i < s->nr; i++)
		n += holds(&s->seg[i], offset);
	return n > 1;
}

/*
 * What lies in two segments has two addresses.  All of a program is moved by
 * the same distance, so that the places of its mappings tell which is meant;
 * where they do not, neither is.
 */
static const struct vmp_elfseg *segment_of(const struct vmp_elfsegs *s, const struct vmp_elf_map *maps,
					   unsigned int nr, uint64_t offset)
{
	int i, equal = 0, overlap = vmp_elfsegs_overlap(s, offset);
	const struct vmp_elfseg *found = NULL;
	unsigned int n, best = 0;

	for (i = 0; i < s->nr; i++) {
		const struct vmp_elfseg *seg = &s->seg[i];

		if (!holds(seg, offset) || (found && shift(seg) == shift(found)))
			continue;
		n = overlap ? plausibility(s, seg, maps, nr) : 1;
		equal = n == best || (equal && n < best);
		if (n > best) {
			best = n;
			found = seg;
		}
	}
	return equal ? NULL : found;
}

int vmp_elfsegs_vaddr(const struct vmp_elfsegs *s, const struct vmp_elf_map *maps, unsigned int nr, uint64_t offset,
		      uint64_t *vaddr, uint64_t *same)
{
	const struct vmp_elfseg *seg = segment_of(s, maps, nr, offset);
	int i;

	if (!seg)
		return -ENOENT;
	*vaddr = seg->vaddr + (offset - seg->offset);
	*same = seg->offset + seg->bytes;
	for (i = 0; i < s->nr; i++)
		if (s->seg[i].offset > offset && s->seg[i].offset < *same)
			*same = s->seg[i].offset;
	return 0;
}

uint64_t vmp_elfsegs_offset(const struct vmp_elfsegs *s, uint64_t vaddr, size_t *len)
{
	int i;

	*len = 0;
	for (i = 0; i < s->nr; i++) {
		const struct vmp_elfseg *seg = &s->seg[i];

		if (vaddr < seg->vaddr || vaddr - seg->vaddr >= seg->bytes)
			continue;
		*len = seg->bytes - (vaddr - seg->vaddr);
		return seg->offset + (vaddr - seg->vaddr);
	}
	return 0;
}
