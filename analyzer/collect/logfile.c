// SPDX-License-Identifier: GPL-2.0-only
/* logfile.c - the collector's log. */
#include "collect/logfile.h"

#include <time.h>

void vmp_logfile_open(struct vmp_logfile *l, const char *path)
{
	l->out = fopen(path, "we");
	l->bytes = 0;
}

void vmp_logfile_line(struct vmp_logfile *l, const char *mark, const char *text)
{
	time_t now = time(NULL);
	char stamp[32];
	struct tm tm;
	int n;

	if (!l->out || l->bytes >= VMP_LOGFILE_BYTES)
		return;
	localtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%F %T", &tm);
	n = fprintf(l->out, "%s %s%s\n", stamp, mark, text);
	l->bytes += n > 0 ? (uint64_t)n : 0;
	if (l->bytes >= VMP_LOGFILE_BYTES)
		fprintf(l->out, "%s the log ends here: it has reached its limit of %u bytes; the session goes on\n",
			stamp, VMP_LOGFILE_BYTES);
	fflush(l->out);
}

void vmp_logfile_close(struct vmp_logfile *l)
{
	if (l->out)
		fclose(l->out);
	l->out = NULL;
}
