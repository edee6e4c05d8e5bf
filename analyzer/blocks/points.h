/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * points.h - code addresses that branches name: each once, whichever processes
 * had it, with the file that it lies in and what is in the file there.
 *
 * A point is known by its object and its link-time address there, so that the
 * same function of many processes is one.
 */
#ifndef VMP_POINTS_H
#define VMP_POINTS_H

#include "blocks/flaw.h"
#include "blocks/kernelfit.h"
#include "model/decode.h"
#include "model/elfsyms.h"
#include "model/slots.h"
#include "model/vec.h"
#include "report/origin.h"

/* Whose addresses they are.  Kernel addresses are resolved in context kernel. */
struct vmp_context {
	struct vmp_origin from;	/* kind: the user's; for a kernel's own context the kernel's */
	uint32_t kernel;	/* number of the context for kernel addresses: may be this one */
	int wanted;		/* by the filters */
};

/* Addresses in which a guest's kernel changes from one task to another */
struct vmp_switch {
	uint32_t context;	/* of the kernel */
	uint64_t start, end;
};

/* What code lies in: a file, or a kernel */
struct vmp_object {
	uint32_t vm;		/* number in the model, VMP_NONE: the host's */
	uint32_t module;	/* string number */
	uint32_t elf;		/* number in the model's elfs + 1; 0: a kernel, or nothing is known */
	uint32_t file;		/* of the guest's vm, or VMP_NONE */
	int kernel;
	int copy;		/* a kernel whose code is what it had in memory: it has no symbols there */
	int asm_entries;	/* a kernel that calls the functions asm_... at which its interrupts begin */
	const struct vmp_elf *code;	/* NULL: it is not here */
	uint64_t slide;		/* a point's address less the link-time address */
	enum vmp_flaw flaw;	/* why a kernel's code is not here */
	struct vmp_kernel_fit fit;	/* of a kernel and the file that was given for it */
};

struct vmp_point {
	uint32_t object;	/* VMP_NONE: in none */
	enum vmp_flaw flaw;	/* why there is no code there */
	uint64_t addr;		/* in the object; where that has no code, as the CPU had it */
	uint64_t seen;		/* as the CPU had it, where it was first met */
	int unbound;		/* its code is here, and nothing tells where instructions begin there */
	uint32_t function, module;	/* string numbers */
};

struct vmp_points {
	struct vmp_model *m;
	struct vmp_elf *kernel, *host_kernel;	/* those given, opened */
	VMP_VEC(struct vmp_elf *) copies;	/* of kernels' memory, opened */
	VMP_VEC(struct vmp_context) contexts;
	VMP_VEC(struct vmp_switch) switches;
	VMP_VEC(struct vmp_object) objects;
	VMP_VEC(struct vmp_point) points;
	/* private */
	struct vmp_hash by_context, by_object;
	struct vmp_slots by_place, by_address;	/* points, addresses */
	VMP_VEC(struct vmp_raw_address) addresses;
	struct {		/* the last one that was made: what follows lies in the same function */
		uint32_t context;
		uint64_t until;
		struct vmp_point point;
	} run;
};

struct vmp_raw_address {
	uint64_t addr;
	uint32_t context, point;
};

/**
 * vmp_points_init() - None yet.
 * @vmlinux: The kernel of the guests with its symbols, or NULL: what the session copied of it; @host: the host's.
 * Return: 0; -ENOMEM; as vmp_elf_open() for one of them.
 */
int vmp_points_init(struct vmp_points *p, struct vmp_model *m, const char *vmlinux, const char *host);
void vmp_points_deinit(struct vmp_points *p);

/** vmp_points_context() - Number of a context, made when it is new.  Return: 0 or -ENOMEM. */
int vmp_points_context(struct vmp_points *p, const struct vmp_origin *from, uint32_t *context);

/** vmp_points_find() - Point of an address; made when it is new.  Return: 0 or -ENOMEM. */
int vmp_points_find(struct vmp_points *p, uint32_t context, uint64_t addr, uint32_t *point);

#define VMP_POINTS_TOGETHER	48U

/**
 * vmp_points_note(), vmp_points_resolve() - The same for many, faster: neighbours lie in the same function.
 * @of:     Up to VMP_POINTS_TOGETHER addresses and their contexts; address 0: none.
 * @number: Of each address: once all were resolved, addresses.v[number] has its point; VMP_NONE of none.
 * Return: 0 or -ENOMEM.
 */
int vmp_points_note(struct vmp_points *p, const struct vmp_raw_address *of, unsigned int nr, uint32_t *number);
int vmp_points_resolve(struct vmp_points *p);

/** vmp_point_at() - Another point of the same object, as known to be; VMP_NONE none. */
uint32_t vmp_point_at(const struct vmp_points *p, uint32_t object, uint64_t addr);

/** vmp_points_code() - The bytes from a point on. */
const uint8_t *vmp_points_code(const struct vmp_points *p, uint32_t object, uint64_t addr, size_t *len);

/** vmp_points_copy() - What became of the copy of a kernel's code that the session made. */
const struct vmp_kernel_copy *vmp_points_copy(const struct vmp_points *p, const struct vmp_object *o);

/** vmp_points_ksyms() - The functions that a kernel has had all the time, as it said itself. */
const struct vmp_symtab *vmp_points_ksyms(const struct vmp_points *p, const struct vmp_object *o);

/**
 * vmp_points_entry() - Can an interrupt have gone to a point?
 * That is a function's first instruction, of Linux since 5.8 only if the name is asm_...; or one of the many
 * short pieces of code by which device interrupts begin.
 */
int vmp_points_entry(const struct vmp_points *p, uint32_t point);

/** vmp_points_behind() - The point so many bytes behind one, made when it is new.  Return: 0 or -ENOMEM. */
int vmp_points_behind(struct vmp_points *p, uint32_t point, uint64_t bytes, uint32_t *out);

/**
 * vmp_points_sort() - Number points by module, address and VM, however they were met.
 * @place: New numbers by the old ones, for all.
 * Return: 0 or -ENOMEM.
 */
int vmp_points_sort(struct vmp_points *p, uint32_t *place);

/** vmp_points_repeats() - Is a point's instruction one that repeats (`rep movsb`), and can be interrupted in between? */
int vmp_points_repeats(const struct vmp_points *p, uint32_t point);

#endif
