// SPDX-License-Identifier: GPL-2.0-only
/* early.c - what cannot wait for the end of the session; what does not come now is asked for once more then. */
#include "collect/early.h"

#include <string.h>

#include "collect/session.h"

static void begin(struct vmp_vm *vm)
{
	vmp_fetch_init(&vm->early);
	vm->early.rate_bytes = vm->early.burst_bytes = VMP_EARLY_RATE_BYTES;
	vm->early.least_bytes = VMP_EARLY_LEAST_BYTES;
	vm->early.own_room = &vm->early_room;
	vm->early.cache_room = vm->session ? &vm->session->early_room : NULL;
	vm->early.debug_listed = 1;	/* of what was stripped, where a debug file might be is not asked */
}

void vmp_early_init(struct vmp_vm *vm)
{
	vm->early_room = VMP_EARLY_SUM_BYTES;
	begin(vm);
}

void vmp_early_take(struct vmp_vm *vm, const struct vmp_msg_file *m)
{
	char key[VMP_OBJKEY_MAX], path[VMPROF_PATH_BYTES_MAX];
	const struct vmp_needed n = {
		.file = m->file, .bytes = m->bytes, .build_id = m->build_id, .build_id_len = m->build_id_len,
		.key = key, .path = path,
	};

	/* without a build-id nothing would tell that it is what was mapped */
	if (vm->objects.way == VMP_OBJECTS_NONE || !(m->flags & VMPROF_FILE_FLEETING) || !m->build_id_len || !m->bytes ||
	    m->flags & (VMPROF_FILE_NO_ACCESS | VMPROF_FILE_CHANGED) || m->path.len >= sizeof(path) ||
	    m->bytes > VMP_EARLY_SUM_BYTES)
		return;
	vmp_objcache_key(key, vm->agent.boot_id, m);
	vmp_objcache_own(key, vm->dom.uuid);
	memcpy(path, m->path.p, m->path.len);
	path[m->path.len] = 0;
	if (!vmp_objcache_has(key))
		vmp_fetch_add(&vm->early, &n);
}

int vmp_early_step(struct vmp_vm *vm, uint64_t now_ns, int more)
{
	struct vmp_msg_get_object ask;

	if (!vmp_agent_is_there(&vm->agent))
		vmp_early_forget(vm);
	vmp_fetch_tick(&vm->early, now_ns);
	if (vm->early.fd < 0 && !more)
		return 1;
	/* events and symbols come first, in the first snapshot there are many */
	if (vm->agent.state != VMP_AGENT_STARTED && vmp_fetch_next(&vm->early, now_ns, &ask))
		vmp_agent_get(&vm->agent, &ask);
	return vm->early.fd < 0;
}

void vmp_early_forget(struct vmp_vm *vm)
{
	const uint64_t budget_bytes = vm->early.budget_bytes, budget_ns = vm->early.budget_ns;

	vmp_fetch_free(&vm->early);
	begin(vm);
	vm->early.budget_bytes = budget_bytes;
	vm->early.budget_ns = budget_ns;
}
