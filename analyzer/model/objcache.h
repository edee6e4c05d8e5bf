/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * objcache.h - where copies of guest binaries lie on the host.
 *
 * Below the root (VMPROF_OBJCACHE in the environment, else VMP_OBJCACHE_DIR)
 * an object's path is OWNER/KK/REST.  OWNER is its domain's UUID: what one
 * guest sent never serves another, whatever build-id it claims to have.  KK are
 * the first two characters of the rest of the key: the build-id in hex, or for
 * a file without one an "x" and a hash of what else names it; the guest's kernel
 * symbols have a key of their own (collect/kept.h), and its code the hash of that.  A key holds
 * only what is checked, so nothing that a guest sends becomes a path.
 */
#ifndef VMP_OBJCACHE_H
#define VMP_OBJCACHE_H

#include <stddef.h>
#include <stdint.h>

#include "agent_msg.h"

#define VMP_OBJCACHE_DIR	"/var/cache/vmprof/objects"
#define VMP_OBJKEY_OWNER_MAX	36	/* a UUID */
#define VMP_OBJKEY_HOST		"host"	/* the owner of what is the host's own */
#define VMP_OBJKEY_KSYMS	"xx0"	/* no file's: hex follows the first x there */
#define VMP_OBJKEY_MAX		(VMP_OBJKEY_OWNER_MAX + 1 + 2 * VMPROF_BUILD_ID_MAX + 1)

/** vmp_objcache_dir() - The cache's root: $VMPROF_OBJCACHE, else VMP_OBJCACHE_DIR. */
const char *vmp_objcache_dir(void);

/**
 * vmp_objcache_key() - Key of a guest's file, without owner.
 * @key:     VMP_OBJKEY_MAX bytes; without owner it is no key to the cache yet.
 * @boot_id: Of the guest's boot; used only for files without a build-id.
 * @file:    What the agent said of it.
 */
void vmp_objcache_key(char *key, const uint8_t boot_id[16], const struct vmp_msg_file *file);

/** vmp_objcache_content_key() - The same of what has no file: a kernel's code (collect/kcode.h). */
void vmp_objcache_content_key(char *key, const void *data, size_t len);

/** vmp_objcache_own() - Put the owner before a key; the key becomes "" when @uuid cannot be one. */
void vmp_objcache_own(char key[VMP_OBJKEY_MAX], const char *uuid);

/**
 * vmp_objcache_path() - Path of an object, there or not.
 * Return: 0, -EINVAL (no key), -ENAMETOOLONG.
 */
int vmp_objcache_path(char *buf, size_t size, const char *key);

/** vmp_objcache_used() - Note that a session needs it now: its modification time. */
void vmp_objcache_used(const char *key);

/** vmp_objcache_has() - 1 when the object is there, else 0. */
int vmp_objcache_has(const char *key);

#endif
