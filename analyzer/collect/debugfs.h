/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * debugfs.h - what KVM's debugfs tells of a VM's vCPUs.
 *
 * Folders KVM/PID-FD/vcpuN, PID being QEMU's.  Used for the number by which
 * KVM knows a vCPU, and for its clock where QEMU is not patched.
 */
#ifndef VMP_DEBUGFS_H
#define VMP_DEBUGFS_H

#include <stdint.h>

#define VMP_DEBUGFS_KVM	"/sys/kernel/debug/kvm"

struct vmp_debugfs_vcpu {
	uint32_t id;		/* as in vmprof_sample.vcpu */
	uint32_t tid;		/* 0: this kernel does not tell */
	int64_t tsc_offset;
	uint64_t tsc_ratio;	/* 0: 1:1 */
	uint32_t frac_bits;
};

/**
 * vmp_debugfs_vcpus() - All vCPUs of a VM.
 * @root: VMP_DEBUGFS_KVM, or another in tests.
 * @pid:  QEMU's process.
 * @out:  At most @max, sorted by id.
 *
 * Return: their number; -ENOENT no folder of that process; -errno of reading;
 * -EBADMSG a file holds no number.
 */
int vmp_debugfs_vcpus(const char *root, uint32_t pid, struct vmp_debugfs_vcpu *out, int max);

#endif
