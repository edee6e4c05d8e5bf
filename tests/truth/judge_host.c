// SPDX-License-Identifier: GPL-2.0-only
/* judge_host.c - shares are held against all periods that ran, filtered ones too. */
#include "judge_host.h"

#include <inttypes.h>
#include <stdio.h>

#include "binomial.h"
#include "report/exits.h"
#include "report/render.h"
#include "verdict.h"

/* Smaller ones are summed up: their counts would be too few each */
static int is_judged(const struct join *j, const struct host_share *s)
{
	return (double)s->cycles >= SHARE_MIN * (double)j->cycles;
}

uint32_t judge_host_tests(const struct join *j)
{
	uint32_t i, n = 2;	/* what is left of either list */

	for (i = 0; i < j->host.exits.nr; i++)
		n += is_judged(j, &j->host.exits.v[i]);
	for (i = 0; i < j->host.procs.nr; i++)
		n += is_judged(j, &j->host.procs.v[i]);
	return n;
}

/* One test; its line tells the numbers.  Return: 1 beyond sampling error */
static int compare(const struct join *j, const char *name, uint64_t cycles, uint64_t samples, double level)
{
	uint64_t n = j->cycles / j->model->meta.period;
	double p = binomial_test(n, samples < n ? samples : n, (double)cycles / (double)j->cycles);

	printf("  %8.3f %8.3f %8" PRIu64 " %10.1f %9.2g  %s\n", 100.0 * (double)cycles / (double)j->cycles,
	       100.0 * (double)samples / (double)n, samples, (double)n * (double)cycles / (double)j->cycles, p, name);
	return p < level;
}

static uint32_t compare_all(const struct join *j, const struct host_share *v, uint32_t nr, double level,
			    const char *(*name)(char *buf, const struct host_share *s))
{
	struct host_share rest = { 0 };
	char buf[VMP_EXIT_NAME_MAX];
	uint32_t i, bad = 0;

	for (i = 0; i < nr; i++) {
		if (is_judged(j, &v[i])) {
			bad += (uint32_t)compare(j, name(buf, &v[i]), v[i].cycles, v[i].samples, level);
			continue;
		}
		rest.cycles += v[i].cycles;
		rest.samples += v[i].samples;
	}
	return bad + (uint32_t)compare(j, "(all others)", rest.cycles, rest.samples, level);
}

static const char *exit_name(char *buf, const struct host_share *s)
{
	return s->key == EXACT_NO_EXIT ? "(before the first)" :
		vmp_exit_name(buf, VMPROF_VENDOR_SVM, s->key);
}

static const char *cr3_name(char *buf, const struct host_share *s)
{
	snprintf(buf, VMP_EXIT_NAME_MAX, "CR3 0x%" PRIx64, s->key);
	return buf;
}

void judge_host(const struct join *j, double level)
{
	const struct host *h = &j->host;
	uint32_t bad;

	printf("   exact %%  sampled   samples   expected    chance  KVM's own code after a #VMEXIT\n");
	bad = compare_all(j, h->exits.v, h->exits.nr, level, exit_name);
	verdict(!bad, "VMM time by exit reason is exact",
		"%" PRIu32 " reasons beyond sampling error; %" PRIu64 " samples were held back", bad, h->moved);
	printf("   exact %%  sampled   samples   expected    chance  user code of the host\n");
	bad = compare_all(j, h->procs.v, h->procs.nr, level, cr3_name);
	verdict(!bad, "host processes have their exact share", "%" PRIu32 " beyond sampling error", bad);
}

void judge_steal(const struct join *j, uint32_t pid, double level)
{
	uint64_t cr3 = host_proc_cr3(&j->host, pid);
	uint32_t i;

	for (i = 0; i < j->host.procs.nr; i++) {
		const struct host_share *s = &j->host.procs.v[i];

		if (!cr3 || s->key != cr3)
			continue;
		verdict(!compare(j, "steal by that process", s->cycles, s->steal, level), "steal is exact",
			"%" PRIu64 " of its %" PRIu64 " samples are steal", s->steal, s->samples);
		return;
	}
	verdict(0, "steal is exact", "process %" PRIu32 " has no sample", pid);
}

void judge_axis(const struct join *j)
{
	double worst = j->model->header.tsc_khz ? (double)j->axis.worst * 1e3 / j->model->header.tsc_khz : 0;
	double bound = 0, us;
	uint32_t i;

	for (i = 0; i < j->model->vms.nr; i++) {
		us = vmp_clock_error_us(j->model, &j->model->vms.v[i]);
		bound = us > bound ? us : bound;
	}
	verdict(j->axis.residences && worst <= bound, "guest events lie within the printed bound",
		"%" PRIu64 " of them in the middle of %" PRIu64 " residences on recycled CR3s, at most %.3f us; bound %.3f us",
		j->axis.inside, j->axis.residences, worst, bound);
}
