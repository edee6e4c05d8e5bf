// SPDX-License-Identifier: GPL-2.0-only
/* screen.c - all of ncurses that there is in vmprof. */
#include "tui/screen.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <ncurses.h>

#include "util/text.h"

#define LINE_BYTES	8192

static volatile sig_atomic_t broken;

static void on_signal(int sig)
{
	(void)sig;
	broken = 1;
}

int vmp_screen_broken(void)
{
	return broken;
}

/* Without SA_RESTART: waiting for a key ends, too. */
static void catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaction(ends[i], &sa, NULL);
}

static SCREEN *screen;
static int coloured;

int vmp_screen_start(int colour)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return -ENOTTY;
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return -ENODEV;
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(50);
	coloured = colour && has_colors() && start_color() == OK && use_default_colors() == OK;
	if (coloured) {
		init_pair(VMP_PEN_HOT, COLOR_RED, -1);
		init_pair(VMP_PEN_WARM, COLOR_GREEN, -1);
	}
	catch_signals();
	return 0;
}

void vmp_screen_end(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

int vmp_screen_width(void)
{
	return COLS;
}

int vmp_screen_height(void)
{
	return LINES;
}

static attr_t attribute(enum vmp_pen pen)
{
	switch (pen) {
	case VMP_PEN_BOLD:
		return A_BOLD;
	case VMP_PEN_HOT:
	case VMP_PEN_WARM:
		return coloured ? COLOR_PAIR(pen) : A_NORMAL;
	case VMP_PEN_CURSOR:
	case VMP_PEN_BAR:
		return A_REVERSE;
	default:
		return A_NORMAL;
	}
}

void vmp_screen_text(int y, int x, int width, enum vmp_pen pen, const char *s)
{
	char safe[LINE_BYTES], cut[LINE_BYTES];
	int w;

	if (y < 0 || y >= LINES || x < 0 || x >= COLS || width <= 0)
		return;
	width = width < COLS - x ? width : COLS - x;
	vmp_text(safe, sizeof(safe), s, strlen(s));
	w = vmp_text_cut(cut, sizeof(cut), safe, width);
	attrset(attribute(pen));
	mvaddstr(y, x, cut);
	for (; w < width; w++)
		addch(' ');
	attrset(A_NORMAL);
}

void vmp_screen_clear(void)
{
	erase();
	curs_set(0);
}

void vmp_screen_show(void)
{
	refresh();
}

void vmp_screen_caret(int y, int x)
{
	curs_set(1);
	move(y, x);
}

int vmp_screen_key(int timeout_ms)
{
	static const struct { int theirs, ours; } keys[] = {
		{ KEY_UP, VMP_KEY_UP }, { KEY_DOWN, VMP_KEY_DOWN }, { KEY_LEFT, VMP_KEY_LEFT },
		{ KEY_RIGHT, VMP_KEY_RIGHT }, { KEY_PPAGE, VMP_KEY_PAGE_UP }, { KEY_NPAGE, VMP_KEY_PAGE_DOWN },
		{ KEY_HOME, VMP_KEY_HOME }, { KEY_END, VMP_KEY_END }, { KEY_BACKSPACE, VMP_KEY_BACKSPACE },
		{ 127, VMP_KEY_BACKSPACE }, { 8, VMP_KEY_BACKSPACE }, { KEY_F(1), VMP_KEY_F1 },
		{ KEY_RESIZE, VMP_KEY_RESIZE }, { KEY_ENTER, '\n' }, { '\r', '\n' }, { 3, VMP_KEY_QUIT },
	};
	size_t i;
	int key;

	timeout(timeout_ms);
	key = broken ? ERR : getch();
	if (broken)
		return VMP_KEY_QUIT;
	if (key == ERR)
		return VMP_KEY_NONE;
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].theirs == key)
			return keys[i].ours;
	return key < 256 ? key : VMP_KEY_NONE;
}
