// SPDX-License-Identifier: GPL-2.0-only
/* finish.c - from the end of sampling to the closed file. */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "collect/carry.h"
#include "collect/clock.h"
#include "collect/early.h"
#include "collect/housekeep.h"
#include "collect/needs.h"
#include "collect/session.h"
#include "util/log.h"
#include "util/text.h"
#include "util/units.h"

#define DONE_PATIENCE_NS	10000000000ULL	/* for the agents' last snapshot */
#define KSYMS_PATIENCE_NS	20000000000ULL	/* for kernel symbols that are on their way */
#define FETCH_PATIENCE_NS	180000000000ULL	/* for all binaries together */
#define NEEDS_PATIENCE_NS	60000000000ULL	/* to find out which these are, and ... */
#define NEEDS_BYTES_A_SECOND	(16U << 20)	/* ... more for a capture that is long */

const char *const vmp_lost_names[VMPROF_LOST_NR] = {
	[VMPROF_LOST_FULL] = "ring_full",
	[VMPROF_LOST_NESTED] = "nested",
	[VMPROF_LOST_STATE] = "guest_state",
	[VMPROF_LOST_THROTTLED] = "throttled",
};

void vmp_session_losses(const struct vmp_session *s, uint64_t lost[VMPROF_LOST_NR])
{
	struct vmprof_cpu_stats stats;
	uint32_t cpu;
	int i;

	memset(lost, 0, VMPROF_LOST_NR * sizeof(*lost));
	for (cpu = 0; s->driver.rings && cpu < s->driver.query.nr_cpus; cpu++)
		for (i = 0; !vmp_driver_stats(&s->driver, cpu, &stats) && i < VMPROF_LOST_NR; i++)
			lost[i] += stats.lost[i];
}

/* ------------------------------------------------------ sampling ends */

static void store_totals(struct vmp_session *s)
{
	struct vmprof_cpu_stats st;
	uint32_t cpu;
	int i;

	for (cpu = 0; s->driver.rings && cpu < s->driver.query.nr_cpus; cpu++) {
		const struct vmprof_producer *p = s->driver.rings[cpu].producer;
		struct vmprof_cap_totals t;

		if (vmp_driver_stats(&s->driver, cpu, &st))
			continue;
		t = (struct vmprof_cap_totals){
			.cpu = htole32(cpu), .online = htole32(st.online),
			.interrupts = htole64(st.interrupts), .filtered = htole64(st.filtered),
			.records = htole64(st.records), .event_count = htole64(st.event_count),
			.cycles = htole64(st.cycles), .instructions = htole64(st.instructions),
			.start_tsc = htole64(p->start_tsc), .end_tsc = htole64(p->end_tsc),
			.instruction_interrupts = htole64(st.instruction_interrupts),
			.instruction_count = htole64(st.instruction_count),
		};
		for (i = 0; i < VMPROF_LOST_NR; i++)
			t.lost[i] = htole64(st.lost[i]);
		vmp_store(s, VMPROF_CAP_TOTALS, cpu, &t, sizeof(t), 0, 0);
	}
}

void vmp_session_end(struct vmp_session *s)
{
	int i;

	if (s->sampling)
		vmp_driver_stop(&s->driver);
	s->sampling = 0;
	if (!s->end_ns)
		s->end_ns = vmp_now_ns();
	vmp_store_rings(s);
	store_totals(s);
	vmp_session_phase(s, VMP_ENDING);
	for (i = 0; i < s->nr_vms; i++) {
		struct vmp_vm *vm = s->vms[i];

		vm->asked = 0;		/* one more round: clocks at stop */
		if (!vm->gone && vm->source == VMP_CLOCK_DEBUGFS && !vmp_vm_take_debugfs(vm))
			vmp_store_clocks(vm);
		if (vm->agent.state == VMP_AGENT_STARTED || vm->agent.state == VMP_AGENT_RUNNING)
			vmp_info("%s: waiting for the agent's last snapshot", vm->dom.shown);
		vmp_agent_stop(&vm->agent);
	}
}

/* ------------------------------------------------- the last snapshot */

/* Return: 1 nothing more is awaited of this VM */
static int vm_has_ended(const struct vmp_vm *vm, uint64_t waited_ns)
{
	const struct vmp_agent *a = &vm->agent;

	if (vm->gone || a->state < VMP_AGENT_STARTED || waited_ns > KSYMS_PATIENCE_NS)
		return 1;
	if (a->state == VMP_AGENT_STOPPING)
		return waited_ns > DONE_PATIENCE_NS;
	return a->ksyms_whole;
}

static int have_ended(struct vmp_session *s, uint64_t waited_ns)
{
	int i, ended = 1;

	for (i = 0; i < s->nr_vms; i++)
		ended &= vm_has_ended(s->vms[i], waited_ns);
	/* clocks at stop come from the helper; it is not waited for as long */
	if (s->monitor.fd >= 0 && s->monitor.asked_ns && waited_ns < DONE_PATIENCE_NS / 2)
		ended = 0;
	for (i = 0; i < s->nr_vms; i++)
		if (!s->vms[i]->asked && !s->vms[i]->gone && s->monitor.fd >= 0 &&
		    waited_ns < DONE_PATIENCE_NS / 2)
			ended = 0;
	return ended;
}

/* ---------------------------------------------------------- binaries */

static int need(void *arg, const struct vmp_needed *n)
{
	struct vmp_session *s = arg;
	struct vmp_vm *vm = vmp_session_vm(s, n->vm);

	if (vm && (n->file || vm->objects.way != VMP_OBJECTS_AGENT))
		vmp_fetch_add(&vm->fetch, n);
	return 0;
}

/* What was not needed for longest makes room for what is to come. */
static void make_room(struct vmp_session *s, uint64_t bytes)
{
	uint64_t has;
	int i;

	has = vmp_cache_trim(bytes < VMP_CACHE_BYTES ? VMP_CACHE_BYTES - bytes : 0, time(NULL));
	s->cache_room = has < VMP_CACHE_BYTES ? VMP_CACHE_BYTES - has : 0;
	for (i = 0; i < s->nr_vms; i++)
		s->vms[i]->fetch.cache_room = &s->cache_room;
}

static void tell_unknown(const struct vmp_session *s, const char *of, int err)
{
	if (err)
		vmp_warn("cannot tell which binaries of %s the samples need: %s", s->nr_vms == 1 ? s->vms[0]->dom.shown : of,
			 err == -ENOMEM ? "there is too little memory for all that was told of them" :
			 err == -ETIMEDOUT ? "all that was told of them takes too long to look through" : strerror(-err));
}

/* Many times what it takes to read the capture */
static uint64_t needs_patience(const struct vmp_session *s)
{
	struct stat st;
	uint64_t bytes = stat(s->path, &st) ? 0 : (uint64_t)st.st_size;

	return NEEDS_PATIENCE_NS + bytes * (1000000000 / NEEDS_BYTES_A_SECOND);
}

static int by_told(const void *pa, const void *pb)
{
	const struct vmp_vm *const *a = pa, *const *b = pb;
	uint64_t x = (*a)->agent.counts.kept_bytes, y = (*b)->agent.counts.kept_bytes;

	return x < y ? -1 : x > y;
}

/*
 * Where there is too little memory or time for what all guests told, each is looked at alone, in as much time for all, the one that
 * told most last: it costs itself its names.
 */
static void find_needs(struct vmp_session *s)
{
	const uint64_t patience_ns = needs_patience(s);
	int err = vmp_needs(s->path, 0, patience_ns, need, s), i;
	struct vmp_vm *vms[VMP_SESSION_VMS];
	uint64_t now_ns, until_ns;

	if ((err != -ENOMEM && err != -ETIMEDOUT) || s->nr_vms < 2) {
		tell_unknown(s, "the guests", err);
		return;
	}
	memcpy(vms, s->vms, (size_t)s->nr_vms * sizeof(*vms));
	qsort(vms, (size_t)s->nr_vms, sizeof(*vms), by_told);
	until_ns = vmp_now_ns() + patience_ns;
	for (i = 0; i < s->nr_vms; i++) {
		now_ns = vmp_now_ns();
		tell_unknown(s, vms[i]->dom.shown, vmp_needs(s->path, vms[i]->dom.pid, now_ns < until_ns ? until_ns - now_ns : 0, need, s));
	}
}

static void begin_fetching(struct vmp_session *s)
{
	uint64_t sum = 0;
	int i, copy;

	for (i = 0; i < s->nr_vms; i++) {
		if (s->vms[i]->agent.state == VMP_AGENT_STOPPING)
			vmp_warn("%s: the agent did not finish its last snapshot in %llu s",
				 s->vms[i]->dom.shown, DONE_PATIENCE_NS / 1000000000);
		vmp_early_forget(s->vms[i]);
		vmp_store_batch(s->vms[i]);
		vmp_store_vm(s->vms[i]);
		vmp_kept_store(&s->vms[i]->kept);
	}
	vmp_store_comms(s);
	find_needs(s);
	for (i = 0; i < s->nr_vms; i++)
		sum += vmp_carry_begin(s->vms[i]);
	copy = vmp_kcopy_wanted(s);
	make_room(s, sum + (copy ? VMP_KCOPY_ROOM * (uint64_t)(s->nr_vms + 1) : 0));
	for (i = 0; copy && i < s->nr_vms; i++)
		vmp_kcopy_guest(s->vms[i]);
	if (copy)
		vmp_kcopy_host(s);
	/* what took so long until here is nothing that the guests were waited for */
	vmp_session_phase(s, VMP_FETCHING);
}

/* ----------------------------------------------------------- the end */

/* What is in the cache for this capture; @vm: NULL, the host's */
static void store_objects(struct vmp_session *s, const struct vmp_vm *vm)
{
	const struct vmp_kcopy *kernel = vm ? &vm->kcopy : &s->kcopy;
	uint32_t source = vm ? vm->dom.pid : 0;
	char *text = NULL;
	size_t len;
	FILE *f;
	int i, told, nr = 0;

	f = open_memstream(&text, &len);
	if (!f)
		return;
	fputs("{\"kernel\":", f);
	told = vmp_kcopy_json(kernel, f);
	fputs(",\"objects\":[", f);
	for (i = 0; vm && i < vm->fetch.nr; i++) {
		const struct vmp_fetch_item *it = &vm->fetch.items[i];

		if (it->have && !(it->file & VMPROF_OBJECT_DEBUG))
			fprintf(f, "%s{\"build_id\":\"%s\",\"path\":\"%s\",\"bytes\":%" PRIu64
				",\"vm\":%u}", nr++ ? "," : "", it->build_id, it->key,
				it->bytes, source);
	}
	fputs("]}", f);
	if (!fclose(f) && (nr || told))
		vmp_store(s, VMPROF_CAP_OBJECTS, source, text, len, 0, 0);
	free(text);
}

static void write_vm_summary(const struct vmp_vm *vm, FILE *f)
{
	const struct vmp_agent_counts *c = &vm->agent.counts;
	const struct vmp_frame_stats *in = &vm->agent.in.stats;
	int i;

	fprintf(f, "{\"vm\":%u,\"name\":", vm->dom.pid);
	vmp_json_str(f, vm->dom.name);
	fprintf(f, ",\"ended\":%s,\"samples\":%" PRIu64 ",\"agent_state\":\"%s\""
		",\"agent_hellos\":%" PRIu64 ",\"agent_frames\":%" PRIu64 ",\"agent_bytes\":%" PRIu64,
		vm->gone ? "true" : "false", vm->samples, vmp_agent_state_name(&vm->agent),
		c->hellos, c->kept, c->kept_bytes);
	fprintf(f, ",\"agent_bad_bytes\":%" PRIu64 ",\"agent_bad_frames\":%" PRIu64
		",\"agent_bad_payloads\":%" PRIu64 ",\"agent_seq_gaps\":%" PRIu64
		",\"agent_unknown\":%" PRIu64 ",\"agent_stale\":%" PRIu64
		",\"agent_dropped_frames\":%" PRIu64 ",\"agent_dropped_hellos\":%" PRIu64
		",\"agent_dropped_requests\":%" PRIu64 ",\"agent_dropped_ksyms\":%" PRIu64,
		in->bad_bytes, in->bad_frames, c->refused, in->seq_gaps, in->unknown, c->stale,
		vmp_vm_dropped_frames(vm), c->hellos_dropped, c->unsent, c->ksyms_gone);
	fputs(",\"agent_lost\":[", f);
	for (i = 0; i < VMPROF_GLOST_NR; i++)
		fprintf(f, "%s%" PRIu64, i ? "," : "", c->lost[i]);
	fprintf(f, "],\"agent_without_module\":%s", vm->agent.flags & VMPROF_HELLO_NO_MODULE ? "true" : "false");
	fprintf(f, ",\"clock_echo_bound_tsc\":%" PRIu64 ",\"clock_bad_echoes\":%" PRIu64
		",\"objects_fetched\":%d,\"objects_failed\":%d",
		vm->echo_bound_tsc, c->clock_wrong, vm->fetch.fetched, vm->fetch.failed + vm->fetch.over);
	for (i = 0; i < VMP_FETCH_CAUSES; i++)
		if (vm->fetch.why[i] && i != VMP_FETCH_FORBIDDEN)
			fprintf(f, ",\"objects_failed_%s\":%u", vmp_fetch_cause_key(i), vm->fetch.why[i]);
	fprintf(f, ",\"objects_forbidden\":%u}", vm->fetch.why[VMP_FETCH_FORBIDDEN]);
}

static uint64_t resyncs(const struct vmp_session *s)
{
	uint64_t sum = 0;
	uint32_t cpu;

	for (cpu = 0; s->driver.rings && cpu < s->driver.query.nr_cpus; cpu++)
		sum += s->driver.rings[cpu].resyncs;
	return sum;
}

static void store_summary(struct vmp_session *s)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int i;

	if (!f)
		return;
	fputs("{\"vms\":[", f);
	for (i = 0; i < s->nr_vms; i++) {
		fputs(i ? "," : "", f);
		write_vm_summary(s->vms[i], f);
	}
	fprintf(f, "],\"collector\":{\"branch_samples\":%" PRIu64 ",\"branches\":%" PRIu64
		",\"branches_cut\":%" PRIu64, s->branches.samples, s->branches.branches,
		s->branches.cut);
	fprintf(f, ",\"samples\":%" PRIu64 ",\"dropped_records\":%" PRIu64
		",\"bad_ring_contents\":%" PRIu64 ",\"reason\":", s->samples, s->lost_at_store,
		resyncs(s));
	vmp_json_str(f, s->reason);
	fputs(",\"error\":", f);
	vmp_json_str(f, s->error);
	fputs("}}", f);
	if (!fclose(f))
		vmp_store(s, VMPROF_CAP_SUMMARY, 0, text, len, 0, 0);
	free(text);
}

static void tell_losses(const struct vmp_session *s)
{
	static const char *const what[] = {
		[VMPROF_LOST_FULL] = "samples: a ring was full (a larger --buffer helps)",
		[VMPROF_LOST_NESTED] = "samples: an overflow inside another one",
		[VMPROF_LOST_STATE] = "samples: the guest's state could not be read",
		[VMPROF_LOST_THROTTLED] = "samples: perf throttled the counter (sysctl kernel.perf_cpu_time_max_percent=0 helps)",
	};
	uint64_t lost[VMPROF_LOST_NR];
	int i, nr = 0;

	vmp_session_losses(s, lost);
	for (i = 0; i < VMPROF_LOST_NR; i++) {
		if (!lost[i])
			continue;
		nr++;
		vmp_info("lost: %" PRIu64 " %s", lost[i],
			 i < (int)(sizeof(what) / sizeof(what[0])) ? what[i] : "samples");
	}
	if (s->lost_at_store)
		vmp_info("lost: %" PRIu64 " records that could not be written", s->lost_at_store);
	if (!nr && !s->lost_at_store)
		vmp_info("lost: no samples");
}

static void tell_agent_losses(const struct vmp_vm *vm)
{
	const struct vmp_frame_stats *in = &vm->agent.in.stats;
	uint64_t dropped = vmp_vm_dropped_frames(vm);
	char causes[512];
	uint64_t told = 0, bad = in->bad_frames + in->seq_gaps + vm->agent.counts.refused;
	int i;

	for (i = 0; i < VMPROF_GLOST_NR; i++)
		told += vm->agent.counts.lost[i];
	if (told)
		vmp_info("lost: %" PRIu64 " events in the guest %s (vmprof report tells the causes)",
			 told, vm->dom.shown);
	if (bad)
		vmp_info("lost: %" PRIu64 " messages of %s's agent were broken or missing", bad,
			 vm->dom.shown);
	if (dropped)
		vmp_info("lost: %" PRIu64 " messages of %s's agent were not kept: no room, or over %llu GiB of them",
			 dropped, vm->dom.shown, VMP_AGENT_KEEP_BYTES >> 30);
	if (vm->agent.counts.hellos_dropped)
		vmp_info("lost: %" PRIu64 " conversations that %s's agent began faster than one a second",
			 vm->agent.counts.hellos_dropped, vm->dom.shown);
	if (vm->agent.counts.unsent)
		vmp_info("lost: %" PRIu64 " requests to %s's agent: it did not read them",
			 vm->agent.counts.unsent, vm->dom.shown);
	if (vm->fetch.failed + vm->fetch.over)
		vmp_warn("%s: %d binaries could not be fetched: %s; their functions have no names", vm->dom.shown,
			 vm->fetch.failed + vm->fetch.over, vmp_fetch_causes(&vm->fetch, causes, sizeof(causes)));
	if (vm->fetch.over)
		vmp_warn("%s: a guest may send %d files and %llu MiB in a session", vm->dom.shown, VMP_FETCH_MAX,
			 VMP_FETCH_SUM_BYTES >> 20);
	if (vm->fetch.why[VMP_FETCH_FORBIDDEN])
		vmp_info("%s: %u binaries were left in the guest (--objects none): their functions are shown by build-id and offset",
			 vm->dom.shown, vm->fetch.why[VMP_FETCH_FORBIDDEN]);
	if (vm->fetch.debug_refused)
		vmp_warn("%s: %d debug files were not taken (over %llu MiB, or of another binary); some functions have no names",
			 vm->dom.shown, vm->fetch.debug_refused, VMP_FETCH_DEBUG_BYTES >> 20);
	vmp_vm_tell_no_module(vm, "ran");
	if (!vm->agent.counts.hellos && !vm->gone)
		vmp_warn("%s: no agent answered: guest user code stays unnamed\n"
			 "  install vmprof-guest-agent in the guest and start it: systemctl start vmprof-agent",
			 vm->dom.shown);
}

static void finish(struct vmp_session *s)
{
	char size[32], time[32];
	uint64_t bytes;
	int i, err;

	for (i = 0; i < s->nr_vms; i++) {
		vmp_carry_end(s->vms[i]);
		vmp_store_batch(s->vms[i]);
		store_objects(s, s->vms[i]);
	}
	store_objects(s, NULL);
	store_summary(s);
	bytes = vmp_writer_bytes(s->writer);
	err = vmp_writer_close(s->writer);
	s->writer = NULL;
	if (err)
		vmp_session_fail(s, "cannot finish %s: %s", s->path, strerror(-err));
	vmp_info("%" PRIu64 " samples in %s", s->samples,
		 vmp_format_time(time, sizeof(time), s->end_ns - s->begin_ns));
	if (s->opts->lbr.branches)
		vmp_info("  %" PRIu64 " with branches, %.1f each; %" PRIu64 " branches were cut off at VM entries and exits",
			 s->branches.samples,
			 s->branches.samples ? (double)s->branches.branches / (double)s->branches.samples : 0.0,
			 s->branches.cut);
	for (i = 0; i < s->nr_vms; i++)
		vmp_info("  %s: %" PRIu64 " in the guest%s", s->vms[i]->dom.shown,
			 s->vms[i]->samples, s->vms[i]->gone ? " (it ended meanwhile)" : "");
	tell_losses(s);
	for (i = 0; i < s->nr_vms; i++)
		tell_agent_losses(s->vms[i]);
	vmp_info("%s, %s", s->path, vmp_format_size(size, sizeof(size), bytes));
	vmp_session_phase(s, VMP_OVER);
}

void vmp_session_finish_step(struct vmp_session *s, uint64_t now_ns)
{
	uint64_t waited_ns = now_ns - s->phase_ns;
	int i, done = 1;

	if (s->phase == VMP_ENDING) {
		for (i = 0; i < s->nr_vms; i++)
			done &= vmp_early_step(s->vms[i], now_ns, 0);
		if (have_ended(s, waited_ns) && (done || waited_ns > KSYMS_PATIENCE_NS))
			begin_fetching(s);
		return;
	}
	for (i = 0; i < s->nr_vms; i++)
		done &= vmp_carry_step(s->vms[i], now_ns);
	if (done || waited_ns > FETCH_PATIENCE_NS)
		finish(s);
}
