/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * resolve.h - names for addresses.
 *
 * A name is given only where the symbol's bounds hold the address; else the
 * function is written as module and offset, with the reason in why.
 */
#ifndef VMP_RESOLVE_H
#define VMP_RESOLVE_H

#include "model/model.h"

/* Why a sample has no function name */
enum vmp_why {
	VMP_WHY_OK,
	VMP_WHY_UNNAMED,	/* it has one of its own: its bounds are known, its name not */
	VMP_WHY_NO_AGENT,	/* no agent told of this boot of the guest */
	VMP_WHY_NO_OWNER,	/* nobody told whose CR3 it is */
	VMP_WHY_NO_MAP,		/* no mapping known at the address */
	VMP_WHY_ANON,		/* code that lies in no file (JIT), without a name from its program */
	VMP_WHY_NO_OBJECT,	/* the file is not in the object cache */
	VMP_WHY_NO_SYMBOL,	/* the file has no symbol there (stripped) */
	VMP_WHY_NO_KSYMS,	/* no kernel symbols */
	VMP_WHY_NO_KSYM,	/* none at the address */
	VMP_WHY_BOOT,		/* firmware or boot code, before long mode */
	VMP_WHY_NESTED,		/* a guest inside the guest */
	VMP_WHY_NR
};

struct vmp_place {
	uint32_t function;	/* string numbers */
	uint32_t module;
	enum vmp_why why;
	int idle;		/* a kernel function that only idle tasks run */
	uint64_t until;		/* the same place from the address asked for up to here, exclusive */
	uint32_t elf;		/* the file: number in the model's elfs + 1 (which may be NULL), 0 none */
	uint64_t vaddr;		/* link-time address in it, for vmp_elf_dwarf(); 0 unknown */
};

/** vmp_why_text() - "the file is not in the object cache" */
const char *vmp_why_text(enum vmp_why why);

/** vmp_why_key() - "no_object" */
const char *vmp_why_key(enum vmp_why why);

/** vmp_resolve_guest_kernel() - Of boot @epoch (may be VMP_NONE), in @era of its symbols. Return: 0 or -ENOMEM. */
int vmp_resolve_guest_kernel(struct vmp_model *m, struct vmp_machine *vm, uint32_t epoch, uint32_t era,
			     uint64_t ip, struct vmp_place *place);

/** vmp_resolve_guest_user() - In @version of @image (may be VMP_NONE). Return: 0 or -ENOMEM. */
int vmp_resolve_guest_user(struct vmp_model *m, struct vmp_machine *vm, uint32_t epoch,
			   uint32_t image, uint32_t version, uint64_t ip, struct vmp_place *place);

/** vmp_resolve_host_kernel() - Return: 0 or -ENOMEM. */
int vmp_resolve_host_kernel(struct vmp_model *m, uint64_t ip, struct vmp_place *place);

/** vmp_resolve_host_user() - In a host process. Return: 0 or -ENOMEM. */
int vmp_resolve_host_user(struct vmp_model *m, uint32_t tgid, uint64_t ip, struct vmp_place *place);

/** vmp_is_idle_function() - 1 for kernel functions that only idle tasks run. */
int vmp_is_idle_function(const char *name);

#endif
