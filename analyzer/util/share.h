/* SPDX-License-Identifier: GPL-2.0-only */
/* share.h - what one of several may have of something that all draw on, each as it comes. */
#ifndef VMP_SHARE_H
#define VMP_SHARE_H

#include <stdint.h>

/**
 * vmp_share() - How much more one may have, so that it never has more than it leaves for all others: the first has half of all at
 * most, the next a quarter.
 * @left: Of all, what nobody has.
 * @has:  What this one has.
 */
static inline uint64_t vmp_share(uint64_t left, uint64_t has)
{
	return left > has ? (left - has) / 2 : 0;
}

#endif
