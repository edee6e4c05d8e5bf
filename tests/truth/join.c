// SPDX-License-Identifier: GPL-2.0-only
/* join.c - resolve blocks and samples with the analyzer's model. */
#include "join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/resolve.h"
#include "owner.h"

/*
 * From an overflow to its sample: some thousand instructions, for so long is an NMI held back. But the
 * machine that emulates may run something else in between; what is as old as that is no sample's.
 */
#define INTERRUPT_MS	1000
#define PLACES_MAX	(4U << 20)	/* are remembered; each of many short processes has its own */
#define CR3_ROOT	0x000fffffffffe000ULL	/* without PCID and PTI bits */

/* ------------------------------------------------------------------- rows */

static int row_of(struct join *j, const struct vmp_hit *hit, uint32_t *out)
{
	struct vmp_machine *vm = hit->vm == VMP_NONE ? NULL : &j->model->vms.v[hit->vm];
	struct join_row row = { .kind = hit->kind, .vm = hit->vm };
	struct vmp_place place = { 0 };
	uint64_t sum;
	uint32_t *known;
	int err = 0;

	switch (hit->kind) {
	case VMP_KIND_GUEST_KERNEL:
		err = vmp_resolve_guest_kernel(j->model, vm, hit->epoch, hit->era, hit->addr, &place);
		break;
	case VMP_KIND_GUEST_USER:
		err = vmp_resolve_guest_user(j->model, vm, hit->epoch, hit->image, hit->version,
					     hit->addr, &place);
		if (hit->image != VMP_NONE)
			row.comm = vm->space.images.v[hit->image].comm;
		break;
	default:
		err = vmp_resolve_host_kernel(j->model, hit->addr, &place);
	}
	if (err)
		return err;
	row.function = place.function;
	row.module = place.module;
	sum = vmp_hash_bytes(&row, offsetof(struct join_row, group));
	known = vmp_hash_find(&j->by_row, sum);
	if (known) {
		*out = *known;
		return 0;
	}
	row.group = j->rows.nr;
	row.is_known = place.why <= VMP_WHY_UNNAMED && (hit->kind != VMP_KIND_GUEST_USER || row.comm);
	*out = j->rows.nr;
	return vmp_vec_push(&j->rows, row) ? -ENOMEM : vmp_hash_set(&j->by_row, sum, *out);
}

static uint32_t group_of(const struct join *j, uint32_t row)
{
	while (j->rows.v[row].group != row)
		row = j->rows.v[row].group;
	return row;
}

/* ------------------------------------------------------------ exact counts */

/* Whose NPT root it is: the VM that most samples of such overflows name */
static uint32_t vm_of(const struct join *j, uint64_t ncr3, const struct vmp_hash *votes)
{
	uint32_t best = VMP_NONE, most = 0, i;

	for (i = 0; i < j->model->vms.nr; i++) {
		const uint32_t *n = vmp_hash_find(votes, ncr3 + i);

		if (n && *n > most) {
			most = *n;
			best = i;
		}
	}
	return best;
}

static void hit_of(const struct join *j, const struct exact_space *s, uint32_t vm, struct vmp_hit *hit)
{
	const struct vmp_machine *m = &j->model->vms.v[vm];
	const struct vmp_space *space = &m->space;
	struct vmp_tsc_span valid = { 0, UINT64_MAX };

	*hit = (struct vmp_hit){
		.kind = s->flags & EXACT_USER ? VMP_KIND_GUEST_USER : VMP_KIND_GUEST_KERNEL,
		.vm = vm, .epoch = vmp_space_epoch_at(space, s->last_tsc), .image = VMP_NONE,
	};
	if (hit->epoch < m->boots.nr)
		hit->era = vmp_kernel_era(&m->boots.v[hit->epoch].kernel, s->last_tsc, &valid);
	if (hit->kind != VMP_KIND_GUEST_USER)
		return;
	hit->image = owner_of(m, s);
	if (hit->image != VMP_NONE)
		hit->version = vmp_space_version(space, hit->image, s->last_tsc);
}

/* What is known of an address, or of the @size bytes from it on */
static uint64_t place_sum(const struct vmp_hit *hit, uint64_t addr, uint32_t size)
{
	const uint32_t is_kernel = hit->kind == VMP_KIND_GUEST_KERNEL;
	struct { uint64_t addr; uint32_t kind, vm, epoch, image, version, size; } key = {
		addr, hit->kind, hit->vm, hit->epoch, hit->image, is_kernel ? hit->era : hit->version, size,
	};

	return vmp_hash_bytes(&key, sizeof(key));
}

static int remember(struct join *j, uint64_t sum, uint32_t row)
{
	if (j->by_place.nr >= PLACES_MAX)
		vmp_hash_free(&j->by_place);
	return vmp_hash_set(&j->by_place, sum, row);
}

/* Row of an address, which is resolved if that was not done lately */
static int place_of(struct join *j, struct vmp_hit *hit, uint64_t addr, uint32_t *out)
{
	uint64_t sum = place_sum(hit, addr, 0);
	uint32_t *known = vmp_hash_find(&j->by_place, sum);
	int err;

	if (known) {
		*out = *known;
		return 0;
	}
	hit->addr = addr;
	err = row_of(j, hit, out);
	return err ? err : remember(j, sum, *out);
}

/*
 * Row of a block: that of the function that it starts in.  Where code falls through
 * from one function into the next, no address tells their counts apart: they
 * are one group.
 */
static int block_of(struct join *j, const struct exact_block *b, struct vmp_hit *hit, uint32_t *out)
{
	uint64_t sum = place_sum(hit, b->pc, b->size);
	uint32_t *known = b->size ? vmp_hash_find(&j->by_place, sum) : NULL;
	uint32_t other = 0, at;
	int err;

	if (known) {
		*out = *known;
		return 0;
	}
	err = place_of(j, hit, b->pc, out);
	if (!err && b->size)
		err = place_of(j, hit, b->pc + b->size - 1, &other);
	/* what begins and ends in one function has no other in between */
	for (at = 1; !err && at < b->size && other != *out; at++) {
		uint32_t row;

		err = place_of(j, hit, b->pc + at, &row);
		if (!err && group_of(j, row) != group_of(j, *out))
			j->rows.v[group_of(j, row)].group = group_of(j, *out);
	}
	return err || !b->size ? err : remember(j, sum, *out);
}

static int add_block(struct join *j, const struct exact_block *b, struct vmp_hit *hit)
{
	struct join_row *r;
	uint32_t row;
	int err;

	err = block_of(j, b, hit, &row);
	if (err)
		return err;
	r = &j->rows.v[row];
	r->insns += b->insns;
	r->cycles += b->cycles;
	r->insns_at += b->insns_at;
	r->cycles_at += b->cycles_at;
	return 0;
}

/* Whose code a space of a guest has; its vm is VMP_NONE for another VM, which nobody asked for */
static struct vmp_hit space_hit(struct join *j, const struct exact_space *s, const struct vmp_hash *votes)
{
	uint32_t vm = vm_of(j, s->ncr3, votes);
	struct vmp_hit hit = { .vm = VMP_NONE };

	if (!(s->flags & EXACT_COUNTING) || !(s->flags & EXACT_GUEST) || vm == VMP_NONE)
		return hit;
	hit_of(j, s, vm, &hit);
	if (s->flags & EXACT_USER)
		axis_residence(&j->axis, &j->model->vms.v[vm].space, &j->model->vms.v[vm].clock, s);
	return hit;
}

/* Clocks of VMs that nobody asked for are nobody's */
static void hold_clocks(struct join *j, const struct vmp_hash *votes)
{
	uint32_t i, vm;

	for (i = 0; i < j->exact->clocks.nr; i++) {
		vm = vm_of(j, j->exact->clocks.v[i].ncr3, votes);
		if (vm != VMP_NONE)
			axis_clock(&j->axis, &j->model->vms.v[vm].clock, &j->exact->clocks.v[i]);
	}
}

static int add_blocks(struct join *j, const struct vmp_hash *votes)
{
	struct vmp_hit *hits = malloc((j->exact->spaces.nr + 1) * sizeof(*hits));
	uint32_t i;
	int err = hits ? 0 : -ENOMEM;

	for (i = 0; !err && i < j->exact->spaces.nr; i++)
		hits[i] = space_hit(j, &j->exact->spaces.v[i], votes);
	hold_clocks(j, votes);
	for (i = 0; !err && i < j->exact->blocks.nr; i++) {
		const struct exact_block *b = &j->exact->blocks.v[i];
		const struct exact_space *s = &j->exact->spaces.v[b->space];

		if (!(s->flags & EXACT_COUNTING)) {
			j->quiet_cycles += b->cycles;
			continue;
		}
		j->cycles += b->cycles;
		j->insns += b->insns;
		j->side[s->flags & (EXACT_GUEST | EXACT_USER)] += b->cycles;
		if (!(s->flags & EXACT_GUEST))
			err = host_block(&j->host, j->model, s, b);
		else if (hits[b->space].vm != VMP_NONE)
			err = add_block(j, b, &hits[b->space]);
	}
	free(hits);
	return err;
}

/* ---------------------------------------------------------------- samples */

struct samples {
	struct join *j;
	struct vmp_hash votes;
	struct vmp_residence *known;	/* who was on a CR3 */
	int voting;
};

static void check_exit(struct join_checks *c, const struct vmprof_sample *s,
		       const struct exact_overflow *o)
{
	if (!(s->flags & VMPROF_SF_VCPU) || o->exit == EXACT_NO_EXIT)
		return;
	c->exits++;
	/* on the way into the guest: another #VMEXIT may come before the NMI's */
	if (s->exit_reason != o->exit && (s->exit_reason == VMPROF_EXIT_ENTRY || o->exit == VMPROF_EXIT_ENTRY))
		c->entry++;
	else
		c->wrong_exit += s->exit_reason != o->exit;
}

/* Its interrupt came elsewhere; that of the overflow before it may have found both */
static int is_astray(const struct exact *x, const struct vmprof_sample *s, const struct exact_overflow *o)
{
	const struct exact_overflow *before = o > x->overflows.v && o[-1].cpu == o->cpu ? o - 1 : o;

	return s->host_ip != o->nmi_pc && s->host_ip != before->nmi_pc;
}

static void check(struct join *j, const struct vmprof_sample *s, const struct exact_overflow *o,
		  uint32_t vm)
{
	struct join_checks *c = &j->checks;
	uint64_t skid;

	if (s->mode != VMPROF_MODE_GUEST) {
		c->host++;
		if (o->of == EXACT_GUEST)
			c->host_of_guest++;
		else if (o->held)
			c->held++;
		else
			c->elsewhere += s->host_ip != o->pc;
		c->astray += o->of != EXACT_GUEST && o->held && is_astray(j->exact, s, o);
		c->held_user += o->of != EXACT_GUEST && o->held && o->flags & EXACT_USER;
		check_exit(c, s, o);
		return;
	}
	c->guest++;
	c->main_guest += s->hdr.type == VMPROF_REC_SAMPLE;
	if (o->of != EXACT_GUEST) {
		c->guest_of_host++;
		return;
	}
	if (!(o->flags & EXACT_GUEST)) {
		c->left++;
		return;
	}
	c->wrong_vm += vmp_model_vm(j->model, s->vm) != vm;
	c->wrong_cr3 += (s->guest_cr3 & CR3_ROOT) != o->cr3;
	c->wrong_cpl += (s->cpl == 3) != !!(o->flags & EXACT_USER);
	skid = s->guest_ip > o->pc ? s->guest_ip - o->pc : o->pc - s->guest_ip;
	c->skid += skid != 0;
	c->skid_max = skid > c->skid_max ? skid : c->skid_max;
}

static int vote(struct samples *w, const struct vmprof_sample *s, const struct exact_overflow *o)
{
	uint32_t vm = vmp_model_vm(w->j->model, s->vm), *n;
	uint64_t key = o->ncr3 + vm;	/* a root is a page's address */

	if (s->mode != VMPROF_MODE_GUEST || vm == VMP_NONE || !(o->flags & EXACT_GUEST))
		return 0;
	n = vmp_hash_find(&w->votes, key);
	return vmp_hash_set(&w->votes, key, n ? *n + 1 : 1);
}

/* By what was found before, as reports have it */
static int classify(const struct samples *w, const struct vmprof_sample *s, struct vmp_hit *hit)
{
	struct vmp_residence *r;
	uint32_t vm;
	int err;

	if (!vmp_classify_known(w->j->model, w->known, s, hit, &r))
		return 0;
	err = vmp_model_add_vm(w->j->model, s->vm, &vm);
	return err ? err : vmp_classify_known(w->j->model, w->known, s, hit, &r);
}

/* @o: the overflow that it is of, or NULL */
static int count(const struct samples *w, const struct vmprof_sample *s, const struct exact_overflow *o)
{
	struct join *j = w->j;
	struct vmp_hit hit;
	uint32_t row;
	int err;

	err = classify(w, s, &hit);
	if (err || (hit.kind != VMP_KIND_GUEST_KERNEL && hit.kind != VMP_KIND_GUEST_USER))
		return err;
	if (hit.kind == VMP_KIND_GUEST_USER && hit.who >= VMP_WHO_SAME && hit.who <= VMP_WHO_OTHER) {
		j->checks.tasks++;
		j->checks.other_task += hit.who == VMP_WHO_OTHER;
	}
	err = place_of(j, &hit, hit.addr, &row);
	if (err)
		return err;
	if (hit.kind == VMP_KIND_GUEST_USER) {
		j->checks.user++;
		j->checks.user_known += (uint64_t)j->rows.v[row].is_known;
	} else {
		j->checks.kernel++;
		j->checks.kernel_known += (uint64_t)j->rows.v[row].is_known;
	}
	if (s->hdr.type == VMPROF_REC_SAMPLE)
		j->rows.v[row].samples++;
	else
		j->rows.v[row].insn_samples++;
	if (!o)
		return 0;
	return threads_sample(&j->threads, j->model, &hit, vmp_model_name(j->model, j->rows.v[row].function), s, o);
}

/* The row that the emulator says the sample is of: by the overflow's own address space, time and address */
static int count_overflow(struct join *j, const struct vmprof_sample *s, const struct exact_overflow *o, uint32_t vm)
{
	const struct exact_space space = { .cpu = o->cpu, .flags = o->flags, .cr3 = o->cr3, .ncr3 = o->ncr3, .first_tsc = o->tsc, .last_tsc = o->tsc };
	struct vmp_hit hit;
	uint32_t row;
	int err;

	if (s->hdr.type != VMPROF_REC_SAMPLE || o->of != EXACT_GUEST)
		return 0;
	if (!(o->flags & EXACT_GUEST) || vm == VMP_NONE) {
		j->checks.rowless++;
		return 0;
	}
	hit_of(j, &space, vm, &hit);
	err = place_of(j, &hit, o->pc, &row);
	if (!err)
		j->rows.v[row].overflows++;
	return err;
}

/* The interrupt of an overflow before the window may come in it */
static int is_first(const struct exact *x, const struct exact_cpu *cpu, uint64_t tsc)
{
	uint32_t second = cpu->overflow + 1;

	return second >= cpu->overflows || tsc < x->overflows.v[second].tsc;
}

static int on_sample(void *arg, const struct vmprof_sample *s)
{
	struct samples *w = arg;
	const struct exact_cpu *cpu = exact_cpu_of(w->j->exact, s->hdr.pcpu);
	const int counts = cpu && s->tsc >= cpu->first_tsc && s->tsc <= cpu->last_tsc;
	struct exact_overflow *o;
	uint32_t side, vm;
	int err;

	if (!w->voting)
		neighbours_see(&w->j->neighbours, w->j->model, s, counts);
	if (neighbours_is_second(w->j->model, s))
		return 0;
	if (!counts) {
		w->j->checks.outside += !w->voting;
		w->j->checks.rowless += !w->voting && s->hdr.type == VMPROF_REC_SAMPLE && s->mode == VMPROF_MODE_GUEST;
		return 0;
	}
	side = s->mode == VMPROF_MODE_GUEST ? EXACT_GUEST : 0;
	o = exact_overflow_of(w->j->exact, s->hdr.pcpu, s->tsc, side, side ? s->guest_ip : s->host_ip,
			      (uint64_t)w->j->model->header.tsc_khz * INTERRUPT_MS);
	if (w->voting)
		return o ? vote(w, s, o) : 0;
	if ((!o || o->of != side) && is_first(w->j->exact, cpu, s->tsc)) {
		if (o)
			o->taken = 0;
		w->j->checks.outside++;
		w->j->checks.rowless += s->hdr.type == VMPROF_REC_SAMPLE;
		return 0;
	}
	w->j->checks.samples++;
	if (!o) {
		w->j->checks.orphans++;
		w->j->checks.rowless += s->hdr.type == VMPROF_REC_SAMPLE;
		return count(w, s, NULL);
	}
	vm = vm_of(w->j, o->ncr3, &w->votes);
	check(w->j, s, o, vm);
	err = count_overflow(w->j, s, o, vm);
	if (!err)
		err = host_sample(&w->j->host, w->j->model, s, o);
	return err ? err : count(w, s, o);
}

int join_create(struct join *j, struct vmp_model *m, struct exact *x)
{
	struct samples w = { .j = j, .voting = 1, .known = calloc(VMP_RESIDENCES, sizeof(*w.known)) };
	uint32_t i;
	int err;

	*j = (struct join){ .model = m, .exact = x };
	err = w.known ? vmp_model_samples(m, on_sample, &w) : -ENOMEM;
	w.voting = 0;
	for (i = 0; i < x->overflows.nr; i++)
		x->overflows.v[i].taken = 0;
	if (!err)
		err = add_blocks(j, &w.votes);
	if (!err)
		err = vmp_model_samples(m, on_sample, &w);
	if (!err)
		err = host_finish(&j->host, m);
	threads_finish(&j->threads);
	neighbours_finish(&j->neighbours);
	vmp_hash_free(&w.votes);
	free(w.known);
	if (err)
		join_free(j);
	return err;
}

void join_free(struct join *j)
{
	vmp_vec_free(&j->rows);
	vmp_hash_free(&j->by_row);
	host_free(&j->host);
	threads_free(&j->threads);
	vmp_hash_free(&j->by_place);
}
