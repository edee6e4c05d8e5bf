// SPDX-License-Identifier: GPL-2.0-only
/* log.c - messages for people, by default: what is done to stdout, the rest to stderr. */
#include "util/log.h"

#include <stdarg.h>
#include <stdio.h>

static void to_terminal(void *arg, enum vmp_log_level level, const char *text)
{
	(void)arg;
	if (level == VMP_LOG_INFO) {
		printf("%s\n", text);
		fflush(stdout);
		return;
	}
	fprintf(stderr, "vmprof: %s%s\n", level == VMP_LOG_WARN ? "warning: " : "", text);
}

static vmp_log_fn log_fn = to_terminal;
static void *log_arg;

void vmp_log_set(vmp_log_fn fn, void *arg)
{
	log_fn = fn ? fn : to_terminal;
	log_arg = arg;
}

void vmp_log(enum vmp_log_level level, const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_fn(log_arg, level, text);
}
