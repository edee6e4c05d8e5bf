// SPDX-License-Identifier: GPL-2.0-only
/* hosttext.c - parse maps and names of host processes; lines that make no sense are skipped. */
#include "model/hosttext.h"

#include <errno.h>
#include <string.h>

#include "model/elffile.h"
#include "util/text.h"

/* A line under way */
struct text {
	const char *p, *end;
	int bad;
};

static uint64_t number(struct text *t, unsigned base)
{
	const char *begin = t->p;
	uint64_t v = 0;

	for (; t->p < t->end && t->p - begin < 20; t->p++) {
		unsigned c = (unsigned char)*t->p, digit;

		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if (base == 16 && (c | 32) >= 'a' && (c | 32) <= 'f')
			digit = (c | 32) - 'a' + 10;
		else
			break;
		v = v * base + digit;
	}
	t->bad |= t->p == begin;
	return v;
}

static void skip(struct text *t, char c)
{
	if (t->p < t->end && *t->p == c)
		t->p++;
	else
		t->bad = 1;
}

static void skip_field(struct text *t)
{
	while (t->p < t->end && *t->p != ' ')
		t->p++;
	while (t->p < t->end && *t->p == ' ')
		t->p++;
}

static int add_proc(struct vmp_model *m, uint32_t tgid, struct vmp_host_proc **out)
{
	uint32_t *i = vmp_hash_find(&m->proc_by_tgid, tgid);
	struct vmp_host_proc p = { .tgid = tgid };

	if (!i) {
		if (vmp_vec_push(&m->procs, p) || vmp_hash_set(&m->proc_by_tgid, tgid, m->procs.nr - 1))
			return -ENOMEM;
		*out = &m->procs.v[m->procs.nr - 1];
		return 0;
	}
	*out = &m->procs.v[*i];
	return 0;
}

/* "start-end rwxp offset major:minor inode   path" */
static int map_line(struct vmp_model *m, struct vmp_host_proc *p, struct text t)
{
	struct vmp_host_map map;
	int exec, err = 0;

	map.start = number(&t, 16);
	skip(&t, '-');
	map.end = number(&t, 16);
	skip(&t, ' ');
	exec = t.end - t.p > 2 && t.p[2] == 'x';
	skip_field(&t);
	map.pgoff = number(&t, 16);
	skip(&t, ' ');
	skip_field(&t);
	skip_field(&t);
	if (t.bad || !exec || map.start >= map.end)
		return 0;
	map.path = vmp_strings_add(&m->strings, t.p, (size_t)(t.end - t.p), &err);
	if (err || vmp_vec_push(&p->maps, map))
		return -ENOMEM;
	return 0;
}

int vmp_host_maps(struct vmp_model *m, uint32_t tgid, const char *text, size_t len)
{
	const char *end = text + len, *nl;
	struct vmp_host_proc *p;
	int err = add_proc(m, tgid, &p);

	if (err)
		return err;
	p->maps.nr = 0;
	for (; !err && text < end; text = nl + 1) {
		nl = memchr(text, '\n', (size_t)(end - text));
		if (!nl)
			break;
		err = map_line(m, p, (struct text){ text, nl, 0 });
	}
	return err;
}

/* Processes in containers of their own may have two files of one path: then it is not known whose a mapping is. */
static int id_line(struct vmp_model *m, const char *line, size_t len)
{
	const char *path = memchr(line, ' ', len);
	uint32_t *known, id, name;
	int err = 0;

	if (!path || path == line)
		return 0;
	id = vmp_strings_add(&m->strings, line, (size_t)(path - line), &err);
	path++;
	name = vmp_strings_add(&m->strings, path, len - (size_t)(path - line), &err);
	if (err)
		return err;
	known = vmp_hash_find(&m->host_ids, name);
	return vmp_hash_set(&m->host_ids, name, known && *known != id ? VMP_NONE : id);
}

int vmp_host_ids(struct vmp_model *m, const char *text, size_t len)
{
	const char *end = text + len, *nl;
	int err = 0;

	for (; !err && text < end; text = nl + 1) {
		nl = memchr(text, '\n', (size_t)(end - text));
		if (!nl)
			break;
		err = id_line(m, text, (size_t)(nl - text));
	}
	return err;
}

int vmp_host_id(const struct vmp_model *m, uint32_t path, uint8_t *id)
{
	const uint32_t *known = vmp_hash_find(&m->host_ids, path);
	const char *s, *digits;
	uint64_t byte;
	int n;

	if (!known)
		return 0;
	if (*known == VMP_NONE)
		return -ESTALE;
	s = vmp_model_name(m, *known);
	for (n = 0; n < VMP_BUILD_ID_BYTES && s[0] && s[1]; n++) {
		digits = s;
		if (!vmp_text_unhex(&digits, s + 2, &byte) || digits != s + 2)
			return 0;
		id[n] = (uint8_t)byte;
		s += 2;
	}
	return *s ? 0 : n;
}

int vmp_host_comms(struct vmp_model *m, const char *text, size_t len)
{
	const char *end = text + len, *nl;
	struct vmp_host_proc *p;
	int err = 0;

	for (; !err && text < end; text = nl + 1) {
		struct text t;
		uint32_t tgid, tid;

		nl = memchr(text, '\n', (size_t)(end - text));
		if (!nl)
			break;
		t = (struct text){ text, nl, 0 };
		tgid = (uint32_t)number(&t, 10);
		skip(&t, ' ');
		tid = (uint32_t)number(&t, 10);
		skip(&t, ' ');
		if (t.bad)
			continue;
		err = add_proc(m, tgid, &p);
		/* a thread's name serves until the process's own is told */
		if (!err && (tid == tgid || !p->comm))
			p->comm = vmp_strings_add(&m->strings, t.p, (size_t)(t.end - t.p), &err);
	}
	return err;
}

const struct vmp_host_proc *vmp_host_proc(const struct vmp_model *m, uint32_t tgid)
{
	const uint32_t *i = vmp_hash_find(&m->proc_by_tgid, tgid);

	return i ? &m->procs.v[*i] : NULL;
}

const struct vmp_host_map *vmp_host_map(const struct vmp_host_proc *p, uint64_t addr)
{
	uint32_t i;

	for (i = 0; p && i < p->maps.nr; i++)
		if (addr >= p->maps.v[i].start && addr < p->maps.v[i].end)
			return &p->maps.v[i];
	return NULL;
}
