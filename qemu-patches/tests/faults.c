// SPDX-License-Identifier: GPL-2.0-only
/*
 * faults.c - blocks that are left in their middle, and single-stepping.
 */
#include "guest.h"

extern char user_fault[], user_trap[], user_rdpmc[];
extern u32 user_eflags;

static u64 user_count(void *f, u32 ebx)
{
	fault_count = 0;
	trap_count = 0;
	wrmsr(CTL(0), EV_INSNS | USR | EN);
	wrmsr(CTR(0), 0);
	wrmsr(GLOBAL_CTL, 1);
	call_user(f, 0, 0, ebx);
	wrmsr(GLOBAL_CTL, 0);
	return rdmsr(CTR(0));
}

void test_faults(void)
{
	u64 n = user_count(user_fault, 0);

	check("both faults came", fault_count, 2);
	/* nop nop xor mov div nop nop nop int3 nop int */
	check("a fault takes back what was not done", n, 11);
	n = user_count(user_fault, 5);
	check("the same without the first fault", n, 11);

	user_eflags = 0x102;
	n = user_count(user_trap, 0);
	user_eflags = 2;
	/* nop mov 3 * (dec jnz) nop int */
	check("single-stepping counts each once", n, 10);
	check("and traps after each", trap_count, 9);

	resume_eip = (u32)user_rdpmc + 4;
	user_count(user_rdpmc, 0);
	check("RDPMC in user mode faults without CR4.PCE", fault_count, 1);
	asm volatile("movl %%cr4, %%eax\n\torl $0x100, %%eax\n\t"
		     "movl %%eax, %%cr4" : : : "eax");
	n = user_count(user_rdpmc, 0);
	check("and works with it", fault_count, 0);
	check("both instructions and INT are counted", n, 3);
}
