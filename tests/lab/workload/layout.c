// SPDX-License-Identifier: GPL-2.0-only
/*
 * layout.c - a program whose code lies badly, for an optimiser of layouts: each step's likely way is told to
 * the compiler as the unlikely one, so that it is reached and left by jumps. Rounds of a
 * million steps; the sum that it prints does not depend on the layout.
 */
#include <stdio.h>
#include <stdlib.h>

#define STEPS	1000000UL

/* What happens once in 64 steps is said to be likely, and fills the line of the code that runs */
#define RARELY(x)	__builtin_expect_with_probability((x), 1, 0.99)

static inline __attribute__((always_inline)) unsigned long step(unsigned long x, unsigned long n)
{
	if (RARELY((x >> 7 & 63) == n)) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		x = x * 0x9e3779b97f4a7c15UL + n;
		x ^= x >> 31;
		x += x << 3;
	} else {
		x += n;
	}
	if (RARELY((x >> 11 & 63) == n + 8)) {
		x ^= x >> 12;
		x ^= x << 25;
		x ^= x >> 27;
		x *= 0x2545f4914f6cdd1dUL;
	} else {
		x ^= x << 1;
	}
	return x;
}

#define STEP(n)										\
static __attribute__((noinline)) unsigned long step_##n(unsigned long x)		\
{											\
	return step(x, n);								\
}

STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1, x = 1, i;

	for (i = 0; i < rounds * STEPS; i += 8)
		x = step_7(step_2(step_5(step_0(step_3(step_6(step_1(step_4(x + i))))))));
	printf("%lx\n", x);
	return 0;
}
