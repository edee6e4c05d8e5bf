// SPDX-License-Identifier: GPL-2.0-only
/* Are a mapping's flags set and cleared by accessors? */
#include <linux/mm.h>

void vmph_probe(struct vm_area_struct *vma);
void vmph_probe(struct vm_area_struct *vma)
{
	vm_flags_set(vma, VM_DONTCOPY);
	vm_flags_clear(vma, VM_MAYWRITE);
}
