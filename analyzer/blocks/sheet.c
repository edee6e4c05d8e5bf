// SPDX-License-Identifier: GPL-2.0-only
/* sheet.c - see sheet.h. */
#include "blocks/sheet.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/render.h"
#include "util/csv.h"
#include "util/log.h"
#include "util/text.h"

#define COLUMNS_MAX	32
#define KEYS_MAX	8
#define CELL_BYTES	2048
#define TEXT_MAX	48	/* places of a text in a file; a longer one pushes its line */
#define TEXT_MIN	8
#define TEXT_GOOD	24	/* so much of a text is worth more than a column that is spare */

/* ------------------------------------------------------------------ order */

struct order {
	const struct vmp_sheet *s;
	int column[KEYS_MAX], up[KEYS_MAX], nr;
	int key;		/* the one that counts now */
};

static int is_absent(const struct vmp_sheet *s, int column)
{
	return (int)(s->absent >> column & 1);
}

static int find(const struct vmp_sheet *s, const char *key, size_t len)
{
	int i;

	for (i = 0; i < s->nr; i++)
		if (!is_absent(s, i) && strlen(s->columns[i].key) == len && !strncmp(s->columns[i].key, key, len))
			return i;
	return -1;
}

static void unknown(const struct vmp_sheet *s, const char *key, size_t len)
{
	char safe[128], names[512] = "";
	size_t n = 0;
	int i;

	for (i = 0; i < s->nr && n < sizeof(names); i++)
		if (!is_absent(s, i))
			n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "", s->columns[i].key);
	vmp_err("--sort: no column is called '%s'; there are %s", vmp_text(safe, sizeof(safe), key, len), names);
}

static int parse(struct order *o, const char *keys)
{
	const char *p = keys, *end, *colon;

	for (; *p; p = *end ? end + 1 : end) {
		size_t len;

		end = p + strcspn(p, ",");
		colon = memchr(p, ':', (size_t)(end - p));
		len = (size_t)((colon ? colon : end) - p);
		if (o->nr == KEYS_MAX) {
			vmp_err("--sort takes up to %d columns", KEYS_MAX);
			return -EINVAL;
		}
		o->column[o->nr] = find(o->s, p, len);
		if (o->column[o->nr] < 0) {
			unknown(o->s, p, len);
			return -EINVAL;
		}
		o->up[o->nr] = o->s->columns[o->column[o->nr]].kind != VMP_SHEET_REAL;
		if (colon) {
			o->up[o->nr] = end - colon == 4 && !strncmp(colon, ":asc", 4);
			if (!o->up[o->nr] && !(end - colon == 5 && !strncmp(colon, ":desc", 5))) {
				vmp_err("--sort: behind a column comes :asc or :desc");
				return -EINVAL;
			}
		}
		o->nr++;
	}
	return 0;
}

static int cmp_real(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(b) - isnan(a);
	return a < b ? -1 : a > b;
}

static int compare_texts(const struct vmp_sheet *s, int column, uint32_t a, uint32_t b)
{
	char text[CELL_BYTES];
	struct vmp_sheet_cell x, y;

	s->cell(s->arg, a, column, &x);
	snprintf(text, sizeof(text), "%s", x.text);	/* the next call may use its memory again */
	s->cell(s->arg, b, column, &y);
	return strcmp(text, y.text);
}

/* A row, and the number that it is put in order by */
struct place {
	uint32_t row, at;
	union {
		double real;
		uint64_t hex;
	} key;
};

static enum vmp_sheet_kind kind_of(const struct order *o)
{
	return o->s->columns[o->column[o->key]].kind;
}

static int compare(const struct order *o, const struct place *a, const struct place *b)
{
	switch (kind_of(o)) {
	case VMP_SHEET_TEXT:
		return compare_texts(o->s, o->column[o->key], a->row, b->row);
	case VMP_SHEET_HEX:
		return a->key.hex < b->key.hex ? -1 : a->key.hex > b->key.hex;
	case VMP_SHEET_REAL:
		return cmp_real(a->key.real, b->key.real);
	}
	return 0;
}

static int by_key(const void *pa, const void *pb, void *arg)
{
	const struct place *a = pa, *b = pb;
	const struct order *o = arg;
	int d = compare(o, a, b);

	if (d)
		return o->up[o->key] ? d : -d;
	return a->at < b->at ? -1 : a->at > b->at;
}

static void take_keys(const struct order *o, struct place *p, uint32_t nr)
{
	struct vmp_sheet_cell cell;
	uint32_t i;

	for (i = 0; kind_of(o) != VMP_SHEET_TEXT && i < nr; i++) {
		o->s->cell(o->s->arg, p[i].row, o->column[o->key], &cell);
		if (kind_of(o) == VMP_SHEET_HEX)
			p[i].key.hex = cell.hex;
		else
			p[i].key.real = cell.real;
	}
}

/* By one key; then those that are the same by the next one, as far as they are shown */
static void sort_by(struct order *o, struct place *p, uint32_t nr, uint64_t shown)
{
	uint32_t i, end;

	if (nr < 2 || o->key == o->nr)
		return;
	take_keys(o, p, nr);
	qsort_r(p, nr, sizeof(*p), by_key, o);
	for (i = 0; i < nr && i < shown; i = end) {
		for (end = i + 1; end < nr && !compare(o, &p[i], &p[end]); end++)
			;
		o->key++;
		sort_by(o, &p[i], end - i, shown - i);
		o->key--;
	}
}

int vmp_sheet_sort(struct vmp_sheet *s, const char *keys, uint64_t limit)
{
	struct place *p = malloc(((size_t)s->nr_rows + 1) * sizeof(*p));
	struct order o = { .s = s };
	uint32_t i;
	int err = p ? parse(&o, keys) : -ENOMEM;

	for (i = 0; !err && i < s->nr_rows; i++)
		p[i] = (struct place){ .row = s->rows[i], .at = i };
	if (!err)
		sort_by(&o, p, s->nr_rows, limit ? limit : UINT64_MAX);
	for (i = 0; !err && i < s->nr_rows; i++)
		s->rows[i] = p[i].row;
	free(p);
	return err;
}

static uint32_t rows_within(const struct vmp_sheet *s, uint64_t limit)
{
	return limit && limit < s->nr_rows ? (uint32_t)limit : s->nr_rows;
}

/* ------------------------------------------------------------------- text */

static int shown(const struct vmp_sheet *s, int column)
{
	return !(s->columns[column].flags & VMP_SHEET_HIDDEN) && !(s->hidden >> column & 1) && !is_absent(s, column);
}

/* A cell as it is shown; safe.  Return: its places */
static int render(const struct vmp_sheet *s, uint32_t row, int column, char buf[CELL_BYTES])
{
	const struct vmp_sheet_column *c = &s->columns[column];
	struct vmp_sheet_cell cell = { 0 };

	s->cell(s->arg, row, column, &cell);
	switch (c->kind) {
	case VMP_SHEET_TEXT:
		vmp_text(buf, CELL_BYTES, cell.text, strlen(cell.text));
		break;
	case VMP_SHEET_HEX:
		snprintf(buf, CELL_BYTES, cell.hex ? "%" PRIx64 : "-", cell.hex);
		break;
	case VMP_SHEET_REAL:
		snprintf(buf, CELL_BYTES, isnan(cell.real) ? "-" : "%.*f", c->digits, cell.real);
	}
	return vmp_text_width(buf);
}

struct layout {
	int width[COLUMNS_MAX];
};

/* @text: of a text no more than that counts */
static int line_width(const struct vmp_sheet *s, const struct layout *l, int text)
{
	int i, sum = -2;

	for (i = 0; i < s->nr; i++)
		if (shown(s, i))
			sum += (s->columns[i].kind == VMP_SHEET_TEXT && l->width[i] > text ? text : l->width[i]) + 2;
	return sum;
}

static unsigned int most_spare(const struct vmp_sheet *s)
{
	unsigned int most = 0;
	int i;

	for (i = 0; i < s->nr; i++)
		if (shown(s, i) && s->columns[i].spare > most)
			most = s->columns[i].spare;
	return most;
}

/* Columns that are spare give way on a terminal.  Return: how many do. */
static int narrow(struct vmp_sheet *s, const struct layout *l, int width)
{
	unsigned int most;
	int i, left_out = 0;

	while (width && line_width(s, l, TEXT_GOOD) > width && (most = most_spare(s))) {
		for (i = 0; i < s->nr; i++) {
			if (!shown(s, i) || s->columns[i].spare != most)
				continue;
			s->hidden |= 1U << i;
			left_out++;
		}
	}
	return left_out;
}

/* Then the widest texts do. */
static void fit(const struct vmp_sheet *s, struct layout *l, int width)
{
	while (width && line_width(s, l, INT_MAX) > width) {
		int i, widest = -1;

		for (i = 0; i < s->nr; i++)
			if (shown(s, i) && s->columns[i].kind == VMP_SHEET_TEXT && l->width[i] > TEXT_MIN &&
			    (widest < 0 || l->width[i] > l->width[widest]))
				widest = i;
		if (widest < 0)
			break;
		l->width[widest]--;
	}
}

static void measure(const struct vmp_sheet *s, struct layout *l, uint32_t rows)
{
	char buf[CELL_BYTES];
	uint32_t r;
	int i, w;

	for (i = 0; i < s->nr; i++) {
		l->width[i] = vmp_text_width(s->columns[i].title);
		for (r = 0; shown(s, i) && r < rows; r++) {
			w = render(s, s->rows[r], i, buf);
			if (w > l->width[i] && (w <= TEXT_MAX || s->columns[i].kind != VMP_SHEET_TEXT))
				l->width[i] = w;
		}
	}
}

static void put(FILE *out, const struct vmp_sheet *s, int column, const char *text, int width, int colour, int last)
{
	int pad = width - vmp_text_width(text), right = s->columns[column].kind != VMP_SHEET_TEXT;

	if (right && pad > 0)
		fprintf(out, "%*s", pad, "");
	if (colour)
		fprintf(out, "\033[%dm%s\033[m", colour, text);
	else
		fputs(text, out);
	if (!right && !last && pad > 0)
		fprintf(out, "%*s", pad, "");
}

static int last_shown(const struct vmp_sheet *s)
{
	int i = s->nr;

	while (i-- && !shown(s, i))
		;
	return i;
}

static void line(FILE *out, const struct vmp_sheet *s, const struct layout *l, const struct vmp_look *look, uint32_t row)
{
	char buf[CELL_BYTES], cut[CELL_BYTES];
	int i, last = last_shown(s), colour, any = 0;
	struct vmp_sheet_cell cell;

	for (i = 0; i < s->nr; i++) {
		const char *text = buf;

		if (!shown(s, i))
			continue;
		colour = 0;
		if (render(s, row, i, buf) > l->width[i] && look->width && s->columns[i].kind == VMP_SHEET_TEXT) {
			vmp_text_cut(cut, sizeof(cut), buf, l->width[i]);
			text = cut;
		}
		if (look->colour && s->columns[i].flags & VMP_SHEET_SHARE) {
			s->cell(s->arg, row, i, &cell);
			colour = isnan(cell.real) ? 0 : vmp_colour_of(cell.real);
		}
		fputs(any ? "  " : "", out);
		put(out, s, i, text, l->width[i], colour, i == last);
		any = 1;
	}
	fputc('\n', out);
}

void vmp_sheet_text(FILE *out, const struct vmp_sheet *all, const struct vmp_look *look, uint64_t limit)
{
	uint32_t rows = rows_within(all, limit), r;
	struct vmp_sheet narrower = *all, *s = &narrower;
	int i, last, left_out, any = 0;
	struct layout l;

	measure(s, &l, rows);
	left_out = narrow(s, &l, look->width);
	fit(s, &l, look->width);
	last = last_shown(s);
	fputs(look->colour ? "\n\033[1m" : "\n", out);
	for (i = 0; i < s->nr; i++) {
		if (!shown(s, i))
			continue;
		fputs(any ? "  " : "", out);
		put(out, s, i, s->columns[i].title, l.width[i], 0, i == last);
		any = 1;
	}
	fputs(look->colour ? "\033[m\n" : "\n", out);
	for (r = 0; r < rows; r++)
		line(out, s, &l, look, s->rows[r]);
	if (rows < s->nr_rows)
		fprintf(out, "... %" PRIu32 " more rows (--limit 0 shows all)\n", s->nr_rows - rows);
	if (left_out)
		fprintf(out, "... %d more columns in a wider terminal, or with --csv\n", left_out);
}

/* -------------------------------------------------------------- CSV, JSON */

/* Of shares more than people read: there may be a hundred thousand, which are added up */
static int digits(const struct vmp_sheet_column *c)
{
	return c->flags & VMP_SHEET_SHARE ? 6 : c->digits;
}

void vmp_sheet_csv(FILE *out, const struct vmp_sheet *s, uint64_t limit)
{
	uint32_t rows = rows_within(s, limit), r;
	struct vmp_sheet_cell cell;
	const char *between = "";
	int i;

	for (i = 0; i < s->nr; i++) {
		if (is_absent(s, i))
			continue;
		fprintf(out, "%s%s", between, s->columns[i].key);
		between = ",";
	}
	fputs("\r\n", out);
	for (r = 0; r < rows; r++) {
		for (i = 0, between = ""; i < s->nr; i++) {
			if (is_absent(s, i))
				continue;
			s->cell(s->arg, s->rows[r], i, &cell);
			fputs(between, out);
			between = ",";
			if (s->columns[i].kind == VMP_SHEET_TEXT)
				vmp_csv_text(out, cell.text);
			else if (s->columns[i].kind == VMP_SHEET_HEX)
				fprintf(out, "0x%" PRIx64, cell.hex);
			else if (!isnan(cell.real))
				fprintf(out, "%.*f", digits(&s->columns[i]), cell.real);
		}
		fputs("\r\n", out);
	}
}

void vmp_sheet_real(FILE *out, double real, int digits)
{
	if (isfinite(real))
		fprintf(out, "%.*f", digits, real);
	else
		fputs("null", out);
}

void vmp_sheet_json(FILE *out, const struct vmp_sheet *s, uint64_t limit)
{
	uint32_t rows = rows_within(s, limit), r;
	struct vmp_sheet_cell cell;
	const char *between;
	int i;

	fputc('[', out);
	for (r = 0; r < rows; r++) {
		fputs(r ? ",\n{" : "\n{", out);
		for (i = 0, between = ""; i < s->nr; i++) {
			if (is_absent(s, i))
				continue;
			s->cell(s->arg, s->rows[r], i, &cell);
			fprintf(out, "%s\"%s\":", between, s->columns[i].key);
			between = ",";
			if (s->columns[i].kind == VMP_SHEET_TEXT)
				vmp_json_str(out, cell.text);
			else if (s->columns[i].kind == VMP_SHEET_HEX)
				fprintf(out, "\"0x%" PRIx64 "\"", cell.hex);
			else
				vmp_sheet_real(out, cell.real, digits(&s->columns[i]));
		}
		fputc('}', out);
	}
	fputs("]", out);
}
