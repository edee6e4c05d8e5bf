// SPDX-License-Identifier: GPL-2.0-only
/* unwind.c - callers of a kernel address, by the kernel's unwinder where it is exported. */
#include <linux/sched.h>
#include <asm/unwind.h>
#include "compat.h"

void vmph_kernel_callers(struct pt_regs *regs, u64 callers[2])
{
	struct unwind_state state;
	unsigned int i;

	unwind_start(&state, current, regs, NULL);
	for (i = 0; i < 2; i++) {
		/* the first frame is the interrupted function itself */
		if (unwind_done(&state) || !unwind_next_frame(&state))
			return;
		callers[i] = unwind_get_return_address(&state);
	}
}
