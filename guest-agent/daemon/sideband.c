// SPDX-License-Identifier: GPL-2.0-only
/* sideband.c - task events by the kernel's perf: dummy events, their rings, records to messages. */
#include "sideband.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

#define PAGE		4096U
#define RING_BYTES	(256U << 10)	/* of one CPU; half of what the kernel gives anybody */
#define RINGS_BYTES	(16U << 20)	/* of all, as far as a ring stays of use: */
#define RING_BYTES_MIN	(32U << 10)
#define SLACK_NS	3000000U	/* a record may be in its ring this much after its time */
#define TRAILER		16U		/* behind each record: its time, its event's number */
#define CPUS_MAX	4096
#define CPUS_LOOK_NS	1000000000U

/* In the kernel's order; behind each lies the TRAILER */
struct task_record {			/* FORK, EXIT */
	struct perf_event_header head;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

struct comm_record {
	struct perf_event_header head;
	uint32_t pid, tid;
	char comm[];
};

struct mmap2_record {
	struct perf_event_header head;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	union {
		struct {
			uint32_t maj, min;
			uint64_t ino, ino_generation;
		};
		struct {
			uint8_t id_len, pad[3];
			uint8_t id[20];
		};
	};
	uint32_t prot, flags;
	char name[];
};

struct lost_record {
	struct perf_event_header head;
	uint64_t id, lost;
};

/* ------------------------------------------------------------------ time */

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Both at one moment, as near as some tries get */
static struct vmp_sideband_clock read_clocks(void)
{
	struct vmp_sideband_clock best = { 0 };
	uint64_t before, after, ns, width = UINT64_MAX;
	int i;

	for (i = 0; i < 5; i++) {
		before = vmp_tsc();
		ns = clock_ns();
		after = vmp_tsc();
		if (after - before >= width)
			continue;
		width = after - before;
		best = (struct vmp_sideband_clock){ ns, before + width / 2 };
	}
	return best;
}

/* No record is older than the first reading, so an error of the slope never counts more than it */
static uint64_t tsc_of(const struct vmp_sideband *sb, uint64_t ns)
{
	uint64_t span_ns = sb->now.ns - sb->begin.ns;
	__int128 back = (__int128)sb->now.ns - ns;

	if (!span_ns)
		return sb->now.tsc;
	return sb->now.tsc - (uint64_t)(back * (sb->now.tsc - sb->begin.tsc) / span_ns);
}

/* --------------------------------------------------------- open and close */

static int open_event(int cpu, int ids)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_ID, .sample_id_all = 1, .disabled = 0,
		.mmap = 1, .mmap2 = 1, .build_id = !!ids, .task = !ids, .comm = !ids, .comm_exec = !ids,
		.use_clockid = 1, .clockid = CLOCK_MONOTONIC_RAW, .ksymbol = !ids,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 && errno == EINVAL && attr.ksymbol) {	/* from 5.1 on */
		attr.ksymbol = 0;
		fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

static uint32_t ring_bytes(long cpus)
{
	uint32_t bytes = RING_BYTES;

	while (bytes > RING_BYTES_MIN && (uint64_t)bytes * (uint64_t)cpus > RINGS_BYTES)
		bytes /= 2;
	return bytes;
}

static void close_ring(struct vmp_sideband_ring *r)
{
	if (r->page)
		munmap(r->page, PAGE + r->page->data_size);
	if (r->fd_ids >= 0)
		close(r->fd_ids);
	close(r->fd);
}

/* How long an event has been on; 0: it is no more */
static uint64_t event_on_ns(int fd)
{
	uint64_t counted[2];		/* what it counted, which is nothing, and the time */

	return read(fd, counted, sizeof(counted)) == (ssize_t)sizeof(counted) ? counted[1] : 0;
}

static int open_ring(struct vmp_sideband_ring *r, int cpu, uint32_t bytes)
{
	int err;

	*r = (struct vmp_sideband_ring){ .cpu = cpu, .fd = open_event(cpu, 0), .fd_ids = -1, .known_tsc = vmp_tsc() };
	if (r->fd < 0)
		return r->fd;
	r->page = mmap(NULL, PAGE + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (r->page == MAP_FAILED) {
		err = -errno;
		close(r->fd);
		return err;
	}
	/* from 5.12 on; without it the daemon reads the build-ids itself */
	r->fd_ids = open_event(cpu, 1);
	if (r->fd_ids >= 0 && (ioctl(r->fd_ids, PERF_EVENT_IOC_ID, &r->event_ids) ||
			       ioctl(r->fd_ids, PERF_EVENT_IOC_SET_OUTPUT, r->fd))) {
		r->event_ids = 0;
		close(r->fd_ids);
		r->fd_ids = -1;
	}
	return 0;
}

void vmp_sideband_init(struct vmp_sideband *sb)
{
	memset(sb, 0, sizeof(*sb));
}

int vmp_sideband_open(struct vmp_sideband *sb)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF), cpu;
	int err = 0;

	vmp_sideband_init(sb);
	if (cpus < 1 || cpus > CPUS_MAX)
		return -E2BIG;
	sb->ring = calloc((size_t)cpus, sizeof(*sb->ring));
	if (!sb->ring)
		return -ENOMEM;
	sb->cpus = (uint32_t)cpus;
	sb->begin = sb->now = sb->cpus_seen = read_clocks();
	for (cpu = 0; !err && cpu < cpus; cpu++) {
		err = open_ring(&sb->ring[sb->nr], (int)cpu, ring_bytes(cpus));
		sb->nr += !err;
		if (err == -ENODEV)		/* it is not online */
			err = 0;
	}
	if (err)
		vmp_sideband_close(sb);
	return err;
}

void vmp_sideband_close(struct vmp_sideband *sb)
{
	while (sb->nr)
		close_ring(&sb->ring[--sb->nr]);
	free(sb->ring);
	sb->ring = NULL;
}

void vmp_sideband_flush(struct vmp_sideband *sb)
{
	sb->now = read_clocks();
	sb->until_ns = sb->now.ns;
	sb->flush = 1;
}

/* -------------------------------------------------------------- the rings */

static void copy_out(const struct vmp_sideband_ring *r, uint64_t at, void *to, size_t len)
{
	const uint8_t *data = (const uint8_t *)r->page + r->page->data_offset;
	uint64_t size = r->page->data_size, begin = at % size;
	size_t first = len < size - begin ? len : (size_t)(size - begin);

	memcpy(to, data + begin, first);
	memcpy((uint8_t *)to + first, data, len - first);
}

/* The record at the tail into @buf, as much as fits there.  Return: its bytes, 0 none */
static uint32_t peek(const struct vmp_sideband_ring *r, void *buf)
{
	uint64_t tail = r->page->data_tail, head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	struct perf_event_header h;

	if (head - tail < sizeof(h))
		return 0;
	copy_out(r, tail, &h, sizeof(h));
	if (h.size < sizeof(h) + TRAILER || h.size > head - tail)
		return 0;
	copy_out(r, tail, buf, h.size < VMP_SIDEBAND_RECORD ? h.size : VMP_SIDEBAND_RECORD);
	return h.size;
}

static uint64_t event_of(const void *record, uint32_t bytes)
{
	uint64_t id = 0;

	if (bytes <= VMP_SIDEBAND_RECORD)
		memcpy(&id, (const uint8_t *)record + bytes - 8, 8);
	return id;
}

static void drop(struct vmp_sideband_ring *r, uint32_t bytes)
{
	__atomic_store_n(&r->page->data_tail, r->page->data_tail + bytes, __ATOMIC_RELEASE);
}

/* The time of the record at the tail, UINT64_MAX: there is none */
static uint64_t next_ns(struct vmp_sideband_ring *r)
{
	uint64_t head, tail = r->page->data_tail;
	struct perf_event_header h;

	if (r->next_ns)
		return r->next_ns;
	head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	if (head - tail < sizeof(h))
		return UINT64_MAX;
	copy_out(r, tail, &h, sizeof(h));
	if (h.size < sizeof(h) + TRAILER || h.size > head - tail)
		return UINT64_MAX;
	copy_out(r, tail + h.size - TRAILER, &r->next_ns, 8);
	return r->next_ns;
}

/* The ring whose record is the oldest of those that are old enough, or NULL */
static struct vmp_sideband_ring *oldest(struct vmp_sideband *sb)
{
	struct vmp_sideband_ring *best = NULL;
	uint64_t ns, best_ns = UINT64_MAX;
	uint32_t i;

	for (i = 0; i < sb->nr; i++) {
		ns = next_ns(&sb->ring[i]);
		if (ns >= best_ns)
			continue;
		best_ns = ns;
		best = &sb->ring[i];
	}
	return best && best_ns < sb->until_ns ? best : NULL;
}

/* ---------------------------------------------------- records to messages */

static struct vmprof_proc *proc_message(struct vmp_procfs_msg *msg, unsigned int type, uint64_t tsc,
					uint32_t pid, uint32_t tid)
{
	struct vmprof_proc *p = (struct vmprof_proc *)msg->payload;

	memset(p, 0, sizeof(*p));
	p->tsc = htole64(tsc);
	p->pid = htole32(tid);
	p->tgid = htole32(pid);
	msg->type = (uint16_t)type;
	msg->len = sizeof(*p);
	return p;
}

static int on_task(const struct task_record *t, uint64_t tsc, struct vmp_procfs_msg *msg)
{
	int ended = t->head.type == PERF_RECORD_EXIT;
	struct vmprof_proc *p = proc_message(msg, ended ? VMPROF_MSG_EXIT : VMPROF_MSG_FORK, tsc, t->pid, t->tid);

	p->ppid = htole32(t->ppid);
	/* a thread is where its process is */
	if (!ended && t->pid == t->tid)
		msg->len += vmp_procfs_read_place(t->pid, 0, p + 1);
	/* The last thread is not marked as such.  Of several that ended meanwhile each says so. */
	if (ended && vmp_procfs_is_over(t->pid))
		p->flags = htole32(VMPROF_PROC_LAST | VMPROF_PROC_NO_MAPS);
	return 1;
}

static int on_comm(const struct comm_record *c, uint64_t tsc, struct vmp_procfs_msg *msg)
{
	int exec = c->head.misc & PERF_RECORD_MISC_COMM_EXEC;
	struct vmprof_proc *p = proc_message(msg, exec ? VMPROF_MSG_EXEC : VMPROF_MSG_COMM, tsc, c->pid, c->tid);

	memcpy(p->comm, c->comm, strnlen(c->comm, VMPROF_COMM_MAX - 1));
	if (exec)
		msg->len += vmp_procfs_read_place(c->pid, 1, p + 1);
	return 1;
}

static int same_mapping(const struct mmap2_record *a, const struct mmap2_record *b)
{
	return b->head.type == PERF_RECORD_MMAP2 && a->pid == b->pid && a->tid == b->tid &&
	       a->addr == b->addr && a->len == b->len && a->pgoff == b->pgoff && a->prot == b->prot;
}

static void take_id(struct vmp_sideband *sb, const struct mmap2_record *m)
{
	if (!(m->head.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) || m->id_len > sizeof(m->id))
		return;
	sb->id.len = m->id_len;
	memcpy(sb->id.bytes, m->id, m->id_len);
}

static int map_message(const struct mmap2_record *m, uint64_t tsc, struct vmp_procfs_msg *msg)
{
	struct vmprof_map *map = (struct vmprof_map *)msg->payload;
	char *path = (char *)(map + 1);
	size_t len = strnlen(m->name, VMPROF_PATH_BYTES_MAX - 1);

	if (!(m->prot & PROT_EXEC) || !m->pid || m->addr + m->len <= m->addr)
		return 0;
	memset(map, 0, sizeof(*map));
	map->tsc = htole64(tsc);
	map->start = htole64(m->addr);
	map->end = htole64(m->addr + m->len);
	map->pgoff = htole64(m->pgoff);
	map->tgid = htole32(m->pid);
	map->prot = htole16((uint16_t)(m->prot & 7));
	map->ino = htole64(m->ino);
	map->dev_major = htole32(m->maj);
	map->dev_minor = htole32(m->min);
	memcpy(path, m->name, len);
	/* "//anon", and a file that has no name */
	if (len > 1 && path[1] == '/')
		len = 0;
	map->flags = htole16(vmp_procfs_path_flags(path, &len));
	if (le16toh(map->flags) & VMPROF_MAP_VDSO)
		map->ino_generation = htole32(m->addr + m->len <= 1ULL << 32);
	map->path_len = htole32((uint32_t)len);
	msg->type = VMPROF_MSG_MAP;
	msg->len = (uint32_t)(sizeof(*map) + len);
	return 1;
}

/* The second event's record of the same mapping lies before it or behind it. */
static int on_mmap2(struct vmp_sideband *sb, struct vmp_sideband_ring *r, uint64_t tsc,
		    struct vmp_procfs_msg *msg)
{
	const struct mmap2_record *m = (const struct mmap2_record *)&sb->record;
	const struct mmap2_record *other = (const struct mmap2_record *)&sb->second;
	uint32_t bytes;

	if (!same_mapping(m, other)) {
		sb->second.head.type = 0;
		bytes = peek(r, &sb->second);
		if (bytes && event_of(&sb->second, bytes) != r->event_ids)
			sb->second.head.type = 0;
	}
	if (same_mapping(m, other))
		take_id(sb, other);
	return map_message(m, tsc, msg);
}

static void note_loss(struct vmp_sideband *sb, uint64_t *count, uint64_t n, uint64_t since_tsc)
{
	*count += n;
	if (!sb->lost_since_tsc)
		sb->lost_since_tsc = since_tsc;
}

/* Return: 1 a message, 0 none comes of it */
static int on_record(struct vmp_sideband *sb, struct vmp_sideband_ring *r, uint32_t bytes, uint64_t tsc,
		     struct vmp_procfs_msg *msg)
{
	const struct lost_record *lost = (const struct lost_record *)&sb->record;
	uint64_t before_ns = r->last_ns ? r->last_ns : sb->begin.ns;

	r->last_ns = r->next_ns;
	r->next_ns = 0;
	if (bytes > VMP_SIDEBAND_RECORD) {
		note_loss(sb, &sb->missed, 1, tsc);
		return 0;
	}

	if (r->event_ids && sb->record.head.type != PERF_RECORD_LOST &&
	    event_of(&sb->record, bytes) == r->event_ids) {
		sb->second = sb->record;	/* kept for the other event's */
		return 0;
	}
	switch (sb->record.head.type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return bytes >= sizeof(struct task_record) &&
		       on_task((const struct task_record *)&sb->record, tsc, msg);
	case PERF_RECORD_COMM:
		return bytes > sizeof(struct comm_record) &&
		       on_comm((const struct comm_record *)&sb->record, tsc, msg);
	case PERF_RECORD_MMAP2:
		return bytes > sizeof(struct mmap2_record) && on_mmap2(sb, r, tsc, msg);
	case PERF_RECORD_KSYMBOL:
		sb->made++;
		return 0;
	case PERF_RECORD_LOST:
		/* they lay between the record before this one and this one */
		note_loss(sb, &sb->lost, bytes >= sizeof(*lost) ? lost->lost : 1, tsc_of(sb, before_ns));
		return 0;
	}
	return 0;
}

/*
 * An event whose time stands still went with its CPU.  Its ring has been read: what is in there is older than
 * the last look.
 */
static void close_deaf(struct vmp_sideband *sb)
{
	struct vmp_sideband_ring *r;
	uint64_t on_ns;
	uint32_t i = 0;

	while (i < sb->nr) {
		r = &sb->ring[i];
		on_ns = event_on_ns(r->fd);
		if (on_ns > r->on_ns) {
			/* it may have gone right behind the look before: that is seen at the next one */
			if (r->on_ns)
				r->known_tsc = sb->cpus_seen.tsc;
			r->on_ns = on_ns;
			i++;
			continue;
		}
		note_loss(sb, &sb->missed, 1, r->known_tsc);
		close_ring(r);
		*r = sb->ring[--sb->nr];
	}
}

static int has_ring(const struct vmp_sideband *sb, uint32_t cpu)
{
	uint32_t i;

	for (i = 0; i < sb->nr; i++)
		if (sb->ring[i].cpu == (int)cpu)
			return 1;
	return 0;
}

/* More than there were may have been plugged in. */
static void make_room(struct vmp_sideband *sb)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct vmp_sideband_ring *ring;

	if (cpus <= (long)sb->cpus || cpus > CPUS_MAX)
		return;
	ring = realloc(sb->ring, (size_t)cpus * sizeof(*ring));
	if (!ring)
		return;
	sb->ring = ring;
	sb->cpus = (uint32_t)cpus;
}

static void open_new(struct vmp_sideband *sb)
{
	uint32_t cpu;

	make_room(sb);
	for (cpu = 0; cpu < sb->cpus; cpu++) {
		if (has_ring(sb, cpu) || open_ring(&sb->ring[sb->nr], (int)cpu, ring_bytes((long)sb->cpus)))
			continue;
		sb->nr++;
		note_loss(sb, &sb->missed, 1, sb->cpus_seen.tsc);
	}
}

/* Which CPUs are there? */
static void look_for_cpus(struct vmp_sideband *sb)
{
	if (sb->now.ns - sb->cpus_seen.ns < CPUS_LOOK_NS)
		return;
	close_deaf(sb);
	open_new(sb);
	sb->cpus_seen = sb->now;
}

static void look(struct vmp_sideband *sb)
{
	if (sb->flush)
		return;
	sb->now = read_clocks();
	sb->until_ns = sb->now.ns - SLACK_NS;
	look_for_cpus(sb);
}

int vmp_sideband_next(struct vmp_sideband *sb, struct vmp_procfs_msg *msg)
{
	struct vmp_sideband_ring *r;
	uint64_t tsc;
	uint32_t bytes;

	if (!sb->nr)
		return 0;
	r = oldest(sb);
	if (!r) {
		look(sb);
		r = oldest(sb);
	}
	for (; r; r = oldest(sb)) {
		tsc = tsc_of(sb, r->next_ns);
		sb->id.len = 0;
		bytes = peek(r, &sb->record);
		drop(r, bytes);
		if (on_record(sb, r, bytes, tsc, msg))
			return 1;
	}
	return 0;
}
