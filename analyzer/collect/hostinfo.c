// SPDX-License-Identifier: GPL-2.0-only
/* hostinfo.c - what the report must know of the host itself. */
#include "collect/hostinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vmprof/capture.h>

#include "elf_id.h"
#include "util/file.h"
#include "util/text.h"

#define IDS_MAX 4096U	/* files of a process that are looked at */
#define TASKS_MAX (1U << 20)	/* names kept in one session */

size_t vmp_filter_ksyms(char *text, size_t len)
{
	char *in = text, *out = text, *end = text + len;

	while (in < end) {
		char *nl = memchr(in, '\n', end - in);
		char *next = nl ? nl + 1 : end;
		char *type = memchr(in, ' ', next - in);

		if (type && type + 1 < next && strchr("tTwW", type[1]) && type[1]) {
			memmove(out, in, next - in);
			out += next - in;
		}
		in = next;
	}
	return out - text;
}

int vmp_read_ksyms(char **data, size_t *len)
{
	int err;

	err = vmp_file_read("/proc/kallsyms", VMPROF_CAP_RAW_MAX, data, len);
	if (err)
		return err;
	if (*len > 16 && !strncmp(*data, "0000000000000000", 16) &&
	    !strstr(*data, "\nffffffff")) {
		free(*data);
		return -EPERM;
	}
	*len = vmp_filter_ksyms(*data, *len);
	return 0;
}

int vmp_read_maps(uint32_t pid, char **data, size_t *len)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	return vmp_file_read(path, VMPROF_CAP_RAW_MAX, data, len);
}

/* "start-end rwxp offset major:minor inode   path"; NULL: no file's code */
static const char *code_path(const char *line, const char *end)
{
	const char *mode = memchr(line, ' ', (size_t)(end - line)), *path = memchr(line, '/', (size_t)(end - line));

	if (!mode || !path || end - mode < 5 || mode[3] != 'x')
		return NULL;
	return path;
}

/*
 * Of the very file, whatever lies at its path now, in few reads: it may be a stranger's, and change.
 * @range: As maps have it, with zeros in front; map_files has none.  Return: digits in @hex
 */
static size_t mapped_id(uint32_t pid, const char *range, char *hex)
{
	struct vmp_build_id id = { 0 };
	struct vmp_elf_source src;
	uint64_t start, end;
	char path[96];
	int fd;

	if (sscanf(range, "%" SCNx64 "-%" SCNx64 " ", &start, &end) != 2)
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, pid, start, end);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return 0;
	src = vmp_elf_fd(&fd);
	if (vmp_elf_build_id(&src, &id))
		id.len = 0;
	close(fd);
	vmp_text_hex(hex, id.bytes, id.len);
	return 2 * id.len;
}

int vmp_host_build_ids(uint32_t pid, const char *maps, size_t len, char **ids, size_t *ids_len)
{
	const char *end = maps + len, *nl, *path, *last = "";
	size_t n, path_len, last_len = 0, size = 0;
	char hex[2 * VMPROF_BUILD_ID_MAX + 1];
	FILE *out = open_memstream(ids, &size);
	unsigned int files = 0;

	if (!out)
		return -ENOMEM;
	for (; maps < end && files < IDS_MAX && (nl = memchr(maps, '\n', (size_t)(end - maps))); maps = nl + 1) {
		path = code_path(maps, nl);
		path_len = path ? (size_t)(nl - path) : 0;
		/* one after the other, mostly */
		if (!path || (path_len == last_len && !memcmp(path, last, path_len)))
			continue;
		last = path;
		last_len = path_len;
		files++;
		n = mapped_id(pid, maps, hex);
		if (n)
			fprintf(out, "%.*s %.*s\n", (int)n, hex, (int)path_len, path);
	}
	if (fclose(out)) {
		free(*ids);
		return -ENOMEM;
	}
	*ids_len = size;
	return 0;
}

static size_t place(const struct vmp_comms *c, uint64_t key)
{
	size_t i = (size_t)((key * 0x9e3779b97f4a7c15ULL) >> 20) & (c->slots - 1);

	while (c->seen[i] && c->seen[i] != key)
		i = (i + 1) & (c->slots - 1);
	return i;
}

static int grow(struct vmp_comms *c)
{
	struct vmp_comms bigger = *c;
	size_t i;

	bigger.slots = c->slots ? c->slots * 2 : 256;
	bigger.seen = calloc(bigger.slots, sizeof(*bigger.seen));
	if (!bigger.seen)
		return -ENOMEM;
	for (i = 0; i < c->slots; i++)
		if (c->seen[i])
			bigger.seen[place(&bigger, c->seen[i])] = c->seen[i];
	free(c->seen);
	*c = bigger;
	return 0;
}

static void add_line(struct vmp_comms *c, uint32_t tgid, uint32_t tid, const char *comm)
{
	char line[128];
	int n = snprintf(line, sizeof(line), "%u %u %s\n", tgid, tid, comm);
	char *more;

	if (c->room - c->len < (size_t)n) {
		more = realloc(c->text, c->room + 4096);
		if (!more)
			return;
		c->text = more;
		c->room += 4096;
	}
	memcpy(c->text + c->len, line, n);
	c->len += n;
}

void vmp_comms_look(struct vmp_comms *c, uint32_t tgid, uint32_t tid)
{
	uint64_t key = (uint64_t)tgid << 32 | tid;
	char path[64], safe[64], *comm;
	size_t len, at;

	if (!key || c->used >= TASKS_MAX)
		return;
	c->last = key;
	if (c->used * 2 >= c->slots && grow(c))
		return;
	at = place(c, key);
	if (c->seen[at])
		return;
	c->seen[at] = key;
	c->used++;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", tgid, tid);
	if (vmp_file_read(path, 64, &comm, &len))
		return;			/* it is gone: the report shows its number */
	vmp_text(safe, sizeof(safe), comm, strcspn(comm, "\n"));
	add_line(c, tgid, tid, safe);
	free(comm);
}

void vmp_comms_free(struct vmp_comms *c)
{
	free(c->seen);
	free(c->text);
	memset(c, 0, sizeof(*c));
}
