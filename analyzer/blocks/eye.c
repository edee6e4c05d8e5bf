// SPDX-License-Identifier: GPL-2.0-only
/* eye.c - one sample with its branches: whose it is, and what its steps are known by. */
#include "blocks/set.h"

#include <fnmatch.h>
#include <pthread.h>
#include <string.h>

/* Guards contexts while threads find new ones */
static pthread_mutex_t contexts = PTHREAD_MUTEX_INITIALIZER;

static int matches(const struct vmp_model *m, const char *pattern, uint32_t str)
{
	return !pattern || !fnmatch(pattern, vmp_model_name(m, str), 0);
}

int vmp_set_wanted(const struct vmp_set *set, const struct vmp_origin *from)
{
	const struct vmp_set_choice *c = &set->choice;
	const struct vmp_model *m = set->m;
	const struct vmp_space *space;

	if (from->vm == VMP_NONE || !matches(m, c->domain, m->vms.v[from->vm].name))
		return 0;
	if (c->pid < 0 && !c->comm)
		return 1;
	if (from->image == VMP_NONE)
		return 0;
	space = &m->vms.v[from->vm].space;
	return (c->pid < 0 || space->procs.v[space->images.v[from->image].proc].tgid == c->pid) &&
	       matches(m, c->comm, space->images.v[from->image].comm);
}

static int context_of(struct vmp_set *set, const struct vmp_origin *from, uint32_t *context)
{
	struct vmp_points *p = &set->points;
	uint32_t known;
	int err;

	pthread_mutex_lock(&contexts);
	known = p->contexts.nr;
	err = vmp_points_context(p, from, context);
	if (!err && *context >= known)
		p->contexts.v[*context].wanted = vmp_set_wanted(set, from);
	pthread_mutex_unlock(&contexts);
	return err;
}

/* Others may be adding to the set's contexts meanwhile */
static int context_at(struct vmp_set_eye *eye, uint32_t context, struct vmp_context *out)
{
	const struct vmp_points *p = &eye->set->points;
	uint32_t i;
	int err = 0;

	if (context >= eye->contexts.nr) {
		pthread_mutex_lock(&contexts);
		for (i = eye->contexts.nr; !err && i < p->contexts.nr; i++)
			err = vmp_vec_push(&eye->contexts, p->contexts.v[i]);
		pthread_mutex_unlock(&contexts);
	}
	if (!err)
		*out = eye->contexts.v[context];
	return err;
}

static int classify(struct vmp_set_eye *eye, struct vmp_scan *scan, const struct vmprof_sample *s,
		    struct vmp_hit *hit, struct vmp_residence **r)
{
	struct vmp_model *m = eye->set->m;
	uint32_t vm;
	int err;

	if (!vmp_classify_known(m, eye->cache, s, hit, r))
		return 0;
	if (scan)
		vmp_scan_alone(scan);
	err = vmp_model_add_vm(m, s->vm, &vm);
	if (scan)
		vmp_scan_together(scan);
	return err ? err : vmp_classify_known(m, eye->cache, s, hit, r);
}

/* The context of a hit's user code, whichever side the sample was taken on */
static void origin_of(const struct vmp_hit *hit, const struct vmprof_sample *s, const struct vmp_residence *r,
		      struct vmp_origin *from)
{
	int guest = vmp_origin_is_guest(hit->kind);

	*from = (struct vmp_origin){
		.kind = guest ? VMP_KIND_GUEST_USER : VMP_KIND_VMM_USER, .vm = hit->vm, .epoch = hit->epoch,
		.era = hit->era, .image = hit->image, .version = r && hit->image != VMP_NONE ? r->version : 0,
		.tgid = guest ? 0 : s->host_pid,
	};
}

/* @hint: number + 1 of the last one that was found here */
static int find_context(struct vmp_set_eye *eye, const struct vmp_origin *from, uint32_t *hint, uint32_t *out)
{
	int err;

	if (*hint) {
		*out = *hint - 1;
		return 0;
	}
	err = context_of(eye->set, from, out);
	*hint = *out + 1;
	return err;
}

static int passes(const struct vmp_set *set, const struct vmprof_sample *s, const struct vmp_context *c)
{
	return c->wanted && s->tsc >= set->choice.from_tsc && (!set->choice.to_tsc || s->tsc <= set->choice.to_tsc) &&
	       (set->choice.vcpu < 0 || vmp_origin_vcpu(set->m, s) == (uint32_t)set->choice.vcpu);
}

int vmp_set_see(struct vmp_set_eye *eye, struct vmp_scan *scan, const struct vmp_lbr_sample *ls,
		struct vmp_set_sample *out)
{
	struct vmp_residence *r;
	struct vmp_context c;
	struct vmp_origin from;
	struct vmp_hit hit;
	uint32_t *hint = &eye->last;
	int err = classify(eye, scan, ls->s, &hit, &r);

	if (err || hit.vm == VMP_NONE || hit.kind == VMP_KIND_GUEST_NESTED || hit.kind == VMP_KIND_STEAL)
		return err;
	if (hit.shared)			/* that is known of this one address, not of its branches */
		hit.image = VMP_NONE;
	origin_of(&hit, ls->s, r, &from);
	/* of a CR3 at a time there are two: with its owner, and where that is over */
	if (r)
		hint = &r->user[hit.image != VMP_NONE];
	else if (memcmp(&from, &eye->last_from, sizeof(from)))
		eye->last = 0;
	if (!r)
		eye->last_from = from;
	err = find_context(eye, &from, hint, &out->context);
	if (!err)
		err = context_at(eye, out->context, &c);
	if (err)
		return err;
	out->s = ls->s;
	out->kernel = c.kernel;
	out->ip = hit.addr;
	out->w.nr = out->w.switched = 0;
	out->w.landed = 0;
	out->w.at = hit.addr;
	out->w.ended = out->w.missed = 0;
	if (!passes(eye->set, ls->s, &c))
		return 0;
	if (ls->lbr)
		vmp_window_of(&eye->set->points, c.kernel, ls->lbr, hit.addr, vmp_lbr_is_timed(ls), &out->w);
	out->alone = hit.addr && !out->w.landed && (!ls->lbr || vmp_lbr_has_blocks(ls->lbr));
	return 1;
}

int vmp_set_eye_init(struct vmp_set_eye *eye, struct vmp_set *set)
{
	*eye = (struct vmp_set_eye){ .set = set };
	eye->cache = calloc(VMP_RESIDENCES, sizeof(*eye->cache));
	eye->known = calloc(VMP_SET_KNOWN, sizeof(*eye->known));
	return eye->cache && eye->known ? 0 : -ENOMEM;
}

void vmp_set_eye_deinit(struct vmp_set_eye *eye)
{
	free(eye->cache);
	free(eye->known);
	vmp_vec_free(&eye->contexts);
}

/* The mapping's first context; made when it is new */
static int find_mapping(struct vmp_set *set, const struct vmp_set_mapping *new, struct vmp_set_mapping *out)
{
	struct { uint64_t vm_file, pgoff; } key = { (uint64_t)new->vm << 32 | new->file, new->pgoff };
	uint64_t sum = vmp_hash_bytes(&key, sizeof(key));
	const uint32_t *i;
	int err = 0;

	pthread_mutex_lock(&contexts);
	for (; (i = vmp_hash_find(&set->by_mapping, sum)); sum++) {
		*out = set->mappings.v[*i];
		if (out->vm == new->vm && out->file == new->file && out->pgoff == new->pgoff)
			break;
	}
	if (!i) {
		*out = *new;
		if (vmp_vec_push(&set->mappings, *new) || vmp_hash_set(&set->by_mapping, sum, set->mappings.nr - 1))
			err = -ENOMEM;
	}
	pthread_mutex_unlock(&contexts);
	return err;
}

/* What is known of a context's addresses around one of them */
static int look_up(struct vmp_set_eye *eye, uint32_t context, uint64_t addr, struct vmp_set_known *out)
{
	const struct vmp_origin *from = &eye->contexts.v[context].from;
	struct vmp_set_mapping new, first;
	const struct vmp_map *map;
	uint64_t same;
	int err;

	*out = (struct vmp_set_known){ .context = context, .as = context, .start = addr, .end = addr + 1 };
	if (from->kind != VMP_KIND_GUEST_USER || from->image == VMP_NONE)
		return 0;
	map = vmp_space_map_until(&eye->set->m->vms.v[from->vm].space, from->image, from->version, addr, &same);
	if (!map || map->file == VMP_FILE_ANON || !map->start)	/* no address becomes 0: that is one that is not known */
		return 0;
	new = (struct vmp_set_mapping){ from->vm, map->file, context, map->pgoff, map->start };
	err = find_mapping(eye->set, &new, &first);
	out->as = first.context;
	out->end = same;
	out->add = first.start - map->start;
	return err;
}

static int knows(const struct vmp_set_known *k, uint32_t context, uint64_t addr)
{
	return k->context == context && addr >= k->start && addr < k->end;
}

static int know(struct vmp_set_eye *eye, uint32_t context, uint64_t addr)
{
	_Static_assert(VMP_SET_KNOWN == 4096, "of twelve bits");
	eye->last_known = (uint32_t)((addr >> 16) * 0x9e3779b1U + context * 0x85ebca6bU) >> 20;
	if (knows(&eye->known[eye->last_known], context, addr))
		return 0;
	return look_up(eye, context, addr, &eye->known[eye->last_known]);
}

/* An address in the context that all of its file are counted in */
static inline int translate(struct vmp_set_eye *eye, const struct vmp_set_sample *s, uint64_t *addr, uint32_t *context)
{
	int err = 0;

	*context = s->kernel;
	if (!*addr || *addr >> 63)
		return 0;
	if (!knows(&eye->known[eye->last_known], s->context, *addr))
		err = know(eye, s->context, *addr);
	*addr += eye->known[eye->last_known].add;
	*context = eye->known[eye->last_known].as;
	return err;
}

/* @older: the step before has been done, with this one's start as the place where it went; or NULL */
static int step_key(struct vmp_set_eye *eye, const struct vmp_set_sample *s, const struct vmp_step *step,
		    struct vmp_raw *raw, const struct vmp_raw *older)
{
	uint64_t end = step->end;
	uint32_t context_end;
	int err;

	*raw = (struct vmp_raw){
		.a = step->start, .b = step->end, .c = step->next, .kind = VMP_RAW_STEP,
		.missed = step->missed,
		.n = 1, .mispredicted = step->mispredicted, .cycles = step->cycles, .cycled = !!step->cycles,
	};
	err = translate(eye, s, &end, &context_end);
	if (older) {
		raw->a = older->c;
		raw->context = older->context_c;
	} else if (!err) {
		err = translate(eye, s, &raw->a, &raw->context);
	}
	if (!err)
		err = translate(eye, s, &raw->c, &raw->context_c);
	if (err)
		return err;
	if (!raw->a)
		raw->context = context_end;
	if (raw->context == context_end && (!raw->a || end - raw->b + step->start == raw->a)) {
		raw->b = end;	/* in the same mapping, as good blocks are */
	} else {
		raw->a = step->start;
		raw->context = s->context;
	}
	return 0;
}

/* @ended: the first step, if the sample is of its block */
static int landing_key(struct vmp_set_eye *eye, const struct vmp_set_sample *s, const struct vmp_raw *ended, struct vmp_raw *raw)
{
	uint64_t at = s->w.at;
	uint32_t context;
	int err;

	if (ended) {
		*raw = (struct vmp_raw){
			.a = ended->a, .b = ended->b, .c = ended->c, .context = ended->context, .context_c = ended->context_c,
			.kind = s->s->hdr.type == VMPROF_REC_SAMPLE ? VMP_RAW_ENDED : VMP_RAW_ENDED_INSN, .missed = ended->missed, .n = 1,
		};
		return 0;
	}
	*raw = (struct vmp_raw){ .a = s->w.landed, .b = s->w.at, .kind = VMP_RAW_LANDING,
		.missed = (uint16_t)s->w.missed, .n = 1 };
	err = translate(eye, s, &raw->a, &raw->context);
	if (!err)
		err = translate(eye, s, &at, &context);
	if (err)
		return err;
	if (s->alone) {
		raw->context = context;
		raw->b = at;
	} else if (context == raw->context && at - raw->b + s->w.landed == raw->a) {
		raw->b = at;
	} else {
		raw->a = s->w.landed;
		raw->context = s->context;
	}
	return 0;
}

int vmp_set_keys(struct vmp_set_eye *eye, const struct vmp_set_sample *s, const struct vmp_raws *raws,
		 struct vmp_set_keys *keys)
{
	const struct vmp_step *step = s->w.step;
	unsigned int i, all = s->w.nr;
	int err = 0;

	keys->nr = s->w.nr;
	keys->landed = s->w.landed || s->alone;
	for (i = keys->nr; !err && i--; )
		err = step_key(eye, s, &step[i], &keys->raw[i],
			       i + 1 < keys->nr && step[i].start == step[i + 1].next ? &keys->raw[i + 1] : NULL);
	if (!err && keys->landed)
		err = landing_key(eye, s, s->w.ended ? &keys->raw[0] : NULL, &keys->raw[all++]);
	for (i = 0; !err && i < all; i++)
		keys->hash[i] = vmp_raws_hash(raws, &keys->raw[i]);
	return err;
}

void vmp_set_fetch(const struct vmp_raws *raws, const struct vmp_set_keys *keys)
{
	unsigned int i;

	for (i = 0; i < keys->nr + (unsigned int)keys->landed; i++)
		vmp_raws_fetch(raws, keys->hash[i]);
}

void vmp_set_look_up(const struct vmp_set *set, struct vmp_set_keys *keys)
{
	unsigned int i;

	for (i = 0; i < keys->nr + (unsigned int)keys->landed; i++)
		keys->number[i] = vmp_raws_find(&set->raws, &keys->raw[i], keys->hash[i]);
}
