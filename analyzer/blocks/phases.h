/* SPDX-License-Identifier: GPL-2.0-only */
/* phases.h - which starts of blocks run mixed with which. */
#ifndef VMP_PHASES_H
#define VMP_PHASES_H

#include "blocks/set.h"

/**
 * vmp_phases_find() - Put starts into phases.
 * @phase_of: By point; VMP_NONE where no block begins.
 * @phases:   Their number.
 * Return: 0 or -ENOMEM.
 */
int vmp_phases_find(const struct vmp_set *set, uint32_t *phase_of, uint32_t *phases);

#endif
