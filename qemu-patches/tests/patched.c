// SPDX-License-Identifier: GPL-2.0-only
/*
 * patched.c - one processor replaces code that the other executes.
 *
 * A kernel that patches itself counts on this: once the other processor has executed a
 * serializing instruction, it executes the new code and never again the old. The value that a
 * function returns is written over and over; after two whole calls the newest must come out.
 */
#include "guest.h"

#define APIC 0xfee00000
#define AP_PAGE 0x8000			/* where the other processor starts, in real mode */
#define ROUNDS 40000

extern u8 ap_code[], ap_code_end[];	/* boot.S */
extern u32 patched_alone(void), patched_beside(void), patched_neighbour(void);
extern volatile u32 patched_alone_value, patched_beside_value;

static volatile u32 calls, alone, beside;

/* The other processor's loop. */
void ap_main(void)
{
	for (;;) {
		u32 eax = 0, ebx, ecx = 0, edx;

		asm volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx) : : "memory");
		alone = patched_alone();
		patched_neighbour();
		beside = patched_beside();
		calls++;
	}
}

static void apic_write(u32 reg, u32 v)
{
	*(volatile u32 *)(APIC + reg) = v;
}

static void wait(u32 n)
{
	while (n--)
		asm volatile("pause");
}

/* Rounds in which an old value came out. */
static u32 stale(volatile u32 *value, volatile u32 *got)
{
	u32 bad = 0;

	for (u32 n = 1; n <= ROUNDS; n++) {
		u32 before;

		*value = ~n;		/* the other translates this one, at times while ... */
		wait(n % 61);
		*value = n;		/* ... it is replaced */
		before = calls;
		while (calls - before < 2)
			asm volatile("pause");
		bad += *got != n;
	}
	return bad;
}

void test_patched(void)
{
	for (u8 *from = ap_code, *to = (u8 *)AP_PAGE; from < ap_code_end;)
		*to++ = *from++;
	apic_write(0xf0, 0x1ff);
	apic_write(0x300, 0xc4500);			/* INIT to all others */
	wait(10000);
	apic_write(0x300, 0xc4600 | AP_PAGE >> 12);	/* start them there */
	for (u32 n = 0; !calls && n < 1000000; n++)
		wait(10);
	check("the other processor runs", calls != 0, 1);
	if (!calls)
		return;
	check("code alone in its page", stale(&patched_alone_value, &alone), 0);
	check("code beside other code", stale(&patched_beside_value, &beside), 0);
}
