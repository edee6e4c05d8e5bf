// SPDX-License-Identifier: GPL-2.0-only
/* axis.c - the first owner of a CR3 took it from nobody; every later one did. */
#include "axis.h"

/* Did @child run in the address space of the image @parent, as vfork has it? */
static int borrows(const struct vmp_space *space, uint32_t child, uint32_t parent)
{
	const struct vmp_image *im = &space->images.v[child];

	return im->parent == parent && im->fork_tsc == UINT64_MAX;
}

/* CR3 is loaded anew where its owner changes, but not between who lends and who borrows it */
static int is_handed_over(const struct vmp_space *space, const struct vmp_cr3_span *from, const struct vmp_cr3_span *to)
{
	return !borrows(space, to->image, from->image) && !borrows(space, from->image, to->image);
}

static void count(struct axis *a, const struct vmp_clock *clock, const struct exact_space *s)
{
	const uint32_t nr = clock->pieces.nr;

	a->residences++;
	if (nr < 2)
		return;
	a->before += s->last_tsc < clock->pieces.v[1].host_tsc;
	a->after += s->first_tsc >= clock->pieces.v[nr - 1].host_tsc;
}

static void least(uint64_t *least, uint64_t ticks)
{
	if (!*least || ticks < *least)
		*least = ticks ? ticks : 1;
}

static void inside(struct axis *a, uint64_t depth)
{
	a->inside++;
	a->worst = depth > a->worst ? depth : a->worst;
}

/* Whoever runs there has not called exec, and has not ended */
static void hold_end(struct axis *a, const struct vmp_space *space, const struct vmp_cr3_spans *spans, const struct exact_space *s)
{
	const uint64_t middle = s->first_tsc + (s->last_tsc - s->first_tsc) / 2;
	uint32_t i = spans->s.nr;
	uint64_t end;

	while (i && spans->s.v[i - 1].begin > middle)
		i--;
	if (!i || (i > 1 && !is_handed_over(space, &spans->s.v[i - 2], &spans->s.v[i - 1])) ||
	    (i < spans->s.nr && !is_handed_over(space, &spans->s.v[i - 1], &spans->s.v[i])))
		return;
	end = space->images.v[spans->s.v[i - 1].image].end;
	if (end == UINT64_MAX)
		return;
	a->ends++;
	if (end >= s->last_tsc)
		least(&a->early, end - s->last_tsc);
	else
		inside(a, s->last_tsc - end);
}

void axis_residence(struct axis *a, const struct vmp_space *space, const struct vmp_clock *clock,
		    const struct exact_space *s)
{
	const uint32_t *at = vmp_hash_find(&space->by_cr3, s->cr3);
	const struct vmp_cr3_spans *spans = at ? &space->spans.v[*at] : NULL;
	uint64_t begin, depth;
	uint32_t i;

	if (!spans || spans->s.nr < 2)
		return;
	count(a, clock, s);
	for (i = 1; i < spans->s.nr; i++) {
		begin = spans->s.v[i].begin;
		if (!is_handed_over(space, &spans->s.v[i - 1], &spans->s.v[i]))
			continue;
		if (begin <= s->first_tsc)
			least(&a->late, s->first_tsc - begin);
		else if (begin >= s->last_tsc)
			least(&a->early, begin - s->last_tsc);
		if (begin <= s->first_tsc || begin >= s->last_tsc)
			continue;
		depth = begin - s->first_tsc < s->last_tsc - begin ? begin - s->first_tsc : s->last_tsc - begin;
		inside(a, depth);
	}
	hold_end(a, space, spans, s);
}

/* As soon as it was it is known, as an event would be */
static void clock_at(struct axis *a, const struct vmp_clock *clock, uint64_t tsc, uint64_t offset)
{
	const uint64_t host = vmp_clock_to_host(clock, tsc + offset, 0, tsc + 1);
	const uint64_t off = host > tsc ? host - tsc : tsc - host;

	a->clock_worst = off > a->clock_worst ? off : a->clock_worst;
}

void axis_clock(struct axis *a, const struct vmp_clock *clock, const struct exact_clock *c)
{
	a->clocks++;
	clock_at(a, clock, c->first_tsc, c->offset);
	clock_at(a, clock, c->last_tsc, c->offset);
}
