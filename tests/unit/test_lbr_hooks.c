// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_lbr_hooks.c - the host module's lbr.c with Intel's halves (lbr_intel.c, guest_vmx.c), compiled as they
 * are, before a made-up pCPU that runs guests: whose branches a sample gets, whether KVM hands a guest's NMI on before
 * its tracepoint kvm_exit (Linux 6.12) or behind it (6.1).
 *
 * The processor freezes its record when a counter overflows, and says so in LBR_FRZ of
 * IA32_PERF_GLOBAL_STATUS (Intel SDM volume 3, "Freezing LBR and Performance Counters on PMI"); what is not frozen
 * records host and guest alike.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "kernel_shim.h"
#include <cmocka.h>

/* ------------------------------------------------------- a made-up VMCS */

#define VMPH_VMCS_H
#define VMPH_VMX_NO_VMCS	(~0ULL)

static u64 vmph_vmptrst(void)
{
	return 0x5000;
}

static u64 vmcs_reason, vmcs_info, vmcs_debugctl, vmcs_cr3;

static u64 *vmcs_field(unsigned long name)
{
	static u64 controls = SECONDARY_EXEC_ENABLE_EPT, other;

	switch (name) {
	case VM_EXIT_REASON: return &vmcs_reason;
	case VM_EXIT_INTR_INFO: return &vmcs_info;
	case GUEST_IA32_DEBUGCTL: return &vmcs_debugctl;
	case GUEST_CR3: return &vmcs_cr3;
	case SECONDARY_VM_EXEC_CONTROL: return &controls;
	default: return &other;
	}
}

static bool vmph_vmread(unsigned long name, u64 *value)
{
	*value = *vmcs_field(name);
	return true;
}

static bool vmph_vmwrite(unsigned long name, u64 value)
{
	*vmcs_field(name) = value;
	return true;
}

/* The kernel is built without these warnings */
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "../../host-driver/branches.c"
#include "../../host-driver/guest_vmx.c"
#include "../../host-driver/lbr_intel.c"
#include "../../host-driver/lbr.c"

/* ------------------------------------------- what else lbr.c takes its own from */

static struct task_struct task, another;
struct task_struct *current = &task;
static vmph_kvm_hook *on_entry, *on_exit_hook;
static struct vmph_session session;

int vmph_kvm_trace_entry(vmph_kvm_hook *hook, void *data, bool on)
{
	assert_ptr_equal(data, &session);
	on_entry = on ? hook : NULL;
	return 0;
}

int vmph_kvm_trace_exit(vmph_kvm_hook *hook, void *data, bool on)
{
	assert_ptr_equal(data, &session);
	on_exit_hook = on ? hook : NULL;
	return 0;
}

#define VENDOR_TEXT	0xffffffffc0100000

struct module {
	struct vmph_text text;
};

static struct module kvm_intel = { { VENDOR_TEXT, VENDOR_TEXT + 0x10000 } };

struct module *vmph_module_get(const char *name)
{
	assert_string_equal(name, "kvm_intel");
	return &kvm_intel;
}

void module_put(struct module *module)
{
	assert_ptr_equal(module, &kvm_intel);
}

void vmph_module_text(const struct module *mod, struct vmph_text *text)
{
	*text = mod->text;
}

u8 vmph_guest_vendor(void)
{
	return VMPROF_VENDOR_VMX;
}

u8 vmph_kvm_vendor(void)
{
	return VMPROF_VENDOR_VMX;
}

bool vmph_guest_lend_freeze(struct kvm_vcpu *vcpu)
{
	return vmph_vmx_lend_freeze(vcpu);
}

bool vmph_guest_take_freeze(struct kvm_vcpu *vcpu)
{
	return vmph_vmx_take_freeze(vcpu);
}

u64 vmph_guest_cr3(struct kvm_vcpu *vcpu)
{
	return vmph_vmx_cr3(vcpu);
}

bool vmph_steal_available(void)
{
	return true;
}

void vmph_counters_attr(struct perf_event_attr *attr, u32 type, u64 config, u64 period)
{
	memset(attr, 0, sizeof(*attr));
	attr->type = type;
	attr->config = config;
	attr->sample_period = period;
}

int vmph_counters_try(const struct perf_event_attr *attr)
{
	return attr->sample_type & PERF_SAMPLE_BRANCH_STACK ? 0 : -EINVAL;
}

/* AMD's half is not asked on Intel's processors */
u32 vmph_lbr_amd_lack(u8 *entries, bool *cycles)
{
	fail();
	return *entries + *cycles;
}

int vmph_lbr_amd_arm(u32 branches, u64 *select)
{
	fail();
	return branches + *select;
}

void vmph_lbr_amd_disarm(u32 branches, u64 select)
{
	fail();
}

u64 vmph_lbr_amd_exchange(u64 from)
{
	fail();
	return from;
}

void vmph_lbr_amd_read(const struct vmph_text *host, unsigned int entries, struct vmph_branches *b)
{
	fail();
}

void kernel_log(const char *fmt, ...)
{
	fail_msg("%s", fmt);
}

void msleep(unsigned int ms)
{
	assert_int_equal(ms, 1);
}

/* ---------------------------------------------------- the pCPU and its record */

static u64 msr[0x2000], record_to[VMPH_LEGACY_ENTRIES];
static bool arch_lbr, recording;

u64 kernel_rdmsr(u32 which)
{
	assert_true(which < ARRAY_SIZE(msr));
	return msr[which];
}

void kernel_wrmsr(u32 which, u64 value)
{
	assert_true(which < ARRAY_SIZE(msr));
	msr[which] = value;
}

u32 cpuid_eax(u32 leaf)
{
	return leaf == 0 ? 0x16 : leaf == 0x0a ? 0x07300404 : 0;
}

u32 cpuid_ecx(u32 leaf)
{
	return 0;
}

bool boot_cpu_has(int feature)
{
	return feature == X86_FEATURE_PDCM || (feature == X86_FEATURE_ARCH_LBR && arch_lbr);
}

static void branch(u64 from)
{
	u64 *entries = &msr[arch_lbr ? MSR_ARCH_LBR_FROM_0 : MSR_LBR_NHM_FROM], *to = record_to;

	if (!recording || (msr[MSR_CORE_PERF_GLOBAL_STATUS] & GLOBAL_STATUS_LBRS_FROZEN))
		return;
	if (arch_lbr) {
		memmove(entries + 1, entries, (VMPH_LEGACY_ENTRIES - 1) * sizeof(*entries));
		memmove(to + 1, to, (VMPH_LEGACY_ENTRIES - 1) * sizeof(*to));
	} else {
		msr[MSR_LBR_TOS] = (msr[MSR_LBR_TOS] + 1) % VMPH_LEGACY_ENTRIES;
		entries += msr[MSR_LBR_TOS];
		to += msr[MSR_LBR_TOS];
	}
	*entries = from;
	*to = from + 0x10;
}

static void branches(u64 from, unsigned int n)
{
	while (n--)
		branch(from += 0x40);
}

#define GUEST_CODE	0x401000
#define KERNEL_CODE	0xffffffff81000000
#define SPACE		0x1234000

static struct kvm kvm;
static struct kvm_vcpu vcpu;
static struct vmph_cpu cpu, *cpus[] = { &cpu };
static union {
	struct perf_branch_stack stack;
	u64 room[2 + VMPROF_LBR_MAX * sizeof(struct perf_branch_entry) / 8];
} perf;

/* What perf does in the NMI, before it calls the overflow handlers */
static void perf_reads(void)
{
	u64 *from = &msr[arch_lbr ? MSR_ARCH_LBR_FROM_0 : MSR_LBR_NHM_FROM];
	unsigned int i;

	recording = false;
	memset(&perf, 0, sizeof(perf));
	perf.stack.nr = VMPH_LEGACY_ENTRIES;
	for (i = 0; i < VMPH_LEGACY_ENTRIES; i++) {
		unsigned int at = arch_lbr ? i : (msr[MSR_LBR_TOS] - i) % VMPH_LEGACY_ENTRIES;

		perf.stack.entries[i].from = from[at];
		perf.stack.entries[i].to = record_to[at];
	}
	msr[MSR_CORE_PERF_GLOBAL_STATUS] = 0;
}

static void handler(bool guest)
{
	struct perf_sample_data data = { PERF_SAMPLE_BRANCH_STACK, &perf.stack };

	vmph_lbr_read(&cpu, &data, guest, !guest, SPACE);
}

static void nmi(bool guest)
{
	perf_reads();
	handler(guest);
	recording = true;
}

static void overflow(void)
{
	if (vmcs_debugctl & DEBUGCTLMSR_FREEZE_LBRS_ON_PMI)
		msr[MSR_CORE_PERF_GLOBAL_STATUS] = GLOBAL_STATUS_LBRS_FROZEN;
}

static void enter(void)
{
	branches(KERNEL_CODE, 3);
	on_entry(&session, &vcpu);
	branches(VENDOR_TEXT, 2);
}

static void leave(u64 reason, u64 info)
{
	vmcs_reason = reason;
	vmcs_info = info;
	branches(VENDOR_TEXT + 0x1000, 2);
	on_exit_hook(&session, &vcpu);
	branches(KERNEL_CODE + 0x1000, 4);
}

/* A counter of the guest's overflows.  Is KVM @late with the NMI? */
static void sampled_run(bool late, unsigned int taken)
{
	enter();
	branches(GUEST_CODE, taken);
	overflow();
	vmcs_reason = EXIT_REASON_EXCEPTION_NMI;
	vmcs_info = 0x80000202;
	if (!late)
		nmi(true);
	leave(vmcs_reason, vmcs_info);
	if (late)
		nmi(true);
}

/* ... and KVM has yet to hand the NMI on */
static void unsampled_run(unsigned int taken)
{
	enter();
	branches(GUEST_CODE, taken);
	overflow();
	leave(EXIT_REASON_EXCEPTION_NMI, 0x80000202);
}

static void assert_guests(unsigned int taken)
{
	unsigned int i;

	assert_int_equal(cpu.branches.nr, taken);
	for (i = 0; i < taken; i++)
		assert_int_equal(cpu.branches.entry[i].from, GUEST_CODE + 0x40 * (taken - i));
	assert_int_equal(cpu.branches.flags, 0);
}

static void start(u32 wanted, u8 format)
{
	session.lbr.branches = wanted;
	session.lbr.format = format;
	assert_int_equal(vmph_lbr_start(&session), 0);
}

static int setup(void **state)
{
	(void)state;
	memset(&session, 0, sizeof(session));
	memset(&cpu, 0, sizeof(cpu));
	memset(&vcpu, 0, sizeof(vcpu));
	memset(msr, 0, sizeof(msr));
	memset(record_to, 0, sizeof(record_to));
	session.cpus = cpus;
	session.steal = true;
	session.lbr.entries = VMPH_LEGACY_ENTRIES;
	cpu.session = &session;
	vcpu.kvm = &kvm;
	vcpu.arch.last_host_tsc = 7;
	vmcs_debugctl = 0x2;	/* BTF */
	vmcs_cr3 = SPACE;
	arch_lbr = false;
	recording = true;
	current = &task;
	return 0;
}

static int setup_arch(void **state)
{
	setup(state);
	arch_lbr = true;
	return 0;
}

/* A vCPU runs, so that it is there to come back */
void on_each_cpu(void (*fn)(void *arg), void *arg, int wait)
{
	fn(arg);
	leave(EXIT_REASON_EXTERNAL_INTERRUPT, 0x800000ec);
}

static int teardown(void **state)
{
	(void)state;
	vmph_lbr_stop(&session);
	assert_null(on_entry);
	assert_null(on_exit_hook);
	assert_int_equal(vmcs_debugctl, 0x2);
	assert_null(cpu.inside);
	assert_null(cpu.nmi.waits);
	return 0;
}

/* --------------------------------------------------------------------- tests */

static void test_guest(bool late)
{
	start(VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO);
	sampled_run(late, 9);
	assert_guests(9);
	/* KVM's branches before VMRUN, and all that is older */
	assert_int_equal(cpu.branches.cut, VMPH_LEGACY_ENTRIES - 9);
	/* its DEBUGCTL is its own before KVM looks at it */
	assert_int_equal(vmcs_debugctl, 0x2);
	sampled_run(late, 5);
	assert_guests(5);
}

static void test_nmi_before_exit(void **state)
{
	(void)state;
	test_guest(false);
}

static void test_nmi_behind_exit(void **state)
{
	(void)state;
	test_guest(true);
}

/* The host's sample after that has none of the guest's, nor of KVM's before it */
static void test_host_after(void **state)
{
	bool late;

	(void)state;
	start(VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO);
	for (late = false;; late = true) {
		sampled_run(late, 9);
		branches(KERNEL_CODE + 0x2000, 2);
		nmi(false);
		/* behind kvm_exit the record was frozen until perf had read it */
		assert_int_equal(cpu.branches.nr, late ? 2 : 4 + 2);
		assert_int_equal(cpu.branches.entry[1].from, KERNEL_CODE + 0x2040);
		if (late)
			break;
	}
}

/* Two counters overflow at once: perf has read the record for both */
static void test_two_counters(void **state)
{
	(void)state;
	start(VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO);
	unsampled_run(6);
	perf_reads();
	handler(true);
	assert_guests(6);
	handler(true);
	assert_guests(6);
	/* ... and the next run is another */
	enter();
	assert_false(cpu.nmi.came);
	branches(GUEST_CODE, 1);
	leave(EXIT_REASON_CPUID, 0);
}

/* The NMI is another's, and none of ours comes: what is in the record stays nobody's */
static void test_no_sample(void **state)
{
	(void)state;
	start(VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO);
	unsampled_run(6);
	assert_ptr_equal(cpu.nmi.waits, &vcpu);
	perf_reads();
	recording = true;
	branches(KERNEL_CODE, 5);
	nmi(false);
	assert_int_equal(cpu.branches.nr, 0);
	assert_int_equal(cpu.branches.cut, VMPH_LEGACY_ENTRIES);
	/* another task of the host's has its own */
	current = &another;
	vmph_lbr_switched(&cpu);
	branches(KERNEL_CODE, 3);
	nmi(false);
	assert_int_equal(cpu.branches.nr, 3);
	/* and the guest's next run, too */
	current = &task;
	sampled_run(true, 4);
	assert_guests(4);
}

/* Another exit, or an exception that is no NMI, while nothing overflowed or everything did */
static void test_other_exits(void **state)
{
	static const struct {
		u64 reason, info;
		bool frozen;
	} exits[] = {
		{ EXIT_REASON_CPUID, 0, false }, { EXIT_REASON_CPUID, 0, true },
		{ EXIT_REASON_EXCEPTION_NMI, 0x80000b0e, true },
		{ EXIT_REASON_EXCEPTION_NMI, 0x80000202, false },
	};
	unsigned int i;

	(void)state;
	start(VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO);
	for (i = 0; i < ARRAY_SIZE(exits); i++) {
		enter();
		branches(GUEST_CODE, 6);
		if (exits[i].frozen)
			overflow();
		leave(exits[i].reason, exits[i].info);
		assert_null(cpu.nmi.waits);
		assert_null(cpu.inside);
		/* an overflow that comes so late is the host's, and shows nothing of the guest's */
		nmi(false);
		assert_int_equal(cpu.branches.nr, exits[i].frozen ? 0 : 4);
		assert_int_equal(cpu.branches.cut, VMPH_LEGACY_ENTRIES - cpu.branches.nr);
	}
}

/* A guest that uses the record itself is lent nothing, and nothing froze */
static void test_not_lent(void **state)
{
	(void)state;
	start(VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO);
	vmcs_debugctl |= DEBUGCTLMSR_LBR;
	sampled_run(true, 9);
	assert_int_equal(cpu.branches.nr, 0);
	assert_int_equal(cpu.branches.cut, VMPH_LEGACY_ENTRIES);
	assert_int_equal(vmcs_debugctl, DEBUGCTLMSR_LBR | 0x2);
	vmcs_debugctl = 0x2;
}

/* User code alone: the host has no branches, and the next run goes on where this one ended */
static void test_user_goes_on(void **state)
{
	unsigned int late;

	(void)state;
	start(VMPROF_LBR_ALL & ~VMPROF_LBR_KERNEL, VMPROF_LBR_FROM_TO);
	for (late = 0; late < 2; late++) {
		on_entry(&session, &vcpu);
		branches(GUEST_CODE, 3);
		overflow();
		vmcs_reason = EXIT_REASON_EXCEPTION_NMI;
		vmcs_info = 0x80000202;
		if (!late)
			nmi(true);
		on_exit_hook(&session, &vcpu);
		if (late)
			nmi(true);
		assert_int_equal(cpu.branches.nr, 3);
		on_entry(&session, &vcpu);
		branch(GUEST_CODE + 0x40 * 4);
		overflow();
		nmi(true);
		on_exit_hook(&session, &vcpu);
		assert_guests(4);
		/* put away meanwhile: then it does not */
		vcpu.arch.last_host_tsc++;
	}
}

/* Another address space at the end than at the entry */
static void test_switched(void **state)
{
	(void)state;
	start(VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO);
	vmcs_cr3 = SPACE + 0x10000;
	sampled_run(true, 2);
	assert_int_equal(cpu.branches.nr, 2);
	assert_int_equal(cpu.branches.flags, VMPROF_LBR_SWITCHED);
}

/* The session ends while the guest runs */
static void test_stopped_inside(void **state)
{
	(void)state;
	start(VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO);
	enter();
	assert_int_equal(vmcs_debugctl, 0x2 | DEBUGCTLMSR_LBR | DEBUGCTLMSR_FREEZE_LBRS_ON_PMI);
}

static void test_lack(void **state)
{
	bool cycles = true;
	u8 entries = 1;

	(void)state;
	start(VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO);
	assert_int_equal(vmph_lbr_lack(&entries, &cycles), VMPROF_LBR_LACK_CPU);
	assert_int_equal(entries, 0);
	assert_false(cycles);
	msr[MSR_IA32_PERF_CAPABILITIES] = 0x33c5;
	assert_int_equal(vmph_lbr_lack(&entries, &cycles), VMPROF_LBR_LACK_NONE);
	assert_int_equal(entries, 32);
	assert_true(cycles);
}

#define TEST(test)	cmocka_unit_test_setup_teardown(test, setup, teardown)
#define TEST_ARCH(test)	{ #test " (architectural)", test, setup_arch, teardown, NULL }

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nmi_before_exit),
		TEST(test_nmi_behind_exit),
		TEST_ARCH(test_nmi_before_exit),
		TEST_ARCH(test_nmi_behind_exit),
		TEST(test_host_after),
		TEST_ARCH(test_host_after),
		TEST(test_two_counters),
		TEST(test_no_sample),
		TEST(test_other_exits),
		TEST(test_not_lent),
		TEST(test_user_goes_on),
		TEST_ARCH(test_user_goes_on),
		TEST(test_switched),
		TEST(test_stopped_inside),
		TEST(test_lack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
