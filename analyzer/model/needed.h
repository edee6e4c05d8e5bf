/* SPDX-License-Identifier: GPL-2.0-only */
/* needed.h - which guest binaries the samples of a capture need for their symbols. */
#ifndef VMP_NEEDED_H
#define VMP_NEEDED_H

#include <stddef.h>
#include <stdint.h>

/**
 * vmp_needed_objects() - Name every guest file that holds a sampled address.
 * @path: The capture; it may still be open for writing.
 * @fn:   Called once for each file and VM, most sampled first; a non-zero
 *        result ends the walk.  @file is the handle for GET_OBJECT in the
 *        agent's latest session (of the same content, if another
 *        conversation or boot told of the sampled one), @bytes the file's size, @key its key in the
 *        object cache.  Files that the agent cannot send (announced before
 *        its last HELLO, not accessible, too large) are left out; those that
 *        the cache already has are not.  Borrowed during the call.
 * @arg:  For @fn.
 *
 * Return: 0, the non-zero result of @fn, or -errno of vmp_reader_open().
 */
int vmp_needed_objects(const char *path,
		       int (*fn)(void *arg, uint32_t vm, uint32_t file, uint64_t bytes,
				 const uint8_t *build_id, size_t build_id_len, const char *key),
		       void *arg);

#endif
