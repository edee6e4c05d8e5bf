/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * housekeep.h - what sessions leave on the host's disk, and how much of it.
 *
 * An object's modification time says when a session needed it last.  What is
 * younger than VMP_FRESH_SECONDS is never removed: it may be in use.
 */
#ifndef VMP_HOUSEKEEP_H
#define VMP_HOUSEKEEP_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define VMP_CACHE_BYTES		(4ULL << 30)	/* the object cache */
#define VMP_FRESH_SECONDS	600		/* longer than a session fetches */

/**
 * vmp_sweep_leftovers() - Remove what killed collectors left half-done: objects that were
 * arriving, captures below vmp_capture_dir() whose sampling never began.
 * Return: files removed.
 */
int vmp_sweep_leftovers(time_t now);

/**
 * vmp_cache_trim() - Remove the objects that were not needed for longest, until the cache has
 * at most @max bytes.
 * Return: bytes that it has then; more than @max when all of them are fresh.
 */
uint64_t vmp_cache_trim(uint64_t max, time_t now);

/**
 * vmp_cache_put() - Put a whole object into the cache.
 * Return: 0; -EINVAL no key; -ENOSPC the disk has too little room (util/room.h); -errno.
 */
int vmp_cache_put(const char *key, const void *data, size_t len);

#endif
