// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_guest_svm.c - the host module's SVM half, compiled as it is, before made-up VMCBs: whose a
 * sample is, that nothing is read of what is not the VMCB in use, and nothing told of a guest
 * whose registers are encrypted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "kernel_shim.h"
#include <cmocka.h>

#include "../../host-driver/guest_svm.c"

/* --------------------------------------------------------- made-up memory */

#define PHYSICAL	0x200000UL

/* L1's, L2's, and one that is no vCPU's any more */
static union {
	struct vmcb vmcb;
	char page[4096];
} memory[3] __attribute__((aligned(4096)));

static struct vmcb *const l1 = &memory[0].vmcb, *const l2 = &memory[1].vmcb, *const old = &memory[2].vmcb;
static const void *unmapped;	/* cannot be read */
static unsigned int reads;

bool virt_addr_valid(const void *p)
{
	return (const char *)p >= (const char *)memory && (const char *)p < (const char *)(memory + ARRAY_SIZE(memory));
}

unsigned long kernel_pa(const void *p)
{
	assert_true(virt_addr_valid(p));
	return PHYSICAL + ((const char *)p - (const char *)memory);
}

long copy_from_kernel_nofault(void *to, const void *from, size_t n)
{
	reads++;
	if (from == unmapped)
		return -EFAULT;
	memcpy(to, from, n);
	return 0;
}

static struct {
	const char *module, *type, *member;
	u32 offset;
	int answer;
} btf;

int vmph_btf_check(const char *module, const char *type, const char *member, u32 offset)
{
	btf.module = module;
	btf.type = type;
	btf.member = member;
	btf.offset = offset;
	return btf.answer;
}

/* ---------------------------------------------------------------- the vCPU */

#define RING3_CODE64	0x2fb	/* present, DPL 3, long */
#define RING3_CODE32	0xcfb
#define EFER_SVME	(1U << 12)
#define FREEZE		DEBUGCTLMSR_FREEZE_LBRS_ON_PMI

static struct vmph_svm svm;
static struct vmph_svm_info nested;
static struct kvm_vcpu *const vcpu = &svm.vcpu;
static struct vmph_guest guest;
static u64 verified;

static struct vmph_svm_info info_of(struct vmcb *vmcb)
{
	return (struct vmph_svm_info) { vmcb, KERNEL_SME | kernel_pa(vmcb) };
}

/* An NMI has ended the run of a 64-bit guest in its user code, and KVM handles it */
static int after_nmi(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	*l1 = (struct vmcb) {
		.control = {
			.exit_code = SVM_EXIT_NMI, .exit_int_info = 0x80000202,
			.exit_info_1 = 0x181, .exit_info_2 = 0x2345678,
			.nested_ctl = SVM_NESTED_CTL_NP_ENABLE,
		},
		.save = {
			.cs = { RING3_CODE64, 0x10000 }, .cpl = 3, .efer = EFER_SVME | EFER_LMA,
			.cr3 = 0x1234000, .rip = 0x401234, .dbgctl = 0x2,
		},
	};
	*l2 = *old = *l1;
	l2->save.rip = 0x501234;
	l2->save.cr3 = 0x5234000;
	l2->save.cpl = 0;
	svm = (struct vmph_svm) { .vmcb = l1, .vmcb01 = { .info = info_of(l1) } };
	svm.current_vmcb = &svm.vmcb01.info;
	nested = info_of(l2);
	vcpu->arch.handling_intr_from_guest = KVM_HANDLING_NMI;
	vcpu->arch.cr3 = 0x9876000;
	verified = 0;
	unmapped = NULL;
	vmph_svm_known = NULL;
	return 0;
}

static int read_by(bool nmi)
{
	guest = (struct vmph_guest) { 0 };
	reads = 0;
	return vmph_svm_read(vcpu, &verified, nmi, &guest);
}

/* KVM has switched to its guest's guest */
static void run_l2(void)
{
	svm.current_vmcb = &nested;
	svm.vmcb = l2;
	vcpu->arch.hflags = HF_GUEST_MASK;
}

/* ------------------------------------------------------------ whose it is */

static void test_layout(void **state)
{
	(void)state;
	btf.answer = -ENODEV;
	assert_int_equal(vmph_svm_check(), -ENODEV);
	assert_string_equal(btf.module, "kvm_amd");
	assert_string_equal(btf.type, "vcpu_svm");
	assert_string_equal(btf.member, "current_vmcb");
	assert_int_equal(btf.offset, (char *)&svm.current_vmcb - (char *)&svm);
	btf.answer = 0;
	assert_int_equal(vmph_svm_check(), 0);
}

static void test_guest(void **state)
{
	(void)state;
	assert_int_equal(read_by(true), 0);
	assert_true(guest.in_guest);
	assert_int_equal(verified, (u64)l1);
	assert_int_equal(guest.ip, 0x401234);
	assert_int_equal(guest.cr3, 0x1234000);
	assert_int_equal(guest.cpl, 3);
	assert_int_equal(guest.flags, VMPROF_SF_LONG_MODE);
	assert_int_equal(guest.exit_reason, SVM_EXIT_NMI);
	assert_int_equal(guest.exit_intr_info, 0x80000202);
	assert_int_equal(guest.exit_info1, 0x181);
	assert_int_equal(guest.exit_info2, 0x2345678);
	assert_int_equal(reads, 2);
	/* what was verified is not looked at again */
	assert_int_equal(read_by(true), 0);
	assert_int_equal(reads, 0);
	/* memory is not encrypted on this host */
	verified = 0;
	svm.vmcb01.info.pa = kernel_pa(l1);
	assert_int_equal(read_by(true), 0);
}

/* By how the run ended, and by what KVM handles */
static void test_whose(void **state)
{
	static const struct {
		bool nmi;
		u8 handling;
		u32 code;
		bool guest;
	} is[] = {
		{ true, KVM_HANDLING_NMI, SVM_EXIT_NMI, true },
		{ false, KVM_HANDLING_IRQ, SVM_EXIT_INTR, true },
		/* on the way into the guest, or held back and let in after KVM was done with the exit */
		{ true, 0, SVM_EXIT_NMI, false },
		{ false, 0, SVM_EXIT_INTR, false },
		/* an NMI hits KVM in the window for interrupts */
		{ true, KVM_HANDLING_IRQ, SVM_EXIT_INTR, false },
		{ true, KVM_HANDLING_IRQ, SVM_EXIT_NMI, false },
		{ false, KVM_HANDLING_NMI, SVM_EXIT_INTR, false },
		/* another exit, and the NMI or interrupt before KVM was done with it */
		{ true, KVM_HANDLING_NMI, SVM_EXIT_CPUID, false },
		{ true, KVM_HANDLING_NMI, SVM_EXIT_INTR, false },
		{ false, KVM_HANDLING_IRQ, SVM_EXIT_CPUID, false },
		{ false, KVM_HANDLING_IRQ, SVM_EXIT_NMI, false },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(is); i++) {
		vcpu->arch.handling_intr_from_guest = is[i].handling;
		l1->control.exit_code = is[i].code;
		assert_int_equal(read_by(is[i].nmi), 0);
		if (guest.in_guest != is[i].guest)
			fail_msg("case %u is %s guest's", i, guest.in_guest ? "the" : "not the");
		/* a host sample has the state all the same */
		assert_int_equal(guest.exit_reason, is[i].code);
		assert_int_equal(guest.ip, 0x401234);
	}
}

/* Nothing is told: a loss where KVM handles what ended the guest's run, else a host sample */
static void assert_nothing(void)
{
	static const struct vmph_guest nothing;
	u64 before = verified;

	vcpu->arch.handling_intr_from_guest = KVM_HANDLING_NMI;
	assert_int_equal(read_by(true), -EIO);
	assert_memory_equal(&guest, &nothing, sizeof(guest));
	vcpu->arch.handling_intr_from_guest = 0;
	assert_int_equal(read_by(true), -ENODATA);
	assert_memory_equal(&guest, &nothing, sizeof(guest));
	assert_int_equal(verified, before);
	/* nor by the hooks */
	assert_int_equal(vmph_svm_cr3(vcpu), 0);
	assert_false(vmph_svm_freeze(vcpu, true));
	assert_null(vmph_svm_known);
}

/* ----------------------------------------------- is it the VMCB in use? */

static void test_no_vmcb(void **state)
{
	(void)state;
	svm.vmcb = NULL;
	assert_nothing();
	/* where the vCPU has another layout: no page, and no memory; even if all else agrees */
	svm.vmcb = (struct vmcb *)((char *)l1 + 8);
	svm.vmcb01.info = info_of(svm.vmcb);
	assert_nothing();
	svm.vmcb = (struct vmcb *)0x7000;
	svm.vmcb01.info.ptr = svm.vmcb;
	assert_nothing();
	assert_int_equal(reads, 0);
}

static void test_another_vmcb(void **state)
{
	(void)state;
	svm.vmcb = old;
	assert_nothing();
	svm.vmcb01.info.ptr = old;	/* the physical address is still l1's */
	assert_nothing();
	svm.vmcb01.info = info_of(old);
	svm.vmcb01.info.ptr = l1;
	assert_nothing();
	svm.vmcb01.info = info_of(old);
	vcpu->arch.handling_intr_from_guest = KVM_HANDLING_NMI;
	assert_int_equal(read_by(true), 0);
	assert_int_equal(verified, (u64)old);
}

static void test_unmapped(void **state)
{
	(void)state;
	unmapped = &svm.current_vmcb;
	assert_nothing();
	unmapped = &svm.vmcb01.info;
	assert_nothing();
	unmapped = NULL;
	assert_int_equal(read_by(true), 0);
}

/* ------------------------------------------------------------ nested guests */

static void test_nested(void **state)
{
	(void)state;
	assert_int_equal(read_by(true), 0);
	run_l2();
	assert_int_equal(read_by(true), 0);
	assert_true(guest.in_guest);
	assert_int_equal(verified, (u64)l2);
	assert_int_equal(guest.ip, 0x501234);
	assert_int_equal(guest.cr3, 0x5234000);
	assert_int_equal(guest.cpl, 0);
	assert_int_equal(guest.flags, VMPROF_SF_NESTED | VMPROF_SF_LONG_MODE);
	assert_int_equal(vmph_svm_cr3(vcpu), 0x5234000);
}

/* Between two instructions of KVM's switch */
static void test_switched(void **state)
{
	(void)state;
	svm.current_vmcb = &nested;
	assert_nothing();
	svm.current_vmcb = &svm.vmcb01.info;
	svm.vmcb = l2;
	assert_nothing();
	/* L1's was verified, L2's was not */
	verified = (u64)l1;
	assert_nothing();
}

/* ------------------------------------------------------- encrypted registers */

/* SEV-ES, and SEV-SNP, which has it on: what is in the VMCB's save area is not the guest's */
static void test_encrypted(void **state)
{
	(void)state;
	l1->control.nested_ctl |= SVM_NESTED_CTL_SEV_ES_ENABLE;
	assert_int_equal(read_by(true), -EIO);
	assert_int_equal(guest.ip | guest.cr3 | guest.cpl | guest.flags, 0);
	/* by KVM's own doing it is a host sample */
	l1->control.exit_code = SVM_EXIT_CPUID;
	assert_int_equal(read_by(true), -ENODATA);
	assert_int_equal(guest.ip | guest.cr3 | guest.cpl | guest.flags, 0);
	l1->control.exit_code = SVM_EXIT_NMI;
	vcpu->arch.handling_intr_from_guest = 0;
	assert_int_equal(read_by(true), -ENODATA);
	/* its DEBUGCTL is not ours to change */
	assert_false(vmph_svm_freeze(vcpu, true));
	assert_int_equal(l1->save.dbgctl, 0x2);
	l1->save.dbgctl |= FREEZE;
	assert_false(vmph_svm_freeze(vcpu, false));
	assert_int_equal(l1->save.dbgctl, FREEZE | 0x2);
	/* plain SEV hides memory, not registers */
	l1->control.nested_ctl = SVM_NESTED_CTL_NP_ENABLE | 1ULL << 1;
	assert_int_equal(read_by(true), 0);
	assert_int_equal(guest.ip, 0x401234);
}

/* ----------------------------------------------------------------- modes */

static void test_32_bit(void **state)
{
	(void)state;
	l1->save.cs.attrib = RING3_CODE32;	/* in compatibility mode */
	assert_int_equal(read_by(true), 0);
	assert_int_equal(guest.ip, 0x411234);
	assert_int_equal(guest.flags, 0);
	/* without long mode the bit has no meaning */
	l1->save.cs.attrib = RING3_CODE64;
	l1->save.efer = EFER_SVME;
	assert_int_equal(read_by(true), 0);
	assert_int_equal(guest.ip, 0x411234);
	assert_int_equal(guest.flags, 0);
}

/* Without nested paging the CR3 is the one that KVM emulates */
static void test_shadow(void **state)
{
	(void)state;
	assert_int_equal(vmph_svm_cr3(vcpu), 0x1234000);
	l1->control.nested_ctl = 0;
	assert_int_equal(read_by(true), 0);
	assert_int_equal(guest.cr3, 0x9876000);
	assert_int_equal(vmph_svm_cr3(vcpu), 0x9876000);
}

/* ---------------------------------------------------------- KVM's hooks */

/* They come often: only another VMCB than the last on this CPU is verified */
static void test_known(void **state)
{
	(void)state;
	reads = 0;
	assert_int_equal(vmph_svm_cr3(vcpu), 0x1234000);
	assert_int_equal(reads, 2);
	assert_int_equal(vmph_svm_cr3(vcpu), 0x1234000);
	assert_int_equal(reads, 2);
	run_l2();
	assert_int_equal(vmph_svm_cr3(vcpu), 0x5234000);
	assert_int_equal(reads, 4);
	svm.vmcb = NULL;
	vmph_svm_known = NULL;	/* none yet, which is no VMCB that is known */
	assert_int_equal(vmph_svm_cr3(vcpu), 0);
}

static void test_lend(void **state)
{
	(void)state;
	assert_true(vmph_svm_freeze(vcpu, true));
	assert_int_equal(l1->save.dbgctl, FREEZE | 0x2);
	assert_false(vmph_svm_freeze(vcpu, true));
	assert_int_equal(l1->save.dbgctl, FREEZE | 0x2);
	assert_true(vmph_svm_freeze(vcpu, false));
	assert_int_equal(l1->save.dbgctl, 0x2);
	assert_false(vmph_svm_freeze(vcpu, false));
	assert_int_equal(l1->save.dbgctl, 0x2);
	/* with LBR virtualisation it is the guest's */
	l1->control.virt_ext = LBR_CTL_ENABLE_MASK;
	assert_false(vmph_svm_freeze(vcpu, true));
	assert_int_equal(l1->save.dbgctl, 0x2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_layout, after_nmi),
		cmocka_unit_test_setup(test_guest, after_nmi),
		cmocka_unit_test_setup(test_whose, after_nmi),
		cmocka_unit_test_setup(test_no_vmcb, after_nmi),
		cmocka_unit_test_setup(test_another_vmcb, after_nmi),
		cmocka_unit_test_setup(test_unmapped, after_nmi),
		cmocka_unit_test_setup(test_nested, after_nmi),
		cmocka_unit_test_setup(test_switched, after_nmi),
		cmocka_unit_test_setup(test_encrypted, after_nmi),
		cmocka_unit_test_setup(test_32_bit, after_nmi),
		cmocka_unit_test_setup(test_shadow, after_nmi),
		cmocka_unit_test_setup(test_known, after_nmi),
		cmocka_unit_test_setup(test_lend, after_nmi),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
