// SPDX-License-Identifier: GPL-2.0-only
// exits.js - in plain words, why a CPU left the VM; names as in analyzer/report/exits.c.

const WORDS = [
	[/^(HLT|IDLE_HLT)$/, 'The VM had nothing to do and gave the CPU back.'],
	[/^(MWAIT|MWAIT_COND|MONITOR|UMWAIT|TPAUSE)$/, 'The VM waited for a memory location to change.'],
	[/^(NPF|EPT_VIOLATION)$/, 'The VM touched memory that the host had to provide first, or a device in memory.'],
	[/^EPT_MISCONFIG$/, 'The VM touched a device that is mapped in memory.'],
	[/^(IOIO|IO_INSTRUCTION)$/, 'The VM talked to a device through an I/O port.'],
	[/^(MSR|MSR_READ|MSR_WRITE)$/, 'The VM set or read a processor register, often its timer.'],
	[/^(INTR|EXTERNAL_INTERRUPT)$/, 'A device of the host, or its timer, wanted attention.'],
	[/^(NMI|EXCEPTION_NMI)$/, 'An interrupt that cannot be held back, such as this profiler\'s own.'],
	[/^ENTRY$/, 'On the way into the VM, where the profiler\'s interrupt has to wait; why the VM had been left before is not known.'],
	[/^(VINTR|INTERRUPT_WINDOW|NMI_WINDOW|STGI|TPR_BELOW_THRESHOLD|EOI_INDUCED)$/, 'An interrupt was delivered to the VM.'],
	[/^(VMMCALL|VMCALL)$/, 'The VM asked the hypervisor for a service.'],
	[/^CPUID$/, 'The VM asked what its processor can do.'],
	[/^PAUSE$/, 'The VM was spinning on a lock.'],
	[/^(APIC_|AVIC_)/, 'The VM talked to its interrupt controller.'],
	[/^(CR|DR)_|^CR0_SEL_WRITE$/, 'The VM changed a control or debug register.'],
	[/^PREEMPTION_TIMER$/, 'A timer of the VM ran out.'],
	[/^(RDTSC|RDTSCP)$/, 'The VM read the clock.'],
	[/^(INVLPG|INVPCID|TLBSYNC|INVLPGA)$/, 'The VM flushed address translations.'],
	[/^(WBINVD|INVD)$/, 'The VM flushed caches.'],
	[/^EXCP/, 'An exception inside the VM.'],
	[/^(SHUTDOWN|TRIPLE_FAULT)$/, 'The VM crashed or reset its processor.'],
	[/^(BUSLOCK|BUS_LOCK)$/, 'An access of the VM locked the whole bus.'],
];

export function explain(reason) {
	if (reason === '')
		return 'Emulated devices, disks and network; no vCPU had left for it.';
	const found = WORDS.find(([pattern]) => pattern.test(reason));
	return found ? found[1] : 'See the processor\'s manual.';
}

export const reasonName = (reason) => reason === '' ? 'QEMU’s own threads' : reason;
