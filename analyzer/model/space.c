// SPDX-License-Identifier: GPL-2.0-only
/* space.c - build the address-space history of a VM out of its agent's events; lookups: lookup.c. */
#include "model/space.h"

#include <string.h>
#include <vmprof/agent_proto.h>

#define CR3_ADDR	0x000ffffffffff000ULL
#define CR3_PTI		0x1000ULL

void vmp_space_init(struct vmp_space *s)
{
	memset(s, 0, sizeof(*s));
	s->swapper = VMP_NONE;
	s->images_max = VMP_IMAGES_MAX;
}

static void forget_orphans(struct vmp_space *s)
{
	vmp_vec_free(&s->orphans);
	vmp_hash_free(&s->last_orphan);
}

void vmp_space_deinit(struct vmp_space *s)
{
	uint32_t i;

	for (i = 0; i < s->images.nr; i++) {
		vmp_vec_free(&s->images.v[i].maps);
		vmp_vec_free(&s->images.v[i].cuts);
	}
	for (i = 0; i < s->spans.nr; i++)
		vmp_vec_free(&s->spans.v[i].s);
	vmp_vec_free(&s->epochs);
	vmp_vec_free(&s->procs);
	vmp_vec_free(&s->images);
	vmp_vec_free(&s->spans);
	vmp_vec_free(&s->agains);
	forget_orphans(s);
	vmp_hash_free(&s->by_cr3);
	vmp_hash_free(&s->live);
}

int vmp_space_epoch(struct vmp_space *s, uint64_t begin_tsc, int pti)
{
	struct vmp_epoch_span e = { .begin = begin_tsc, .cr3_mask = CR3_ADDR & ~(pti ? CR3_PTI : 0) };

	if (s->epochs.nr && s->epochs.v[s->epochs.nr - 1].begin > begin_tsc)
		e.begin = s->epochs.v[s->epochs.nr - 1].begin;
	vmp_hash_free(&s->live);
	forget_orphans(s);
	s->swapper = VMP_NONE;
	s->last_tsc = 0;
	return vmp_vec_push(&s->epochs, e);
}

void vmp_space_without_cr3(struct vmp_space *s)
{
	s->epochs.v[s->epochs.nr - 1].without_cr3 = 1;
}

static const struct vmp_epoch_span *epoch(const struct vmp_space *s)
{
	return &s->epochs.v[s->epochs.nr - 1];
}

static struct vmp_cr3_spans *spans_of(struct vmp_space *s, uint64_t cr3)
{
	uint32_t *i = vmp_hash_find(&s->by_cr3, cr3);
	struct vmp_cr3_spans empty = { 0 };

	if (i)
		return &s->spans.v[*i];
	if (vmp_vec_push(&s->spans, empty) ||
	    vmp_hash_set(&s->by_cr3, cr3, s->spans.nr - 1))
		return NULL;
	return &s->spans.v[s->spans.nr - 1];
}

/* The latest owner of a CR3 in this epoch, or VMP_NONE */
static uint32_t latest_owner(struct vmp_space *s, uint64_t cr3)
{
	uint32_t *i = vmp_hash_find(&s->by_cr3, cr3);
	struct vmp_cr3_spans *sp = i ? &s->spans.v[*i] : NULL;

	if (!sp || !sp->s.nr)
		return VMP_NONE;
	i = &sp->s.v[sp->s.nr - 1].image;
	return s->procs.v[s->images.v[*i].proc].epoch == s->epochs.nr - 1 ? *i : VMP_NONE;
}

/* From @begin on, @image runs on @cr3. */
static int begin_span(struct vmp_space *s, uint64_t cr3, uint64_t begin, uint32_t image)
{
	struct vmp_cr3_spans *sp;
	struct vmp_cr3_span span = { begin, image };

	if (!cr3)			/* nobody told of it */
		return 0;
	sp = spans_of(s, cr3);
	if (!sp)
		return -ENOMEM;
	if (sp->s.nr && sp->s.v[sp->s.nr - 1].begin > begin)
		span.begin = sp->s.v[sp->s.nr - 1].begin;
	return vmp_vec_push(&sp->s, span);
}

static uint32_t live_proc(const struct vmp_space *s, uint32_t tgid)
{
	uint32_t *i = vmp_hash_find(&s->live, tgid);

	return i && s->procs.v[*i].end == UINT64_MAX ? *i : VMP_NONE;
}

uint32_t vmp_space_running(const struct vmp_space *s, uint32_t tgid)
{
	uint32_t proc = live_proc(s, tgid);

	return proc == VMP_NONE ? VMP_NONE : s->procs.v[proc].image;
}

static void end_proc(struct vmp_space *s, uint32_t proc, uint64_t tsc)
{
	uint32_t image = s->procs.v[proc].image;

	s->procs.v[proc].end = tsc;
	if (image != VMP_NONE && s->images.v[image].end > tsc)
		s->images.v[image].end = tsc;
}

/* Up to when a process is known to be as it was; by @tsc it is not any more. */
static uint64_t last_heard(const struct vmp_space *s, uint32_t proc, uint64_t tsc)
{
	uint32_t heard = s->procs.v[proc].heard;

	return heard < s->agains.nr ? s->agains.v[heard].last_tsc : tsc;
}

/* @tgid is told of now, if ever: those that it forked before wait no longer.  Return: the last of them, or VMP_NONE. */
static uint32_t take_orphans(struct vmp_space *s, uint32_t tgid)
{
	uint32_t *i = vmp_hash_find(&s->last_orphan, tgid), last = VMP_NONE;

	if (i) {
		last = *i;
		*i = VMP_NONE;
	}
	return last;
}

static int add_orphan(struct vmp_space *s, uint32_t ppid, uint32_t image)
{
	struct vmp_orphan o = { .image = image, .next = take_orphans(s, ppid) };

	if (vmp_vec_push(&s->orphans, o) || vmp_hash_set(&s->last_orphan, ppid, s->orphans.nr - 1))
		return -ENOMEM;
	return 0;
}

/* What was forked while @image ran, which nobody had told of, has its mappings, and its cgroup. @image has no parent: no circle comes of it. */
static void adopt(struct vmp_space *s, uint32_t orphan, uint32_t image)
{
	for (; orphan != VMP_NONE; orphan = s->orphans.v[orphan].next) {
		struct vmp_image *im = &s->images.v[s->orphans.v[orphan].image];

		if (im->fork_tsc < s->images.v[image].begin)
			continue;
		im->parent = image;
		im->cgroup = im->cgroup ? im->cgroup : s->images.v[image].cgroup;
	}
}

static int new_proc(struct vmp_space *s, const struct vmp_space_event *ev, uint64_t begin, uint32_t *out)
{
	struct vmp_proc p = {
		.epoch = s->epochs.nr - 1, .tgid = ev->tgid, .ppid = ev->ppid,
		.image = VMP_NONE, .lender = VMP_NONE, .threads = 1,
		.begin = begin, .end = UINT64_MAX, .heard = s->agains.nr,
	};
	uint32_t old = live_proc(s, ev->tgid);

	/* Its exit was lost: two processes never share a number. */
	if (old != VMP_NONE)
		end_proc(s, old, last_heard(s, old, ev->tsc));
	take_orphans(s, ev->tgid);
	if (s->images.nr >= s->images_max)
		return -ENOSPC;
	if (vmp_vec_push(&s->procs, p) || vmp_hash_set(&s->live, ev->tgid, s->procs.nr - 1))
		return -ENOMEM;
	*out = s->procs.nr - 1;
	return 0;
}

/* A new image of @proc from @begin on; the one before ends at @end. */
static int new_image(struct vmp_space *s, uint32_t proc, uint64_t cr3, uint64_t begin,
		     uint64_t end, uint32_t comm, uint32_t *out)
{
	struct vmp_image im = {
		.proc = proc, .parent = VMP_NONE, .cr3 = cr3, .begin = begin,
		.told = begin, .end = UINT64_MAX, .comm = comm,
	};
	uint32_t old = s->procs.v[proc].image;

	/* of what it runs now nothing can be kept: it is not known any more */
	if (s->images.nr >= s->images_max) {
		end_proc(s, proc, end);
		return -ENOSPC;
	}
	if (vmp_vec_push(&s->images, im))
		return -ENOMEM;
	if (old != VMP_NONE && s->images.v[old].end > end)
		s->images.v[old].end = end;
	*out = s->images.nr - 1;
	s->procs.v[proc].image = *out;
	return 0;
}

/* Where its process is, as far as the event tells */
static void place(struct vmp_space *s, uint32_t image, const struct vmp_space_event *ev)
{
	struct vmp_image *im = &s->images.v[image];

	im->nspid = ev->nspid ? ev->nspid : im->nspid;
	im->cgroup = ev->cgroup ? ev->cgroup : im->cgroup;
}

/*
 * A process was seen on a CR3 at ev->tsc.  Known: confirmed.  New: its begin
 * was lost; it may have run there since the owner before was gone, or where
 * there is none since the guest's boot.
 */
static int seen(struct vmp_space *s, const struct vmp_space_event *ev, uint64_t cr3, uint32_t *image)
{
	uint32_t proc = live_proc(s, ev->tgid), owner = latest_owner(s, cr3), orphan = VMP_NONE;
	uint64_t begin = epoch(s)->begin, end = ev->tsc;
	int err;

	if (proc != VMP_NONE) {
		end = last_heard(s, proc, ev->tsc);
		s->procs.v[proc].heard = s->agains.nr;
	}
	if (owner != VMP_NONE && proc != VMP_NONE && s->images.v[owner].proc == proc) {
		*image = owner;
		return 0;
	}
	if (proc != VMP_NONE && s->procs.v[proc].lender != VMP_NONE &&
	    s->images.v[s->procs.v[proc].lender].cr3 == cr3) {
		*image = s->procs.v[proc].image;
		return 0;
	}
	if (owner != VMP_NONE) {
		begin = s->images.v[owner].end;
		if (begin > ev->tsc)
			begin = ev->tsc;
		s->repaired++;
	} else if (ev->type != VMPROF_MSG_PROC) {
		s->repaired++;
	}
	if (proc == VMP_NONE) {
		orphan = take_orphans(s, ev->tgid);
		err = new_proc(s, ev, begin, &proc);
		if (err)
			return err;
	}
	err = new_image(s, proc, cr3, begin, end, ev->comm, image);
	if (err)
		return err;
	if (ev->type == VMPROF_MSG_PROC) {
		s->images.v[*image].told = ev->tsc;
		place(s, *image, ev);
	}
	adopt(s, orphan, *image);
	return begin_span(s, cr3, begin, *image);
}

/* A vfork child leaves the address space that it was lent. */
static int give_back(struct vmp_space *s, uint32_t proc, uint64_t tsc)
{
	uint32_t lender = s->procs.v[proc].lender;
	uint64_t cr3;

	if (lender == VMP_NONE)
		return 0;
	s->procs.v[proc].lender = VMP_NONE;
	cr3 = s->images.v[lender].cr3;
	/* only if the child is what the history has there now */
	if (latest_owner(s, cr3) != s->procs.v[proc].image)
		return 0;
	return begin_span(s, cr3, tsc, lender);
}

/* A fork that tells of no address space tells of no name either. */
static void inherit(struct vmp_space *s, uint32_t from, uint32_t image)
{
	if (from != VMP_NONE)
		s->images.v[image].comm = s->images.v[from].comm;
	s->images.v[image].opaque = from == VMP_NONE || s->images.v[from].opaque;
}

static int on_fork(struct vmp_space *s, const struct vmp_space_event *ev, uint64_t cr3)
{
	uint32_t parent = live_proc(s, ev->ppid), from = VMP_NONE, proc, image;
	int err, shared;

	if (ev->pid != ev->tgid) {
		proc = live_proc(s, ev->tgid);
		if (proc != VMP_NONE)
			s->procs.v[proc].threads++;
		return 0;
	}
	if (parent != VMP_NONE)
		from = s->procs.v[parent].image;
	err = new_proc(s, ev, ev->tsc, &proc);
	if (!err)
		err = new_image(s, proc, cr3, ev->tsc, ev->tsc, ev->comm, &image);
	if (err)
		return err;
	if (epoch(s)->without_cr3)
		inherit(s, from, image);
	if (from != VMP_NONE)
		s->images.v[image].cgroup = s->images.v[from].cgroup;
	place(s, image, ev);
	if (from == VMP_NONE) {
		err = add_orphan(s, ev->ppid, image);
		if (err)
			return err;
	}
	shared = cr3 && from != VMP_NONE && s->images.v[from].cr3 == cr3;
	s->images.v[image].parent = from;
	s->images.v[image].fork_tsc = shared ? UINT64_MAX : ev->tsc;
	if (shared) {
		s->procs.v[proc].lender = from;
		/* The parent's other threads run on: nobody can tell them from
		   the child by CR3, and they are more. */
		if (s->procs.v[parent].threads > 1)
			return 0;
	}
	return begin_span(s, cr3, ev->tsc, image);
}

static int on_exec(struct vmp_space *s, const struct vmp_space_event *ev, uint64_t cr3)
{
	uint32_t proc = live_proc(s, ev->tgid), owner = latest_owner(s, cr3), image, old;
	int err;

	if (ev->flags & VMPROF_PROC_EXEC_DONE) {
		if (proc != VMP_NONE && owner != VMP_NONE && s->images.v[owner].proc == proc) {
			s->images.v[owner].comm = ev->comm;
			place(s, owner, ev);
			return 0;
		}
		s->repaired++;	/* its first half was lost */
	}
	if (proc == VMP_NONE) {
		err = new_proc(s, ev, ev->tsc, &proc);
		if (err)
			return err;
	}
	old = s->procs.v[proc].image;
	err = give_back(s, proc, ev->tsc);
	if (!err)
		err = new_image(s, proc, cr3, ev->tsc, ev->tsc, ev->comm, &image);
	if (err)
		return err;
	if (old != VMP_NONE) {
		s->images.v[image].nspid = s->images.v[old].nspid;
		s->images.v[image].cgroup = s->images.v[old].cgroup;
	}
	place(s, image, ev);
	s->procs.v[proc].threads = 1;
	s->procs.v[proc].heard = s->agains.nr;
	return begin_span(s, cr3, ev->tsc, image);
}

static int same_mapping(const struct vmp_map *a, const struct vmp_map *b)
{
	return a->file == b->file && a->flags == b->flags &&
	       a->start - a->pgoff == b->start - b->pgoff;
}

static int add_map(struct vmp_space *s, uint32_t image, const struct vmp_map *map, uint64_t tsc)
{
	struct vmp_image *im = &s->images.v[image];
	struct vmp_map m = *map;
	uint32_t i;

	if (im->maps.nr == VMP_IMAGE_MAPS_MAX) {
		s->maps_over++;
		return 0;
	}
	/* Told again, and nothing else lay there in between? */
	for (i = im->maps.nr; i--; ) {
		const struct vmp_map *k = &im->maps.v[i];

		if (k->start >= m.end || k->end <= m.start)
			continue;
		if (!same_mapping(k, &m))
			break;
		if (k->start <= m.start && k->end >= m.end)
			return 0;
	}
	m.begin = tsc;
	return vmp_vec_push(&im->maps, m);
}

/* By /proc: it lives, and all that it has mapped is told next. */
static int on_proc_without_cr3(struct vmp_space *s, const struct vmp_space_event *ev)
{
	uint32_t proc = live_proc(s, ev->tgid), image;
	int err;

	if (proc == VMP_NONE) {
		err = new_proc(s, ev, epoch(s)->begin, &proc);
		if (!err)
			err = new_image(s, proc, 0, epoch(s)->begin, ev->tsc, ev->comm, &image);
		if (!err)
			place(s, image, ev);
		return err;
	}
	place(s, s->procs.v[proc].image, ev);
	s->procs.v[proc].heard = s->agains.nr;
	s->images.v[s->procs.v[proc].image].comm = ev->comm;
	s->images.v[s->procs.v[proc].image].opaque = 0;
	return 0;
}

static int on_map(struct vmp_space *s, const struct vmp_space_event *ev, uint64_t cr3)
{
	uint32_t proc = live_proc(s, ev->tgid), image, i;
	int err;

	if (cr3) {
		err = seen(s, ev, cr3, &image);
		if (err)
			return err;
	} else if (proc != VMP_NONE && s->procs.v[proc].image != VMP_NONE) {
		image = s->procs.v[proc].image;
	} else {
		return 0;
	}
	for (i = 0; i < ev->nr_maps; i++) {
		err = add_map(s, image, &ev->maps[i], ev->tsc);
		if (err)
			return err;
	}
	return 0;
}

/* Of threads that ended shortly after each other each says to be the last: the last one is. */
static void live_longer(struct vmp_space *s, const struct vmp_space_event *ev)
{
	const uint32_t *proc = vmp_hash_find(&s->live, ev->tgid);

	if (!proc || s->procs.v[*proc].end > ev->tsc || s->images_over)
		return;
	s->procs.v[*proc].end = ev->tsc;
	s->images.v[s->procs.v[*proc].image].end = ev->tsc;
}

static int on_task_exit(struct vmp_space *s, const struct vmp_space_event *ev, uint64_t cr3)
{
	uint32_t proc;
	int err = 0;

	if (!(ev->flags & VMPROF_PROC_LAST)) {
		proc = live_proc(s, ev->tgid);
		if (proc != VMP_NONE && s->procs.v[proc].threads > 1)
			s->procs.v[proc].threads--;
		return 0;
	}
	if (cr3 || ev->nr_maps)
		err = on_map(s, ev, cr3);
	proc = live_proc(s, ev->tgid);
	if (!err && proc == VMP_NONE && epoch(s)->without_cr3)
		live_longer(s, ev);
	if (proc == VMP_NONE)
		take_orphans(s, ev->tgid);
	if (err || proc == VMP_NONE)
		return err;
	err = give_back(s, proc, ev->tsc);
	end_proc(s, proc, ev->tsc);
	return err;
}

/* The kernel's own page tables: idle tasks, and kernel threads that do not
   borrow another's. */
static int on_kernel_task(struct vmp_space *s, const struct vmp_space_event *ev, uint64_t cr3)
{
	struct vmp_space_event idle = *ev;
	int err;

	if (!cr3 || s->swapper != VMP_NONE)
		return 0;
	idle.tgid = 0;
	err = seen(s, &idle, cr3, &s->swapper);
	return err;
}

static int on_hello(struct vmp_space *s)
{
	struct vmp_again again = { .epoch = s->epochs.nr - 1, .last_tsc = s->last_tsc };

	forget_orphans(s);
	return vmp_vec_push(&s->agains, again);
}

void vmp_space_end_unheard(struct vmp_space *s)
{
	uint32_t i, k;

	forget_orphans(s);
	/* a conversation cut before its snapshot closes nothing: the next one does */
	for (k = s->agains.nr; k-- > 1; )
		if (!s->agains.v[k - 1].snapped && s->agains.v[k - 1].epoch == s->agains.v[k].epoch)
			s->agains.v[k - 1].snapped = s->agains.v[k].snapped;
	for (i = 0; i < s->procs.nr; i++) {
		struct vmp_proc *p = &s->procs.v[i];

		k = p->heard;
		if (p->end == UINT64_MAX && p->tgid && k < s->agains.nr && s->agains.v[k].snapped &&
		    s->agains.v[k].epoch == p->epoch)
			end_proc(s, i, s->agains.v[k].last_tsc);
	}
}

int vmp_space_all_told(struct vmp_space *s)
{
	/* none becomes opaque later than by the fork that it began with */
	for (; s->told < s->procs.nr; s->told++) {
		const struct vmp_proc *p = &s->procs.v[s->told];

		if (p->end == UINT64_MAX && p->epoch == s->epochs.nr - 1 && s->images.v[p->image].opaque)
			return 0;
	}
	return 1;
}

int vmp_space_own(struct vmp_space *s, uint64_t cr3, uint32_t image)
{
	struct vmp_cr3_span span = { s->images.v[image].begin, image };
	struct vmp_cr3_spans *sp = spans_of(s, cr3);
	uint32_t i;

	if (!sp || vmp_vec_push(&sp->s, span))
		return -ENOMEM;
	for (i = sp->s.nr - 1; i && sp->s.v[i - 1].begin > span.begin; i--)
		sp->s.v[i] = sp->s.v[i - 1];
	sp->s.v[i] = span;
	s->images.v[image].cr3 = cr3;
	return 0;
}

void vmp_space_disown(struct vmp_space *s, uint32_t image)
{
	const uint32_t *of = vmp_hash_find(&s->by_cr3, s->images.v[image].cr3);
	struct vmp_cr3_spans *sp = of ? &s->spans.v[*of] : NULL;
	uint32_t i, n = 0;

	for (i = 0; sp && i < sp->s.nr; i++)
		if (sp->s.v[i].image != image)
			sp->s.v[n++] = sp->s.v[i];
	if (sp)
		sp->s.nr = n;
	s->images.v[image].cr3 = 0;
}

static int take_event(struct vmp_space *s, const struct vmp_space_event *ev)
{
	uint64_t cr3;
	uint32_t image, proc;
	int err;

	if (!s->epochs.nr)
		return -EINVAL;
	if (ev->type == VMPROF_MSG_HELLO)
		return on_hello(s);
	if (ev->type == VMPROF_MSG_SNAP_END) {
		if (s->agains.nr)
			s->agains.v[s->agains.nr - 1].snapped = 1;
		return 0;
	}
	s->last_tsc = ev->tsc > s->last_tsc ? ev->tsc : s->last_tsc;
	cr3 = ev->cr3 & epoch(s)->cr3_mask;
	/* without CR3s they are processes that have nothing mapped, whose children may exec */
	if (ev->type != VMPROF_MSG_MAP && ev->flags & VMPROF_PROC_KTHREAD && !epoch(s)->without_cr3)
		return on_kernel_task(s, ev, cr3);
	switch (ev->type) {
	case VMPROF_MSG_FORK:
		return on_fork(s, ev, cr3);
	case VMPROF_MSG_EXEC:
		return on_exec(s, ev, cr3);
	case VMPROF_MSG_MAP:
		return on_map(s, ev, cr3);
	case VMPROF_MSG_EXIT:
		return on_task_exit(s, ev, cr3);
	case VMPROF_MSG_PROC:
		if (epoch(s)->without_cr3)
			return on_proc_without_cr3(s, ev);
		if (!cr3)
			return 0;
		err = seen(s, ev, cr3, &image);
		/* a snapshot may be a little behind an exec */
		if (!err && s->images.v[image].end == UINT64_MAX) {
			s->images.v[image].comm = ev->comm;
			place(s, image, ev);
		}
		return err;
	case VMPROF_MSG_COMM:
		proc = live_proc(s, ev->tgid);
		if (ev->pid == ev->tgid && proc != VMP_NONE && s->procs.v[proc].image != VMP_NONE)
			s->images.v[s->procs.v[proc].image].comm = ev->comm;
		return 0;
	}
	return 0;
}

int vmp_space_event(struct vmp_space *s, const struct vmp_space_event *ev)
{
	int err = take_event(s, ev);

	if (err != -ENOSPC)
		return err;
	s->images_over++;
	return 0;
}
