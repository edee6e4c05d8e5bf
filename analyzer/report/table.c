// SPDX-License-Identifier: GPL-2.0-only
/* table.c - rows in columns, on a terminal no wider than it is. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/render.h"
#include "report/tree.h"
#include "util/text.h"

#define PAD_MAX		56	/* in a file: a longer cell pushes its line, not the table */
#define CELL_BYTES	2048
#define CELL_FEW	12	/* names cut shorter say little: columns that nobody asked for give way */
#define CELL_MIN	4	/* narrower, and any column is left out */

static const struct {
	int width, digits, sign;
} measures[VMP_COL_NR] = {
	[VMP_COL_SAMPLES] = { 10 }, [VMP_COL_PERCENT] = { 6, 2 }, [VMP_COL_CYCLES] = { 14 },
	[VMP_COL_INSTRUCTIONS] = { 14 }, [VMP_COL_CPI] = { 6, 2 }, [VMP_COL_IPC] = { 6, 2 }, [VMP_COL_INSN_SAMPLES] = { 10 },
	[VMP_COL_BEFORE] = { 7, 2 }, [VMP_COL_AFTER] = { 6, 2 }, [VMP_COL_DELTA] = { 7, 2, 1 },
};

int vmp_render_width(enum vmp_column c)
{
	return measures[c].width;
}

const char *vmp_render_cell(char *buf, const struct vmp_profile *p, const struct vmp_domain *d, const struct vmp_row *row, enum vmp_column c)
{
	double n;

	if (!vmp_column_number(p, d, row, c, &n))
		snprintf(buf, 32, "%*s", measures[c].width, "-");
	else if (c == VMP_COL_SAMPLES)
		snprintf(buf, 32, "%10" PRIu64, row->samples);
	else
		snprintf(buf, 32, measures[c].sign ? "%+*.*f" : "%*.*f", measures[c].width, measures[c].digits, n);
	return buf;
}

int vmp_colour_of(double percent)
{
	return percent >= 5 ? 31 : percent >= 0.5 ? 32 : 0;
}

/* Strings that can be shown as they are, by number: 0 not looked at, 1 it cannot, else its width + 2.
   NULL without memory: then each is looked at each time. */
struct table {
	FILE *out;
	const struct vmp_profile *p;
	const struct vmp_domain *d;
	const struct vmp_look *look;
	uint16_t *plain;
	struct vmp_column_list list;	/* columns that have room */
	int width[VMP_COL_NR];		/* by place */
	char number[VMP_COL_NR][32];	/* measures of the row before */
	char buf[CELL_BYTES], cut[CELL_BYTES];
};

/* Text of a key's cell, and its width */
static const char *cell(struct table *t, const struct vmp_row *row, enum vmp_column c, int *w)
{
	uint32_t str = vmp_column_string(t->p, t->d, row, c);
	const char *s;
	size_t n;

	if (str != VMP_NONE && t->plain && t->plain[str] > 1) {
		*w = t->plain[str] - 2;
		return vmp_model_name(t->p->model, str);
	}
	s = vmp_column_text(t->p, t->d, row, c, t->cut);
	n = vmp_text_plain(s);
	if (str != VMP_NONE && t->plain && !t->plain[str])
		t->plain[str] = s[n] || n >= CELL_BYTES ? 1 : (uint16_t)(n + 2);
	s = vmp_text(t->buf, CELL_BYTES, s, strlen(s));
	*w = vmp_text_width(s);
	return s;
}

/* Widths of the keys as they come */
static void measure(struct table *t, uint32_t rows)
{
	int i, w, max = t->look->width ? CELL_BYTES : PAD_MAX;
	uint32_t r;

	for (i = 0; i < t->list.nr; i++) {
		if (VMP_IS_MEASURE(t->list.column[i])) {
			t->width[i] = measures[t->list.column[i]].width;
			continue;
		}
		t->width[i] = vmp_text_width(vmp_column_title(t->list.column[i]));
		for (r = 0; r < rows; r++) {
			cell(t, &t->d->rows.v[r], t->list.column[i], &w);
			if (w > t->width[i] && w <= max)
				t->width[i] = w;
		}
	}
}

/* Places of a line in which no key is wider than @most */
static int line_width(const struct table *t, int most)
{
	int i, sum = 2 * (t->list.nr - 1);

	for (i = 0; i < t->list.nr; i++)
		sum += VMP_IS_MEASURE(t->list.column[i]) || t->width[i] < most ? t->width[i] : most;
	return sum;
}

/* The widest keys give way, until a line has room on the terminal. */
static void fit(struct table *t)
{
	int i, most = CELL_BYTES, left;

	if (!t->look->width)
		return;
	while (line_width(t, CELL_FEW) > t->look->width && (i = vmp_column_give_way(&t->list)) >= 0)
		memmove(&t->width[i], &t->width[i + 1], (size_t)(t->list.nr - i) * sizeof(t->width[0]));
	while (t->list.nr > 1 && line_width(t, CELL_MIN) > t->look->width)
		t->list.nr--;
	while (most > 1 && line_width(t, most) > t->look->width)
		most--;
	left = t->look->width - line_width(t, most);
	for (i = 0; i < t->list.nr; i++) {
		if (VMP_IS_MEASURE(t->list.column[i]) || t->width[i] <= most)
			continue;
		t->width[i] = most + (left > 0);
		left--;
	}
}

static void spaces(FILE *out, int n)
{
	static const char blank[] = "                                                        ";

	_Static_assert(sizeof(blank) == PAD_MAX + 1, "as many as a column may need");
	for (; n > PAD_MAX; n -= PAD_MAX)
		fputs_unlocked(blank, out);
	if (n > 0)
		fputs_unlocked(blank + PAD_MAX - n, out);
}

static void titles(const struct table *t)
{
	int i, right;

	fputs(t->look->colour ? "\n\033[1m" : "\n", t->out);
	for (i = 0; i < t->list.nr; i++) {
		const char *title = vmp_column_title(t->list.column[i]);
		int pad = t->width[i] - vmp_text_width(title);

		right = VMP_IS_MEASURE(t->list.column[i]);
		fputs(i ? "  " : "", t->out);
		spaces(t->out, right ? pad : 0);
		if (t->look->width)
			fprintf(t->out, "%.*s", t->width[i], title);
		else
			fputs(title, t->out);
		spaces(t->out, right || i + 1 == t->list.nr ? 0 : pad);
	}
	fputs(t->look->colour ? "\033[m\n" : "\n", t->out);
}

static void number(struct table *t, const struct vmp_row *row, int i, int same)
{
	enum vmp_column c = t->list.column[i];
	double share = 0;
	int colour;

	/* many rows have as many samples as the one before */
	if (!same)
		vmp_render_cell(t->number[i], t->p, t->d, row, c);
	if (t->look->colour && (c == VMP_COL_PERCENT || c == VMP_COL_AFTER))
		vmp_column_number(t->p, t->d, row, c, &share);
	colour = vmp_colour_of(share);
	if (colour)
		fprintf(t->out, "\033[%dm%s\033[m", colour, t->number[i]);
	else
		fputs_unlocked(t->number[i], t->out);
}

static void line(struct table *t, const struct vmp_row *row, int same)
{
	const char *s;
	int i, w;

	for (i = 0; i < t->list.nr; i++) {
		if (i)
			fputs_unlocked("  ", t->out);
		if (VMP_IS_MEASURE(t->list.column[i])) {
			number(t, row, i, same);
			continue;
		}
		s = cell(t, row, t->list.column[i], &w);
		if (t->look->width && w > t->width[i]) {
			w = vmp_text_cut(t->cut, sizeof(t->cut), s, t->width[i]);
			s = t->cut;
		}
		fputs_unlocked(s, t->out);
		if (i + 1 < t->list.nr)
			spaces(t->out, t->width[i] - w);
	}
	putc_unlocked('\n', t->out);
}

void vmp_render_rows(FILE *out, const struct vmp_profile *p, const struct vmp_domain *d, uint32_t rows,
		     const struct vmp_column_list *columns, const struct vmp_look *look)
{
	struct table t = { .out = out, .p = p, .d = d, .look = look, .list = *columns };
	const struct vmp_row *row = d->rows.v;
	uint32_t r;

	t.plain = calloc(p->model->strings.str.nr, sizeof(*t.plain));
	measure(&t, rows);
	fit(&t);
	titles(&t);
	for (r = 0; r < rows; r++, row++)
		line(&t, row, r && !d->compared && row->samples == row[-1].samples &&
		     row->cycles == row[-1].cycles && row->instructions == row[-1].instructions);
	free(t.plain);
}

/* ------------------------------------------------------------------------ tree */

struct branch {
	struct table t;
	struct vmp_tree *tree;
	const struct vmp_render *r;
	int numbers;		/* places that the measures take */
	int err;
};

static void branch_line(struct branch *b, const struct vmp_row *row, uint32_t depth, const char *label)
{
	int i, indent = 2 * (int)depth, room = b->t.look->width - b->numbers - indent;

	for (i = 0; i < b->t.list.nr; i++) {
		number(&b->t, row, i, 0);
		fputs("  ", b->t.out);
	}
	spaces(b->t.out, indent);
	vmp_text(b->t.buf, CELL_BYTES, label, strlen(label));
	vmp_text_cut(b->t.cut, CELL_BYTES, b->t.buf, b->t.look->width ? room : CELL_BYTES);
	fputs(b->t.cut, b->t.out);
	fputc('\n', b->t.out);
}

static void branch(struct branch *b, uint32_t node)
{
	struct vmp_row rest = { 0 };
	char label[64], more[64];
	uint32_t i, left_out = 0;
	struct vmp_node n;

	b->err = b->err ? b->err : vmp_tree_open(b->tree, node);
	n = b->tree->nodes.v[node];
	for (i = 0; !b->err && i < n.nr; i++) {
		struct vmp_node child = b->tree->nodes.v[n.first + i];

		if ((b->r->limit && i >= b->r->limit) || vmp_tree_is_small(b->t.d, &child.row, b->r->percent_limit)) {
			left_out++;
			rest.samples += child.row.samples;
			rest.before += child.row.before;
			rest.cycles += child.row.cycles;
			rest.instructions += child.row.instructions;
			continue;
		}
		branch_line(b, &child.row, n.depth, vmp_tree_label(b->tree, &child, label));
		branch(b, n.first + i);
	}
	if (!left_out)
		return;
	snprintf(more, sizeof(more), "... %" PRIu32 " more", left_out);
	branch_line(b, &rest, n.depth, more);
}

int vmp_render_tree(FILE *out, const struct vmp_profile *p, uint32_t domain, const struct vmp_options *o,
		    const struct vmp_render *r)
{
	struct branch b = {
		.t = { .out = out, .p = p, .d = &p->domains.v[domain], .look = &r->look }, .r = r,
	};
	const struct vmp_column_list columns = vmp_render_columns(p, o, r);
	const char *sep = "";
	int i, n = 0;

	for (i = 0; i < columns.nr; i++) {
		if (!VMP_IS_MEASURE(columns.column[i]))
			continue;
		b.t.width[b.t.list.nr] = measures[columns.column[i]].width;
		b.numbers += 2 + b.t.width[b.t.list.nr];
		b.t.list.column[b.t.list.nr++] = columns.column[i];
	}
	b.err = vmp_tree_create(&b.tree, p, o, &r->levels);
	if (b.err)
		return b.err;
	fputs(r->look.colour ? "\n\033[1m" : "\n", out);
	for (i = 0; i < b.t.list.nr; i++)
		fprintf(out, "%*s  ", b.t.width[i], vmp_column_title(b.t.list.column[i]));
	for (i = 0; i < b.tree->levels.nr; i++, sep = " > ")
		n += snprintf(b.t.buf + n, CELL_BYTES - (size_t)n, "%s%s", sep,
			      vmp_column_title(b.tree->levels.column[i]));
	vmp_text_cut(b.t.cut, CELL_BYTES, b.t.buf, r->look.width ? r->look.width - b.numbers : CELL_BYTES);
	fputs(b.t.cut, out);
	fputs(r->look.colour ? "\033[m\n" : "\n", out);
	branch(&b, domain);
	vmp_tree_destroy(b.tree);
	return b.err;
}
