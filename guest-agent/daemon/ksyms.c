// SPDX-License-Identifier: GPL-2.0-only
/* ksyms.c - the kernel's text symbols, as KSYMS has them: lines kept as the kernel wrote them. */
#include "ksyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vmprof/agent_proto.h>

#include "module.h"

#define STEP_BYTES	(64U << 10)
#define SIZE_BYTES	17U	/* of a tab and a number */

struct line {
	unsigned long long address;
	const char *p;
	size_t len;
	int made;		/* while the kernel runs, such as BPF programs: it has no end that is known */
};

void vmp_ksyms_init(struct vmp_ksyms *k)
{
	*k = (struct vmp_ksyms){ .fd = -1, .module = -1 };
}

void vmp_ksyms_clear(struct vmp_ksyms *k)
{
	if (k->fd >= 0)
		close(k->fd);
	free(k->text);
	vmp_ksyms_init(k);
}

int vmp_ksyms_open(struct vmp_ksyms *k, const char *path, int module)
{
	vmp_ksyms_clear(k);
	k->module = module;
	k->fd = open(path, O_RDONLY | O_CLOEXEC);
	return k->fd < 0 ? -errno : 0;
}

/* "ffffffff81000000 T _text\n": a text symbol whose address is not hidden */
static int wanted(const char *line, size_t len)
{
	const char *space = memchr(line, ' ', len);
	size_t at;

	if (!space)
		return 0;
	at = (size_t)(space - line);
	if (strspn(line, "0") >= at)
		return 0;
	return at + 3 < len && memchr("tTwW", line[at + 1], 4) && line[at + 2] == ' ';
}

/* Go through the lines of the n bytes at text + bytes, move those that stay to the front. */
static void keep_lines(struct vmp_ksyms *k, size_t n)
{
	char *p = k->text + k->bytes, *end = p + n, *newline;
	size_t len;

	while ((newline = memchr(p, '\n', (size_t)(end - p)))) {
		len = (size_t)(newline + 1 - p);
		if (wanted(p, len)) {
			memmove(k->text + k->bytes, p, len);
			k->bytes += len;
		}
		p += len;
	}
	k->partial = (size_t)(end - p);
	memmove(k->text + k->bytes, p, k->partial);
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->made != y->made)
		return x->made - y->made;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->p < y->p ? -1 : x->p > y->p;	/* keep the kernel's order of aliases */
}

static int is_made(const struct line *line)
{
	return memmem(line->p, line->len, "\t[bpf]", 6) || memmem(line->p, line->len, "\t[__builtin__", 13);
}

/* Return: bytes put */
static size_t put_symbol(char *to, const struct line *line, int module)
{
	uint64_t bytes;

	memcpy(to, line->p, line->len);
	if (module < 0 || !line->made || vmp_module_symbol(module, line->address, &bytes) || !bytes)
		return line->len;
	return line->len - 1 + (size_t)sprintf(to + line->len - 1, "\t%llx\n", (unsigned long long)bytes);
}

static int sort_lines(struct vmp_ksyms *k)
{
	size_t nr = 0, made = 0, i = 0;
	const char *p, *end = k->text + k->bytes;
	struct line *lines;
	char *sorted, *to;

	for (p = k->text; p < end; p++)
		nr += *p == '\n';
	lines = malloc((nr + 1) * sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	for (p = k->text; p < end; p += lines[i++].len) {
		lines[i].address = strtoull(p, NULL, 16);
		lines[i].p = p;
		lines[i].len = (size_t)((const char *)memchr(p, '\n', (size_t)(end - p)) + 1 - p);
		lines[i].made = is_made(&lines[i]);
		made += (size_t)lines[i].made;
	}
	k->room = k->bytes + made * SIZE_BYTES + 1;	/* and what sprintf() ends with */
	sorted = malloc(k->room);
	if (!sorted) {
		free(lines);
		return -ENOMEM;
	}
	qsort(lines, nr, sizeof(*lines), compare_lines);
	for (to = sorted, i = 0; i < nr; i++)
		to += put_symbol(to, &lines[i], k->module);
	k->bytes = (size_t)(to - sorted);
	free(lines);
	free(k->text);
	k->text = sorted;
	return k->bytes <= VMPROF_KSYMS_BYTES_MAX ? 0 : -EFBIG;
}

static int finish_text(struct vmp_ksyms *k)
{
	int ret;

	close(k->fd);
	k->fd = -1;
	k->partial = 0;
	ret = k->bytes ? sort_lines(k) : 0;
	if (ret) {
		vmp_ksyms_clear(k);
		return ret;
	}
	k->ready = 1;
	return 0;
}

int vmp_ksyms_step(struct vmp_ksyms *k)
{
	size_t used = k->bytes + k->partial, room;
	char *text;
	ssize_t n;

	if (k->fd < 0)
		return 0;
	if (k->room - used < STEP_BYTES) {
		room = k->room ? 2 * k->room : 2 * STEP_BYTES;
		text = room <= 2 * VMPROF_KSYMS_BYTES_MAX ? realloc(k->text, room) : NULL;
		if (!text) {
			vmp_ksyms_clear(k);
			return -ENOMEM;
		}
		k->text = text;
		k->room = room;
	}
	n = read(k->fd, k->text + used, STEP_BYTES);
	if (n < 0) {
		n = -errno;
		vmp_ksyms_clear(k);
		return (int)n;
	}
	if (!n)
		return finish_text(k);
	keep_lines(k, k->partial + (size_t)n);
	if (k->bytes <= VMPROF_KSYMS_BYTES_MAX)
		return 1;
	vmp_ksyms_clear(k);
	return -EFBIG;
}

uint64_t vmp_ksyms_modules(const char *path)
{
	char line[4096], name[96], address[32];
	uint64_t sum = 0, h;
	const char *p;
	FILE *f;

	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		/* name, size, users, who uses it, state, address; users change all the time */
		if (sscanf(line, "%63s %*s %*s %*s %*s %31s", name, address) != 2)
			continue;
		h = 0xcbf29ce484222325ULL;
		for (p = strcat(name, address); *p; p++)
			h = (h ^ (unsigned char)*p) * 0x100000001b3ULL;
		sum += h;		/* in whatever order */
	}
	if (f)
		fclose(f);
	return sum;
}
