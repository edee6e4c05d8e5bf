/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sector.S - what Bochs's BIOS starts: the first sector of L1's first disk.
 *
 * Leaves the BIOS's memory map at 0x1000, in entries of 24 bytes as the kernel wants them
 * (loader.c), ended by one of size 0, and goes to the loader in 32-bit mode.
 */
	.code16
	.globl _start
_start:	cli
	xor %ax, %ax
	mov %ax, %ds
	mov %ax, %es
	mov %ax, %ss
	mov $0x7c00, %sp
	in $0x92, %al			/* the gate of address line 20 */
	or $2, %al
	out %al, $0x92

	xor %ebx, %ebx
	mov $0x1000, %di
1:	mov $0xe820, %eax
	mov $0x534d4150, %edx		/* "SMAP" */
	mov $20, %ecx
	int $0x15
	jc 2f
	add $24, %di
	test %ebx, %ebx
	jnz 1b
2:	xor %eax, %eax
	mov $6, %cx
	rep stosl

	lgdt gdtr
	mov %cr0, %eax
	or $1, %al
	mov %eax, %cr0
	ljmp $8, $3f
	.code32
3:	mov $16, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	mov $0x7c00, %esp
	mov $LOADER, %eax
	jmp *%eax

	.balign 8
gdt:	.quad 0
	.quad 0x00cf9b000000ffff	/* flat code */
	.quad 0x00cf93000000ffff	/* flat data */
gdtr:	.word . - gdt - 1
	.long gdt
	.org 510
	.word 0xaa55
