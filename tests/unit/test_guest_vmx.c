// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_guest_vmx.c - the host module's VMX half, compiled as it is, before a made-up VMCS: whose a
 * sample is, and that nothing is told of a guest of whose state one field cannot be read. The
 * instructions themselves (vmcs.h) run in tests/lab/intel/cases/20-vmcs.sh.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "kernel_shim.h"
#include <cmocka.h>

/* ----------------------------------------------------------- a made-up VMCS */

#define VMPH_VMCS_H
#define VMPH_VMX_NO_VMCS	(~0ULL)
#define OURS			0x5000
#define ANOTHER			0x7000

static u64 current_vmcs;
static struct field {
	unsigned long field;
	bool missing, fixed;	/* cannot be read, cannot be written */
	u64 value;
} fields[11];

static struct field *field(unsigned long name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].field == name)
			return &fields[i];
	fail_msg("field %#lx is not in the VMCS", name);
	return NULL;
}

static u64 vmph_vmptrst(void)
{
	return current_vmcs;
}

static bool vmph_vmread(unsigned long name, u64 *value)
{
	const struct field *f = field(name);

	if (current_vmcs == VMPH_VMX_NO_VMCS || f->missing)
		return false;
	*value = f->value;
	return true;
}

static bool vmph_vmwrite(unsigned long name, u64 value)
{
	struct field *f = field(name);

	if (current_vmcs == VMPH_VMX_NO_VMCS || f->fixed)
		return false;
	f->value = value;
	return true;
}

#include "../../host-driver/guest_vmx.c"

static bool arch_lbr;
static u64 global_status;

u64 kernel_rdmsr(u32 msr)
{
	assert_int_equal(msr, MSR_CORE_PERF_GLOBAL_STATUS);
	return global_status;
}

bool boot_cpu_has(int feature)
{
	return feature == X86_FEATURE_ARCH_LBR && arch_lbr;
}

#define NMI_INFO	0x80000202	/* valid, type 2, vector 2 */
#define RING3_CODE64	0xa0fb		/* present, DPL 3, long */
#define RING3_CODE32	0xc0fb
#define RING3_DATA	0xc0f3

static struct kvm kvm;
static struct kvm_vcpu vcpu;
static struct vmph_guest guest;
static u64 verified;

/* An NMI has ended the run of a 64-bit guest in its user code, and KVM handles it */
static int after_nmi(void **state)
{
	(void)state;
	current_vmcs = OURS;
	memcpy(fields, (struct field []) {
		{ VM_EXIT_REASON, .value = EXIT_REASON_EXCEPTION_NMI },
		{ VM_EXIT_INTR_INFO, .value = NMI_INFO },
		{ GUEST_RIP, .value = 0x401234 },
		{ GUEST_CR3, .value = 0x1234000 },
		{ GUEST_SS_AR_BYTES, .value = RING3_DATA },
		{ GUEST_CS_AR_BYTES, .value = RING3_CODE64 },
		{ GUEST_CS_BASE, .value = 0x10000 },
		{ SECONDARY_VM_EXEC_CONTROL, .value = SECONDARY_EXEC_ENABLE_EPT },
		{ EXIT_QUALIFICATION, .value = 0x181 },
		{ GUEST_PHYSICAL_ADDRESS, .value = 0x2345678 },
		{ GUEST_IA32_DEBUGCTL, .value = 0x2 },
	}, sizeof(fields));
	kvm.arch.vm_type = 0;
	vcpu = (struct kvm_vcpu) { .kvm = &kvm };
	vcpu.arch.handling_intr_from_guest = KVM_HANDLING_NMI;
	vcpu.arch.cr3 = 0x9876000;
	guest = (struct vmph_guest) { 0 };
	verified = 0;
	arch_lbr = false;
	global_status = GLOBAL_STATUS_LBRS_FROZEN | 1;
	vmph_vmx_lent = NULL;
	return 0;
}

static void set(unsigned long name, u64 value)
{
	field(name)->value = value;
}

static int read_by(bool nmi)
{
	guest = (struct vmph_guest) { 0 };
	return vmph_vmx_read(&vcpu, &verified, nmi, &guest);
}

/* ------------------------------------------------------------ whose it is */

static void test_guest(void **state)
{
	(void)state;
	assert_int_equal(read_by(true), 0);
	assert_true(guest.in_guest);
	assert_int_equal(verified, OURS);
	assert_int_equal(guest.ip, 0x401234);
	assert_int_equal(guest.cr3, 0x1234000);
	assert_int_equal(guest.cpl, 3);
	assert_int_equal(guest.flags, VMPROF_SF_LONG_MODE);
	assert_int_equal(guest.exit_reason, EXIT_REASON_EXCEPTION_NMI);
	assert_int_equal(guest.exit_intr_info, NMI_INFO);
	assert_int_equal(guest.exit_info1, 0x181);
	assert_int_equal(guest.exit_info2, 0x2345678);
	/* bits above the reason: the exit was from an enclave */
	set(VM_EXIT_REASON, 1U << 27 | EXIT_REASON_EXCEPTION_NMI);
	assert_int_equal(read_by(true), 0);
	assert_true(guest.in_guest);
}

/* By how the run ended, and by what KVM handles */
static void test_whose(void **state)
{
	static const struct {
		bool nmi;
		u8 handling;
		u32 reason, info;
		bool guest;
	} is[] = {
		{ true, KVM_HANDLING_NMI, EXIT_REASON_EXCEPTION_NMI, NMI_INFO, true },
		{ false, KVM_HANDLING_IRQ, EXIT_REASON_EXTERNAL_INTERRUPT, 0x800000ec, true },
		/* between the exit and the call of the NMI's handler, and on the way into the guest */
		{ true, 0, EXIT_REASON_EXCEPTION_NMI, NMI_INFO, false },
		{ false, 0, EXIT_REASON_EXTERNAL_INTERRUPT, 0x800000ec, false },
		/* an NMI hits KVM while it handles the guest's interrupt */
		{ true, KVM_HANDLING_IRQ, EXIT_REASON_EXTERNAL_INTERRUPT, 0x800000ec, false },
		/* ... or takes interrupts after the guest's NMI */
		{ true, KVM_HANDLING_IRQ, EXIT_REASON_EXCEPTION_NMI, NMI_INFO, false },
		/* an exception that is no NMI: #PF; information that is not valid */
		{ true, KVM_HANDLING_NMI, EXIT_REASON_EXCEPTION_NMI, 0x80000b0e, false },
		{ true, KVM_HANDLING_NMI, EXIT_REASON_EXCEPTION_NMI, 0x202, false },
		/* another exit, and then an interrupt or NMI before KVM was done with it */
		{ true, KVM_HANDLING_NMI, EXIT_REASON_CPUID, NMI_INFO, false },
		{ false, KVM_HANDLING_IRQ, EXIT_REASON_CPUID, 0, false },
		{ false, KVM_HANDLING_IRQ, EXIT_REASON_EXCEPTION_NMI, NMI_INFO, false },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(is); i++) {
		verified = OURS;
		vcpu.arch.handling_intr_from_guest = is[i].handling;
		set(VM_EXIT_REASON, is[i].reason);
		set(VM_EXIT_INTR_INFO, is[i].info);
		assert_int_equal(read_by(is[i].nmi), 0);
		if (guest.in_guest != is[i].guest)
			fail_msg("case %u is %s guest's", i, guest.in_guest ? "the" : "not the");
		/* a host sample has the state all the same */
		assert_int_equal(guest.ip, 0x401234);
	}
}

static void assert_nothing(int err)
{
	u64 before = verified;

	assert_int_equal(read_by(true), err);
	assert_false(guest.in_guest);
	assert_int_equal(verified, before);
}

/* While vCPUs are switched, or a shadow VMCS is loaded, the current one is another's */
static void test_another_vmcs(void **state)
{
	(void)state;
	vcpu.arch.handling_intr_from_guest = 0;
	assert_nothing(-ENODATA);	/* not verified yet */
	verified = OURS;
	assert_int_equal(read_by(true), 0);
	current_vmcs = ANOTHER;
	assert_nothing(-ENODATA);
	/* the vCPU has it by now: KVM handles its NMI */
	vcpu.arch.handling_intr_from_guest = KVM_HANDLING_NMI;
	assert_int_equal(read_by(true), 0);
	assert_int_equal(verified, ANOTHER);
}

static void test_no_vmcs(void **state)
{
	(void)state;
	current_vmcs = VMPH_VMX_NO_VMCS;
	assert_nothing(-EIO);
	vcpu.arch.handling_intr_from_guest = 0;
	verified = VMPH_VMX_NO_VMCS;
	assert_nothing(-ENODATA);
	assert_int_equal(vmph_vmx_cr3(&vcpu), 0);
	assert_false(vmph_vmx_lend_freeze(&vcpu));
}

static void test_td(void **state)
{
	(void)state;
	kvm.arch.vm_type = KVM_X86_TDX_VM;
	assert_nothing(-EIO);
	vcpu.arch.handling_intr_from_guest = 0;
	verified = OURS;
	assert_nothing(-ENODATA);
	assert_false(vmph_vmx_lend_freeze(&vcpu));
	assert_int_equal(field(GUEST_IA32_DEBUGCTL)->value, 0x2);
}

/* ------------------------------------------------- fields that cannot be read */

static void test_missing(void **state)
{
	static const unsigned long needed[] = {
		VM_EXIT_REASON, VM_EXIT_INTR_INFO, GUEST_RIP, GUEST_CR3,
		GUEST_SS_AR_BYTES, GUEST_CS_AR_BYTES, GUEST_CS_BASE,
	};
	unsigned int i;

	(void)state;
	set(GUEST_CS_AR_BYTES, RING3_CODE32);
	for (i = 0; i < ARRAY_SIZE(needed); i++) {
		field(needed[i])->missing = true;
		verified = 0;
		vcpu.arch.handling_intr_from_guest = KVM_HANDLING_NMI;
		assert_nothing(-EIO);
		verified = OURS;
		vcpu.arch.handling_intr_from_guest = 0;
		assert_nothing(-ENODATA);
		field(needed[i])->missing = false;
		assert_int_equal(read_by(true), 0);
	}
}

static void test_not_needed(void **state)
{
	(void)state;
	field(EXIT_QUALIFICATION)->missing = true;
	field(GUEST_PHYSICAL_ADDRESS)->missing = true;
	field(GUEST_CS_BASE)->missing = true;	/* in 64-bit mode */
	assert_int_equal(read_by(true), 0);
	assert_true(guest.in_guest);
	assert_int_equal(guest.ip, 0x401234);
	assert_int_equal(guest.exit_info1, 0);
	assert_int_equal(guest.exit_info2, 0);
}

/* ----------------------------------------------------------------- modes */

static void test_32_bit(void **state)
{
	(void)state;
	set(GUEST_CS_AR_BYTES, RING3_CODE32);
	vcpu.arch.hflags = HF_GUEST_MASK;
	assert_int_equal(read_by(true), 0);
	assert_int_equal(guest.ip, 0x411234);
	assert_int_equal(guest.flags, VMPROF_SF_NESTED);
	set(GUEST_SS_AR_BYTES, RING3_DATA & ~0x60);
	assert_int_equal(read_by(true), 0);
	assert_int_equal(guest.cpl, 0);
}

/* Without EPT, or its controls, the CR3 is the one that KVM emulates */
static void test_shadow(void **state)
{
	(void)state;
	set(SECONDARY_VM_EXEC_CONTROL, 0);
	assert_int_equal(read_by(true), 0);
	assert_int_equal(guest.cr3, 0x9876000);
	assert_int_equal(vmph_vmx_cr3(&vcpu), 0x9876000);
	field(SECONDARY_VM_EXEC_CONTROL)->missing = true;
	assert_int_equal(read_by(true), 0);
	assert_int_equal(guest.cr3, 0x9876000);
	field(GUEST_CR3)->missing = true;
	assert_int_equal(vmph_vmx_cr3(&vcpu), 0);
}

/* --------------------------------------------------------------- DEBUGCTL */

#define FREEZE	DEBUGCTLMSR_FREEZE_LBRS_ON_PMI

static void test_lend(void **state)
{
	struct field *debugctl = field(GUEST_IA32_DEBUGCTL);

	(void)state;
	assert_false(vmph_vmx_is_lent());
	assert_true(vmph_vmx_lend_freeze(&vcpu));
	assert_true(vmph_vmx_is_lent());
	assert_int_equal(debugctl->value, FREEZE | DEBUGCTLMSR_LBR | 0x2);
	assert_false(vmph_vmx_lend_freeze(&vcpu));
	assert_true(vmph_vmx_take_freeze(&vcpu));
	assert_false(vmph_vmx_is_lent());
	assert_int_equal(debugctl->value, 0x2);
	assert_false(vmph_vmx_take_freeze(&vcpu));
	/* the architectural record has an MSR of its own */
	arch_lbr = true;
	assert_true(vmph_vmx_lend_freeze(&vcpu));
	assert_int_equal(debugctl->value, FREEZE | 0x2);
	assert_true(vmph_vmx_take_freeze(&vcpu));
	assert_int_equal(debugctl->value, 0x2);
}

static void test_not_lent(void **state)
{
	struct field *debugctl = field(GUEST_IA32_DEBUGCTL);

	(void)state;
	debugctl->missing = true;
	assert_false(vmph_vmx_lend_freeze(&vcpu));
	debugctl->missing = false;
	debugctl->fixed = true;
	assert_false(vmph_vmx_lend_freeze(&vcpu));
	debugctl->fixed = false;
	debugctl->value = DEBUGCTLMSR_LBR;	/* the guest's own use */
	assert_false(vmph_vmx_lend_freeze(&vcpu));
	assert_false(vmph_vmx_is_lent());
	assert_int_equal(debugctl->value, DEBUGCTLMSR_LBR);
	/* none of these is taken back */
	assert_false(vmph_vmx_take_freeze(&vcpu));
	assert_int_equal(debugctl->value, DEBUGCTLMSR_LBR);
	/* what cannot be read any more is not written */
	debugctl->value = 0x2;
	assert_true(vmph_vmx_lend_freeze(&vcpu));
	debugctl->missing = true;
	assert_true(vmph_vmx_take_freeze(&vcpu));
	assert_int_equal(debugctl->value, FREEZE | DEBUGCTLMSR_LBR | 0x2);
	assert_false(vmph_vmx_take_freeze(&vcpu));
}

/* A counter's NMI that perf has not seen: all three must say so, and the branches must be the guest's */
static void test_nmi_waits(void **state)
{
	(void)state;
	assert_false(vmph_vmx_nmi_waits());
	assert_true(vmph_vmx_lend_freeze(&vcpu));
	assert_true(vmph_vmx_nmi_waits());
	global_status = 1;
	assert_false(vmph_vmx_nmi_waits());
	global_status = GLOBAL_STATUS_LBRS_FROZEN;
	field(VM_EXIT_REASON)->missing = true;
	assert_false(vmph_vmx_nmi_waits());
	field(VM_EXIT_REASON)->missing = false;
	field(VM_EXIT_INTR_INFO)->missing = true;
	assert_false(vmph_vmx_nmi_waits());
	field(VM_EXIT_INTR_INFO)->missing = false;
	set(VM_EXIT_INTR_INFO, 0x80000b0e);
	assert_false(vmph_vmx_nmi_waits());
	set(VM_EXIT_INTR_INFO, NMI_INFO);
	set(VM_EXIT_REASON, EXIT_REASON_CPUID);
	assert_false(vmph_vmx_nmi_waits());
	set(VM_EXIT_REASON, EXIT_REASON_EXCEPTION_NMI);
	assert_true(vmph_vmx_nmi_waits());
	assert_true(vmph_vmx_take_freeze(&vcpu));
	assert_false(vmph_vmx_nmi_waits());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_guest, after_nmi),
		cmocka_unit_test_setup(test_whose, after_nmi),
		cmocka_unit_test_setup(test_another_vmcs, after_nmi),
		cmocka_unit_test_setup(test_no_vmcs, after_nmi),
		cmocka_unit_test_setup(test_td, after_nmi),
		cmocka_unit_test_setup(test_missing, after_nmi),
		cmocka_unit_test_setup(test_not_needed, after_nmi),
		cmocka_unit_test_setup(test_32_bit, after_nmi),
		cmocka_unit_test_setup(test_shadow, after_nmi),
		cmocka_unit_test_setup(test_lend, after_nmi),
		cmocka_unit_test_setup(test_not_lent, after_nmi),
		cmocka_unit_test_setup(test_nmi_waits, after_nmi),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
