// SPDX-License-Identifier: GPL-2.0-only
/* clock.c - pieces of a VM's clock out of single observations, and the way back to host time. */
#include "model/clock.h"

#include <stdlib.h>
#include <string.h>

int vmp_clock_add(struct vmp_clock *c, int driver, const struct vmp_clock_point *p)
{
	struct vmp_clock_point q = *p;

	q.order = driver ? c->driver.nr : c->measured.nr;
	if (q.frac_bits > 63)
		q.ratio = q.frac_bits = 0;
	return driver ? vmp_vec_push(&c->driver, q) : vmp_vec_push(&c->measured, q);
}

int vmp_clock_add_arrival(struct vmp_clock *c, uint64_t guest, uint64_t host)
{
	struct vmp_clock_point p = { .host_tsc = 0, .offset = guest - host };
	int err;

	if (c->source > VMP_CLOCK_ARRIVAL)
		return 0;
	c->source = VMP_CLOCK_ARRIVAL;
	if (!c->pieces.nr) {
		err = vmp_vec_push(&c->pieces, p);
		if (err)
			return err;
		return 0;
	}
	/* the frame that was underway for the shortest time tells best */
	if ((int64_t)(p.offset - c->pieces.v[0].offset) > 0)
		c->pieces.v[0].offset = p.offset;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct vmp_clock_point *p = a, *q = b;

	if (p->host_tsc != q->host_tsc)
		return p->host_tsc < q->host_tsc ? -1 : 1;
	return p->order < q->order ? -1 : p->order > q->order;
}

static int same(const struct vmp_clock_point *a, const struct vmp_clock_point *b)
{
	return a->offset == b->offset && a->ratio == b->ratio &&
	       (!a->ratio || a->frac_bits == b->frac_bits);
}

static uint64_t guest_of(const struct vmp_clock_point *p, uint64_t host)
{
	if (p->ratio)
		host = (uint64_t)(((unsigned __int128)host * p->ratio) >> p->frac_bits);
	return host + p->offset;
}

static uint64_t host_of(const struct vmp_clock_point *p, uint64_t guest)
{
	guest -= p->offset;
	if (p->ratio)
		guest = (uint64_t)(((unsigned __int128)guest << p->frac_bits) / p->ratio);
	return guest;
}

static uint64_t distance(const struct vmp_clock_point *a, const struct vmp_clock_point *b, uint64_t host)
{
	int64_t d = (int64_t)(guest_of(a, host) - guest_of(b, host));

	return d < 0 ? -(uint64_t)d : (uint64_t)d;
}

/* What the vCPU of point @i said before, NULL if nothing */
static const struct vmp_clock_point *before(const struct vmp_clock_point *v, uint32_t i)
{
	uint32_t vcpu = v[i].vcpu;

	while (i--)
		if (v[i].vcpu == vcpu)
			return &v[i];
	return NULL;
}

/*
 * A piece begins where a vCPU that went with the VM so far says something
 * new.  A vCPU that never did (its clock is its own) begins none.
 */
static int make_pieces(struct vmp_clock *c, struct vmp_clock_point *v, uint32_t nr)
{
	struct vmp_clock_point p;
	uint32_t i;

	qsort(v, nr, sizeof(*v), by_time);
	c->pieces.nr = 0;
	for (i = 0; i < nr; i++) {
		const struct vmp_clock_point *now = c->pieces.nr ? &c->pieces.v[c->pieces.nr - 1] : NULL;
		const struct vmp_clock_point *was = before(v, i);

		if (now && (same(now, &v[i]) || !was || !same(was, now)))
			continue;
		p = v[i];
		if (!now)
			p.host_tsc = 0;
		if (vmp_vec_push(&c->pieces, p))
			return -ENOMEM;
	}
	return 0;
}

/* Bound by what the points say of the piece at their time or the next one
   (one vCPU may tell of a change before another does). */
static uint64_t disagreement(const struct vmp_clock *c, const struct vmp_clock_point *v, uint32_t nr)
{
	uint64_t worst = 0, d, e;
	uint32_t i, k = 0;

	for (i = 0; i < nr; i++) {
		while (k + 1 < c->pieces.nr && c->pieces.v[k + 1].host_tsc <= v[i].host_tsc)
			k++;
		d = distance(&v[i], &c->pieces.v[k], v[i].host_tsc);
		if (k + 1 < c->pieces.nr) {
			e = distance(&v[i], &c->pieces.v[k + 1], v[i].host_tsc);
			d = e < d ? e : d;
		}
		worst = d > worst ? d : worst;
	}
	return worst;
}

/* The first measurement that can be held against the driver: of a VM that waits for another's memory and
   clock, what was measured before the driver saw it run means nothing. */
static uint32_t first_that_counts(const struct vmp_clock *c)
{
	uint32_t i;

	for (i = 0; c->driver.nr && i < c->measured.nr; i++)
		if (c->measured.v[i].host_tsc >= c->driver.v[0].host_tsc)
			return i;
	return 0;	/* there is nothing else */
}

int vmp_clock_build(struct vmp_clock *c)
{
	uint64_t e;
	uint32_t i;
	int err;

	if (c->driver.nr) {
		c->source = VMP_CLOCK_DRIVER;
		err = make_pieces(c, c->driver.v, c->driver.nr);
	} else if (c->measured.nr) {
		c->source = VMP_CLOCK_MEASURED;
		err = make_pieces(c, c->measured.v, c->measured.nr);
	} else {
		return 0;
	}
	if (err)
		return err;
	/* Both are held against the pieces, whoever made them. */
	c->error_tsc = disagreement(c, c->driver.v, c->driver.nr);
	if (c->measured.nr) {
		i = first_that_counts(c);
		e = disagreement(c, c->measured.v + i, c->measured.nr - i);
		c->error_tsc = e > c->error_tsc ? e : c->error_tsc;
	}
	for (i = 0; !c->driver.nr && i < c->measured.nr; i++) {
		e = c->measured.v[i].error_tsc;
		c->error_tsc = e > c->error_tsc ? e : c->error_tsc;
	}
	return 0;
}

uint64_t vmp_clock_to_host(const struct vmp_clock *c, uint64_t guest, uint64_t begin, uint64_t seen)
{
	uint64_t best = guest, best_out = UINT64_MAX, host, from, to, out;
	uint32_t i;

	for (i = 0; i < c->pieces.nr; i++) {
		host = host_of(&c->pieces.v[i], guest);
		from = i ? c->pieces.v[i].host_tsc : begin;
		to = i + 1 < c->pieces.nr ? c->pieces.v[i + 1].host_tsc : UINT64_MAX;
		if (seen && to > seen)
			to = seen > from ? seen : from;
		out = host < from ? from - host : host > to ? host - to : 0;
		if (out <= best_out) {
			best_out = out;
			best = host;
		}
	}
	return best;
}

uint64_t vmp_clock_piece_begin(const struct vmp_clock *c, uint64_t host)
{
	uint32_t i = c->pieces.nr;

	while (i > 1 && c->pieces.v[i - 1].host_tsc > host)
		i--;
	return i > 1 ? c->pieces.v[i - 1].host_tsc : 0;
}

void vmp_clock_free(struct vmp_clock *c)
{
	vmp_vec_free(&c->driver);
	vmp_vec_free(&c->measured);
	vmp_vec_free(&c->pieces);
}
