/* SPDX-License-Identifier: GPL-2.0-only */
/* classes.h - which nodes of a graph reach each other. */
#ifndef VMP_CLASSES_H
#define VMP_CLASSES_H

#include <stdint.h>

struct vmp_graph {
	uint32_t nodes;
	const uint32_t *first;	/* of a node's edges; nodes + 1 */
	const uint32_t *to;	/* by edge; VMP_NONE: it leads nowhere */
};

/**
 * vmp_classes_find() - Strongly connected components.
 * @class_of: By node.
 * @classes:  Their number.
 * Return: 0 or -ENOMEM.
 */
int vmp_classes_find(const struct vmp_graph *g, uint32_t *class_of, uint32_t *classes);

#endif
