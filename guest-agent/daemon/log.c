// SPDX-License-Identifier: GPL-2.0-only
/* log.c - messages for the operator: stderr, which systemd takes to the journal. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int log_verbose;
static int log_journal;

void vmp_log_init(int verbose)
{
	log_verbose = verbose;
	log_journal = getenv("JOURNAL_STREAM") != NULL;
}

void vmp_log(enum vmp_log_level level, const char *format, ...)
{
	/* levels as sd-daemon(3) has them */
	static const char *const journal[] = { "<3>", "<5>", "<7>" };
	char line[1024];
	va_list args;

	if (level == VMP_LOG_DEBUG && !log_verbose)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	fprintf(stderr, "%s%s\n", log_journal ? journal[level] : "vmprof-agent: ", line);
}
