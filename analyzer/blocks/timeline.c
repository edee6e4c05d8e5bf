// SPDX-License-Identifier: GPL-2.0-only
/* timeline.c - samples of the time asked for, each with its blocks laid back from it. */
#include "blocks/timeline.h"

#include <math.h>
#include <string.h>

#include "blocks/tickrate.h"
#include "model/hosttext.h"
#include "report/exits.h"

struct work {
	struct vmp_set *set;
	const struct vmp_estimates *e;
	const struct vmp_timeline_choice *c;
	struct vmp_timeline *out;
	struct vmp_set_eye eye;
	VMP_VEC(uint64_t) earliest;	/* TSCs; when there are as many as the limit: a heap, the latest first */
	uint64_t last, at_last;		/* the latest TSC of these, and how many samples of that are shown */
	double ticks;			/* for each cycle */
};

static uint32_t word(struct work *w, const char *s, int *err)
{
	return vmp_strings_add(&w->set->m->strings, s, strlen(s), err);
}

static int push(struct work *w, struct vmp_strip_span *s)
{
	s->seq = w->out->spans.nr;
	return vmp_vec_push(&w->out->spans, *s);
}

/* A step's block, and its cycles: the processor's, else the block's; NAN unknown */
static void block_of(const struct work *w, const struct vmp_set_keys *keys, unsigned int i, struct vmp_strip_span *b)
{
	uint32_t number = keys->number[i], cycles = keys->raw[i].cycles;
	const struct vmp_unit *u = number == VMP_NONE ? NULL : &w->set->units.v[w->set->seen_as[number].number];
	const struct vmp_estimate *e;

	b->kind = VMP_MOMENT_BLOCK;
	b->cycles = NAN;
	if (!u || u->block == VMP_NONE)
		return;
	e = &w->e->block[u->block];
	b->cycles = cycles ? (double)cycles : e->cycles[e->source];
	b->error = cycles ? NAN : vmp_estimate_error(e);
	b->samples = e->samples;
	b->start = u->start;
	b->end = u->end;
}

/* Where the sample's own block began: by the sample's CPI, as far as that is known */
static double landed_at(const struct work *w, const struct vmprof_sample *s, const struct vmp_set_keys *keys)
{
	const struct vmp_landing *l;
	enum vmp_flow flow;
	uint32_t insns, number;

	if (!keys->landed || !keys->raw[keys->nr].a || !(s->flags & VMPROF_SF_COUNTS) || !s->instructions)
		return (double)s->tsc;
	number = keys->number[keys->nr];
	l = number == VMP_NONE ? NULL : &w->set->landings.v[w->set->seen_as[number].number];
	if (!l || l->ended || vmp_step_straight(&w->set->stepper, l->start, l->at, &insns, &flow))
		return (double)s->tsc;
	return (double)s->tsc - (double)s->cycles / (double)s->instructions * insns * w->ticks;
}

/* Before the oldest block the guest was entered, if all are laid and the record ends for that. */
static int lay_edge(struct work *w, const struct vmp_set_sample *s, const struct vmp_lbr *lbr, double at, const struct vmp_strip_span *sample)
{
	struct vmp_strip_span edge = *sample;

	if (!lbr->nr || !lbr->cut || lbr->flags & VMPROF_LBR_SWITCHED || s->w.switched)
		return 0;
	edge.kind = VMP_MOMENT_EDGE;
	edge.tsc = at;
	edge.start = VMP_NONE;
	return push(w, &edge);
}

static int lay_blocks(struct work *w, const struct vmp_set_sample *s, const struct vmp_lbr *lbr, struct vmp_strip_span *sample)
{
	struct vmp_set_keys keys;
	unsigned int i;
	double at;
	int err = vmp_set_keys(&w->eye, s, &w->set->raws, &keys);

	if (err)
		return err;
	vmp_set_look_up(w->set, &keys);
	at = landed_at(w, s->s, &keys);
	for (i = 0; !err && i < keys.nr && keys.raw[i].a; i++) {
		struct vmp_strip_span b = *sample;

		block_of(w, &keys, i, &b);
		if (isnan(b.cycles)) {
			w->out->unknown++;
			break;
		}
		b.ticks = b.cycles * w->ticks;
		at -= b.ticks;
		b.tsc = at;
		b.mispredicted = s->w.step[i].mispredicted;
		err = push(w, &b);
	}
	/* where the oldest branch's own block began is not in the record */
	return err || i + 1 < keys.nr || (i < keys.nr && keys.raw[i].a) ? err : lay_edge(w, s, lbr, at, sample);
}

static int in_guest(struct work *w, const struct vmp_lbr_sample *ls, const struct vmp_set_sample *s,
		    struct vmp_strip_span *span)
{
	uint32_t image = w->set->points.contexts.v[s->context].from.image;
	const struct vmp_space *space = &w->set->m->vms.v[span->vm].space;
	int err = 0;

	span->kind = VMP_MOMENT_SAMPLE;
	span->what = image == VMP_NONE ? word(w, "[unknown]", &err) : space->images.v[image].comm;
	if (!err)
		err = vmp_points_find(&w->set->points, s->context, s->ip, &span->start);
	if (!err && ls->lbr)
		err = lay_blocks(w, s, ls->lbr, span);
	return err ? err : push(w, span);
}

/* What kept the vCPU out of the guest */
static int out_of_guest(struct work *w, const struct vmprof_sample *s, const struct vmp_hit *hit,
			struct vmp_strip_span *span)
{
	const struct vmp_host_proc *proc = vmp_host_proc(w->set->m, s->host_pid);
	char buf[VMP_EXIT_NAME_MAX];
	struct vmp_origin from;
	uint32_t context;
	uint64_t addr;
	int err = 0;

	span->kind = hit->kind == VMP_KIND_STEAL ? VMP_MOMENT_STEAL : VMP_MOMENT_VMM;
	if (span->kind == VMP_MOMENT_STEAL) {
		span->what = proc && proc->comm ? proc->comm : word(w, "[unknown]", &err);
		return err ? err : push(w, span);
	}
	span->what = word(w, s->flags & VMPROF_SF_VCPU ? vmp_exit_name(buf, s->vendor, s->exit_reason) : "-", &err);
	vmp_origin_from(hit, s, &from, &addr);
	if (!err)
		err = vmp_points_context(&w->set->points, &from, &context);
	if (!err)
		err = vmp_points_find(&w->set->points, context, addr, &span->start);
	return err ? err : push(w, span);
}

/* Samples outside of the guest have no process: they are chosen by domain and vCPU. */
static int wanted(const struct work *w, uint32_t vcpu, const struct vmp_hit *hit)
{
	const struct vmp_origin vm = { .kind = VMP_KIND_VMM_USER, .vm = hit->vm, .image = VMP_NONE };
	struct vmp_set domain = { .m = w->set->m, .choice = { .domain = w->set->choice.domain, .pid = -1 } };

	return vmp_set_wanted(&domain, &vm) && (w->set->choice.vcpu < 0 || vcpu == (uint32_t)w->set->choice.vcpu);
}

/* Return: 1 it is shown, as far as the limit goes; 0; -errno */
static int choose(struct work *w, struct vmp_scan *scan, const struct vmp_lbr_sample *ls, struct vmp_hit *hit,
		  struct vmp_set_sample *seen, struct vmp_strip_span *span)
{
	const struct vmprof_sample *s = ls->s;
	int got;

	if (s->hdr.type != VMPROF_REC_SAMPLE || s->tsc < w->c->from_tsc || s->tsc >= w->c->to_tsc || s->tsc > w->last)
		return 0;
	got = vmp_classify(w->set->m, s, hit);
	if (got || hit->vm == VMP_NONE || hit->kind == VMP_KIND_GUEST_NESTED)
		return got;
	*span = (struct vmp_strip_span){
		.tsc = (double)s->tsc, .sampled = (double)s->tsc, .vm = hit->vm, .vcpu = vmp_origin_vcpu(w->set->m, s),
		.start = VMP_NONE, .end = VMP_NONE,
	};
	got = vmp_origin_is_guest(hit->kind) ? vmp_set_see(&w->eye, scan, ls, seen) : wanted(w, span->vcpu, hit);
	return got > 0 && span->vcpu == VMP_NONE ? 0 : got;
}

static void sift(uint64_t *v, size_t nr, size_t i)
{
	uint64_t tsc = v[i];
	size_t child;

	for (; (child = 2 * i + 1) < nr; i = child) {
		child += child + 1 < nr && v[child + 1] > v[child];
		if (v[child] <= tsc)
			break;
		v[i] = v[child];
	}
	v[i] = tsc;
}

/* The first time: a block of the file is of one pCPU, so that the first samples there are not the earliest. */
static int on_time(void *arg, struct vmp_scan *scan, const struct vmp_lbr_sample *ls)
{
	struct vmp_set_sample seen;
	struct vmp_strip_span span;
	struct work *w = arg;
	struct vmp_hit hit;
	int got = choose(w, scan, ls, &hit, &seen, &span);
	size_t i;

	if (got <= 0)
		return got;
	if (w->earliest.nr < w->c->limit) {
		if (vmp_vec_push(&w->earliest, ls->s->tsc))
			return -ENOMEM;
		if (w->earliest.nr == w->c->limit)
			for (i = w->earliest.nr / 2; i--; )
				sift(w->earliest.v, w->earliest.nr, i);
		return 0;
	}
	w->out->more++;
	if (w->earliest.nr && ls->s->tsc < w->earliest.v[0]) {
		w->earliest.v[0] = ls->s->tsc;
		sift(w->earliest.v, w->earliest.nr, 0);
	}
	return 0;
}

/* Up to where the limit goes, if not to the end */
static void end_at(struct work *w)
{
	uint32_t i;

	if (!w->out->more)
		return;
	w->last = w->earliest.nr ? w->earliest.v[0] : 0;
	for (i = 0; i < w->earliest.nr; i++)
		w->at_last += w->earliest.v[i] == w->last;
	w->out->last_tsc = w->last;
}

static int on_sample(void *arg, struct vmp_scan *scan, const struct vmp_lbr_sample *ls)
{
	struct vmp_set_sample seen;
	struct vmp_strip_span span;
	struct work *w = arg;
	struct vmp_hit hit;
	int got = choose(w, scan, ls, &hit, &seen, &span);

	if (got <= 0)
		return got;
	if (ls->s->tsc == w->last && !w->at_last)
		return 0;
	w->at_last -= ls->s->tsc == w->last;
	w->out->samples++;
	return vmp_origin_is_guest(hit.kind) ? in_guest(w, ls, &seen, &span) : out_of_guest(w, ls->s, &hit, &span);
}

static int compare(const struct vmp_strip_span *a, const struct vmp_strip_span *b, double a_tsc, double b_tsc)
{
	if (a->vm != b->vm)
		return a->vm < b->vm ? -1 : 1;
	if (a->vcpu != b->vcpu)
		return a->vcpu < b->vcpu ? -1 : 1;
	if (a_tsc != b_tsc)
		return a_tsc < b_tsc ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static int by_sample(const void *a, const void *b)
{
	const struct vmp_strip_span *x = a, *y = b;

	return compare(x, y, x->sampled, y->sampled);
}

static int by_time(const void *a, const void *b)
{
	const struct vmp_strip_span *x = a, *y = b;

	/* what a sample tells of is behind the sample before, and an entry before the block that it led to */
	if (x->vm == y->vm && x->vcpu == y->vcpu && x->tsc == y->tsc) {
		if (x->sampled != y->sampled)
			return x->sampled < y->sampled ? -1 : 1;
		if ((x->kind == VMP_MOMENT_EDGE) != (y->kind == VMP_MOMENT_EDGE))
			return x->kind == VMP_MOMENT_EDGE ? -1 : 1;
	}
	return compare(x, y, x->tsc, y->tsc);
}

/* Blocks do not reach back behind the sample before: estimates are means. */
static void clip(struct vmp_timeline *t)
{
	double before = -INFINITY, last = -INFINITY;	/* sample */
	uint32_t i, n = 0;

	for (i = 0; i < t->spans.nr; i++) {
		struct vmp_strip_span s = t->spans.v[i];

		if (i && (t->spans.v[i - 1].vm != s.vm || t->spans.v[i - 1].vcpu != s.vcpu))
			before = last = -INFINITY;
		if (s.sampled != last) {
			before = last;
			last = s.sampled;
		}
		if (s.tsc + s.ticks <= before) {
			t->left_out += s.kind == VMP_MOMENT_BLOCK;
			continue;
		}
		if (s.tsc < before) {
			s.ticks -= before - s.tsc;
			s.tsc = before;
			t->cut++;
		}
		t->spans.v[n++] = s;
	}
	t->spans.nr = n;
}

static void sort(struct vmp_timeline *t, int (*by)(const void *a, const void *b))
{
	if (t->spans.nr)
		qsort(t->spans.v, t->spans.nr, sizeof(*t->spans.v), by);
}

int vmp_timeline_create(struct vmp_timeline **out, struct vmp_set *set, const struct vmp_estimates *e,
			const struct vmp_timeline_choice *c)
{
	struct work w = { .set = set, .e = e, .c = c, .last = UINT64_MAX };
	struct vmp_lbr_losses again = { 0 };
	void *shard = &w;
	int err;

	w.out = calloc(1, sizeof(*w.out));
	if (!w.out)
		return -ENOMEM;
	err = vmp_set_eye_init(&w.eye, set);
	if (!err)
		err = vmp_tickrate(set->m, &w.out->rate);
	w.ticks = w.out->rate > 0 ? w.out->rate : 1;
	if (!err && c->limit != UINT64_MAX)
		err = vmp_scan_branches(set->m, &shard, 1, on_time, &again);
	end_at(&w);
	vmp_vec_free(&w.earliest);
	if (!err)
		err = vmp_scan_branches(set->m, &shard, 1, on_sample, &again);
	vmp_set_eye_deinit(&w.eye);
	if (err) {
		vmp_timeline_destroy(w.out);
		return err;
	}
	sort(w.out, by_sample);
	clip(w.out);
	sort(w.out, by_time);
	*out = w.out;
	return 0;
}

void vmp_timeline_destroy(struct vmp_timeline *t)
{
	if (!t)
		return;
	vmp_vec_free(&t->spans);
	free(t);
}
