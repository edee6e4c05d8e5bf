/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kept.h - kernel symbols of a guest's boot, in the host's object cache for its next session.
 *
 * One text of each domain, whatever its guest tells: the last that came whole, as far as it
 * stays the same while the guest runs (no BPF programs, no trampolines), behind the id of its
 * boot.  What does not fit to that boot, or cannot be stored, is sent again: nothing is lost.
 */
#ifndef VMP_KEPT_H
#define VMP_KEPT_H

#include <stddef.h>
#include <stdint.h>

#include "agent_msg.h"
#include "model/objcache.h"

struct vmp_kept {
	char key[VMP_OBJKEY_MAX];	/* "" nothing is kept */
	char *text;			/* what arrives, or waits to be stored: @got bytes behind the boot's
					   id; NULL nothing */
	uint64_t got, total;
};

/** vmp_kept_init() - @uuid: The domain's. */
void vmp_kept_init(struct vmp_kept *k, const char *uuid);

/**
 * vmp_kept_read() - What is kept of this boot.
 * @text: Allocated on success, the caller's to free.
 * Return: 0, -ENOENT nothing, -errno.
 */
int vmp_kept_read(const struct vmp_kept *k, const uint8_t boot_id[16], char **text, size_t *len);

/** vmp_kept_take() - A piece came.  The first one of a text is the end of what came before. */
void vmp_kept_take(struct vmp_kept *k, const uint8_t boot_id[16], const struct vmp_msg_ksyms *m);

/**
 * vmp_kept_store() - Put the text that came, if it is whole, into the cache, unless it is there.
 * A guest says how often a text is whole: to be called as often as a file may be written for it.
 */
void vmp_kept_store(struct vmp_kept *k);

/** vmp_kept_drop() - The text that arrives will not be whole. */
void vmp_kept_drop(struct vmp_kept *k);

#endif
