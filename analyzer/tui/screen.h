/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * screen.h - the terminal by ncurses, and the one way by which text gets there:
 * escaped, cut to its place, and never moving what is beside it.
 */
#ifndef VMP_SCREEN_H
#define VMP_SCREEN_H


enum vmp_pen {
	VMP_PEN_PLAIN,
	VMP_PEN_BOLD,
	VMP_PEN_HOT,		/* a large share */
	VMP_PEN_WARM,		/* one worth a look */
	VMP_PEN_CURSOR,
	VMP_PEN_BAR,		/* title and status lines */
};

/* What vmp_screen_key() gives beside characters */
enum {
	VMP_KEY_NONE = -1,	/* none came in time */
	VMP_KEY_UP = 0x10000, VMP_KEY_DOWN, VMP_KEY_LEFT, VMP_KEY_RIGHT, VMP_KEY_PAGE_UP, VMP_KEY_PAGE_DOWN,
	VMP_KEY_HOME, VMP_KEY_END, VMP_KEY_BACKSPACE, VMP_KEY_F1, VMP_KEY_RESIZE,
	VMP_KEY_QUIT,		/* Ctrl-C, or a signal that ends programs */
};

/**
 * vmp_screen_start() - Take the terminal.
 * @colour: As vmp_look.colour.
 * Return: 0, or -ENOTTY, -ENODEV (no description of it: TERM).
 */
int vmp_screen_start(int colour);
void vmp_screen_end(void);

int vmp_screen_width(void);
int vmp_screen_height(void);

/** vmp_screen_text() - A foreign string in @width places from (@y, @x); the rest of them becomes blank. */
void vmp_screen_text(int y, int x, int width, enum vmp_pen pen, const char *s);

/** vmp_screen_clear(), vmp_screen_show() - Begin a picture, and bring it to the terminal. */
void vmp_screen_clear(void);
void vmp_screen_show(void);

/** vmp_screen_caret() - Where the terminal's own cursor is seen; -1 nowhere. */
void vmp_screen_caret(int y, int x);

/** vmp_screen_key() - Next key; bytes of characters come one by one.  @timeout_ms -1: wait for ever. */
int vmp_screen_key(int timeout_ms);

/** vmp_screen_broken() - A signal asked for the end. */
int vmp_screen_broken(void);

#endif
