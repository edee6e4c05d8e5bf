/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * boot.S - entry, interrupt entries and the measured code of the test guest.
 *
 * 32-bit, flat, no paging. The measured pieces are in assembly because their
 * instructions are counted.
 */
	.section .multiboot, "a"
	.align 4
	.long 0x1badb002, 0, -0x1badb002

	.text
	.globl start
start:
	cli
	movl $stack_top, %esp
	lgdt gdt_ptr
	ljmp $0x08, $1f
1:	movl $0x10, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	movl %eax, %fs
	movl %eax, %gs
	movl %cr0, %eax
	andl $~0xc, %eax		/* no EM, no TS */
	orl $0x2, %eax
	movl %eax, %cr0
	movl %cr4, %eax
	orl $0x600, %eax		/* SSE */
	movl %eax, %cr4
	pushl 16(%ebx)			/* the multiboot command line */
	call main
2:	cli
	hlt
	jmp 2b

/* Every vector pushes an error code (its own or 0) and its number. */
	.macro vector n, has_error=0
vector_\n:
	.if !\has_error
	pushl $0
	.endif
	pushl $\n
	jmp common
	.endm
	vector 0
	vector 1
	vector 2
	vector 3
	vector 6
	vector 13, 1
	vector 32
	vector 48

common:
	pusha
	pushl %esp
	call interrupt
	addl $4, %esp
	popa
	addl $8, %esp
	iret

	.globl vectors
	.section .rodata
vectors:
	.long 0, vector_0, 1, vector_1, 2, vector_2, 3, vector_3
	.long 6, vector_6, 13, vector_13, 32, vector_32, 48, vector_48, -1
	.text

/* void call_user(void (*f)(void), u32 ecx, u32 edi, u32 ebx); until int 48 */
	.globl call_user
call_user:
	pushl %ebp
	pushl %ebx
	pushl %esi
	pushl %edi
	movl %esp, kernel_esp
	movl 20(%esp), %eax
	movl 24(%esp), %ecx
	movl 28(%esp), %edi
	movl 32(%esp), %ebx
	pushl $0x23			/* ss, esp, eflags, cs, eip */
	pushl $user_stack_top
	pushl user_eflags
	pushl $0x1b
	pushl %eax
	iret
	.globl leave_user
leave_user:				/* from interrupt(), on any stack */
	movl kernel_esp, %esp
	popl %edi
	popl %esi
	popl %ebx
	popl %ebp
	ret

/* Two instructions an iteration. */
	.globl loop2, loop2_dec, loop2_jnz, user_loop2, user_loop2_dec, user_loop2_jnz
loop2:
	movl 4(%esp), %ecx
loop2_dec:
	decl %ecx
loop2_jnz:
	jnz loop2_dec
	ret
user_loop2:
user_loop2_dec:
	decl %ecx
user_loop2_jnz:
	jnz user_loop2_dec
	int $48

/* One long block an iteration: 20 instructions, across a page boundary. */
	.balign 4096
	.skip 4096 - 11
	.globl user_long, user_long_end
user_long:
	.rept 18
	leal 1(%eax), %eax		/* 3 bytes: one of them straddles */
	.endr
	decl %ecx
	jnz user_long
user_long_end:
	int $48

/* The longest block that there is: 500 instructions an iteration. */
	.balign 4096
	.globl user_short
user_short:			/* 60 blocks of five instructions an iteration */
	.rept 60
	addl $1, %eax
	addl $1, %edx
	testl %ebp, %ebp
	jz 1f
	nop
1:
	.endr
	decl %ecx
	jnz user_short
	int $48

	.globl user_longest
user_longest:
	.rept 498
	leal 1(%eax), %eax
	.endr
	decl %ecx
	jnz user_longest
	int $48

	.globl user_rep, user_rep_insn, user_scas, user_fault, user_trap, user_rdpmc
user_rep:
	cld
user_rep_insn:
	rep stosb
	nop
	int $48
user_scas:
	cld
	movl $0x55, %eax
	repne scasb
	nop
	int $48
user_fault:				/* faults in mid-block; see interrupt() */
	nop
	nop
	xorl %edx, %edx
	movl $100, %eax
	divl %ebx			/* #DE once, then 5 instead of 0 */
	nop
	nop
	ud2				/* skipped */
	nop
	int3				/* retires */
	nop
	int $48
user_trap:				/* with TF set */
	nop
	movl $3, %ecx
1:	decl %ecx
	jnz 1b
	nop
	int $48
user_rdpmc:
	xorl %ecx, %ecx
	rdpmc
	int $48

/* The code of the SVM guest: ecx iterations, then VMMCALL. */
	.globl guest_loop, guest_loop_dec, guest_loop_jnz, guest_end
guest_loop:
	movl $1000, %ecx
guest_loop_dec:
	decl %ecx
guest_loop_jnz:
	jnz guest_loop_dec
guest_end:
	vmmcall
	jmp guest_end

/* void enter_guest(u32 vmcb_pa); leaves with GIF set, keeps the guest's ecx */
	.globl enter_guest, guest_ecx
enter_guest:
	pushl %ebp
	pushl %ebx
	pushl %esi
	pushl %edi
	movl 20(%esp), %eax
	movl guest_ecx, %ecx
	clgi
	vmload
	vmrun
	vmsave
	movl %ecx, guest_ecx
	stgi
	nop
	popl %edi
	popl %esi
	popl %ebx
	popl %ebp
	ret

/* sti; hlt with an overflow in HLT; see the test */
	.globl halting, halting_after
halting:
	movl $0xc0000301, %ecx
	movl $1, %eax
	xorl %edx, %edx
	wrmsr				/* counting from here on */
	nop
	hlt
halting_after:
	ret

/* Far and near branches with known ends, for the branch record. */
	.globl lbr_run, lbr_a, lbr_b, lbr_c, lbr_call, lbr_d, lbr_e, lbr_ret, lbr_f, lbr_far, lbr_g
	.globl lbr_call_ind, lbr_i, lbr_ret_ind, lbr_j, lbr_jmp_ind, lbr_k
lbr_run:
	movl $0xc000010f, %ecx
	movl $0x40, %eax
	xorl %edx, %edx
	wrmsr				/* recording from here on */
	testl %eax, %eax
lbr_a:	jnz lbr_b			/* taken */
	nop
lbr_b:	jz lbr_f			/* not taken */
lbr_c:	jmp lbr_d
	nop
lbr_d:
lbr_call: call lbr_e
lbr_f:	jmp lbr_g
lbr_e:	nop
lbr_ret: ret
lbr_g:	movl $lbr_i, %eax
lbr_call_ind: call *%eax
lbr_j:	movl $lbr_k, %eax
lbr_jmp_ind: jmp *%eax
lbr_i:	nop
lbr_ret_ind: ret
lbr_k:
lbr_far: ljmp $0x08, $1f
	.globl lbr_h
lbr_h:
1:	movl $0xc000010f, %ecx
	xorl %eax, %eax
	xorl %edx, %edx
	wrmsr
	ret

/* More jumps than there are entries, two bytes each. */
	.globl lbr_run_many, lbr_many
lbr_run_many:
	movl $0xc000010f, %ecx
	movl $0x40, %eax
	xorl %edx, %edx
	wrmsr
lbr_many:
	.rept 20
	jmp 1f
1:
	.endr
	xorl %eax, %eax
	wrmsr
	ret

/* Functions whose value is written while the other processor calls them. */
	.macro returns name, value
	.balign 4
	.skip 3, 0x90
	.globl \name, \value
\name:	.byte 0xb8			/* movl $0, %eax */
\value: .long 0
	ret
	.endm
	.balign 4096
	returns patched_alone, patched_alone_value
	.balign 4096
	returns patched_beside, patched_beside_value
	.globl patched_neighbour
patched_neighbour:
	ret
	.balign 4096

/* What the other processor does first, copied to the page where it starts. */
	.globl ap_code, ap_code_end
	.code16
ap_code:
	cli
	movw %cs, %ax
	movw %ax, %ds
	lgdtl ap_gdt_ptr - ap_code
	movl %cr0, %eax
	orb $1, %al
	movl %eax, %cr0
	ljmpl $0x08, $ap_start
ap_gdt_ptr:
	.word 47
	.long gdt
ap_code_end:
	.code32
ap_start:
	movl $0x10, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	movl $ap_stack_top, %esp
	call ap_main

	.data
	.globl kernel_esp, user_eflags, gdt, gdt_ptr
	.balign 8
gdt:	.quad 0
	.quad 0x00cf9b000000ffff	/* 08 kernel code */
	.quad 0x00cf93000000ffff	/* 10 kernel data */
	.quad 0x00cffb000000ffff	/* 18 user code */
	.quad 0x00cff3000000ffff	/* 20 user data */
	.quad 0				/* 28 TSS, filled in by main */
gdt_ptr:
	.word 47
	.long gdt
kernel_esp:
	.long 0
guest_ecx:
	.long 0
user_eflags:
	.long 2

	.bss
	.globl stack_top, int_stack_top, user_stack_top
	.balign 16
	.skip 16384
stack_top:
	.skip 16384
int_stack_top:
	.skip 16384
user_stack_top:
	.skip 16384
ap_stack_top:
