/* SPDX-License-Identifier: GPL-2.0-only */
/* binomial.h - could so many of so many be chance? */
#ifndef TRUTH_BINOMIAL_H
#define TRUTH_BINOMIAL_H

#include <stdint.h>

/**
 * binomial_test() - Two-sided exact binomial test.
 * @n: Trials; @k of them were hits; each is one with probability @p.
 *
 * Return: twice the smaller tail's probability, at most 1: how likely a count
 * at least as far out as @k is.
 */
double binomial_test(uint64_t n, uint64_t k, double p);

#endif
