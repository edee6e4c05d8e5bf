/* SPDX-License-Identifier: GPL-2.0-only */
/* ringmem.h - the memory of one ring: pages on the pCPU's node, mapped by kernel and reader. */
#ifndef VMPH_RINGMEM_H
#define VMPH_RINGMEM_H

#include <linux/mm_types.h>
#include <linux/types.h>

struct vmph_ringmem {
	struct page **pages;	/* consumer, producer, then data */
	unsigned int nr_pages;
	void *consumer;
	void *producer;
	void *data;		/* vmap of the data pages */
};

/** vmph_ringmem_alloc() - Zeroed memory near @cpu for @bytes of data. Return: 0, -ENOMEM. */
int vmph_ringmem_alloc(struct vmph_ringmem *mem, int cpu, u32 bytes);

/** vmph_ringmem_free() - Free it; nobody maps it any more. Cleared memory is fine. */
void vmph_ringmem_free(struct vmph_ringmem *mem);

/**
 * vmph_ringmem_mmap() - Map one of the ring's three parts for the reader.
 * @part: Offset as in VMPROF_MMAP_*(0).
 * Return: 0, -EINVAL unless part, length and access are exactly the contract's.
 */
int vmph_ringmem_mmap(const struct vmph_ringmem *mem, struct vm_area_struct *vma, u64 part);

#endif
