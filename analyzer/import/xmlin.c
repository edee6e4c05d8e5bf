// SPDX-License-Identifier: GPL-2.0-only
/* xmlin.c - one table says which element stands where, and with which attributes. */
#include "import/xmlin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"

#define VALUE_MAX	64
#define ATTR_MAX	4096
#define ATTRS		8	/* of an element */

enum kind { PERFORMANCE, PROCESS, THREAD, CATEGORY, ITEM, DATA, NONE };

static const struct {
	const char *name;
	unsigned int parents;	/* bits of kinds */
	const char *required;
	const char *attrs[ATTRS];
} elements[] = {
	[PERFORMANCE] = { "performance", 1U << NONE, "", { "version", "generator", "host", "event", "period", "random", "cpi_estimator",
			  "seconds" } },
	[PROCESS] = { "process", 1U << PERFORMANCE, "id", { "id", "name", "kind", "domain" } },
	[THREAD] = { "thread", 1U << PROCESS, "id", { "id", "name", "kind" } },
	[CATEGORY] = { "category", 1U << THREAD, "name", { "name" } },
	[ITEM] = { "item", 1U << CATEGORY | 1U << ITEM, "name", { "name" } },
	[DATA] = { "data", 1U << ITEM, "unit", { "unit" } },
};

struct copy {
	struct vmp_source *s;
	struct vmp_xml *x;
	enum kind open[VMP_XML_DEPTH_MAX];
	int depth;
	int made_root, made_category;	/* by us: the document has none */
	int item_has_data[VMP_XML_DEPTH_MAX];
	char value[VALUE_MAX];		/* of the data element */
	size_t value_len;
};

static enum kind top(const struct copy *c)
{
	return c->depth ? c->open[c->depth - 1] : NONE;
}

static void push(struct copy *c, enum kind k)
{
	c->open[c->depth++] = k;
	vmp_xml_begin(c->x, elements[k].name);
}

static void pop(struct copy *c)
{
	c->depth--;
	vmp_xml_end(c->x);
}

/* What the paper's form leaves out */
static void fill_in(struct copy *c, enum kind k)
{
	if (k == PROCESS && top(c) == NONE) {
		push(c, PERFORMANCE);
		vmp_xml_attr(c->x, "version", "1");
		c->made_root = 1;
	}
	if (k == ITEM && top(c) == THREAD) {
		push(c, CATEGORY);
		vmp_xml_attr(c->x, "name", "uncategorized");
		c->made_category = 1;
	}
	if (k == CATEGORY && c->made_category && top(c) == CATEGORY) {
		pop(c);
		c->made_category = 0;
	}
}

static int begin(struct copy *c)
{
	const char *name = (const char *)xmlTextReaderConstName(vmp_source_reader(c->s));
	char value[ATTR_MAX], safe[64];
	enum kind k;
	int i;

	for (k = PERFORMANCE; k < NONE && strcmp(name, elements[k].name);)
		k++;
	vmp_text(safe, sizeof(safe), name, strlen(name));
	if (k == NONE)
		return vmp_source_complain(c->s, "no element <%s> belongs there", safe);
	fill_in(c, k);
	if (!(elements[k].parents >> top(c) & 1) || c->depth == VMP_XML_DEPTH_MAX)
		return vmp_source_complain(c->s, "an element <%s> does not belong there", safe);
	if (k == DATA && c->item_has_data[c->depth - 1]++)
		return vmp_source_complain(c->s, "an item has two <data>");
	if (k == ITEM && top(c) == ITEM && !c->item_has_data[c->depth - 1])
		return vmp_source_complain(c->s, "an item's <data> comes before the items in it");
	if (*elements[k].required && !vmp_source_attr(c->s, value, sizeof(value), elements[k].required))
		return vmp_source_complain(c->s, "<%s> needs the attribute %s", safe, elements[k].required);
	push(c, k);
	c->item_has_data[c->depth - 1] = 0;
	for (i = 0; i < ATTRS && elements[k].attrs[i]; i++)
		if (vmp_source_attr(c->s, value, sizeof(value), elements[k].attrs[i]))
			vmp_xml_attr(c->x, elements[k].attrs[i], value);
	c->value_len = 0;
	return 0;
}

static int text(struct copy *c)
{
	const char *p = (const char *)xmlTextReaderConstValue(vmp_source_reader(c->s));

	for (; p && *p; p++) {
		int blank = *p == ' ' || *p == '\t' || *p == '\n' || *p == '\r';

		if (blank)
			continue;
		if (top(c) != DATA)
			return vmp_source_complain(c->s, "text stands only in <data>");
		if (c->value_len + 1 == sizeof(c->value))
			return vmp_source_complain(c->s, "a number is too long");
		c->value[c->value_len++] = *p;
	}
	return 0;
}

static int end(struct copy *c)
{
	char *rest;

	if (top(c) == CATEGORY && c->made_category) {	/* the thread ends */
		pop(c);
		c->made_category = 0;
	}
	if (top(c) == DATA && c->value_len) {
		c->value[c->value_len] = 0;
		strtod(c->value, &rest);
		if (*rest || strspn(c->value, "+-.0123456789eE") != c->value_len)
			return vmp_source_complain(c->s, "<data> holds no number");
		vmp_xml_text(c->x, c->value);
		c->value_len = 0;
	}
	if (top(c) == ITEM && !c->item_has_data[c->depth - 1])
		return vmp_source_complain(c->s, "an item has no <data>");
	pop(c);
	return 0;
}

static int node(struct copy *c)
{
	xmlTextReaderPtr r = vmp_source_reader(c->s);
	int err;

	switch (xmlTextReaderNodeType(r)) {
	case XML_READER_TYPE_ELEMENT:
		err = begin(c);
		/* <data/> has no end of its own */
		return err || !xmlTextReaderIsEmptyElement(r) ? err : end(c);
	case XML_READER_TYPE_END_ELEMENT:
		return end(c);
	case XML_READER_TYPE_TEXT:
	case XML_READER_TYPE_CDATA:
		return text(c);
	}
	return 0;
}

int vmp_xmlin_copy(struct vmp_source *s, struct vmp_xml *x)
{
	struct copy c = { .s = s, .x = x };
	int ret;

	while ((ret = vmp_source_next(s)) > 0) {
		ret = node(&c);
		if (ret)
			return ret;
	}
	if (!ret && c.made_root)
		pop(&c);
	return ret;
}
