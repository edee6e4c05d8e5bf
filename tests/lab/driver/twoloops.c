// SPDX-License-Identifier: GPL-2.0-only
/*
 * twoloops.c - init of a tiny guest whose profile is known beforehand.
 *
 * Two processes spin for ever in one function each, one kept to each vCPU. They
 * are one binary without position independence: the same addresses, another CR3.
 * On vCPU 0 two loops of equal instructions alternate, one three times as long
 * as the other. "ready" goes to the serial port.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

#include "keep_to.h"

/* A loop of two instructions at the address NAME and three bytes on */
#define LOOP(name) \
	extern const char name[]; \
	__attribute__((noinline, noclone)) static void run_##name(unsigned long n) \
	{ \
		__asm__ volatile(".align 64\n" #name ": dec %0\n jnz " #name "\n" : "+r"(n)); \
	}

LOOP(loop_long)
LOOP(loop_short)
LOOP(loop_other)

int main(void)
{
	printf("loop_long=%p loop_short=%p loop_other=%p\n", (const void *)loop_long,
	       (const void *)loop_short, (const void *)loop_other);
	if (!fork()) {
		keep_to(1);
		for (;;)
			run_loop_other(1000000);
	}
	if (!fork()) {
		keep_to(0);
		for (;;) {
			run_loop_long(3000000);
			run_loop_short(1000000);
		}
	}
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}
