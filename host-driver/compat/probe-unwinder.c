// SPDX-License-Identifier: GPL-2.0-only
/* The unwinder's interface as we use it. (Kbuild also asks whether it is exported.) */
#include <linux/sched.h>
#include <asm/unwind.h>

unsigned long vmph_probe(struct pt_regs *regs);
unsigned long vmph_probe(struct pt_regs *regs)
{
	struct unwind_state state;

	unwind_start(&state, current, regs, NULL);
	if (unwind_done(&state) || !unwind_next_frame(&state))
		return 0;
	return unwind_get_return_address(&state);
}
