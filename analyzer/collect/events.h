/* SPDX-License-Identifier: GPL-2.0-only */
/* events.h - what triggers a sample: event names and periods as people write them. */
#ifndef VMP_EVENTS_H
#define VMP_EVENTS_H

#include <stdint.h>

struct vmp_event {
	char name[64];		/* as given, but cpu-cycles is cycles; checked: safe to show */
	uint32_t type;		/* perf_event_attr.type */
	uint64_t config;
	uint64_t config1;
	uint64_t config2;
	uint64_t usual_period;	/* events; 0: 1 ms */
	int is_timer;		/* cpu-clock: period in ns, no PMU needed */
};

/**
 * vmp_event_parse() - Find an event by name.
 * @name: perf's names of general events (cycles, instructions, branches,
 *        cache-misses, ..., cpu-clock), rNNN for a raw one, else a libpfm4 name.
 * @ev:   Untouched on error.
 *
 * Return: 0; -ENOENT no such event, told through vmp_err().
 */
int vmp_event_parse(const char *name, struct vmp_event *ev);

/** vmp_event_is_cycles() - The general event cycles, by whatever name. */
int vmp_event_is_cycles(const struct vmp_event *ev);

/** vmp_event_to_timer() - Make it cpu-clock. */
void vmp_event_to_timer(struct vmp_event *ev);

/**
 * vmp_period_parse() - Events (or ns for the timer) between two samples.
 * @s:       A count, or a time such as 1ms; NULL: the event's usual one.
 * @ev:      The event; a time needs cycles or cpu-clock.
 * @tsc_khz: Converts a time to cycles, and cycles to a time for the timer.
 *
 * Return: 0; -EINVAL it makes no sense for this event, told through vmp_err().
 */
int vmp_period_parse(const char *s, const struct vmp_event *ev, uint32_t tsc_khz,
		     uint64_t *period);

/** vmp_period_text() - "1 ms (2400000 cycles)" into @dst, 96 bytes. Return: @dst. */
const char *vmp_period_text(char *dst, const struct vmp_event *ev, uint64_t period,
			    uint32_t tsc_khz);

#endif
