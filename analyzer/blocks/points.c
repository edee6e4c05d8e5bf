// SPDX-License-Identifier: GPL-2.0-only
/* points.c - addresses become points once. */
#include "blocks/points.h"

#include <string.h>

#include "model/hosttext.h"
#include "model/scan.h"
#include "util/big.h"
#include "util/radix.h"
#include "util/text.h"

/* ---------------------------------------------------------------- contexts */

static uint32_t kernel_kind(uint32_t kind)
{
	switch (kind) {
	case VMP_KIND_GUEST_USER:
		return VMP_KIND_GUEST_KERNEL;
	case VMP_KIND_VMM_USER:
		return VMP_KIND_VMM_KERNEL;
	}
	return kind;
}

static int find_context(struct vmp_points *p, const struct vmp_origin *from, uint32_t *out)
{
	struct vmp_context c = { .from = *from, .wanted = 1 };
	uint64_t sum = vmp_hash_bytes(from, sizeof(*from));
	uint32_t *i;

	for (; (i = vmp_hash_find(&p->by_context, sum)); sum++) {
		if (!memcmp(&p->contexts.v[*i].from, from, sizeof(*from))) {
			*out = *i;
			return 0;
		}
	}
	*out = c.kernel = p->contexts.nr;
	return vmp_vec_push(&p->contexts, c) || vmp_hash_set(&p->by_context, sum, *out) ? -ENOMEM : 0;
}

static int is_switch(const char *name)
{
	return !strncmp(name, "__switch_to", 11) || !strncmp(name, "switch_mm", 9);
}

/* Where the guest's kernel switches; of what has no symbols nothing is known */
static int find_switches(struct vmp_points *p, uint32_t context)
{
	const struct vmp_origin *from = &p->contexts.v[context].from;
	const struct vmp_symtab *t;
	uint32_t i;

	if (from->kind != VMP_KIND_GUEST_KERNEL || from->epoch == VMP_NONE)
		return 0;
	t = &p->m->vms.v[from->vm].boots.v[from->epoch].kernel.always;
	for (i = 0; i < t->sym.nr; i++) {
		struct vmp_switch s = { context, t->sym.v[i].start, t->sym.v[i].end };

		if (is_switch(t->sym.v[i].name) && vmp_vec_push(&p->switches, s))
			return -ENOMEM;
	}
	return 0;
}

int vmp_points_context(struct vmp_points *p, const struct vmp_origin *from, uint32_t *out)
{
	struct vmp_origin kernel = {
		.kind = kernel_kind(from->kind), .vm = from->vm, .epoch = from->epoch, .era = from->era,
		.image = VMP_NONE,
	};
	uint32_t known = p->contexts.nr, k;
	int err = find_context(p, &kernel, &k);

	if (!err && k == known)
		err = find_switches(p, k);
	if (!err)
		err = find_context(p, from, out);
	if (!err)
		p->contexts.v[*out].kernel = k;
	return err;
}

/* ----------------------------------------------------------------- objects */

/* No padding: it is hashed as bytes */
struct object_key {
	uint32_t vm, kernel, elf, file;
};

static int object_of(struct vmp_points *p, const struct vmp_object *new, uint32_t epoch, uint32_t *out)
{
	struct object_key key = { new->vm, new->kernel ? epoch + 1 : 0, new->elf, new->file };
	uint64_t sum = vmp_hash_bytes(&key, sizeof(key));
	const uint32_t *i;

	for (; (i = vmp_hash_find(&p->by_object, sum)); sum++) {
		const struct vmp_object *o = &p->objects.v[*i];

		if (o->vm == new->vm && o->kernel == new->kernel && o->elf == new->elf && o->file == new->file) {
			*out = *i;
			return 0;
		}
	}
	*out = p->objects.nr;
	return vmp_vec_push(&p->objects, *new) || vmp_hash_set(&p->by_object, sum, *out) ? -ENOMEM : 0;
}

const struct vmp_kernel_copy *vmp_points_copy(const struct vmp_points *p, const struct vmp_object *o)
{
	return o->vm == VMP_NONE ? &p->m->host_copy : &p->m->vms.v[o->vm].copy;
}

/* What the session copied out of this kernel's memory */
static int find_copy(struct vmp_points *p, const struct vmp_origin *from, struct vmp_object *o)
{
	const struct vmp_kernel_copy *c = vmp_points_copy(p, o);
	char path[4096], boot[sizeof(c->boot_id)];
	struct vmp_elf *e;
	int err;

	if (from->kind == VMP_KIND_GUEST_KERNEL &&
	    (from->epoch == VMP_NONE ||
	     strcmp(c->boot_id, vmp_text_hex(boot, p->m->vms.v[from->vm].boots.v[from->epoch].boot_id, 16))))
		return 0;
	err = vmp_objcache_path(path, sizeof(path), c->key);
	if (!err)
		err = vmp_elf_open(&e, path);
	if (err)
		return err == -ENOMEM ? err : 0;
	if (vmp_vec_push(&p->copies, e)) {
		vmp_elf_close(e);
		return -ENOMEM;
	}
	o->code = e;
	o->copy = 1;
	o->flaw = VMP_FLAW_NONE;
	return 0;
}

const struct vmp_symtab *vmp_points_ksyms(const struct vmp_points *p, const struct vmp_object *o)
{
	static const struct vmp_symtab none;

	if (o->vm == VMP_NONE)
		return &p->m->host_ksyms;
	return o->file == VMP_NONE ? &none : &p->m->vms.v[o->vm].boots.v[o->file].kernel.always;
}

/* Was it made when all of the session was over?  Then only what has been there all the time is what ran. */
static int has_lasted(const struct vmp_points *p, uint32_t object, uint64_t addr)
{
	const struct vmp_object *o = &p->objects.v[object];

	return !o->copy || vmp_symtab_find(vmp_points_ksyms(p, o), addr);
}

/* A file is a kernel's code only if it fits what is known of where that has its functions. */
static int find_code(struct vmp_points *p, const struct vmp_origin *from, struct vmp_object *o)
{
	int guest = from->kind == VMP_KIND_GUEST_KERNEL, err;
	struct vmp_elf *file = guest ? p->kernel : p->host_kernel;

	o->flaw = VMP_FLAW_NO_KERNEL;
	if (!file)
		return find_copy(p, from, o);
	if (guest && from->epoch == VMP_NONE)
		return 0;
	err = vmp_kernel_compare(guest ? &p->m->vms.v[from->vm].boots.v[from->epoch].kernel.always : &p->m->host_ksyms,
				 vmp_elf_symtab(file), &o->fit);
	o->flaw = vmp_kernel_fits(&o->fit) ? VMP_FLAW_NONE : VMP_FLAW_OTHER_KERNEL;
	o->slide = o->fit.slide;
	o->code = o->flaw ? NULL : file;
	return err;
}

/* Names of Linux since 5.8, one of which every such kernel has */
static int has_asm_entries(const struct vmp_symtab *t)
{
	uint32_t i;

	for (i = 0; i < t->sym.nr; i++)
		if (!strcmp(t->sym.v[i].name, "asm_exc_page_fault"))
			return 1;
	return 0;
}

int vmp_points_entry(const struct vmp_points *p, uint32_t point)
{
	const struct vmp_point *x = &p->points.v[point];
	const struct vmp_symbol *sym;
	const struct vmp_object *o;

	if (x->object == VMP_NONE || !p->objects.v[x->object].kernel)
		return 0;
	o = &p->objects.v[x->object];
	sym = vmp_symtab_find(vmp_points_ksyms(p, o), x->addr);
	if (!sym)
		return 1;
	if (strstr(sym->name, "entries_start"))
		return 1;
	return sym->start == x->addr && (!o->asm_entries || !strncmp(sym->name, "asm_", 4));
}

static int kernel_object(struct vmp_points *p, const struct vmp_origin *from, uint32_t module, uint32_t *out)
{
	int guest = from->kind == VMP_KIND_GUEST_KERNEL;
	struct vmp_object o = {
		.vm = guest ? from->vm : VMP_NONE, .kernel = 1, .file = guest ? from->epoch : VMP_NONE, .module = module,
	};
	uint32_t known = p->objects.nr;
	int err = object_of(p, &o, from->epoch, out);

	if (err || *out != known)
		return err;
	p->objects.v[known].asm_entries = has_asm_entries(vmp_points_ksyms(p, &o));
	return find_code(p, from, &p->objects.v[known]);
}

/* File offset of an address whose file is not here */
static uint64_t offset_of(const struct vmp_model *m, const struct vmp_origin *from, uint64_t addr, uint32_t *file)
{
	const struct vmp_host_map *h;
	const struct vmp_map *map;

	*file = VMP_NONE;
	if (from->kind != VMP_KIND_GUEST_USER) {
		h = vmp_host_map(vmp_host_proc(m, from->tgid), addr);
		return h ? addr - h->start + h->pgoff : addr;
	}
	map = vmp_space_map(&m->vms.v[from->vm].space, from->image, from->version, addr);
	if (!map)
		return addr;
	*file = map->file;
	return addr - map->start + map->pgoff;
}

/* ------------------------------------------------------------------ points */

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
	offset = offset_of(p->m, from, out->seen, &o.file);
	o.code = p->m->elfs.v[place->elf - 1];
	if (o.code) {
		o.file = VMP_NONE;	/* files with one build-id are one */
		out->flaw = place->vaddr ? VMP_FLAW_NONE : VMP_FLAW_DATA;
		out->addr = place->vaddr ? place->vaddr : offset;
	} else {
		out->flaw = VMP_FLAW_NO_FILE;
		out->addr = offset;
	}
	return object_of(p, &o, 0, &out->object);
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
	err = kernel_object(p, &from, place.module, &out->object);
	/* its modules are not in the file */
	if (!err && (!vmp_points_code(p, out->object, addr, &len) || !has_lasted(p, out->object, addr)))
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

/* Two halves: elements, and room to sort them */
static struct vmp_radix *room_to_sort(uint32_t nr)
{
	return vmp_big_alloc(2 * ((size_t)nr + 1) * sizeof(struct vmp_radix));
}

static struct vmp_radix *sort_half(struct vmp_radix *all, struct vmp_radix *half, uint32_t nr)
{
	return vmp_radix_sort(half, half == all ? all + nr : all, nr);
}

/* Numbers of addresses as values, in order of context and address.  @all: room_to_sort() */
static struct vmp_radix *in_order_of_addresses(const struct vmp_points *p, struct vmp_radix *all)
{
	uint32_t nr = p->addresses.nr, i;
	struct vmp_radix *v;

	for (i = 0; i < nr; i++)
		all[i] = (struct vmp_radix){ p->addresses.v[i].addr, i };
	v = sort_half(all, all, nr);
	for (i = 0; i < nr; i++)
		v[i].key = p->addresses.v[v[i].value].context;
	return sort_half(all, v, nr);
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
	struct vmp_radix *all = room_to_sort(p->addresses.nr), *v;
	uint32_t i, left;
	int err = 0;

	if (!all)
		return -ENOMEM;
	v = in_order_of_addresses(p, all);
	for (i = 0; !err && i < p->addresses.nr; i += VMP_POINTS_TOGETHER) {
		left = p->addresses.nr - i;
		err = resolve(p, v + i, left < VMP_POINTS_TOGETHER ? left : VMP_POINTS_TOGETHER);
	}
	free(all);
	return err;
}

/* -------------------------------------------------------------------- code */

const uint8_t *vmp_points_code(const struct vmp_points *p, uint32_t object, uint64_t addr, size_t *len)
{
	const struct vmp_object *o = &p->objects.v[object];

	*len = 0;
	return o->code ? vmp_elf_code(o->code, addr - o->slide, len) : NULL;
}

int vmp_points_behind(struct vmp_points *p, uint32_t point, uint64_t bytes, uint32_t *out)
{
	struct vmp_point new = p->points.v[point];

	new.addr += bytes;
	new.seen += bytes;
	return add_point(p, &new, out);
}

static int cmp_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

struct sorting {
	const struct vmp_points *p;
	const uint32_t *ranks;	/* of strings */
	const uint32_t *place;	/* by point, in the end */
};

static uint32_t vm_of(const struct vmp_points *p, uint32_t object)
{
	return object == VMP_NONE ? VMP_NONE : p->objects.v[object].vm;
}

/* Points at one address of one module */
static int in_order(const void *pa, const void *pb, void *arg)
{
	const struct vmp_radix *x = pa, *y = pb;
	const struct sorting *s = arg;
	const struct vmp_point *a = &s->p->points.v[x->value], *b = &s->p->points.v[y->value];
	int d = cmp_u64(s->ranks[a->function], s->ranks[b->function]);

	d = d ? d : cmp_u64(a->object == VMP_NONE, b->object == VMP_NONE);
	d = d ? d : cmp_u64(vm_of(s->p, a->object), vm_of(s->p, b->object));
	return d ? d : cmp_u64(a->object, b->object);
}

/* Those of one key are in order of their addresses */
static void sort_same(const struct sorting *s, struct vmp_radix *v, uint32_t nr)
{
	const struct vmp_point *points = s->p->points.v;
	uint32_t i, end;

	for (i = 0; i < nr; i = end) {
		for (end = i + 1; end < nr && v[end].key == v[i].key && points[v[end].value].addr == points[v[i].value].addr; )
			end++;
		if (end - i > 1)
			qsort_r(&v[i], end - i, sizeof(*v), in_order, (void *)s);
	}
}

/* By module and address.  @all: room_to_sort() */
static struct vmp_radix *in_order_of_modules(const struct sorting *s, struct vmp_radix *all)
{
	const struct vmp_point *points = s->p->points.v;
	uint32_t nr = s->p->points.nr, i;
	struct vmp_radix *v;

	for (i = 0; i < nr; i++)
		all[i] = (struct vmp_radix){ points[i].addr, i };
	v = sort_half(all, all, nr);
	for (i = 0; i < nr; i++)
		v[i].key = s->ranks[points[v[i].value].module];
	v = sort_half(all, v, nr);
	sort_same(s, v, nr);
	return v;
}

/* @place: filled */
static struct vmp_point *ordered(const struct vmp_points *p, uint32_t *place)
{
	struct sorting s = { .p = p, .ranks = vmp_strings_ranks(&p->m->strings) };
	struct vmp_radix *all = room_to_sort(p->points.nr), *from;
	struct vmp_point *v = vmp_big_alloc(((size_t)p->points.nr + 1) * sizeof(*v));
	uint32_t i;

	if (!s.ranks || !all) {
		free(v);
		v = NULL;
	}
	from = v ? in_order_of_modules(&s, all) : NULL;
	for (i = 0; v && i < p->points.nr; i++) {
		v[i] = p->points.v[from[i].value];
		place[from[i].value] = i;
	}
	free((void *)s.ranks);
	free(all);
	return v;
}

static void move_addresses(void *arg, uint32_t i, uint32_t to)
{
	const struct sorting *s = arg;
	struct vmp_raw_address *v = s->p->addresses.v;

	for (; i < to; i++)
		v[i].point = s->place[v[i].point];
}

static void move_slots(void *arg, uint32_t i, uint32_t to)
{
	const struct sorting *s = arg;
	struct vmp_slot *v = s->p->by_place.v;

	for (; i < to; i++)
		if (v[i].number)
			v[i].number = s->place[v[i].number - 1] + 1;
}

int vmp_points_sort(struct vmp_points *p, uint32_t *place)
{
	struct vmp_point *v = ordered(p, place);
	struct sorting s = { .p = p, .place = place };

	if (!v)
		return -ENOMEM;
	free(p->points.v);
	p->points.v = v;
	p->points.room = p->points.nr + 1;
	vmp_parallel_ranges(p->addresses.nr, vmp_scan_threads(), move_addresses, &s);
	vmp_parallel_ranges(p->by_place.v ? p->by_place.mask + 1 : 0, vmp_scan_threads(), move_slots, &s);
	return 0;
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

/* By its bytes */
int vmp_points_repeats(const struct vmp_points *p, uint32_t point)
{
	const struct vmp_point *x = &p->points.v[point];
	const uint8_t *code;
	size_t len, i;
	int prefix = 0;

	code = x->flaw || x->object == VMP_NONE ? NULL : vmp_points_code(p, x->object, x->addr, &len);
	if (!code)
		return 0;
	for (i = 0; i < len && i < VMP_DECODE_BYTES; i++) {
		if (code[i] == 0xf2 || code[i] == 0xf3)
			prefix = 1;
		else if (code[i] != 0x66 && code[i] != 0x67 && (code[i] & 0xf0) != 0x40)
			return prefix && ((code[i] >= 0xa4 && code[i] <= 0xa7) || (code[i] >= 0xaa && code[i] <= 0xaf) ||
					  (code[i] >= 0x6c && code[i] <= 0x6f));
	}
	return 0;
}
