// SPDX-License-Identifier: GPL-2.0-only
/* procfs.c - a snapshot of all processes from /proc, for a guest without the module. */
#include "procfs.h"

#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "clock.h"
#include "lines.h"

#define TASK_KTHREAD	0x00200000U	/* PF_KTHREAD in the flags of /proc/PID/stat */
#define TASK_EXITING	0x00000004U	/* PF_EXITING: set before perf tells of the exit */
#define THREADS_MAX	64		/* that are looked at, of a process whose first one exits */
#define PID_LIMIT	(1U << 22)	/* no kernel gives a higher number */
#define PASSES_MAX	4		/* over /proc, in a storm of forks that never has nothing new */

int vmp_procfs_parse_stat(const char *text, struct vmprof_proc *proc)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	unsigned int pid, ppid, flags;
	size_t len;

	/* the name may hold anything, brackets too: it ends at the last one */
	if (!open || !close || close < open || sscanf(text, "%u", &pid) != 1 ||
	    sscanf(close + 1, " %*c %u %*d %*d %*d %*d %u", &ppid, &flags) != 2)
		return 0;
	memset(proc, 0, sizeof(*proc));
	proc->pid = proc->tgid = htole32(pid);
	proc->ppid = htole32(ppid);
	proc->flags = htole32(flags & TASK_KTHREAD ? VMPROF_PROC_KTHREAD : 0);
	len = (size_t)(close - open - 1);
	memcpy(proc->comm, open + 1, len < VMPROF_COMM_MAX ? len : VMPROF_COMM_MAX - 1);
	return 1;
}

uint32_t vmp_procfs_parse_place(const char *status, const char *cgroup, void *dst)
{
	struct vmprof_place place = { 0 };
	const char *line = strstr(status, "\nNSpid:"), *end = line ? strchr(line + 1, '\n') : NULL;
	size_t len = 0;

	/* of the namespaces that a process is in, the innermost comes last */
	while (end && end > line && isdigit((unsigned char)end[-1]))
		end--;
	if (end)
		place.nspid = htole32((uint32_t)strtoul(end, NULL, 10));
	line = !strncmp(cgroup, "0::", 3) ? cgroup : strstr(cgroup, "\n0::");
	if (line) {
		line = strchr(line, '/');
		end = line ? strchr(line, '\n') : NULL;
		len = end ? (size_t)(end - line) : 0;
	}
	if (len >= VMPROF_CGROUP_BYTES_MAX)
		len = 0;	/* a part of it would be another one's name */
	place.cgroup_len = htole32((uint32_t)len);
	memcpy(dst, &place, sizeof(place));
	if (len)
		memcpy((char *)dst + sizeof(place), line, len);
	return (uint32_t)(sizeof(place) + len);
}

/* The kernel writes a newline in a path as \012 and everything else as it is. */
static size_t unescape(char *dst, const char *src, size_t room)
{
	size_t n = 0;

	while (*src && *src != '\n' && n < room) {
		if (!strncmp(src, "\\012", 4)) {
			dst[n++] = '\n';
			src += 4;
		} else {
			dst[n++] = *src++;
		}
	}
	return n;
}

uint16_t vmp_procfs_path_flags(const char *path, size_t *len)
{
	static const char deleted[] = " (deleted)";
	size_t cut = sizeof(deleted) - 1;

	if (*len == 6 && !memcmp(path, "[vdso]", 6))
		return VMPROF_MAP_VDSO;
	if (!*len || *path != '/') {
		*len = 0;
		return VMPROF_MAP_ANON;
	}
	if (*len <= cut || memcmp(path + *len - cut, deleted, cut))
		return 0;
	*len -= cut;
	return VMPROF_MAP_DELETED;
}

int vmp_procfs_parse_map(const char *line, uint32_t tgid, struct vmp_procfs_msg *msg)
{
	struct vmprof_map *map = (struct vmprof_map *)msg->payload;
	char *path = (char *)(map + 1), perms[5];
	uint64_t start, end, pgoff, ino;
	unsigned int major, minor;
	int at = 0;
	size_t len;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 "%n",
		   &start, &end, perms, &pgoff, &major, &minor, &ino, &at) != 7 ||
	    strlen(perms) != 4 || perms[2] != 'x' || start >= end)
		return 0;
	memset(map, 0, sizeof(*map));
	map->tsc = htole64(vmp_tsc());
	map->start = htole64(start);
	map->end = htole64(end);
	map->pgoff = htole64(pgoff);
	map->ino = htole64(ino);
	map->dev_major = htole32(major);
	map->dev_minor = htole32(minor);
	map->tgid = htole32(tgid);
	map->prot = htole16((perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0) |
			    PROT_EXEC);
	line += at;
	len = unescape(path, line + strspn(line, " "), VMPROF_PATH_BYTES_MAX - 1);
	map->flags = htole16(vmp_procfs_path_flags(path, &len));
	if (le16toh(map->flags) & VMPROF_MAP_VDSO)
		map->ino_generation = htole32(end <= 1ULL << 32);
	map->path_len = htole32((uint32_t)len);
	msg->type = VMPROF_MSG_MAP;
	msg->len = (uint32_t)(sizeof(*map) + len);
	return 1;
}

/* A line of what the child read of /proc/PID/maps.  Return: 1, 0 none is left */
static int next_map(struct vmp_procfs *p, struct vmp_procfs_msg *msg)
{
	char *line, *end;

	while (p->at < p->len) {
		line = p->text + p->at;
		end = memchr(line, '\n', p->len - p->at);
		if (!end)
			break;
		*end = 0;
		p->at = (size_t)(end + 1 - p->text);
		if (vmp_procfs_parse_map(line, p->tgid, msg))
			return 1;
	}
	return 0;
}

static FILE *open_of(const char *pid, const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.48s/%s", pid, what);
	return fopen(path, "re");
}

/* Of a process; nothing where it has ended meanwhile */
static void read_of(const char *pid, const char *what, char *text, size_t size)
{
	FILE *f = open_of(pid, what);
	size_t len = f ? fread(text, 1, size - 1, f) : 0;

	text[len] = 0;
	if (f)
		fclose(f);
}

/* Of the many lines that either may have; nothing where the process has ended meanwhile */
uint32_t vmp_procfs_read_place(uint32_t tgid, int with_cgroup, void *dst)
{
	static const char *const nspid[] = { "NSpid:", NULL }, *const unified[] = { "0::", NULL };
	char status[1024], cgroup[8192] = "", path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", tgid);
	vmp_lines_of(path, nspid, status, sizeof(status));
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cgroup", tgid);
	if (with_cgroup)
		vmp_lines_of(path, unified, cgroup, sizeof(cgroup));
	return vmp_procfs_parse_place(status, cgroup, dst);
}

/* @stat: Of a task.  @threads: Of its process. */
static int is_exiting(const char *stat, unsigned int *threads)
{
	const char *close = strrchr(stat, ')');
	unsigned int flags;
	char state;

	if (!close || sscanf(close + 1, " %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u",
			     &state, &flags, threads) != 3)
		return 0;
	return state == 'Z' || state == 'X' || flags & TASK_EXITING;
}

/* Return: 1, 0 where there is no such task any more */
static int read_stat(const char *task, char *text, size_t size)
{
	FILE *stat = open_of(task, "stat");
	size_t len;

	if (!stat) {
		*text = 0;
		return errno != ENOENT && errno != ESRCH;
	}
	len = fread(text, 1, size - 1, stat);
	fclose(stat);
	text[len] = 0;
	return len > 0;
}

static int all_are_exiting(uint32_t tgid)
{
	struct dirent *entry;
	char text[1024], task[48];
	unsigned int threads;
	int all = 1;
	DIR *dir;

	snprintf(task, sizeof(task), "/proc/%" PRIu32 "/task", tgid);
	dir = opendir(task);
	while (dir && all && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(task, sizeof(task), "%" PRIu32 "/task/%.16s", tgid, entry->d_name);
		all = !read_stat(task, text, sizeof(text)) || is_exiting(text, &threads);
	}
	if (dir)
		closedir(dir);
	return all;
}

int vmp_procfs_is_over(uint32_t tgid)
{
	char text[1024], task[16];
	unsigned int threads;

	snprintf(task, sizeof(task), "%" PRIu32, tgid);
	if (!read_stat(task, text, sizeof(text)))
		return 1;
	if (!is_exiting(text, &threads) || threads > THREADS_MAX)
		return 0;
	return threads <= 1 || all_are_exiting(tgid);
}

/* For the first time in this snapshot? */
static int is_new(struct vmp_procfs *p, const char *name)
{
	unsigned long pid = strtoul(name, NULL, 10);
	uint8_t bit = (uint8_t)(1U << pid % 8);

	if (!isdigit((unsigned char)*name) || pid >= PID_LIMIT || p->told[pid / 8] & bit)
		return 0;
	p->told[pid / 8] |= bit;
	p->new_ones++;
	return 1;
}

/*
 * The directory is read in large pieces.  Who was forked behind one, by a process that was told of
 * later, has a FORK whose parent nobody knew and is in no piece: /proc is read until nothing is new.
 */
static struct dirent *next_entry(struct vmp_procfs *p)
{
	struct dirent *entry;

	for (;;) {
		entry = readdir(p->processes);
		if (entry)
			return entry;
		if (!p->new_ones || ++p->passes == PASSES_MAX)
			return NULL;
		p->new_ones = 0;
		rewinddir(p->processes);
	}
}

static int next_process(struct vmp_procfs *p, struct vmp_procfs_msg *msg)
{
	struct vmprof_proc *proc = (struct vmprof_proc *)msg->payload;
	struct dirent *entry;
	char text[1024];
	uint64_t tsc;

	while ((entry = next_entry(p))) {
		if (!is_new(p, entry->d_name))
			continue;
		tsc = vmp_tsc();	/* its end comes behind */
		read_of(entry->d_name, "stat", text, sizeof(text));
		if (!vmp_procfs_parse_stat(text, proc))
			continue;
		proc->tsc = htole64(tsc);
		msg->type = VMPROF_MSG_PROC;
		p->tgid = le32toh(proc->tgid);
		msg->len = sizeof(*proc) + vmp_procfs_read_place(p->tgid, 1, proc + 1);
		p->maps = VMP_MAPS_FIRST;
		return 1;
	}
	return 0;
}

static int token_message(const struct vmp_procfs *p, unsigned int type,
			 struct vmp_procfs_msg *msg)
{
	struct vmprof_token t = { .token = htole64(p->token), .tsc = htole64(vmp_tsc()) };

	memcpy(msg->payload, &t, sizeof(t));
	msg->type = (uint16_t)type;
	msg->len = sizeof(t);
	return 1;
}

int vmp_procfs_begin(struct vmp_procfs *p, uint64_t token)
{
	int err;

	if (p->processes)
		return -EBUSY;
	p->told = calloc(PID_LIMIT / 8, 1);
	if (!p->told)
		return -ENOMEM;
	p->processes = opendir("/proc");
	if (!p->processes) {
		err = -errno;
		vmp_procfs_end(p);
		return err;
	}
	p->passes = 0;
	p->new_ones = 0;
	p->token = token;
	p->begun = 0;
	p->maps = VMP_MAPS_NONE;
	p->at = p->len = 0;
	return 0;
}

int vmp_procfs_next(struct vmp_procfs *p, struct vmp_procfs_msg *msg)
{
	if (!p->processes)
		return 0;
	if (!p->begun) {
		p->begun = 1;
		return token_message(p, VMPROF_MSG_SNAP_BEGIN, msg);
	}
	if (next_map(p, msg))
		return 1;
	if (p->maps != VMP_MAPS_NONE)
		return 0;			/* the child reads on */
	if (next_process(p, msg))
		return 1;
	vmp_procfs_end(p);
	return token_message(p, VMPROF_MSG_SNAP_END, msg);
}

int vmp_procfs_ask(struct vmp_procfs *p, struct vmp_read_request *r)
{
	if (!p->processes || p->maps == VMP_MAPS_NONE || p->at < p->len)
		return 0;
	r->what = VMP_READ_MAPS;
	r->m = (struct vmp_mapped){ .tgid = p->tgid };
	r->offset = p->maps == VMP_MAPS_MORE;
	r->path[0] = 0;
	return 1;
}

void vmp_procfs_answer(struct vmp_procfs *p, const struct vmp_read_answer *a)
{
	memcpy(p->text, a->data, a->len);
	p->at = 0;
	p->len = a->len;
	p->maps = !a->status && a->offset ? VMP_MAPS_MORE : VMP_MAPS_NONE;
	/* a process that has ended meanwhile is told of as such */
	p->unread += a->status && a->status != -ENOENT && a->status != -ESRCH;
}

void vmp_procfs_end(struct vmp_procfs *p)
{
	if (p->processes)
		closedir(p->processes);
	p->processes = NULL;
	free(p->told);
	p->told = NULL;
}
