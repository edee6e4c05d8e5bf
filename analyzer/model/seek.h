/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * seek.h - find the file that a guest had mapped, somewhere on this host.
 *
 * Nearest to the truth first: below --sysroot at the guest's path, then by
 * build-id; in the object cache; among the host's own files by build-id; on the
 * servers of DEBUGINFOD_URLS.  The guest's path is used below the sysroot only,
 * and all but the cache's copy must have the build-id that the agent told.
 */
#ifndef VMP_SEEK_H
#define VMP_SEEK_H

#include <stdint.h>

#include "model/debuginfod.h"
#include "model/elfsyms.h"
#include "model/machine.h"
#include "model/unpack.h"

/* What became of the files that were looked for below the sysroot */
enum vmp_sought {
	VMP_SOUGHT_FOUND,
	VMP_SOUGHT_ABSENT,
	VMP_SOUGHT_OTHER,	/* another build lies there */
	VMP_SOUGHT_UNFIT,	/* no regular file, no ELF file, too large, or not to be read */
	VMP_SOUGHT_NO_ID,	/* the guest's file has no build-id to compare */
	VMP_SOUGHT_NR
};

/* What a command may look in, beside the cache; for all captures that it reads */
struct vmp_seek {
	int sysroot;			/* of vmp_below_folder(), VMP_BELOW_HOST: none */
	struct vmp_debuginfod *server;	/* NULL: none is asked */
	uint64_t sought[VMP_SOUGHT_NR];
	struct vmp_unpacks unpack;
};

/** vmp_sought_key() - "other_build" */
const char *vmp_sought_key(enum vmp_sought what);

/** vmp_seek_below() - "--sysroot: 5 files found, 2 not there"; "" nothing was looked for. @s: may be NULL. */
const char *vmp_seek_below(const struct vmp_seek *s, char *buf, size_t size);

/** vmp_seek_asked() - The same of servers: "debuginfod: 2 files had". */
const char *vmp_seek_asked(const struct vmp_seek *s, char *buf, size_t size);

/** vmp_seek_unread() - "debugging information: 2 files too large to be read"; "" all was read. @s: may be NULL. */
const char *vmp_seek_unread(const struct vmp_seek *s, char *buf, size_t size);

/**
 * vmp_seek_guest() - Open a guest's file.
 * @s:     NULL: look in the cache and among the host's files.
 * @vm:    The guest's id: none can take what others' files need of unpacked bytes, and of servers' time.
 * @name:  Its path in the guest.
 * @lines: Debug files are wanted for source lines, too.
 * Return: 0, -ENOMEM, or why it is nowhere.
 */
int vmp_seek_guest(struct vmp_seek *s, uint32_t vm, const struct vmp_file *f, const char *name, int lines,
		   struct vmp_elf **e);

/**
 * vmp_seek_host() - Open a file of the host's own; only its debug file is looked for elsewhere.
 * @id: Of @id_len bytes: the build-id that it must have; 0: any.
 * Return: 0, -ENOMEM, -ESTALE it is another build now, or why it is not there.
 */
int vmp_seek_host(struct vmp_seek *s, const char *path, const uint8_t *id, size_t id_len, int lines, struct vmp_elf **e);

#endif
