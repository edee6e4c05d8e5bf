// SPDX-License-Identifier: GPL-2.0-only
/* flaw.c - the names of flaws. */
#include "blocks/flaw.h"

static const struct {
	const char *key, *text;
} flaws[VMP_FLAW_NR] = {
	[VMP_FLAW_NONE] = { "good", "good" },
	[VMP_FLAW_SWITCHED] = { "other_address_space", "user code from before a switch of address spaces" },
	[VMP_FLAW_UNKNOWN] = { "unknown_process", "of an unknown process" },
	[VMP_FLAW_UNMAPPED] = { "unmapped", "outside of any mapping" },
	[VMP_FLAW_DATA] = { "not_code", "in a file, but not in its code" },
	[VMP_FLAW_ANON] = { "anonymous", "code that lies in no file (JIT, the host's vdso)" },
	[VMP_FLAW_NO_FILE] = { "no_object", "the program's file is not in the object cache" },
	[VMP_FLAW_NOT_64] = { "not_64_bit", "code that is not of 64 bits, which is not decoded" },
	[VMP_FLAW_NO_KERNEL] = { "no_kernel_text", "the kernel's text is not here (--vmlinux, --host-vmlinux), or a module's" },
	[VMP_FLAW_OTHER_KERNEL] = { "other_kernel", "the file given for the kernel is not that which ran" },
	[VMP_FLAW_MIXED] = { "mixed", "begin in user code and end in the kernel, or in another file" },
	[VMP_FLAW_BACKWARD] = { "backward", "end before they begin" },
	[VMP_FLAW_LONG] = { "too_long", "longer than any straight code" },
	[VMP_FLAW_MIDDLE] = { "middle_of_instruction", "an address in the middle of an instruction" },
	[VMP_FLAW_PASSES] = { "passes_branch", "go on behind a jump or return" },
	[VMP_FLAW_NO_BRANCH] = { "no_branch", "end with an instruction that is no branch" },
	[VMP_FLAW_ELSEWHERE] = { "goes_elsewhere", "end with a branch that goes elsewhere in the code" },
};

const char *vmp_flaw_text(enum vmp_flaw flaw)
{
	return flaw < VMP_FLAW_NR ? flaws[flaw].text : "";
}

int vmp_flaw_unseen(enum vmp_flaw flaw)
{
	return flaw == VMP_FLAW_NO_FILE || flaw == VMP_FLAW_NOT_64 || flaw == VMP_FLAW_NO_KERNEL || flaw == VMP_FLAW_OTHER_KERNEL;
}

int vmp_flaw_in_code(enum vmp_flaw flaw)
{
	return flaw == VMP_FLAW_DATA || (flaw >= VMP_FLAW_MIXED && flaw < VMP_FLAW_NR);
}

const char *vmp_flaw_impossible(void)
{
	return "they cannot be: the code goes elsewhere there, or one of their ends is in the middle of an instruction";
}

const char *vmp_flaw_key(enum vmp_flaw flaw)
{
	return flaw < VMP_FLAW_NR ? flaws[flaw].key : "";
}
