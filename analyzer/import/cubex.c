// SPDX-License-Identifier: GPL-2.0-only
/* cubex.c - a Cube profile as open XML: what is known gets its family's name, the rest its own. */
#include "import/cubex.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Values held at once; more locations are read in several runs */
#define TABLE_BYTES	(64U << 20)

static const struct {
	const char *metric, *category, *item;
} known[] = {
	{ "time", "performance", "execution_time" }, { "visits", "performance", "visits" },
	{ "PAPI_TOT_CYC", "performance", "cycles" },
	{ "PAPI_TOT_INS", "performance", "instructions" },
	{ "PAPI_FP_OPS", "performance", "floating_point_operations" },
	{ "PAPI_SP_OPS", "performance", "single_precision_operations" },
	{ "PAPI_DP_OPS", "performance", "double_precision_operations" },
	{ "PAPI_LD_INS", "instruction_mix", "load_instructions" },
	{ "PAPI_SR_INS", "instruction_mix", "store_instructions" },
	{ "PAPI_LST_INS", "instruction_mix", "load_store_instructions" },
	{ "PAPI_BR_INS", "instruction_mix", "branch_instructions" },
	{ "PAPI_FP_INS", "instruction_mix", "floating_point_instructions" },
	{ "PAPI_INT_INS", "instruction_mix", "integer_instructions" },
	{ "PAPI_VEC_INS", "simd", "simd_instructions" },
	{ "PAPI_VEC_SP", "simd", "simd_single_precision_instructions" },
	{ "PAPI_VEC_DP", "simd", "simd_double_precision_instructions" },
	{ "PAPI_L1_DCM", "cache", "l1_data_misses" }, { "PAPI_L1_ICM", "cache", "l1_instruction_misses" },
	{ "PAPI_L1_TCM", "cache", "l1_misses" }, { "PAPI_L2_TCM", "cache", "l2_misses" },
	{ "PAPI_L2_DCM", "cache", "l2_data_misses" }, { "PAPI_L3_TCM", "cache", "l3_misses" },
	{ "PAPI_RES_STL", "cycle_accounting", "stalled_cycles" },
	{ "PAPI_STL_ICY", "cycle_accounting", "cycles_without_issue" },
	{ "PAPI_STL_CCY", "cycle_accounting", "cycles_without_commit" },
	{ "PAPI_FUL_CCY", "cycle_accounting", "cycles_of_full_commit" },
};

#define NR_KNOWN	(sizeof(known) / sizeof(known[0]))
#define OTHER		"other"
#define VALUE_MAX	64

/* A metric in the order it is written: by category, then as in the file */
struct column {
	uint32_t metric;
	const char *category, *item, *unit;
	union vmp_cube_value *values;	/* by location of the run */
	struct vmp_xml_form form;
};

struct conversion {
	struct vmp_cube *c;
	struct vmp_xml *x;
	struct column *columns;
	uint32_t nr;
};

int vmp_cube_complain(struct vmp_cube *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->error, sizeof(c->error), fmt, ap);
	va_end(ap);
	return -EBADMSG;
}

static void name_column(const struct conversion *v, struct column *col)
{
	const struct vmp_cube_metric *m = &v->c->metrics.v[col->metric];
	const char *name = vmp_strings_get(&v->c->strings, m->name);
	const char *unit = vmp_strings_get(&v->c->strings, m->unit);
	size_t i;

	col->category = OTHER;
	col->item = *name ? name : "unnamed";
	col->unit = !*unit || !strcmp(unit, "#") || !strcmp(unit, "occ") ? "counts" : unit;
	for (i = 0; i < NR_KNOWN; i++) {
		if (!strcmp(name, known[i].metric)) {
			col->category = known[i].category;
			col->item = known[i].item;
		}
	}
}

/* Columns, those of one category together in the order of its first metric */
static int make_columns(struct conversion *v)
{
	struct column *all = calloc(v->c->metrics.nr + 1, sizeof(*all));
	uint32_t i, j, nr = 0;

	v->columns = calloc(v->c->metrics.nr + 1, sizeof(*v->columns));
	if (!all || !v->columns) {
		free(all);
		return -ENOMEM;
	}
	for (i = 0; i < v->c->metrics.nr; i++) {
		if (!v->c->metrics.v[i].has_data)
			continue;
		all[nr].metric = i;
		name_column(v, &all[nr++]);
	}
	for (i = 0; i < nr; i++) {
		for (j = i; all[i].category && j < nr; j++) {
			if (!all[j].category || strcmp(all[j].category, all[i].category))
				continue;
			v->columns[v->nr++] = all[j];
			if (j > i)
				all[j].category = NULL;
		}
	}
	free(all);
	return 0;
}

/* As %PRIu64 does */
static char *decimal(char *end, uint64_t n)
{
	do
		*--end = (char)('0' + n % 10);
	while (n /= 10);
	return end;
}

static const char *text_of(enum vmp_cube_type type, union vmp_cube_value v, char buf[VALUE_MAX])
{
	char *end = buf + VALUE_MAX - 1;

	*end = 0;
	if (type == VMP_CUBE_UNSIGNED || (type == VMP_CUBE_SIGNED && !(v.u >> 63)))
		return decimal(end, v.u);
	if (type == VMP_CUBE_SIGNED)
		snprintf(buf, VALUE_MAX, "%" PRId64, (int64_t)v.u);
	else if ((!v.u || v.d >= 1) && v.d < 1e9 && v.d == (double)(uint32_t)v.d)
		return decimal(end, (uint32_t)v.d);
	else
		snprintf(buf, VALUE_MAX, "%.9g", v.d);
	return buf;
}

static void value(const struct conversion *v, struct column *col, uint32_t i)
{
	char buf[VALUE_MAX];

	vmp_xml_form_item(v->x, &col->form, col->item, col->unit,
			  text_of(v->c->metrics.v[col->metric].type, col->values[i], buf));
}

static void location(const struct conversion *v, uint32_t first, uint32_t i)
{
	const struct vmp_cube_location *l = &v->c->locations.v[first + i];
	const char *last = NULL;
	uint32_t k;

	vmp_xml_begin(v->x, "thread");
	vmp_xml_attr_u64(v->x, "id", l->rank);
	vmp_xml_attr(v->x, "name", vmp_strings_get(&v->c->strings, l->name));
	for (k = 0; k < v->nr; k++) {
		if (!last || strcmp(last, v->columns[k].category)) {
			if (last)
				vmp_xml_end(v->x);
			last = v->columns[k].category;
			vmp_xml_begin(v->x, "category");
			vmp_xml_attr(v->x, "name", last);
		}
		value(v, &v->columns[k], i);
	}
	if (last)
		vmp_xml_end(v->x);
	vmp_xml_end(v->x);
}

static void begin_group(const struct conversion *v, uint32_t group)
{
	const struct vmp_cube_group *g = &v->c->groups.v[group];

	vmp_xml_begin(v->x, "process");
	vmp_xml_attr_u64(v->x, "id", g->rank);
	vmp_xml_attr(v->x, "name", vmp_strings_get(&v->c->strings, g->name));
}

/* Locations [first, first + nr): all metrics first, then thread by thread */
static int run(struct conversion *v, uint32_t first, uint32_t nr)
{
	const struct vmp_cube_location *l = v->c->locations.v;
	uint32_t k, i;
	int err = 0;

	for (k = 0; !err && k < v->nr; k++)
		err = vmp_cube_sums(v->c, &v->c->metrics.v[v->columns[k].metric], first, nr,
				    v->columns[k].values);
	for (i = 0; !err && i < nr; i++) {
		int begins = first + i == 0 || l[first + i - 1].group != l[first + i].group;
		int ends = first + i + 1 == v->c->locations.nr || l[first + i + 1].group != l[first + i].group;

		if (begins)
			begin_group(v, l[first + i].group);
		location(v, first, i);
		if (ends)
			vmp_xml_end(v->x);
	}
	return err;
}

static int all_runs(struct conversion *v)
{
	uint32_t nr = v->c->locations.nr, room, first, k;
	union vmp_cube_value *table;
	int err = 0;

	room = TABLE_BYTES / (uint32_t)sizeof(*table) / (v->nr ? v->nr : 1);
	room = room < nr ? (room ? room : 1) : nr;
	table = calloc((size_t)(room ? room : 1) * (v->nr ? v->nr : 1), sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (k = 0; k < v->nr; k++)
		v->columns[k].values = table + (size_t)k * room;
	for (first = 0; !err && first < nr; first += room)
		err = run(v, first, nr - first < room ? nr - first : room);
	free(table);
	return err;
}

int vmp_cube_write(struct vmp_cube *c, struct vmp_xml *x)
{
	struct conversion v = { .c = c, .x = x };
	int err = make_columns(&v);

	if (!err) {
		vmp_xml_begin(x, "performance");
		vmp_xml_attr(x, "version", "1");
		vmp_xml_attr(x, "generator", c->creator ? vmp_strings_get(&c->strings, c->creator) : "Cube");
		err = all_runs(&v);
	}
	if (!err)
		vmp_xml_end(x);
	while (v.nr)
		vmp_xml_form_free(&v.columns[--v.nr].form);
	free(v.columns);
	return err;
}

int vmp_cube_open(struct vmp_cube *c, int fd)
{
	char name[32];
	uint32_t i;
	int err;

	memset(c, 0, sizeof(*c));
	c->fd = fd;
	err = vmp_strings_init(&c->strings);
	if (!err)
		err = vmp_tar_read(&c->tar, fd);
	if (err == -EBADMSG)
		vmp_cube_complain(c, "the archive is damaged");
	if (!err)
		err = vmp_cube_anchor(c);
	for (i = 0; !err && i < c->metrics.nr; i++) {
		snprintf(name, sizeof(name), "%u.data", c->metrics.v[i].id);
		c->metrics.v[i].has_data = c->metrics.v[i].type != VMP_CUBE_OTHER && vmp_tar_find(&c->tar, name);
	}
	if (err)
		vmp_cube_close(c);
	return err;
}

void vmp_cube_close(struct vmp_cube *c)
{
	vmp_tar_free(&c->tar);
	vmp_vec_free(&c->metrics);
	vmp_vec_free(&c->groups);
	vmp_vec_free(&c->locations);
	vmp_vec_free(&c->roots);
	vmp_strings_deinit(&c->strings);
}
