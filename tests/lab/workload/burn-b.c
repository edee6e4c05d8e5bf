// SPDX-License-Identifier: GPL-2.0-only
/* burn-b.c - run burn_b_work() for a number of rounds. */
#include "burn.h"

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
	return burn(argc, argv, burn_b_work);
}
