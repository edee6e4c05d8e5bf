/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * xmlin.h - open XML of performance data, read and written again as its schema wants it.
 *
 * Taken are vmprof's own files and the form of the format's paper: a process
 * as the root, items without a category.  Memory does not grow with the file.
 */
#ifndef VMP_XMLIN_H
#define VMP_XMLIN_H

#include "export/xmlout.h"
#include "import/source.h"

/** vmp_xmlin_copy() - Return: 0, -EBADMSG (vmp_source_error()), -errno of reading. */
int vmp_xmlin_copy(struct vmp_source *s, struct vmp_xml *x);

#endif
