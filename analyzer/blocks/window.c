// SPDX-License-Identifier: GPL-2.0-only
/* window.c - what lies between neighbouring branches, as far as it is one task's. */
#include "blocks/window.h"

static int in_switch(const struct vmp_points *p, uint32_t kernel, uint64_t addr)
{
	uint32_t i;

	if (!(addr >> 63))
		return 0;
	for (i = 0; i < p->switches.nr; i++) {
		const struct vmp_switch *s = &p->switches.v[i];

		if (s->context == kernel && addr >= s->start && addr < s->end)
			return 1;
	}
	return 0;
}

static int knows_switches(const struct vmp_points *p, uint32_t kernel)
{
	uint32_t i;

	for (i = 0; i < p->switches.nr; i++)
		if (p->switches.v[i].context == kernel)
			return 1;
	return 0;
}

/*
 * The driver saw another CR3 than at the VM entry.  Where the kernel's way between the two cannot be
 * followed, user code is the present process's only before the first that the kernel ran.
 */
static int is_lost(const struct vmp_points *p, uint32_t kernel, const struct vmp_lbr *lbr)
{
	return lbr->flags & VMPROF_LBR_SWITCHED &&
	       (!(lbr->branches & VMPROF_LBR_KERNEL) || !knows_switches(p, kernel));
}

static int is_kernel(uint64_t addr)
{
	return addr >> 63;
}

static int is_user(uint64_t addr)
{
	return addr && !(addr >> 63);
}

/* Where there are no kernel branches, nothing but the driver's word tells */
static int is_blind(const struct vmp_lbr *lbr, int lost)
{
	return lost && !(lbr->branches & VMPROF_LBR_KERNEL);
}

unsigned int vmp_window_own(const struct vmp_points *p, uint32_t kernel, const struct vmp_lbr *lbr)
{
	int lost = is_lost(p, kernel, lbr), switched = is_blind(lbr, lost);
	const struct vmp_branch *b = lbr->b;
	unsigned int i;

	for (i = 0; i < lbr->nr; i++, b++) {
		switched |= in_switch(p, kernel, b->to) || (lost && is_kernel(b->to));
		if (switched)
			break;
		switched |= in_switch(p, kernel, b->from) || (lost && is_kernel(b->from));
	}
	return i;
}

/* Is the sample where the first step's branch led, and is it known where that step began? */
static int is_behind(const struct vmp_window *w, const struct vmp_branch *b, uint64_t ip)
{
	const struct vmp_step *s = w->step;

	return w->landed && w->nr && s->start && b->to == ip && s->next == ip && s->end == b->from && !((s->start ^ s->end) >> 63);
}

void vmp_window_of(const struct vmp_points *p, uint32_t kernel, const struct vmp_lbr *lbr, uint64_t ip, int timed,
		   struct vmp_window *w)
{
	unsigned int own = vmp_window_own(p, kernel, lbr), i;
	int blocks = vmp_lbr_has_blocks(lbr), blind = is_blind(lbr, is_lost(p, kernel, lbr));
	const struct vmp_branch *b = lbr->b;

	w->nr = w->switched = 0;
	w->ended = 0;
	w->at = ip;
	w->landed = ip && blocks && lbr->nr && !blind && !((b[0].to ^ ip) >> 63) ? b[0].to : 0;
	w->missed = w->landed && b[0].mispredicted;
	for (i = 0; i < lbr->nr; i++, b++) {
		struct vmp_step s = {
			.end = b->from, .next = b->to, .cycles = b->cycles, .mispredicted = b->mispredicted, .branch = (uint8_t)i,
		};

		if (i >= own && (is_user(b->from) || is_user(b->to))) {
			w->switched++;
			continue;
		}
		if (blocks && b->from && i + 1 < lbr->nr && !(i + 1 >= own && is_user(b[1].to))) {
			s.start = b[1].to;
			s.missed = b[1].mispredicted;
		}
		w->step[w->nr++] = s;
	}
	if (!is_behind(w, lbr->b, ip) || (timed && lbr->b->mispredicted))
		return;
	w->ended = 1;
	w->landed = w->step->start;
	w->missed = w->step->missed;
	w->at = w->step->end;
}
