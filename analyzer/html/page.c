// SPDX-License-Identifier: GPL-2.0-only
/* page.c - sum up samples for the HTML report. */
#include "html/page.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "report/exits.h"
#include "report/totals.h"

/* Lanes of each VM that the capture tells of: a vCPU's number, then those that are none, or too many */
#define LANES		1025
#define LANE_OTHER	(LANES - 1)
#define VMS		VMPROF_MAX_VMS
#define LANES_MAX	4096	/* of all VMs */
#define LANE_BYTES	(VMP_PAGE_BINS * VMP_PAGE_SIDES * sizeof(uint32_t))

/* With more vCPUs, functions are not told apart by vCPU: their samples would be too few to say anything */
#define VCPUS_APART	8

/* split[0]: vCPU and pace; split[1]: vendor and exit code */
#define NO_VCPU		0xffffffU
#define PACE_SHIFT	24
#define NO_PACE		0xffU
#define NO_EXIT		UINT32_MAX
#define VENDOR_SHIFT	28
#define CODE_MAX	((1U << VENDOR_SHIFT) - 1)

/* Rows are added in batches: their table is larger than any cache */
#define BATCH		64

struct work {
	struct vmp_page *page;
	struct vmp_model *m;
	struct vmp_hash by_vm;		/* number of a VM -> domain */
	struct vmp_hash procs, threads, stacks, rows, paces;
	int by_vcpu;			/* rows are told apart by vCPU */
	struct vmp_page_row batch[BATCH];
	uint64_t sum[BATCH];		/* their hashes */
	uint32_t nr_batch;
	uint32_t proc, thread, pace;	/* the latest, + 1: what follows is mostly of the same */
	VMP_VEC(uint32_t) stack;	/* of a function: its latest stack + 1, by string number */
};

static int find_by(struct vmp_hash *h, uint64_t sum, void **v, uint32_t *nr, uint32_t *room, size_t size,
		   const void *elem, size_t key_len, uint32_t *out)
{
	uint32_t *i;

	for (; (i = vmp_hash_find(h, sum)); sum++) {
		if (!memcmp((char *)*v + *i * size, elem, key_len)) {
			*out = *i;
			return 0;
		}
	}
	if (*nr == *room && vmp_vec_grow(v, room, *nr + 1, size))
		return -ENOMEM;
	if (vmp_hash_set(h, sum, *nr))
		return -ENOMEM;
	memcpy((char *)*v + *nr * size, elem, size);
	*out = (*nr)++;
	return 0;
}

int vmp_page_find_in(struct vmp_hash *h, void **v, uint32_t *nr, uint32_t *room, size_t size,
		     const void *elem, size_t key_len, uint32_t *out)
{
	return find_by(h, vmp_hash_bytes(elem, key_len), v, nr, room, size, elem, key_len, out);
}

/* ------------------------------------------------- each sample, any thread */

/* Instructions finished in a cycle, rounded */
static uint32_t pace_of(const struct vmprof_sample *s)
{
	uint64_t n;

	if (!(s->flags & VMPROF_SF_COUNTS) || !s->cycles)
		return NO_PACE;
	n = s->instructions / s->cycles + (s->instructions % s->cycles >= s->cycles - s->cycles / 2);
	return n < VMP_PACES ? (uint32_t)n : VMP_PACES - 1;
}

static uint32_t exit_of(const struct vmprof_sample *s, enum vmp_side side)
{
	uint64_t code = vmp_exit_code(s->vendor, s->exit_reason);

	if (side != VMP_SIDE_VMM || !(s->flags & VMPROF_SF_VCPU))
		return NO_EXIT;
	return (uint32_t)(s->vendor & 3) << VENDOR_SHIFT | (uint32_t)(code < CODE_MAX ? code : CODE_MAX);
}

/* Threads may meet here: whoever comes second takes the first one's.  NULL: no memory, too many. */
static uint32_t *lane_bins(struct vmp_page *p, uint32_t vm, uint32_t vcpu)
{
	uint32_t **lane = &p->lane_bins[vm * LANES + (vcpu < LANE_OTHER ? vcpu : LANE_OTHER)];
	uint32_t *bins = __atomic_load_n(lane, __ATOMIC_ACQUIRE), *mine;

	if (bins || __atomic_fetch_add(&p->lanes_made, 1, __ATOMIC_RELAXED) >= LANES_MAX)
		return bins;
	mine = calloc(1, LANE_BYTES);
	if (mine && !__atomic_compare_exchange_n(lane, &bins, mine, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		free(mine);
	else
		bins = mine;
	return bins;
}

static void note_time(const struct work *w, const struct vmprof_sample *s, uint32_t vm, uint32_t vcpu,
		      enum vmp_side side)
{
	struct vmp_page *p = w->page;
	uint32_t *bins;
	uint64_t bin;

	if (!p->bin_ticks || vm >= p->lane_vms || s->tsc < w->m->first_tsc)
		return;
	bin = (s->tsc - w->m->first_tsc) / p->bin_ticks;
	bins = bin < VMP_PAGE_BINS ? lane_bins(p, vm, vcpu) : NULL;
	if (bins)
		__atomic_fetch_add(&bins[bin * VMP_PAGE_SIDES + side], 1, __ATOMIC_RELAXED);
}

static int on_split(void *arg, struct vmp_model *m, const struct vmprof_sample *s,
		    const struct vmp_origin *from, uint32_t split[2])
{
	enum vmp_side side = vmp_origin_side(from->kind);
	const struct work *w = arg;
	uint32_t vcpu;

	if (side == VMP_SIDE_HOST)
		return 0;
	vcpu = vmp_origin_vcpu(m, s);
	split[0] = (w->by_vcpu && vcpu < NO_VCPU ? vcpu : NO_VCPU) | pace_of(s) << PACE_SHIFT;
	split[1] = exit_of(s, side);
	if (s->hdr.type == VMPROF_REC_SAMPLE)
		note_time(w, s, from->vm, vcpu, side);
	return 0;
}

/* ---------------------------------------------------------------- sums */

static int domain_of(struct work *w, uint32_t vm, struct vmp_domain **out)
{
	struct vmp_profile *p = &w->page->profile;
	uint32_t *i = vmp_hash_find(&w->by_vm, vm);
	struct vmp_domain d = { .vm = vm };

	if (!i && (vmp_vec_push(&p->domains, d) || vmp_hash_set(&w->by_vm, vm, p->domains.nr - 1)))
		return -ENOMEM;
	*out = &p->domains.v[i ? *i : p->domains.nr - 1];
	return 0;
}

static int on_space(void *arg, const struct vmp_gather_space *s, uint64_t samples, uint64_t by_timer,
		    uint64_t by_nmi)
{
	struct work *w = arg;
	struct vmp_domain *d;

	if (s->second)
		return 0;
	w->page->profile.samples += samples;
	if (s->from.vm == VMP_NONE) {
		w->page->profile.others += samples;
		return 0;
	}
	if (domain_of(w, s->from.vm, &d))
		return -ENOMEM;
	d->by_timer += by_timer;
	d->by_nmi += by_nmi;
	return 0;
}

static int count_domain(struct work *w, const struct vmp_gather_space *s, const struct vmp_place *place,
			const struct vmp_gathered *g, enum vmp_side side, uint32_t pid)
{
	struct vmp_row row = { .samples = s->second ? 0 : g->samples, .side = side, .pid = pid };
	struct vmp_domain *d;

	if (domain_of(w, s->from.vm, &d))
		return -ENOMEM;
	if (side < VMP_SIDE_STEAL)
		vmp_totals_weigh(w->m, s, g, &row);
	vmp_totals_add(w->m, d, s, place, &row, 0);
	d->shown += row.samples;
	return 0;
}

static int exit_string(struct work *w, uint32_t split, uint32_t *out)
{
	char buf[VMP_EXIT_NAME_MAX];
	const char *name;
	int err = 0;

	*out = 0;
	if (split != NO_EXIT) {
		name = vmp_exit_name(buf, split >> VENDOR_SHIFT, split & CODE_MAX);
		*out = vmp_strings_add(&w->m->strings, name, strlen(name), &err);
	}
	return err;
}

/* First all slots are fetched, then all rows that are there */
static int flush_rows(struct work *w)
{
	struct vmp_page *p = w->page;
	uint32_t n = w->nr_batch, i, k, *at;

	w->nr_batch = 0;
	for (i = 0; i < n; i++) {
		at = vmp_hash_find(&w->rows, w->sum[i]);
		if (at)
			__builtin_prefetch(&p->rows.v[*at], 1);
	}
	for (i = 0; i < n; i++) {
		struct vmp_page_row row = w->batch[i];

		row.samples = row.cycles = row.instructions = 0;
		if (find_by(&w->rows, w->sum[i], (void **)&p->rows.v, &p->rows.nr, &p->rows.room, sizeof(row),
			    &row, VMP_PAGE_ROW_KEY, &k))
			return -ENOMEM;
		p->rows.v[k].samples += w->batch[i].samples;
		p->rows.v[k].cycles += w->batch[i].cycles;
		p->rows.v[k].instructions += w->batch[i].instructions;
	}
	return 0;
}

static int find_proc(struct work *w, const struct vmp_page_proc *proc, uint32_t *out)
{
	int err;

	*out = w->proc - 1;
	if (w->proc && !memcmp(&w->page->procs.v[*out], proc, VMP_PAGE_PROC_KEY))
		return 0;
	err = vmp_page_find(&w->procs, &w->page->procs, proc, VMP_PAGE_PROC_KEY, out);
	w->proc = err ? 0 : *out + 1;
	return err;
}

/* @task: as vmp_gather_space.thread */
static int find_thread(struct work *w, uint32_t vm, uint32_t proc, uint32_t task, uint32_t *out)
{
	const struct vmp_guest_task *t = &w->m->vms.v[vm].seen.tasks.v[task - 1];
	struct vmp_page_thread thread = { .proc = proc, .comm = t->comm, .tid = t->tid, .nr = 1 };
	int err;

	*out = w->thread - 1;
	if (w->thread && !memcmp(&w->page->threads.v[*out], &thread, VMP_PAGE_THREAD_KEY))
		return 0;
	err = vmp_page_find(&w->threads, &w->page->threads, &thread, VMP_PAGE_THREAD_KEY, out);
	w->thread = err ? 0 : *out + 1;
	return err;
}

static int find_pace(struct work *w, const struct vmp_page_pace *pace, uint32_t *out)
{
	int err;

	*out = w->pace - 1;
	if (w->pace && !memcmp(&w->page->paces.v[*out], pace, VMP_PAGE_PACE_KEY))
		return 0;
	err = vmp_page_find(&w->paces, &w->page->paces, pace, VMP_PAGE_PACE_KEY, out);
	w->pace = err ? 0 : *out + 1;
	return err;
}

/* Most functions are in one stack, which is found without the table */
static int find_stack(struct work *w, const struct vmp_page_stack *stack, uint32_t *out)
{
	uint32_t *latest;
	int err;

	while (w->stack.nr <= stack->function)
		if (vmp_vec_push(&w->stack, 0))
			return -ENOMEM;
	latest = &w->stack.v[stack->function];
	*out = *latest - 1;
	if (*latest && !memcmp(&w->page->stacks.v[*out], stack, VMP_PAGE_STACK_KEY))
		return 0;
	err = vmp_page_find(&w->stacks, &w->page->stacks, stack, VMP_PAGE_STACK_KEY, out);
	*latest = err ? 0 : *out + 1;
	return err;
}

static int count_row(struct work *w, struct vmp_page_row *row, uint32_t pace, uint64_t samples,
		     const struct vmp_gathered *g)
{
	struct vmp_page_pace of = { .proc = row->proc, .vcpu = row->vcpu, .thread = row->thread };
	struct vmp_page *p = w->page;
	uint32_t i;

	row->samples = samples;
	/* while it waited, what was counted is others' */
	if (row->side != VMP_SIDE_STEAL) {
		row->cycles = g->cycles;
		row->instructions = g->instructions;
	}
	w->batch[w->nr_batch] = *row;
	w->sum[w->nr_batch] = vmp_hash_bytes(row, VMP_PAGE_ROW_KEY);
	vmp_hash_prefetch(&w->rows, w->sum[w->nr_batch++]);
	if (w->nr_batch == BATCH && flush_rows(w))
		return -ENOMEM;
	if (pace == NO_PACE || row->side == VMP_SIDE_VMM || row->side == VMP_SIDE_STEAL)
		return 0;
	if (find_pace(w, &of, &i))
		return -ENOMEM;
	p->paces.v[i].cycles[pace] += g->cycles;
	return 0;
}

static int on_place(void *arg, const struct vmp_gather_space *s, const struct vmp_place *place,
		    const struct vmp_gathered *g)
{
	struct vmp_page_stack stack = { VMP_NONE, place->function, place->module };
	struct vmp_page_row row = { .side = vmp_origin_side(s->from.kind), .thread = VMP_NONE };
	struct vmp_page_proc proc = { .vm = s->from.vm, .nr = 1 };
	uint32_t vcpu = s->split[0] & NO_VCPU;
	uint64_t samples = s->second ? 0 : g->samples;
	struct work *w = arg;
	struct vmp_owner owner;
	int err;

	if (row.side == VMP_SIDE_HOST)
		return 0;
	err = vmp_origin_owner(w->m, &s->from, place, &owner);
	if (!err)
		err = exit_string(w, s->split[1], &row.exit);
	if (!err)
		err = count_domain(w, s, place, g, row.side, owner.pid);
	proc.comm = owner.comm;
	proc.pid = owner.pid;
	if (!err)
		err = find_proc(w, &proc, &row.proc);
	if (!err && s->thread)
		err = find_thread(w, s->from.vm, row.proc, s->thread, &row.thread);
	if (!err)
		err = find_stack(w, &stack, &row.stack);
	if (err)
		return err;
	w->page->procs.v[row.proc].samples += samples;
	if (row.thread != VMP_NONE)
		w->page->threads.v[row.thread].samples += samples;
	row.vcpu = vcpu == NO_VCPU ? VMP_NONE : vcpu;
	return count_row(w, &row, s->split[0] >> PACE_SHIFT, samples, g);
}

/* ------------------------------------------------------------------ all */

static void free_bins(struct vmp_page *p)
{
	size_t i;

	for (i = 0; p->lane_bins && i < (size_t)p->lane_vms * LANES; i++)
		free(p->lane_bins[i]);
	free(p->lane_bins);
}

static int prepare(struct work *w)
{
	struct vmp_page *p = w->page;
	struct vmp_domain *d;
	uint32_t i;

	p->model = p->profile.model = w->m;
	w->by_vcpu = w->m->vcpu_by_tid.nr && w->m->vcpu_by_tid.nr <= VCPUS_APART;
	if (w->m->first_tsc && w->m->last_tsc > w->m->first_tsc)
		p->bin_ticks = (w->m->last_tsc - w->m->first_tsc) / VMP_PAGE_BINS + 1;
	p->lane_vms = w->m->vms.nr < VMS ? w->m->vms.nr : VMS;
	p->lane_bins = calloc((size_t)p->lane_vms * LANES + 1, sizeof(*p->lane_bins));
	if (!p->lane_bins)
		return -ENOMEM;
	/* a VM without a sample is in the report too */
	for (i = 0; i < w->m->vms.nr; i++)
		if (domain_of(w, i, &d))
			return -ENOMEM;
	return 0;
}

/* Samples are handed out anew: what was found stays, its sums begin at 0. */
static void on_restart(void *arg)
{
	struct work *w = arg;
	struct vmp_page *p = w->page;
	size_t i;

	w->nr_batch = 0;
	p->profile.samples = p->profile.others = 0;
	for (i = 0; i < p->profile.domains.nr; i++)
		p->profile.domains.v[i] = (struct vmp_domain){ .vm = p->profile.domains.v[i].vm };
	for (i = 0; i < p->procs.nr; i++)
		p->procs.v[i].samples = 0;
	for (i = 0; i < p->threads.nr; i++)
		p->threads.v[i].samples = 0;
	for (i = 0; i < p->rows.nr; i++)
		p->rows.v[i].samples = p->rows.v[i].cycles = p->rows.v[i].instructions = 0;
	for (i = 0; i < p->paces.nr; i++)
		memset(p->paces.v[i].cycles, 0, sizeof(p->paces.v[i].cycles));
	for (i = 0; i < (size_t)p->lane_vms * LANES; i++)
		if (p->lane_bins[i])
			memset(p->lane_bins[i], 0, LANE_BYTES);
}

static int cmp_domains(const void *pa, const void *pb, void *arg)
{
	const struct vmp_domain *a = pa, *b = pb;
	const struct vmp_model *m = arg;
	int d = strcmp(vmp_model_name(m, m->vms.v[a->vm].name), vmp_model_name(m, m->vms.v[b->vm].name));

	return d ? d : (m->vms.v[a->vm].vm > m->vms.v[b->vm].vm) - (m->vms.v[a->vm].vm < m->vms.v[b->vm].vm);
}

/* Leave out what was not asked for, list the lanes of the rest. */
static int choose(struct vmp_page *p, const char *pattern)
{
	struct vmp_profile *prof = &p->profile;
	uint32_t i, n = 0, vcpu;

	for (i = 0; i < prof->domains.nr; i++) {
		const char *name = vmp_model_name(p->model, p->model->vms.v[prof->domains.v[i].vm].name);

		if (!pattern || !fnmatch(pattern, name, 0))
			prof->domains.v[n++] = prof->domains.v[i];
	}
	prof->domains.nr = n;
	if (n)
		qsort_r(prof->domains.v, n, sizeof(*prof->domains.v), cmp_domains, p->model);
	for (i = 0; i < n; i++) {
		for (vcpu = 0; prof->domains.v[i].vm < p->lane_vms && vcpu < LANES; vcpu++) {
			struct vmp_page_lane lane = {
				.vm = prof->domains.v[i].vm, .vcpu = vcpu == LANE_OTHER ? VMP_NONE : vcpu,
				.bins = p->lane_bins[prof->domains.v[i].vm * LANES + vcpu],
			};

			if (lane.bins && vmp_vec_push(&p->lanes, lane))
				return -ENOMEM;
		}
	}
	return 0;
}

int vmp_page_create(struct vmp_page **out, struct vmp_model *m, const char *domain)
{
	struct work w = { .m = m, .page = calloc(1, sizeof(struct vmp_page)) };
	const struct vmp_gather g = {
		.split = on_split, .place = on_place, .space = on_space, .restart = on_restart,
		.arg = &w, .weighted = 1, .threads = 1,
	};
	int err;

	if (!w.page)
		return -ENOMEM;
	err = prepare(&w);
	if (!err)
		err = vmp_gather(m, &g);
	if (!err)
		err = flush_rows(&w);
	if (!err)
		err = choose(w.page, domain);
	if (!err)
		err = vmp_page_fold(w.page);
	vmp_hash_free(&w.by_vm);
	vmp_hash_free(&w.procs);
	vmp_hash_free(&w.threads);
	vmp_hash_free(&w.stacks);
	vmp_hash_free(&w.rows);
	vmp_hash_free(&w.paces);
	vmp_vec_free(&w.stack);
	if (err) {
		vmp_page_destroy(w.page);
		return err;
	}
	*out = w.page;
	return 0;
}

void vmp_page_destroy(struct vmp_page *p)
{
	if (!p)
		return;
	vmp_vec_free(&p->procs);
	vmp_vec_free(&p->threads);
	vmp_vec_free(&p->stacks);
	vmp_vec_free(&p->rows);
	vmp_vec_free(&p->paces);
	vmp_vec_free(&p->lanes);
	vmp_vec_free(&p->profile.domains);
	free_bins(p);
	free(p);
}
