// SPDX-License-Identifier: GPL-2.0-only
/* filter.c - a recursive-descent parser into an array of nodes, and their value for a row. */
#include "report/filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "report/profile.h"
#include "report/render.h"
#include "util/text.h"

#define DEPTH_MAX	32

enum op { OP_AND, OP_OR, OP_NOT, OP_EQ, OP_NE, OP_LIKE, OP_UNLIKE, OP_LT, OP_LE, OP_GT, OP_GE };

struct node {
	enum op op;
	int a, b;		/* AND, OR, NOT: nodes */
	enum vmp_column column;	/* comparisons */
	const char *text;
	double number;
	size_t at;		/* in what the user wrote */
	uint32_t keys;		/* compared in it or below, measures too */
};

struct vmp_filter {
	struct node node[VMP_FILTER_NODES];
	int nr, root;
	char text[VMP_FILTER_BYTES];	/* values in it end with NUL */
};

struct parser {
	struct vmp_filter *f;
	const char *src;	/* what the user wrote */
	size_t at;
	size_t used;		/* of f->text */
	int depth;
	int failed;		/* the first fault is the one that is told */
	struct vmp_filter_error *e;
};

#define MEASURES	(~0U << VMP_COL_KEYS)

static int fail(struct parser *p, size_t at, const char *what)
{
	if (!p->failed) {
		p->e->at = at;
		snprintf(p->e->text, sizeof(p->e->text), "%s", what);
	}
	p->failed = 1;
	return -1;
}

static void skip_space(struct parser *p)
{
	while (p->src[p->at] == ' ' || p->src[p->at] == '\t')
		p->at++;
}

static int accept(struct parser *p, const char *token)
{
	size_t n = strlen(token);

	skip_space(p);
	if (strncmp(p->src + p->at, token, n))
		return 0;
	p->at += n;
	return 1;
}

static int add(struct parser *p, const struct node *n)
{
	if (p->f->nr == VMP_FILTER_NODES)
		return fail(p, n->at, "too many conditions");
	p->f->node[p->f->nr] = *n;
	return p->f->nr++;
}

static int join(struct parser *p, enum op op, int a, int b)
{
	struct node n = { .op = op, .a = a, .b = b };

	if (a < 0 || b < 0)
		return -1;
	n.at = p->f->node[a].at;
	n.keys = p->f->node[a].keys | p->f->node[b].keys;
	return add(p, &n);
}

static int is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("_-.%*?+/[]@:#", c)) || (unsigned char)c >= 0x80;
}

static size_t word_length(const char *s)
{
	size_t n = 0;

	while (is_word(s[n]))
		n++;
	return n;
}

static int column(struct parser *p, enum vmp_column *out)
{
	size_t n, at;
	int c;

	skip_space(p);
	at = p->at;
	n = word_length(p->src + at);
	if (!n)
		return fail(p, at, "a condition begins with a column, such as process or percent");
	c = vmp_column_find(p->src + at, n);
	if (c < 0)
		return fail(p, at, "no column is called so; there are domain, process, pid, nspid, cgroup, thread, vcpu, module, build-id, function, exit, side, samples, ...");
	p->at += n;
	*out = (enum vmp_column)c;
	return 0;
}

static int comparison_op(struct parser *p, enum vmp_column c, enum op *op)
{
	/* longer ones first */
	static const struct { const char *token; enum op op; } ops[] = {
		{ "==", OP_EQ }, { "!=", OP_NE }, { "!~", OP_UNLIKE }, { "~", OP_LIKE }, { "<=", OP_LE },
		{ ">=", OP_GE }, { "<", OP_LT }, { ">", OP_GT },
	};
	size_t i, at;

	skip_space(p);
	at = p->at;
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (!accept(p, ops[i].token))
			continue;
		*op = ops[i].op;
		if (*op >= OP_LT && !vmp_column_is_number(c))
			return fail(p, at, "this column holds text: compare it by ==, !=, ~ or !~");
		if ((*op == OP_LIKE || *op == OP_UNLIKE) && vmp_column_is_number(c))
			return fail(p, at, "this column holds numbers: compare it by ==, !=, <, <=, > or >=");
		return 0;
	}
	if (p->src[at] == '=')
		return fail(p, at, "= alone compares nothing; write ==");
	return fail(p, at, "an operator is missing: ==, !=, ~, !~, <, <=, > or >=");
}

/* The bytes of a value, in f->text */
static const char *keep(struct parser *p, const char *s, size_t len)
{
	char *to = p->f->text + p->used;

	memcpy(to, s, len);
	to[len] = 0;
	p->used += len + 1;
	return to;
}

static const char *value(struct parser *p, size_t *at)
{
	const char *s, *end;
	size_t n;

	skip_space(p);
	*at = p->at;
	s = p->src + p->at;
	if (*s == '"' || *s == '\'') {
		end = strchr(s + 1, *s);
		if (!end) {
			fail(p, *at, "the string that begins here does not end");
			return NULL;
		}
		p->at += (size_t)(end - s) + 1;
		return keep(p, s + 1, (size_t)(end - s) - 1);
	}
	n = word_length(s);
	if (!n) {
		fail(p, *at, "a value is missing; put names with blanks into quotes");
		return NULL;
	}
	p->at += n;
	return keep(p, s, n);
}

static int check_side(struct parser *p, const struct node *n, size_t at)
{
	enum vmp_side side;

	if (n->column != VMP_COL_SIDE || n->op > OP_NE)
		return 0;
	for (side = 0; side < VMP_SIDE_NR; side++)
		if (!strcmp(n->text, vmp_side_name(side)))
			return 0;
	return fail(p, at, "side is one of guest_kernel, guest_user, vmm, steal, host");
}

static int comparison(struct parser *p)
{
	struct node n = { 0 };
	size_t at;
	char *end;

	skip_space(p);
	n.at = p->at;
	if (column(p, &n.column) || comparison_op(p, n.column, &n.op))
		return -1;
	n.keys = VMP_KEY(n.column);
	n.text = value(p, &at);
	if (!n.text || check_side(p, &n, at))
		return -1;
	if (vmp_column_is_number(n.column)) {
		/* plain decimals: strtod() also takes "inf", "nan" and hexadecimal */
		n.number = strtod(n.text, &end);
		if (end == n.text || strcmp(end, *end == '%' ? "%" : "") ||
		    strspn(n.text, "0123456789.-+") != (size_t)(end - n.text))
			return fail(p, at, "a number is needed here");
	}
	return add(p, &n);
}

static int expression(struct parser *p);

static int factor(struct parser *p)
{
	int n, negative = 0;
	size_t at;

	while (accept(p, "!"))
		negative = !negative;
	at = p->at;
	if (!accept(p, "(")) {
		n = comparison(p);
	} else if (++p->depth > DEPTH_MAX) {
		return fail(p, at, "too many parentheses within each other");
	} else {
		n = expression(p);
		p->depth--;
		if (n >= 0 && !accept(p, ")"))
			return fail(p, p->at, "a ) is missing");
	}
	return negative ? join(p, OP_NOT, n, n) : n;
}

static int term(struct parser *p)
{
	int n = factor(p);

	while (n >= 0 && accept(p, "&&"))
		n = join(p, OP_AND, n, factor(p));
	return n;
}

static int expression(struct parser *p)
{
	int n = term(p);

	while (n >= 0 && accept(p, "||"))
		n = join(p, OP_OR, n, term(p));
	return n;
}

int vmp_filter_parse(struct vmp_filter **out, const char *text, struct vmp_filter_error *e)
{
	struct parser p = { .src = text, .e = e };

	*e = (struct vmp_filter_error){ 0 };
	/* each value takes its bytes and a NUL, and an operator stood before it */
	if (strlen(text) >= VMP_FILTER_BYTES / 2) {
		fail(&p, VMP_FILTER_BYTES / 2, "the expression is too long");
		return -EINVAL;
	}
	p.f = calloc(1, sizeof(*p.f));
	if (!p.f)
		return -ENOMEM;
	p.f->root = expression(&p);
	skip_space(&p);
	if (p.f->root >= 0 && text[p.at])
		fail(&p, p.at, "nothing is expected here but && or ||");
	if (p.failed) {
		free(p.f);
		return -EINVAL;
	}
	*out = p.f;
	return 0;
}

void vmp_filter_free(struct vmp_filter *f)
{
	free(f);
}

/* -------------------------------------------------------------- when it is looked at */

/* Each condition of those that && joins at the top */
static int each(const struct vmp_filter *f, int n, int (*fn)(const struct node *n, void *arg), void *arg)
{
	const struct node *node = &f->node[n];
	int ret;

	if (node->op != OP_AND)
		return fn(node, arg);
	ret = each(f, node->a, fn, arg);
	return ret ? ret : each(f, node->b, fn, arg);
}

static int add_keys(const struct node *n, void *arg)
{
	if (!(n->keys & MEASURES))
		*(uint32_t *)arg |= n->keys;
	return 0;
}

uint32_t vmp_filter_keys(const struct vmp_filter *f)
{
	uint32_t keys = 0;

	if (f)
		each(f, f->root, add_keys, &keys);
	return keys;
}

uint32_t vmp_filter_columns(const struct vmp_filter *f)
{
	return f ? f->node[f->root].keys : 0;
}

struct check {
	uint32_t keys;
	struct vmp_filter_error *e;
};

static int check_node(const struct node *n, void *arg)
{
	const struct check *c = arg;
	uint32_t missing = n->keys & ~MEASURES & ~c->keys & ~VMP_KEY(VMP_COL_DOMAIN);
	const char *lack;

	if (!(n->keys & MEASURES) || !missing)
		return 0;
	c->e->at = n->at;
	lack = vmp_column_name((enum vmp_column)__builtin_ctz(missing));
	snprintf(c->e->text, sizeof(c->e->text),
		 "numbers are compared with finished rows, which have no %s here: add %s to --group-by", lack, lack);
	return -EINVAL;
}

int vmp_filter_check(const struct vmp_filter *f, uint32_t keys, struct vmp_filter_error *e)
{
	const uint32_t causes = VMP_KEY(VMP_COL_EXIT) | VMP_KEY(VMP_COL_THIEF);
	struct check c = { keys, e };

	if (f && ((keys | vmp_filter_columns(f)) & causes) == causes) {
		e->at = 0;
		snprintf(e->text, sizeof(e->text), "rows have either an exit reason or a thief");
		return -EINVAL;
	}
	return f ? each(f, f->root, check_node, &c) : 0;
}

/* --------------------------------------------------------------------- values */

struct eval {
	const struct vmp_filter *f;
	const struct vmp_profile *p;
	const struct vmp_domain *d;
	const struct vmp_row *row;
	const double *measure;	/* by column; NULL: the row has them */
};

static int number_of(const struct eval *v, enum vmp_column c, double *x)
{
	if (!v->measure || !VMP_IS_MEASURE(c))
		return vmp_column_number(v->p, v->d, v->row, c, x);
	*x = v->measure[c];
	return !isnan(*x);
}

static int compare_number(const struct node *n, const struct eval *v)
{
	double x;

	/* what is not known is equal to nothing */
	if (!number_of(v, n->column, &x))
		return n->op == OP_NE;
	switch (n->op) {
	case OP_EQ:
		return x == n->number;
	case OP_NE:
		return x != n->number;
	case OP_LT:
		return x < n->number;
	case OP_LE:
		return x <= n->number;
	case OP_GT:
		return x > n->number;
	default:
		return x >= n->number;
	}
}

static int compare_text(const struct node *n, const struct eval *v)
{
	int exit = n->column == VMP_COL_EXIT, same;
	const char *s;
	char buf[64];

	if (n->column == VMP_COL_SIDE)
		s = vmp_side_name(v->row->side);
	else
		s = vmp_column_text(v->p, v->d, v->row, n->column, buf);
	if (n->op == OP_LIKE || n->op == OP_UNLIKE)
		return !fnmatch(n->text, s, exit ? FNM_CASEFOLD : 0) == (n->op == OP_LIKE);
	same = exit ? !strcasecmp(n->text, s) : !strcmp(n->text, s);
	return same == (n->op == OP_EQ);
}

static int value_of(const struct node *n, const struct eval *v)
{
	const struct node *node = v->f->node;

	switch (n->op) {
	case OP_AND:
		return value_of(&node[n->a], v) && value_of(&node[n->b], v);
	case OP_OR:
		return value_of(&node[n->a], v) || value_of(&node[n->b], v);
	case OP_NOT:
		return !value_of(&node[n->a], v);
	default:
		return vmp_column_is_number(n->column) ? compare_number(n, v) : compare_text(n, v);
	}
}

static int fails_by_keys(const struct node *n, void *arg)
{
	return !(n->keys & MEASURES) && !value_of(n, arg);
}

static int fails_by_measures(const struct node *n, void *arg)
{
	return (n->keys & MEASURES) && !value_of(n, arg);
}

int vmp_filter_place(const struct vmp_filter *f, const struct vmp_profile *p, const struct vmp_domain *d,
		     const struct vmp_row *row)
{
	struct eval v = { f, p, d, row, NULL };

	return !f || !each(f, f->root, fails_by_keys, &v);
}

int vmp_filter_measured(const struct vmp_filter *f, const struct vmp_profile *p, const struct vmp_domain *d,
			const struct vmp_row *row, const double *measure)
{
	struct eval v = { f, p, d, row, measure };

	return !f || !each(f, f->root, fails_by_measures, &v);
}

int vmp_filter_row(const struct vmp_filter *f, const struct vmp_profile *p, const struct vmp_domain *d,
		   const struct vmp_row *row)
{
	return vmp_filter_measured(f, p, d, row, NULL);
}
