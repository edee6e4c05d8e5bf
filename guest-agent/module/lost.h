/* SPDX-License-Identifier: GPL-2.0-only */
/* lost.h - what was lost since the device was opened, by cause. */
#ifndef VMPG_LOST_H
#define VMPG_LOST_H

#include <linux/atomic.h>

#include "guest_uapi.h"

extern atomic64_t vmpg_lost_count[VMPROF_GLOST_NR];

/** vmpg_lost() - Count one loss.  Context: any. */
static inline void vmpg_lost(unsigned int cause)
{
	atomic64_inc(&vmpg_lost_count[cause]);
}

#endif
