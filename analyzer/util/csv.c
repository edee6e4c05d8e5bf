// SPDX-License-Identifier: GPL-2.0-only
/* csv.c - see csv.h. */
#include "util/csv.h"

#include <string.h>

#include "util/text.h"

#define CELL_BYTES	16384

void vmp_csv_text(FILE *out, const char *s)
{
	char safe[CELL_BYTES];
	const char *p, *guard;

	vmp_text(safe, sizeof(safe), s, strlen(s));
	guard = *safe && strchr("=+-@", *safe) ? "'" : "";
	if (!strpbrk(safe, ",\"")) {
		fprintf(out, "%s%s", guard, safe);
		return;
	}
	fprintf(out, "\"%s", guard);
	for (p = safe; *p; p++) {
		if (*p == '"')
			fputc('"', out);
		fputc(*p, out);
	}
	fputc('"', out);
}
