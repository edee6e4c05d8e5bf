// SPDX-License-Identifier: GPL-2.0-only
/* jit.c - what programs tell of code that they make: followed, sent as whole lines. */
#include "jit.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "jitdump.h"
#include "log.h"

#define NOT_DUE		UINT64_MAX

void vmp_jit_init(struct vmp_jit *jit)
{
	memset(jit, 0, sizeof(*jit));
}

void vmp_jit_clear(struct vmp_jit *jit)
{
	while (jit->nr)
		free(jit->program[--jit->nr].path);
	vmp_jit_init(jit);
}

/* ------------------------------------------------------------ who there is */

static int is_known(const struct vmp_jit *jit, uint32_t tgid, int dump)
{
	const struct vmp_jit_program *p;
	uint32_t i;

	for (i = 0; i < jit->nr; i++) {
		p = &jit->program[i];
		if (p->tgid == tgid && p->dump == dump && !p->ended)
			return 1;
	}
	return 0;
}

/* Memory files are how some runtimes map code that is writable elsewhere */
static int holds_made_code(const struct vmp_msg_map *map)
{
	static const char memfd[] = "/memfd:";

	return map->flags & VMPROF_MAP_ANON ||
	       (map->path.len >= sizeof(memfd) - 1 && !memcmp(map->path.p, memfd, sizeof(memfd) - 1));
}

static uint32_t free_slot(const struct vmp_jit *jit)
{
	uint32_t slot, i;

	for (slot = 0; ; slot++) {
		for (i = 0; i < jit->nr && jit->program[i].slot != slot; i++)
			;
		if (i == jit->nr)
			return slot;
	}
}

void vmp_jit_note(struct vmp_jit *jit, const struct vmp_msg_map *map)
{
	struct vmp_jit_program p = {
		.tsc = map->tsc, .tgid = map->tgid, .dump = vmp_jitdump_is(map->path.p, map->path.len),
		.m = { .start = map->start, .end = map->end, .ino = map->ino, .tgid = map->tgid,
		       .dev_major = map->dev_major, .dev_minor = map->dev_minor },
	};

	if ((!p.dump && !holds_made_code(map)) || is_known(jit, map->tgid, p.dump))
		return;
	if (jit->nr == VMP_JIT_PROGRAMS) {
		jit->lost += jit->refused != map->tgid;	/* they map again and again */
		jit->refused = map->tgid;
		return;
	}
	p.slot = free_slot(jit);
	p.path = strndup(map->path.p, map->path.len);
	if (p.path)
		jit->program[jit->nr++] = p;
	else
		jit->lost++;
}

static void end(struct vmp_jit_program *p)
{
	p->ended = 1;
	p->due_ms = 0;
}

void vmp_jit_ended(struct vmp_jit *jit, uint32_t tgid)
{
	uint32_t i;

	for (i = 0; i < jit->nr; i++)
		if (jit->program[i].tgid == tgid)
			end(&jit->program[i]);
}

void vmp_jit_finish(struct vmp_jit *jit)
{
	uint32_t i;

	for (i = 0; i < jit->nr; i++)
		end(&jit->program[i]);
}

void vmp_jit_give_up(struct vmp_jit *jit)
{
	uint32_t i;

	for (i = 0; i < jit->nr; i++) {
		jit->lost += !jit->program[i].given_up;
		free(jit->program[i].path);
	}
	jit->nr = 0;
}

void vmp_jit_begin_again(struct vmp_jit *jit)
{
	uint32_t i;

	for (i = 0; i < jit->nr; i++)
		jit->program[i].begun = 0;
}

static void forget(struct vmp_jit *jit, struct vmp_jit_program *p)
{
	free(p->path);
	*p = jit->program[--jit->nr];
}

/* Keep only that it is known, so that it is not begun anew. */
static void give_up(struct vmp_jit *jit, struct vmp_jit_program *p, const char *why)
{
	vmp_log(VMP_LOG_NOTICE, "the %s of process %" PRIu32 " %s: no more of its functions will have names",
		p->dump ? "jitdump file" : "map /tmp/perf-PID.map", p->tgid, why);
	jit->lost++;
	p->given_up = 1;
	p->due_ms = 0;
}

/* Could it not be read now, but may be later?  Then it is asked for again in a while. */
static int comes_later(struct vmp_jit_program *p, const struct vmp_read_answer *a, uint64_t now_ms)
{
	p->errors += a->status == -EIO;
	if (!vmp_read_is_late(a) || p->errors == VMP_JIT_ERRORS_MAX)
		return 0;
	p->due_ms = now_ms + VMP_READ_LATE_MS;
	return 1;
}

/* ---------------------------------------------------- asked of the child */

/* Of one that was given up it does not matter whether this child had begun with it. */
static int is_due(const struct vmp_jit_program *p, uint64_t now_ms)
{
	return (p->begun || p->given_up) && p->due_ms <= now_ms;
}

/* What is done next with a program that was begun */
static uint32_t next_of(const struct vmp_jit_program *p)
{
	return p->given_up || p->read_to_end ? VMP_READ_JIT_END : VMP_READ_JIT;
}

static void request(const struct vmp_jit_program *p, uint32_t what, size_t room, struct vmp_read_request *r)
{
	r->what = what;
	r->number = p->slot;
	r->flags = (p->dump ? VMP_READ_DUMP : 0) | (p->ended ? VMP_READ_ENDED : 0);
	r->m = p->m;
	r->offset = p->offset;
	r->len = (uint32_t)room;
	strcpy(r->path, p->path);
}

int vmp_jit_ask_begin(const struct vmp_jit *jit, uint64_t now_ms, struct vmp_read_request *r)
{
	const struct vmp_jit_program *p;
	uint32_t i;

	for (i = 0; i < jit->nr; i++) {
		p = &jit->program[i];
		if (p->begun || p->given_up || (p->put_off && p->due_ms > now_ms))
			continue;
		request(p, VMP_READ_JIT_BEGIN, 0, r);
		return 1;
	}
	return 0;
}

int vmp_jit_ask(struct vmp_jit *jit, const struct vmp_out *out, uint64_t now_ms, struct vmp_read_request *r)
{
	size_t room = vmp_out_bulk_room(out);
	struct vmp_jit_program *p;
	uint32_t i, what;

	for (i = 0; i < jit->nr; i++) {
		p = &jit->program[(jit->turn + i) % jit->nr];
		what = next_of(p);
		if (!is_due(p, now_ms) ||
		    (what == VMP_READ_JIT && room <= sizeof(struct vmprof_jitmap) + p->too_small))
			continue;
		jit->turn = (jit->turn + i + 1) % jit->nr;
		p->asked_tsc = vmp_tsc();
		request(p, what, what == VMP_READ_JIT ? room - sizeof(struct vmprof_jitmap) : 0, r);
		return 1;
	}
	return 0;
}

/* Nothing more is there now. */
static void rest(struct vmp_jit_program *p, const struct vmp_read_request *r, uint64_t now_ms)
{
	/* it may have ended, and have written, since it was asked for */
	p->due_ms = p->ended ? 0 : now_ms + VMP_JIT_LOOK_MS;
	p->read_to_end = !!(r->flags & VMP_READ_ENDED);
	p->looked_tsc = p->asked_tsc;
}

/* What is read now was not there when it was looked last. */
static uint32_t after(const struct vmp_jit_program *p)
{
	uint64_t ticks = p->looked_tsc > p->tsc ? p->looked_tsc - p->tsc : 0;

	ticks >>= VMPROF_JITMAP_AFTER_SHIFT;
	return ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
}

/* Return: 1, or 0: they did not go out */
static int send_lines(struct vmp_jit *jit, struct vmp_jit_program *p, struct vmp_out *out,
		      const struct vmp_read_answer *a)
{
	struct vmprof_jitmap msg = {
		.tsc = htole64(p->tsc), .tgid = htole32(p->tgid), .after = htole32(after(p)),
	};
	struct iovec iov[2] = { { &msg, sizeof(msg) }, { (void *)a->data, a->len } };

	if (p->sent + a->len > VMPROF_JITMAP_BYTES_MAX || jit->sent + a->len > VMPROF_JITMAPS_BYTES_MAX) {
		give_up(jit, p, "is too long");
		return 1;
	}
	if (vmp_out_put_bulk(out, VMPROF_MSG_JITMAP, iov, 2))
		return 0;
	p->sent += a->len;
	jit->sent += a->len;
	return 1;
}

static void on_lines(struct vmp_jit *jit, struct vmp_jit_program *p, const struct vmp_read_request *r,
		     const struct vmp_read_answer *a, struct vmp_out *out, uint64_t now_ms)
{
	int made_no_sense = a->status == -EFBIG || a->status == -EBADMSG;

	if (a->status == -EFBIG && r->len + sizeof(struct vmprof_jitmap) < VMP_OUT_BULK_PAYLOAD) {
		p->too_small = r->len;		/* with more credit it may fit */
		return;
	}
	p->too_small = 0;
	if (comes_later(p, a, now_ms))
		return;
	if (a->status && a->status != -EAGAIN) {
		give_up(jit, p, made_no_sense ? "makes no sense" : strerror(-a->status));
		return;
	}
	/* what finds no room any more is read again */
	if (a->len && !send_lines(jit, p, out, a))
		return;
	p->offset = a->offset;
	p->errors = 0;
	if (!a->len && !a->status)
		rest(p, r, now_ms);
}

static int is_gone(const struct vmp_read_answer *a)
{
	return a->status == -ENOENT || a->status == -ESRCH;
}

/* A process that is gone already is nobody's loss that could be told of, unless it was known, or waited for us. */
static void on_begun(struct vmp_jit *jit, struct vmp_jit_program *p, const struct vmp_read_answer *a, uint64_t now_ms)
{
	if (comes_later(p, a, now_ms)) {
		p->put_off = 1;
		return;
	}
	p->begun = 1;
	if (!a->status) {
		p->due_ms = p->put_off ? 0 : p->due_ms;
		p->put_off = 0;
		return;
	}
	if (a->status == -EIO) {
		give_up(jit, p, strerror(EIO));
		return;
	}
	jit->lost += p->offset || p->put_off || !is_gone(a);
	forget(jit, p);
}

void vmp_jit_answer(struct vmp_jit *jit, const struct vmp_read_request *r, const struct vmp_read_answer *a,
		    struct vmp_out *out, uint64_t now_ms)
{
	struct vmp_jit_program *p = jit->program;

	while (p < jit->program + jit->nr && p->slot != r->number)
		p++;
	if (p == jit->program + jit->nr)
		return;
	if (r->what == VMP_READ_JIT_BEGIN)
		on_begun(jit, p, a, now_ms);
	else if (r->what == VMP_READ_JIT)
		on_lines(jit, p, r, a, out, now_ms);
	else if (p->ended)
		forget(jit, p);
	else
		p->due_ms = NOT_DUE;
}
