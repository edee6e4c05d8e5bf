/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * verdict.h - a line for each question: "yes QUESTION: NUMBERS" or "NO QUESTION: NUMBERS".
 *
 * A NO by chance may be asked again of another run. One about what must never be ends with "(final)":
 * no other run takes it back (tests/lab/suite.sh).
 */
#ifndef TRUTH_VERDICT_H
#define TRUTH_VERDICT_H

#define SHARE_MIN	0.01	/* of the exact count: what is judged one by one */

/** verdict() - Print it. */
void verdict(int yes, const char *question, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/**
 * verdict_never() - Print it of what must never be.
 * @wrong: It was; a NO because of that is final.
 * @enough: There was enough to look at.
 */
void verdict_never(int wrong, int enough, const char *question, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/** verdict_noes() - How many were NO. */
int verdict_noes(void);

#endif
