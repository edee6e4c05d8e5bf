// SPDX-License-Identifier: GPL-2.0-only
/*
 * frames.c - an AGENT block's frames into a machine: boots, files, kernel
 * symbols, and events still in guest time.
 *
 * The collector has checked them, but a capture may come from anywhere: every
 * frame is taken apart by the same checked parser again, and one that breaks
 * a limit is counted and skipped.
 */
#include <endian.h>
#include <string.h>

#include "agent_msg.h"
#include "model/machine.h"

struct in {
	struct vmp_machine *m;
	struct vmp_strings *strings;
	uint64_t seen;
	int err;
};

static uint32_t str(struct in *in, const char *p, size_t len)
{
	return vmp_strings_add(in->strings, p, len, &in->err);
}

/* The boot that events are of; one is made up when HELLO was lost. */
static struct vmp_boot *boot(struct in *in)
{
	struct vmp_boot none = { 0 };

	if (!in->m->boots.nr && vmp_vec_push(&in->m->boots, none)) {
		in->err = -ENOMEM;
		return NULL;
	}
	return &in->m->boots.v[in->m->boots.nr - 1];
}

static void add_event(struct in *in, struct vmp_guest_event *ev)
{
	ev->seen = in->seen;
	ev->epoch = (uint16_t)(in->m->boots.nr - 1);
	ev->order = in->m->events.nr;
	ev->nr_maps = in->m->maps.nr - ev->map;
	if (ev->tsc > in->m->boots.v[ev->epoch].told_guest_tsc)
		in->m->boots.v[ev->epoch].told_guest_tsc = ev->tsc;
	if (vmp_vec_push(&in->m->events, *ev))
		in->err = -ENOMEM;
}

static void add_mark(struct in *in, enum vmprof_msg type, uint64_t tsc)
{
	struct vmp_guest_event ev = { .tsc = tsc, .type = (uint16_t)type, .map = in->m->maps.nr };

	add_event(in, &ev);
}

static void on_hello(struct in *in, const struct vmp_msg_hello *h)
{
	struct vmp_machine *m = in->m;
	struct vmp_boot *last = m->boots.nr ? &m->boots.v[m->boots.nr - 1] : NULL;
	struct vmp_boot b = {
		.flags = h->flags, .hello_guest_tsc = h->tsc, .hello_seen = in->seen, .events = m->events.nr,
	};
	const int is_boot = last && !memcmp(last->boot_id, h->boot_id, sizeof(h->boot_id));
	const int is_same = is_boot && h->tsc >= last->told_guest_tsc;
	int i;

	if (h->flags & VMPROF_HELLO_NO_MODULE) {
		m->no_module = h->flags;
		m->module_error = h->module_error;
	}
	/* the conversation before it, which told nothing, only showed that the module does not start */
	if (is_same && h->flags & VMPROF_HELLO_REFUSED && m->events.nr == last->events) {
		last->flags = h->flags;
		return;
	}
	m->hellos++;
	m->hello_tsc = h->tsc;
	m->went_back += is_boot && !is_same;
	for (i = 0; i < VMPROF_GLOST_NR; i++) {
		m->lost[i] += m->lost_now[i];
		m->lost_now[i] = 0;
	}
	if (is_same) {
		/* the agent was restarted: what happened in between was not told */
		add_mark(in, VMPROF_MSG_HELLO, h->tsc);
		return;
	}
	if (m->boots.nr == VMP_BOOTS_MAX) {
		m->more_boots++;
		add_mark(in, VMPROF_MSG_HELLO, h->tsc);
		return;
	}
	memcpy(b.boot_id, h->boot_id, sizeof(b.boot_id));
	b.release = str(in, h->release.p, h->release.len);
	if (vmp_vec_push(&m->boots, b))
		in->err = -ENOMEM;
}

#define LOOK_BACK	64	/* events for each that was told, and ... */
#define LOOK_BACK_MIN	65536	/* ... so many in any case: nobody makes us look at all of them again and again */

/* What makes a file the same file; without an inode (vdso) its path does */
struct file_id {
	uint64_t ino;
	uint32_t epoch, dev_major, dev_minor, generation, path, pad;
};

static uint64_t key_of(const struct vmp_file *f)
{
	struct file_id id = {
		.ino = f->ino, .epoch = f->epoch, .dev_major = f->dev_major, .dev_minor = f->dev_minor,
		.generation = f->ino_generation, .path = f->ino ? 0 : f->path,
	};

	return vmp_hash_bytes(&id, sizeof(id));
}

/* From now on the inode is this file.  Return: its number; VMP_NONE: there are too many */
static uint32_t add_file(struct in *in, const struct vmp_file *f)
{
	struct vmp_machine *m = in->m;

	if (m->files.nr >= m->files_max) {
		m->files_over++;
		return VMP_NONE;
	}
	if (vmp_vec_push(&m->files, *f) || vmp_hash_set(&m->by_inode, key_of(f), m->files.nr - 1)) {
		in->err = -ENOMEM;
		return VMP_FILE_ANON;
	}
	return m->files.nr - 1;
}

static uint32_t file_number(struct in *in, uint32_t dev_major, uint32_t dev_minor,
			    uint32_t generation, uint64_t ino, uint32_t path)
{
	const struct vmp_file f = {
		.epoch = in->m->boots.nr - 1, .dev_major = dev_major, .dev_minor = dev_minor,
		.ino_generation = generation, .ino = ino, .path = path,
	};
	uint32_t *n = vmp_hash_find(&in->m->by_inode, key_of(&f));

	return n ? *n : add_file(in, &f);
}

/* The mappings of a file from a moment on are of another one, which was told later. */
static void hand_over(struct in *in, uint32_t from, uint32_t to, uint64_t since_tsc)
{
	struct vmp_machine *m = in->m;
	const struct vmp_guest_event *ev;
	uint32_t i, j;

	for (i = m->events.nr; i-- && m->looked_back < LOOK_BACK_MIN + LOOK_BACK * (uint64_t)m->events.nr; m->looked_back++) {
		ev = &m->events.v[i];
		if (ev->epoch != m->boots.nr - 1)
			break;
		if (!ev->nr_maps)
			continue;
		if (ev->tsc < since_tsc)
			break;
		for (j = 0; j < ev->nr_maps; j++)
			if (m->maps.v[ev->map + j].file == from)
				m->maps.v[ev->map + j].file = to;
	}
}

/* Since when the inode is another file than what was told of it before; 0: it is the same, or nobody knows */
static uint64_t another_since(const struct vmp_machine *m, const struct vmp_file *f, const struct vmp_msg_file *msg)
{
	const uint32_t not_seen = VMPROF_FILE_NO_ACCESS | VMPROF_FILE_CHANGED;

	if (!f->handle || (f->flags | msg->flags) & not_seen)
		return 0;
	if (f->hello == m->hellos)
		return f->handle == msg->file ? 0 : msg->since_tsc;
	if (f->bytes == msg->bytes && f->build_id_len == msg->build_id_len &&
	    !memcmp(f->build_id, msg->build_id, sizeof(f->build_id)))
		return 0;
	/* it was written while no agent told of it, or since then */
	return msg->since_tsc ? msg->since_tsc : m->hello_tsc;
}

static void on_file(struct in *in, const struct vmp_msg_file *msg)
{
	const struct vmp_boot *b = boot(in);
	struct vmp_file *f, other;
	uint64_t since_tsc;
	uint32_t n, now;

	if (!b)
		return;
	n = file_number(in, msg->dev_major, msg->dev_minor, msg->ino_generation, msg->ino,
			str(in, msg->path.p, msg->path.len));
	if (n == VMP_FILE_ANON || n == VMP_NONE)
		return;
	f = &in->m->files.v[n];
	since_tsc = another_since(in->m, f, msg);
	if (since_tsc) {
		other = *f;
		now = add_file(in, &other);
		if (now == VMP_FILE_ANON || now == VMP_NONE)
			return;
		hand_over(in, n, now, since_tsc);
		f = &in->m->files.v[now];
	}
	f->handle = msg->file;
	f->hello = in->m->hellos;
	f->flags = msg->flags;
	f->bytes = msg->bytes;
	f->build_id_len = msg->build_id_len;
	memcpy(f->build_id, msg->build_id, sizeof(f->build_id));
	vmp_objcache_key(f->key, b->boot_id, msg);
}

static void add_map(struct in *in, const struct vmp_msg_map *msg)
{
	struct vmp_map map = {
		.start = msg->start, .end = msg->end, .pgoff = msg->pgoff, .flags = msg->flags,
	};

	if (!(msg->flags & VMPROF_MAP_ANON))
		map.file = file_number(in, msg->dev_major, msg->dev_minor, msg->ino_generation,
				       msg->ino, str(in, msg->path.p, msg->path.len));
	/* a deleted file is the same file as before */
	map.flags &= (uint16_t)~VMPROF_MAP_DELETED;
	if (map.file == VMP_NONE)
		return;
	if (vmp_vec_push(&in->m->maps, map))
		in->err = -ENOMEM;
}

static void on_map(struct in *in, const struct vmp_msg_map *msg)
{
	struct vmp_guest_event ev = {
		.tsc = msg->tsc, .cr3 = msg->cr3, .type = VMPROF_MSG_MAP,
		.pid = msg->tgid, .tgid = msg->tgid, .map = in->m->maps.nr,
	};

	if (!boot(in))
		return;
	add_map(in, msg);
	add_event(in, &ev);
}

static void on_proc(struct in *in, enum vmprof_msg type, struct vmp_msg_proc *msg)
{
	struct vmp_guest_event ev = {
		.tsc = msg->tsc, .cr3 = msg->cr3, .type = (uint16_t)type, .pid = msg->pid,
		.tgid = msg->tgid, .ppid = msg->ppid, .flags = msg->flags,
		.map = in->m->maps.nr,
	};
	struct vmp_msg_map map;

	if (!boot(in))
		return;
	/* Kernel threads matter for one thing: on the kernel's own page tables
	   the idle tasks run. */
	if (msg->flags & VMPROF_PROC_KTHREAD)
		ev.comm = str(in, "swapper", 7);
	else
		ev.comm = str(in, msg->comm, strnlen(msg->comm, sizeof(msg->comm)));
	ev.nspid = msg->nspid;
	ev.cgroup = str(in, msg->cgroup.p, msg->cgroup.len);
	while (vmp_agent_msg_next_map(msg, &map))
		add_map(in, &map);
	add_event(in, &ev);
}

static void on_ksyms(struct in *in, const struct vmp_msg_ksyms *msg)
{
	struct vmp_boot *b = boot(in);

	if (b && vmp_kernel_piece(&b->kernel, msg, in->seen, in->strings))
		in->err = -ENOMEM;
}

static void on_modules(struct in *in, const struct vmp_msg_modules *msg)
{
	struct vmp_boot *b = boot(in);

	if (b && vmp_kernel_changed(&b->kernel, msg->since_tsc, msg->tsc))
		in->err = -ENOMEM;
}

/* The mapping's moment tells whose it is; what comes later of the same one needs no event. */
static void on_jitmap(struct in *in, const struct vmp_msg_jitmap *msg)
{
	struct vmp_guest_event ev = {
		.tsc = msg->tsc, .type = VMPROF_MSG_JITMAP, .pid = msg->tgid, .tgid = msg->tgid,
		.map = in->m->maps.nr,
	};
	int err, first;

	if (!boot(in))
		return;
	err = vmp_jit_add(&in->m->jit, in->m->boots.nr - 1, msg, &ev.jit_text, &first);
	if (err == -ENOMEM)
		in->err = err;
	else if (!err && first)
		add_event(in, &ev);
}

static int without_module(const struct vmp_machine *m)
{
	return m->boots.nr && m->boots.v[m->boots.nr - 1].flags & VMPROF_HELLO_NO_MODULE;
}

static void on_lost(struct in *in, const struct vmp_msg_lost *msg)
{
	struct vmp_machine *m = in->m;
	int i, events = 0;

	for (i = 0; i < VMPROF_GLOST_NR; i++) {
		if (msg->count[i] <= m->lost_now[i])
			continue;
		m->lost_now[i] = msg->count[i];
		events |= i == VMPROF_GLOST_RING || i == VMPROF_GLOST_MAPS || i == VMPROF_GLOST_MISSED;
	}
	if (events && without_module(m))
		add_mark(in, VMPROF_MSG_LOST, msg->tsc);
}

static void on_message(struct in *in, struct vmp_agent_msg *msg)
{
	switch (msg->type) {
	case VMPROF_MSG_HELLO:
		on_hello(in, &msg->hello);
		break;
	case VMPROF_MSG_PROC:
	case VMPROF_MSG_FORK:
	case VMPROF_MSG_EXEC:
	case VMPROF_MSG_COMM:
	case VMPROF_MSG_EXIT:
		on_proc(in, msg->type, &msg->proc);
		break;
	case VMPROF_MSG_SNAP_END:
		/* of the first conversation of a boot nothing was missed */
		if (in->m->boots.nr && (in->m->hellos > in->m->boots.nr || without_module(in->m)))
			add_mark(in, msg->type, msg->token.tsc);
		break;
	case VMPROF_MSG_MAP:
		on_map(in, &msg->map);
		break;
	case VMPROF_MSG_TASKS:
		if (boot(in) && !msg->tasks.lack)
			add_mark(in, msg->type, msg->tasks.tsc);
		break;
	case VMPROF_MSG_FILE:
		on_file(in, &msg->file);
		break;
	case VMPROF_MSG_MODULES:
		on_modules(in, &msg->modules);
		break;
	case VMPROF_MSG_KSYMS:
		on_ksyms(in, &msg->ksyms);
		break;
	case VMPROF_MSG_JITMAP:
		on_jitmap(in, &msg->jitmap);
		break;
	case VMPROF_MSG_LOST:
		on_lost(in, &msg->lost);
		break;
	default:
		break;
	}
}

int vmp_machine_frames(struct vmp_machine *m, struct vmp_strings *strings,
		       const void *data, size_t len, uint64_t seen)
{
	struct vmp_cursor c = vmp_cursor_init(data, len);
	struct in in = { .m = m, .strings = strings, .seen = seen };

	while (vmp_cursor_left(&c) && !in.err) {
		struct vmprof_frame f;
		const void *wire = vmp_cursor_bytes(&c, sizeof(f)), *payload;	/* not aligned */
		struct vmp_agent_msg msg;

		if (!wire)
			break;
		memcpy(&f, wire, sizeof(f));
		payload = vmp_cursor_bytes(&c, le32toh(f.len));
		if (!payload || le32toh(f.magic) != VMPROF_FRAME_MAGIC)
			break;
		m->frames++;
		if (vmp_agent_msg_parse(le16toh(f.type), payload, le32toh(f.len), &msg))
			m->bad_frames++;
		else
			on_message(&in, &msg);
	}
	/* what is no frame ends the block: there is no way to find the next one
	   that is better than the collector's */
	if (c.failed || vmp_cursor_left(&c))
		m->bad_frames++;
	return in.err;
}
