/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * qmp.h - replies of QEMU's monitor, taken apart.
 *
 * Pure: text in, numbers out.  The text comes from a process that a guest may
 * have taken over, so it is treated as hostile.
 */
#ifndef VMP_QMP_H
#define VMP_QMP_H

#include <stddef.h>
#include <stdint.h>

#define VMP_QMP_BYTES_MAX	(1U << 20)	/* of a reply */
#define VMP_QMP_VCPUS_MAX	4096
#define VMP_QMP_RAM_MAX		256

struct vmp_qmp_vcpu {
	uint32_t index;
	uint32_t tid;
	int has_clock;		/* the three below were told */
	int64_t tsc_offset;
	uint64_t tsc_ratio;	/* 0: 1:1 */
	uint32_t frac_bits;	/* < 64 */
};

struct vmp_qmp_ram {
	uint64_t gpa, bytes, hva;
};

struct vmp_qmp {
	struct vmp_qmp_vcpu *vcpus;
	int nr_vcpus;
	struct vmp_qmp_ram *ram;
	int nr_ram;
	int has_port;		/* the machine has the agent's port */
	int guest_open;		/* something in the guest has it open */
};

/**
 * vmp_qmp_vmprof() - Reply of query-vmprof.
 * @text: @len bytes of JSON, as libvirt gives them: {"return": ...} or {"error": ...}.
 * @q:    Filled on success, end with vmp_qmp_free(); untouched on error.
 *
 * Return: 0; -ENOSYS this QEMU does not know the command; -EREMOTEIO another
 * error of QEMU; -EBADMSG the reply makes no sense; -ENOMEM.
 */
int vmp_qmp_vmprof(const char *text, size_t len, struct vmp_qmp *q);

/** vmp_qmp_cpus_fast() - Reply of query-cpus-fast: index and tid only. Return: as above. */
int vmp_qmp_cpus_fast(const char *text, size_t len, struct vmp_qmp *q);

void vmp_qmp_free(struct vmp_qmp *q);

#endif
