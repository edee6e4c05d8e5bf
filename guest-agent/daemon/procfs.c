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

#define TASK_KTHREAD	0x00200000U	/* PF_KTHREAD in the flags of /proc/PID/stat */

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

	snprintf(path, sizeof(path), "/proc/%.16s/%s", pid, what);
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

static uint32_t read_place(const char *pid, void *dst)
{
	char status[4096], cgroup[4096];

	read_of(pid, "status", status, sizeof(status));
	read_of(pid, "cgroup", cgroup, sizeof(cgroup));
	return vmp_procfs_parse_place(status, cgroup, dst);
}

/* The state, and the number of threads */
static int parse_over(const char *text)
{
	const char *close = strrchr(text, ')');
	unsigned int threads;
	char state;

	if (!close || sscanf(close + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u",
			     &state, &threads) != 2)
		return 0;
	return (state == 'Z' || state == 'X') && threads <= 1;
}

int vmp_procfs_is_over(uint32_t tgid)
{
	char text[1024], pid[16];
	size_t len;
	FILE *stat;

	snprintf(pid, sizeof(pid), "%" PRIu32, tgid);
	stat = open_of(pid, "stat");
	if (!stat)
		return errno == ENOENT || errno == ESRCH;
	len = fread(text, 1, sizeof(text) - 1, stat);
	fclose(stat);
	text[len] = 0;
	return !len || parse_over(text);
}

static int next_process(struct vmp_procfs *p, struct vmp_procfs_msg *msg)
{
	struct vmprof_proc *proc = (struct vmprof_proc *)msg->payload;
	struct dirent *entry;
	char text[1024];

	while ((entry = readdir(p->processes))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		read_of(entry->d_name, "stat", text, sizeof(text));
		if (!vmp_procfs_parse_stat(text, proc))
			continue;
		proc->tsc = htole64(vmp_tsc());
		msg->type = VMPROF_MSG_PROC;
		msg->len = sizeof(*proc) + read_place(entry->d_name, proc + 1);
		p->tgid = le32toh(proc->tgid);
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
	if (p->processes)
		return -EBUSY;
	p->processes = opendir("/proc");
	p->token = token;
	p->begun = 0;
	p->maps = VMP_MAPS_NONE;
	p->at = p->len = 0;
	return p->processes ? 0 : -errno;
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
}
