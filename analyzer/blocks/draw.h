/* SPDX-License-Identifier: GPL-2.0-only */
/* draw.h - raws by their points, in order of them: those of one unit and of one block lie together. */
#ifndef VMP_DRAW_H
#define VMP_DRAW_H

#include "blocks/set.h"

/* A raw by its points; that of a landing has no next, but behind a branch that was retired last */
struct vmp_drawn {
	uint32_t start, end, next;
	uint32_t raw;
};

struct vmp_drawing {
	struct vmp_set *set;
	struct vmp_drawn *v;		/* steps from the front, landings behind them; while they are noted at the end */
	uint32_t steps, nr, room;
	void *found;			/* private to who works in parts */
};

/**
 * vmp_draw_begin() - Room for so many raws.
 * vmp_draw_note() - The next @nr raws of the set: what of a raw is no count is looked at.
 * vmp_draw() - All raws were noted: resolve and sort them.
 * Return: 0 or -ENOMEM; @w->v is to be freed either way.
 */
int vmp_draw_begin(struct vmp_drawing *w, struct vmp_set *set, uint32_t most);
int vmp_draw_note(struct vmp_drawing *w, uint32_t nr);
int vmp_draw(struct vmp_drawing *w);

/** vmp_by_points() - Compare two by start, end and next. */
int vmp_by_points(const void *pa, const void *pb);

/* A thread's part of the work */
struct vmp_drawer {
	struct vmp_drawing *w;
	struct vmp_ranges *left;	/* vmp_ranges_take() */
	int err;
};

/** vmp_draw_together() - Call @fn in several threads, each of which takes ranges of @nr elements.  Return: 0 or the first err. */
int vmp_draw_together(struct vmp_drawing *w, uint32_t nr, void *(*fn)(void *drawer));

#endif
