// SPDX-License-Identifier: GPL-2.0-only
/* status.c - what the collector tells of itself while it runs. */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "collect/clock.h"
#include "collect/session.h"
#include "util/text.h"

static const char *phase_name(enum vmp_phase phase)
{
	static const char *const name[] = {
		[VMP_PREPARING] = "preparing", [VMP_SAMPLING] = "sampling",
		[VMP_FAILED] = "failed", [VMP_ENDING] = "ending",
		[VMP_FETCHING] = "fetching", [VMP_OVER] = "over",
	};

	return name[phase];
}

static void write_vm(const struct vmp_vm *vm, FILE *f)
{
	const struct vmp_agent *a = &vm->agent;
	char why[128];
	int i;

	fputs("{\"name\":", f);
	vmp_json_str(f, vm->dom.name);
	fprintf(f, ",\"pid\":%u,\"vcpus\":%d,\"ended\":%s,\"samples\":%" PRIu64
		",\"clock_source\":\"%s\",\"tasks\":\"%s\",\"agent\":{\"state\":\"%s\",\"port_open\":%s,\"release\":",
		vm->dom.pid, vm->nr_vcpus, vm->gone ? "true" : "false", vm->samples,
		vmp_clock_source_name(vm->source), vmp_tasks_state_name(vm->tasks.state), vmp_agent_state_name(a),
		vm->port_open < 0 ? "null" : vm->port_open ? "true" : "false");
	vmp_json_str(f, a->release);
	if (a->flags & VMPROF_HELLO_NO_MODULE) {
		fputs(",\"without_module\":", f);
		vmp_json_str(f, vmp_no_module_text(why, a->flags, a->module_error));
		fprintf(f, ",\"without_perf\":%s", a->flags & VMPROF_HELLO_NO_PERF ? "true" : "false");
	}
	fprintf(f, ",\"hellos\":%" PRIu64 ",\"frames\":%" PRIu64 ",\"bytes\":%" PRIu64
		",\"bad_bytes\":%" PRIu64 ",\"bad_frames\":%" PRIu64 ",\"bad_payloads\":%" PRIu64
		",\"seq_gaps\":%" PRIu64 ",\"stale\":%" PRIu64 ",\"dropped_frames\":%" PRIu64
		",\"dropped_hellos\":%" PRIu64 ",\"unsent\":%" PRIu64 ",\"kernel_symbols\":%s,\"kernel_symbols_kept\":%" PRIu64 ",\"lost\":[",
		a->counts.hellos, a->counts.kept, a->counts.kept_bytes, a->in.stats.bad_bytes,
		a->in.stats.bad_frames, a->counts.refused, a->in.stats.seq_gaps, a->counts.stale,
		vmp_vm_dropped_frames(vm), a->counts.hellos_dropped, a->counts.unsent,
		a->ksyms_whole ? "true" : "false", a->counts.ksyms_kept);
	for (i = 0; i < VMPROF_GLOST_NR; i++)
		fprintf(f, "%s%" PRIu64, i ? "," : "", a->counts.lost[i]);
	fputs("]}}", f);
}

static void write_losses(const struct vmp_session *s, FILE *f)
{
	uint64_t lost[VMPROF_LOST_NR];
	int i, nr = 0;

	vmp_session_losses(s, lost);
	fputs(",\"lost\":{", f);
	for (i = 0; i < VMPROF_LOST_NR; i++)
		if (vmp_lost_names[i])
			fprintf(f, "%s\"%s\":%" PRIu64, nr++ ? "," : "", vmp_lost_names[i], lost[i]);
	fprintf(f, ",\"not_written\":%" PRIu64 "}", s->lost_at_store);
}

char *vmp_session_status(struct vmp_session *s)
{
	const struct vmp_lbr lbr = vmp_lbr_on(&s->opts->lbr, &s->driver.query);
	uint64_t end_ns = s->end_ns ? s->end_ns : vmp_now_ns();
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int i;

	if (!f)
		return NULL;
	fprintf(f, "{\"running\":true,\"phase\":\"%s\",\"pid\":%d,\"file\":", phase_name(s->phase),
		getpid());
	vmp_json_str(f, s->path);
	fprintf(f, ",\"bytes\":%" PRIu64 ",\"seconds\":%.1f,\"event\":",
		s->writer ? vmp_writer_bytes(s->writer) : 0,
		s->begin_ns ? (double)(end_ns - s->begin_ns) / 1e9 : 0.0);
	vmp_json_str(f, s->event.name);
	fprintf(f, ",\"period\":%" PRIu64 ",\"instruction_period\":%" PRIu64 ",\"random\":%s,\"trigger\":\"%s\",\"samples\":%" PRIu64, s->period, s->instruction_period,
		s->opts->random ? "true" : "false", s->event.is_timer ? "timer" : "pmc", s->samples);
	write_losses(s, f);
	fputs(",\"lbr\":", f);
	vmp_lbr_json(&lbr, f);
	fprintf(f, ",\"branches\":{\"samples\":%" PRIu64 ",\"branches\":%" PRIu64 ",\"cut\":%" PRIu64
		"}", s->branches.samples, s->branches.branches, s->branches.cut);
	fputs(",\"error\":", f);
	if (s->error[0])
		vmp_json_str(f, s->error);
	else
		fputs("null", f);
	fputs(",\"domains\":[", f);
	for (i = 0; i < s->nr_vms; i++) {
		fputs(i ? "," : "", f);
		write_vm(s->vms[i], f);
	}
	fputs("]}", f);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}
