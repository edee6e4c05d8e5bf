/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * xmlout.h - the open XML of performance data: process, thread, category, item, data.
 *
 * Schema: docs/performance.xsd.  Written as it goes, compact or indented; what
 * XML cannot hold (control characters, bytes that are no UTF-8) becomes U+FFFD.
 */
#ifndef VMP_XMLOUT_H
#define VMP_XMLOUT_H

#include <stdint.h>
#include <stdio.h>

#define VMP_XML_DEPTH_MAX	64
#define VMP_XML_BUFFER	(64U << 10)

struct vmp_xml {
	FILE *out;		/* gets what is written in large pieces, the last at the document's end */
	char buf[VMP_XML_BUFFER];
	size_t used;		/* of buf */
	int indent;
	int depth;
	int has_head;
	int in_tag;		/* the begin tag is not closed yet */
	int has_text;		/* the element holds text: nothing is indented */
	const char *open[VMP_XML_DEPTH_MAX];
};

/** vmp_xml_init() - A document; nothing is written before its first element. */
void vmp_xml_init(struct vmp_xml *x, FILE *out, int indent);

/** vmp_xml_begin() - Begin an element; @name lives until its end, depth < VMP_XML_DEPTH_MAX. */
void vmp_xml_begin(struct vmp_xml *x, const char *name);

/** vmp_xml_attr() - Attribute of the element just begun. */
void vmp_xml_attr(struct vmp_xml *x, const char *name, const char *value);
void vmp_xml_attr_u64(struct vmp_xml *x, const char *name, uint64_t value);

/** vmp_xml_text() - Text in the element. */
void vmp_xml_text(struct vmp_xml *x, const char *text);

/** vmp_xml_end() - End the innermost element. */
void vmp_xml_end(struct vmp_xml *x);

/** vmp_xml_item() - Begin an item with its data; the caller ends it (others may nest inside). */
void vmp_xml_item(struct vmp_xml *x, const char *name, const char *unit, const char *value);

/* What stands around the value of an item that many threads have.  Zeroed: nobody has had it yet */
struct vmp_xml_form {
	char *text;		/* as it was written the first time, but for the value ... */
	size_t before, behind;	/* ... so many bytes before it, and behind it */
};

/** vmp_xml_form_item() - A whole item: of @f, name, unit, depth and a number as value are always given alike. */
void vmp_xml_form_item(struct vmp_xml *x, struct vmp_xml_form *f, const char *name, const char *unit, const char *value);
void vmp_xml_form_free(struct vmp_xml_form *f);

/** vmp_xml_count(), vmp_xml_real() - A whole item: a count; a number of @unit. */
void vmp_xml_count(struct vmp_xml *x, const char *name, uint64_t value);
void vmp_xml_real(struct vmp_xml *x, const char *name, const char *unit, double value);

#endif
