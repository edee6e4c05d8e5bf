// SPDX-License-Identifier: GPL-2.0-only
/*
 * pprof.c - profile.proto of pprof (github.com/google/pprof, proto/profile.proto).
 *
 * Written by hand: the format has varints and length-delimited fields only.
 * Samples go out first, one by one; tables of what they named follow.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/format.h"
#include "report/render.h"
#include "util/text.h"

/* Field numbers of profile.proto */
enum {
	PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_MAPPING = 3, PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5, PROFILE_STRING = 6, PROFILE_TIME_NANOS = 9, PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11, PROFILE_PERIOD = 12, PROFILE_DEFAULT_TYPE = 14,
	VALUE_TYPE = 1, VALUE_UNIT = 2,
	SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3,
	LABEL_KEY = 1, LABEL_STR = 2,
	MAPPING_ID = 1, MAPPING_START = 2, MAPPING_LIMIT = 3, MAPPING_OFFSET = 4, MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6, MAPPING_HAS_FUNCTIONS = 7,
	LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4,
};

#define MESSAGE_MAX	1024
#define LABEL_MAX	32	/* two fields of a varint each */

/* A message in the making; none but strings can be long, and they go out as they are */
struct msg {
	size_t len;			/* alone it begins as 0: all bytes would take longer than the rest */
	uint8_t bytes[MESSAGE_MAX];
};

/* A label as it stands in many samples */
struct label {
	size_t len;			/* 0: not made yet */
	uint8_t bytes[LABEL_MAX];
};

struct strings {
	struct vmp_hash known;		/* string number of the model -> ours */
	VMP_VEC(uint32_t) in_order;	/* the model's */
	int err;
};

struct pprof {
	FILE *out;
	struct vmp_table *t;
	struct strings s;
	struct vmp_hash functions;	/* function and module -> id */
	uint32_t nr_functions;
	struct label *tracks;		/* by number */
	/* of the line before */
	uint32_t task;
	enum vmp_side side;
	struct msg vm, who;		/* its labels */
};

/* Words of ours, before all others in the string table; 0 must be "" */
static const char *const words[] = {
	"", "samples", "count", "cycles", "instructions", "vm", "vcpu", "pid", "comm", "mode",
	"exit_reason", "thread", "pcpu", "nanoseconds", "[steal]", "[idle]", "tid", "thread_name",
	"guest_kernel", "guest_user", "vmm", "steal", "host",
};

enum {
	W_NONE, W_SAMPLES, W_COUNT, W_CYCLES, W_INSTRUCTIONS, W_VM, W_VCPU, W_PID, W_COMM, W_MODE,
	W_EXIT, W_THREAD, W_PCPU, W_NANOSECONDS, W_STEAL, W_IDLE, W_TID, W_THREAD_NAME, W_SIDE, W_NR = W_SIDE + VMP_SIDE_NR,
};

_Static_assert(sizeof(words) / sizeof(words[0]) == W_NR, "words and their numbers");

static void varint(struct msg *m, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		m->bytes[m->len++] = (uint8_t)(v | 0x80);
	m->bytes[m->len++] = (uint8_t)v;
}

/* proto3: zero is the default and not written */
static void number(struct msg *m, unsigned int field, uint64_t v)
{
	if (v) {
		varint(m, field << 3);
		varint(m, v);
	}
}

static void put(struct msg *m, const struct msg *part)
{
	memcpy(m->bytes + m->len, part->bytes, part->len);
	m->len += part->len;
}

static void bytes(struct msg *m, unsigned int field, const struct msg *inner)
{
	varint(m, field << 3 | 2);
	varint(m, inner->len);
	put(m, inner);
}

static void emit_bytes(FILE *out, unsigned int field, const void *data, size_t len)
{
	struct msg head;

	head.len = 0;
	varint(&head, field << 3 | 2);
	varint(&head, len);
	fwrite(head.bytes, 1, head.len, out);
	fwrite(data, 1, len, out);
}

static void emit(FILE *out, unsigned int field, const struct msg *m)
{
	emit_bytes(out, field, m->bytes, m->len);
}

static void emit_number(FILE *out, unsigned int field, uint64_t v)
{
	struct msg m;

	m.len = 0;
	number(&m, field, v);
	fwrite(m.bytes, 1, m.len, out);
}

/* Number of one of the model's strings in our table */
static uint64_t str(struct strings *s, uint32_t model)
{
	uint32_t *known;

	if (!model)
		return W_NONE;
	known = vmp_hash_find(&s->known, model);
	if (known)
		return *known;
	if (vmp_vec_push(&s->in_order, model) || vmp_hash_set(&s->known, model, W_NR + s->in_order.nr - 1)) {
		s->err = -ENOMEM;
		return W_NONE;
	}
	return W_NR + s->in_order.nr - 1;
}

static void make_label(struct label *to, unsigned int key, uint64_t text)
{
	struct msg l, m;

	l.len = m.len = 0;
	number(&l, LABEL_KEY, key);
	number(&l, LABEL_STR, text);
	bytes(&m, SAMPLE_LABEL, &l);
	memcpy(to->bytes, m.bytes, m.len);
	to->len = m.len;
}

static void put_label(struct msg *m, const struct label *l)
{
	memcpy(m->bytes + m->len, l->bytes, l->len);
	m->len += l->len;
}

static void label(struct msg *m, unsigned int key, uint64_t text)
{
	struct label l;

	make_label(&l, key, text);
	put_label(m, &l);
}

/* As text: readers drop a number that is 0 */
static uint64_t number_str(struct pprof *p, uint32_t value)
{
	char buf[16];
	int n = snprintf(buf, sizeof(buf), "%" PRIu32, value);

	return str(&p->s, vmp_strings_add(&p->t->model->strings, buf, (size_t)n, &p->s.err));
}

static const struct label *track_label(struct pprof *p, uint32_t number)
{
	static const unsigned int key[] = {
		[VMP_TRACK_VCPU] = W_VCPU, [VMP_TRACK_THREAD] = W_THREAD, [VMP_TRACK_PCPU] = W_PCPU,
	};
	const struct vmp_track *track = &p->t->tracks.v[number];
	struct label *l = &p->tracks[number];

	if (!l->len)
		make_label(l, key[track->kind], number_str(p, track->id));
	return l;
}

static uint64_t comm_of(struct pprof *p, const struct vmp_line *l, const struct vmp_task *task)
{
	if (task->comm || task->pid != VMP_NONE)
		return str(&p->s, task->comm);
	return l->side == VMP_SIDE_STEAL ? W_STEAL : W_IDLE;
}

static void make_vm(struct pprof *p, const struct vmp_task *task)
{
	p->vm.len = 0;
	if (p->t->domains.v[task->domain].name)
		label(&p->vm, W_VM, str(&p->s, p->t->domains.v[task->domain].name));
}

static void make_who(struct pprof *p, const struct vmp_line *l, const struct vmp_task *task)
{
	p->who.len = 0;
	if (task->pid != VMP_NONE)
		label(&p->who, W_PID, number_str(p, task->pid));
	label(&p->who, W_COMM, comm_of(p, l, task));
	if (task->tid != VMP_NONE) {
		label(&p->who, W_TID, number_str(p, task->tid));
		label(&p->who, W_THREAD_NAME, str(&p->s, task->thread));
	}
}

/* Lines of one task follow each other. */
static void sample(struct pprof *p, const struct vmp_line *l)
{
	const struct vmp_task *task = &p->t->tasks.v[l->task];
	int same = p->task == l->task && p->side == l->side;
	struct msg m, packed;

	m.len = packed.len = 0;
	varint(&packed, l->site + 1);
	bytes(&m, SAMPLE_LOCATION, &packed);
	packed.len = 0;
	varint(&packed, l->sum.samples);
	varint(&packed, l->sum.cycles);
	varint(&packed, l->sum.instructions);
	bytes(&m, SAMPLE_VALUE, &packed);
	if (!same)
		make_vm(p, task);
	put(&m, &p->vm);
	put_label(&m, track_label(p, l->track));
	if (!same)
		make_who(p, l, task);
	put(&m, &p->who);
	p->task = l->task;
	p->side = l->side;
	label(&m, W_MODE, W_SIDE + l->side);
	if (l->exit)
		label(&m, W_EXIT, str(&p->s, l->exit));
	emit(p->out, PROFILE_SAMPLE, &m);
}

static void value_type(struct pprof *p, unsigned int field, uint64_t type, uint64_t unit)
{
	struct msg m;

	m.len = 0;
	number(&m, VALUE_TYPE, type);
	number(&m, VALUE_UNIT, unit);
	emit(p->out, field, &m);
}

static void mapping(struct pprof *p, uint32_t i)
{
	const struct vmp_mapping *map = &p->t->mappings.v[i];
	char build_id[2 * VMPROF_BUILD_ID_MAX + 1];
	struct msg m;

	m.len = 0;
	vmp_table_build_id(build_id, p->t, map);
	number(&m, MAPPING_ID, i + 1);
	number(&m, MAPPING_START, map->bias + map->low);
	number(&m, MAPPING_LIMIT, map->bias + map->high);
	number(&m, MAPPING_OFFSET, map->kernel ? 0 : map->low);
	number(&m, MAPPING_FILE, str(&p->s, map->path));
	if (*build_id)
		number(&m, MAPPING_BUILD_ID,
		       str(&p->s, vmp_strings_add(&p->t->model->strings, build_id, strlen(build_id), &p->s.err)));
	number(&m, MAPPING_HAS_FUNCTIONS, 1);
	emit(p->out, PROFILE_MAPPING, &m);
}

/* A function is known by its name and module; written when it is first met. */
static uint32_t function(struct pprof *p, const struct vmp_site *site)
{
	uint64_t key = (uint64_t)site->module << 32 | site->function;
	uint32_t *known = vmp_hash_find(&p->functions, key), id = p->nr_functions + 1;
	struct msg m;

	m.len = 0;
	if (known)
		return *known;
	if (vmp_hash_set(&p->functions, key, id)) {
		p->s.err = -ENOMEM;
		return 0;
	}
	p->nr_functions++;
	number(&m, FUNCTION_ID, id);
	number(&m, FUNCTION_NAME, str(&p->s, site->function));
	number(&m, FUNCTION_SYSTEM_NAME, str(&p->s, site->function));
	number(&m, FUNCTION_FILE, str(&p->s, site->module));
	emit(p->out, PROFILE_FUNCTION, &m);
	return id;
}

static void location(struct pprof *p, uint32_t i)
{
	const struct vmp_site *site = &p->t->sites.v[i];
	struct msg m, line;

	m.len = line.len = 0;
	number(&line, LINE_FUNCTION, function(p, site));
	number(&m, LOCATION_ID, i + 1);
	if (site->mapping != VMP_NONE)
		number(&m, LOCATION_MAPPING, site->mapping + 1);
	number(&m, LOCATION_ADDRESS, site->address);
	bytes(&m, LOCATION_LINE, &line);
	emit(p->out, PROFILE_LOCATION, &m);
}

/* protobuf wants UTF-8; names are shown in terminals: both are seen to here */
static void string_table(struct pprof *p)
{
	char safe[4 * VMPROF_PATH_BYTES_MAX];
	const char *s;
	uint32_t i;

	for (i = 0; i < W_NR; i++)
		emit_bytes(p->out, PROFILE_STRING, words[i], strlen(words[i]));
	for (i = 0; i < p->s.in_order.nr; i++) {
		s = vmp_table_str(p->t, p->s.in_order.v[i]);
		vmp_text(safe, sizeof(safe), s, strlen(s));
		emit_bytes(p->out, PROFILE_STRING, safe, strlen(safe));
	}
}

int vmp_write_pprof(FILE *out, struct vmp_table *t, struct vmp_format_options *o)
{
	struct pprof p = { .out = out, .t = t, .task = VMP_NONE };
	const struct vmp_model *m = t->model;
	uint32_t i;
	int timer = !strcmp(vmp_model_name(m, m->meta.trigger), "timer");

	(void)o;
	p.tracks = calloc(t->tracks.nr + 1, sizeof(*p.tracks));
	if (!p.tracks)
		return -ENOMEM;
	value_type(&p, PROFILE_SAMPLE_TYPE, W_SAMPLES, W_COUNT);
	value_type(&p, PROFILE_SAMPLE_TYPE, W_CYCLES, W_COUNT);
	value_type(&p, PROFILE_SAMPLE_TYPE, W_INSTRUCTIONS, W_COUNT);
	for (i = 0; i < t->lines.nr; i++)
		sample(&p, &t->lines.v[i]);
	for (i = 0; i < t->mappings.nr; i++)
		mapping(&p, i);
	for (i = 0; i < t->sites.nr; i++)
		location(&p, i);
	emit_number(out, PROFILE_TIME_NANOS, m->header.realtime_ns);
	emit_number(out, PROFILE_DURATION_NANOS, (uint64_t)(vmp_session_seconds(m) * 1e9));
	value_type(&p, PROFILE_PERIOD_TYPE, str(&p.s, m->meta.event), timer ? W_NANOSECONDS : W_COUNT);
	emit_number(out, PROFILE_PERIOD, m->meta.period);
	emit_number(out, PROFILE_DEFAULT_TYPE, W_SAMPLES);
	string_table(&p);
	vmp_hash_free(&p.s.known);
	vmp_hash_free(&p.functions);
	vmp_vec_free(&p.s.in_order);
	free(p.tracks);
	return p.s.err;
}
