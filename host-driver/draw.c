// SPDX-License-Identifier: GPL-2.0-only
/*
 * draw.c - exponentially distributed numbers from uniform ones, by comparisons alone.
 *
 * J. von Neumann, "Various techniques used in connection with random digits" (1951): draw on while
 * the numbers fall.  Of those that begin with x, the part whose run has an odd length is
 * 1 - x + x^2/2! - ... = exp(-x).  A run of even length, of which there are 1/e, adds a whole
 * mean and begins anew.  Exact, without a logarithm, in 4.3 draws on average.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include "draw.h"

#define VMPH_RUNS_MAX	64	/* exp(-64) of all would be longer */

void vmph_draw_init(struct vmph_draw *draw)
{
	prandom_seed_state(&draw->random, get_random_u64());
}

u64 vmph_draw(struct vmph_draw *draw, u64 mean)
{
	unsigned int whole, length;
	u32 first = 0, last, next;

	for (whole = 0; whole < VMPH_RUNS_MAX; whole++) {
		first = last = prandom_u32_state(&draw->random);
		for (length = 1; (next = prandom_u32_state(&draw->random)) < last; length++)
			last = next;
		if (length & 1)
			break;
	}
	return max_t(u64, whole * mean + mul_u64_u32_shr(mean, first, 32), VMPH_PERIOD_LEAST);
}
