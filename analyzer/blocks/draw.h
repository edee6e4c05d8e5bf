/* SPDX-License-Identifier: GPL-2.0-only */
/* draw.h - raws by their points, in order of them: those of one unit and of one block lie together. */
#ifndef VMP_DRAW_H
#define VMP_DRAW_H

#include "blocks/set.h"

/* A raw by its points; that of a landing has no next */
struct vmp_drawn {
	uint32_t start, end, next;
	uint32_t raw;
};

struct vmp_drawing {
	struct vmp_set *set;
	struct vmp_drawn *v;		/* steps from the front, landings behind them */
	uint32_t steps, nr;
	void *found;			/* private to who works in parts */
};

/** vmp_draw() - Resolve and sort all raws of a set.  Return: 0 or -ENOMEM; @w->v is to be freed either way. */
int vmp_draw(struct vmp_drawing *w, struct vmp_set *set);

/** vmp_by_points() - Compare two by start, end and next. */
int vmp_by_points(const void *pa, const void *pb);

/* A thread's part: from one element until before another */
struct vmp_part {
	struct vmp_drawing *w;
	uint32_t from, to;
	int err;
};

/** vmp_in_parts() - Call @fn for parts of @nr elements, several threads at once.  Return: 0 or the first err of a part. */
int vmp_in_parts(struct vmp_drawing *w, uint32_t nr, void *(*fn)(void *part));

#endif
