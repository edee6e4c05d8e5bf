// SPDX-License-Identifier: GPL-2.0-only
/* xmlout.c - elements, attributes and text; numbers as XML Schema's decimals. */
#include "export/xmlout.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"

static void flush(struct vmp_xml *x)
{
	fwrite(x->buf, 1, x->used, x->out);
	x->used = 0;
}

/* Not by stdio, which took most of the time of a document */
static void add(struct vmp_xml *x, const void *text, size_t len)
{
	if (len > sizeof(x->buf) - x->used)
		flush(x);
	if (len > sizeof(x->buf)) {
		fwrite(text, 1, len, x->out);
		return;
	}
	memcpy(x->buf + x->used, text, len);
	x->used += len;
}

static void put(struct vmp_xml *x, const char *text)
{
	add(x, text, strlen(text));
}

static int is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '<' && c != '>' && c != '&' && c != '"';
}

static void escaped(struct vmp_xml *x, const char *s)
{
	const uint8_t *p = (const uint8_t *)s, *end = p + strlen(s), *run;
	char number[16];

	while (p < end) {
		uint32_t c;
		size_t n;

		for (run = p; p < end && is_plain(*p);)
			p++;
		add(x, run, (size_t)(p - run));
		if (p == end)
			break;
		n = vmp_utf8_char(p, (size_t)(end - p), &c);
		if (n == 1 && (c == '<' || c == '>' || c == '&' || c == '"')) {
			snprintf(number, sizeof(number), "&#%" PRIu32 ";", c);
			put(x, number);
		} else if (!n || c < 0xa0 || (c & 0xfffe) == 0xfffe) {
			put(x, "\xef\xbf\xbd");
		} else {
			add(x, p, n);
		}
		p += n ? n : 1;
	}
}

static void new_line(struct vmp_xml *x)
{
	static const char spaces[2 * VMP_XML_DEPTH_MAX + 1] = { '\n', [1 ... 2 * VMP_XML_DEPTH_MAX] = ' ' };

	if (x->indent)
		add(x, spaces, 1 + 2 * (size_t)x->depth);
}

static void close_tag(struct vmp_xml *x)
{
	if (x->in_tag)
		put(x, ">");
	x->in_tag = 0;
}

void vmp_xml_init(struct vmp_xml *x, FILE *out, int indent)
{
	memset(x, 0, sizeof(*x));
	x->out = out;
	x->indent = indent;
}

/* Not before there is something to say: a source that is refused leaves nothing. */
static void head(struct vmp_xml *x)
{
	put(x, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
	if (!x->indent)
		put(x, "\n");
	x->has_head = 1;
}

void vmp_xml_begin(struct vmp_xml *x, const char *name)
{
	if (!x->has_head)
		head(x);
	close_tag(x);
	new_line(x);
	put(x, "<");
	put(x, name);
	x->open[x->depth++] = name;
	x->in_tag = 1;
	x->has_text = 0;
}

void vmp_xml_attr(struct vmp_xml *x, const char *name, const char *value)
{
	put(x, " ");
	put(x, name);
	put(x, "=\"");
	escaped(x, value);
	put(x, "\"");
}

void vmp_xml_attr_u64(struct vmp_xml *x, const char *name, uint64_t value)
{
	char buf[32];

	snprintf(buf, sizeof(buf), "%" PRIu64, value);
	vmp_xml_attr(x, name, buf);
}

void vmp_xml_text(struct vmp_xml *x, const char *text)
{
	close_tag(x);
	escaped(x, text);
	x->has_text = 1;
}

void vmp_xml_end(struct vmp_xml *x)
{
	x->depth--;
	if (x->in_tag) {
		put(x, "/>");
		x->in_tag = 0;
	} else {
		if (!x->has_text)
			new_line(x);
		put(x, "</");
		put(x, x->open[x->depth]);
		put(x, ">");
	}
	x->has_text = 0;
	if (x->depth)
		return;
	put(x, "\n");
	flush(x);
}

void vmp_xml_item(struct vmp_xml *x, const char *name, const char *unit, const char *value)
{
	vmp_xml_begin(x, "item");
	vmp_xml_attr(x, "name", name);
	vmp_xml_begin(x, "data");
	vmp_xml_attr(x, "unit", unit);
	if (*value)
		vmp_xml_text(x, value);
	vmp_xml_end(x);
}

#define REMEMBERED	1024U	/* bytes of name and unit; escaped, they fit into the buffer */

/* As any other, and what it was but for its value is kept */
static void first_item(struct vmp_xml *x, struct vmp_xml_form *f, const char *name, const char *unit, const char *value)
{
	size_t len = strlen(value);

	close_tag(x);
	flush(x);
	vmp_xml_item(x, name, unit, value);
	f->before = x->used - sizeof("</data>") + 1 - len;
	vmp_xml_end(x);
	f->behind = x->used - f->before - len;
	if (len && strlen(name) + strlen(unit) <= REMEMBERED)
		f->text = malloc(f->before + f->behind);
	if (f->text) {
		memcpy(f->text, x->buf, f->before);
		memcpy(f->text + f->before, x->buf + f->before + len, f->behind);
	}
}

void vmp_xml_form_item(struct vmp_xml *x, struct vmp_xml_form *f, const char *name, const char *unit, const char *value)
{
	if (!f->text) {
		first_item(x, f, name, unit, value);
		return;
	}
	close_tag(x);
	add(x, f->text, f->before);
	put(x, value);
	add(x, f->text + f->before, f->behind);
}

void vmp_xml_form_free(struct vmp_xml_form *f)
{
	free(f->text);
}

void vmp_xml_count(struct vmp_xml *x, const char *name, uint64_t value)
{
	char buf[32];

	snprintf(buf, sizeof(buf), "%" PRIu64, value);
	vmp_xml_item(x, name, "counts", buf);
	vmp_xml_end(x);
}

void vmp_xml_real(struct vmp_xml *x, const char *name, const char *unit, double value)
{
	char buf[512];

	snprintf(buf, sizeof(buf), "%.6f", value);
	vmp_xml_item(x, name, unit, buf);
	vmp_xml_end(x);
}
