/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * outline.h - what of a tree is open, and where the cursor is; nothing is drawn here.
 *
 * Nodes are remembered by name, so that a new tree (the capture has grown, a
 * filter was changed) shows the same place.
 */
#ifndef VMP_OUTLINE_H
#define VMP_OUTLINE_H

#include "model/hash.h"
#include "report/tree.h"

struct vmp_outline {
	struct vmp_tree *tree;		/* borrowed; NULL at first */
	struct vmp_hash open;		/* by name of the path: 1 open, 0 closed */
	VMP_VEC(uint32_t) lines;	/* nodes that are to be seen, in order */
	uint32_t cursor;		/* a line */
	uint32_t top;			/* first line on the screen */
};

/**
 * vmp_outline_show() - Take a tree; what was open and under the cursor is so again.
 * Domains are open at first.
 * Return: 0 or -ENOMEM.
 */
int vmp_outline_show(struct vmp_outline *o, struct vmp_tree *t);
void vmp_outline_deinit(struct vmp_outline *o);

/** vmp_outline_node() - Under the cursor; VMP_NONE in an empty outline. */
uint32_t vmp_outline_node(const struct vmp_outline *o);

/** vmp_outline_is_open() - Are a node's children to be seen? */
int vmp_outline_is_open(const struct vmp_outline *o, uint32_t node);

/** vmp_outline_set() - Open or close the node under the cursor; @below: all below it, too. */
int vmp_outline_set(struct vmp_outline *o, int open, int below);

/** vmp_outline_up() - To the parent. */
void vmp_outline_up(struct vmp_outline *o);

/** vmp_outline_move() - By some lines, as far as there are. */
void vmp_outline_move(struct vmp_outline *o, int64_t lines);

/** vmp_outline_scroll() - Make the cursor one of the @height lines from top. */
void vmp_outline_scroll(struct vmp_outline *o, uint32_t height);

/**
 * vmp_outline_find() - The next node after the cursor whose name holds @text, whatever its case;
 * from the top again after the last.  It is opened into view.
 * Return: 1 found, 0 none, -ENOMEM.
 */
int vmp_outline_find(struct vmp_outline *o, const char *text);

#endif
