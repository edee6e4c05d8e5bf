// SPDX-License-Identifier: GPL-2.0-only
/* points.c - addresses become points once. */
#include "blocks/objects.h"
#include "blocks/order.h"

#include <string.h>

static enum vmp_flaw flaw_of(enum vmp_why why)
{
	switch (why) {
	case VMP_WHY_NO_AGENT:
	case VMP_WHY_NO_OWNER:
		return VMP_FLAW_UNKNOWN;
	case VMP_WHY_OK:	/* it has a name, but lies in no file */
	case VMP_WHY_UNNAMED:
	case VMP_WHY_ANON:
		return VMP_FLAW_ANON;
	case VMP_WHY_NO_OBJECT:
		return VMP_FLAW_NO_FILE;
	default:
		return VMP_FLAW_UNMAPPED;
	}
}

static int user_point(struct vmp_points *p, const struct vmp_origin *from, const struct vmp_place *place,
		      struct vmp_point *out)
{
	struct vmp_object o = { .vm = VMP_NONE, .module = place->module, .elf = place->elf, .file = VMP_NONE };
	uint64_t offset;

	if (!place->elf) {
		out->flaw = flaw_of(place->why);
		return 0;
	}
	if (from->kind == VMP_KIND_GUEST_USER)
		o.vm = from->vm;
	offset = vmp_object_offset(p->m, from, out->seen, &o.file);
	o.code = p->m->elfs.v[place->elf - 1];
	if (o.code && !vmp_elf_decodes(o.code)) {
		o.code = NULL;
		out->flaw = VMP_FLAW_NOT_64;
		out->addr = offset;
	} else if (o.code) {
		o.file = VMP_NONE;	/* files with one build-id are one */
		out->flaw = place->vaddr ? VMP_FLAW_NONE : VMP_FLAW_DATA;
		out->addr = place->vaddr ? place->vaddr : offset;
	} else {
		out->flaw = VMP_FLAW_NO_FILE;
		out->addr = offset;
	}
	return vmp_objects_add(p, &o, 0, &out->object);
}

static int make_point(struct vmp_points *p, uint32_t context, uint64_t addr, struct vmp_point *out)
{
	struct vmp_origin from = p->contexts.v[context].from;
	struct vmp_place place = { 0 };
	size_t len;
	int err;

	if (p->run.context == context && addr >= p->run.point.seen && addr < p->run.until) {
		*out = p->run.point;
		out->addr += addr - out->seen;
		out->seen = addr;
		return 0;
	}
	err = vmp_origin_resolve(p->m, &from, addr, &place);
	p->run.context = context;
	p->run.until = place.until;

	*out = (struct vmp_point){
		.object = VMP_NONE, .addr = addr, .seen = addr, .function = place.function, .module = place.module,
	};
	if (err)
		return err;
	if (!(addr >> 63))
		return user_point(p, &from, &place, out);
	if (place.why == VMP_WHY_BOOT || from.kind == VMP_KIND_GUEST_USER) {
		out->flaw = VMP_FLAW_UNMAPPED;
		return 0;
	}
	err = vmp_objects_kernel(p, &from, place.module, &out->object);
	/* its modules are not in the file */
	if (!err && (!vmp_points_code(p, out->object, addr, &len) || !vmp_object_has_lasted(p, out->object, addr)))
		out->flaw = p->objects.v[out->object].flaw ? p->objects.v[out->object].flaw : VMP_FLAW_NO_KERNEL;
	return err;
}

static int new_point(struct vmp_points *p, uint32_t context, uint64_t addr, struct vmp_point *out)
{
	int err = make_point(p, context, addr, out);

	p->run.point = *out;
	return err;
}

/* Of an address in an object, or in a context */
static uint64_t hash_in(uint32_t which, uint64_t addr)
{
	return vmp_hash_mix(vmp_hash_mix(which) + addr);
}

static int add_point(struct vmp_points *p, const struct vmp_point *new, uint32_t *out)
{
	uint64_t hash = hash_in(new->object, new->addr);
	uint32_t at = 0;

	while ((*out = vmp_slots_next(&p->by_place, hash, &at)) != VMP_NONE) {
		const struct vmp_point *x = &p->points.v[*out];

		if (x->object == new->object && x->addr == new->addr && x->function == new->function)
			return 0;
	}
	*out = p->points.nr;
	return vmp_vec_push(&p->points, *new) || vmp_slots_add(&p->by_place, *out, hash) ? -ENOMEM : 0;
}

uint32_t vmp_point_at(const struct vmp_points *p, uint32_t object, uint64_t addr)
{
	uint64_t hash = hash_in(object, addr);
	uint32_t at = 0, n;

	while ((n = vmp_slots_next(&p->by_place, hash, &at)) != VMP_NONE)
		if (p->points.v[n].object == object && p->points.v[n].addr == addr)
			break;
	return n;
}

static uint32_t context_of(const struct vmp_points *p, uint32_t context, uint64_t addr)
{
	return addr >> 63 ? p->contexts.v[context].kernel : context;
}

static int note(struct vmp_points *p, uint32_t context, uint64_t addr, uint64_t hash, uint32_t *number)
{
	const struct vmp_raw_address new = { addr, context, VMP_NONE };
	uint32_t at = 0;

	while ((*number = vmp_slots_next(&p->by_address, hash, &at)) != VMP_NONE)
		if (p->addresses.v[*number].addr == addr && p->addresses.v[*number].context == context)
			return 0;
	*number = p->addresses.nr;
	return vmp_vec_push(&p->addresses, new) || vmp_slots_add(&p->by_address, *number, hash) ? -ENOMEM : 0;
}

int vmp_points_note(struct vmp_points *p, const struct vmp_raw_address *of, unsigned int nr, uint32_t *number)
{
	uint32_t context[VMP_POINTS_TOGETHER];
	uint64_t hash[VMP_POINTS_TOGETHER];
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr; i++) {
		context[i] = context_of(p, of[i].context, of[i].addr);
		hash[i] = hash_in(context[i], of[i].addr);
		vmp_slots_fetch(&p->by_address, hash[i]);
	}
	for (i = 0; i < nr; i++) {
		number[i] = vmp_slots_peek(&p->by_address, hash[i]);
		if (number[i] != VMP_NONE)
			__builtin_prefetch(&p->addresses.v[number[i]]);
	}
	for (i = 0; !err && i < nr; i++) {
		number[i] = VMP_NONE;
		if (of[i].addr)
			err = note(p, context[i], of[i].addr, hash[i], &number[i]);
	}
	return err;
}

int vmp_points_find(struct vmp_points *p, uint32_t context, uint64_t addr, uint32_t *out)
{
	struct vmp_point new;
	uint32_t number;
	int err;

	context = context_of(p, context, addr);
	err = note(p, context, addr, hash_in(context, addr), &number);
	if (!err && p->addresses.v[number].point == VMP_NONE) {
		err = new_point(p, context, addr, &new);
		if (!err)
			err = add_point(p, &new, &p->addresses.v[number].point);
	}
	if (!err)
		*out = p->addresses.v[number].point;
	return err;
}

/* Some addresses one behind the other; @v: their numbers as values */
static int resolve(struct vmp_points *p, const struct vmp_radix *v, unsigned int nr)
{
	struct vmp_point new[VMP_POINTS_TOGETHER];
	unsigned int i;
	uint32_t n;
	int err = 0;

	for (i = 0; i < nr; i++)
		__builtin_prefetch(&p->addresses.v[v[i].value]);
	for (i = 0; !err && i < nr; i++) {
		const struct vmp_raw_address *a = &p->addresses.v[v[i].value];

		if (a->point != VMP_NONE)
			continue;
		err = new_point(p, a->context, a->addr, &new[i]);
		vmp_slots_fetch(&p->by_place, hash_in(new[i].object, new[i].addr));
	}
	for (i = 0; !err && i < nr; i++) {
		if (p->addresses.v[v[i].value].point != VMP_NONE)
			continue;
		n = vmp_slots_peek(&p->by_place, hash_in(new[i].object, new[i].addr));
		if (n != VMP_NONE)
			__builtin_prefetch(&p->points.v[n]);
	}
	for (i = 0; !err && i < nr; i++)
		if (p->addresses.v[v[i].value].point == VMP_NONE)
			err = add_point(p, &new[i], &p->addresses.v[v[i].value].point);
	return err;
}

int vmp_points_resolve(struct vmp_points *p)
{
	struct vmp_radix *all = vmp_order_room(p->addresses.nr), *v;
	uint32_t i, left;
	int err = 0;

	if (!all)
		return -ENOMEM;
	err = vmp_slots_reserve(&p->by_place, p->addresses.nr);
	if (!err)
		err = vmp_vec_reserve(&p->points, p->addresses.nr);
	v = vmp_order_addresses(p, all);
	for (i = 0; !err && i < p->addresses.nr; i += VMP_POINTS_TOGETHER) {
		left = p->addresses.nr - i;
		err = resolve(p, v + i, left < VMP_POINTS_TOGETHER ? left : VMP_POINTS_TOGETHER);
	}
	free(all);
	return err;
}

int vmp_points_behind(struct vmp_points *p, uint32_t point, uint64_t bytes, uint32_t *out)
{
	struct vmp_point new = p->points.v[point];

	new.addr += bytes;
	new.seen += bytes;
	return add_point(p, &new, out);
}

int vmp_points_init(struct vmp_points *p, struct vmp_model *m, const char *vmlinux, const char *host)
{
	int err;

	memset(p, 0, sizeof(*p));
	p->m = m;
	err = vmlinux ? vmp_elf_open(&p->kernel, vmlinux) : 0;
	return err || !host ? err : vmp_elf_open(&p->host_kernel, host);
}

void vmp_points_deinit(struct vmp_points *p)
{
	uint32_t i;

	for (i = 0; i < p->copies.nr; i++)
		vmp_elf_close(p->copies.v[i]);
	vmp_vec_free(&p->copies);
	vmp_elf_close(p->kernel);
	vmp_elf_close(p->host_kernel);
	vmp_vec_free(&p->contexts);
	vmp_vec_free(&p->switches);
	vmp_vec_free(&p->objects);
	vmp_vec_free(&p->points);
	vmp_vec_free(&p->addresses);
	vmp_hash_free(&p->by_context);
	vmp_hash_free(&p->by_object);
	vmp_slots_free(&p->by_place);
	vmp_slots_free(&p->by_address);
}
