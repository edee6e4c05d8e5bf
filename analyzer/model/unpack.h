/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * unpack.h - what is packed in ELF files, and how much of it may be unpacked.
 *
 * A guest's file of a MiB may claim to hold a GiB, and a guest may have many
 * such files.  So sizes are looked at before anything is unpacked, of one file
 * and of all that are open.  libelf and libdw never unpack anything here: they
 * know no such bound, would change the headers of a file that is mapped for
 * reading, and of old versions none knows zstd.
 */
#ifndef VMP_UNPACK_H
#define VMP_UNPACK_H

#include <vmprof/uapi.h>

#include "model/elffile.h"

/*
 * A debug file that comes from a guest has 64 MiB at most, and what compilers
 * write packs to a third or a quarter; sections that nobody asks for do not count.
 */
#define VMP_UNPACK_FILE	(256ULL << 20)
/* All files of a command together: with the rest of it this stays below a GiB. */
#define VMP_UNPACK_ALL	(768ULL << 20)
/* A file that the user named himself, such as a vmlinux */
#define VMP_UNPACK_OWN	(1ULL << 30)

/* Why something packed was not read */
enum vmp_unread {
	VMP_UNREAD_LARGE,	/* it would be too much */
	VMP_UNREAD_BROKEN,	/* it is damaged, lies about its size, or is packed in a way that we do not know */
	VMP_UNREAD_NR
};

#define VMP_UNPACK_OWNERS	(1 + VMPROF_MAX_VMS)

/* Of the files of one VM, or of the host; zeroed at first */
struct vmp_unpack {
	uint64_t held;			/* bytes that are unpacked now */
	uint64_t unread[VMP_UNREAD_NR];	/* files */
	uint32_t vm;			/* 0: the host's */
	const struct vmp_unpacks *all;	/* with the others', NULL: there are none */
};

/*
 * All files of a command; zeroed at first.  A VM never holds more than it leaves for all others: the first may
 * have half of all, the next a quarter.  So none can take all that the files of another, or of the host, need.  (A QEMU
 * that was started again is another one.)
 */
struct vmp_unpacks {
	struct vmp_unpack of[VMP_UNPACK_OWNERS];	/* the host's first; if there are more, the last is of all those */
	unsigned int nr;
};

/** vmp_unpacks_of() - The files of a VM, 0: of the host.  Lives as long as @all. */
struct vmp_unpack *vmp_unpacks_of(struct vmp_unpacks *all, uint32_t vm);

/** vmp_unpacks_sum() - All of them. */
struct vmp_unpack vmp_unpacks_sum(const struct vmp_unpacks *all);

/** vmp_unread_key() - "too_large" */
const char *vmp_unread_key(enum vmp_unread why);

/** vmp_unpack_unread() - "debugging information: 2 files too large to be read"; "" all was read. */
const char *vmp_unpack_unread(const struct vmp_unpack *u, char *buf, size_t size);

/** vmp_unpack_tell() - Count a file by what became of it; only -EFBIG and -EBADMSG are counted. @u: may be NULL. */
void vmp_unpack_tell(struct vmp_unpack *u, int err);

/** vmp_unpack_room() - How many bytes a file may have. @u: NULL, it is the user's own. */
uint64_t vmp_unpack_room(const struct vmp_unpack *u);

/** vmp_unpack_hold() - @bytes were unpacked. @u: may be NULL. */
void vmp_unpack_hold(struct vmp_unpack *u, uint64_t bytes);

/** vmp_unpack_release() - They were given back. */
void vmp_unpack_release(struct vmp_unpack *u, uint64_t bytes);

/**
 * vmp_unpack_dwarf() - Copy what functions and lines are read from, unpacked.
 * @image: An ELF file of those sections; vmp_elffile_close() ends it.  The caller holds image->len bytes.
 * Return: 0; -ENOENT nothing in @f is packed; -EFBIG; -EBADMSG; -ENOMEM.
 */
int vmp_unpack_dwarf(const struct vmp_elffile *f, const struct vmp_unpack *u, struct vmp_elffile *image);

/** vmp_unpack_nothing() - An ELF file with debugging information in which there is nothing.  Return: 0, -ENOMEM. */
int vmp_unpack_nothing(struct vmp_elffile *image);

#endif
