/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * model.h - a capture as a host and its VMs, ready to be asked.
 *
 * vmp_model_open() reads everything but the samples; vmp_model_samples()
 * then runs over those in order of the file; vmp_resolve_*() give names to
 * addresses.  Memory does not grow with the number of samples.
 */
#ifndef VMP_MODEL_H
#define VMP_MODEL_H

#include <stdint.h>
#include <vmprof/capture.h>
#include <vmprof/uapi.h>

#include "capture/reader.h"
#include "model/elfsyms.h"
#include "model/machine.h"
#include "model/seek.h"
#include "model/weigh.h"

struct vmp_host_map {
	uint64_t start, end, pgoff;
	uint32_t path;		/* string number */
};

/* A process of the host; its maps were taken for QEMUs only */
struct vmp_host_proc {
	uint32_t tgid;
	uint32_t comm;
	VMP_VEC(struct vmp_host_map) maps;
};

/* What the collector wrote about the session; string numbers, 0 not told */
struct vmp_meta {
	uint32_t host, release, vendor, event, trigger, command, version;
	uint32_t error;		/* what ended the session, if not the user */
	uint64_t period;
	int random;		/* periods are drawn, period is their mean */
	uint64_t instruction_period;	/* 0: instructions were not sampled */
	uint32_t cpus;
};

struct vmp_driver_losses {
	uint64_t interrupts, filtered, records;
	uint64_t lost[VMPROF_LOST_NR];
	int at_stop;		/* totals of the whole session; else what the records told */
	/* at stop only */
	uint64_t event_count, cycles, instructions;	/* totals */
	uint64_t instruction_interrupts, instruction_count;	/* the second event's */
	uint32_t cpus;		/* whose totals these are */
};

/* What the collector lost, by its own names */
struct vmp_loss {
	uint32_t vm;		/* 0: not of one VM */
	uint32_t name;		/* string number */
	uint64_t count;
};

/* What names shall tell beyond the symbol, from debugging information */
#define VMP_DETAIL_INLINE	1U	/* the innermost inlined function instead */
#define VMP_DETAIL_LINE		2U	/* its source line, too */

struct vmp_model {
	unsigned int detail;	/* VMP_DETAIL_*, to be set before addresses are resolved */
	struct vmp_seek *seek;	/* where else files are looked for, the same; borrowed, NULL nowhere */
	struct vmp_strings strings;
	struct vmp_reader *reader;
	struct vmprof_cap_header header;
	struct vmp_meta meta;
	struct vmp_driver_losses driver;
	struct vmp_weight pair;		/* what a sample of either event stands for; 0: see weigh.h */
	VMP_VEC(struct vmp_loss) losses;
	VMP_VEC(struct vmp_machine) vms;
	struct vmp_hash vm_by_id;
	struct vmp_hash vcpu_by_tid;		/* host thread -> vCPU id */
	VMP_VEC(struct vmp_host_proc) procs;
	struct vmp_hash proc_by_tgid;
	char *host_ksyms_text;
	struct vmp_symtab host_ksyms;
	VMP_VEC(struct vmp_elf *) elfs;		/* opened objects, guests' and the host's */
	struct vmp_hash elf_by_path;		/* host files: string number -> index + 1 */
	struct vmp_hash host_ids;		/* host files: their build-id in digits, both string numbers; VMP_NONE: two had that path */
	uint32_t host_others;			/* host files that are of another build now, and not used, or gone */
	struct vmp_kernel_copy host_copy;
	uint64_t first_tsc, last_tsc;		/* of the records, 0 unknown */
	uint32_t only_vm;	/* what other VMs' agents told is left out; 0: of none */
	uint64_t from_tsc;	/* older samples are passed over, by whole blocks; 0 none */
};

/**
 * vmp_model_open() - Read a capture.
 * Return: 0, or -errno as vmp_reader_open().
 */
int vmp_model_open(struct vmp_model **m, const char *path);

/** vmp_model_open_vm() - The same, without what the agents of other VMs than @vm told: their samples have no names. */
int vmp_model_open_vm(struct vmp_model **m, const char *path, uint32_t vm);
void vmp_model_close(struct vmp_model *m);

/**
 * vmp_model_samples() - All samples, in order of the file; of both events, see hdr.type.
 * @fn: Its non-zero result ends the run.
 *
 * Return: 0, the result of @fn, or -errno of reading.
 */
int vmp_model_samples(struct vmp_model *m,
		      int (*fn)(void *arg, const struct vmprof_sample *s), void *arg);

struct vmp_lbr_sample;

/** vmp_model_lbr_samples() - The same with the last branches of each, see lbr.h. */
int vmp_model_lbr_samples(struct vmp_model *m, int (*fn)(void *arg, const struct vmp_lbr_sample *s), void *arg);

/** vmp_model_vm() - Number of a VM by its id, VMP_NONE. */
uint32_t vmp_model_vm(const struct vmp_model *m, uint32_t vm);

/** vmp_model_add_vm() - The same; makes one that no block told of.  Return: 0 or -ENOMEM. */
int vmp_model_add_vm(struct vmp_model *m, uint32_t vm, uint32_t *index);

/** vmp_model_name() - A string by its number. */
static inline const char *vmp_model_name(const struct vmp_model *m, uint32_t str)
{
	return vmp_strings_get(&m->strings, str);
}

#endif
