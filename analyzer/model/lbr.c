// SPDX-License-Identifier: GPL-2.0-only
/* lbr.c - one sample is held back until it is seen what record follows it. */
#include "model/lbr.h"

#include <string.h>

#include "model/records.h"

struct join {
	struct vmp_lbr_losses *losses;
	int (*fn)(void *arg, const struct vmp_lbr_sample *s);
	void *arg;
	struct vmprof_sample held;
	int holds, begun;
	struct vmp_lbr lbr;
};

static unsigned int words_of(unsigned int format)
{
	switch (format) {
	case VMPROF_LBR_FROM:
	case VMPROF_LBR_TO:
		return 1;
	case VMPROF_LBR_FROM_TO:
		return 2;
	case VMPROF_LBR_FROM_TO_CYCLES:
		return 3;
	}
	return 0;
}

static void read_entry(struct vmp_branch *b, unsigned int format, const uint64_t *w)
{
	*b = (struct vmp_branch){ 0 };
	if (format != VMPROF_LBR_TO)
		b->from = w[0];
	if (format == VMPROF_LBR_TO)
		b->to = w[0];
	else if (format != VMPROF_LBR_FROM)
		b->to = w[1];
	if (format == VMPROF_LBR_FROM_TO_CYCLES)
		b->cycles = w[2] > UINT32_MAX ? UINT32_MAX : (uint32_t)w[2];
}

/* Return: 1, or 0 for a record that is not what its header says */
static int read_record(struct vmp_lbr *l, const struct vmprof_record *rec, uint64_t tsc)
{
	uint64_t word[3 * VMPROF_LBR_MAX];
	struct vmprof_rec_lbr h;
	unsigned int words, i;

	if (rec->size < sizeof(h))
		return 0;
	memcpy(&h, rec, sizeof(h));
	words = words_of(h.format);
	if (!words || h.nr > VMPROF_LBR_MAX || h.tsc != tsc || rec->size != sizeof(h) + 8U * words * h.nr)
		return 0;
	memcpy(word, (const uint8_t *)rec + sizeof(h), 8U * words * h.nr);
	l->branches = h.branches;
	l->format = h.format;
	l->nr = h.nr;
	l->cut = h.cut;
	l->flags = h.flags;
	for (i = 0; i < h.nr; i++) {
		read_entry(&l->b[i], h.format, &word[words * i]);
		l->b[i].mispredicted = h.mispredicted >> i & 1;
	}
	return 1;
}

static int hand_over(struct join *j, const struct vmp_lbr *lbr)
{
	struct vmp_lbr_sample s = { .s = &j->held, .lbr = lbr, .first = !j->begun };

	if (!j->holds)
		return 0;
	j->holds = 0;
	j->begun = 1;
	return j->fn(j->arg, &s);
}

static int on_sample(void *arg, const struct vmprof_sample *s)
{
	struct join *j = arg;
	int err = hand_over(j, NULL);

	j->held = *s;
	j->holds = 1;
	return err;
}

static int on_other(void *arg, const struct vmprof_record *rec)
{
	struct join *j = arg;

	if (rec->type != VMPROF_REC_LBR)
		return hand_over(j, NULL);
	if (!j->holds) {
		j->losses->orphans++;
		return 0;
	}
	if (!read_record(&j->lbr, rec, j->held.tsc)) {
		j->losses->malformed++;
		return hand_over(j, NULL);
	}
	j->losses->records++;
	j->losses->entries += j->lbr.nr;
	j->losses->cut += j->lbr.cut;
	return hand_over(j, &j->lbr);
}

int vmp_lbr_walk(const void *data, size_t len, struct vmp_lbr_losses *losses,
		 int (*fn)(void *arg, const struct vmp_lbr_sample *s), void *arg)
{
	struct join j;
	int err;

	j.losses = losses;
	j.fn = fn;
	j.arg = arg;
	j.holds = j.begun = 0;
	err = vmp_records_walk(data, len, on_sample, on_other, &j);
	return err ? err : hand_over(&j, NULL);
}

void vmp_lbr_losses_add(struct vmp_lbr_losses *to, const struct vmp_lbr_losses *from)
{
	to->records += from->records;
	to->entries += from->entries;
	to->orphans += from->orphans;
	to->malformed += from->malformed;
	to->cut += from->cut;
}
