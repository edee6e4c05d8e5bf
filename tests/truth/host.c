// SPDX-License-Identifier: GPL-2.0-only
/* host.c - few exit codes, functions of KVM and processes: lists are searched from the front. */
#include "host.h"

#include <errno.h>
#include <string.h>

#include "model/resolve.h"

#define EXIT_NMI	0x61	/* AMD APM volume 2, "SVM Intercept Exit Codes": VMEXIT_NMI */

/* All vectors have the same type but in name */
#define SHARE(vec, k) share_of((void **)&(vec)->v, &(vec)->nr, &(vec)->room, k)

static struct host_share *share_of(void **v, uint32_t *nr, uint32_t *room, uint64_t key)
{
	struct host_share *s = *v;
	uint32_t i;

	for (i = 0; i < *nr; i++)
		if (s[i].key == key)
			return &s[i];
	if (*nr == *room && vmp_vec_grow(v, room, *nr + 1, sizeof(*s)))
		return NULL;
	s = (struct host_share *)*v + (*nr)++;
	*s = (struct host_share){ .key = key };
	return s;
}

static int place_of(struct host *h, struct vmp_model *m, uint64_t addr, uint32_t *function, int *kvm)
{
	const uint32_t *known = vmp_hash_find(&h->places, addr);
	struct vmp_place place = { 0 };
	const char *module;
	int err;

	if (known) {
		*function = *known >> 1;
		*kvm = *known & 1;
		return 0;
	}
	err = vmp_resolve_host_kernel(m, addr, &place);
	if (err)
		return err;
	module = vmp_model_name(m, place.module);
	*function = place.function;
	*kvm = !strcmp(module, "[kvm]") || !strcmp(module, "[kvm_amd]");
	return vmp_hash_set(&h->places, addr, *function << 1 | (uint32_t)*kvm);
}

/* A function of the kernel that ran; of KVM's nothing more is kept here */
static int ran(struct host *h, uint32_t name, int kvm, const struct exact_space *s, uint64_t cycles)
{
	const uint32_t *known = vmp_hash_find(&h->ran, name);
	struct host_function new = { .name = name }, *f;

	if (kvm)
		return known ? 0 : vmp_hash_set(&h->ran, name, UINT32_MAX);
	/* a namesake of one of KVM's: which of them a sample is in nobody would know */
	if (known && *known == UINT32_MAX)
		return 0;
	if (!known && (vmp_vec_push(&h->kernel_functions, new) || vmp_hash_set(&h->ran, name, h->kernel_functions.nr - 1)))
		return -ENOMEM;
	f = &h->kernel_functions.v[known ? *known : h->kernel_functions.nr - 1];
	f->cycles += cycles;
	f->nmi += s->exit == EXIT_NMI || s->flags & EXACT_NMI ? cycles : 0;
	return 0;
}

int host_block(struct host *h, struct vmp_model *m, const struct exact_space *s, const struct exact_block *b)
{
	struct host_share *share;
	uint32_t function;
	int err, kvm;

	if (!(s->flags & EXACT_USER)) {
		err = place_of(h, m, b->pc, &function, &kvm);
		if (!err && (b->cycles_at || b->insns_at))
			err = ran(h, function, kvm, s, b->cycles_at);
		if (err || !kvm)
			return err;
		share = SHARE(&h->functions, function);
		if (!share)
			return -ENOMEM;
		share->cycles += b->cycles_at;
	} else if (b->cycles_at || b->insns_at) {
		struct host_user_block new = { .cr3 = s->cr3, .pc = b->pc, .cycles = b->cycles_at };

		if (vmp_vec_push(&h->user_blocks, new))
			return -ENOMEM;
	}
	share = s->flags & EXACT_USER ? SHARE(&h->procs, s->cr3) : SHARE(&h->exits, s->exit);
	if (!share)
		return -ENOMEM;
	share->cycles += b->cycles_at;
	return 0;
}

static int is_vote(const struct host_vote *a, const struct host_vote *b)
{
	return a->pid == b->pid && a->vm == b->vm && a->cr3 == b->cr3;
}

/* Return: NULL no memory */
static struct host_vote *find_vote(struct host_votes *votes, struct host_vote new)
{
	uint32_t i;

	for (i = 0; i < votes->nr && !is_vote(&votes->v[i], &new); )
		i++;
	if (i == votes->nr && vmp_vec_push(votes, new))
		return NULL;
	return &votes->v[i];
}

static int vote(struct host *h, const struct vmp_model *m, const struct vmprof_sample *s, uint64_t cr3)
{
	const uint32_t vm = s->mode == VMPROF_MODE_VMM_USER ? vmp_model_vm(m, s->vm) : VMP_NONE;
	const int is_main = s->hdr.type == VMPROF_REC_SAMPLE;
	struct host_user_sample of_qemu = { .ip = s->host_ip, .pid = s->host_pid, .is_main = (uint32_t)is_main };
	struct host_vote *v;

	if (vm != VMP_NONE && vmp_vec_push(&h->user_samples, of_qemu))
		return -ENOMEM;
	v = find_vote(&h->votes, (struct host_vote){ .pid = s->host_pid, .vm = vm, .cr3 = cr3 });
	if (!v)
		return -ENOMEM;
	v->all++;
	v->samples += (uint64_t)is_main;
	v->steal += is_main && s->flags & VMPROF_SF_STEAL;
	return 0;
}

/* In KVM's code a task that is QEMU's runs on QEMU's page tables: it is no place where one task follows another. VMRUN's overflow has none */
static int vote_in_kvm(struct host *h, const struct vmp_model *m, const struct vmprof_sample *s, uint64_t cr3)
{
	const struct host_vote of = { .vm = vmp_model_vm(m, s->vm), .cr3 = cr3 };
	struct host_vote *v = of.vm != VMP_NONE && cr3 ? find_vote(&h->kvm_votes, of) : NULL;

	if (v)
		v->all++;
	return v || of.vm == VMP_NONE || !cr3 ? 0 : -ENOMEM;
}

/* KVM's code by exit reason and by function, where the counter overflowed */
static int add_kvm(struct host *h, const struct vmprof_sample *s, const struct exact_overflow *o, uint32_t function)
{
	struct host_share *share;

	share = SHARE(&h->functions, function);
	if (!share)
		return -ENOMEM;
	share->samples++;
	share = SHARE(&h->exits, o->exit);
	if (!share)
		return -ENOMEM;
	h->moved += o->pc != s->host_ip;
	h->beside += s->mode != VMPROF_MODE_VMM_KERNEL;
	share->samples++;
	/* where no vCPU is loaded a sample has no reason */
	share = SHARE(&h->exits, s->flags & VMPROF_SF_VCPU ? s->exit_reason : o->exit);
	if (!share)
		return -ENOMEM;
	share->own++;
	return 0;
}

int host_sample(struct host *h, struct vmp_model *m, const struct vmprof_sample *s,
		const struct exact_overflow *o)
{
	const uint32_t *known;
	uint32_t function;
	int err, kvm;

	h->all++;
	if (s->mode == VMPROF_MODE_VMM_USER || s->mode == VMPROF_MODE_OTHER_USER)
		return vote(h, m, s, o->cr3);
	if (s->mode == VMPROF_MODE_GUEST)
		return 0;
	err = place_of(h, m, s->host_ip, &function, &kvm);
	if (err)
		return err;
	/* of the idle task what interrupts it in KVM is looked at, no more */
	if (s->mode != VMPROF_MODE_IDLE) {
		h->kernel++;
		h->ghosts += !vmp_hash_find(&h->ran, function);
	}
	if (s->mode == VMPROF_MODE_VMM_KERNEL && kvm) {
		h->kvm++;
		h->loose += !(s->flags & VMPROF_SF_VCPU);
		err = vote_in_kvm(h, m, s, o->cr3);
		if (err)
			return err;
	}
	if (s->hdr.type != VMPROF_REC_SAMPLE)
		return 0;
	/* around VMRUN interrupts are held back (GIF): the counter overflowed elsewhere */
	err = place_of(h, m, o->pc, &function, &kvm);
	if (err || kvm)
		return err ? err : add_kvm(h, s, o, function);
	known = vmp_hash_find(&h->ran, function);
	if (known && *known != UINT32_MAX)
		h->kernel_functions.v[*known].samples++;
	return 0;
}

/* Of a process, on that CR3 */
static uint64_t votes_of(const struct host *h, uint32_t pid, uint64_t cr3)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < h->votes.nr; i++)
		n += h->votes.v[i].pid == pid && h->votes.v[i].cr3 == cr3 ? h->votes.v[i].all : 0;
	return n;
}

uint64_t host_proc_cr3(const struct host *h, uint32_t pid)
{
	uint64_t best = 0, most = 0, n;
	uint32_t i;

	for (i = 0; i < h->votes.nr; i++) {
		n = h->votes.v[i].pid == pid ? votes_of(h, pid, h->votes.v[i].cr3) : 0;
		if (n > most) {
			most = n;
			best = h->votes.v[i].cr3;
		}
	}
	return best;
}

/* The function of QEMU's that an address is in; of what is in none (a file that is not there, for one) the module */
static int qemu_share(struct host *h, struct vmp_model *m, uint32_t pid, uint64_t addr, struct host_share **share)
{
	struct vmp_place place = { 0 };
	int err = vmp_resolve_host_user(m, pid, addr, &place);

	if (err)
		return err;
	*share = SHARE(&h->qemu, place.why <= VMP_WHY_UNNAMED ? place.function : place.module);
	return *share ? 0 : -ENOMEM;
}

/* A VM's QEMU, by function: what ran on its CR3, and its samples */
static int add_qemu(struct host *h, struct vmp_model *m, uint32_t pid)
{
	const uint64_t cr3 = host_proc_cr3(h, pid);
	struct host_share *share;
	uint32_t i;
	int err;

	for (i = 0; i < h->user_blocks.nr; i++) {
		if (!cr3 || h->user_blocks.v[i].cr3 != cr3)
			continue;
		err = qemu_share(h, m, pid, h->user_blocks.v[i].pc, &share);
		if (err)
			return err;
		share->cycles += h->user_blocks.v[i].cycles;
		share->own++;
	}
	for (i = 0; i < h->user_samples.nr; i++) {
		if (h->user_samples.v[i].pid != pid)
			continue;
		err = qemu_share(h, m, pid, h->user_samples.v[i].ip, &share);
		if (err)
			return err;
		share->samples += h->user_samples.v[i].is_main;
		h->qemu_ghosts += !share->own;
	}
	return 0;
}

int host_finish(struct host *h, struct vmp_model *m)
{
	struct host_share *share;
	uint32_t i;
	int err;

	for (i = 0; i < m->vms.nr; i++) {
		err = add_qemu(h, m, m->vms.v[i].vm);
		if (err)
			return err;
	}
	for (i = 0; i < h->votes.nr; i++) {
		share = SHARE(&h->procs, host_proc_cr3(h, h->votes.v[i].pid));
		if (!share)
			return -ENOMEM;
		share->samples += h->votes.v[i].samples;
		share->steal += h->votes.v[i].steal;
	}
	return 0;
}

void host_take_own(struct host *h)
{
	uint32_t i;

	for (i = 0; i < h->exits.nr; i++)
		h->exits.v[i].samples = h->exits.v[i].own;
}

void host_free(struct host *h)
{
	vmp_vec_free(&h->exits);
	vmp_vec_free(&h->procs);
	vmp_vec_free(&h->votes);
	vmp_vec_free(&h->kvm_votes);
	vmp_vec_free(&h->user_blocks);
	vmp_vec_free(&h->user_samples);
	vmp_vec_free(&h->qemu);
	vmp_vec_free(&h->functions);
	vmp_vec_free(&h->kernel_functions);
	vmp_hash_free(&h->places);
	vmp_hash_free(&h->ran);
}
