// SPDX-License-Identifier: GPL-2.0-only
/* exits.c - tables after AMD's APM vol. 2 appendix C and Intel's SDM vol. 3 appendix C. */
#include "report/exits.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define VMX_BASIC	0xffffULL
#define SVM_NMI		0x61
#define SVM_NPF		0x400

struct reason {
	uint32_t code;
	const char *name;
};

static const struct reason svm[] = {
	{ 0x060, "INTR" }, { 0x061, "NMI" }, { 0x062, "SMI" }, { 0x063, "INIT" },
	{ 0x064, "VINTR" }, { 0x065, "CR0_SEL_WRITE" }, { 0x066, "IDTR_READ" },
	{ 0x067, "GDTR_READ" }, { 0x068, "LDTR_READ" }, { 0x069, "TR_READ" },
	{ 0x06a, "IDTR_WRITE" }, { 0x06b, "GDTR_WRITE" }, { 0x06c, "LDTR_WRITE" },
	{ 0x06d, "TR_WRITE" }, { 0x06e, "RDTSC" }, { 0x06f, "RDPMC" }, { 0x070, "PUSHF" },
	{ 0x071, "POPF" }, { 0x072, "CPUID" }, { 0x073, "RSM" }, { 0x074, "IRET" },
	{ 0x075, "SWINT" }, { 0x076, "INVD" }, { 0x077, "PAUSE" }, { 0x078, "HLT" },
	{ 0x079, "INVLPG" }, { 0x07a, "INVLPGA" }, { 0x07b, "IOIO" }, { 0x07c, "MSR" },
	{ 0x07d, "TASK_SWITCH" }, { 0x07e, "FERR_FREEZE" }, { 0x07f, "SHUTDOWN" },
	{ 0x080, "VMRUN" }, { 0x081, "VMMCALL" }, { 0x082, "VMLOAD" }, { 0x083, "VMSAVE" },
	{ 0x084, "STGI" }, { 0x085, "CLGI" }, { 0x086, "SKINIT" }, { 0x087, "RDTSCP" },
	{ 0x088, "ICEBP" }, { 0x089, "WBINVD" }, { 0x08a, "MONITOR" }, { 0x08b, "MWAIT" },
	{ 0x08c, "MWAIT_COND" }, { 0x08d, "XSETBV" }, { 0x08e, "RDPRU" },
	{ 0x08f, "EFER_WRITE_TRAP" }, { 0x0a2, "INVPCID" }, { 0x0a3, "MCOMMIT" },
	{ 0x0a4, "TLBSYNC" }, { 0x0a5, "BUSLOCK" }, { 0x0a6, "IDLE_HLT" },
	{ SVM_NPF, "NPF" }, { 0x401, "AVIC_INCOMPLETE_IPI" }, { 0x402, "AVIC_UNACCELERATED_ACCESS" },
	{ 0x403, "VMGEXIT" },
};

static const struct reason vmx[] = {
	{ 0, "EXCEPTION_NMI" }, { 1, "EXTERNAL_INTERRUPT" }, { 2, "TRIPLE_FAULT" },
	{ 3, "INIT_SIGNAL" }, { 4, "SIPI_SIGNAL" }, { 5, "IO_SMI" }, { 6, "OTHER_SMI" },
	{ 7, "INTERRUPT_WINDOW" }, { 8, "NMI_WINDOW" }, { 9, "TASK_SWITCH" }, { 10, "CPUID" },
	{ 11, "GETSEC" }, { 12, "HLT" }, { 13, "INVD" }, { 14, "INVLPG" }, { 15, "RDPMC" },
	{ 16, "RDTSC" }, { 17, "RSM" }, { 18, "VMCALL" }, { 19, "VMCLEAR" }, { 20, "VMLAUNCH" },
	{ 21, "VMPTRLD" }, { 22, "VMPTRST" }, { 23, "VMREAD" }, { 24, "VMRESUME" },
	{ 25, "VMWRITE" }, { 26, "VMXOFF" }, { 27, "VMXON" }, { 28, "CR_ACCESS" },
	{ 29, "DR_ACCESS" }, { 30, "IO_INSTRUCTION" }, { 31, "MSR_READ" }, { 32, "MSR_WRITE" },
	{ 33, "INVALID_STATE" }, { 34, "MSR_LOAD_FAIL" }, { 36, "MWAIT" },
	{ 37, "MONITOR_TRAP_FLAG" }, { 39, "MONITOR" }, { 40, "PAUSE" }, { 41, "MCE_DURING_ENTRY" },
	{ 43, "TPR_BELOW_THRESHOLD" }, { 44, "APIC_ACCESS" }, { 45, "EOI_INDUCED" },
	{ 46, "GDTR_IDTR" }, { 47, "LDTR_TR" }, { 48, "EPT_VIOLATION" }, { 49, "EPT_MISCONFIG" },
	{ 50, "INVEPT" }, { 51, "RDTSCP" }, { 52, "PREEMPTION_TIMER" }, { 53, "INVVPID" },
	{ 54, "WBINVD" }, { 55, "XSETBV" }, { 56, "APIC_WRITE" }, { 57, "RDRAND" },
	{ 58, "INVPCID" }, { 59, "VMFUNC" }, { 60, "ENCLS" }, { 61, "RDSEED" }, { 62, "PML_FULL" },
	{ 63, "XSAVES" }, { 64, "XRSTORS" }, { 67, "UMWAIT" }, { 68, "TPAUSE" },
	{ 74, "BUS_LOCK" }, { 75, "NOTIFY" },
};

#define NR(table) (sizeof(table) / sizeof((table)[0]))

static const char *lookup(const struct reason *t, size_t nr, uint64_t code)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (t[i].code == code)
			return t[i].name;
	return NULL;
}

uint64_t vmp_exit_code(unsigned int vendor, uint64_t exit_reason)
{
	return vendor == VMPROF_VENDOR_VMX ? exit_reason & VMX_BASIC : exit_reason;
}

const char *vmp_exit_name(char *buf, unsigned int vendor, uint64_t exit_reason)
{
	uint64_t code = vmp_exit_code(vendor, exit_reason);
	const char *name = NULL;

	if (code == VMPROF_EXIT_ENTRY)
		name = "ENTRY";
	else if (vendor == VMPROF_VENDOR_VMX)
		name = lookup(vmx, NR(vmx), code);
	else if (vendor == VMPROF_VENDOR_SVM)
		name = lookup(svm, NR(svm), code);
	if (name)
		return name;
	/* SVM has runs of codes for control and debug registers and exceptions */
	if (vendor == VMPROF_VENDOR_SVM && code < 0x40)
		snprintf(buf, VMP_EXIT_NAME_MAX, "%s_%s%llu", code < 0x20 ? "CR" : "DR",
			 code & 0x10 ? "WRITE" : "READ", (unsigned long long)code & 15);
	else if (vendor == VMPROF_VENDOR_SVM && code < 0x60)
		snprintf(buf, VMP_EXIT_NAME_MAX, "EXCP%llu", (unsigned long long)code - 0x40);
	else
		snprintf(buf, VMP_EXIT_NAME_MAX, "0x%llx", (unsigned long long)code);
	return buf;
}

static int number(const char *s, uint64_t *value)
{
	char *end;

	if (*s < '0' || *s > '9')
		return 0;
	*value = strtoull(s, &end, 0);
	return !*end;
}

int vmp_exit_is(unsigned int vendor, uint64_t exit_reason, const char *wanted)
{
	char buf[VMP_EXIT_NAME_MAX];
	uint64_t code;

	if (number(wanted, &code))
		return code == vmp_exit_code(vendor, exit_reason);
	return !strcasecmp(wanted, vmp_exit_name(buf, vendor, exit_reason));
}

int vmp_exit_known(const char *wanted)
{
	uint64_t code;

	if (number(wanted, &code) || vmp_exit_is(VMPROF_VENDOR_SVM, VMPROF_EXIT_ENTRY, wanted))
		return 1;
	for (code = 0; code < 0x500; code++)
		if (vmp_exit_is(VMPROF_VENDOR_SVM, code, wanted) ||
		    vmp_exit_is(VMPROF_VENDOR_VMX, code, wanted))
			return 1;
	return 0;
}

int vmp_exit_nmi(unsigned int vendor, uint64_t exit_reason, uint64_t intr_info)
{
	if (vendor == VMPROF_VENDOR_SVM)
		return exit_reason == SVM_NMI;
	/* valid, type 2 */
	return vendor == VMPROF_VENDOR_VMX && (exit_reason & VMX_BASIC) == 0 &&
	       (intr_info >> 31 & 1) && (intr_info >> 8 & 7) == 2;
}
