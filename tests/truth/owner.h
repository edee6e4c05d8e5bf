/* SPDX-License-Identifier: GPL-2.0-only */
/* owner.h - whose user code the emulator counted. */
#ifndef TRUTH_OWNER_H
#define TRUTH_OWNER_H

#include "exact.h"
#include "model/model.h"

/** owner_of() - The image that ran in a guest's space, or VMP_NONE: who had ended before is not it, and nobody told of the next. */
static inline uint32_t owner_of(const struct vmp_machine *vm, const struct exact_space *s)
{
	const uint32_t image = vmp_space_owner(&vm->space, s->cr3, s->last_tsc);
	uint64_t end;

	if (image == VMP_NONE)
		return VMP_NONE;
	end = vm->space.images.v[image].end;
	return s->last_tsc > end && s->last_tsc - end > vm->clock.error_tsc ? VMP_NONE : image;
}

#endif
