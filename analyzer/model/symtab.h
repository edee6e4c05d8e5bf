/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * symtab.h - sorted symbols of one module or kernel: by address to a name.
 *
 * An address gets a symbol's name only inside the symbol's bounds; of
 * several symbols at one address the one that perf would show is kept: known
 * size first, global before weak before local (perf has local before weak) before names of
 * old versions, fewer leading underscores, the longer one, no SyS_ of old kernels.
 */
#ifndef VMP_SYMTAB_H
#define VMP_SYMTAB_H

#include "model/vec.h"

enum vmp_symbol_rank {		/* lower is better */
	VMP_SYM_GLOBAL,
	VMP_SYM_WEAK,
	VMP_SYM_LOCAL,
	VMP_SYM_OLD,		/* of a version that nothing new is linked with: libc's free() was cfree, too */
	VMP_SYM_MADE_UP,	/* "name@plt" and the like */
	VMP_SYM_UNNAMED,	/* "sub_ADDRESS": bounds are known, the name is not */
};

struct vmp_symbol {
	uint64_t start;
	uint64_t end;		/* first address behind it; while adding, 0: unknown */
	uint64_t limit;		/* an unknown end is never behind this (end of section) */
	const char *name;	/* borrowed */
	uint32_t module;	/* string number, 0: the table's own */
	uint8_t rank;
	uint8_t idle;		/* as the resolver found: 0 not looked, 1 no, 2 only idle tasks run it */
};

struct vmp_symtab {
	VMP_VEC(struct vmp_symbol) sym;
	uint64_t *reach;	/* largest end among sym.v[0 .. i] */
	uint32_t *offset;	/* starts less the first one's: dense, for searching; UINT32_MAX: or more */
	uint32_t *shown;	/* string numbers of readable names, 0 not made yet */
	uint32_t own_module;	/* string number of the table's own, once shown */
	uint32_t hint;		/* where vmp_symtab_find_until() found the last one */
};

/** vmp_symtab_sort() - To be called after the last push.  Return: 0 or -ENOMEM. */
int vmp_symtab_sort(struct vmp_symtab *t);

/** vmp_symtab_merge() - Add @from's symbols to @t and sort.  Return: 0 or -ENOMEM. */
int vmp_symtab_merge(struct vmp_symtab *t, const struct vmp_symtab *from);

/** vmp_symtab_find() - The innermost symbol that holds @addr, or NULL. */
const struct vmp_symbol *vmp_symtab_find(const struct vmp_symtab *t, uint64_t addr);

/**
 * vmp_symtab_find_until() - The same; the answer holds from @addr until before @same.
 * Fast for one address after the other, going up.
 */
struct vmp_symbol *vmp_symtab_find_until(struct vmp_symtab *t, uint64_t addr, uint64_t *same);

void vmp_symtab_free(struct vmp_symtab *t);

#endif
