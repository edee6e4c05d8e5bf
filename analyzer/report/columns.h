/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * columns.h - what a row of a report can be told apart by, show, and be
 * sorted and filtered by: one table for text, JSON, the tree and the filter.
 *
 * Keys tell rows apart; measures are numbers of a row.  Every measure is read
 * through vmp_column_number().
 */
#ifndef VMP_COLUMNS_H
#define VMP_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

enum vmp_column {
	VMP_COL_DOMAIN,
	VMP_COL_PROCESS,
	VMP_COL_PID,
	VMP_COL_NSPID,		/* as the process's own pid namespace has it */
	VMP_COL_CGROUP,
	VMP_COL_THREAD,		/* the guest's thread; not known: the vCPU; or the host's thread */
	VMP_COL_VCPU,
	VMP_COL_MODULE,
	VMP_COL_BUILD_ID,
	VMP_COL_FUNCTION,
	VMP_COL_EXIT,
	VMP_COL_SIDE,
	VMP_COL_THIEF,		/* of steal: the host's task that ran meanwhile */
	VMP_COL_KEYS,
	VMP_COL_SAMPLES = VMP_COL_KEYS,
	VMP_COL_PERCENT,
	VMP_COL_CYCLES,
	VMP_COL_INSTRUCTIONS,
	VMP_COL_CPI,
	VMP_COL_IPC,
	VMP_COL_INSN_SAMPLES,	/* where two events were sampled */
	VMP_COL_BEFORE,		/* two captures compared: shares, and their difference */
	VMP_COL_AFTER,
	VMP_COL_DELTA,
	VMP_COL_NR
};

#define VMP_KEY(column)		(1U << (column))
#define VMP_IS_MEASURE(column)	((column) >= VMP_COL_KEYS)

/* The sets of keys that have names of their own */
#define VMP_BY_FUNCTION	(VMP_KEY(VMP_COL_FUNCTION) | VMP_KEY(VMP_COL_MODULE) | VMP_KEY(VMP_COL_PROCESS) | \
			 VMP_KEY(VMP_COL_SIDE))
#define VMP_BY_PROCESS	(VMP_KEY(VMP_COL_PROCESS) | VMP_KEY(VMP_COL_PID))
#define VMP_BY_MODULE	(VMP_KEY(VMP_COL_MODULE) | VMP_KEY(VMP_COL_SIDE))
#define VMP_BY_VCPU	VMP_KEY(VMP_COL_VCPU)
#define VMP_BY_EXIT	(VMP_KEY(VMP_COL_EXIT) | VMP_KEY(VMP_COL_SIDE))

#define VMP_BY_WAITERS	(VMP_KEY(VMP_COL_FUNCTION) | VMP_KEY(VMP_COL_MODULE) | VMP_KEY(VMP_COL_PROCESS) | \
			 VMP_KEY(VMP_COL_VCPU) | VMP_KEY(VMP_COL_THIEF))

/* A row's track: a vCPU's number, or a thread of the host */
#define VMP_TRACK_IS_THREAD	0x80000000U

struct vmp_profile;
struct vmp_domain;
struct vmp_row;

struct vmp_column_list {
	uint8_t column[VMP_COL_NR];
	int nr;
	uint32_t unasked;	/* VMP_KEY() of those that came along, and give way where there is no room */
};

/** vmp_column_give_way() - Take the first that nobody asked for out.  Return: where it was; -1 none is left. */
int vmp_column_give_way(struct vmp_column_list *list);

/** vmp_column_name() - As it is written in options and in JSON: "build-id". */
const char *vmp_column_name(enum vmp_column c);

/** vmp_column_names() - Those that options take, with commas between. */
const char *vmp_column_names(void);

/** vmp_column_title() - Head of its column in text. */
const char *vmp_column_title(enum vmp_column c);

/** vmp_column_find() - By its name, @len bytes; "%cpu" is percent.  Return: -1 none is called so. */
int vmp_column_find(const char *name, size_t len);

/** vmp_column_is_number() - 1 when its values are numbers: measures, pid, nspid, vcpu. */
int vmp_column_is_number(enum vmp_column c);

/* Those that need the cycles and instructions of samples; of them those that need the latter, which may
   be others'; and those of a comparison */
#define VMP_COLUMNS_WEIGHTED	(VMP_KEY(VMP_COL_CYCLES) | VMP_KEY(VMP_COL_INSTRUCTIONS) | \
				 VMP_KEY(VMP_COL_CPI) | VMP_KEY(VMP_COL_IPC))
#define VMP_COLUMNS_RATED	(VMP_KEY(VMP_COL_INSTRUCTIONS) | VMP_KEY(VMP_COL_CPI) | VMP_KEY(VMP_COL_IPC))
#define VMP_COLUMNS_COMPARED	(VMP_KEY(VMP_COL_BEFORE) | VMP_KEY(VMP_COL_AFTER) | VMP_KEY(VMP_COL_DELTA))

/** vmp_column_number() - Value of a numeric column.  Return: 1, or 0 it is not known. */
int vmp_column_number(const struct vmp_profile *p, const struct vmp_domain *d, const struct vmp_row *row, enum vmp_column c, double *n);

/** vmp_column_string() - Number of the string that a key's cell shows; VMP_NONE none of the model's. */
uint32_t vmp_column_string(const struct vmp_profile *p, const struct vmp_domain *d,
			   const struct vmp_row *row, enum vmp_column c);

/**
 * vmp_column_text() - A key's value, as the guest or host gave it: not safe for a terminal.
 * @buf: 64 bytes, used for values that are no strings of the model.
 */
const char *vmp_column_text(const struct vmp_profile *p, const struct vmp_domain *d,
			    const struct vmp_row *row, enum vmp_column c, char *buf);

#endif
