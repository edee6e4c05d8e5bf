// SPDX-License-Identifier: GPL-2.0-only
/*
 * kvm_modules.c - which KVM module is loaded, and what its parameters say.
 *
 * Modules are looked up by name in the kernel's own set of module objects, of
 * which ours is one: find_module() is not for modules.
 */
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <vmprof/uapi.h>
#include "../branches.h"
#include "compat.h"

static bool vmph_module_present(const char *name)
{
	struct kobject *kobj = kset_find_obj(THIS_MODULE->mkobj.kobj.kset, name);

	kobject_put(kobj);
	return kobj;
}

struct module *vmph_module_get(const char *name)
{
	struct kobject *kobj = kset_find_obj(THIS_MODULE->mkobj.kobj.kset, name);
	struct module *mod;

	if (!kobj)
		return NULL;
	/* the object keeps struct module alive until we hold that itself */
	mod = container_of(kobj, struct module_kobject, kobj)->mod;
	if (mod && !try_module_get(mod))
		mod = NULL;
	kobject_put(kobj);
	return mod;
}

void vmph_module_text(const struct module *mod, struct vmph_text *text)
{
#ifdef VMPH_HAVE_MODULE_MEM
	text->start = (unsigned long)mod->mem[MOD_TEXT].base;
	text->end = text->start + mod->mem[MOD_TEXT].size;
#else
	text->start = (unsigned long)mod->core_layout.base;
	text->end = text->start + mod->core_layout.text_size;
#endif
}

u8 vmph_kvm_vendor(void)
{
	if (vmph_module_present("kvm_amd"))
		return VMPROF_VENDOR_SVM;
	if (vmph_module_present("kvm_intel"))
		return VMPROF_VENDOR_VMX;
	return VMPROF_VENDOR_NONE;
}

static bool vmph_param_is_yes(struct module *mod, const char *name)
{
	bool yes = false;
	unsigned int i;
	char *text;

	text = kzalloc(PAGE_SIZE, GFP_KERNEL);
	if (!text)
		return false;
	kernel_param_lock(mod);
	for (i = 0; i < mod->num_kp; i++) {
		const struct kernel_param *kp = &mod->kp[i];

		if (!strcmp(kp->name, name) && kp->ops->get && kp->ops->get(text, kp) > 0)
			yes = text[0] == 'Y' || text[0] == '1';
	}
	kernel_param_unlock(mod);
	kfree(text);
	return yes;
}

bool vmph_kvm_mediated_pmu(void)
{
	static const char * const names[] = { "kvm", "kvm_amd", "kvm_intel" };
	bool yes = false;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct module *mod = vmph_module_get(names[i]);

		if (!mod)
			continue;
		yes |= vmph_param_is_yes(mod, "enable_mediated_pmu");
		module_put(mod);
	}
	return yes;
}
