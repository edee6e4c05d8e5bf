/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kcopy.h - copies of the kernels' code go into the object cache when a session with branches ends.
 *
 * A guest's is read out of its memory through QEMU, by page tables that its agent or the samples
 * name; nothing of it is stopped.  The host's comes from /proc/kcore.
 */
#ifndef VMP_KCOPY_H
#define VMP_KCOPY_H

#include <stdint.h>
#include <stdio.h>
#include <vmprof/agent_proto.h>
#include <vmprof/uapi.h>

#include "model/objcache.h"

#define VMP_KCOPY_CR3S	16
#define VMP_KCOPY_ROOM	(64ULL << 20)	/* of the cache, for each */

struct vmp_kcopy {
	uint64_t init_cr3;		/* of the guest's first process, 0 not told */
	uint64_t cr3[VMP_KCOPY_CR3S];	/* that samples had last, raw; 0 none */
	unsigned int at;		/* the last one */
	char key[VMP_OBJKEY_MAX];	/* in the cache; "" there is no copy ... */
	char why[160];			/* ... for this reason; "" nobody asked for one */
	uint8_t boot_id[16];
	uint64_t bytes, missing;
};

/** vmp_kcopy_sample() - A sample of the guest has this CR3. */
static inline void vmp_kcopy_sample(struct vmp_kcopy *k, uint64_t cr3)
{
	if (k->cr3[k->at] == cr3)
		return;
	k->at = (k->at + 1) % VMP_KCOPY_CR3S;
	k->cr3[k->at] = cr3;
}

/** vmp_kcopy_frame() - A good frame of the guest's agent: it may tell init's CR3. */
void vmp_kcopy_frame(struct vmp_kcopy *k, const struct vmprof_frame *wire, const void *payload, uint32_t len);

struct vmp_session;
struct vmp_vm;

/** vmp_kcopy_wanted() - Does the session record branches of kernels, whose code is wanted then? */
int vmp_kcopy_wanted(const struct vmp_session *s);

/** vmp_kcopy_guest() - Sampling is over, the guest's kernel symbols are here: copy, and tell. */
void vmp_kcopy_guest(struct vmp_vm *vm);

/** vmp_kcopy_host() - The same for the host. */
void vmp_kcopy_host(struct vmp_session *s);

/** vmp_kcopy_json() - What the OBJECTS block tells of it, see capture.h.  Return: 0 that is nothing. */
int vmp_kcopy_json(const struct vmp_kcopy *k, FILE *out);

#endif
