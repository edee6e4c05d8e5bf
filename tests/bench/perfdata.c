// SPDX-License-Identifier: GPL-2.0-only
/*
 * perfdata.c - perf.data as perf writes it for one event (layout: the kernel's
 * tools/perf/Documentation/perf.data-file-format.txt and perf_event.h).
 *
 * Samples are in order of time, with a FINISHED_ROUND now and then: perf has
 * less sorting to do than with what it records itself.
 */
#include "perfdata.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES	104U
#define ROUND		65536U
#define FINISHED_ROUND	68
#define SAMPLE_TYPE	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

struct section {
	uint64_t offset, size;
};

/* of the event: only the oldest version's part, which every perf can read */
struct file_attr {
	uint8_t attr[PERF_ATTR_SIZE_VER0];
	struct section ids;
};

/* sample_id_all: what follows every other record */
struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, res;
};

static uint32_t nr_begun, in_round;
static char lib_folder[256];

static uint64_t ns(uint64_t tsc)
{
	return tsc * 1000000 / WORLD_KHZ;
}

static void put_comm(FILE *f, const struct world_process *p, uint64_t tsc)
{
	struct {
		struct perf_event_header h;
		uint32_t pid, tid;
		char comm[16];
		struct trailer t;
	} r = { { PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, sizeof(r) }, p->pid, p->pid, "",
		{ p->pid, p->pid, ns(tsc), 0, 0 } };

	memcpy(r.comm, p->comm, sizeof(r.comm));
	fwrite(&r, sizeof(r), 1, f);
}

static void put_map(FILE *f, uint16_t misc, uint32_t pid, uint64_t start, uint64_t len, uint64_t pgoff,
		    const char *path, uint64_t tsc)
{
	struct {
		struct perf_event_header h;
		uint32_t pid, tid;
		uint64_t start, len, pgoff;
	} r = { { PERF_RECORD_MMAP, misc, 0 }, pid, pid, start, len, pgoff };
	struct trailer t = { pid, pid, ns(tsc), 0, 0 };
	char name[512] = "";
	size_t n = (strlen(path) + 8) & ~7UL;

	snprintf(name, sizeof(name), "%s", path);
	r.h.size = (uint16_t)(sizeof(r) + n + sizeof(t));
	fwrite(&r, sizeof(r), 1, f);
	fwrite(name, n, 1, f);
	fwrite(&t, sizeof(t), 1, f);
}

static void put_process(FILE *f, const struct world *w, const struct world_process *p)
{
	uint64_t tsc = p->begin ? p->begin : WORLD_BEGIN;
	char path[300];
	uint32_t i;

	put_comm(f, p, tsc);
	for (i = 0; i < p->nr_maps; i++) {
		const struct world_image *im = &w->image[p->map[i].image];

		snprintf(path, sizeof(path), "%s/%s", lib_folder, im->name);
		put_map(f, PERF_RECORD_MISC_USER, p->pid, p->map[i].start,
			(im->text_bytes + WORLD_PAGE - 1) & ~(WORLD_PAGE - 1), WORLD_TEXT_AT, path, tsc);
	}
}

FILE *perfdata_begin(const char *path, const struct world *w, const char *libs)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES,
		.size = PERF_ATTR_SIZE_VER0, .sample_period = 1000000, .sample_type = SAMPLE_TYPE,
		.sample_id_all = 1, .comm = 1, .mmap = 1, .task = 1, .comm_exec = 1,
	};
	struct file_attr a = { { 0 } };
	FILE *f = fopen(path, "wb");
	uint8_t zeros[HEADER_BYTES] = { 0 };
	struct world_process qemu = { .pid = WORLD_VM, .comm = "qemu" };
	char name[300];
	uint32_t i;

	if (!f)
		return NULL;
	snprintf(lib_folder, sizeof(lib_folder), "%s", libs);
	fwrite(zeros, sizeof(zeros), 1, f);
	memcpy(a.attr, &attr, sizeof(a.attr));
	fwrite(&a, sizeof(a), 1, f);
	put_map(f, PERF_RECORD_MISC_KERNEL, UINT32_MAX, WORLD_KERNEL, 0xffffffff9fffffffULL - WORLD_KERNEL,
		WORLD_KERNEL, "[kernel.kallsyms]_stext", WORLD_BEGIN);
	put_comm(f, &qemu, WORLD_BEGIN);
	snprintf(name, sizeof(name), "%s/%s", libs, w->qemu.name);
	put_map(f, PERF_RECORD_MISC_USER, WORLD_VM, 0x555555554000ULL + WORLD_TEXT_AT, w->qemu.text_bytes,
		WORLD_TEXT_AT, name, WORLD_BEGIN);
	for (i = 0; i < w->nr_slots; i++)
		put_process(f, w, &w->process[i]);
	nr_begun = w->nr_slots;
	return f;
}

void perfdata_sample(FILE *f, const struct world *w, const struct world_sample *s)
{
	static const struct perf_event_header round = { FINISHED_ROUND, 0, sizeof(round) };
	struct {
		struct perf_event_header h;
		uint64_t ip;
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, res;
		uint64_t period;
	} r = { { PERF_RECORD_SAMPLE, s->ip >> 63 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER, sizeof(r) },
		s->ip, s->pid, s->pid, ns(s->rec.tsc), s->rec.hdr.pcpu, 0, s->rec.cycles };

	while (nr_begun < w->nr_processes && w->process[nr_begun].begin <= s->rec.tsc)
		put_process(f, w, &w->process[nr_begun++]);
	fwrite(&r, sizeof(r), 1, f);
	if (++in_round == ROUND) {
		fwrite(&round, sizeof(round), 1, f);
		in_round = 0;
	}
}

int perfdata_end(FILE *f)
{
	struct {
		char magic[8];
		uint64_t size, attr_size;
		struct section attrs, data, types;
		uint64_t features[4];
	} h = { "PERFILE2", HEADER_BYTES, sizeof(struct file_attr),
		{ HEADER_BYTES, sizeof(struct file_attr) },
		{ HEADER_BYTES + sizeof(struct file_attr), 0 } };
	int err;

	_Static_assert(sizeof(h) == HEADER_BYTES, "perf.data header");
	memcpy(h.magic, "PERFILE2", 8);
	h.data.size = (uint64_t)ftell(f) - h.data.offset;
	rewind(f);
	fwrite(&h, sizeof(h), 1, f);
	err = ferror(f) ? -EIO : 0;
	return fclose(f) ? -errno : err;
}
