// SPDX-License-Identifier: GPL-2.0-only
/* binomial.c - the tails are summed term by term from @k outwards. */
#include "binomial.h"

#include <math.h>

/* P(X <= k) for k below the mean, by P(X = i - 1) = P(X = i) * i / (n - i + 1) * q / p */
static double lower_tail(uint64_t n, uint64_t k, double p)
{
	double term, sum = 0;

	term = exp(lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) +
		   (double)k * log(p) + (double)(n - k) * log1p(-p));
	for (;; k--) {
		sum += term;
		if (!k || term < sum * 1e-12)
			return sum;
		term *= (double)k / (double)(n - k + 1) * (1 - p) / p;
	}
}

double binomial_test(uint64_t n, uint64_t k, double p)
{
	double tail;

	if (p <= 0 || p >= 1)
		return k == (p <= 0 ? 0 : n);
	if ((double)k <= (double)n * p)
		tail = lower_tail(n, k, p);
	else
		tail = lower_tail(n, n - k, 1 - p);
	return tail > 0.5 ? 1 : 2 * tail;
}
