// SPDX-License-Identifier: GPL-2.0-only
/* judge_cpi.c - what sampling says of cycles and instructions beside what ran. */
#include "judge_cpi.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "binomial.h"
#include "model/weigh.h"
#include "verdict.h"

#define CPI_SAMPLES_MIN	1000	/* of a function, that its CPI be judged */
#define CPI_SESSION_MIN	20000	/* with so many samples some function has its own */
#define CPI_ERRORS	6	/* so many standard errors may the CPI that reports have be off; of chance alone the binomial test asks */

/* By the samples that it has, or that it should have: none is passed over because it got too few. What never ran has none: another question. */
static int has_cpi(const struct join *j, const struct group *g)
{
	if (!(g->cycles_at + g->insns_at))
		return 0;
	return g->samples >= CPI_SAMPLES_MIN || g->cycles_at >= CPI_SAMPLES_MIN * j->model->pair.cycles;
}

/* Is the CPI that reports have further off than its samples explain? */
static int is_cpi_off(const struct join *j, const struct group *g)
{
	const double cpi = vmp_weigh_cpi(j->model, g->samples, g->insn_samples);
	const double off = cpi * (double)g->insns_at / (double)g->cycles_at - 1;

	return !(fabs(off) <= CPI_ERRORS * sqrt(1 / (double)g->samples + 1 / (double)g->insn_samples));
}

/*
 * Of two events' samples of a function, those of cycles are a binomial share,
 * whatever the function's share of the time is: that tests their ratio, CPI.
 * Return: is it beyond sampling error?
 */
static int judge_cpi_of(const struct join *j, const struct group *g, const char *name, double level)
{
	const double cycles = (double)g->cycles_at / (double)j->model->pair.cycles;
	const double insns = (double)g->insns_at / (double)j->model->pair.instructions;
	const double p = binomial_test(g->samples + g->insn_samples, g->samples, cycles / (cycles + insns));

	printf("  %10.3f %8.3f %9" PRIu64 " %9" PRIu64 " %9.2g %15.3f  %s\n",
	       (double)g->cycles_at / (double)g->insns_at, vmp_weigh_cpi(j->model, g->samples, g->insn_samples),
	       g->samples, g->insn_samples, p, g->insns ? (double)g->cycles / (double)g->insns : 0, name);
	return p < level || is_cpi_off(j, g);
}

/* All of a part of the guest, as if it were one function */
static struct group whole_part(const struct join *j, const struct group *g, uint32_t nr, int part)
{
	struct group sum = { 0 };
	uint32_t i;

	for (i = 0; i < nr; i++) {
		if (group_part(j, &g[i]) != part)
			continue;
		sum.samples += g[i].samples;
		sum.insn_samples += g[i].insn_samples;
		sum.cycles += g[i].cycles;
		sum.insns += g[i].insns;
		sum.cycles_at += g[i].cycles_at;
		sum.insns_at += g[i].insns_at;
	}
	return sum;
}

uint32_t judge_cpi_tests(const struct join *j, const struct group *g, uint32_t nr)
{
	uint32_t i, n = PARTS;

	for (i = 0; i < nr; i++)
		n += (uint32_t)has_cpi(j, &g[i]);
	return n;
}

void judge_cpi(const struct join *j, const struct group *g, uint32_t nr, double level)
{
	uint32_t i, n = 0, parts = 0, bad = 0;
	uint64_t samples = 0;
	char function[160];

	printf("  CPI: exact  sampled   samples  of insns    chance  by instruction  function\n");
	for (i = 0; i < nr; i++) {
		if (!has_cpi(j, &g[i]))
			continue;
		n++;
		bad += (uint32_t)judge_cpi_of(j, &g[i], group_text(j, j->rows.v[g[i].row].function, function, sizeof(function)), level);
	}
	for (i = 0; i < PARTS; i++) {
		const struct group sum = whole_part(j, g, nr, (int)i);

		samples += sum.samples;
		if (!has_cpi(j, &sum))
			continue;
		parts++;
		bad += (uint32_t)judge_cpi_of(j, &sum, i == USER ? "(all user code)" : "(all of the kernel)", level);
	}
	verdict(parts && (n || samples < CPI_SESSION_MIN) && !bad, "CPI is exact within sampling error",
		"%" PRIu32 " functions of %d samples or more, and %" PRIu32 " of all user code and all of the kernel; %" PRIu32 " beyond sampling error",
		n, CPI_SAMPLES_MIN, parts, bad);
}
