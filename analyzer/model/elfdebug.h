/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * elfdebug.h - more symbols of an ELF file: its mini-debuginfo and its
 * separate debug file, found as gdb finds it.
 */
#ifndef VMP_ELFDEBUG_H
#define VMP_ELFDEBUG_H

#include "model/unpack.h"

#define VMP_DEBUG_PATH	"/usr/lib/debug"

/**
 * vmp_elfdebug_mini() - Unpack .gnu_debugdata.
 * @u: What else is unpacked.  The caller holds mini->len bytes.
 * Return: 0; -ENOENT there is none; -ENOEXEC nothing useful is in it; -EFBIG; -ENOMEM.
 */
int vmp_elfdebug_mini(const struct vmp_elffile *f, const struct vmp_unpack *u, struct vmp_elffile *mini);

/**
 * vmp_elfdebug_path() - The folders that debug files lie below, with colons between them.
 * @folder: They are below it, see util/below.h; for the host VMPROF_DEBUG_PATH may name others.
 */
const char *vmp_elfdebug_path(int folder);

/** vmp_elfdebug_open() - Open the debug file of @f that lies at @path.  Return: 0, -ENOENT (it is none), -ENOMEM. */
int vmp_elfdebug_open(const struct vmp_elffile *f, const char *path, struct vmp_elffile *debug);

/** vmp_elfdebug_by_id() - Open the debug file of @f that this host has by build-id.  Return: the same. */
int vmp_elfdebug_by_id(const struct vmp_elffile *f, struct vmp_elffile *debug);

/**
 * vmp_elfdebug_shared() - Open what @f has in common with other debug files (.gnu_debugaltlink), as dwz makes it.
 *
 * The host's only, below the folders of vmp_elfdebug_path(), by build-id or in .dwz there; the link may come from a guest.
 *
 * Return: 0, -ENOENT, -ENOMEM.
 */
int vmp_elfdebug_shared(const struct vmp_elffile *f, struct vmp_elffile *shared);

/**
 * vmp_elfdebug_find() - Open the separate debug file.
 * @f:    The stripped file.
 * @folder: All paths are below it, see util/below.h.
 * @path: Where it was opened.
 * @name: Where it lies on the machine that it is of; differs from @path for a
 *        guest's file in the object cache.
 *
 * Looked for: PATH.debug, then below each folder of vmp_elfdebug_path()
 * by build-id, then by .gnu_debuglink beside
 * PATH, in .debug/ there, and below those folders at NAME's place.  What is
 * found must have the same build-id, or the checksum that the link tells.
 *
 * Return: 0, -ENOENT, -ENOMEM.
 */
int vmp_elfdebug_find(const struct vmp_elffile *f, int folder, const char *path, const char *name,
		      struct vmp_elffile *debug);

#endif
