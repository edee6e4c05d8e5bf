// SPDX-License-Identifier: GPL-2.0-only
/* units.c - amounts as people write them. */
#include "util/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_MAX	(10ULL * 365 * 24 * 3600 * 1000000000)

struct unit {
	const char *name;
	uint64_t factor;
};

/* Whole part and fraction (in millionths) of the number at *s, which is moved behind it. */
static int parse_number(const char **s, uint64_t *whole, uint32_t *millionths)
{
	uint32_t scale = 100000;
	char *end;

	if (!isdigit((unsigned char)**s))
		return -EINVAL;
	errno = 0;
	*whole = strtoull(*s, &end, 10);
	if (errno)
		return -ERANGE;
	*millionths = 0;
	if (*end == '.') {
		if (!isdigit((unsigned char)*++end))
			return -EINVAL;
		for (; isdigit((unsigned char)*end); end++, scale /= 10)
			*millionths += scale * (*end - '0');
	}
	*s = end;
	return 0;
}

static int parse_unit(const char *s, const struct unit *units, uint64_t max, uint64_t *out)
{
	const struct unit *u;
	uint32_t millionths;
	uint64_t whole;
	unsigned __int128 n;
	int err;

	err = parse_number(&s, &whole, &millionths);
	if (err)
		return err;
	for (u = units; u->name && strcmp(u->name, s); u++)
		;
	if (!u->name)
		return -EINVAL;
	n = (unsigned __int128)whole * u->factor +
	    (unsigned __int128)millionths * u->factor / 1000000;
	if (n > max)
		return -ERANGE;
	*out = (uint64_t)n;
	return 0;
}

int vmp_parse_time(const char *s, uint64_t *ns)
{
	static const struct unit units[] = {
		{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 },
		{ "min", 60000000000 }, { "h", 3600000000000 }, { NULL, 0 },
	};

	return parse_unit(s, units, NS_MAX, ns);
}

int vmp_parse_size(const char *s, uint64_t *bytes)
{
	static const struct unit units[] = {
		{ "", 1 }, { "K", 1 << 10 }, { "M", 1 << 20 }, { "G", 1 << 30 }, { NULL, 0 },
	};

	return parse_unit(s, units, INT64_MAX, bytes);
}

int vmp_parse_count(const char *s, uint64_t *n)
{
	static const struct unit units[] = { { "", 1 }, { NULL, 0 } };

	if (strchr(s, '.'))
		return -EINVAL;
	return parse_unit(s, units, UINT64_MAX, n);
}

const char *vmp_format_size(char *dst, size_t size, uint64_t bytes)
{
	static const char *const unit[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double v = (double)bytes / 1024;
	int i = 0;

	if (bytes < 1024) {
		snprintf(dst, size, "%" PRIu64 " bytes", bytes);
		return dst;
	}
	for (; v >= 1024 && i < 5; i++)
		v /= 1024;
	snprintf(dst, size, "%.1f %s", v, unit[i]);
	return dst;
}

const char *vmp_format_time(char *dst, size_t size, uint64_t ns)
{
	uint64_t s = ns / 1000000000;

	if (ns < 1000)
		snprintf(dst, size, "%" PRIu64 " ns", ns);
	else if (ns < 1000000)
		snprintf(dst, size, "%.4g us", (double)ns / 1e3);
	else if (ns < 1000000000)
		snprintf(dst, size, "%.4g ms", (double)ns / 1e6);
	else if (s < 60)
		snprintf(dst, size, "%.3g s", (double)ns / 1e9);
	else if (s < 3600)
		snprintf(dst, size, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
	else
		snprintf(dst, size, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
	return dst;
}
