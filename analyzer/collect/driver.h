/* SPDX-License-Identifier: GPL-2.0-only */
/* driver.h - /dev/vmprof: versions, configuration, rings, totals. Errors are told through vmp_err(). */
#ifndef VMP_DRIVER_H
#define VMP_DRIVER_H

#include <stdint.h>
#include <vmprof/uapi.h>

#include "collect/rings.h"

struct vmp_driver {
	int fd;
	struct vmprof_query query;
	struct vmp_ring *rings;		/* query.nr_cpus of them, after vmp_driver_config(); all
				   zero, and so always empty: there is no such pCPU */
	uint64_t ring_bytes;
};

/**
 * vmp_driver_open() - Open the device, load the module if need be, check versions.
 * Return: 0; -ENOENT no module; -EACCES; -EPROTO other version; -errno.
 */
int vmp_driver_open(struct vmp_driver *d);

/**
 * vmp_driver_config() - Hand over the configuration and map the rings.
 * @vms: @nr process ids of QEMUs; ignored with VMPROF_CFG_ALL.
 * Return: 0 or -errno.
 */
int vmp_driver_config(struct vmp_driver *d, struct vmprof_config *config,
		      const uint32_t *vms, uint32_t nr);

/**
 * vmp_driver_try() - Whether such a session can be had now: one begins and ends at once, beside the one that is open.
 * Return: 0 or -errno (not told).
 */
int vmp_driver_try(const struct vmprof_config *config, const uint32_t *vms, uint32_t nr);

/** vmp_driver_how_to_install() - What helps where there is no module; @root: "" or a fake. */
const char *vmp_driver_how_to_install(const char *root);

/** vmp_driver_guest_lack() - Why no guest's state can be read, and what helps; NULL: it can be. */
const char *vmp_driver_guest_lack(const struct vmprof_query *q);

/** vmp_driver_tasks() - Where a VM's guest keeps its tasks.  Return: 0 or -errno (not told). */
int vmp_driver_tasks(const struct vmp_driver *d, const struct vmprof_tasks *tasks);

/** vmp_driver_adds_vms() - Can VMs be chosen during a session, as this module is? */
int vmp_driver_adds_vms(const struct vmp_driver *d);

/** vmp_driver_add_vm() - The VM of this QEMU is chosen, too.  Return: 0 or -errno (not told). */
int vmp_driver_add_vm(const struct vmp_driver *d, uint32_t vm);

/** vmp_driver_knows() - Is the module new enough for an option of start?  Return: 0, or -EPROTO after saying what to do. */
int vmp_driver_knows(const struct vmp_driver *d, const char *option, uint32_t version);

/** vmp_driver_start() - Sampling begins. Return: 0 or -errno. */
int vmp_driver_start(struct vmp_driver *d);

/** vmp_driver_stop() - When it returns, what is in the rings is all. Return: 0 or -errno. */
int vmp_driver_stop(struct vmp_driver *d);

/** vmp_driver_stats() - Totals of one pCPU. Return: 0 or -errno (not told). */
int vmp_driver_stats(const struct vmp_driver *d, uint32_t cpu, struct vmprof_cpu_stats *s);

/** vmp_driver_close() - Unmap and close; nothing is left in the kernel. */
void vmp_driver_close(struct vmp_driver *d);

#endif
