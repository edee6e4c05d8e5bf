// SPDX-License-Identifier: GPL-2.0-only
/* burn-a.c - run burn_a_work() for a number of rounds. */
#include "burn.h"

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
	return burn(argc, argv, burn_a_work);
}
