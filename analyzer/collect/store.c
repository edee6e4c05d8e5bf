// SPDX-License-Identifier: GPL-2.0-only
/* store.c - what the collector puts into the capture file. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/clock.h"
#include "collect/session.h"
#include "model/records.h"
#include "util/log.h"

#define BATCH_BYTES	(256U << 10)	/* of frames, then they are written */

int vmp_store(struct vmp_session *s, unsigned int type, uint32_t source, const void *data,
	      size_t len, uint64_t tsc_first, uint64_t tsc_last)
{
	int err;

	if (!s->writer)
		return -EBADF;
	err = vmp_writer_block(s->writer, type, source, data, len, tsc_first, tsc_last);
	if (err)
		vmp_session_fail(s, "cannot write %s: %s%s", s->path, strerror(-err),
				 err == -ENOSPC ? "\n  free some room, or choose another --output" : "");
	return err;
}

/* ---------------------------------------------------------- records */

struct batch {
	uint64_t tsc_first, tsc_last;
	uint64_t records, samples;
	struct vmp_branches branches;
};

static void see_sample(struct vmp_session *s, const struct vmprof_sample *sample)
{
	struct vmp_vm *vm = sample->vm ? vmp_session_vm(s, sample->vm) : NULL;

	if (vm && sample->mode == VMPROF_MODE_GUEST)
		vm->samples++;
	if (vm && sample->mode == VMPROF_MODE_GUEST && !(sample->flags & VMPROF_SF_NESTED))
		vmp_kcopy_sample(&vm->kcopy, sample->guest_cr3);
	if (!vm && sample->vm)
		s->unknown_vm = sample->vm;
	if (sample->host_tid)
		vmp_comms_see(&s->comms, sample->host_pid, sample->host_tid);
}

static void see_branches(const struct vmprof_rec_lbr *rec, struct vmp_branches *sum)
{
	sum->samples += !!rec->nr;
	sum->branches += rec->nr;
	sum->cut += rec->cut;
}

/* All known kinds have their TSC first. */
static void see_time(const struct vmprof_record *rec, struct batch *b)
{
	uint64_t tsc;

	memcpy(&tsc, rec + 1, sizeof(tsc));
	if (tsc < b->tsc_first || !b->tsc_first)
		b->tsc_first = tsc;
	if (tsc > b->tsc_last)
		b->tsc_last = tsc;
}

/* A guest whose clock went back by more than a clock is set by was put back itself. */
static void see_clock(struct vmp_session *s, const struct vmprof_rec_clock *c)
{
	struct vmp_vm *vm = c->vcpu ? NULL : vmp_session_vm(s, c->vm);

	/* rings of several pCPUs are not read in the order of time */
	if (!vm || c->tsc <= vm->tsc_offset_at)
		return;
	if (vm->tsc_offset_at && vm->tsc_offset != c->tsc_offset)
		s->news = 1;
	if (vm->tsc_offset_at && (int64_t)((uint64_t)vm->tsc_offset - (uint64_t)c->tsc_offset) > s->tsc_khz)
		vmp_agent_went_back(&vm->agent);
	vm->tsc_offset = c->tsc_offset;
	vm->tsc_offset_at = c->tsc;
}

/* The records were checked when they left the ring, and are aligned as they were there. */
static void see_records(struct vmp_session *s, const uint8_t *data, size_t len, struct batch *b)
{
	unsigned int sample = 0;	/* type of the last one: its branches come next */
	const struct vmprof_record *rec;
	size_t at;

	for (at = 0; at < len; at += rec->size) {
		rec = (const void *)(data + at);
		b->records++;
		if (rec->size < sizeof(*rec) + sizeof(uint64_t))
			continue;
		see_time(rec, b);
		sample = vmp_record_is_sample(rec) ? rec->type : sample;
		if (rec->type == VMPROF_REC_SAMPLE && rec->size >= sizeof(struct vmprof_sample)) {
			b->samples++;
			see_sample(s, (const void *)rec);
		} else if (rec->type == VMPROF_REC_LBR && rec->size >= sizeof(struct vmprof_rec_lbr) &&
			   sample == VMPROF_REC_SAMPLE) {
			see_branches((const void *)rec, &b->branches);
		} else if (rec->type == VMPROF_REC_CLOCK && rec->size >= sizeof(struct vmprof_rec_clock)) {
			see_clock(s, (const void *)rec);
		}
	}
}

static void store_records(struct vmp_session *s, uint32_t cpu, size_t len)
{
	struct batch b = { 0 };

	see_records(s, s->scratch, len, &b);
	if (vmp_store(s, VMPROF_CAP_RECORDS, cpu, s->scratch, len, b.tsc_first, b.tsc_last)) {
		s->lost_at_store += b.records;
		return;
	}
	s->samples += b.samples;
	s->branches.samples += b.branches.samples;
	s->branches.branches += b.branches.branches;
	s->branches.cut += b.branches.cut;
}

/*
 * What the ring has now.  Storing is itself sampled: where writing a block takes longer than a
 * sample to come, the ring never becomes empty, and the others would fill up meanwhile.
 */
static void drain(struct vmp_session *s, uint32_t cpu)
{
	struct vmp_ring *ring = &s->driver.rings[cpu];
	uint64_t until = ring->tail + vmp_ring_waiting(ring);
	size_t len;

	do {
		len = vmp_ring_read(ring, s->scratch, VMP_SCRATCH_BYTES);
		if (len)
			store_records(s, cpu, len);
	} while (len && (int64_t)(until - ring->tail) > 0);
}

void vmp_store_rings(struct vmp_session *s)
{
	uint32_t cpu;

	for (cpu = 0; s->driver.rings && cpu < s->driver.query.nr_cpus; cpu++)
		drain(s, cpu);
}

/* ------------------------------------------------------------ frames */

static uint64_t count_frames(const uint8_t *p, size_t len)
{
	struct vmprof_frame f;
	uint64_t nr = 0;
	size_t at;

	for (at = 0; at < len; at += sizeof(f) + le32toh(f.len), nr++)
		memcpy(&f, p + at, sizeof(f));
	return nr;
}

void vmp_store_batch(struct vmp_vm *vm)
{
	if (!vm->batch_len)
		return;
	/* the last of the disk is for samples: no guest shall end the others' session */
	if (vmp_writer_room(vm->session->writer) < vm->batch_len ||
	    vmp_store(vm->session, VMPROF_CAP_AGENT, vm->dom.pid, vm->batch, vm->batch_len, 0, 0))
		vm->dropped_frames += count_frames(vm->batch, vm->batch_len);
	vm->batch_len = 0;
}

void vmp_store_frame(struct vmp_vm *vm, const struct vmprof_frame *wire, const void *payload,
		     uint32_t len)
{
	size_t need = sizeof(*wire) + len;

	if (!vm->batch) {
		vm->batch_room = BATCH_BYTES + VMP_FRAME_BYTES_MAX;
		vm->batch = malloc(vm->batch_room);
	}
	if (!vm->batch) {
		vm->dropped_frames++;
		return;
	}
	memcpy(vm->batch + vm->batch_len, wire, sizeof(*wire));
	memcpy(vm->batch + vm->batch_len + sizeof(*wire), payload, len);
	vm->batch_len += need;
	if (vm->batch_len >= BATCH_BYTES)
		vmp_store_batch(vm);
}

/* -------------------------------------------------------- about a VM */

void vmp_store_vm(struct vmp_vm *vm)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	vmp_vm_json(vm, f);
	if (!fclose(f))
		vmp_store(vm->session, VMPROF_CAP_VM, vm->dom.pid, text, len, 0, 0);
	free(text);
}

void vmp_store_clocks(struct vmp_vm *vm)
{
	struct vmprof_cap_clock *wire;
	int i;

	if (!vm->nr_vcpus || !vm->clocks[0].host_tsc)
		return;
	wire = calloc(vm->nr_vcpus, sizeof(*wire));
	if (!wire)
		return;
	for (i = 0; i < vm->nr_vcpus; i++) {
		const struct vmprof_cap_clock *c = &vm->clocks[i];

		wire[i] = (struct vmprof_cap_clock){
			.host_tsc = htole64(c->host_tsc), .offset = htole64(c->offset),
			.ratio = htole64(c->ratio), .vcpu = htole32(c->vcpu),
			.frac_bits = htole32(c->frac_bits), .error_tsc = htole64(c->error_tsc),
		};
	}
	vmp_store(vm->session, VMPROF_CAP_CLOCK, vm->dom.pid, wire,
		  vm->nr_vcpus * sizeof(*wire), vm->clocks[0].host_tsc, vm->clocks[0].host_tsc);
	free(wire);
}

void vmp_store_comms(struct vmp_session *s)
{
	if (s->comms.len)
		vmp_store(s, VMPROF_CAP_HOST_COMMS, 0, s->comms.text, s->comms.len, 0, 0);
	s->comms.len = 0;
}
