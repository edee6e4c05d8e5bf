/* SPDX-License-Identifier: GPL-2.0-only */
/* view.h - the picture of an outline: title, columns, lines, and a line to talk to the user. */
#ifndef VMP_VIEW_H
#define VMP_VIEW_H

#include "tui/outline.h"
#include "tui/tui.h"

#define VMP_PROMPT_BYTES	1024

struct vmp_view_state {
	const struct vmp_tui *tui;
	const struct vmp_profile *profile;	/* NULL: there is none yet */
	struct vmp_outline outline;
	struct vmp_column_list columns;		/* that are shown */
	char message[512];		/* in the last line, until the next key */
	const char *filter;		/* as the user wrote it, "" none */
	const char *prompt;		/* a question being answered, or NULL */
	const char *hint;		/* above it: what may be answered */
	char answer[VMP_PROMPT_BYTES];
	int help;			/* the screen with the keys */
	int paused;
};

/** vmp_view_draw() - All of it. */
void vmp_view_draw(struct vmp_view_state *s);

/** vmp_view_rows() - Lines of the outline that are seen at once. */
int vmp_view_rows(void);

#endif
