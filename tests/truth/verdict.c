// SPDX-License-Identifier: GPL-2.0-only
/* verdict.c - lines that a test script turns into TAP. */
#include "verdict.h"

#include <stdarg.h>
#include <stdio.h>

static int noes;

void verdict(int yes, const char *question, const char *fmt, ...)
{
	va_list args;

	noes += !yes;
	printf("%s %s: ", yes ? "yes" : "NO", question);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

int verdict_noes(void)
{
	return noes;
}
