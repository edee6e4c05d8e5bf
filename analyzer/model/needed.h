/* SPDX-License-Identifier: GPL-2.0-only */
/* needed.h - which guest binaries the samples of a capture need for their symbols. */
#ifndef VMP_NEEDED_H
#define VMP_NEEDED_H

#include <stddef.h>
#include <stdint.h>

#define VMP_NEEDED_PLACES	8

/* A file that is needed; borrowed during the call */
struct vmp_needed {
	uint32_t vm;
	uint32_t file;		/* handle for GET_OBJECT in the agent's latest session; 0 it cannot send it */
	uint64_t bytes;
	const uint8_t *build_id;
	size_t build_id_len;	/* not 0 if there is no handle */
	const char *key;	/* in the object cache */
	const char *path;	/* in the guest */
	int elsewhere;		/* the content that was named last, in another file: where that one cannot be had */
};

/**
 * vmp_needed_objects() - Name every guest file that holds a sampled address, or that a
 * sample's last branches lead through.
 * @path: The capture; it may still be open for writing.
 * @vm:   Of this one alone, without what the agents of others told; 0: of all.
 * @fn:   Called for each content and VM, most sampled first; a non-zero
 *        result ends the walk.  The handle is of the same content, if another
 *        conversation or boot told of the sampled one; up to VMP_NEEDED_PLACES
 *        files of one content follow each other, the one first told of before
 *        the latest.  Files that nobody can
 *        send (not accessible, replaced, too large; or without build-id and
 *        announced before the agent's last HELLO) are left out; those that
 *        the cache already has are not.
 * @arg:  For @fn.
 *
 * Return: 0, the non-zero result of @fn, or -errno of vmp_reader_open().
 */
int vmp_needed_objects(const char *path, uint32_t vm, int (*fn)(void *arg, const struct vmp_needed *n), void *arg);

#endif
