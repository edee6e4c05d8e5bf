// SPDX-License-Identifier: GPL-2.0-only
/*
 * ringmem.c - the memory of one ring.
 *
 * A mapping holds the open file, and the file holds this memory, so a mapping
 * never outlives it.  Only the consumer page can be written by the reader, and
 * mprotect() cannot change that.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/vmalloc.h>
#include <vmprof/uapi.h>
#include "compat/compat.h"
#include "ringmem.h"

#define VMPH_PAGE_CONSUMER	0
#define VMPH_PAGE_PRODUCER	1
#define VMPH_PAGE_DATA		2

int vmph_ringmem_alloc(struct vmph_ringmem *mem, int cpu, u32 bytes)
{
	unsigned int nr = VMPH_PAGE_DATA + bytes / PAGE_SIZE;

	mem->pages = kvcalloc(nr, sizeof(*mem->pages), GFP_KERNEL_ACCOUNT);
	if (!mem->pages)
		return -ENOMEM;
	for (mem->nr_pages = 0; mem->nr_pages < nr; mem->nr_pages++) {
		struct page *page = alloc_pages_node(cpu_to_node(cpu),
						     GFP_KERNEL_ACCOUNT | __GFP_ZERO, 0);

		if (!page)
			goto free;
		mem->pages[mem->nr_pages] = page;
	}
	mem->consumer = page_address(mem->pages[VMPH_PAGE_CONSUMER]);
	mem->producer = page_address(mem->pages[VMPH_PAGE_PRODUCER]);
	mem->data = vmap(mem->pages + VMPH_PAGE_DATA, nr - VMPH_PAGE_DATA, VM_MAP, PAGE_KERNEL);
	if (mem->data)
		return 0;
free:
	vmph_ringmem_free(mem);
	return -ENOMEM;
}

void vmph_ringmem_free(struct vmph_ringmem *mem)
{
	if (mem->data)
		vunmap(mem->data);
	while (mem->nr_pages)
		__free_page(mem->pages[--mem->nr_pages]);
	kvfree(mem->pages);
	memset(mem, 0, sizeof(*mem));
}

int vmph_ringmem_mmap(const struct vmph_ringmem *mem, struct vm_area_struct *vma, u64 part)
{
	unsigned long len = vma->vm_end - vma->vm_start;
	unsigned int first, nr = 1;

	if (!(vma->vm_flags & VM_SHARED) || (vma->vm_flags & VM_EXEC))
		return -EINVAL;
	if (part == VMPROF_MMAP_CONSUMER(0)) {
		first = VMPH_PAGE_CONSUMER;
	} else if (part == VMPROF_MMAP_PRODUCER(0)) {
		first = VMPH_PAGE_PRODUCER;
	} else if (part == VMPROF_MMAP_DATA(0)) {
		first = VMPH_PAGE_DATA;
		nr = mem->nr_pages - VMPH_PAGE_DATA;
	} else {
		return -EINVAL;
	}
	if (len != (unsigned long)nr * PAGE_SIZE)
		return -EINVAL;
	if (first != VMPH_PAGE_CONSUMER) {
		if (vma->vm_flags & VM_WRITE)
			return -EINVAL;
		vm_flags_clear(vma, VM_MAYWRITE);
	}
	vm_flags_clear(vma, VM_MAYEXEC);
	/* a child of the reader must not keep the session open by inheritance */
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	return vm_map_pages_zero(vma, mem->pages + first, nr);
}
