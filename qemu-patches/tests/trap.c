// SPDX-License-Identifier: GPL-2.0-only
/*
 * trap.c - interrupts and exceptions of the test guest.
 *
 * The measured code runs in user mode where samples are taken, so that what
 * happens here is not counted.
 */
#include "guest.h"

struct tss {
	u32 link, esp0, ss0, rest[23];
};

static struct {
	u16 low, selector, flags, high;
} idt[64];
static struct tss tss;
extern u64 gdt[];
extern char int_stack_top[];
extern const u32 vectors[];

volatile u32 nmi_count, fault_count, trap_count;
volatile u32 nmi_eip, nmi_ecx, nmi_cs, fault_vector;
u64 nmi_rearm;
void (*nmi_hook)(struct frame *f);
void (*timer_hook)(void);
u32 resume_eip;

void interrupt(struct frame *f)
{
	switch (f->vector) {
	case 2:
		nmi_count++;
		nmi_eip = f->eip;
		nmi_ecx = f->ecx;
		nmi_cs = f->cs;
		if (nmi_hook)
			nmi_hook(f);
		if (nmi_rearm)
			wrmsr(CTR(0), -nmi_rearm & CTR_MASK);
		wrmsr(GLOBAL_CLR, 0x3f);
		return;
	case TIMER_VECTOR:
		timer_hook();
		*(volatile u32 *)APIC_EOI = 0;
		return;
	case 48:
		leave_user();
	case 0:		/* a divisor that works */
		fault_count++;
		f->ebx = 5;
		return;
	case 1:
		trap_count++;
		return;
	case 3:
		trap_count++;
		return;
	case 6:		/* step over UD2 */
		fault_count++;
		f->eip += 2;
		return;
	}
	fault_count++;
	fault_vector = f->vector;
	if (!resume_eip) {
		put("Bail out! unexpected exception at ");
		put_hex(f->eip);
		put("\n");
		outb(0xf4, 0x7f);
	}
	f->eip = resume_eip;
	resume_eip = 0;
}

/* Run one instruction that may fault: 1 if it did. */
#define FAULTS(insn, ...)						\
	({								\
		u32 before = fault_count;				\
		asm volatile("movl $1f, %0\n" insn "\n1:"		\
			     : "=m"(resume_eip) : __VA_ARGS__		\
			     : "memory");				\
		resume_eip = 0;						\
		fault_count != before;					\
	})

int faults_wrmsr(u32 msr, u64 v)
{
	return FAULTS("wrmsr", "c"(msr), "A"(v));
}

int faults_rdpmc(u32 n)
{
	u32 before = fault_count, lo, hi;

	asm volatile("movl $1f, %0\n\trdpmc\n1:"
		     : "=m"(resume_eip), "=a"(lo), "=d"(hi) : "c"(n)
		     : "memory");
	resume_eip = 0;
	return fault_count != before;
}

void trap_init(void)
{
	struct {
		u16 limit;
		u32 base;
	} __attribute__((packed)) ptr = { sizeof(idt) - 1, (u32)idt };
	u32 base = (u32)&tss;

	for (const u32 *v = vectors; *v != -1u; v += 2) {
		idt[*v].low = v[1];
		idt[*v].high = v[1] >> 16;
		idt[*v].selector = 8;
		idt[*v].flags = 0xee00;
	}
	asm volatile("lidt %0" : : "m"(ptr));
	tss.esp0 = (u32)int_stack_top;
	tss.ss0 = 0x10;
	gdt[5] = (sizeof(tss) - 1) | (u64)(base & 0xffffff) << 16 |
		 0x89ULL << 40 | (u64)(base >> 24) << 56;
	asm volatile("ltr %w0" : : "r"(0x28));
	*(volatile u32 *)APIC_SPURIOUS = 0x1ff;	/* local APIC on */
	*(volatile u32 *)APIC_LVTPC = 0x400;	/* NMI */
	outb(0x21, 0xff);			/* and the two old ones quiet */
	outb(0xa1, 0xff);
}
