/* SPDX-License-Identifier: GPL-2.0-only */
/* judge_report.h - what `vmprof report` shows of guests, beside the emulator's own counter interrupts. */
#ifndef TRUTH_JUDGE_REPORT_H
#define TRUTH_JUDGE_REPORT_H

#include "join.h"

/** judge_report() - Of a whole session: each row of its guests has the samples that the emulator's overflows ask for.  Return: 0, -ENOMEM, -errno of reading. */
int judge_report(const struct join *j);

#endif
