/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * config.h - from what a user asks for to a session's settings.
 */
#ifndef VMPH_CONFIG_H
#define VMPH_CONFIG_H

#include <linux/types.h>

struct vmph_session;
struct vmprof_config;

/**
 * vmph_config_take() - Check a configuration and fill in the session's settings.
 * @session: Not configured yet; its lock is held.
 * @config:  In kernel memory; nothing in it is believed before it is checked.
 * @vms:     config->nr_vms process ids of QEMUs, in kernel memory.
 *
 * Context: process; sleeps (perf makes an event on trial).
 * Return: 0, or as VMPROF_IOC_CONFIG: -EINVAL (a field out of its limits),
 * -EOPNOTSUPP (no such event here), -ENOSPC (too many VMs), what perf said.
 */
int vmph_config_take(struct vmph_session *session, const struct vmprof_config *config,
		     const u32 *vms);

/** vmph_config_add_vm() - Choose a VM. session->lock is held. Return: 0, or as VMPROF_IOC_ADD_VM. */
int vmph_config_add_vm(struct vmph_session *session, u32 vm);

#endif
