// SPDX-License-Identifier: GPL-2.0-only
/* tickrate.c - intervals are counted by the logarithm of their rate, so that none is kept. */
#include "blocks/tickrate.h"

#include <math.h>
#include <stdlib.h>

#define OCTAVE	64		/* classes for twice the rate: one is 1.1 % wide */
#define LOWEST	(-6)		/* logarithm of the least rate, 1 / 64; there is no processor 64 times as fast as its TSC */
#define HIGHEST	10
#define CLASSES	((HIGHEST - LOWEST) * OCTAVE)
#define TENTH	10U
#define PCPUS_MAX	8192U	/* Linux has no more; a damaged record may say anything */

/* The last sample of the session's event */
struct before {
	uint64_t tsc;		/* 0 none yet */
	int guest;
};

struct work {
	VMP_VEC(struct before) last;	/* by pCPU */
	uint64_t n[CLASSES];
	uint64_t nr;
};

static int on_sample(void *arg, const struct vmprof_sample *s)
{
	struct work *w = arg;
	const struct before none = { 0 }, now = { s->tsc, s->mode == VMPROF_MODE_GUEST };
	struct before before;
	double at;

	if (s->hdr.type != VMPROF_REC_SAMPLE || s->hdr.pcpu >= PCPUS_MAX)
		return 0;
	while (w->last.nr <= s->hdr.pcpu)
		if (vmp_vec_push(&w->last, none))
			return -ENOMEM;
	before = w->last.v[s->hdr.pcpu];
	w->last.v[s->hdr.pcpu] = now;
	if (!(s->flags & VMPROF_SF_COUNTS) || !s->cycles || !before.tsc || before.guest != now.guest || now.tsc <= before.tsc)
		return 0;
	at = (log2((double)(now.tsc - before.tsc) / (double)s->cycles) - LOWEST) * OCTAVE;
	if (at < 0 || at >= CLASSES)
		return 0;
	w->n[(unsigned int)at]++;
	w->nr++;
	return 0;
}

/* In the middle of the class up to which there are a tenth of all */
static double tenth(const struct work *w)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < CLASSES - 1 && TENTH * (sum += w->n[i]) < w->nr; i++)
		;
	return exp2(LOWEST + (i + 0.5) / OCTAVE);
}

int vmp_tickrate(struct vmp_model *m, double *rate)
{
	struct work *w = calloc(1, sizeof(*w));
	int err = w ? vmp_model_samples(m, on_sample, w) : -ENOMEM;

	*rate = !err && w->nr >= VMP_TICKRATE_LEAST ? tenth(w) : 0;
	if (w)
		vmp_vec_free(&w->last);
	free(w);
	return err;
}
