// SPDX-License-Identifier: GPL-2.0-only
/* kernelfit.c - the distance that most functions agree on, and how many do not. */
#include "blocks/kernelfit.h"

#include <string.h>

#include "model/hash.h"
#include "model/space.h"

#define FUNCTIONS_MIN	32U
#define OTHER_MAX	100U	/* one of so many: aliases may be chosen another way */

static uint64_t hash_of(const char *name)
{
	return vmp_hash_bytes(name, strlen(name));
}

static int index_names(struct vmp_hash *by_name, const struct vmp_symtab *t)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < t->sym.nr; i++) {
		uint64_t key = hash_of(t->sym.v[i].name);

		err = vmp_hash_set(by_name, key, vmp_hash_find(by_name, key) ? VMP_NONE : i);
	}
	return err;
}

/* How far the function is from where the file has it; modules are not in it */
static int distance(const struct vmp_symbol *s, const struct vmp_symtab *file, const struct vmp_hash *by_name,
		    uint64_t *out)
{
	const uint32_t *i = s->module ? NULL : vmp_hash_find(by_name, hash_of(s->name));

	if (!i || *i == VMP_NONE || strcmp(file->sym.v[*i].name, s->name))
		return 0;
	*out = s->start - file->sym.v[*i].start;
	return 1;
}

int vmp_kernel_compare(const struct vmp_symtab *kernel, const struct vmp_symtab *file, struct vmp_kernel_fit *fit)
{
	struct vmp_hash by_name = { 0 };
	uint64_t d, lead = 0;
	uint32_t i;
	int err = index_names(&by_name, file);

	*fit = (struct vmp_kernel_fit){ 0 };
	for (i = 0; !err && i < kernel->sym.nr; i++) {
		if (!distance(&kernel->sym.v[i], file, &by_name, &d))
			continue;
		fit->slide = lead ? fit->slide : d;
		lead += d == fit->slide ? 1 : -1ULL;
	}
	for (i = 0; !err && i < kernel->sym.nr; i++) {
		if (!distance(&kernel->sym.v[i], file, &by_name, &d))
			continue;
		if (d == fit->slide)
			fit->same++;
		else
			fit->other++;
	}
	vmp_hash_free(&by_name);
	return err;
}

int vmp_kernel_fits(const struct vmp_kernel_fit *fit)
{
	return fit->same >= FUNCTIONS_MIN && fit->other <= fit->same / OTHER_MAX;
}
