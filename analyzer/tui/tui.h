/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tui.h - a profile to walk through on a terminal: of a capture, or of a
 * session that runs and is looked at again and again.
 */
#ifndef VMP_TUI_H
#define VMP_TUI_H

#include "report/choose.h"

struct vmp_tui {
	const char *title;	/* what is looked at; foreign */
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
