/* SPDX-License-Identifier: GPL-2.0-only */
/* judge_periods.h - the questions whether counters were on, and each of their overflows told. */
#ifndef TRUTH_JUDGE_PERIODS_H
#define TRUTH_JUDGE_PERIODS_H

#include "join.h"

/** judge_balance() - Every period is a sample, a filtered one or a loss with its cause. */
void judge_balance(const struct join *j, uint64_t period);

/** judge_covered() - Counters were on whenever a guest ran, on each CPU. */
void judge_covered(const struct join *j, uint64_t period);

#endif
