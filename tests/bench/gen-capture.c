// SPDX-License-Identifier: GPL-2.0-only
/*
 * gen-capture.c - a capture of any size from a seed, with the objects that its
 * symbols need, written by the collector's own writer; with --perf the same
 * samples and symbols as a perf.data file.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vmprof/agent_proto.h>

#include "branches.h"
#include "capture/writer.h"
#include "elfobj.h"
#include "frame.h"
#include "perfdata.h"
#include "world.h"

#define UUID		"11111111-2222-3333-4444-555555555555"
#define BLOCK_BYTES	(1U << 20)	/* as the collector drains */

struct out {
	struct vmp_writer *w;
	uint8_t *buf;		/* agent's frames under way */
	size_t len, room;
	uint32_t seq;
};

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "gen-capture: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void flush(struct out *o)
{
	if (o->len)
		check(vmp_writer_block(o->w, VMPROF_CAP_AGENT, WORLD_VM, o->buf, o->len, 0, 0), "capture");
	o->len = 0;
}

static void frame(struct out *o, enum vmprof_msg type, const void *a, size_t a_len, const void *b, size_t b_len)
{
	static uint8_t payload[VMPROF_FRAME_MAX];
	struct vmprof_frame f;

	memcpy(payload, a, a_len);
	if (b_len)
		memcpy(payload + a_len, b, b_len);
	check(vmp_frame_build(&f, (uint16_t)type, o->seq++, payload, a_len + b_len), "frame");
	if (o->len + sizeof(f) + a_len + b_len > o->room)
		flush(o);
	memcpy(o->buf + o->len, &f, sizeof(f));
	memcpy(o->buf + o->len + sizeof(f), payload, a_len + b_len);
	o->len += sizeof(f) + a_len + b_len;
}

static void put_files(struct out *o, const struct world *w)
{
	char path[64];
	uint32_t i;

	for (i = 0; i < w->nr_images; i++) {
		const struct world_image *im = &w->image[i];
		struct vmprof_file f = {
			.file = i + 1, .ino = i + 100, .dev_major = 8, .dev_minor = 1, .bytes = im->text_bytes,
			.build_id_len = sizeof(im->build_id),
		};

		memcpy(f.build_id, im->build_id, sizeof(im->build_id));
		f.path_len = (uint32_t)snprintf(path, sizeof(path), "/usr/lib/%s", im->name);
		frame(o, VMPROF_MSG_FILE, &f, sizeof(f), path, f.path_len);
	}
}

static void put_proc(struct out *o, const struct world_process *p, enum vmprof_msg type, uint64_t tsc,
		     uint32_t flags, const char *comm)
{
	struct vmprof_proc m = {
		.tsc = tsc + WORLD_CLOCK_OFFSET, .cr3 = p->cr3, .pid = p->pid, .tgid = p->pid, .ppid = 1,
		.flags = flags,
	};

	memcpy(m.comm, comm, strnlen(comm, sizeof(m.comm) - 1));
	frame(o, type, &m, sizeof(m), NULL, 0);
}

static void put_maps(struct out *o, const struct world *w, const struct world_process *p, uint64_t tsc)
{
	char path[64];
	uint32_t i;

	for (i = 0; i < p->nr_maps; i++) {
		const struct world_image *im = &w->image[p->map[i].image];
		struct vmprof_map m = {
			.tsc = tsc + WORLD_CLOCK_OFFSET, .cr3 = p->cr3, .start = p->map[i].start,
			.end = p->map[i].start + ((im->text_bytes + WORLD_PAGE - 1) & ~(WORLD_PAGE - 1)),
			.pgoff = WORLD_TEXT_AT, .ino = p->map[i].image + 100, .dev_major = 8, .dev_minor = 1,
			.tgid = p->pid, .prot = 5,
		};

		m.path_len = (uint32_t)snprintf(path, sizeof(path), "/usr/lib/%s", im->name);
		frame(o, VMPROF_MSG_MAP, &m, sizeof(m), path, m.path_len);
	}
}

static void put_life(struct out *o, const struct world *w)
{
	struct vmprof_hello h = {
		.version = VMPROF_PROTO_VERSION, .compat = VMPROF_PROTO_COMPAT, .boot_id = "bench",
		.nr_cpus = WORLD_VCPUS, .release_len = 6, .tsc = WORLD_BEGIN + WORLD_CLOCK_OFFSET,
	};
	uint32_t i;

	frame(o, VMPROF_MSG_HELLO, &h, sizeof(h), "6.12.0", 6);
	put_files(o, w);
	for (i = 0; i < w->nr_slots; i++) {
		put_proc(o, &w->process[i], VMPROF_MSG_PROC, WORLD_BEGIN, 0, w->process[i].comm);
		put_maps(o, w, &w->process[i], WORLD_BEGIN);
	}
	for (; i < w->nr_processes; i++) {
		const struct world_process *p = &w->process[i], *old = &w->process[i - w->nr_slots];

		put_proc(o, old, VMPROF_MSG_EXIT, old->end, VMPROF_PROC_LAST, old->comm);
		put_proc(o, p, VMPROF_MSG_FORK, p->begin - 100, 0, "sh");
		put_proc(o, p, VMPROF_MSG_EXEC, p->begin - 50, 0, "sh");
		put_proc(o, p, VMPROF_MSG_EXEC, p->begin - 40, VMPROF_PROC_EXEC_DONE, p->comm);
		put_maps(o, w, p, p->begin - 30);
	}
}

/* What a guest that lies can say to make a reader remember most for a byte: each time another process, address space and name */
static void put_forks(struct out *o, uint64_t nr)
{
	uint64_t i;

	for (i = 0; i < nr; i++) {
		struct vmprof_proc m = {
			.tsc = WORLD_BEGIN + WORLD_CLOCK_OFFSET + i, .cr3 = (1ULL << 40) + i * WORLD_PAGE,
			.pid = (uint32_t)(1000000 + i), .tgid = (uint32_t)(1000000 + i), .ppid = 1,
		};
		char name[sizeof(m.comm) + 1];

		snprintf(name, sizeof(name), "fork-%x", (unsigned int)i);
		memcpy(m.comm, name, strlen(name));
		frame(o, VMPROF_MSG_FORK, &m, sizeof(m), NULL, 0);
	}
}

/* kallsyms text of a kernel; from malloc() */
static char *kallsyms(const struct world_image *kernel, uint64_t base, size_t *len)
{
	char *text = NULL, name[96];
	FILE *f = open_memstream(&text, len);
	uint32_t i;

	check(f ? 0 : -ENOMEM, "kernel symbols");
	for (i = 0; i < kernel->nr_symbols; i++) {
		world_symbol_name(name, kernel, i);
		fprintf(f, "%016llx %c %s\n", (unsigned long long)base + kernel->symbol[i].offset,
			i % 3 ? 'T' : 't', name);
	}
	fclose(f);
	return text;
}

static void put_ksyms(struct out *o, const struct world *w)
{
	size_t len, at, n;
	char *text = kallsyms(&w->kernel, WORLD_KERNEL, &len);

	for (at = 0; at < len; at += n) {
		struct vmprof_ksyms k = { .offset = at, .total = len };

		n = len - at < 60000 ? len - at : 60000;
		frame(o, VMPROF_MSG_KSYMS, &k, sizeof(k), text + at, n);
	}
	free(text);
	text = kallsyms(&w->host_kernel, WORLD_HOST_KERNEL, &len);
	check(vmp_writer_block(o->w, VMPROF_CAP_HOST_KSYMS, 0, text, len, 0, 0), "capture");
	free(text);
}

static void put_text(struct out *o, unsigned int type, uint32_t source, const char *text)
{
	check(vmp_writer_block(o->w, type, source, text, strlen(text), 0, 0), "capture");
}

static void put_session(struct out *o, const struct world *w, const char *libs, int cpi)
{
	char text[800];
	struct vmprof_cap_clock clock = {
		.host_tsc = WORLD_BEGIN, .offset = WORLD_CLOCK_OFFSET,
	};

	snprintf(text, sizeof(text), "{\"host\":\"bench\",\"release\":\"6.12.0\",\"vendor\":\"svm\","
		 "\"event\":\"cycles\",\"period\":1000000,%s\"trigger\":\"pmc\",\"version\":\"bench\",\"cpus\":16}",
		 cpi ? "\"instruction_period\":1000000," : "");
	put_text(o, VMPROF_CAP_META, 0, text);
	put_text(o, VMPROF_CAP_VM, WORLD_VM, "{\"name\":\"bench\",\"uuid\":\"" UUID "\",\"pid\":1000,"
		 "\"vcpus\":[],\"agent\":true}");
	check(vmp_writer_block(o->w, VMPROF_CAP_CLOCK, WORLD_VM, &clock, sizeof(clock), 0, 0), "capture");
	snprintf(text, sizeof(text), "%llx-%llx r-xp %08llx 08:01 5   %s/%s\n", 0x555555554000ULL + WORLD_TEXT_AT,
		 0x555555554000ULL + WORLD_TEXT_AT + w->qemu.text_bytes, WORLD_TEXT_AT, libs, w->qemu.name);
	put_text(o, VMPROF_CAP_HOST_MAPS, WORLD_VM, text);
	put_text(o, VMPROF_CAP_HOST_COMMS, 0, "1000 1000 qemu-system-x86\n77 77 make\n");
}

/* A pCPU's records that wait to be written */
struct drained {
	uint8_t *bytes;
	size_t len;
	uint64_t first, last;	/* TSC */
};

static void put_drained(struct out *o, struct drained *d, uint32_t cpu)
{
	if (d->len)
		check(vmp_writer_block(o->w, VMPROF_CAP_RECORDS, cpu, d->bytes, d->len, d->first, d->last), "capture");
	d->len = 0;
}

static void put_record(struct drained *d, const void *rec, size_t len, uint64_t tsc)
{
	if (!d->len)
		d->first = tsc;
	d->last = tsc;
	memcpy(d->bytes + d->len, rec, len);
	d->len += len;
}

/* @cpi: every second one is of the other event */
static void put_samples(struct out *o, struct world *w, FILE *perf, unsigned int branches, int cpi)
{
	struct drained cpu[WORLD_VCPUS] = { { 0 } };
	const size_t most = sizeof(struct vmprof_sample) + (branches ? sizeof(struct branches_record) : 0);
	struct branches_record rec;
	struct world_sample s;
	size_t len;
	uint64_t n;
	uint32_t c;

	for (c = 0; c < WORLD_VCPUS; c++) {
		cpu[c].bytes = malloc(BLOCK_BYTES);
		check(cpu[c].bytes ? 0 : -ENOMEM, "samples");
	}
	for (n = 0; n < w->nr_samples; n++) {
		c = (uint32_t)(n % WORLD_VCPUS);
		world_sample(w, n, &s);
		len = branches ? branches_before(w, &s, branches, &rec) : 0;
		if (cpi && len && n / WORLD_VCPUS % 2) {
			s.rec.hdr.type = VMPROF_REC_INSTRUCTIONS;
			s.rec.cycles = s.rec.instructions = 0;
		}
		put_record(&cpu[c], &s.rec, sizeof(s.rec), s.rec.tsc);
		if (len)
			put_record(&cpu[c], &rec, len, s.rec.tsc);
		if (perf)
			perfdata_sample(perf, w, &s);
		if (cpu[c].len + most > BLOCK_BYTES)
			put_drained(o, &cpu[c], c);
	}
	for (c = 0; c < WORLD_VCPUS; c++) {
		put_drained(o, &cpu[c], c);
		free(cpu[c].bytes);
	}
}

/* FOLDER/objects as the cache has them, FOLDER/lib by name, FOLDER/kallsyms */
static void put_objects(const struct world *w, const char *folder, const char *libs, int code)
{
	char path[700], key[41], sub[700];
	size_t len, i;
	uint32_t n;
	char *text;
	FILE *f;

	mkdir(folder, 0755);
	mkdir(libs, 0755);
	for (n = 0; n <= w->nr_images; n++) {
		const struct world_image *im = n < w->nr_images ? &w->image[n] : &w->qemu;

		for (i = 0; i < sizeof(im->build_id); i++)
			sprintf(key + 2 * i, "%02x", im->build_id[i]);
		snprintf(path, sizeof(path), "%s/%s", libs, im->name);
		check(elfobj_write(path, im, code ? branches_code : NULL, BRANCHES_SLOT), path);
		snprintf(sub, sizeof(sub), "%s/objects", folder);
		mkdir(sub, 0755);
		snprintf(sub, sizeof(sub), "%s/objects/" UUID, folder);
		mkdir(sub, 0755);
		snprintf(sub, sizeof(sub), "%s/objects/" UUID "/%.2s", folder, key);
		mkdir(sub, 0755);
		snprintf(sub, sizeof(sub), "%s/objects/" UUID "/%.2s/%s", folder, key, key + 2);
		unlink(sub);
		check(link(path, sub) ? -errno : 0, sub);
	}
	snprintf(path, sizeof(path), "%s/kallsyms", folder);
	f = fopen(path, "w");
	check(f ? 0 : -errno, path);
	fprintf(f, "%016llx T _stext\n", (unsigned long long)WORLD_KERNEL);
	text = kallsyms(&w->kernel, WORLD_KERNEL, &len);
	fwrite(text, len, 1, f);
	free(text);
	text = kallsyms(&w->host_kernel, WORLD_HOST_KERNEL, &len);
	fwrite(text, len, 1, f);
	free(text);
	check(fclose(f) ? -errno : 0, path);
}

static const char usage[] =
	"Usage: gen-capture [OPTION]... FOLDER\n"
	"\n"
	"Write FOLDER/bench.vmprof, a capture from a seed, with FOLDER/objects, the\n"
	"object cache that its symbols need (VMPROF_OBJCACHE).\n"
	"\n"
	"  --samples N      samples [10000000], up to 100000000\n"
	"  --processes N    processes of the guest [2000]\n"
	"  --images N       programs and libraries [300]\n"
	"  --seed N         where all numbers come from [1]\n"
	"  --forks N        messages of processes that are born behind all others, and do nothing\n"
	"  --lbr N          samples in guest user code have N last branches, up to 32, and the\n"
	"                   programs have code to go with them\n"
	"  --cpi            every second sample is of instructions, as by default with branches\n"
	"  --perf           also FOLDER/perf.data: the same samples for\n"
	"                   perf report -i FOLDER/perf.data --kallsyms FOLDER/kallsyms\n";

static uint64_t number(const char *s, uint64_t max)
{
	char *end;
	uint64_t n = strtoull(s, &end, 10);

	if (!*s || *end || !n || n > max) {
		fprintf(stderr, "gen-capture: a number from 1 to %llu, not '%s'\n", (unsigned long long)max, s);
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "samples", 1, NULL, 's' }, { "processes", 1, NULL, 'p' }, { "images", 1, NULL, 'i' },
		{ "seed", 1, NULL, 'r' }, { "lbr", 1, NULL, 'l' }, { "cpi", 0, NULL, 'c' }, { "forks", 1, NULL, 'k' }, { "perf", 0, NULL, 'f' }, { "help", 0, NULL, 'h' }, { 0 },
	};
	uint64_t samples = 10000000, processes = 2000, images = 300, seed = 1, branches = 0, forks = 0;
	struct vmprof_cap_header h = { .session = "bench", .realtime_ns = 1700000000000000000ULL,
				       .tsc = WORLD_BEGIN, .tsc_khz = WORLD_KHZ };
	char path[600], libs[600];
	struct out o = { .room = 8 << 20 };
	FILE *perf = NULL;
	struct world *w;
	int c, want_perf = 0, cpi = 0;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 's': samples = number(optarg, 100000000); break;
		case 'p': processes = number(optarg, 100000); break;
		case 'i': images = number(optarg, 10000); break;
		case 'r': seed = number(optarg, UINT64_MAX); break;
		case 'l': branches = number(optarg, VMPROF_LBR_MAX); break;
		case 'c': cpi = 1; break;
		case 'k': forks = number(optarg, 1U << 30); break;
		case 'f': want_perf = 1; break;
		case 'h': fputs(usage, stdout); return 0;
		default: return 2;
		}
	}
	if (argc - optind != 1) {
		fputs(usage, stderr);
		return 2;
	}
	w = world_create(seed, (uint32_t)processes, (uint32_t)images, samples);
	snprintf(libs, sizeof(libs), "%s/lib", argv[optind]);
	put_objects(w, argv[optind], libs, branches != 0);
	snprintf(path, sizeof(path), "%s/perf.data", argv[optind]);
	if (want_perf) {
		perf = perfdata_begin(path, w, libs);
		check(perf ? 0 : -errno, path);
	}
	snprintf(path, sizeof(path), "%s/bench.vmprof", argv[optind]);
	check(vmp_writer_create(&o.w, path, &h), path);
	o.buf = malloc(o.room);
	check(o.buf ? 0 : -ENOMEM, path);
	put_session(&o, w, libs, cpi);
	put_life(&o, w);
	put_forks(&o, forks);
	put_ksyms(&o, w);
	flush(&o);
	put_samples(&o, w, perf, (unsigned int)branches, cpi);
	check(vmp_writer_close(o.w), path);
	if (perf)
		check(perfdata_end(perf), "perf.data");
	free(o.buf);
	world_destroy(w);
	return 0;
}
