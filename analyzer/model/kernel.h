/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kernel.h - the symbols of a guest's kernel through one of its boots.
 *
 * Modules come and go, and another one may lie where one was. So each text that the agent sent holds
 * for a time, and between two of them both may be true: there an address has a name only if none of them
 * contradicts it. What all texts have is kept once.
 */
#ifndef VMP_KERNEL_H
#define VMP_KERNEL_H

#include "agent_msg.h"
#include "model/ksyms.h"
#include "model/space.h"

#define VMP_KERNEL_TEXTS_MAX	1024U		/* of one boot; */
#define VMP_KERNEL_SYMBOLS_MAX	(4U << 20)	/* and so many that not all of them have */

/* One text */
struct vmp_kernel_text {
	int is_dated;			/* by MODULES: since and from are guest TSCs, host once built; */
	uint64_t since, from;		/* it is true from @from on, and perhaps from @since on */
	uint64_t seen;			/* host TSC by which its first piece had come, 0 unknown */
	int is_begun, is_whole;
	struct vmp_symtab own;		/* what not all texts have */
};

/* From a time on, the numbers of the texts that may be true; VMP_NONE: one that did not come */
struct vmp_kernel_era {
	uint64_t from;			/* host TSC */
	uint32_t before, after;
};

struct vmp_kernel {
	struct vmp_symtab always;	/* what all of them have; all that came, if there is but one */
	char *names;			/* of its symbols */
	VMP_VEC(struct vmp_kernel_text) texts;
	VMP_VEC(struct vmp_kernel_era) eras;	/* by time, once built; the first from 0 on */
	uint32_t symbols;		/* in the texts' own */
	uint32_t whole;			/* texts */
	/* the text that is coming, the last one */
	char *coming;
	uint64_t bytes, got;
};

/**
 * vmp_kernel_changed() - The text that comes next is another one.
 * @since: Guest TSC up to which the one before was true ...
 * @from:  ... and from which on the next one is.
 *
 * Return: 0 or -ENOMEM.
 */
int vmp_kernel_changed(struct vmp_kernel *k, uint64_t since, uint64_t from);

/**
 * vmp_kernel_piece() - Take one KSYMS.  Pieces come in order; one that does not fit to what is there is left out.
 * @seen: Host TSC by which it had come, 0 unknown.
 *
 * Return: 0 or -ENOMEM.
 */
int vmp_kernel_piece(struct vmp_kernel *k, const struct vmp_msg_ksyms *msg, uint64_t seen,
		     struct vmp_strings *strings);

/** vmp_kernel_build() - All has come, and dated texts have host TSCs.  Return: 0 or -ENOMEM. */
int vmp_kernel_build(struct vmp_kernel *k, struct vmp_strings *strings);

/** vmp_kernel_era() - Number of the era at a host TSC.  @valid: Narrowed to where it is the same. */
uint32_t vmp_kernel_era(const struct vmp_kernel *k, uint64_t tsc, struct vmp_tsc_span *valid);

/** vmp_kernel_known() - Did any symbols come? */
int vmp_kernel_known(const struct vmp_kernel *k);

/**
 * vmp_kernel_find() - The symbol that holds an address in an era, or NULL.
 * @table: Set to the one that it is of.
 * @same:  Set: the answer holds up to there.
 */
struct vmp_symbol *vmp_kernel_find(struct vmp_kernel *k, uint32_t era, uint64_t addr,
				   struct vmp_symtab **table, uint64_t *same);

void vmp_kernel_free(struct vmp_kernel *k);

#endif
