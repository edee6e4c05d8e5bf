/* SPDX-License-Identifier: GPL-2.0-only */
/* stack.h - the two callers of an interrupted host address. */
#ifndef VMPH_STACK_H
#define VMPH_STACK_H

#include <linux/types.h>

struct pt_regs;

/**
 * vmph_stack_callers() - Return addresses of the two innermost callers, 0 where unknown.
 * Kernel: the kernel's own unwinder.  User: frame pointers, where the program has them.
 * Context: NMI or interrupt, in the task that @regs belong to.
 */
void vmph_stack_callers(struct pt_regs *regs, u64 callers[2]);

#endif
