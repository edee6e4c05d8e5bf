// SPDX-License-Identifier: GPL-2.0-only
/* burn-b.c - run burn_b_work() for a number of rounds of about a million instructions, then exit. */
#include <stdlib.h>

static volatile unsigned long sink;

__attribute__((noipa)) static void burn_b_work(unsigned long n)
{
	unsigned long x = n;

	while (n--)
		x = (x ^ n) + 7;
	sink = x;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;

	while (rounds--)
		burn_b_work(250000);
	return 0;
}
