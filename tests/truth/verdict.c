// SPDX-License-Identifier: GPL-2.0-only
/* verdict.c - lines that a test script turns into TAP. */
#include "verdict.h"

#include <stdarg.h>
#include <stdio.h>

static int noes;

static void say(int yes, const char *question, const char *fmt, va_list args, const char *end)
{
	noes += !yes;
	printf("%s %s: ", yes ? "yes" : "NO", question);
	vprintf(fmt, args);
	puts(end);
}

void verdict(int yes, const char *question, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(yes, question, fmt, args, "");
	va_end(args);
}

void verdict_never(int wrong, int enough, const char *question, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(!wrong && enough, question, fmt, args, wrong ? " (final)" : "");
	va_end(args);
}

int verdict_noes(void)
{
	return noes;
}
