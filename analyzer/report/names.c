// SPDX-License-Identifier: GPL-2.0-only
/* names.c - words that text and JSON reports share, and the few derived numbers. */
#include "report/render.h"

#include <string.h>

const char *vmp_by_name(uint32_t by)
{
	switch (by) {
	case VMP_BY_FUNCTION:
		return "function";
	case VMP_BY_PROCESS:
		return "process";
	case VMP_BY_MODULE:
		return "module";
	case VMP_BY_VCPU:
		return "vcpu";
	case VMP_BY_EXIT:
		return "exit";
	}
	return NULL;
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
	[VMPROF_GLOST_MAPS] = { "maps_busy", "processes without their mappings: they were being changed, or could not be read" },
	[VMPROF_GLOST_PATH] = { "path_cut", "paths too long for a message" },
	[VMPROF_GLOST_PROTO] = { "bad_host_frames", "frames from the host that made no sense" },
	[VMPROF_GLOST_MISSED] = { "probe_missed", "task events: a probe was hit where it could not run" },
	[VMPROF_GLOST_FILES] = { "files_full", "files: the agent's table of files was full" },
	[VMPROF_GLOST_JIT] = { "jit_maps", "JIT maps that were not sent to their end: too many, too long, or too late" },
	[VMPROF_GLOST_STUCK] = { "files_stuck", "reads of files that were given up: a dead network or FUSE file system did not answer" },
};

struct word {
	const char *key, *text;
};

static const char *text_of(const struct word *known, size_t nr, const char *key)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(key, known[i].key))
			return known[i].text;
	return NULL;
}

const char *vmp_collector_loss_text(const char *key)
{
	static const struct word known[] = {
		{ "dropped_records", "records that could not be written to the capture" },
		{ "bad_ring_contents", "times the ring's content made no sense" },
		{ "agent_bad_bytes", "bytes from the agent that made no sense" },
		{ "agent_bad_frames", "damaged messages of the agent" },
		{ "agent_bad_payloads", "messages of the agent with impossible content" },
		{ "agent_seq_gaps", "messages of the agent that never arrived" },
		{ "agent_dropped_frames", "messages of the agent that were not kept: no room, or over 2 GiB of them" },
		{ "agent_dropped_hellos", "conversations that the agent began faster than one a second" },
		{ "agent_dropped_requests", "requests that the agent did not read" },
		{ "agent_dropped_ksyms", "times that kept kernel symbols were gone" },
		{ "clock_bad_echoes", "clock measurements that contradicted each other" },
		{ "objects_failed", "guest files that could not be fetched" },
		{ "objects_failed_absent", "of them not there or not to be read" },
		{ "objects_failed_other_build", "of them of another build by then" },
		{ "objects_failed_slow", "of them not there in time" },
		{ "objects_failed_no_room", "of them without room in the object cache or on its disk" },
		{ "objects_failed_cut", "of them when the guest or the way to it was gone" },
		{ "objects_failed_over", "of them over the limits of one guest" },
		{ "objects_failed_blind", "of them without a path, or a build-id to check" },
		{ "objects_failed_unwritten", "of them could not be written" },
	};

	return text_of(known, sizeof(known) / sizeof(known[0]), key);
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

static const struct {
	const char *key, *text;
} who[VMP_WHO_NR] = {
	[VMP_WHO_OFF] = { NULL, "it was not looked for: its agent was away, or had not told where" },
	[VMP_WHO_SAME] = { "same", NULL },
	[VMP_WHO_KTHREAD] = { "kernel_thread", NULL },
	[VMP_WHO_TASK] = { "task_only", NULL },
	[VMP_WHO_OTHER] = { "other", "its process is not the CR3's, which counts" },
	[VMP_WHO_NO_CPU] = { "no_cpu", "the guest did not tell of this vCPU" },
	[VMP_WHO_NO_READ] = { "no_read", "its memory was not there at that moment (swapped out)" },
	[VMP_WHO_OUTSIDE] = { "outside", "the guest's pointer led out of its memory" },
	[VMP_WHO_NO_TASK] = { "no_task", "there was no task where the guest said" },
	[VMP_WHO_NO_RECORD] = { "no_record", "no record in the capture tells of it" },
	[VMP_WHO_UNTOLD] = { "untold", "the capture does not have, or only from later on, where this boot's kernel keeps it" },
};

const char *vmp_who_key(enum vmp_who w)
{
	return who[w].key;
}

const char *vmp_who_text(enum vmp_who w)
{
	return who[w].text;
}

uint64_t vmp_who_looked(const struct vmp_domain *d)
{
	uint64_t n = 0;
	int i;

	for (i = VMP_WHO_OFF + 1; i < VMP_WHO_NR; i++)
		n += i == VMP_WHO_UNTOLD ? 0 : d->who[i];
	return n;
}

const char *vmp_tasks_off_text(const char *state)
{
	static const struct word known[] = {
		{ "not-told", "no agent has told where its kernel keeps them" },
		{ "old-agent", "its agent is too old to tell where its kernel keeps them; one of this version does" },
		{ "no-module", "its agent has no module to tell where its kernel keeps them" },
		{ "lost-in-guest", "its agent's module had no room to tell where its kernel keeps them" },
		{ "not-kept", "where its kernel keeps them was told, but not kept: no room, or too much was sent before" },
		{ "old-module", "the host's module vmprof is older than this command" },
		{ "no-query-vmprof", "its QEMU does not tell where its memory is (qemu-patches/ adds query-vmprof)" },
		{ "encrypted", "its memory is encrypted" },
		{ "no-sense", "what it told of its kernel makes no sense" },
	};

	return text_of(known, sizeof(known) / sizeof(known[0]), state);
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
