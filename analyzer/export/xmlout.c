// SPDX-License-Identifier: GPL-2.0-only
/* xmlout.c - elements, attributes and text; numbers as XML Schema's decimals. */
#include "export/xmlout.h"

#include <inttypes.h>
#include <string.h>

#include "util/text.h"

static int is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '<' && c != '>' && c != '&' && c != '"';
}

static void escaped(FILE *out, const char *s)
{
	const uint8_t *p = (const uint8_t *)s, *end = p + strlen(s), *run;

	while (p < end) {
		uint32_t c;
		size_t n;

		for (run = p; p < end && is_plain(*p);)
			p++;
		fwrite(run, 1, (size_t)(p - run), out);
		if (p == end)
			break;
		n = vmp_utf8_char(p, (size_t)(end - p), &c);
		if (n == 1 && (c == '<' || c == '>' || c == '&' || c == '"'))
			fprintf(out, "&#%" PRIu32 ";", c);
		else if (!n || c < 0xa0 || (c & 0xfffe) == 0xfffe)
			fputs("\xef\xbf\xbd", out);
		else
			fwrite(p, 1, n, out);
		p += n ? n : 1;
	}
}

/* Not by fprintf(), which took most of the time of a document */
static void put(struct vmp_xml *x, const char *a, const char *b, const char *c)
{
	fputs(a, x->out);
	fputs(b, x->out);
	fputs(c, x->out);
}

static void new_line(struct vmp_xml *x)
{
	static const char spaces[2 * VMP_XML_DEPTH_MAX + 1] = { [0 ... 2 * VMP_XML_DEPTH_MAX] = ' ' };

	if (x->indent) {
		fputc('\n', x->out);
		fwrite(spaces, 1, 2 * (size_t)x->depth, x->out);
	}
}

static void close_tag(struct vmp_xml *x)
{
	if (x->in_tag)
		fputc('>', x->out);
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
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>", x->out);
	if (!x->indent)
		fputc('\n', x->out);
	x->has_head = 1;
}

void vmp_xml_begin(struct vmp_xml *x, const char *name)
{
	if (!x->has_head)
		head(x);
	close_tag(x);
	new_line(x);
	put(x, "<", name, "");
	x->open[x->depth++] = name;
	x->in_tag = 1;
	x->has_text = 0;
}

void vmp_xml_attr(struct vmp_xml *x, const char *name, const char *value)
{
	put(x, " ", name, "=\"");
	escaped(x->out, value);
	fputc('"', x->out);
}

void vmp_xml_attr_u64(struct vmp_xml *x, const char *name, uint64_t value)
{
	fprintf(x->out, " %s=\"%" PRIu64 "\"", name, value);
}

void vmp_xml_text(struct vmp_xml *x, const char *text)
{
	close_tag(x);
	escaped(x->out, text);
	x->has_text = 1;
}

void vmp_xml_end(struct vmp_xml *x)
{
	x->depth--;
	if (x->in_tag) {
		fputs("/>", x->out);
		x->in_tag = 0;
	} else {
		if (!x->has_text)
			new_line(x);
		put(x, "</", x->open[x->depth], ">");
	}
	x->has_text = 0;
	if (!x->depth)
		fputc('\n', x->out);
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
