// SPDX-License-Identifier: GPL-2.0-only
/* tableread.c - what is asked of a finished table: its samples in order of time, and names. */
#include <stdio.h>
#include <string.h>

#include "export/cells.h"
#include "export/order.h"
#include "util/text.h"

struct again {
	struct vmp_table *t;
	struct vmp_order order;
	int (*fn)(void *arg, uint64_t ns, const struct vmp_line *line);
	void *arg;
};

static uint64_t tsc_ns(const struct vmp_table *t, uint64_t ticks)
{
	uint32_t khz = t->model->header.tsc_khz;

	return khz ? (uint64_t)((__uint128_t)ticks * 1000000 / khz) : ticks;
}

uint64_t vmp_table_ns(const struct vmp_table *t, uint64_t tsc)
{
	uint64_t start = t->model->header.tsc;

	return tsc_ns(t, tsc > start ? tsc - start : 0);
}

static int on_moment(void *arg, const struct vmp_moment *m)
{
	const struct again *a = arg;

	return a->fn(a->arg, vmp_table_ns(a->t, m->tsc), &a->t->lines.v[m->line]);
}

static int on_sample_again(void *arg, const struct vmprof_sample *s)
{
	struct again *a = arg;
	struct vmp_moment moment = { .tsc = s->tsc };
	uint32_t cell;
	int err;

	if (s->hdr.type != VMPROF_REC_SAMPLE)
		return 0;
	err = vmp_cells_find(a->t->cells, a->t->model, s, &cell);
	if (err || cell == VMP_NONE)
		return err;
	moment.line = a->t->cells->cells.v[cell].line;
	return moment.line == VMP_NONE ? 0 : vmp_order_add(&a->order, &moment);
}

int vmp_table_samples(struct vmp_table *t, uint64_t *late,
		      int (*fn)(void *arg, uint64_t ns, const struct vmp_line *line), void *arg)
{
	struct again a = { .t = t, .fn = fn, .arg = arg };
	int err;

	vmp_order_init(&a.order, on_moment, &a);
	err = vmp_model_samples(t->model, on_sample_again, &a);
	if (!err)
		err = vmp_order_flush(&a.order);
	*late = a.order.late;
	vmp_order_deinit(&a.order);
	return err;
}

/* ------------------------------------------------------------------- words */

uint64_t vmp_table_interval_ns(const struct vmp_table *t)
{
	const struct vmp_model *m = t->model;
	uint64_t samples = 0, ns = 0;
	uint32_t i;

	if (!strcmp(vmp_model_name(m, m->meta.trigger), "timer"))
		ns = m->meta.period;
	else if (!strcmp(vmp_model_name(m, m->meta.event), "cycles"))
		ns = tsc_ns(t, m->meta.period);
	for (i = 0; !ns && i < t->domains.nr; i++)
		samples += t->domains.v[i].sum.samples;
	if (!ns && samples)
		ns = tsc_ns(t, m->last_tsc - m->first_tsc) / samples * t->tracks.nr;
	return ns ? ns : 1;
}

const char *vmp_table_domain_name(const struct vmp_table *t, uint32_t domain)
{
	const struct vmp_table_domain *d = &t->domains.v[domain];

	return d->vm == VMP_NONE ? "[host]" : vmp_table_str(t, d->name);
}

const char *vmp_table_comm(const struct vmp_table *t, const struct vmp_line *line)
{
	const struct vmp_task *task = &t->tasks.v[line->task];

	if (task->comm || task->pid != VMP_NONE)
		return vmp_table_str(t, task->comm);
	return line->side == VMP_SIDE_STEAL ? "[steal]" : "[idle]";
}

const char *vmp_table_build_id(char *buf, const struct vmp_table *t, const struct vmp_mapping *map)
{
	const struct vmp_file *f;

	*buf = 0;
	if (map->file == VMP_NONE)
		return buf;
	f = &t->model->vms.v[map->vm].files.v[map->file];
	return vmp_text_hex(buf, f->build_id, f->build_id_len);
}

const char *vmp_track_name(char *buf, const struct vmp_track *track)
{
	static const char *const kind[] = {
		[VMP_TRACK_VCPU] = "vCPU", [VMP_TRACK_THREAD] = "thread", [VMP_TRACK_PCPU] = "pCPU",
	};

	snprintf(buf, VMP_TRACK_NAME_MAX, "%s %u", kind[track->kind], track->id);
	return buf;
}
