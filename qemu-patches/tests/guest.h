/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * guest.h - what the bare-metal test guest is made of.
 *
 * Freestanding 32-bit C. TAP goes out by the serial port.
 */
#ifndef GUEST_H
#define GUEST_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
#define NULL ((void *)0)
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Registers of the counters. */
#define LEGACY_CTL0	0xc0010000
#define LEGACY_CTR0	0xc0010004
#define CTL(n)		(0xc0010200 + 2 * (n))
#define CTR(n)		(0xc0010201 + 2 * (n))
#define GLOBAL_STATUS	0xc0000300
#define GLOBAL_CTL	0xc0000301
#define GLOBAL_CLR	0xc0000302
#define EFER		0xc0000080
#define VM_HSAVE_PA	0xc0010117
#define DEBUGCTL	0x1d9
#define LBR_SELECT	0xc000010e
#define DBG_EXTN_CFG	0xc000010f
#define LBR_EN_V2	(1 << 6)		/* of DBG_EXTN_CFG */
#define LBR_VALID	(1ULL << 63)		/* of LBR_TO */
#define LBR_FROM(n)	(0xc0010300 + 2 * (n))
#define LBR_TO(n)	(0xc0010301 + 2 * (n))

/* Registers of the local APIC. */
#define APIC_EOI	0xfee000b0
#define APIC_SPURIOUS	0xfee000f0
#define APIC_ICR	0xfee00300
#define ICR_SELF	0x44000		/* to itself; the vector is added */
#define APIC_LVTT	0xfee00320
#define APIC_LVTPC	0xfee00340
#define APIC_TIMER	0xfee00380
#define APIC_TIMER_DIV	0xfee003e0
#define TIMER_VECTOR	32

#define EV_CYCLES	0x76
#define EV_INSNS	0xc0
#define EV_BRANCHES	0xc2
#define USR		(1ULL << 16)
#define OS		(1ULL << 17)
#define INT		(1ULL << 20)
#define EN		(1ULL << 22)
#define GUESTONLY	(1ULL << 40)
#define HOSTONLY	(1ULL << 41)
#define CTR_MASK	((1ULL << 48) - 1)

/* What common pushes, from the stack pointer up. */
struct frame {
	u32 edi, esi, ebp, esp, ebx, edx, ecx, eax;
	u32 vector, error, eip, cs, eflags;
};

static inline u64 rdmsr(u32 msr)
{
	u64 v;

	asm volatile("rdmsr" : "=A"(v) : "c"(msr) : "memory");
	return v;
}

static inline void wrmsr(u32 msr, u64 v)
{
	asm volatile("wrmsr" : : "c"(msr), "A"(v) : "memory");
}

static inline u64 rdpmc(u32 n)
{
	u64 v;

	asm volatile("rdpmc" : "=A"(v) : "c"(n) : "memory");
	return v;
}

static inline void outb(u16 port, u8 v)
{
	asm volatile("outb %0, %1" : : "a"(v), "Nd"(port));
}

static inline u8 inb(u16 port)
{
	u8 v;

	asm volatile("inb %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

/* io.c */
void put(const char *s);
void put_dec(u64 v);
void put_hex(u32 v);
/* One TAP line; a wrong value is printed with the wanted one. */
void check(const char *what, u64 got, u64 want);
int finish(void);

/* trap.c */
extern volatile u32 nmi_count, fault_count, trap_count;
extern volatile u32 nmi_eip, nmi_ecx, nmi_cs, fault_vector;
extern u64 nmi_rearm;			/* 0: leave the counter alone */
extern void (*nmi_hook)(struct frame *f);
extern void (*timer_hook)(void);
extern u32 resume_eip;			/* where a #GP goes on, once */
void trap_init(void);
int faults_wrmsr(u32 msr, u64 v);	/* 1 if it gave #GP */
int faults_rdpmc(u32 n);

/* boot.S */
void call_user(void *f, u32 ecx, u32 edi, u32 ebx);
void leave_user(void);

/* The tests, one file a subject. */
void test_registers(void);
void test_counts(void);
void test_costs(void);
void test_sampling(void);
void test_faults(void);
void test_svm(void);
void test_counted(void);	/* does not return */
void test_lbr(void);
void test_long(void);	/* a second of exact samples */
void test_patched(void);	/* needs two processors */
void bench(void);

#endif
