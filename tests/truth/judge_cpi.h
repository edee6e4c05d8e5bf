/* SPDX-License-Identifier: GPL-2.0-only */
/* judge_cpi.h - the question whether CPI is exact, of a session that samples cycles and instructions. */
#ifndef TRUTH_JUDGE_CPI_H
#define TRUTH_JUDGE_CPI_H

#include "group.h"

/** judge_cpi_tests() - How many statistical tests judge_cpi() makes, at most. */
uint32_t judge_cpi_tests(const struct join *j, const struct group *g, uint32_t nr);

/** judge_cpi() - Of functions, and of all user code and all of the kernel: a program of many small functions has none with enough samples. */
void judge_cpi(const struct join *j, const struct group *g, uint32_t nr, double level);

#endif
