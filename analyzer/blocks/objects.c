// SPDX-License-Identifier: GPL-2.0-only
/* objects.c - whose code it is, and where its bytes are. */
#include "blocks/objects.h"

#include <string.h>

#include "model/hosttext.h"
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

int vmp_objects_add(struct vmp_points *p, const struct vmp_object *new, uint32_t epoch, uint32_t *out)
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

int vmp_object_has_lasted(const struct vmp_points *p, uint32_t object, uint64_t addr)
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

int vmp_objects_kernel(struct vmp_points *p, const struct vmp_origin *from, uint32_t module, uint32_t *out)
{
	int guest = from->kind == VMP_KIND_GUEST_KERNEL;
	struct vmp_object o = {
		.vm = guest ? from->vm : VMP_NONE, .kernel = 1, .file = guest ? from->epoch : VMP_NONE, .module = module,
	};
	uint32_t known = p->objects.nr;
	int err = vmp_objects_add(p, &o, from->epoch, out);

	if (err || *out != known)
		return err;
	p->objects.v[known].asm_entries = has_asm_entries(vmp_points_ksyms(p, &o));
	return find_code(p, from, &p->objects.v[known]);
}

uint64_t vmp_object_offset(const struct vmp_model *m, const struct vmp_origin *from, uint64_t addr, uint32_t *file)
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

/* -------------------------------------------------------------------- code */

const uint8_t *vmp_points_code(const struct vmp_points *p, uint32_t object, uint64_t addr, size_t *len)
{
	const struct vmp_object *o = &p->objects.v[object];

	*len = 0;
	return o->code ? vmp_elf_code(o->code, addr - o->slide, len) : NULL;
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
