// SPDX-License-Identifier: GPL-2.0-only
/* lines.c - the few lines of a text in /proc that are wanted, however long the others are. */
#include "lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int is_wanted(const char *line, const char *const *words)
{
	while (*words && strncmp(line, *words, strlen(*words)))
		words++;
	return *words != NULL;
}

/* Of the wanted lines, the one that is read now begins at text + begin. */
struct wanted {
	char *text;
	size_t size, begin, end;
	int keep;
};

static void put_piece(struct wanted *w, const char *piece, size_t len)
{
	if (w->keep && w->end + len < w->size) {
		memcpy(w->text + w->end, piece, len);
		w->end += len;
	} else {
		w->keep = 0;		/* a part of a line is none */
		w->end = w->begin;
	}
	if (len && piece[len - 1] == '\n')
		w->begin = w->end;
}

int vmp_lines_of(const char *path, const char *const *words, char *text, size_t size)
{
	struct wanted w = { .text = text, .size = size, .begin = 1, .end = 1 };
	size_t left = VMP_LINES_BYTES_MAX, len;
	int first = 1, err = 0;
	char piece[512];
	FILE *f;

	strcpy(text, "\n");
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (left && fgets(piece, sizeof(piece), f)) {
		len = strlen(piece);
		if (first)
			w.keep = is_wanted(piece, words);
		put_piece(&w, piece, len);
		first = len && piece[len - 1] == '\n';
		left -= len < left ? len + !len : left;
	}
	if (ferror(f))
		err = -errno;
	else if (!left)
		err = -EFBIG;
	fclose(f);
	text[w.begin] = 0;
	return err;
}
