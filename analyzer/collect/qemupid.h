/* SPDX-License-Identifier: GPL-2.0-only */
/* qemupid.h - which process is a domain's QEMU. */
#ifndef VMP_QEMUPID_H
#define VMP_QEMUPID_H

#include <stddef.h>
#include <stdint.h>

/**
 * vmp_qemu_pid() - Find the QEMU of a domain, by libvirt's pid file, else among all processes.
 * @name: Of the domain.
 * @uuid: Must be in the process's arguments.
 * Return: 0; -ESRCH no such process.
 */
int vmp_qemu_pid(const char *name, const char *uuid, uint32_t *pid);

/**
 * vmp_cmdline_has_uuid() - Do these arguments name that domain?
 * @args: @len bytes as in /proc/PID/cmdline, each argument ended by a NUL.
 */
int vmp_cmdline_has_uuid(const char *args, size_t len, const char *uuid);

#endif
