// SPDX-License-Identifier: GPL-2.0-only
/*
 * fits.c - what the set of all branches says of those of one sample.
 *
 * Readers take what lies between two neighbouring branches for code that ran straight on. Where it did not,
 * or a branch between them is left out, both ends there are lacking: with one of them a reader drops all that is older.
 */
#include "export/fits.h"

#define FOUND	1

static int on_any(void *arg, struct vmp_scan *scan, const struct vmp_lbr_sample *ls)
{
	(void)arg;
	(void)scan;
	return ls->lbr && ls->lbr->nr ? FOUND : 0;
}

/* Return: FOUND; 0 no sample has branches; as vmp_scan_branches() */
static int has_branches(struct vmp_model *m)
{
	struct vmp_lbr_losses losses = { 0 };
	void *args[VMP_SCAN_THREADS_MAX] = { NULL };
	int err;

	do
		err = vmp_scan_branches(m, args, vmp_scan_threads(), on_any, &losses);
	while (err == -EAGAIN);
	return err;
}

int vmp_fits_init(struct vmp_fits *f, struct vmp_model *m, const struct vmp_choice *c)
{
	/* by process a choice of samples is not that of the set, which has no idle tasks */
	const struct vmp_set_choice choice = { .domain = c->domain, .vcpu = -1, .pid = -1 };
	int err = has_branches(m);

	if (err != FOUND)
		return err;
	err = vmp_set_create(&f->set, m, &choice);
	return err ? err : vmp_set_eye_init(&f->eye, f->set);
}

void vmp_fits_deinit(struct vmp_fits *f)
{
	vmp_set_eye_deinit(&f->eye);
	vmp_set_destroy(f->set);
}

static void lacks(uint8_t *end, unsigned int lack)
{
	if (lack < *end)
		*end = (uint8_t)lack;
}

static unsigned int lack_of(enum vmp_flaw flaw)
{
	return vmp_flaw_in_code(flaw) ? VMP_LACK_FLAW + flaw : VMP_LACK_NR;
}

/* A file that has no code at all, such as one with symbols only, says nothing of what ran */
static unsigned int lack_of_step(const struct vmp_set *set, const struct vmp_unit *u)
{
	const struct vmp_point *start = u->start == VMP_NONE ? NULL : &set->points.points.v[u->start];
	size_t len;

	if (u->flaw == VMP_FLAW_DATA && start && !start->flaw && !vmp_points_code(&set->points, start->object, start->addr, &len))
		return VMP_LACK_NR;
	return lack_of(u->flaw);
}

static unsigned int lack_at(const struct vmp_set *set, uint32_t point)
{
	return point == VMP_NONE ? VMP_LACK_NR : lack_of(set->points.points.v[point].flaw);
}

/* @fit: of the branch, the youngest has number 0; @number is of its step in the set */
static void judge(const struct vmp_set *set, uint32_t number, struct vmp_fit *fit, unsigned int branch, unsigned int nr)
{
	/* what was not there when the set was made is of nobody knows whom */
	const struct vmp_unit *u = number == VMP_NONE ? NULL : &set->units.v[set->seen_as[number].number];
	unsigned int left_out = !u ? VMP_LACK_FLAW + VMP_FLAW_UNKNOWN : u->impossible ? VMP_LACK_IMPOSSIBLE : VMP_LACK_NR;
	unsigned int step = u ? lack_of_step(set, u) : VMP_LACK_NR;

	lacks(&fit->from, left_out);
	lacks(&fit->to, left_out);
	if (left_out != VMP_LACK_NR && branch)
		lacks(&fit[-1].from, VMP_LACK_BESIDE);
	if ((left_out != VMP_LACK_NR || step != VMP_LACK_NR) && branch + 1 < nr)
		lacks(&fit[1].to, VMP_LACK_BESIDE);
	if (left_out != VMP_LACK_NR)
		return;
	lacks(&fit->from, step);
	lacks(&fit->from, lack_at(set, u->end));
	lacks(&fit->to, lack_at(set, u->next));
}

int vmp_fits_look(struct vmp_fits *f, const struct vmp_lbr_sample *ls, struct vmp_fit *fit)
{
	const unsigned int nr = ls->lbr->nr;
	unsigned int i;
	int err, got;

	for (i = 0; i < nr; i++)
		fit[i] = (struct vmp_fit){ VMP_LACK_NR, VMP_LACK_NR };
	got = f->set ? vmp_set_see(&f->eye, NULL, ls, &f->seen) : 0;
	if (got <= 0)
		return got;
	err = vmp_set_keys(&f->eye, &f->seen, &f->set->raws, &f->keys);
	if (err)
		return err;
	vmp_set_fetch(&f->set->raws, &f->keys);
	vmp_set_look_up(f->set, &f->keys);
	for (i = 0; i < f->keys.nr; i++) {
		const unsigned int branch = f->seen.w.step[i].branch;

		judge(f->set, f->keys.number[i], &fit[branch], branch, nr);
	}
	return 0;
}
