/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tui.h - a profile to walk through on a terminal: of a capture, or of a
 * session that runs and is looked at again and again.
 */
#ifndef VMP_TUI_H
#define VMP_TUI_H

#include "report/choose.h"

/* What is shown: the keys 1 to 5 */
enum vmp_tui_view {
	VMP_TUI_TIME,		/* where the time went */
	VMP_TUI_EXITS,		/* VMM time, by exit reason and the guest's function */
	VMP_TUI_STEAL,		/* what ran while vCPUs waited */
	VMP_TUI_WAITERS,	/* which guest functions waited meanwhile */
	VMP_TUI_DIFF,		/* how it was in another capture */
	VMP_TUI_VIEWS
};

struct vmp_tui {
	const char *title;	/* what is looked at; foreign */
	enum vmp_tui_view view;	/* the first; options and render are its */
	struct vmp_model *before;	/* what is compared with, or NULL */
	const char *title_before;	/* foreign */
	struct vmp_options options;
	struct vmp_render render;	/* columns, levels, look */
	const char *filter;	/* the filter as it was given, or NULL */
	/* The model as it is now.  Return: 0; -errno, told: the one before stays. */
	int (*model)(void *arg, struct vmp_model **m);
	/* A model is not needed any more. */
	void (*done)(void *arg, struct vmp_model *m);
	void *arg;
	int refresh_ms;		/* how often the model is asked for; 0: once */
};

/**
 * vmp_tui_run() - Until the user has had enough.
 * @t: Its options' filter is its own: it is freed.
 * Return: 0; -ENOTTY, -ENODEV (the terminal, told), -errno (told).
 */
int vmp_tui_run(struct vmp_tui *t);

#endif
