// SPDX-License-Identifier: GPL-2.0-only
/* cubeanchor.c - anchor.xml of a .cubex: metrics, call paths, locations. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/cubex.h"
#include "import/source.h"

#define TEXT_MAX	1024
#define KEPT_MAX_MIB	256U

struct anchor {
	struct vmp_cube *c;
	struct vmp_source *s;
	uint32_t metric_depth, cnode_depth;
	enum { IN_NONE, IN_METRIC, IN_GROUP, IN_LOCATION } in;	/* whose name comes next */
	char tag[32];		/* of the innermost element */
	char text[TEXT_MAX];
	size_t len;
	uint64_t text_bytes;	/* of distinct names */
};

static const struct {
	const char *name;
	enum vmp_cube_type type;
	unsigned int bytes;
} types[] = {
	{ "DOUBLE", VMP_CUBE_REAL, 8 }, { "FLOAT", VMP_CUBE_REAL, 8 },
	{ "MINDOUBLE", VMP_CUBE_MIN, 8 }, { "MAXDOUBLE", VMP_CUBE_MAX, 8 },
	{ "UINT64", VMP_CUBE_UNSIGNED, 8 }, { "INT64", VMP_CUBE_SIGNED, 8 },
	{ "INTEGER", VMP_CUBE_SIGNED, 8 }, { "SIGNED INTEGER", VMP_CUBE_SIGNED, 8 },
	{ "UNSIGNED INTEGER", VMP_CUBE_UNSIGNED, 8 },
	{ "UINT32", VMP_CUBE_UNSIGNED, 4 }, { "UNSIGNED INT", VMP_CUBE_UNSIGNED, 4 },
	{ "INT32", VMP_CUBE_SIGNED, 4 }, { "INT", VMP_CUBE_SIGNED, 4 }, { "SIGNED INT", VMP_CUBE_SIGNED, 4 },
	{ "UINT16", VMP_CUBE_UNSIGNED, 2 }, { "UNSIGNED SHORT INT", VMP_CUBE_UNSIGNED, 2 },
	{ "INT16", VMP_CUBE_SIGNED, 2 }, { "SHORT INT", VMP_CUBE_SIGNED, 2 },
	{ "SIGNED SHORT INT", VMP_CUBE_SIGNED, 2 },
	{ "UINT8", VMP_CUBE_UNSIGNED, 1 }, { "CHAR", VMP_CUBE_UNSIGNED, 1 }, { "INT8", VMP_CUBE_SIGNED, 1 },
};

static void set_type(struct vmp_cube_metric *m, const char *name)
{
	size_t i;

	m->type = VMP_CUBE_OTHER;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!strcmp(name, types[i].name)) {
			m->type = types[i].type;
			m->bytes = types[i].bytes;
		}
	}
}

static uint64_t attr_number(struct anchor *a, const char *name)
{
	char buf[32];

	return vmp_source_attr(a->s, buf, sizeof(buf), name) ? strtoull(buf, NULL, 10) : 0;
}

/* "Id" today, "id" in older files */
static uint64_t id_of(struct anchor *a)
{
	char buf[32];

	return vmp_source_attr(a->s, buf, sizeof(buf), "Id") ? strtoull(buf, NULL, 10) : attr_number(a, "id");
}

static int is_group(const char *tag)
{
	return !strcmp(tag, "locationgroup") || !strcmp(tag, "process");
}

static int is_location(const char *tag)
{
	return !strcmp(tag, "location") || !strcmp(tag, "thread");
}

static int begin(struct anchor *a, const char *tag)
{
	struct vmp_cube *c = a->c;
	char buf[32];

	if (!strcmp(tag, "metric")) {
		struct vmp_cube_metric m = { .id = (uint32_t)attr_number(a, "id"), .depth = ++a->metric_depth,
					     .type = VMP_CUBE_OTHER };

		m.inclusive = vmp_source_attr(a->s, buf, sizeof(buf), "type") && !strcmp(buf, "INCLUSIVE");
		a->in = IN_METRIC;
		return vmp_vec_push(&c->metrics, m);
	}
	if (!strcmp(tag, "cnode")) {
		if (!a->cnode_depth++ && vmp_vec_push(&c->roots, c->cnodes))
			return -ENOMEM;
		c->cnodes++;
	} else if (is_group(tag)) {
		struct vmp_cube_group g = { .rank = id_of(a) };

		a->in = IN_GROUP;
		return vmp_vec_push(&c->groups, g);
	} else if (is_location(tag)) {
		struct vmp_cube_location l = { .id = id_of(a), .rank = id_of(a), .group = c->groups.nr - 1 };

		if (!c->groups.nr)
			return vmp_source_complain(a->s, "a location outside a process");
		a->in = IN_LOCATION;
		return vmp_vec_push(&c->locations, l);
	} else if (!strcmp(tag, "attr") && !a->in && !c->creator) {
		char value[TEXT_MAX];
		int err = 0;

		if (vmp_source_attr(a->s, buf, sizeof(buf), "key") && !strcmp(buf, "Creator") &&
		    vmp_source_attr(a->s, value, sizeof(value), "value"))
			c->creator = vmp_strings_add(&c->strings, value, strlen(value), &err);
		return err;
	}
	return 0;
}

static uint32_t *name_for(struct anchor *a, const char *tag)
{
	struct vmp_cube *c = a->c;

	if (a->in == IN_METRIC && !strcmp(tag, "uniq_name"))
		return &c->metrics.v[c->metrics.nr - 1].name;
	if (a->in == IN_METRIC && !strcmp(tag, "uom"))
		return &c->metrics.v[c->metrics.nr - 1].unit;
	if (a->in == IN_GROUP && !strcmp(tag, "name"))
		return &c->groups.v[c->groups.nr - 1].name;
	if (a->in == IN_LOCATION && !strcmp(tag, "name"))
		return &c->locations.v[c->locations.nr - 1].name;
	return NULL;
}

/* The text of an element that has no others in it */
static int leaf(struct anchor *a, const char *tag)
{
	struct vmp_cube *c = a->c;
	uint32_t *name = name_for(a, tag), known = c->strings.str.nr;
	int err = 0;

	a->text[a->len] = 0;
	if (name) {
		*name = vmp_strings_add(&c->strings, a->text, a->len, &err);
		a->text_bytes += c->strings.str.nr > known ? a->len + 1 : 0;
	} else if (a->in == IN_METRIC && !strcmp(tag, "dtype")) {
		set_type(&c->metrics.v[c->metrics.nr - 1], a->text);
	} else if (a->in == IN_GROUP && !strcmp(tag, "rank")) {
		c->groups.v[c->groups.nr - 1].rank = strtoull(a->text, NULL, 10);
	} else if (a->in == IN_LOCATION && !strcmp(tag, "rank")) {
		c->locations.v[c->locations.nr - 1].rank = strtoull(a->text, NULL, 10);
	}
	return err;
}

/* What is kept of all that was read */
static int check_bytes(struct anchor *a)
{
	const struct vmp_cube *c = a->c;
	uint64_t bytes = a->text_bytes + c->strings.str.nr * (sizeof(*c->strings.str.v) + 2 * sizeof(*c->strings.slots)) +
			 c->metrics.nr * sizeof(*c->metrics.v) + c->groups.nr * sizeof(*c->groups.v) +
			 c->locations.nr * sizeof(*c->locations.v) + c->roots.nr * sizeof(*c->roots.v);

	return bytes <= KEPT_MAX_MIB << 20 ? 0 :
	       vmp_source_complain(a->s, "more than %u MiB of names and numbers in %u metrics, %u processes, %u threads; "
				   "import a profile of fewer", KEPT_MAX_MIB, c->metrics.nr, c->groups.nr, c->locations.nr);
}

static int end(struct anchor *a, const char *tag)
{
	if (!strcmp(tag, a->tag)) {
		*a->tag = 0;
		if (a->in && a->len)
			return leaf(a, tag);
	}
	if (!strcmp(tag, "metric"))
		a->metric_depth--;
	else if (!strcmp(tag, "cnode"))
		a->cnode_depth--;
	if (!strcmp(tag, "metrics") || is_group(tag) || is_location(tag))
		a->in = IN_NONE;
	return 0;
}

static int node(struct anchor *a)
{
	xmlTextReaderPtr r = vmp_source_reader(a->s);
	const char *tag = (const char *)xmlTextReaderConstName(r), *text;
	int err;

	switch (xmlTextReaderNodeType(r)) {
	case XML_READER_TYPE_ELEMENT:
		a->len = 0;
		err = begin(a, tag);
		snprintf(a->tag, sizeof(a->tag), "%s", tag);
		return err || !xmlTextReaderIsEmptyElement(r) ? err : end(a, tag);
	case XML_READER_TYPE_END_ELEMENT:
		return end(a, tag);
	case XML_READER_TYPE_TEXT:
	case XML_READER_TYPE_CDATA:
		text = (const char *)xmlTextReaderConstValue(r);
		for (; text && *text && a->len + 1 < sizeof(a->text); text++)
			a->text[a->len++] = *text;
	}
	return 0;
}

/* Places in the rows must be 0 .. number - 1, each once. */
static int check_locations(struct vmp_cube *c)
{
	uint8_t *seen = calloc(c->locations.nr + 1, 1);
	uint32_t i;
	int err = seen ? 0 : -ENOMEM;

	for (i = 0; !err && i < c->locations.nr; i++) {
		uint64_t id = c->locations.v[i].id;

		if (id >= c->locations.nr || seen[id]++)
			err = vmp_cube_complain(c, "anchor.xml: locations are not numbered from 0 on");
	}
	free(seen);
	return err;
}

int vmp_cube_anchor(struct vmp_cube *c)
{
	const struct vmp_tar_member *m = vmp_tar_find(&c->tar, "anchor.xml");
	struct anchor a = { .c = c };
	int err;

	if (!m)
		return vmp_cube_complain(c, "the archive holds no anchor.xml");
	err = vmp_source_open(&a.s, c->fd, m->offset, m->bytes);
	if (err)
		return err;
	while ((err = vmp_source_next(a.s)) > 0) {
		err = node(&a);
		err = err ? err : check_bytes(&a);
		if (err)
			break;
	}
	if (err == -EBADMSG)
		vmp_cube_complain(c, "anchor.xml, %s", vmp_source_error(a.s));
	vmp_source_close(a.s);
	return err ? err : check_locations(c);
}
