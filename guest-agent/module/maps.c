// SPDX-License-Identifier: GPL-2.0-only
/* maps.c - executable mappings of an address space as protocol bytes; never sleeps. */
#include "maps.h"

#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/string.h>
#include <asm/msr.h>
#include <asm/page.h>

#include "compat/compat.h"
#include "known.h"
#include "lost.h"

u64 vmpg_mm_cr3(const struct mm_struct *mm)
{
	return mm ? __pa(mm->pgd) : 0;
}

static const char *strip_root(const char *path, const char *root)
{
	size_t len = root ? strlen(root) : 0;

	if (len > 1 && !strncmp(path, root, len) && path[len] == '/')
		return path + len;
	return path;
}

/* The file's path; " (deleted)" is a flag of the protocol, not part of it. */
static const char *file_name(const struct vmpg_view *view, const struct path *at, u16 *flags)
{
	static const char deleted[] = " (deleted)";
	size_t len, cut = sizeof(deleted) - 1;
	char *s = d_path(at, view->path, VMPG_PATH_ROOM);

	if (IS_ERR(s)) {
		/* too long even for the scratch: its last names */
		vmpg_lost(VMPROF_GLOST_PATH);
		scnprintf(view->path, VMPG_PATH_ROOM, "%pd4", at->dentry);
		return view->path;
	}
	/* the second: memfds, which never had a name to lose */
	if (d_unlinked(at->dentry) || !d_inode(at->dentry)->i_nlink) {
		*flags |= VMPROF_MAP_DELETED;
		len = strlen(s);
		if (len > cut && !strcmp(s + len - cut, deleted))
			s[len - cut] = 0;
	}
	return strip_root(s, view->root);
}

static bool is_vdso(struct vm_area_struct *vma)
{
	const char *name;

	if (vma->vm_file || !vma->vm_ops || !vma->vm_ops->name)
		return false;
	name = vma->vm_ops->name(vma);
	return name && !strcmp(name, "[vdso]");
}

static u16 prot_bits(unsigned long vm_flags)
{
	return (vm_flags & VM_READ ? PROT_READ : 0) |
	       (vm_flags & VM_WRITE ? PROT_WRITE : 0) |
	       (vm_flags & VM_EXEC ? PROT_EXEC : 0);
}

/* Which file, or which other thing, lies behind the mapping */
static const char *fill_backing(const struct vmpg_view *view, struct vm_area_struct *vma,
				struct vmprof_map *map, u16 *flags, bool *told)
{
	const struct inode *inode;

	if (vma->vm_file) {
		inode = vmpg_file_inode(vma->vm_file);
		map->ino = cpu_to_le64(inode->i_ino);
		map->dev_major = cpu_to_le32(MAJOR(inode->i_sb->s_dev));
		map->dev_minor = cpu_to_le32(MINOR(inode->i_sb->s_dev));
		map->ino_generation = cpu_to_le32(inode->i_generation);
		map->pgoff = cpu_to_le64((u64)vma->vm_pgoff << PAGE_SHIFT);
		*told = vmpg_known_file(inode);
		return file_name(view, vmpg_file_path(vma->vm_file), flags);
	}
	if (!is_vdso(vma)) {
		*flags |= VMPROF_MAP_ANON;
		*told = true;
		return "";
	}
	*flags |= VMPROF_MAP_VDSO;
	*told = vmpg_known_vdso(vma->vm_end <= SZ_4G);
	/* not the object that 64-bit processes have: see the agent's files.c */
	map->ino_generation = cpu_to_le32(vma->vm_end <= SZ_4G);
	return "[vdso]";
}

int vmpg_map_fill(const struct vmpg_view *view, struct vm_area_struct *vma,
		  void *dst, u32 room, bool *told)
{
	struct vmprof_map *map = dst;
	const char *path;
	u16 flags = 0;
	size_t len;

	if (room < sizeof(*map))
		return -ENOSPC;
	memset(map, 0, sizeof(*map));
	map->tsc = cpu_to_le64(rdtsc_ordered());
	map->cr3 = cpu_to_le64(vmpg_mm_cr3(vma->vm_mm));
	map->start = cpu_to_le64(vma->vm_start);
	map->end = cpu_to_le64(vma->vm_end);
	map->tgid = cpu_to_le32(view->tgid);
	map->prot = cpu_to_le16(prot_bits(vma->vm_flags));
	path = fill_backing(view, vma, map, &flags, told);
	map->flags = cpu_to_le16(flags);

	len = strlen(path);
	if (len >= VMPROF_PATH_BYTES_MAX) {
		/* the end of a path says more than its front */
		vmpg_lost(VMPROF_GLOST_PATH);
		path += len - (VMPROF_PATH_BYTES_MAX - 1);
		len = VMPROF_PATH_BYTES_MAX - 1;
	}
	if (room - sizeof(*map) < len)
		return -ENOSPC;
	map->path_len = cpu_to_le32(len);
	memcpy(map + 1, path, len);
	return sizeof(*map) + len;
}

void vmpg_maps_walk(const struct vmpg_view *view, struct mm_struct *mm,
		    struct vmpg_walk *walk)
{
	VMA_ITERATOR(vmi, mm, walk->next);
	struct vm_area_struct *vma;
	u32 looks = 0;
	bool told;
	int len;

	walk->bytes = 0;
	walk->nr = 0;
	walk->more = false;
	walk->told = true;
	walk->anon = false;
	for_each_vma(vmi, vma) {
		if (looks++ == walk->look_max) {
			walk->next = vma->vm_start;
			walk->more = true;
			return;
		}
		if (!(vma->vm_flags & VM_EXEC))
			continue;
		told = true;
		len = walk->nr == walk->nr_max ? -ENOSPC :
		      vmpg_map_fill(view, vma, walk->dst + walk->bytes,
				    walk->room - walk->bytes, &told);
		if (len < 0 || walk->room - walk->bytes < ALIGN((u32)len, 8)) {
			/* it was asked for, and is not told now */
			if (!told)
				vmpg_known_forget();
			walk->next = vma->vm_start;
			walk->more = true;
			return;
		}
		memset(walk->dst + walk->bytes + len, 0, ALIGN(len, 8) - len);
		walk->bytes += ALIGN(len, 8);
		walk->told &= told;
		walk->anon |= !vma->vm_file && !is_vdso(vma);
		walk->nr++;
	}
}
