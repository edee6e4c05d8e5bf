// SPDX-License-Identifier: GPL-2.0-only
/* chosen.c - what of a capture a choice has, and which file an address lies in. */
#include <fnmatch.h>

#include "export/cells.h"
#include "model/hosttext.h"

static int matches(const struct vmp_model *m, const char *pattern, uint32_t str)
{
	return !pattern || !fnmatch(pattern, vmp_model_name(m, str), 0);
}

int vmp_chosen_group(const struct vmp_model *m, const struct vmp_choice *c, const struct vmp_group *g)
{
	if (g->from.vm == VMP_NONE ? !!c->domain : !matches(m, c->domain, m->vms.v[g->from.vm].name))
		return 0;
	return c->vcpu < 0 || (g->track_kind == VMP_TRACK_VCPU && g->track_id == (uint32_t)c->vcpu);
}

int vmp_chosen_owner(const struct vmp_model *m, const struct vmp_choice *c, const struct vmp_origin *from,
		     const struct vmp_owner *owner)
{
	if (c->pid >= 0 && (!vmp_origin_is_guest(from->kind) || owner->pid != c->pid))
		return 0;
	return matches(m, c->comm, owner->comm);
}

static int guest_file_at(struct vmp_model *m, const struct vmp_origin *o, uint64_t addr, struct vmp_file_place *f)
{
	struct vmp_machine *vm = &m->vms.v[o->vm];
	uint64_t same;
	const struct vmp_map *map = vmp_space_map_until(&vm->space, o->image, o->version, addr, &same);

	if (!map || map->file == VMP_FILE_ANON)
		return 0;
	*f = (struct vmp_file_place){
		o->vm, map->file, vm->files.v[map->file].path, map->start, map->end, map->pgoff, same,
	};
	return 1;
}

int vmp_file_at(struct vmp_model *m, const struct vmp_origin *o, uint64_t addr, struct vmp_file_place *f)
{
	const struct vmp_host_map *map;

	if (o->kind == VMP_KIND_GUEST_USER && o->image != VMP_NONE)
		return guest_file_at(m, o, addr, f);
	if (o->kind != VMP_KIND_VMM_USER && o->kind != VMP_KIND_OTHER_USER)
		return 0;
	map = vmp_host_map(vmp_host_proc(m, o->tgid), addr);
	if (!map || !map->path)
		return 0;
	*f = (struct vmp_file_place){ VMP_NONE, VMP_NONE, map->path, map->start, map->end, map->pgoff, map->end };
	return 1;
}
