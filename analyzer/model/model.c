// SPDX-License-Identifier: GPL-2.0-only
/* model.c - read a capture's blocks into a model; JSON blocks: meta.c. */
#include "model/model.h"

#include <endian.h>
#include <stddef.h>
#include <string.h>

#include "model/hosttext.h"
#include "model/lbr.h"
#include "model/meta.h"
#include "model/records.h"

uint32_t vmp_model_vm(const struct vmp_model *m, uint32_t vm)
{
	const uint32_t *i = vmp_hash_find(&m->vm_by_id, vm);

	return i ? *i : VMP_NONE;
}

int vmp_model_add_vm(struct vmp_model *m, uint32_t vm, uint32_t *index)
{
	uint32_t i = vmp_model_vm(m, vm);
	struct vmp_machine machine;

	if (i == VMP_NONE) {
		if (vmp_machine_init(&machine, vm))
			return -ENOMEM;
		if (vmp_vec_push(&m->vms, machine)) {
			vmp_machine_deinit(&machine);
			return -ENOMEM;
		}
		i = m->vms.nr - 1;
		if (vmp_hash_set(&m->vm_by_id, vm, i))
			return -ENOMEM;
	}
	*index = i;
	return 0;
}

static int on_record(void *arg, const struct vmprof_record *rec)
{
	struct vmp_model *m = arg;
	struct vmprof_rec_clock clock;
	struct vmprof_rec_lost lost;
	struct vmprof_rec_task task;
	uint32_t vm;
	int i, err;

	if (rec->type == VMPROF_REC_LOST && rec->size >= sizeof(lost)) {
		memcpy(&lost, rec, sizeof(lost));
		for (i = 0; !m->driver.at_stop && i < VMPROF_LOST_NR; i++)
			m->driver.lost[i] += lost.count[i];
	}
	if (rec->type == VMPROF_REC_CLOCK && rec->size >= sizeof(clock)) {
		memcpy(&clock, rec, sizeof(clock));
		struct vmp_clock_point p = {
			.host_tsc = clock.tsc, .offset = (uint64_t)clock.tsc_offset,
			.ratio = clock.tsc_ratio, .frac_bits = clock.frac_bits,
			.vcpu = clock.vcpu,
		};

		err = vmp_model_add_vm(m, clock.vm, &vm);
		return err ? err : vmp_clock_add(&m->vms.v[vm].clock, 1, &p);
	}
	if (rec->type == VMPROF_REC_TASK && rec->size >= sizeof(task)) {
		memcpy(&task, rec, sizeof(task));
		err = vmp_model_add_vm(m, task.vm, &vm);
		return err ? err : vmp_seen_add(&m->vms.v[vm].seen, &m->strings, &task);
	}
	return 0;
}

static int on_clock(struct vmp_model *m, uint32_t source, const void *data, size_t len)
{
	const uint8_t *p = data;
	struct vmprof_cap_clock c;
	uint32_t vm;
	int err;

	err = vmp_model_add_vm(m, source, &vm);
	for (; !err && len >= sizeof(c); len -= sizeof(c), p += sizeof(c)) {
		memcpy(&c, p, sizeof(c));
		struct vmp_clock_point point = {
			.host_tsc = le64toh(c.host_tsc), .offset = le64toh(c.offset),
			.ratio = le64toh(c.ratio), .error_tsc = le64toh(c.error_tsc),
			.vcpu = le32toh(c.vcpu), .frac_bits = le32toh(c.frac_bits),
		};

		err = vmp_clock_add(&m->vms.v[vm].clock, 0, &point);
	}
	return err;
}

static void on_totals(struct vmp_model *m, const void *data, size_t len)
{
	struct vmprof_cap_totals t = { 0 };
	int i;

	if (len < offsetof(struct vmprof_cap_totals, instruction_interrupts))
		return;
	memcpy(&t, data, len < sizeof(t) ? len : sizeof(t));
	if (!m->driver.at_stop) {
		memset(&m->driver, 0, sizeof(m->driver));
		m->driver.at_stop = 1;
	}
	m->driver.interrupts += le64toh(t.interrupts);
	m->driver.filtered += le64toh(t.filtered);
	m->driver.records += le64toh(t.records);
	m->driver.event_count += le64toh(t.event_count);
	m->driver.cycles += le64toh(t.cycles);
	m->driver.instructions += le64toh(t.instructions);
	m->driver.instruction_interrupts += le64toh(t.instruction_interrupts);
	m->driver.instruction_count += le64toh(t.instruction_count);
	m->driver.cpus++;
	for (i = 0; i < VMPROF_LOST_NR; i++)
		m->driver.lost[i] += le64toh(t.lost[i]);
}

static int on_agent(struct vmp_model *m, const struct vmp_block *b, const void *data, size_t len)
{
	uint32_t vm;
	int err = vmp_model_add_vm(m, b->source, &vm);

	return err ? err : vmp_machine_frames(&m->vms.v[vm], &m->strings, data, len, b->tsc_last);
}

static int on_host_ksyms(struct vmp_model *m, const void *data, size_t len)
{
	if (m->host_ksyms_text)
		return 0;
	m->host_ksyms_text = malloc(len ? len : 1);
	if (!m->host_ksyms_text)
		return -ENOMEM;
	memcpy(m->host_ksyms_text, data, len);
	return vmp_ksyms_parse(&m->host_ksyms, m->host_ksyms_text, len, &m->strings);
}

static void note_time(struct vmp_model *m, const struct vmp_block *b)
{
	if (b->tsc_first && (!m->first_tsc || b->tsc_first < m->first_tsc))
		m->first_tsc = b->tsc_first;
	if (b->tsc_last > m->last_tsc)
		m->last_tsc = b->tsc_last;
}

static int on_block(struct vmp_model *m, const struct vmp_block *b)
{
	const void *data;
	size_t len;
	int err;

	if (b->type == VMPROF_CAP_RECORDS)
		note_time(m, b);
	if (b->type == VMPROF_CAP_INDEX ||
	    (b->type == VMPROF_CAP_RECORDS && b->flags & VMPROF_CAP_SAMPLES))
		return 0;
	err = vmp_reader_data(m->reader, &data, &len);
	if (err)
		return err == -EBADMSG ? 0 : err;	/* the reader stops there */
	switch (b->type) {
	case VMPROF_CAP_META:
		return vmp_meta_session(m, data, len);
	case VMPROF_CAP_VM:
		return vmp_meta_vm(m, b->source, data, len);
	case VMPROF_CAP_OBJECTS:
		return vmp_meta_objects(m, b->source, data, len);
	case VMPROF_CAP_SUMMARY:
		return vmp_meta_summary(m, data, len);
	case VMPROF_CAP_RECORDS:
		return vmp_records_walk(data, len, NULL, on_record, m);
	case VMPROF_CAP_AGENT:
		return m->only_vm && b->source != m->only_vm ? 0 : on_agent(m, b, data, len);
	case VMPROF_CAP_CLOCK:
		return on_clock(m, b->source, data, len);
	case VMPROF_CAP_HOST_MAPS:
		return vmp_host_maps(m, b->source, data, len);
	case VMPROF_CAP_HOST_BUILD_IDS:
		return vmp_host_ids(m, data, len);
	case VMPROF_CAP_HOST_COMMS:
		return vmp_host_comms(m, data, len);
	case VMPROF_CAP_HOST_KSYMS:
		return on_host_ksyms(m, data, len);
	case VMPROF_CAP_TOTALS:
		on_totals(m, data, len);
		return 0;
	}
	return 0;
}

/* ------------------------------------------- agents without their module */

/* What the collector lost of an agent's messages, the history lacks. */
static int agent_was_heard(const struct vmp_model *m, const struct vmp_machine *vm)
{
	uint32_t i;

	for (i = 0; i < m->losses.nr; i++)
		if (m->losses.v[i].vm == vm->vm && m->losses.v[i].count &&
		    !strncmp(vmp_model_name(m, m->losses.v[i].name), "agent_", 6))
			return 0;
	return 1;
}

static int learn(void *arg, const struct vmprof_sample *s)
{
	struct vmp_model *m = arg;
	uint32_t i = vmp_model_vm(m, s->vm);
	struct vmp_machine *vm = i == VMP_NONE ? NULL : &m->vms.v[i];

	if (!vm || !vm->infer.known.nr || s->mode != VMPROF_MODE_GUEST || s->cpl != 3 ||
	    s->flags & VMPROF_SF_NESTED)
		return 0;
	return vmp_infer_learn(&vm->infer, &vm->space, s->guest_cr3, s->guest_ip, s->tsc);
}

/* Whose CR3s are whose, by the samples, where nobody told; they are read once more for it. */
static int infer(struct vmp_model *m)
{
	int err = 0, any = 0;
	uint32_t i;

	for (i = 0; !err && i < m->vms.nr; i++) {
		struct vmp_machine *vm = &m->vms.v[i];

		if (vm->infer.known.nr && !agent_was_heard(m, vm))
			vmp_vec_free(&vm->infer.known);
		any |= vm->infer.known.nr != 0;
		/* perf's clock and ours were read one after the other: 10 us more */
		err = vmp_infer_build(&vm->infer, &vm->space,
				      vm->clock.error_tsc + m->header.tsc_khz / 100);
	}
	return err || !any ? err : vmp_model_samples(m, learn, m);
}

int vmp_model_open(struct vmp_model **out, const char *path)
{
	return vmp_model_open_vm(out, path, 0);
}

int vmp_model_open_vm(struct vmp_model **out, const char *path, uint32_t vm)
{
	struct vmp_model *m = calloc(1, sizeof(*m));
	struct vmp_block b;
	uint32_t i;
	int err;

	if (!m)
		return -ENOMEM;
	m->only_vm = vm;
	err = vmp_strings_init(&m->strings);
	if (!err)
		err = vmp_reader_open(&m->reader, path);
	if (err)
		goto close;
	m->header = *vmp_reader_header(m->reader);
	while ((err = vmp_reader_next(m->reader, &b)) > 0) {
		err = on_block(m, &b);
		if (err)
			goto close;
	}
	vmp_weigh_init(m);
	for (i = 0; !err && i < m->vms.nr; i++)
		err = vmp_machine_build(&m->vms.v[i], &m->strings, m->header.tsc,
					m->last_tsc ? m->last_tsc : UINT64_MAX);
	if (!err)
		err = infer(m);
	if (err)
		goto close;
	*out = m;
	return 0;

close:
	vmp_model_close(m);
	return err;
}

void vmp_model_close(struct vmp_model *m)
{
	uint32_t i;

	if (!m)
		return;
	for (i = 0; i < m->vms.nr; i++)
		vmp_machine_deinit(&m->vms.v[i]);
	for (i = 0; i < m->procs.nr; i++)
		vmp_vec_free(&m->procs.v[i].maps);
	for (i = 0; i < m->elfs.nr; i++)
		vmp_elf_close(m->elfs.v[i]);
	vmp_vec_free(&m->vms);
	vmp_vec_free(&m->procs);
	vmp_vec_free(&m->elfs);
	vmp_vec_free(&m->losses);
	vmp_hash_free(&m->vm_by_id);
	vmp_hash_free(&m->vcpu_by_tid);
	vmp_hash_free(&m->proc_by_tgid);
	vmp_hash_free(&m->elf_by_path);
	vmp_hash_free(&m->host_ids);
	vmp_symtab_free(&m->host_ksyms);
	free(m->host_ksyms_text);
	vmp_reader_close(m->reader);
	vmp_strings_deinit(&m->strings);
	free(m);
}

/* Each block of records in turn */
static int each_block(struct vmp_model *m, int (*fn)(const void *data, size_t len, void *arg), void *arg)
{
	struct vmp_block b;
	const void *data;
	size_t len;
	int err;

	vmp_reader_rewind(m->reader);
	while ((err = vmp_reader_next(m->reader, &b)) > 0) {
		if (b.type != VMPROF_CAP_RECORDS)
			continue;
		err = vmp_reader_data(m->reader, &data, &len);
		if (err == -EBADMSG)
			continue;	/* the reader stops there */
		if (!err)
			err = fn(data, len, arg);
		if (err)
			return err;
	}
	return err;
}

struct walk {
	int (*sample)(void *arg, const struct vmprof_sample *s);
	int (*lbr)(void *arg, const struct vmp_lbr_sample *s);
	void *arg;
};

static int walk_samples(const void *data, size_t len, void *arg)
{
	const struct walk *w = arg;

	return vmp_records_walk(data, len, w->sample, NULL, w->arg);
}

static int walk_branches(const void *data, size_t len, void *arg)
{
	const struct walk *w = arg;
	struct vmp_lbr_losses losses = { 0 };

	return vmp_lbr_walk(data, len, &losses, w->lbr, w->arg);
}

int vmp_model_samples(struct vmp_model *m,
		      int (*fn)(void *arg, const struct vmprof_sample *s), void *arg)
{
	struct walk w = { .sample = fn, .arg = arg };

	return each_block(m, walk_samples, &w);
}

int vmp_model_lbr_samples(struct vmp_model *m, int (*fn)(void *arg, const struct vmp_lbr_sample *s), void *arg)
{
	struct walk w = { .lbr = fn, .arg = arg };

	return each_block(m, walk_branches, &w);
}
