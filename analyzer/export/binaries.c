// SPDX-License-Identifier: GPL-2.0-only
/* binaries.c - branches by binary, and the files of a folder. */
#include "export/binaries.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blocks/about.h"
#include "blocks/set.h"
#include "export/format.h"
#include "model/hash.h"
#include "util/capdir.h"
#include "util/log.h"
#include "util/outfile.h"
#include "util/text.h"

#define ID_BYTES	20

/* Branches to a start, by where they came from */
struct entries {
	uint64_t inside, outside;
};

/* Numbers by object: those of object o are v[at[o]] until before v[at[o + 1]] */
struct of_objects {
	uint32_t *at, *v;
};

struct job {
	const struct vmp_set *set;
	const char *folder, *suffix;
	void (*print)(FILE *out, const struct vmp_binary *b);
	struct entries *entries;	/* by point */
	char **name;			/* by object: MODULE-BUILDID, NULL: none is written of it */
	struct vmp_hash named;		/* names: the first object with it */
	struct vmp_hash numbers;	/* modules without a build-id: the last number that one got */
	uint32_t *same;			/* by object: the next one of its name, or VMP_NONE */
	struct of_objects units, landings;
	uint64_t *missing;		/* by object: branches that begin or end in one whose file is not here */
	struct vmp_binary binary;
};

static const struct vmp_point *point(const struct job *j, uint32_t p)
{
	return &j->set->points.points.v[p];
}

static int good(const struct job *j, uint32_t p)
{
	return p != VMP_NONE && !point(j, p)->flaw;
}

static void count_entries(struct job *j)
{
	uint32_t i;

	for (i = 0; i < j->set->units.nr; i++) {
		const struct vmp_unit *u = &j->set->units.v[i];

		if (!good(j, u->next))
			continue;
		if (u->end != VMP_NONE && point(j, u->end)->object == point(j, u->next)->object)
			j->entries[u->next].inside += u->n;
		else
			j->entries[u->next].outside += u->n;
	}
}

/* As seen from an object; VMP_OUTSIDE for all that is not in it */
static uint64_t seen_from(const struct job *j, uint32_t object, uint32_t p)
{
	return good(j, p) && point(j, p)->object == object ? point(j, p)->addr : VMP_OUTSIDE;
}

static int add(struct job *j, struct vmp_way w)
{
	return w.n ? vmp_vec_push(&j->binary.ways, w) : 0;
}

static int add_unit(struct job *j, uint32_t object, const struct vmp_unit *u)
{
	struct vmp_way branch = {
		.kind = VMP_WAY_BRANCH, .from = seen_from(j, object, u->end), .to = seen_from(j, object, u->next),
		.n = u->n, .mispredicted = u->mispredicted,
	}, straight = { .kind = VMP_WAY_STRAIGHT, .to = branch.from, .n = u->n };
	const struct entries *e;
	int err = 0;

	if (u->flaw)
		return 0;
	if (branch.from != VMP_OUTSIDE || branch.to != VMP_OUTSIDE)
		err = add(j, branch);
	if (err || u->start == VMP_NONE || branch.from == VMP_OUTSIDE)
		return err;
	straight.from = point(j, u->start)->addr;
	e = &j->entries[u->start];
	if (e->outside)
		straight.entered = (uint64_t)((__uint128_t)u->n * e->outside / (e->inside + e->outside));
	return add(j, straight);
}

static int add_landing(struct job *j, uint32_t object, const struct vmp_landing *l)
{
	uint64_t at = seen_from(j, object, l->ip);
	struct vmp_way w = { .kind = VMP_WAY_SAMPLE, .from = at, .to = at, .n = l->n };

	return at == VMP_OUTSIDE ? 0 : add(j, w);
}

static int in_order(const void *pa, const void *pb)
{
	const struct vmp_way *a = pa, *b = pb;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

static void make_one_of_each(struct vmp_binary *b)
{
	struct vmp_way *w = b->ways.v, *to = w;
	uint32_t i;

	qsort(w, b->ways.nr, sizeof(*w), in_order);
	for (i = 1; i < b->ways.nr; i++) {
		if (in_order(to, &w[i])) {
			*++to = w[i];
			continue;
		}
		to->n += w[i].n;
		to->mispredicted += w[i].mispredicted;
		to->entered += w[i].entered;
	}
	b->ways.nr = (uint32_t)(to - w) + 1;
}

static int write_file(const char *path, const struct job *j)
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
		j->print(out, &j->binary);
		errno = EIO;
		if (ferror(out) | fclose(out))
			err = -errno;
	}
	fd = vmp_outfile_close(&o, err);
	return err ? err : fd;
}

static uint64_t name_key(const char *name)
{
	return vmp_hash_bytes(name, strlen(name));
}

/* As "-no-build-id-N", N the first that no other binary of the module has */
static int number(struct job *j, char *name, size_t len, const char *part)
{
	const uint64_t key = name_key(part);
	const uint32_t *last = vmp_hash_find(&j->numbers, key);
	uint32_t n = last ? *last : 0;

	do {
		if (++n == 1)
			snprintf(name, len, "%s-no-build-id", part);
		else
			snprintf(name, len, "%s-no-build-id-%" PRIu32, part, n);
	} while (vmp_hash_find(&j->named, name_key(name)));
	return vmp_hash_set(&j->numbers, key, n);
}

/*
 * Nothing that a guest chose gets into a path but safe characters.  Guests, or folders of one, with the same
 * binary share its file; of those without a build-id nobody knows whether they are the same.
 */
static int name_object(struct job *j, uint32_t object)
{
	const struct vmp_object *o = &j->set->points.objects.v[object];
	const char *module = vmp_model_name(j->set->m, o->module);
	char name[256], part[128], hex[2 * ID_BYTES + 1];
	const uint8_t *id;
	size_t len;

	if (!o->code || o->kernel || o->vm == VMP_NONE)
		return 0;
	id = vmp_elf_own_id(o->code, &len);
	vmp_file_part(part, sizeof(part), module);
	if (len) {
		vmp_text_hex(hex, id, len < ID_BYTES ? len : ID_BYTES);
		snprintf(name, sizeof(name), "%s-%s", part, hex);
	} else if (number(j, name, sizeof(name), part)) {
		return -ENOMEM;
	}
	j->name[object] = strdup(name);
	return j->name[object] && !vmp_hash_set(&j->named, name_key(name), object) ? 0 : -ENOMEM;
}

/* Objects of one name follow each other */
static int link_names(struct job *j)
{
	uint32_t i;
	int err = 0;

	vmp_hash_free(&j->named);
	for (i = j->set->points.objects.nr; !err && i-- > 0; ) {
		const uint32_t *next = j->name[i] ? vmp_hash_find(&j->named, name_key(j->name[i])) : NULL;

		j->same[i] = next ? *next : VMP_NONE;
		err = j->name[i] ? vmp_hash_set(&j->named, name_key(j->name[i]), i) : 0;
	}
	return err;
}

/* ------------------------------------------------------- what lies in which */

/* @objects: of the number's points, at most two; VMP_NONE none.  Called twice for each: to count them, then to note them */
static void note(struct of_objects *o, int noted, const uint32_t objects[2], uint32_t number)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (objects[i] == VMP_NONE || (i && objects[1] == objects[0]))
			continue;
		if (noted)
			o->v[o->at[objects[i]]++] = number;
		else
			o->at[objects[i] + 1]++;
	}
}

static uint32_t object_of(const struct job *j, uint32_t p)
{
	return good(j, p) ? point(j, p)->object : VMP_NONE;
}

static void note_units(struct job *j, int noted)
{
	uint32_t i;

	for (i = 0; i < j->set->units.nr; i++) {
		const struct vmp_unit *u = &j->set->units.v[i];

		note(&j->units, noted, (uint32_t[]){ object_of(j, u->end), object_of(j, u->next) }, i);
	}
}

static void note_landings(struct job *j, int noted)
{
	uint32_t i;

	for (i = 0; i < j->set->landings.nr; i++)
		note(&j->landings, noted, (uint32_t[]){ object_of(j, j->set->landings.v[i].ip), VMP_NONE }, i);
}

/* @at[o + 1] has how many there are of o; then where those of o begin, while they are noted; then what it is to have */
static int index_objects(struct job *j, struct of_objects *o, void (*note_all)(struct job *j, int noted))
{
	const uint32_t nr = j->set->points.objects.nr;
	uint32_t i;

	o->at = calloc((size_t)nr + 2, sizeof(*o->at));
	if (!o->at)
		return -ENOMEM;
	note_all(j, 0);
	for (i = 0; i < nr; i++)
		o->at[i + 1] += o->at[i];
	o->v = malloc(((size_t)o->at[nr] + 1) * sizeof(*o->v));
	if (!o->v)
		return -ENOMEM;
	note_all(j, 1);
	memmove(o->at + 1, o->at, nr * sizeof(*o->at));
	o->at[0] = 0;
	return 0;
}

/* ---------------------------------------------------------------- writing */

static int write_named(struct job *j, const char *name)
{
	char path[4096], safe[4096];
	int err;

	if (snprintf(path, sizeof(path), "%s/%s.%s", j->folder, name, j->suffix) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	err = write_file(path, j);
	if (!err)
		vmp_info("%s", vmp_text(safe, sizeof(safe), path, strlen(path)));
	return err;
}

static int add_object(struct job *j, uint32_t object)
{
	uint32_t i, ways = j->binary.ways.nr;
	int err = 0;

	for (i = j->units.at[object]; !err && i < j->units.at[object + 1]; i++)
		err = add_unit(j, object, &j->set->units.v[j->units.v[i]]);
	if (ways == j->binary.ways.nr)
		return err;
	for (i = j->landings.at[object]; !err && i < j->landings.at[object + 1]; i++)
		err = add_landing(j, object, &j->set->landings.v[j->landings.v[i]]);
	return err;
}

/* All objects of one name, beginning with the first */
static int write_objects(struct job *j, uint32_t first)
{
	struct vmp_binary *b = &j->binary;
	uint32_t i;
	int err = 0;

	if (!j->name[first] || *vmp_hash_find(&j->named, name_key(j->name[first])) != first)
		return 0;
	b->code = j->set->points.objects.v[first].code;
	b->ways.nr = 0;
	for (i = first; !err && i != VMP_NONE; i = j->same[i])
		err = add_object(j, i);
	if (err || !b->ways.nr)
		return err;
	make_one_of_each(b);
	return write_named(j, j->name[first]);
}

static int write_all(struct job *j)
{
	uint32_t i, nr = j->set->points.objects.nr, n = 0;
	int err = 0;

	count_entries(j);
	for (i = 0; !err && i < nr; i++) {
		err = name_object(j, i);
		n += !!j->name[i];
	}
	if (!err && !n) {
		vmp_err("no branch is of a guest's binary that is here; vmprof branches tells why");
		return -ENOENT;
	}
	if (!err)
		err = link_names(j);
	if (!err)
		err = index_objects(j, &j->units, note_units);
	if (!err)
		err = index_objects(j, &j->landings, note_landings);
	if (!err)
		err = vmp_make_dirs(j->folder, 0700);
	for (i = 0; !err && i < nr; i++)
		err = write_objects(j, i);
	return err;
}

/* Of a binary whose file is not here, VMP_NONE: none */
static uint32_t missing_object(const struct job *j, uint32_t p)
{
	return p != VMP_NONE && point(j, p)->flaw == VMP_FLAW_NO_FILE ? point(j, p)->object : VMP_NONE;
}

static void count_missing(struct job *j)
{
	uint32_t i, from, to;

	for (i = 0; i < j->set->units.nr; i++) {
		const struct vmp_unit *u = &j->set->units.v[i];

		from = missing_object(j, u->end);
		to = missing_object(j, u->next);
		if (from != VMP_NONE)
			j->missing[from] += u->n;
		if (to != VMP_NONE && to != from)
			j->missing[to] += u->n;
	}
}

/* Guests' binaries that ran, and whose files are not here */
static void tell_missing(struct job *j)
{
	const struct vmp_points *p = &j->set->points;
	char safe[1024], safe_domain[1024];
	uint32_t i;

	count_missing(j);
	for (i = 0; i < p->objects.nr; i++) {
		const struct vmp_object *o = &p->objects.v[i];
		const char *module = vmp_model_name(j->set->m, o->module), *domain;

		if (!j->missing[i] || o->vm == VMP_NONE)
			continue;
		domain = vmp_model_name(j->set->m, j->set->m->vms.v[o->vm].name);
		vmp_warn("%s of %s is not in the object cache: no file is written of it; %" PRIu64 " branches begin or end there",
			 vmp_text(safe, sizeof(safe), module, strlen(module)),
			 vmp_text(safe_domain, sizeof(safe_domain), domain, strlen(domain)), j->missing[i]);
	}
}

static int write_set(struct job *j)
{
	uint32_t i;
	int err = -ENOMEM;

	j->entries = calloc(j->set->points.points.nr + 1, sizeof(*j->entries));
	j->name = calloc(j->set->points.objects.nr + 1, sizeof(*j->name));
	j->missing = calloc(j->set->points.objects.nr + 1, sizeof(*j->missing));
	j->same = calloc(j->set->points.objects.nr + 1, sizeof(*j->same));
	if (j->entries && j->name && j->missing && j->same) {
		err = write_all(j);
		tell_missing(j);
		vmp_about_left_out(stderr, j->set);
	}
	for (i = 0; j->name && i < j->set->points.objects.nr; i++)
		free(j->name[i]);
	vmp_hash_free(&j->named);
	vmp_hash_free(&j->numbers);
	free(j->units.at);
	free(j->units.v);
	free(j->landings.at);
	free(j->landings.v);
	free(j->same);
	free(j->name);
	free(j->entries);
	free(j->missing);
	return err;
}

int vmp_write_binaries(const char *folder, struct vmp_model *m, const struct vmp_choice *c, const char *suffix,
		       void (*print)(FILE *out, const struct vmp_binary *b))
{
	struct vmp_set_choice choice = { .domain = c->domain, .comm = c->comm, .vcpu = c->vcpu, .pid = c->pid };
	struct job j = { .folder = folder, .suffix = suffix, .print = print };
	struct vmp_set *set;
	int err = vmp_set_create(&set, m, &choice);

	if (err)
		return err;
	j.set = set;
	if (set->totals.with_branches) {
		err = write_set(&j);
	} else {
		vmp_err("the capture has no branches; vmprof start --lbr records them");
		err = -ENOENT;
	}
	vmp_vec_free(&j.binary.ways);
	vmp_set_destroy(set);
	return err;
}
