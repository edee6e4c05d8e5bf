/* SPDX-License-Identifier: GPL-2.0-only */
/* hostinfo.h - what the report must know of the host itself: symbols, maps, names of tasks. */
#ifndef VMP_HOSTINFO_H
#define VMP_HOSTINFO_H

#include <stddef.h>
#include <stdint.h>

/**
 * vmp_read_ksyms() - Text symbols of the running kernel, as lines of /proc/kallsyms.
 * @data: Allocated on success, the caller's to free.
 * Return: 0; -EPERM the kernel hides addresses; -errno.
 */
int vmp_read_ksyms(char **data, size_t *len);

/** vmp_filter_ksyms() - Keep the lines of text symbols (t T w W), in place. Return: bytes kept. */
size_t vmp_filter_ksyms(char *text, size_t len);

/** vmp_read_maps() - /proc/PID/maps. Return: 0 or -errno. */
int vmp_read_maps(uint32_t pid, char **data, size_t *len);

/**
 * vmp_host_build_ids() - Of the files whose code a process has mapped, as VMPROF_CAP_HOST_BUILD_IDS has them.
 * @maps: Its /proc/PID/maps, of @len bytes.
 * @ids:  Text, to be freed; files without a build-id, or that cannot be read, have no line, nor has what is behind 4096 of them.
 *
 * Return: 0 or -ENOMEM.
 */
int vmp_host_build_ids(uint32_t pid, const char *maps, size_t len, char **ids, size_t *ids_len);

/* Names of the host's tasks that samples name; each is looked up once. */
struct vmp_comms {
	uint64_t *seen;		/* open hash of tgid << 32 | tid, 0 free */
	size_t slots, used;
	uint64_t last;		/* of that kind, looked at last */
	char *text;		/* lines not written to the capture yet */
	size_t len, room;
};

/** vmp_comms_look() - As vmp_comms_see(), for another than the last. */
void vmp_comms_look(struct vmp_comms *c, uint32_t tgid, uint32_t tid);

/** vmp_comms_see() - A sample names this task; its name is read if it is a new one. */
static inline void vmp_comms_see(struct vmp_comms *c, uint32_t tgid, uint32_t tid)
{
	if (c->last != ((uint64_t)tgid << 32 | tid))
		vmp_comms_look(c, tgid, tid);
}

void vmp_comms_free(struct vmp_comms *c);

#endif
