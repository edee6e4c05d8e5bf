/* SPDX-License-Identifier: GPL-2.0-only */
/* vm.h - one domain of a session: its vCPUs, its clock, its agent. */
#ifndef VMP_VM_H
#define VMP_VM_H

#include <stdint.h>
#include <stdio.h>
#include <vmprof/capture.h>

#include "collect/agent.h"
#include "collect/domain.h"
#include "collect/fetch.h"
#include "collect/kcopy.h"
#include "collect/objects.h"
#include "collect/tasks.h"

enum vmp_clock_source {
	VMP_CLOCK_QMP,		/* query-vmprof */
	VMP_CLOCK_DEBUGFS,	/* KVM's debugfs */
	VMP_CLOCK_DRIVER,	/* only the driver's own records */
};

#define VMP_VM_LINES	32

struct vmp_vcpu {
	uint32_t id;		/* as KVM counts them */
	uint32_t tid;
};

struct vmp_session;

struct vmp_vm {
	struct vmp_session *session;
	struct vmp_domain dom;
	int pidfd;		/* readable when QEMU is gone */
	int gone;
	uint64_t gone_ns;	/* when it went */

	struct vmp_vcpu *vcpus;
	struct vmprof_cap_clock *clocks;	/* one a vCPU, host order */
	int nr_vcpus;
	struct vmp_qmp_ram *ram;
	int nr_ram;
	int ram_moved;		/* the last reply told of other memory than the one before */
	enum vmp_clock_source source;
	int64_t tsc_offset;	/* of its first vCPU, as the driver told last ... */
	uint64_t tsc_offset_at;	/* ... at this host TSC; 0 never */
	int patched;		/* its QEMU knows query-vmprof, or was not asked yet */
	int port_open;		/* -1 not known */
	int channel_is_new;	/* added by this session: the agent starts only now */
	int told;		/* lines about its agent's comings and goings */
	int asked;		/* a question of this round was asked */
	uint64_t asked_ns;	/* when */

	struct vmp_tasks tasks;
	struct vmp_agent agent;
	struct vmp_kept kept;	/* its kernel's symbols */
	struct vmp_kcopy kcopy;	/* its kernel's code */
	uint8_t *batch;		/* frames not written yet */
	size_t batch_len, batch_room;
	uint64_t dropped_frames;	/* could not be stored */
	struct vmp_fetch early;		/* of what goes with its process (collect/early.h) */
	uint64_t early_room;		/* bytes that may still be fetched so */
	struct vmp_fetch fetch;
	struct vmp_objects objects;	/* how binaries come */
	struct vmp_sftp *sftp;		/* NULL: there is no connection */

	uint64_t samples;	/* taken in this guest */
	uint64_t echo_bound_tsc;	/* measured: |true - computed| <= this; 0 unknown */
};

/**
 * vmp_vm_create() - A domain joins the session.
 * Its vCPUs and clock are read: by query-vmprof, else by debugfs and /proc.
 * Return: 0, -ESRCH it just ended, -errno (told).
 */
int vmp_vm_create(struct vmp_vm **out, struct vmp_session *s, const struct vmp_domain *d,
		  virConnectPtr conn);

/** vmp_vm_free() - Close and free everything of it; NULL is fine. */
void vmp_vm_free(struct vmp_vm *vm);

/** vmp_vm_json() - Write the VM block's JSON. */
void vmp_vm_json(const struct vmp_vm *vm, FILE *out);

/**
 * vmp_vm_take_qmp() - A reply of query-vmprof: vCPUs, clock, port.
 * @took_tsc: Ticks the query took; @tsc: host TSC after it.
 * Return: 0 or -errno of vmp_qmp_vmprof().
 */
int vmp_vm_take_qmp(struct vmp_vm *vm, const char *text, size_t len, uint64_t tsc,
		    uint64_t took_tsc);

/** vmp_vm_take_debugfs() - Read vCPUs and clock from debugfs. Return: 0 or -errno. */
int vmp_vm_take_debugfs(struct vmp_vm *vm);

/** vmp_vm_clock_check() - Compare the agent's last echo with the clock relation. */
void vmp_vm_clock_check(struct vmp_vm *vm);

/** vmp_vm_dropped_frames() - Good frames of its agent that are not in the capture. */
uint64_t vmp_vm_dropped_frames(const struct vmp_vm *vm);

/** vmp_vm_tell_no_module() - Warn where its agent has none.  @goes: "runs" or "ran". */
void vmp_vm_tell_no_module(const struct vmp_vm *vm, const char *goes);

/** vmp_vm_tell_secured() - Warn where it is encrypted. */
void vmp_vm_tell_secured(const struct vmp_vm *vm);

/** vmp_vm_tell_no_channel() - Warn that it has none, and so no agent. */
void vmp_vm_tell_no_channel(const struct vmp_vm *vm);

/**
 * vmp_vm_may_tell() - May one more line be written about what its guest did by itself?
 * A guest can make its agent come and go without end: after VMP_VM_LINES no
 * more; that is told once.
 */
int vmp_vm_may_tell(struct vmp_vm *vm);

const char *vmp_clock_source_name(enum vmp_clock_source source);

#endif
