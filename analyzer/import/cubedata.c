// SPDX-License-Identifier: GPL-2.0-only
/*
 * cubedata.c - N.index and N.data of a .cubex.
 *
 *   N.index  "CUBEX.INDEX", u32 1 in the writer's byte order, u16 version, u8 type;
 *            type 1: u32 number of rows, u32 call path of each; type 3: all call paths
 *   N.data   "CUBEX.DATA", then the rows; or "ZCUBEX.DATA", u64 number of rows, for
 *            each u64 where it lies unpacked, where packed (behind these), bytes packed,
 *            0 for a row of zeros; then zlib streams, in any order
 *
 * Exclusive metrics number the call paths deep, inclusive ones wide: both count a
 * root before all below it, and that before the next root.
 */
#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "import/cubex.h"

#define INDEX_MARK	"CUBEX.INDEX"
#define DATA_MARK	"CUBEX.DATA"
#define ZDATA_MARK	"ZCUBEX.DATA"
#define INDEX_HEAD	(sizeof(INDEX_MARK) - 1 + 4 + 2 + 1)
#define INDEX_SPARSE	1
#define INDEX_DENSE	3
#define INFO_BYTES	24U	/* of a packed row */

struct packed {
	uint64_t at, bytes;	/* in the file; 0 bytes: zeros */
};

struct rows {
	struct vmp_cube *c;
	const struct vmp_cube_metric *m;
	const struct vmp_tar_member *index, *data;
	int swap;		/* written in the other byte order */
	uint32_t nr;
	uint8_t *cnodes;	/* of each row, as in the file; NULL they are their own */
	struct packed *packed;	/* each row; NULL not packed */
	uint64_t first;		/* where the rows begin in the file */
	uint64_t row_bytes;
	uint8_t *row, *in;
	uint64_t in_room;
};

static int bad(struct rows *r, const char *what)
{
	return vmp_cube_complain(r->c, "metric %u: %s", r->m->id, what);
}

/* Part of a file of the archive */
static int get(struct rows *r, const struct vmp_tar_member *m, uint64_t at, void *buf, uint64_t len)
{
	uint8_t *p = buf;
	ssize_t n;

	if (len > m->bytes || at > m->bytes - len)
		return bad(r, "its file is too short");
	for (; len; len -= (uint64_t)n, at += (uint64_t)n, p += n) {
		n = pread(r->c->fd, p, len, (off_t)(m->offset + at));
		if (n < 0)
			return -errno;
		if (!n)
			return bad(r, "its file is too short");
	}
	return 0;
}

static uint64_t number(const struct rows *r, const uint8_t *p, unsigned int bytes)
{
	uint64_t n = 0;
	unsigned int i;

	if (bytes == sizeof(n)) {
		memcpy(&n, p, sizeof(n));
		return r->swap ? be64toh(n) : le64toh(n);
	}
	for (i = 0; i < bytes; i++)
		n |= (uint64_t)p[r->swap ? bytes - 1 - i : i] << 8 * i;
	return n;
}

static int open_index(struct rows *r)
{
	uint8_t head[INDEX_HEAD], nr[4];
	int err = get(r, r->index, 0, head, sizeof(head));
	uint32_t one;

	if (err)
		return err;
	memcpy(&one, head + sizeof(INDEX_MARK) - 1, 4);
	r->swap = le32toh(one) != 1;
	if (memcmp(head, INDEX_MARK, sizeof(INDEX_MARK) - 1) ||
	    number(r, head + sizeof(INDEX_MARK) - 1, 4) != 1)
		return bad(r, "its index is damaged");
	if (head[INDEX_HEAD - 1] == INDEX_DENSE) {
		r->nr = (uint32_t)r->c->cnodes;
		return 0;
	}
	if (head[INDEX_HEAD - 1] != INDEX_SPARSE)
		return bad(r, "its index is of a type that is not known");
	err = get(r, r->index, sizeof(head), nr, sizeof(nr));
	if (err)
		return err;
	r->nr = (uint32_t)number(r, nr, sizeof(nr));
	if ((uint64_t)r->nr * 4 > r->index->bytes - sizeof(head) - sizeof(nr))
		return bad(r, "its index is too short");
	r->cnodes = malloc((uint64_t)r->nr * 4 + 1);
	return r->cnodes ? get(r, r->index, sizeof(head) + sizeof(nr), r->cnodes, (uint64_t)r->nr * 4) : -ENOMEM;
}

/* @info tells where one of the rows is, whose streams begin at @first */
static int place_row(struct rows *r, const uint8_t *info, uint64_t first)
{
	uint64_t unpacked = number(r, info, 8), at = number(r, info + 8, 8), bytes = number(r, info + 16, 8);

	if (!bytes)
		return 0;
	if (unpacked % r->row_bytes || unpacked / r->row_bytes >= r->nr || r->packed[unpacked / r->row_bytes].bytes)
		return bad(r, "its data do not fit its index");
	if (at > r->data->bytes - first || bytes > r->data->bytes - first - at)
		return bad(r, "its data are too short");
	r->packed[unpacked / r->row_bytes] = (struct packed){ first + at, bytes };
	return 0;
}

static int open_packed(struct rows *r)
{
	uint8_t head[sizeof(ZDATA_MARK) - 1 + 8], *infos;
	uint64_t nr, i;
	int err = get(r, r->data, 0, head, sizeof(head));

	if (err)
		return err;
	nr = number(r, head + sizeof(ZDATA_MARK) - 1, 8);
	if (nr > r->nr || nr * INFO_BYTES > r->data->bytes)
		return bad(r, "its data do not fit its index");
	infos = malloc(nr * INFO_BYTES + 1);
	r->packed = calloc((uint64_t)r->nr + 1, sizeof(*r->packed));
	err = infos && r->packed ? get(r, r->data, sizeof(head), infos, nr * INFO_BYTES) : -ENOMEM;
	for (i = 0; !err && i < nr; i++)
		err = place_row(r, infos + i * INFO_BYTES, sizeof(head) + nr * INFO_BYTES);
	free(infos);
	return err;
}

static int open_data(struct rows *r)
{
	char mark[sizeof(ZDATA_MARK) - 1] = "";
	int err = get(r, r->data, 0, mark, r->data->bytes < sizeof(mark) ? r->data->bytes : sizeof(mark));

	if (err)
		return err;
	r->row_bytes = (uint64_t)r->c->locations.nr * r->m->bytes;
	r->row = malloc(r->row_bytes + 1);
	if (!r->row)
		return -ENOMEM;
	if (!r->row_bytes)
		r->nr = 0;
	if (!memcmp(mark, ZDATA_MARK, sizeof(mark)))
		return open_packed(r);
	r->first = sizeof(DATA_MARK) - 1;
	if (memcmp(mark, DATA_MARK, sizeof(DATA_MARK) - 1))
		return bad(r, "its data have no mark");
	return 0;
}

/* Row @i into r->row */
static int read_row(struct rows *r, uint32_t i)
{
	uLongf len = (uLongf)r->row_bytes;
	uint64_t bytes;
	int err;

	if (!r->packed)
		return get(r, r->data, r->first + i * r->row_bytes, r->row, r->row_bytes);
	bytes = r->packed[i].bytes;
	if (!bytes) {
		memset(r->row, 0, r->row_bytes);
		return 0;
	}
	if (bytes > r->in_room) {
		free(r->in);
		r->in = malloc(bytes);
		r->in_room = r->in ? bytes : 0;
		if (!r->in)
			return -ENOMEM;
	}
	err = get(r, r->data, r->packed[i].at, r->in, bytes);
	if (err)
		return err;
	return uncompress(r->row, &len, r->in, bytes) == Z_OK && len == r->row_bytes ? 0 :
	       bad(r, "a row cannot be unpacked");
}

static int cmp_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Roots are in order of their numbers. */
static int is_root(const struct vmp_cube *c, uint64_t cnode)
{
	return c->roots.nr && bsearch(&cnode, c->roots.v, c->roots.nr, sizeof(cnode), cmp_u64);
}

static uint64_t cnode_of(const struct rows *r, uint32_t i)
{
	return r->cnodes ? number(r, r->cnodes + 4 * (uint64_t)i, 4) : i;
}

static uint64_t extend(uint64_t n, unsigned int bytes)
{
	unsigned int shift = 64 - 8 * bytes;

	return (uint64_t)((int64_t)(n << shift) >> shift);
}

static void add(const struct rows *r, uint64_t n, union vmp_cube_value *sum)
{
	union vmp_cube_value v = { .u = n };

	switch (r->m->type) {
	case VMP_CUBE_SIGNED:
		sum->u += extend(n, r->m->bytes);
		break;
	case VMP_CUBE_UNSIGNED:
		sum->u += n;
		break;
	case VMP_CUBE_REAL:
		sum->d += v.d;
		break;
	case VMP_CUBE_MIN:
		sum->d = v.d < sum->d ? v.d : sum->d;
		break;
	case VMP_CUBE_MAX:
		sum->d = v.d > sum->d ? v.d : sum->d;
		break;
	case VMP_CUBE_OTHER:
		break;
	}
}

static int sum_rows(struct rows *r, uint32_t first, uint32_t nr, union vmp_cube_value *out)
{
	unsigned int bytes = r->m->bytes;
	uint32_t i, j;
	int err = 0;

	for (j = 0; j < nr; j++) {
		out[j].u = 0;
		if (r->m->type == VMP_CUBE_MIN || r->m->type == VMP_CUBE_MAX)
			out[j].d = r->m->type == VMP_CUBE_MIN ? INFINITY : -INFINITY;
	}
	for (i = 0; !err && i < r->nr; i++) {
		if (r->m->inclusive && !is_root(r->c, cnode_of(r, i)))
			continue;
		err = read_row(r, i);
		for (j = 0; !err && j < nr; j++)
			add(r, number(r, r->row + r->c->locations.v[first + j].id * bytes, bytes), &out[j]);
	}
	for (j = 0; j < nr; j++)
		if (r->m->type >= VMP_CUBE_REAL && !isfinite(out[j].d))
			out[j].d = 0;
	return err;
}

int vmp_cube_sums(struct vmp_cube *c, const struct vmp_cube_metric *m, uint32_t first, uint32_t nr,
		  union vmp_cube_value *out)
{
	struct rows r = { .c = c, .m = m };
	char name[32];
	int err;

	snprintf(name, sizeof(name), "%u.index", m->id);
	r.index = vmp_tar_find(&c->tar, name);
	snprintf(name, sizeof(name), "%u.data", m->id);
	r.data = vmp_tar_find(&c->tar, name);
	err = r.index && r.data ? open_index(&r) : bad(&r, "it has no data");
	if (!err)
		err = open_data(&r);
	if (!err)
		err = sum_rows(&r, first, nr, out);
	free(r.cnodes);
	free(r.packed);
	free(r.row);
	free(r.in);
	return err;
}
