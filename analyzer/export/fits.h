/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fits.h - which ends of a sample's branches do not fit the code, for who hands out samples one by one.
 *
 * Judged as blocks are, by the set of all branches (blocks/set.h): it is made first, and only of a capture that has some.
 */
#ifndef VMP_FITS_H
#define VMP_FITS_H

#include "blocks/set.h"
#include "export/stream.h"

struct vmp_fits {
	struct vmp_set *set;	/* NULL: there are no branches */
	struct vmp_set_eye eye;
	/* of the sample that is looked at */
	struct vmp_set_sample seen;
	struct vmp_set_keys keys;
};

/* Of a branch: enum vmp_lack, by which an end is not to be shown; VMP_LACK_NR: nothing is known against it */
struct vmp_fit {
	uint8_t from, to;
};

/** vmp_fits_init() - Reads the capture.  @f: Zeroed.  Return: 0, -ENOMEM, -errno of reading. */
int vmp_fits_init(struct vmp_fits *f, struct vmp_model *m, const struct vmp_choice *c);
void vmp_fits_deinit(struct vmp_fits *f);

/**
 * vmp_fits_look() - The branches of a sample that has some.
 * @fit: As many; of host code that is no domain's, and of nested guests', nothing is known.
 * Return: 0 or -ENOMEM.
 */
int vmp_fits_look(struct vmp_fits *f, const struct vmp_lbr_sample *ls, struct vmp_fit *fit);

#endif
