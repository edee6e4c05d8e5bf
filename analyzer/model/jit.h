/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * jit.h - the JIT maps that a VM's agent sent, by the program that they are of.
 *
 * Text is gathered as it comes, by process and moment; once the history of
 * address spaces is there, each text gets its image, and each image a table.  Where a
 * later line lies over an earlier one, the image has several tables, each with a time from which
 * on it holds; these times are cuts of the image (space.h).
 */
#ifndef VMP_MODEL_JIT_H
#define VMP_MODEL_JIT_H

#include "agent_msg.h"
#include "model/hash.h"
#include "model/perfmap.h"
#include "model/space.h"

#define VMP_JIT_TEXTS_MAX	(64U << 10)	/* of one VM: what an agent follows, and all that came after */
#define VMP_JIT_LINES_MAX	(2U << 20)	/* of one VM */
#define VMP_JIT_TABLES_MAX	64U		/* of one image; */
#define VMP_JIT_TABLE_LINES	(1U << 20)	/* and so few that they have no more lines together */

/* Text that came at a time */
struct vmp_jit_piece {
	uint64_t from;			/* guest TSC, host once built; 0: from the beginning on */
	uint32_t end;			/* in the text */
};

struct vmp_jit_table {
	uint64_t from;			/* host TSC */
	struct vmp_symtab symbols;
};

/* One program's map */
struct vmp_jit_text {
	uint64_t tsc;			/* guest */
	uint32_t epoch, tgid;
	uint32_t image;			/* VMP_NONE: nobody's */
	VMP_VEC(char) text;
	VMP_VEC(struct vmp_jit_piece) pieces;
	/* of the image, if this is its first text */
	struct vmp_symtab lines;
	VMP_VEC(uint64_t) line_from;
	VMP_VEC(struct vmp_jit_table) tables;	/* by time, the first from 0 on */
};

struct vmp_jit {
	VMP_VEC(struct vmp_jit_text) texts;
	struct vmp_hash by_program;	/* epoch, tgid and tsc -> text */
	struct vmp_hash by_image;	/* image -> text that has its tables */
	uint64_t bytes;
	uint64_t pieces_over;		/* messages left out: over a limit */
	struct vmp_perfmap_counts lines;
};

/**
 * vmp_jit_add() - Take one JITMAP.
 * @text:  Set to the number of its text.
 * @first: Set to whether it is the first of that text.
 *
 * Return: 0, -ENOSPC (over a limit; counted), -ENOMEM.
 */
int vmp_jit_add(struct vmp_jit *jit, uint32_t epoch, const struct vmp_msg_jitmap *msg,
		uint32_t *text, int *first);

/** vmp_jit_build() - Make the tables, once each text's image and times are set.  Return: 0 or -ENOMEM. */
int vmp_jit_build(struct vmp_jit *jit);

/** vmp_jit_cuts() - Make the tables' times cuts of their images.  Return: 0 or -ENOMEM. */
int vmp_jit_cuts(const struct vmp_jit *jit, struct vmp_space *s);

/** vmp_jit_table() - The symbols of an image as they were just before a host TSC, or NULL. */
struct vmp_symtab *vmp_jit_table(struct vmp_jit *jit, uint32_t image, uint64_t until);

void vmp_jit_free(struct vmp_jit *jit);

#endif
