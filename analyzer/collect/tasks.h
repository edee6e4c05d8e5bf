/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tasks.h - which of a guest's tasks runs: what its agent tells, what QEMU tells of its
 * memory, and what the driver is given of both.
 *
 * The guest's word is hostile: an address is passed on only where it lies in the memory
 * that QEMU gives the guest.
 */
#ifndef VMP_TASKS_H
#define VMP_TASKS_H

#include <stdint.h>
#include <vmprof/uapi.h>

#include "agent_msg.h"
#include "collect/agent.h"
#include "collect/qmp.h"

#define VMP_TASKS_VERSION	4	/* agents from this one on tell where the guest keeps its tasks */

enum vmp_tasks_state {
	VMP_TASKS_UNTOLD,	/* the guest has not told, or its conversation is over */
	VMP_TASKS_OLD_AGENT,	/* its agent cannot */
	VMP_TASKS_NO_MODULE,	/* its agent has no module to tell */
	VMP_TASKS_LOST,		/* its module could not tell: no memory, or its ring was full */
	VMP_TASKS_UNKEPT,	/* it told, but that did not go into the capture, or no memory */
	VMP_TASKS_ON,		/* the driver looks */
	VMP_TASKS_DRIVER,	/* it is too old */
	VMP_TASKS_NO_RAM,	/* nobody told where the guest's memory is: no query-vmprof */
	VMP_TASKS_ENCRYPTED,	/* the guest's memory is */
	VMP_TASKS_REFUSED,	/* what was told makes no sense */
};

/* What one guest told last */
struct vmp_tasks {
	enum vmp_tasks_state state;
	struct vmp_msg_tasks told;	/* its CPUs are below */
	struct vmp_msg_task_cpu *cpu;	/* NULL: nothing was told */
	uint32_t nr_cpus;
	int unkept;			/* something was told, but could not be kept */
	int heard;			/* the conversation has told once: what comes then waits for a tick ... */
	int due;			/* ... as something does */
	uint64_t given;			/* sum of what the driver has; 0: it does not look */
};

/** vmp_tasks_take() - Keep a TASKS; NULL: there was one that is not in the capture. */
void vmp_tasks_take(struct vmp_tasks *t, const struct vmp_msg_tasks *told);

/** vmp_tasks_forget() - It holds no more. */
void vmp_tasks_forget(struct vmp_tasks *t);

/* The ioctl's structure with what it points to */
struct vmp_tasks_plan {
	struct vmprof_tasks ioc;
	uint64_t vcpu[VMPROF_TASKS_VCPUS_MAX];
	struct vmprof_tasks_ram ram[VMPROF_TASKS_RAM_MAX];
	uint32_t outside;	/* CPUs whose address lies out of the guest's memory: left out */
};

/**
 * vmp_tasks_plan() - Put what a guest told and where its memory lies together.
 * @vm:   QEMU's process.
 * @plan: Filled; with any state but VMP_TASKS_ON it makes the driver look no more.
 * Return: the state it leads to.
 */
enum vmp_tasks_state vmp_tasks_plan(const struct vmp_tasks *t, uint32_t vm, const struct vmp_qmp_ram *ram,
				    int nr_ram, struct vmp_tasks_plan *plan);

/** vmp_tasks_untold() - VMP_TASKS_UNTOLD, or what is known of the cause. */
enum vmp_tasks_state vmp_tasks_untold(const struct vmp_agent *a);

/** vmp_tasks_state_name() - For status and the capture's VM block: "on", "no-query-vmprof", ... */
const char *vmp_tasks_state_name(enum vmp_tasks_state state);

#endif
