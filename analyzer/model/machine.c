// SPDX-License-Identifier: GPL-2.0-only
/* machine.c - a VM's life and its files; put on the host's axis of time in vmp_machine_build(). */
#include "model/machine.h"

#include <string.h>

int vmp_machine_init(struct vmp_machine *m, uint32_t vm)
{
	struct vmp_file anon = { 0 };

	memset(m, 0, sizeof(*m));
	m->vm = vm;
	m->said_agent = -1;
	m->files_max = VMP_FILES_MAX;
	vmp_space_init(&m->space);
	return vmp_vec_push(&m->files, anon);
}

void vmp_machine_deinit(struct vmp_machine *m)
{
	uint32_t i;

	for (i = 0; i < m->boots.nr; i++)
		vmp_kernel_free(&m->boots.v[i].kernel);
	vmp_vec_free(&m->boots);
	vmp_vec_free(&m->files);
	vmp_vec_free(&m->events);
	vmp_vec_free(&m->maps);
	vmp_hash_free(&m->by_inode);
	vmp_jit_free(&m->jit);
	vmp_infer_free(&m->infer);
	vmp_seen_free(&m->seen);
	vmp_space_deinit(&m->space);
	vmp_clock_free(&m->clock);
}

uint64_t vmp_machine_lost(const struct vmp_machine *m, unsigned int cause)
{
	return cause < VMPROF_GLOST_NR ? m->lost[cause] + m->lost_now[cause] : 0;
}

int vmp_machine_without_module(const struct vmp_machine *m)
{
	uint32_t i;

	for (i = 0; i < m->boots.nr; i++)
		if (m->boots.v[i].flags & VMPROF_HELLO_NO_MODULE)
			return 1;
	return 0;
}

static int by_time(const void *pa, const void *pb)
{
	const struct vmp_guest_event *a = pa, *b = pb;

	if (a->epoch != b->epoch)
		return a->epoch < b->epoch ? -1 : 1;
	if (a->tsc != b->tsc)
		return a->tsc < b->tsc ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* An agent tells in order; sorting would take memory for each event */
static void sort_events(struct vmp_machine *m)
{
	uint32_t i;

	for (i = 1; i < m->events.nr; i++) {
		if (by_time(&m->events.v[i - 1], &m->events.v[i]) < 0)
			continue;
		qsort(m->events.v, m->events.nr, sizeof(*m->events.v), by_time);
		return;
	}
}

/* The clock, or where nobody told of one, what arrival times give */
static int make_clock(struct vmp_machine *m)
{
	uint32_t i;
	int err;

	err = vmp_clock_build(&m->clock);
	for (i = 0; !err && m->clock.source <= VMP_CLOCK_ARRIVAL && i < m->events.nr; i++)
		if (m->events.v[i].seen)
			err = vmp_clock_add_arrival(&m->clock, m->events.v[i].tsc, m->events.v[i].seen);
	return err;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a && a < b ? a : b;
}

/*
 * When the boots said HELLO.  A reset sets the guest's TSC anew, so one value
 * of it may stand for a moment in each boot; what helps is the order: a boot
 * speaks before the clock piece of the next one begins.  The first speaks when
 * the session begins.
 */
static void place_hellos(struct vmp_machine *m, uint64_t begin, uint64_t end)
{
	uint32_t e;

	for (e = m->boots.nr; e-- > 1; ) {
		struct vmp_boot *b = &m->boots.v[e];

		b->hello_tsc = vmp_clock_to_host(&m->clock, b->hello_guest_tsc, begin,
						 earlier(b->hello_seen, end));
		b->begin = vmp_clock_piece_begin(&m->clock, b->hello_tsc);
		end = b->begin ? b->begin : b->hello_tsc;
	}
	if (m->boots.nr)
		m->boots.v[0].hello_tsc = begin;
}

/* Guest TSC to host TSC: what a boot tells of lies between its HELLO and where the next
   boot's clock begins. */
static uint64_t host_time(const struct vmp_machine *m, uint32_t epoch, uint64_t tsc, uint64_t seen, uint64_t end)
{
	const struct vmp_boot *next = epoch + 1 < m->boots.nr ? &m->boots.v[epoch + 1] : NULL;

	if (next)
		end = next->begin ? next->begin : next->hello_tsc;
	return vmp_clock_to_host(&m->clock, tsc, m->boots.v[epoch].hello_tsc, earlier(seen, end));
}

/* When a text became true is as uncertain as the clock is */
static void set_kernel_times(struct vmp_machine *m, uint32_t epoch, uint64_t end)
{
	const uint64_t error = m->clock.error_tsc;
	struct vmp_kernel *k = &m->boots.v[epoch].kernel;
	uint32_t i;

	for (i = 0; i < k->texts.nr; i++) {
		struct vmp_kernel_text *t = &k->texts.v[i];

		if (!t->is_dated)
			continue;
		t->since = host_time(m, epoch, t->since, t->seen, end);
		t->since -= t->since < error ? t->since : error;
		t->from = host_time(m, epoch, t->from, t->seen, end) + error;
	}
}

static void set_times(struct vmp_machine *m, uint64_t end)
{
	uint32_t i, k;

	for (i = 0; i < m->events.nr; i++) {
		struct vmp_guest_event *g = &m->events.v[i];

		g->tsc = host_time(m, g->epoch, g->tsc, g->seen, end);
	}
	for (i = 0; i < m->jit.texts.nr; i++) {
		struct vmp_jit_text *t = &m->jit.texts.v[i];

		for (k = 0; k < t->pieces.nr; k++)
			if (t->pieces.v[k].from)
				t->pieces.v[k].from = host_time(m, t->epoch, t->pieces.v[k].from, 0, end);
	}
	for (i = 0; i < m->boots.nr; i++)
		set_kernel_times(m, i, end);
}

/* The first boot holds from the beginning; a later one from where the clock
   jumped, but not before the last event of the one before. */
static int begin_boot(struct vmp_machine *m, uint32_t e, uint64_t last_event)
{
	const struct vmp_boot *b = &m->boots.v[e];
	uint64_t at = !e ? 0 : b->begin > last_event ? b->begin : last_event + 1;

	int err = vmp_space_epoch(&m->space, at, !!(b->flags & VMPROF_HELLO_PTI));

	if (!err && b->flags & VMPROF_HELLO_NO_MODULE)
		vmp_space_without_cr3(&m->space);
	return err;
}

/* A process whose mappings nobody told */
static int is_opaque(const struct vmp_space *s, uint32_t tgid)
{
	uint32_t image = vmp_space_running(s, tgid);

	return image != VMP_NONE && s->images.v[image].opaque;
}

/*
 * Without the module: everything is known from a whole snapshot on, when the last process has
 * ended or called exec that a process forked before it was told of; until something was lost.
 * @last: Of the event before.
 */
static int watch_knowledge(struct vmp_machine *m, const struct vmp_guest_event *g, uint64_t last)
{
	const struct vmp_tsc_span span = { g->tsc, UINT64_MAX };
	struct vmp_tsc_span *open = m->infer.known.nr ? &m->infer.known.v[m->infer.known.nr - 1] : NULL;

	if (open && open->to != UINT64_MAX)
		open = NULL;
	if (g->type == VMPROF_MSG_LOST)
		m->lost_in_boot = g->epoch + 1;
	/* the parent of an opaque process runs, too, and is not known before the next snapshot */
	if (g->type == VMPROF_MSG_LOST || g->type == VMPROF_MSG_HELLO ||
	    (open && g->type == VMPROF_MSG_FORK && is_opaque(&m->space, g->tgid))) {
		if (open)
			open->to = g->type == VMPROF_MSG_HELLO ? last : g->tsc;
		m->snapped_in_boot = 0;
	}
	if (g->type == VMPROF_MSG_SNAP_END)
		m->snapped_in_boot = g->epoch + 1;
	if (open || m->snapped_in_boot != g->epoch + 1U || m->lost_in_boot == g->epoch + 1U ||
	    !vmp_space_all_told(&m->space))
		return 0;
	return vmp_vec_push(&m->infer.known, span);
}

static void end_knowledge(struct vmp_machine *m, uint64_t last)
{
	struct vmp_tsc_span *open = m->infer.known.nr ? &m->infer.known.v[m->infer.known.nr - 1] : NULL;

	if (open && open->to == UINT64_MAX)
		open->to = last;
}

int vmp_machine_build(struct vmp_machine *m, struct vmp_strings *strings,
		      uint64_t begin, uint64_t end)
{
	uint64_t last = 0;
	uint32_t i, e = 0;
	int err;

	err = make_clock(m);
	if (err)
		return err;
	place_hellos(m, begin, end);
	set_times(m, end);
	sort_events(m);
	for (i = 0; e < m->boots.nr; e++) {
		err = begin_boot(m, e, last);
		if (err)
			return err;
		for (; i < m->events.nr && m->events.v[i].epoch == e; i++) {
			const struct vmp_guest_event *g = &m->events.v[i];
			struct vmp_space_event ev = {
				.tsc = g->tsc, .cr3 = g->cr3, .type = g->type, .pid = g->pid,
				.tgid = g->tgid, .ppid = g->ppid, .flags = g->flags,
				.comm = g->comm, .nspid = g->nspid, .cgroup = g->cgroup, .nr_maps = g->nr_maps,
				.maps = g->nr_maps ? &m->maps.v[g->map] : NULL,
			};

			err = vmp_space_event(&m->space, &ev);
			if (!err && m->boots.v[e].flags & VMPROF_HELLO_NO_MODULE)
				err = watch_knowledge(m, g, last);
			if (err)
				return err;
			if (g->type == VMPROF_MSG_TASKS && !m->boots.v[e].tasks_tsc)
				m->boots.v[e].tasks_tsc = g->tsc;
			if (g->type == VMPROF_MSG_JITMAP)
				m->jit.texts.v[g->jit_text].image = vmp_space_running(&m->space, g->tgid);
			last = g->tsc > last ? g->tsc : last;
		}
		end_knowledge(m, last);
	}
	if (m->bad_frames || m->space.images_over || m->files_over)
		vmp_vec_free(&m->infer.known);
	vmp_space_end_unheard(&m->space);
	vmp_space_finish(&m->space);
	for (i = 0; i < m->files.nr; i++)
		if (*m->files.v[i].key)
			vmp_objcache_own(m->files.v[i].key, vmp_strings_get(strings, m->uuid));
	m->nr_events = m->events.nr;
	vmp_vec_free(&m->events);
	vmp_vec_free(&m->maps);
	for (e = 0; e < m->boots.nr; e++) {
		err = vmp_kernel_build(&m->boots.v[e].kernel, strings);
		if (err)
			return err;
	}
	err = vmp_jit_build(&m->jit);
	return err ? err : vmp_jit_cuts(&m->jit, &m->space);
}
