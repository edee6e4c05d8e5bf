/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * table.h - the samples of a capture as a table, the one source of all exports.
 *
 * A line is what samples of one process, track, function (or address) and exit
 * reason add up to; memory grows with lines, not with samples.  Everything is sorted
 * (domains and processes by name, sites by module and function), so the same
 * capture gives the same bytes.  Formats that need single samples run over
 * them once more, in order of time: vmp_table_samples().
 */
#ifndef VMP_TABLE_H
#define VMP_TABLE_H

#include <stdint.h>

#include "model/model.h"
#include "report/origin.h"

/* What a user asked for */
struct vmp_choice {
	const char *domain, *comm;	/* shell patterns, NULL all */
	int vcpu;			/* -1 all */
	int64_t pid;			/* -1 all */
	int all_host;			/* host work that is no domain's, too */
	int addresses;			/* a site for each address, not for each function */
	int threads;			/* the guest's threads are told apart ... */
	int containers;			/* ... or its processes by where they are; not both */
	int samples;			/* single samples will be asked for: vmp_table_samples() */
	int streamed;			/* nothing is asked of the table: vmp_stream() */
};

/* A file or kernel module that code lies in */
struct vmp_mapping {
	uint32_t vm;		/* number in the model; VMP_NONE the host */
	uint32_t path;		/* string number; kernel: the module's name */
	uint32_t file;		/* guest's file in vm, or VMP_NONE */
	int kernel;
	uint64_t bias;		/* address - file offset, where mapped lowest; kernel 0 */
	uint64_t low, high;	/* file offsets that it spans; kernel: addresses of its sites */
};

/* A function, or an address in it */
struct vmp_site {
	uint32_t function, module;	/* string numbers */
	uint32_t mapping;		/* VMP_NONE: in no file */
	enum vmp_why why;
	uint64_t address;		/* the lowest that was sampled, as where the file is mapped lowest */
	uint64_t offset;		/* the same in the file; in no file the address */
};

/* A process; with threads, a thread of one */
struct vmp_task {
	uint32_t domain;	/* number in the table */
	uint32_t comm;		/* string number, "" steal and idle */
	uint32_t pid;		/* VMP_NONE: none, or not known */
	uint32_t tid;		/* with threads: of the guest; VMP_NONE: none, or not known */
	uint32_t thread;	/* string number: its name, "" not known */
	uint32_t nspid;		/* with containers: in its own pid namespace; VMP_NONE: none, or not known */
	uint32_t cgroup;	/* ... string number, "" none, or not known */
};

enum vmp_track_kind {
	VMP_TRACK_VCPU,
	VMP_TRACK_THREAD,	/* another thread of the VM's QEMU */
	VMP_TRACK_PCPU,		/* host work that is no domain's */
};

/* One of what runs in parallel; its samples do not overlap in time */
struct vmp_track {
	uint32_t domain;
	uint32_t kind;		/* enum vmp_track_kind */
	uint32_t id;		/* vCPU, thread id, pCPU */
};

struct vmp_sums {
	uint64_t samples;
	uint64_t cycles, instructions;	/* 0 where they were not counted */
};

static inline void vmp_sums_add(struct vmp_sums *to, const struct vmp_sums *s)
{
	to->samples += s->samples;
	to->cycles += s->cycles;
	to->instructions += s->instructions;
}

struct vmp_line {
	uint32_t task, site, track;	/* numbers in the table */
	uint32_t exit;			/* string number: what the VMM ran for, 0 none */
	enum vmp_side side;
	struct vmp_sums sum;
};

struct vmp_table_domain {
	uint32_t vm;		/* number in the model; VMP_NONE the host */
	uint32_t name;		/* string number */
	uint64_t side[VMP_SIDE_NR];
	struct vmp_sums sum;
};

struct vmp_table {
	struct vmp_model *model;	/* borrowed */
	const struct vmp_choice *choice;	/* borrowed */
	VMP_VEC(struct vmp_table_domain) domains;
	VMP_VEC(struct vmp_task) tasks;
	VMP_VEC(struct vmp_track) tracks;
	VMP_VEC(struct vmp_mapping) mappings;
	VMP_VEC(struct vmp_site) sites;
	VMP_VEC(uint32_t) exits;	/* string numbers */
	VMP_VEC(struct vmp_line) lines;
	uint64_t counted;	/* 1: some samples have cycles and instructions */
	struct vmp_cells *cells;	/* sample -> line */
};

/** vmp_table_create() - Read the samples, resolve, sort.  Return: 0, -ENOMEM, -errno of reading. */
int vmp_table_create(struct vmp_table **t, struct vmp_model *m, const struct vmp_choice *c);
void vmp_table_destroy(struct vmp_table *t);

/**
 * vmp_table_samples() - The chosen samples, one by one, in order of time; with vmp_choice.samples.
 * @fn:   @ns since the session's start; a non-zero result ends the run.
 * @late: How many came too late to be put in order (see order.h).
 *
 * Return: 0, the result of @fn, -ENOMEM, -errno of reading.
 */
int vmp_table_samples(struct vmp_table *t, uint64_t *late,
		      int (*fn)(void *arg, uint64_t ns, const struct vmp_line *line), void *arg);

/** vmp_table_ns() - Since the session's start, of a host TSC. */
uint64_t vmp_table_ns(const struct vmp_table *t, uint64_t tsc);

/** vmp_table_interval_ns() - About how long a track runs between two samples; >= 1. */
uint64_t vmp_table_interval_ns(const struct vmp_table *t);

/** vmp_table_str() - A string by its number, as the guest gave it: to be escaped. */
static inline const char *vmp_table_str(const struct vmp_table *t, uint32_t str)
{
	return vmp_model_name(t->model, str);
}

/** vmp_table_domain_name() - Of a domain by its number in the table; "[host]" for the host. */
const char *vmp_table_domain_name(const struct vmp_table *t, uint32_t domain);

/** vmp_table_comm() - Name of a task for people; "[steal]" and "[idle]" where it has none. */
const char *vmp_table_comm(const struct vmp_table *t, const struct vmp_line *line);

/** vmp_table_build_id() - Of a mapping's file, in hex; "" unknown.  @buf: 2 * VMPROF_BUILD_ID_MAX + 1 bytes. */
const char *vmp_table_build_id(char *buf, const struct vmp_table *t, const struct vmp_mapping *map);

#define VMP_TRACK_NAME_MAX	32

/** vmp_track_name() - "vCPU 0", "thread 1234", "pCPU 3" in @buf (VMP_TRACK_NAME_MAX bytes). */
const char *vmp_track_name(char *buf, const struct vmp_track *track);

#endif
