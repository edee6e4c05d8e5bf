// SPDX-License-Identifier: GPL-2.0-only
/*
 * agent_msg.c - payloads of the agent protocol; every byte read here is hostile.
 *
 * A reader fills its struct through the cursor and then says whether what it
 * read keeps the limits; whether the payload was long enough is asked once,
 * in vmp_agent_msg_parse().
 */
#include "agent_msg.h"

#include <errno.h>
#include <stdio.h>

#define ERRNO_MAX	4095

static struct vmp_span read_span(struct vmp_cursor *c, uint64_t len)
{
	const char *p = vmp_cursor_bytes(c, len);

	return p ? (struct vmp_span){ p, (uint32_t)len } : (struct vmp_span){ "", 0 };
}

static int read_host_hello(struct vmp_cursor *c, struct vmp_msg_host_hello *m)
{
	m->version = vmp_cursor_u32(c);
	m->compat = vmp_cursor_u32(c);
	m->session = vmp_cursor_u64(c);
	m->credit = vmp_cursor_u64(c);
	return m->compat <= m->version;
}

static int read_token(struct vmp_cursor *c, struct vmp_msg_token *m)
{
	m->token = vmp_cursor_u64(c);
	m->tsc = vmp_cursor_u64(c);
	m->kept_bytes = 0;
	m->kept_crc = 0;
	return 1;
}

static int read_start(struct vmp_cursor *c, struct vmp_msg_token *m)
{
	read_token(c, m);
	if (vmp_cursor_left(c) < sizeof(struct vmprof_kept))
		return 1;
	m->kept_bytes = vmp_cursor_u64(c);
	m->kept_crc = vmp_cursor_u32(c);
	return m->kept_bytes <= VMPROF_KSYMS_BYTES_MAX;
}

static int read_credit(struct vmp_cursor *c, struct vmp_msg_credit *m)
{
	m->bytes = vmp_cursor_u64(c);
	return 1;
}

static int read_get_object(struct vmp_cursor *c, struct vmp_msg_get_object *m)
{
	m->file = vmp_cursor_u32(c);
	m->len = vmp_cursor_u32(c);
	m->offset = vmp_cursor_u64(c);
	return m->file && m->offset <= VMPROF_OBJECT_BYTES_MAX;
}

static int read_hello(struct vmp_cursor *c, struct vmp_msg_hello *m)
{
	uint32_t release_len;

	m->version = vmp_cursor_u32(c);
	m->compat = vmp_cursor_u32(c);
	vmp_cursor_copy(c, m->boot_id, sizeof(m->boot_id));
	m->flags = vmp_cursor_u32(c);
	m->nr_cpus = vmp_cursor_u32(c);
	m->tsc_khz = vmp_cursor_u32(c);
	release_len = vmp_cursor_u32(c);
	m->tsc = vmp_cursor_u64(c);
	m->realtime_ns = vmp_cursor_u64(c);
	m->release = read_span(c, release_len);
	m->module_error = vmp_cursor_left(c) >= sizeof(__le32) ? vmp_cursor_u32(c) : 0;
	if (!(m->flags & VMPROF_HELLO_NO_MODULE) || m->module_error > ERRNO_MAX)
		m->module_error = 0;
	return m->compat <= m->version && release_len <= VMPROF_RELEASE_MAX;
}

static int read_map(struct vmp_cursor *c, struct vmp_msg_map *m)
{
	uint32_t path_len;

	m->tsc = vmp_cursor_u64(c);
	m->cr3 = vmp_cursor_u64(c);
	m->start = vmp_cursor_u64(c);
	m->end = vmp_cursor_u64(c);
	m->pgoff = vmp_cursor_u64(c);
	m->ino = vmp_cursor_u64(c);
	m->dev_major = vmp_cursor_u32(c);
	m->dev_minor = vmp_cursor_u32(c);
	m->tgid = vmp_cursor_u32(c);
	m->prot = vmp_cursor_u16(c);
	m->flags = vmp_cursor_u16(c);
	m->ino_generation = vmp_cursor_u32(c);
	path_len = vmp_cursor_u32(c);
	m->path = read_span(c, path_len);
	return m->start < m->end && path_len < VMPROF_PATH_BYTES_MAX;
}

/* To the next multiple of 8 in the payload; the last map's padding may be absent. */
static void skip_padding(struct vmp_cursor *c, const uint8_t *begin)
{
	size_t pad = -(size_t)(c->p - begin) & 7;

	if (pad <= vmp_cursor_left(c))
		vmp_cursor_bytes(c, pad);
}

static int check_maps(struct vmp_cursor c, uint32_t nr)
{
	const uint8_t *begin = c.p;
	struct vmp_msg_map map;

	for (; nr; nr--) {
		if (!read_map(&c, &map) || c.failed)
			return 0;
		skip_padding(&c, begin);
	}
	return 1;
}

/* What agents up to version 6 do not tell; others where they know it */
static int read_place(struct vmp_cursor *c, struct vmp_msg_proc *m)
{
	uint32_t cgroup_len;

	if (vmp_cursor_left(c) < sizeof(struct vmprof_place))
		return 1;
	m->nspid = vmp_cursor_u32(c);
	cgroup_len = vmp_cursor_u32(c);
	m->cgroup = read_span(c, cgroup_len);
	return cgroup_len < VMPROF_CGROUP_BYTES_MAX;
}

static int read_proc(struct vmp_cursor *c, struct vmp_msg_proc *m, unsigned int type)
{
	size_t n;

	m->tsc = vmp_cursor_u64(c);
	m->cr3 = vmp_cursor_u64(c);
	m->pid = vmp_cursor_u32(c);
	m->tgid = vmp_cursor_u32(c);
	m->ppid = vmp_cursor_u32(c);
	m->flags = vmp_cursor_u32(c);
	vmp_cursor_copy(c, m->comm, sizeof(m->comm));
	m->comm[sizeof(m->comm) - 1] = 0;
	n = strlen(m->comm);
	memset(m->comm + n, 0, sizeof(m->comm) - n);
	m->nr_maps = vmp_cursor_u32(c);
	vmp_cursor_u32(c);
	m->nspid = 0;
	m->cgroup = (struct vmp_span){ "", 0 };
	if (type != VMPROF_MSG_EXIT) {
		m->nr_maps = 0;
		return read_place(c, m);
	}
	m->maps = *c;
	return m->nr_maps <= VMPROF_EXIT_MAPS_MAX && check_maps(*c, m->nr_maps);
}

static int read_file(struct vmp_cursor *c, struct vmp_msg_file *m)
{
	uint32_t path_len;

	m->file = vmp_cursor_u32(c);
	m->flags = vmp_cursor_u32(c);
	m->ino = vmp_cursor_u64(c);
	m->dev_major = vmp_cursor_u32(c);
	m->dev_minor = vmp_cursor_u32(c);
	m->ino_generation = vmp_cursor_u32(c);
	m->build_id_len = vmp_cursor_u32(c);
	m->bytes = vmp_cursor_u64(c);
	m->mtime_ns = vmp_cursor_u64(c);
	vmp_cursor_copy(c, m->build_id, sizeof(m->build_id));
	path_len = vmp_cursor_u32(c);
	vmp_cursor_u32(c);
	m->path = read_span(c, path_len);
	m->since_tsc = vmp_cursor_left(c) >= sizeof(__le64) ? vmp_cursor_u64(c) : 0;
	return m->file && m->build_id_len <= VMPROF_BUILD_ID_MAX &&
	       path_len < VMPROF_PATH_BYTES_MAX;
}

static int read_lost(struct vmp_cursor *c, struct vmp_msg_lost *m)
{
	int i;

	m->tsc = vmp_cursor_u64(c);
	for (i = 0; i < VMPROF_GLOST_NR; i++)
		m->count[i] = vmp_cursor_u64(c);
	return 1;
}

static int read_ksyms(struct vmp_cursor *c, struct vmp_msg_ksyms *m)
{
	m->offset = vmp_cursor_u64(c);
	m->total = vmp_cursor_u64(c);
	m->text = read_span(c, vmp_cursor_left(c));
	return m->total <= VMPROF_KSYMS_BYTES_MAX && m->offset <= m->total &&
	       m->text.len <= m->total - m->offset;
}

static int read_modules(struct vmp_cursor *c, struct vmp_msg_modules *m)
{
	m->tsc = vmp_cursor_u64(c);
	m->since_tsc = vmp_cursor_u64(c);
	return m->since_tsc <= m->tsc;
}

static int read_jitmap(struct vmp_cursor *c, struct vmp_msg_jitmap *m)
{
	m->tsc = vmp_cursor_u64(c);
	m->tgid = vmp_cursor_u32(c);
	m->after = vmp_cursor_u32(c);
	m->text = read_span(c, vmp_cursor_left(c));
	return m->text.len && m->text.p[m->text.len - 1] == '\n';
}

static int read_tasks(struct vmp_cursor *c, struct vmp_msg_tasks *m)
{
	m->tsc = vmp_cursor_u64(c);
	m->linear_base = vmp_cursor_u64(c);
	m->linear_bytes = vmp_cursor_u64(c);
	m->init_task = vmp_cursor_u64(c);
	m->init_task_gpa = vmp_cursor_u64(c);
	m->flags_offset = vmp_cursor_u32(c);
	m->pid_offset = vmp_cursor_u32(c);
	m->tgid_offset = vmp_cursor_u32(c);
	m->comm_offset = vmp_cursor_u32(c);
	m->kthread_flag = vmp_cursor_u32(c);
	m->lack = vmp_cursor_u32(c);
	m->nr_cpus = vmp_cursor_u32(c);
	vmp_cursor_u32(c);
	m->cpus = *c;
	return m->nr_cpus <= VMPROF_TASKS_CPUS_MAX &&
	       vmp_cursor_left(c) >= m->nr_cpus * sizeof(struct vmprof_task_cpu);
}

static int read_object(struct vmp_cursor *c, struct vmp_msg_object *m)
{
	m->file = vmp_cursor_u32(c);
	m->status = vmp_cursor_u32(c);
	m->offset = vmp_cursor_u64(c);
	m->total = vmp_cursor_u64(c);
	m->data = read_span(c, m->status ? 0 : vmp_cursor_left(c));
	if (m->status)
		return m->file && m->status <= ERRNO_MAX;
	return m->file && m->total <= VMPROF_OBJECT_BYTES_MAX &&
	       m->offset <= m->total && m->data.len <= m->total - m->offset;
}

static int read_message(struct vmp_cursor *c, struct vmp_agent_msg *msg)
{
	switch (msg->type) {
	case VMPROF_MSG_HOST_HELLO:
		return read_host_hello(c, &msg->host_hello);
	case VMPROF_MSG_START:
		return read_start(c, &msg->token);
	case VMPROF_MSG_STOP:
	case VMPROF_MSG_SNAP_BEGIN:
	case VMPROF_MSG_SNAP_END:
	case VMPROF_MSG_DONE:
		return read_token(c, &msg->token);
	case VMPROF_MSG_CREDIT:
		return read_credit(c, &msg->credit);
	case VMPROF_MSG_GET_OBJECT:
		return read_get_object(c, &msg->get_object);
	case VMPROF_MSG_HELLO:
		return read_hello(c, &msg->hello);
	case VMPROF_MSG_PROC:
	case VMPROF_MSG_FORK:
	case VMPROF_MSG_EXEC:
	case VMPROF_MSG_COMM:
	case VMPROF_MSG_EXIT:
		return read_proc(c, &msg->proc, msg->type);
	case VMPROF_MSG_MAP:
		return read_map(c, &msg->map);
	case VMPROF_MSG_FILE:
		return read_file(c, &msg->file);
	case VMPROF_MSG_LOST:
		return read_lost(c, &msg->lost);
	case VMPROF_MSG_KSYMS:
		return read_ksyms(c, &msg->ksyms);
	case VMPROF_MSG_MODULES:
		return read_modules(c, &msg->modules);
	case VMPROF_MSG_JITMAP:
		return read_jitmap(c, &msg->jitmap);
	case VMPROF_MSG_TASKS:
		return read_tasks(c, &msg->tasks);
	case VMPROF_MSG_OBJECT:
		return read_object(c, &msg->object);
	}
	return -ENOENT;
}

int vmp_agent_msg_parse(unsigned int type, const void *payload, size_t len,
			struct vmp_agent_msg *msg)
{
	struct vmp_cursor c = vmp_cursor_init(payload, len);
	int good;

	msg->type = type;
	good = read_message(&c, msg);
	if (good < 0)
		return good;
	return good && !c.failed ? 0 : -EBADMSG;
}

int vmp_agent_msg_next_map(struct vmp_msg_proc *proc, struct vmp_msg_map *map)
{
	const uint8_t *begin = proc->maps.p;

	if (!proc->nr_maps)
		return 0;
	proc->nr_maps--;
	read_map(&proc->maps, map);
	skip_padding(&proc->maps, begin);
	return 1;
}

int vmp_agent_msg_next_cpu(struct vmp_msg_tasks *tasks, struct vmp_msg_task_cpu *cpu)
{
	if (!tasks->nr_cpus)
		return 0;
	tasks->nr_cpus--;
	cpu->apic_id = vmp_cursor_u32(&tasks->cpus);
	vmp_cursor_u32(&tasks->cpus);
	cpu->current_gpa = vmp_cursor_u64(&tasks->cpus);
	return 1;
}

const char *vmp_no_module_text(char *dst, uint32_t hello_flags, uint32_t module_error)
{
	const char *error = strerror((int)module_error);

	if (hello_flags & VMPROF_HELLO_REFUSED)
		snprintf(dst, 128, "it did not start: %s (the guest's kernel log has more)", error);
	else
		snprintf(dst, 128, "%s", !module_error ? "the agent does not tell why" :
			 module_error == ENOENT ? "it is not loaded" :
			 module_error == EKEYREJECTED ? "it is not loaded, the guest's kernel loads signed modules only" :
			 module_error == EBUSY ? "another program has its device open" :
			 module_error == EPROTO ? "the loaded one is of another version" : error);
	return dst;
}
