/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stream.h - the samples of a capture one by one, in order of time, each with its function.
 *
 * Nothing is kept of a sample that has been handed out.  The capture is read
 * twice: where each file is mapped lowest is known when all was seen.  Before that
 * it is read for branches (see fits.h), of which those that do not fit the code are left out.
 */
#ifndef VMP_STREAM_H
#define VMP_STREAM_H

#include "blocks/flaw.h"
#include "export/table.h"

struct vmp_file_place;
struct vmp_lbr;

/* Whose samples they are; the same one for all that have this in common */
struct vmp_whose {
	uint32_t vm;		/* number in the model; VMP_NONE the host */
	uint32_t comm;		/* string number; 0 steal and idle */
	uint32_t pid;		/* VMP_NONE: none, or not known */
	uint32_t tid;		/* of the guest, where the choice has threads; VMP_NONE: none, or not known */
	uint32_t track_kind, track_id;
	enum vmp_side side;
	char *note;		/* the receiver's, from malloc(); freed at the end */
};

struct vmp_streamed {
	uint64_t ns;		/* since the session's start */
	uint64_t address;	/* in a file: as where that is mapped lowest */
	uint32_t function;	/* string numbers */
	uint32_t file;		/* its path; where it is in none the module */
	struct vmp_whose *whose;
	char **note;		/* the receiver's, of function and file, from malloc(); NULL: they have just this address */
	const struct vmp_lbr *lbr;	/* NULL: without; addresses as above, 0 one that is lacking */
};

/* Why an address of a branch is lacking; of both the first one */
enum vmp_lack {
	VMP_LACK_SWITCHED,	/* user code from before a switch of address spaces */
	VMP_LACK_OWNER,		/* user code of which it is not known whose */
	VMP_LACK_FILE,		/* it lies in no file that is mapped there */
	VMP_LACK_SAMPLES,	/* ... in one in which no sample was taken: it has no place */
	VMP_LACK_IMPOSSIBLE,	/* the branch cannot be */
	VMP_LACK_FLAW,		/* more a flaw: the step that ends with it is not used, or it leads to no code */
	VMP_LACK_BESIDE = VMP_LACK_FLAW + VMP_FLAW_NR,	/* between it and what is lacking beside it code did not run straight on */
	VMP_LACK_NR
};

struct vmp_stream_losses {
	uint64_t late;			/* samples that came too late to be put in order (see order.h) */
	uint64_t lack[VMP_LACK_NR];	/* branches that lack an end, or are left out as they lack both */
};

/** vmp_lack_text() - "user code of an unknown process" */
const char *vmp_lack_text(enum vmp_lack lack);

/* Who gets them */
struct vmp_stream_to {
	/* first of all each file in which chosen samples were taken, where it is mapped lowest; or NULL */
	void (*mapped)(void *arg, const struct vmp_file_place *f);
	int (*sample)(void *arg, const struct vmp_streamed *s);	/* a non-zero result ends the run */
	void *arg;
	int branches;	/* without any in the capture there is nothing to hand out: -ENODATA */
};

/**
 * vmp_stream() - The chosen samples; @c->addresses and @c->samples do not matter.
 * @losses: Zeroed; what of them is not as it was recorded.
 *
 * Return: 0, the result of @to->sample, -ENODATA (see there), -ENOMEM, -errno of reading.
 */
int vmp_stream(struct vmp_model *m, const struct vmp_choice *c, const struct vmp_stream_to *to,
	       struct vmp_stream_losses *losses);

#endif
