/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * objcache.h - where copies of guest binaries lie on the host.
 *
 * Below the root (VMPROF_OBJCACHE in the environment, else VMP_OBJCACHE_DIR)
 * an object's path is KK/REST, KK being the key's first two characters.  The
 * key is the build-id in hex, or for a file without one an "x" and a hash of
 * what else names it.  A key holds only 0-9, a-f and that x, so nothing that
 * a guest sends becomes a path.
 */
#ifndef VMP_OBJCACHE_H
#define VMP_OBJCACHE_H

#include <stddef.h>
#include <stdint.h>

#include "agent_msg.h"

#define VMP_OBJCACHE_DIR	"/var/cache/vmprof/objects"
#define VMP_OBJKEY_MAX		(2 * VMPROF_BUILD_ID_MAX + 1)

/** vmp_objcache_dir() - The cache's root: $VMPROF_OBJCACHE, else VMP_OBJCACHE_DIR. */
const char *vmp_objcache_dir(void);

/**
 * vmp_objcache_key() - Key of a guest's file.
 * @key:     VMP_OBJKEY_MAX bytes.
 * @boot_id: Of the guest's boot; used only for files without a build-id.
 * @file:    What the agent said of it.
 */
void vmp_objcache_key(char *key, const uint8_t boot_id[16], const struct vmp_msg_file *file);

/**
 * vmp_objcache_path() - Path of an object, there or not.
 * Return: 0, -EINVAL (no key), -ENAMETOOLONG.
 */
int vmp_objcache_path(char *buf, size_t size, const char *key);

/** vmp_objcache_has() - 1 when the object is there, else 0. */
int vmp_objcache_has(const char *key);

#endif
