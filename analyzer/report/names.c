// SPDX-License-Identifier: GPL-2.0-only
/* names.c - words that text and JSON reports share, and the few derived numbers. */
#include "report/render.h"

#include <string.h>

const char *vmp_by_name(enum vmp_by by)
{
	static const char *const name[] = {
		[VMP_BY_FUNCTION] = "function", [VMP_BY_PROCESS] = "process",
		[VMP_BY_MODULE] = "module", [VMP_BY_VCPU] = "vcpu", [VMP_BY_EXIT] = "exit",
	};

	return name[by];
}

const char *vmp_side_name(enum vmp_side side)
{
	static const char *const name[] = {
		[VMP_SIDE_KERNEL] = "guest_kernel", [VMP_SIDE_USER] = "guest_user",
		[VMP_SIDE_VMM] = "vmm", [VMP_SIDE_STEAL] = "steal", [VMP_SIDE_HOST] = "host",
		[VMP_SIDE_NR] = "mixed",
	};

	return name[side];
}

static const struct {
	const char *key, *text;
} driver_loss[VMPROF_LOST_NR] = {
	[VMPROF_LOST_FULL] = { "ring_full", "a ring was full: enlarge it (start --buffer) or sample less often (--period)" },
	[VMPROF_LOST_NESTED] = { "nested", "the counter overflowed while a record was being written" },
	[VMPROF_LOST_STATE] = { "guest_state", "the guest's state could not be read" },
	[VMPROF_LOST_THROTTLED] = { "throttled", "the kernel throttled sampling: see kernel.perf_event_max_sample_rate and kernel.perf_cpu_time_max_percent" },
};

static const struct {
	const char *key, *text;
} agent_loss[VMPROF_GLOST_NR] = {
	[VMPROF_GLOST_RING] = { "ring_full", "task events: the agent's ring was full" },
	[VMPROF_GLOST_MAPS] = { "maps_busy", "exits without their mappings: they were being changed" },
	[VMPROF_GLOST_PATH] = { "path_cut", "paths too long for a message" },
	[VMPROF_GLOST_PROTO] = { "bad_host_frames", "frames from the host that made no sense" },
	[VMPROF_GLOST_MISSED] = { "probe_missed", "task events: a probe was hit where it could not run" },
	[VMPROF_GLOST_FILES] = { "files_full", "files: the agent's table of files was full" },
};

const char *vmp_collector_loss_text(const char *key)
{
	static const struct {
		const char *key, *text;
	} known[] = {
		{ "dropped_records", "records that could not be written to the capture" },
		{ "bad_ring_contents", "times the ring's content made no sense" },
		{ "agent_bad_bytes", "bytes from the agent that made no sense" },
		{ "agent_bad_frames", "damaged messages of the agent" },
		{ "agent_bad_payloads", "messages of the agent with impossible content" },
		{ "agent_seq_gaps", "messages of the agent that never arrived" },
		{ "agent_dropped_frames", "messages of the agent that could not be written to the capture" },
		{ "clock_bad_echoes", "clock measurements that contradicted each other" },
		{ "objects_failed", "guest files that could not be fetched" },
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(key, known[i].key))
			return known[i].text;
	return NULL;
}

const char *vmp_driver_loss_key(unsigned int cause)
{
	return cause < VMPROF_LOST_NR ? driver_loss[cause].key : NULL;
}

const char *vmp_driver_loss_text(unsigned int cause)
{
	return driver_loss[cause].text;
}

const char *vmp_agent_loss_key(unsigned int cause)
{
	return cause < VMPROF_GLOST_NR ? agent_loss[cause].key : NULL;
}

const char *vmp_agent_loss_text(unsigned int cause)
{
	return agent_loss[cause].text;
}

const char *vmp_clock_name(enum vmp_clock_source source)
{
	static const char *const name[] = {
		[VMP_CLOCK_NONE] = "none", [VMP_CLOCK_ARRIVAL] = "arrival",
		[VMP_CLOCK_MEASURED] = "collector", [VMP_CLOCK_DRIVER] = "driver",
	};

	return name[source];
}

double vmp_session_seconds(const struct vmp_model *m)
{
	if (!m->header.tsc_khz || m->last_tsc <= m->first_tsc || !m->first_tsc)
		return 0;
	return (double)(m->last_tsc - m->first_tsc) / 1e3 / m->header.tsc_khz;
}

double vmp_clock_error_us(const struct vmp_model *m, const struct vmp_machine *vm)
{
	return m->header.tsc_khz ? (double)vm->clock.error_tsc * 1e3 / m->header.tsc_khz : 0;
}
