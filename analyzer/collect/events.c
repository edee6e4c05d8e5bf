// SPDX-License-Identifier: GPL-2.0-only
/* events.c - what triggers a sample: event names and periods as people write them. */
#include "collect/events.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vmprof/uapi.h>

#include "collect/pfm.h"
#include "util/log.h"
#include "util/text.h"
#include "util/units.h"

#define NS_MAX		10000000000ULL		/* 10 s: a slower profile is none */
#define TIMER_NS_MIN	100000ULL		/* 10 kHz */
#define COUNT_MAX	(1ULL << 46)		/* counters have 48 bits */

static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
	uint64_t usual_period;
} known[] = {
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0 },
	{ "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0 },
	{ "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, 1000000 },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000000 },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 200000 },
	{ "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 200000 },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 10000 },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, 100000 },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 10000 },
	{ "stalled-cycles-frontend", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, 1000000 },
	{ "stalled-cycles-backend", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_BACKEND, 1000000 },
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 0 },
};

static int parse_known(const char *name, struct vmp_event *ev)
{
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(known[i].name, name))
			continue;
		ev->type = known[i].type;
		ev->config = known[i].config;
		ev->usual_period = known[i].usual_period;
		ev->is_timer = known[i].type == PERF_TYPE_SOFTWARE;
		return 0;
	}
	return -ENOENT;
}

/* rNNN: up to 16 hex digits */
static int parse_raw(const char *name, struct vmp_event *ev)
{
	size_t digits = name[0] == 'r' ? strspn(name + 1, "0123456789abcdefABCDEF") : 0;

	if (!digits || digits > 16 || name[1 + digits])
		return -ENOENT;
	ev->type = PERF_TYPE_RAW;
	ev->config = strtoull(name + 1, NULL, 16);
	return 0;
}

int vmp_event_parse(const char *name, struct vmp_event *ev)
{
	struct vmp_event e = { .usual_period = 1000000 };
	char safe[128];

	vmp_text(safe, sizeof(safe), name, strlen(name));
	if (strlen(name) >= sizeof(e.name) ||
	    (parse_known(name, &e) && parse_raw(name, &e) && vmp_pfm_event(name, &e))) {
		vmp_err("--event: there is no event '%s' here; " VMP_PFM_HINT, safe);
		return -ENOENT;
	}
	if (!strcmp(name, "cpu-cycles"))	/* readers of a capture know it by one name */
		name = "cycles";
	vmp_text(e.name, sizeof(e.name), name, strlen(name));
	*ev = e;
	return 0;
}

void vmp_event_to_timer(struct vmp_event *ev)
{
	memset(ev, 0, sizeof(*ev));
	strcpy(ev->name, "cpu-clock");
	parse_known(ev->name, ev);
}

int vmp_event_is_cycles(const struct vmp_event *ev)
{
	return ev->type == PERF_TYPE_HARDWARE && ev->config == PERF_COUNT_HW_CPU_CYCLES;
}

static uint64_t scale(uint64_t n, uint64_t by, uint64_t over)
{
	unsigned __int128 v = over ? (unsigned __int128)n * by / over : 0;

	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

static int check_ns(uint64_t ns, uint64_t min, const char *s)
{
	if (ns < min || ns > NS_MAX) {
		vmp_err("--period %s: a time between %s and 10s makes sense here", s,
			min == TIMER_NS_MIN ? "100us" : "1us");
		return -EINVAL;
	}
	return 0;
}

static int check_count(uint64_t n, const char *s)
{
	if (n < VMPROF_PERIOD_MIN || n > COUNT_MAX) {
		vmp_err("--period %s: that is %" PRIu64 " events; a period has %llu to %llu", s, n,
			VMPROF_PERIOD_MIN, COUNT_MAX);
		return -EINVAL;
	}
	return 0;
}

int vmp_period_parse(const char *s, const struct vmp_event *ev, uint32_t tsc_khz,
		     uint64_t *period)
{
	char safe[64];
	uint64_t n, ns = 0;
	int is_time;

	if (!s && ev->usual_period) {
		*period = ev->usual_period;
		return 0;
	}
	s = vmp_text(safe, sizeof(safe), s ? s : "1ms", strlen(s ? s : "1ms"));
	is_time = !vmp_parse_time(s, &ns);
	if (!is_time && vmp_parse_count(s, &n)) {
		vmp_err("--period: '%s' is neither a number of events nor a time such as 1ms", s);
		return -EINVAL;
	}
	if (is_time && !ev->is_timer && !vmp_event_is_cycles(ev)) {
		vmp_err("--period %s: %s has no time; give a number of events", s, ev->name);
		return -EINVAL;
	}
	if (ev->is_timer) {
		if (!is_time)
			ns = scale(n, 1000000, tsc_khz);
		if (check_ns(ns, TIMER_NS_MIN, s))
			return -EINVAL;
		*period = ns;
		return 0;
	}
	if (is_time) {
		if (check_ns(ns, 1000, s))
			return -EINVAL;
		n = scale(ns, tsc_khz, 1000000);
	}
	if (check_count(n, s))
		return -EINVAL;
	*period = n;
	return 0;
}

const char *vmp_period_text(char *dst, const struct vmp_event *ev, uint64_t period,
			    uint32_t tsc_khz)
{
	char t[32];

	if (ev->is_timer)
		snprintf(dst, 96, "%s", vmp_format_time(t, sizeof(t), period));
	else if (vmp_event_is_cycles(ev) && tsc_khz)
		snprintf(dst, 96, "%" PRIu64 " cycles, %s at %u MHz", period,
			 vmp_format_time(t, sizeof(t), scale(period, 1000000, tsc_khz)),
			 tsc_khz / 1000);
	else
		snprintf(dst, 96, "%" PRIu64 " events", period);
	return dst;
}
