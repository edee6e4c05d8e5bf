// SPDX-License-Identifier: GPL-2.0-only
/* Is a module's memory an array by type? */
#include <linux/module.h>

unsigned long vmph_probe(struct module *mod);
unsigned long vmph_probe(struct module *mod)
{
	return (unsigned long)mod->mem[MOD_TEXT].base + mod->mem[MOD_TEXT].size;
}
