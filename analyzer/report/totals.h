/* SPDX-License-Identifier: GPL-2.0-only */
/* totals.h - what a domain's samples say of it as a whole: counted alike for reports and for the page. */
#ifndef VMP_TOTALS_H
#define VMP_TOTALS_H

#include "report/gather.h"
#include "report/profile.h"

/** vmp_totals_weigh() - What CPI is made of, into a row whose side is set; not for time that is others'. */
void vmp_totals_weigh(const struct vmp_model *m, const struct vmp_gather_space *s, const struct vmp_gathered *g,
		      struct vmp_row *row);

/**
 * vmp_totals_add() - Count a weighed row's samples, side and pid in its domain.
 * @aside: The sample tells of what the guest had done before, not of its time.
 */
void vmp_totals_add(const struct vmp_model *m, struct vmp_domain *d, const struct vmp_gather_space *s,
		    const struct vmp_place *place, const struct vmp_row *row, int aside);

#endif
