/* SPDX-License-Identifier: GPL-2.0-only */
/* views.h - the views of a tui, each with the levels, columns and order that it was left with. */
#ifndef VMP_VIEWS_H
#define VMP_VIEWS_H

#include "tui/tui.h"

/* Zeroed memory: none was left yet */
struct vmp_views {
	struct {
		struct vmp_options options;
		struct vmp_render render;
		int left;	/* it is as the user left it */
	} kept[VMP_TUI_VIEWS];
};

/** vmp_view_name() - "exits" */
const char *vmp_view_name(enum vmp_tui_view view);

/**
 * vmp_views_switch() - Show another view: change a tui's options and render to its.
 * A filter that does not suit its rows is left out, and that is told.
 * Return: 0; -ENOENT there is no such view here (told); -EINVAL, -ENOMEM.
 */
int vmp_views_switch(struct vmp_views *v, struct vmp_tui *t, enum vmp_tui_view to);

#endif
