/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vmcs.h - the current VMCS of this pCPU: three instructions of VMX, which fail where VMX is off.
 *
 * For guest_vmx.c; tests/unit/test_guest_vmx.c has a made-up VMCS in its place, and
 * tests/lab/intel/vmxtest runs it on a real one.
 */
#ifndef VMPH_VMCS_H
#define VMPH_VMCS_H

#include <linux/types.h>
#include <asm/asm.h>

#define VMPH_VMX_NO_VMCS	(~0ULL)

/* The current VMCS's physical address; none where VMX is off */
static inline u64 vmph_vmptrst(void)
{
	u64 pa = VMPH_VMX_NO_VMCS;

	asm volatile("1:	vmptrst %0\n"
		     "2:\n"
		     _ASM_EXTABLE(1b, 2b)
		     : "+m" (pa) : : "cc", "memory");
	return pa;
}

/* Read a field; false where there is no such field, no VMCS, or no VMX */
static inline bool vmph_vmread(unsigned long field, u64 *value)
{
	unsigned long v = 0;
	u8 failed = 1;

	asm volatile("1:	vmread %[field], %[v]\n"
		     "	setbe %[failed]\n"
		     "2:\n"
		     _ASM_EXTABLE(1b, 2b)
		     : [v] "+r" (v), [failed] "+q" (failed) : [field] "r" (field) : "cc");
	if (failed)
		return false;
	*value = v;
	return true;
}

/* Write a field of the current VMCS; false where that fails */
static inline bool vmph_vmwrite(unsigned long field, u64 value)
{
	u8 failed = 1;

	asm volatile("1:	vmwrite %[v], %[field]\n"
		     "	setbe %[failed]\n"
		     "2:\n"
		     _ASM_EXTABLE(1b, 2b)
		     : [failed] "+q" (failed) : [v] "rm" ((unsigned long)value), [field] "r" (field)
		     : "cc");
	return !failed;
}

#endif
