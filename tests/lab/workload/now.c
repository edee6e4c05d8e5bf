// SPDX-License-Identifier: GPL-2.0-only
/* now.c - ask for the time, again and again: most of the work is the vdso's. */
#include <time.h>

static volatile long sink;

int main(void)
{
	struct timespec t;

	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		sink = t.tv_nsec;
	}
}
