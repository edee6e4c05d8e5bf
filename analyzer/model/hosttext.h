/* SPDX-License-Identifier: GPL-2.0-only */
/* hosttext.h - text blocks about the host's processes: maps and names. */
#ifndef VMP_HOSTTEXT_H
#define VMP_HOSTTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

/** vmp_host_maps() - Lines of /proc/TGID/maps; replaces earlier ones.  Return: 0 or -ENOMEM. */
int vmp_host_maps(struct vmp_model *m, uint32_t tgid, const char *text, size_t len);

/** vmp_host_ids() - Lines "build-id path" of files that host processes ran.  Return: 0 or -ENOMEM. */
int vmp_host_ids(struct vmp_model *m, const char *text, size_t len);

/**
 * vmp_host_id() - The build-id that a file of the host's had when it ran.
 * @path: String number, of a mapping.
 * @id:   VMP_BUILD_ID_BYTES.
 *
 * Return: its bytes, 0 nobody told; -ESTALE there were two of that path.
 */
int vmp_host_id(const struct vmp_model *m, uint32_t path, uint8_t *id);

/** vmp_host_comms() - Lines "tgid tid comm".  Return: 0 or -ENOMEM. */
int vmp_host_comms(struct vmp_model *m, const char *text, size_t len);

/** vmp_host_proc() - What is known of a host process, or NULL. */
const struct vmp_host_proc *vmp_host_proc(const struct vmp_model *m, uint32_t tgid);

/** vmp_host_map() - Its mapping at an address, or NULL. */
const struct vmp_host_map *vmp_host_map(const struct vmp_host_proc *p, uint64_t addr);

#endif
