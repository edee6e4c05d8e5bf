/* SPDX-License-Identifier: GPL-2.0-only */
/* module.h - the guest module's device, as far as the daemon uses it; see guest_uapi.h. */
#ifndef VMP_MODULE_H
#define VMP_MODULE_H

#include <stdint.h>
#include <sys/types.h>

#include "../module/guest_uapi.h"

/**
 * vmp_module_open() - Open the device; the service has loaded the module.
 * @fd: Set on success; non-blocking.
 *
 * Return: 0, -ENOENT (no module for this kernel), -EKEYREJECTED (none, and the kernel
 * loads signed ones only), -EBUSY (another agent has it), -EPROTO (a module of another
 * version), -errno.
 */
int vmp_module_open(int *fd);

/* The ioctls of guest_uapi.h.  Return: 0 or -errno. */
int vmp_module_query(int fd, struct vmpg_query *query);
int vmp_module_start(int fd);
int vmp_module_stop(int fd);
int vmp_module_snapshot(int fd, uint64_t token);
int vmp_module_lost(int fd, struct vmpg_lost *lost);
int vmp_module_symbol(int fd, uint64_t address, uint64_t *bytes);
int vmp_module_changes(int fd, uint64_t *changes);
int vmp_module_made(int fd, uint64_t *made);

/** vmp_module_read() - Whole records.  Return: bytes, 0 (none now), -errno. */
ssize_t vmp_module_read(int fd, void *buf, size_t len);

#endif
