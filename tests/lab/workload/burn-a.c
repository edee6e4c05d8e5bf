// SPDX-License-Identifier: GPL-2.0-only
/* burn-a.c - run burn_a_work() for a number of rounds of about a million instructions, then exit. */
#include <stdlib.h>

static volatile unsigned long sink;

__attribute__((noipa)) static void burn_a_work(unsigned long n)
{
	unsigned long x = n;

	while (n--)
		x = x * 3 + 1;
	sink = x;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;

	while (rounds--)
		burn_a_work(250000);
	return 0;
}
