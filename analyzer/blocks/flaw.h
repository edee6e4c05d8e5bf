/* SPDX-License-Identifier: GPL-2.0-only */
/* flaw.h - why a branch or block is not used: counted by cause and shown, never guessed. */
#ifndef VMP_FLAW_H
#define VMP_FLAW_H

enum vmp_flaw {
	VMP_FLAW_NONE,
	VMP_FLAW_SWITCHED,	/* user code from before a switch of address spaces */
	VMP_FLAW_UNKNOWN,	/* whose address space it is was not told */
	VMP_FLAW_UNMAPPED,	/* outside of any mapping */
	VMP_FLAW_DATA,		/* in a file, but not in its code */
	VMP_FLAW_ANON,		/* code that lies in no file */
	VMP_FLAW_NO_FILE,	/* the file is not in the object cache */
	VMP_FLAW_NOT_64,	/* the file's code is not of 64 bits: its instructions are other ones */
	VMP_FLAW_NO_KERNEL,	/* a kernel whose text is not here */
	VMP_FLAW_OTHER_KERNEL,	/* the file that was given is another kernel than that which ran */
	VMP_FLAW_MIXED,		/* begins in user code and ends in the kernel, or in another file */
	VMP_FLAW_BACKWARD,	/* ends before it begins */
	VMP_FLAW_LONG,		/* no straight code is so long */
	VMP_FLAW_MIDDLE,	/* an address in the middle of an instruction */
	VMP_FLAW_PASSES,	/* goes on behind a jump or return */
	VMP_FLAW_NO_BRANCH,	/* ends with an instruction that does not branch there */
	VMP_FLAW_ELSEWHERE,	/* ends with a branch that names another address than where it went */
	VMP_FLAW_NR
};

/** vmp_flaw_text() - "an address in the middle of an instruction"; what it is of is said before it. */
const char *vmp_flaw_text(enum vmp_flaw flaw);

/** vmp_flaw_unseen() - Is it only that the code is not here? */
int vmp_flaw_unseen(enum vmp_flaw flaw);

/** vmp_flaw_in_code() - Does code that is here, or where its parts lie, say so, and not only that it is not known what ran? */
int vmp_flaw_in_code(enum vmp_flaw flaw);

/** vmp_flaw_impossible() - Of branches that are left out: why they cannot be. */
const char *vmp_flaw_impossible(void);

/** vmp_flaw_key() - "middle_of_instruction" */
const char *vmp_flaw_key(enum vmp_flaw flaw);

#endif
