// SPDX-License-Identifier: GPL-2.0-only
/* stack.c - the two callers of an interrupted host address, cheaply. */
#include <linux/kernel.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <asm/segment.h>
#include "compat/compat.h"
#include "stack.h"

#define VMPH_FRAME_MAX	(1UL << 20)	/* a larger frame is no frame */

/* Frame pointers grow from the stack pointer up; anything else is another use of RBP */
static void vmph_user_callers(struct pt_regs *regs, u64 callers[2])
{
	unsigned long frame[2], bp = regs->bp, low = regs->sp;
	unsigned int i;

	if (regs->cs != __USER_CS)
		return;
	for (i = 0; i < 2; i++) {
		if (bp < low || bp - low > VMPH_FRAME_MAX || (bp & 7))
			return;
		if (copy_from_user_nmi(frame, (void __user *)bp, sizeof(frame)))
			return;
		if (frame[1] >= TASK_SIZE_MAX)
			return;
		callers[i] = frame[1];
		low = bp + sizeof(frame);
		bp = frame[0];
	}
}

void vmph_stack_callers(struct pt_regs *regs, u64 callers[2])
{
	if (user_mode(regs))
		vmph_user_callers(regs, callers);
	else
		vmph_kernel_callers(regs, callers);
}
