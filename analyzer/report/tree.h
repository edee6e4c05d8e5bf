/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tree.h - the rows of a profile as a tree: domains, and below them what a
 * list of keys says.  Children are made when they are asked for, so that a
 * tree costs what is looked at.
 */
#ifndef VMP_TREE_H
#define VMP_TREE_H

#include "report/profile.h"

struct vmp_node {
	struct vmp_row row;	/* its own key and those above it; sums of the measures */
	uint32_t domain;	/* number in the profile */
	uint32_t parent;	/* VMP_NONE: a domain */
	uint32_t depth;		/* 0: a domain; else levels.column[depth - 1] tells it apart */
	uint32_t first, nr;	/* its children are consecutive; once opened */
	int opened;
	uint32_t from, to;	/* in the domain's order: the rows that it is the sum of */
};

struct vmp_tree {
	const struct vmp_profile *p;
	const struct vmp_options *o;
	struct vmp_column_list levels;
	VMP_VEC(struct vmp_node) nodes;		/* first the domains */
	uint32_t **order;	/* of each domain: its rows */
	uint32_t *rank;		/* of strings */
};

/**
 * vmp_tree_create() - Domains, closed.
 * @p, @o:  Borrowed; rows are told apart by the keys of @levels at least.
 * @levels: Keys from the domain down; the domain itself among them is passed over.
 * Return: 0 or -ENOMEM.
 */
int vmp_tree_create(struct vmp_tree **t, const struct vmp_profile *p, const struct vmp_options *o,
		    const struct vmp_column_list *levels);
void vmp_tree_destroy(struct vmp_tree *t);

/** vmp_tree_open() - Make a node's children; they may move all nodes.  Return: 0 or -ENOMEM. */
int vmp_tree_open(struct vmp_tree *t, uint32_t node);

/** vmp_tree_column() - What tells a node from its siblings. */
enum vmp_column vmp_tree_column(const struct vmp_tree *t, const struct vmp_node *n);

/** vmp_tree_is_leaf() - 1 when nothing can be below it. */
int vmp_tree_is_leaf(const struct vmp_tree *t, const struct vmp_node *n);

/** vmp_tree_label() - The node's value, a foreign string; @buf: 64 bytes. */
const char *vmp_tree_label(const struct vmp_tree *t, const struct vmp_node *n, char *buf);

/** vmp_tree_is_small() - 1 when the share of a node, and of two captures in both, is less than @percent. */
int vmp_tree_is_small(const struct vmp_domain *d, const struct vmp_row *row, double percent);

/** vmp_tree_domain() - The domain that a node is in. */
static inline const struct vmp_domain *vmp_tree_domain(const struct vmp_tree *t, const struct vmp_node *n)
{
	return &t->p->domains.v[n->domain];
}

#endif
