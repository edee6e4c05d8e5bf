// SPDX-License-Identifier: GPL-2.0-only
/* columns.c - names and values of what a row has. */
#include "report/columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/profile.h"
#include "report/render.h"

static const struct {
	const char *name, *title;
} columns[VMP_COL_NR] = {
	[VMP_COL_DOMAIN] = { "domain", "Domain" },
	[VMP_COL_PROCESS] = { "process", "Process" },
	[VMP_COL_PID] = { "pid", "PID" },
	[VMP_COL_NSPID] = { "nspid", "NSPID" },
	[VMP_COL_CGROUP] = { "cgroup", "Cgroup" },
	[VMP_COL_THREAD] = { "thread", "Thread" },
	[VMP_COL_VCPU] = { "vcpu", "vCPU" },
	[VMP_COL_MODULE] = { "module", "Module" },
	[VMP_COL_BUILD_ID] = { "build-id", "Build-id" },
	[VMP_COL_FUNCTION] = { "function", "Function" },
	[VMP_COL_EXIT] = { "exit", "Exit" },
	[VMP_COL_SIDE] = { "side", "Time" },
	[VMP_COL_THIEF] = { "thief", "Taken by" },
	[VMP_COL_SAMPLES] = { "samples", "Samples" },
	[VMP_COL_PERCENT] = { "percent", "%CPU" },
	[VMP_COL_CYCLES] = { "cycles", "Cycles" },
	[VMP_COL_INSTRUCTIONS] = { "instructions", "Instructions" },
	[VMP_COL_CPI] = { "cpi", "CPI" },
	[VMP_COL_IPC] = { "ipc", "IPC" },
	[VMP_COL_INSN_SAMPLES] = { "instruction-samples", "Insn smpl" },
	[VMP_COL_BEFORE] = { "before", "Before" },
	[VMP_COL_AFTER] = { "after", "After" },
	[VMP_COL_DELTA] = { "delta", "Delta" },
};

const char *vmp_column_name(enum vmp_column c)
{
	return columns[c].name;
}

const char *vmp_column_names(void)
{
	static char all[256];
	int i, n = 0;

	for (i = 0; i < VMP_COL_NR; i++)
		if (i != VMP_COL_THIEF)		/* in --steal, which has columns of its own */
			n += snprintf(all + n, sizeof(all) - (size_t)n, "%s%s", n ? ", " : "", columns[i].name);
	return all;
}

const char *vmp_column_title(enum vmp_column c)
{
	return columns[c].title;
}

int vmp_column_find(const char *name, size_t len)
{
	int i;

	if (len == 4 && !memcmp(name, "%cpu", 4))
		return VMP_COL_PERCENT;
	for (i = 0; i < VMP_COL_NR; i++)
		if (strlen(columns[i].name) == len && !memcmp(columns[i].name, name, len))
			return i;
	return -1;
}

int vmp_column_give_way(struct vmp_column_list *list)
{
	int i;

	for (i = 0; i < list->nr; i++) {
		if (!(list->unasked & VMP_KEY(list->column[i])))
			continue;
		list->nr--;
		memmove(&list->column[i], &list->column[i + 1], (size_t)(list->nr - i));
		return i;
	}
	return -1;
}

int vmp_column_is_number(enum vmp_column c)
{
	return VMP_IS_MEASURE(c) || c == VMP_COL_PID || c == VMP_COL_NSPID || c == VMP_COL_VCPU;
}

/* Cycles or instructions of a row: @n of them, or samples that stand for @each */
static double weight(uint64_t n, uint64_t each)
{
	return (double)n * (each ? (double)each : 1);
}

static double cycles(const struct vmp_profile *p, const struct vmp_row *row)
{
	return weight(row->cycles, p->model->pair.cycles);
}

static double instructions(const struct vmp_profile *p, const struct vmp_row *row)
{
	return weight(row->instructions, p->model->pair.instructions);
}

static int ratio(double a, double b, double *n)
{
	*n = a > 0 && b > 0 ? a / b : 0;
	return *n > 0;
}

static int known(uint32_t value, double *n)
{
	*n = value;
	return value != VMP_NONE;
}

/* Share of the other capture's row beside this one */
static double before(const struct vmp_domain *d, const struct vmp_row *row)
{
	return vmp_percent(row->before, d->before_total);
}

int vmp_column_number(const struct vmp_profile *p, const struct vmp_domain *d, const struct vmp_row *row, enum vmp_column c, double *n)
{
	switch (c) {
	case VMP_COL_PID:
		return known(row->pid, n);
	case VMP_COL_NSPID:
		return known(row->nspid, n);
	case VMP_COL_VCPU:
		return known(row->track & VMP_TRACK_IS_THREAD ? VMP_NONE : row->track, n);
	case VMP_COL_SAMPLES:
		*n = (double)row->samples;
		return 1;
	case VMP_COL_PERCENT:
	case VMP_COL_AFTER:
		*n = vmp_percent(row->samples, d->total);
		return 1;
	case VMP_COL_CYCLES:
		*n = cycles(p, row);
		return row->cycles || !row->samples;
	case VMP_COL_INSTRUCTIONS:
		*n = instructions(p, row);
		return row->instructions || !row->samples;
	case VMP_COL_CPI:
		return ratio(cycles(p, row), instructions(p, row), n);
	case VMP_COL_IPC:
		return ratio(instructions(p, row), cycles(p, row), n);
	case VMP_COL_INSN_SAMPLES:
		*n = vmp_weigh_paired(p->model) ? (double)row->instruction_samples : 0;
		return vmp_weigh_paired(p->model);
	case VMP_COL_BEFORE:
		*n = before(d, row);
		return 1;
	case VMP_COL_DELTA:
		*n = vmp_percent(row->samples, d->total) - before(d, row);
		return 1;
	default:
		return 0;
	}
}

uint32_t vmp_column_string(const struct vmp_profile *p, const struct vmp_domain *d,
			   const struct vmp_row *row, enum vmp_column c)
{
	switch (c) {
	case VMP_COL_DOMAIN:
		return d->vm == VMP_NONE ? VMP_NONE : p->model->vms.v[d->vm].name;
	case VMP_COL_PROCESS:
		return row->comm;
	case VMP_COL_MODULE:
		return row->module;
	case VMP_COL_BUILD_ID:
		return row->build_id;
	case VMP_COL_CGROUP:
		return row->cgroup ? row->cgroup : VMP_NONE;
	case VMP_COL_THREAD:
		return row->thread ? row->thread : VMP_NONE;
	case VMP_COL_FUNCTION:
		return row->function;
	case VMP_COL_EXIT:
	case VMP_COL_THIEF:
		return row->cause;
	default:
		return VMP_NONE;
	}
}

static const char *side_title(enum vmp_side side)
{
	static const char *const title[] = {
		[VMP_SIDE_KERNEL] = "guest kernel", [VMP_SIDE_USER] = "guest user",
		[VMP_SIDE_VMM] = "VMM", [VMP_SIDE_STEAL] = "steal", [VMP_SIDE_HOST] = "host",
		[VMP_SIDE_NR] = "",
	};

	return title[side];
}

const char *vmp_column_text(const struct vmp_profile *p, const struct vmp_domain *d,
			    const struct vmp_row *row, enum vmp_column c, char *buf)
{
	uint32_t str = vmp_column_string(p, d, row, c);
	double n;

	if (str != VMP_NONE)
		return vmp_model_name(p->model, str);
	if (c == VMP_COL_DOMAIN)
		return "(host)";
	if (c == VMP_COL_SIDE)
		return side_title(row->side);
	if (c == VMP_COL_THREAD && row->track == VMP_NONE)
		return "-";
	if (c == VMP_COL_THREAD)
		snprintf(buf, 64, "%s %" PRIu32, row->track & VMP_TRACK_IS_THREAD ? "thread" : "vCPU",
			 row->track & ~VMP_TRACK_IS_THREAD);
	else if (vmp_column_number(p, d, row, c, &n))
		snprintf(buf, 64, "%.0f", n);
	else
		return "-";
	return buf;
}
