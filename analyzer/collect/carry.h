/* SPDX-License-Identifier: GPL-2.0-only */
/* carry.h - what the samples need of a guest's binaries comes by the agent, by ssh, or not at all. */
#ifndef VMP_CARRY_H
#define VMP_CARRY_H

#include <poll.h>
#include <stdint.h>

#include "collect/vm.h"

/**
 * vmp_carry_begin() - All that is needed is listed in vm->fetch: say what will be done.
 * Return: bytes that will come.
 */
uint64_t vmp_carry_begin(struct vmp_vm *vm);

/** vmp_carry_step() - Go on.  Return: 1 this VM has sent what it will send. */
int vmp_carry_step(struct vmp_vm *vm, uint64_t now_ns);

/** vmp_carry_poll() - What to wait for, beside the agent. */
struct pollfd vmp_carry_poll(const struct vmp_vm *vm);

/** vmp_carry_ready() - poll() says that there is something. */
void vmp_carry_ready(struct vmp_vm *vm);

/** vmp_carry_end() - The time is over: what has not come does not come. */
void vmp_carry_end(struct vmp_vm *vm);

#endif
