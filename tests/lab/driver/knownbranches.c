// SPDX-License-Identifier: GPL-2.0-only
/*
 * knownbranches.c - init of a tiny guest whose taken branches are known beforehand.
 *
 * On vCPU 0 a process goes round in a loop with a branch of each kind; vCPU 1 is shared by one
 * that makes system calls and one that does not. "branch KIND FROM TO" for each of them goes to the serial port (0: somewhere in
 * the kernel), then "ready". The program is static and not position-independent.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

#include "keep_to.h"

__asm__(".text\n"
	".align 64\n"
	"kb_call:	call kb_leaf\n"
	"kb_jump:	jmp kb_icall\n"
	"	nop\n"
	"kb_icall:	call *%rbx\n"
	"kb_dec:	dec %rdi\n"
	"kb_cond:	jnz kb_call\n"
	"	ud2\n"
	"kb_leaf:	nop\n"
	"kb_ret1:	ret\n"
	"kb_ind:	nop\n"
	"kb_ijump:	jmp *%rcx\n"
	"kb_tail:	nop\n"
	"kb_ret2:	ret\n"
	"kb_sysloop:	mov $39, %eax\n"
	"kb_syscall:	syscall\n"
	"kb_sysret:	jmp kb_sysloop\n"
	"kb_spin:	nop\n"
	"kb_again:	jmp kb_spin\n");

extern const char kb_call[], kb_jump[], kb_icall[], kb_dec[], kb_cond[], kb_leaf[], kb_ret1[],
	kb_ind[], kb_ijump[], kb_tail[], kb_ret2[], kb_sysloop[], kb_syscall[], kb_sysret[],
	kb_spin[], kb_again[];

static const struct {
	const char *kind, *from, *to;
} branches[] = {
	{ "call_rel", kb_call, kb_leaf }, { "ret", kb_ret1, kb_jump },
	{ "jump_rel", kb_jump, kb_icall }, { "call_ind", kb_icall, kb_ind },
	{ "jump_ind", kb_ijump, kb_tail }, { "ret", kb_ret2, kb_dec },
	{ "cond", kb_cond, kb_call }, { "far", kb_syscall, NULL },
	{ "far", NULL, kb_sysret }, { "jump_rel", kb_sysret, kb_sysloop },
	{ "jump_rel", kb_again, kb_spin },
};

int main(void)
{
	unsigned int i;

	for (i = 0; i < sizeof(branches) / sizeof(branches[0]); i++)
		printf("branch %s %#lx %#lx\n", branches[i].kind, (unsigned long)branches[i].from,
		       (unsigned long)branches[i].to);
	if (!fork()) {
		keep_to(1);
		__asm__ volatile("jmp kb_sysloop");
	}
	if (!fork()) {
		keep_to(1);
		__asm__ volatile("jmp kb_spin");
	}
	if (!fork()) {
		keep_to(0);
		__asm__ volatile("jmp kb_call" : : "D"(-1L), "b"(kb_ind), "c"(kb_tail));
	}
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}
