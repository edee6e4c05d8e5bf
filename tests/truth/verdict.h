/* SPDX-License-Identifier: GPL-2.0-only */
/* verdict.h - a line for each question: "yes QUESTION: NUMBERS" or "NO QUESTION: NUMBERS". */
#ifndef TRUTH_VERDICT_H
#define TRUTH_VERDICT_H

#define SHARE_MIN	0.01	/* of the exact count: what is judged one by one */

/** verdict() - Print it. */
void verdict(int yes, const char *question, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/** verdict_noes() - How many were NO. */
int verdict_noes(void);

#endif
