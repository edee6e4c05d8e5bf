// SPDX-License-Identifier: GPL-2.0-only
/*
 * bolt.c - branches in the pre-aggregated text of BOLT, a file for each binary:
 *
 *   B FROM TO COUNT MISPREDICTED     a branch
 *   F START END COUNT                code that ran straight on
 *   f START END COUNT                the same, entered from another binary
 *
 * Addresses are link-time addresses, in hex; X:0 is any place in another binary.
 * Counts are those of the records, as BOLT takes them from perf.  A file is called
 * MODULE-BUILDID.preagg.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blocks/set.h"
#include "export/format.h"
#include "util/capdir.h"
#include "util/log.h"
#include "util/outfile.h"
#include "util/text.h"

#define OUTSIDE		UINT64_MAX	/* an address in another binary */
#define ID_BYTES	20

struct line {
	char type;
	uint64_t from, to;
	uint64_t n, mispredicted;
};

/* Branches to a start, by where they came from */
struct entries {
	uint64_t inside, outside;
};

struct bolt {
	const struct vmp_set *set;
	struct entries *entries;	/* by point */
	VMP_VEC(struct line) lines;	/* of one object */
};

static const struct vmp_point *point(const struct bolt *b, uint32_t p)
{
	return &b->set->points.points.v[p];
}

static int good(const struct bolt *b, uint32_t p)
{
	return p != VMP_NONE && !point(b, p)->flaw;
}

static void count_entries(struct bolt *b)
{
	uint32_t i;

	for (i = 0; i < b->set->units.nr; i++) {
		const struct vmp_unit *u = &b->set->units.v[i];

		if (!good(b, u->next))
			continue;
		if (u->end != VMP_NONE && point(b, u->end)->object == point(b, u->next)->object)
			b->entries[u->next].inside += u->n;
		else
			b->entries[u->next].outside += u->n;
	}
}

/* As seen from an object; OUTSIDE for all that is not in it */
static uint64_t seen_from(const struct bolt *b, uint32_t object, uint32_t p)
{
	return good(b, p) && point(b, p)->object == object ? point(b, p)->addr : OUTSIDE;
}

static int add(struct bolt *b, char type, uint64_t from, uint64_t to, uint64_t n, uint64_t mispredicted)
{
	struct line l = { type, from, to, n, mispredicted };

	return n ? vmp_vec_push(&b->lines, l) : 0;
}

static int add_unit(struct bolt *b, uint32_t object, const struct vmp_unit *u)
{
	uint64_t from = seen_from(b, object, u->end), to = seen_from(b, object, u->next), outside;
	const struct entries *e;
	int err = 0;

	if (u->flaw)
		return 0;
	if (from != OUTSIDE || to != OUTSIDE)
		err = add(b, 'B', from, to, u->n, u->mispredicted);
	if (err || u->start == VMP_NONE || from == OUTSIDE)
		return err;
	e = &b->entries[u->start];
	outside = e->outside ? (uint64_t)((__uint128_t)u->n * e->outside / (e->inside + e->outside)) : 0;
	err = add(b, 'F', point(b, u->start)->addr, from, u->n - outside, 0);
	return err ? err : add(b, 'f', point(b, u->start)->addr, from, outside, 0);
}

static int in_order(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;

	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

static void address(FILE *out, uint64_t addr)
{
	if (addr == OUTSIDE)
		fputs(" X:0", out);
	else
		fprintf(out, " %" PRIx64, addr);
}

static void put_lines(FILE *out, struct bolt *b)
{
	struct line *l;
	uint32_t i;

	qsort(b->lines.v, b->lines.nr, sizeof(*b->lines.v), in_order);
	for (i = 0; i < b->lines.nr; i++) {
		l = &b->lines.v[i];
		for (; i + 1 < b->lines.nr && !in_order(l, &b->lines.v[i + 1]); i++) {
			l->n += b->lines.v[i + 1].n;
			l->mispredicted += b->lines.v[i + 1].mispredicted;
		}
		fputc(l->type, out);
		address(out, l->from);
		address(out, l->to);
		fprintf(out, " %" PRIu64, l->n);
		if (l->type == 'B')
			fprintf(out, " %" PRIu64, l->mispredicted);
		fputc('\n', out);
	}
}

static int write_file(const char *path, struct bolt *b)
{
	struct vmp_outfile o;
	FILE *out;
	int err = vmp_outfile_open(&o, path), fd;

	if (err)
		return err;
	fd = dup(o.fd);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out) {
		err = -errno;
		if (fd >= 0)
			close(fd);
	} else {
		put_lines(out, b);
		errno = EIO;
		if (ferror(out) | fclose(out))
			err = -errno;
	}
	fd = vmp_outfile_close(&o, err);
	return err ? err : fd;
}

/* MODULE-BUILDID.preagg: nothing that a guest chose gets into the path but safe characters */
static int write_object(const char *folder, struct bolt *b, uint32_t object)
{
	const struct vmp_object *o = &b->set->points.objects.v[object];
	const char *module = vmp_model_name(b->set->m, o->module);
	char path[4096], safe[4096], part[128], hex[2 * ID_BYTES + 1] = "no-build-id";
	const uint8_t *id;
	size_t len;
	uint32_t i;
	int err = 0;

	b->lines.nr = 0;
	for (i = 0; !err && i < b->set->units.nr; i++)
		err = add_unit(b, object, &b->set->units.v[i]);
	if (err || !b->lines.nr)
		return err;
	id = vmp_elf_own_id(o->code, &len);
	if (len)
		vmp_text_hex(hex, id, len < ID_BYTES ? len : ID_BYTES);
	if (snprintf(path, sizeof(path), "%s/%s-%s.preagg", folder, vmp_file_part(part, sizeof(part), module), hex) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	err = write_file(path, b);
	if (!err)
		vmp_info("%s", vmp_text(safe, sizeof(safe), path, strlen(path)));
	return err;
}

static int write_all(const char *folder, struct bolt *b)
{
	uint32_t i, n = 0;
	int err = 0;

	b->entries = calloc(b->set->points.points.nr + 1, sizeof(*b->entries));
	if (!b->entries)
		return -ENOMEM;
	count_entries(b);
	for (i = 0; !err && i < b->set->points.objects.nr; i++) {
		const struct vmp_object *o = &b->set->points.objects.v[i];

		if (!o->code || o->kernel || o->vm == VMP_NONE)
			continue;
		if (!n++)
			err = vmp_make_dirs(folder, 0700);
		if (!err)
			err = write_object(folder, b, i);
	}
	free(b->entries);
	if (err || n)
		return err;
	vmp_err("no branch is of a guest's binary that is here; vmprof branches tells why");
	return -ENOENT;
}

int vmp_write_bolt(const char *folder, struct vmp_model *m, const struct vmp_choice *c)
{
	struct vmp_set_choice choice = { .domain = c->domain, .comm = c->comm, .vcpu = c->vcpu, .pid = c->pid };
	struct vmp_set *set;
	struct bolt b = { 0 };
	int err = vmp_set_create(&set, m, &choice);

	if (err)
		return err;
	b.set = set;
	if (set->totals.with_branches) {
		err = write_all(folder, &b);
	} else {
		vmp_err("the capture has no branches; vmprof start --lbr records them");
		err = -ENOENT;
	}
	vmp_vec_free(&b.lines);
	vmp_set_destroy(set);
	return err;
}
