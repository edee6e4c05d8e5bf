/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gen.h - made-up captures for tests: a writer with words for samples and
 * for what an agent says.  Times are host TSCs; the guest's clock is
 * guest = host + GEN_OFFSET unless a test says otherwise.
 */
#ifndef VMP_TEST_GEN_H
#define VMP_TEST_GEN_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vmprof/agent_proto.h>
#include <vmprof/uapi.h>

#include "capture/writer.h"
#include "frame.h"

#define GEN_OFFSET	5000000ULL
#define GEN_KHZ		1000000U	/* a tick is a nanosecond */
#define GEN_VM		1000U
#define GEN_KERNEL	0xffffffff81000000ULL

/* Run a shell command in a folder; its exit status */
__attribute__((format(printf, 2, 3)))
static inline int gen_run(const char *dir, const char *fmt, ...)
{
	char cmd[4096];
	int n = snprintf(cmd, sizeof(cmd), "cd %s && ", dir);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd + n, sizeof(cmd) - (size_t)n, fmt, ap);
	va_end(ap);
	return system(cmd);
}

/* The same; that it works is part of the test */
#define gen_sh(dir, ...) \
	do { \
		if (gen_run(dir, __VA_ARGS__)) \
			fail_msg(__VA_ARGS__); \
	} while (0)

struct gen {
	struct vmp_writer *w;
	uint8_t agent[1 << 20];
	size_t agent_len;
	uint32_t seq;
	uint64_t offset;
	uint8_t records[1 << 20];
	size_t records_len;
};

static inline void gen_begin_event(struct gen *g, const char *path, const char *event, unsigned int period)
{
	struct vmprof_cap_header h = { .session = "test", .realtime_ns = 1700000000000000000ULL,
				       .tsc = 1000, .tsc_khz = GEN_KHZ };
	char meta[256];

	snprintf(meta, sizeof(meta),
		 "{\"host\":\"kvm01\",\"release\":\"6.12\",\"vendor\":\"svm\",\"event\":\"%s\","
		 "\"period\":%u,\"trigger\":\"pmc\",\"version\":\"0.1\",\"cpus\":2}", event, period);
	memset(g, 0, sizeof(*g));
	g->offset = GEN_OFFSET;
	unlink(path);
	assert_int_equal(vmp_writer_create(&g->w, path, &h), 0);
	assert_int_equal(vmp_writer_block(g->w, VMPROF_CAP_META, 0, meta, strlen(meta), 0, 0), 0);
}

static inline void gen_begin(struct gen *g, const char *path)
{
	gen_begin_event(g, path, "cycles", 1000000);
}

static inline void gen_text(struct gen *g, unsigned type, uint32_t source, const char *text)
{
	assert_int_equal(vmp_writer_block(g->w, type, source, text, strlen(text), 0, 0), 0);
}

static inline void gen_vm(struct gen *g, uint32_t vm, const char *name)
{
	char json[256];

	snprintf(json, sizeof(json), "{\"name\":\"%s\",\"uuid\":\"u-%u\",\"pid\":%u,"
		 "\"vcpus\":[{\"id\":0,\"tid\":%u}],\"agent\":true}", name, vm, vm, vm + 1);
	gen_text(g, VMPROF_CAP_VM, vm, json);
}

/* ---------------------------------------------------------------- agent */

static inline void gen_frame(struct gen *g, unsigned type, const void *a, size_t a_len,
			     const void *b, size_t b_len)
{
	uint8_t payload[VMPROF_FRAME_MAX];
	struct vmprof_frame f;

	assert_true(a_len + b_len <= sizeof(payload));
	memcpy(payload, a, a_len);
	if (b_len)
		memcpy(payload + a_len, b, b_len);
	assert_int_equal(vmp_frame_build(&f, (uint16_t)type, g->seq++, payload, a_len + b_len), 0);
	assert_true(g->agent_len + sizeof(f) + a_len + b_len <= sizeof(g->agent));
	memcpy(g->agent + g->agent_len, &f, sizeof(f));
	memcpy(g->agent + g->agent_len + sizeof(f), payload, a_len + b_len);
	g->agent_len += sizeof(f) + a_len + b_len;
}

static inline void gen_agent_flush(struct gen *g, uint32_t vm, uint64_t seen)
{
	assert_int_equal(vmp_writer_block(g->w, VMPROF_CAP_AGENT, vm, g->agent, g->agent_len, seen, seen), 0);
	g->agent_len = 0;
}

static inline void gen_hello(struct gen *g, uint64_t tsc, uint8_t boot, uint32_t flags)
{
	struct vmprof_hello h = {
		.version = VMPROF_PROTO_VERSION, .compat = VMPROF_PROTO_COMPAT, .flags = flags,
		.nr_cpus = 2, .release_len = 3, .tsc = tsc + g->offset,
	};

	memset(h.boot_id, boot, sizeof(h.boot_id));
	gen_frame(g, VMPROF_MSG_HELLO, &h, sizeof(h), "6.1", 3);
}

/* HELLO of an agent without its module */
static inline void gen_no_module(struct gen *g, uint64_t tsc, uint8_t boot, uint32_t flags, uint32_t error)
{
	struct {
		struct vmprof_hello h;
		uint32_t error;
	} m = { { .version = VMPROF_PROTO_VERSION, .compat = VMPROF_PROTO_COMPAT,
		  .flags = VMPROF_HELLO_NO_MODULE | flags, .nr_cpus = 2, .tsc = tsc + g->offset }, error };

	memset(m.h.boot_id, boot, sizeof(m.h.boot_id));
	gen_frame(g, VMPROF_MSG_HELLO, &m.h, sizeof(m.h), &m.error, sizeof(m.error));
}

static inline struct vmprof_proc gen_proc_of(struct gen *g, uint64_t tsc, uint64_t cr3, uint32_t pid,
					     uint32_t tgid, uint32_t ppid, uint32_t flags, const char *comm)
{
	struct vmprof_proc p = {
		.tsc = tsc + g->offset, .cr3 = cr3, .pid = pid, .tgid = tgid, .ppid = ppid, .flags = flags,
	};

	memcpy(p.comm, comm, strlen(comm) < 15 ? strlen(comm) : 15);
	return p;
}

static inline void gen_proc(struct gen *g, unsigned type, uint64_t tsc, uint64_t cr3, uint32_t pid,
			    uint32_t ppid, uint32_t flags, const char *comm)
{
	struct vmprof_proc p = gen_proc_of(g, tsc, cr3, pid, pid, ppid, flags, comm);

	gen_frame(g, type, &p, sizeof(p), NULL, 0);
}

/* PROC, FORK or EXEC with where the process is; 0 and "" what is not told */
static inline void gen_proc_in(struct gen *g, unsigned type, uint64_t tsc, uint64_t cr3, uint32_t pid,
			       uint32_t ppid, uint32_t flags, const char *comm, uint32_t nspid, const char *cgroup)
{
	struct {
		struct vmprof_proc p;
		struct vmprof_place place;
	} m = { gen_proc_of(g, tsc, cr3, pid, pid, ppid, flags, comm), { nspid, (uint32_t)strlen(cgroup) } };

	gen_frame(g, type, &m, sizeof(m), cgroup, strlen(cgroup));
}

static inline size_t gen_map_bytes(struct gen *g, uint8_t *buf, uint64_t tsc, uint64_t cr3, uint32_t tgid,
				   uint64_t start, uint64_t end, uint64_t pgoff, uint64_t ino,
				   const char *path)
{
	struct vmprof_map m = {
		.tsc = tsc + g->offset, .cr3 = cr3, .start = start, .end = end, .pgoff = pgoff,
		.ino = ino, .dev_major = 8, .dev_minor = 1, .tgid = tgid, .prot = 5,
		.flags = *path ? 0 : VMPROF_MAP_ANON, .path_len = (uint32_t)strlen(path),
	};

	memcpy(buf, &m, sizeof(m));
	memcpy(buf + sizeof(m), path, strlen(path));
	return sizeof(m) + strlen(path);
}

static inline void gen_map(struct gen *g, uint64_t tsc, uint64_t cr3, uint32_t tgid, uint64_t start,
			   uint64_t end, uint64_t pgoff, uint64_t ino, const char *path)
{
	uint8_t buf[8192];
	size_t len = gen_map_bytes(g, buf, tsc, cr3, tgid, start, end, pgoff, ino, path);

	gen_frame(g, VMPROF_MSG_MAP, buf, len, NULL, 0);
}

/* The last thread's exit with one map, "" none */
static inline void gen_exit(struct gen *g, uint64_t tsc, uint64_t cr3, uint32_t pid, const char *comm,
			    uint64_t start, uint64_t end, uint64_t ino, const char *path)
{
	struct vmprof_proc p = gen_proc_of(g, tsc, cr3, pid, pid, 1, VMPROF_PROC_LAST, comm);
	uint8_t buf[8192] = { 0 };
	size_t len = 0;

	if (*path) {
		p.nr_maps = 1;
		len = gen_map_bytes(g, buf, tsc, cr3, pid, start, end, 0, ino, path);
		len = (len + 7) & ~7UL;
	}
	gen_frame(g, VMPROF_MSG_EXIT, &p, sizeof(p), buf, len);
}

static inline void gen_file(struct gen *g, uint32_t file, uint64_t ino, uint64_t bytes,
			    const uint8_t *build_id, uint32_t build_id_len, const char *path)
{
	struct vmprof_file f = {
		.file = file, .ino = ino, .dev_major = 8, .dev_minor = 1, .bytes = bytes,
		.build_id_len = build_id_len, .path_len = (uint32_t)strlen(path),
	};

	if (build_id_len)
		memcpy(f.build_id, build_id, build_id_len);
	gen_frame(g, VMPROF_MSG_FILE, &f, sizeof(f), path, strlen(path));
}

/* The file is another one since the mapping of @since; told in full bytes, as the daemon does, or cut */
static inline void gen_file_since(struct gen *g, uint32_t file, uint64_t ino, uint64_t bytes, uint64_t since, const char *path)
{
	struct vmprof_file f = {
		.file = file, .ino = ino, .dev_major = 8, .dev_minor = 1, .bytes = bytes,
		.path_len = (uint32_t)strlen(path),
	};
	char tail[256];
	const uint64_t tsc = since ? since + g->offset : 0;

	memcpy(tail, path, strlen(path));
	memcpy(tail + strlen(path), &tsc, sizeof(tsc));
	gen_frame(g, VMPROF_MSG_FILE, &f, sizeof(f), tail, strlen(path) + sizeof(tsc));
}

static inline void gen_ksyms(struct gen *g, const char *text)
{
	struct vmprof_ksyms k = { .total = strlen(text) };

	gen_frame(g, VMPROF_MSG_KSYMS, &k, sizeof(k), text, strlen(text));
}

/* The symbols before this were true up to @since, the next ones are from @tsc on */
static inline void gen_modules(struct gen *g, uint64_t since, uint64_t tsc)
{
	struct vmprof_modules m = { .tsc = tsc + g->offset, .since_tsc = since + g->offset };

	gen_frame(g, VMPROF_MSG_MODULES, &m, sizeof(m), NULL, 0);
}

/* Of the program whose MAP had @tsc; the lines were not there yet @after << VMPROF_JITMAP_AFTER_SHIFT later */
static inline void gen_jitmap_after(struct gen *g, uint64_t tsc, uint32_t tgid, uint32_t after, const char *text)
{
	struct vmprof_jitmap j = { .tsc = tsc + g->offset, .tgid = tgid, .after = after };

	gen_frame(g, VMPROF_MSG_JITMAP, &j, sizeof(j), text, strlen(text));
}

static inline void gen_jitmap(struct gen *g, uint64_t tsc, uint32_t tgid, const char *text)
{
	gen_jitmap_after(g, tsc, tgid, 0, text);
}

/* The guest tells where it keeps its tasks; what matters to a reader is when */
static inline void gen_tasks(struct gen *g, uint64_t tsc, uint32_t lack)
{
	struct vmprof_task_layout t = { .tsc = tsc + g->offset, .lack = lack };

	gen_frame(g, VMPROF_MSG_TASKS, &t, sizeof(t), NULL, 0);
}

/* -------------------------------------------------------------- records */

static inline void gen_record(struct gen *g, const void *rec, size_t len)
{
	assert_true(g->records_len + len <= sizeof(g->records));
	memcpy(g->records + g->records_len, rec, len);
	g->records_len += len;
}

static inline void gen_records_flush(struct gen *g, uint32_t pcpu, uint64_t first, uint64_t last)
{
	assert_int_equal(vmp_writer_block(g->w, VMPROF_CAP_RECORDS, pcpu, g->records, g->records_len,
					  first, last), 0);
	g->records_len = 0;
}

static inline void gen_clock_at(struct gen *g, uint32_t vm, uint32_t vcpu, uint64_t tsc, uint64_t offset)
{
	struct vmprof_rec_clock c = {
		.hdr = { VMPROF_REC_CLOCK, sizeof(c), 0 }, .tsc = tsc, .vm = vm, .vcpu = vcpu,
		.tsc_offset = (int64_t)offset,
	};

	gen_record(g, &c, sizeof(c));
}

static inline void gen_clock(struct gen *g, uint32_t vm)
{
	gen_clock_at(g, vm, 0, 1000, GEN_OFFSET);
}

/* A sample in the guest, of which nobody told whose thread it is */
static inline struct vmprof_sample gen_guest_sample(uint32_t vm, uint64_t tsc, uint64_t cr3, uint8_t cpl,
						    uint64_t ip)
{
	return (struct vmprof_sample){
		.hdr = { VMPROF_REC_SAMPLE, sizeof(struct vmprof_sample), 0 }, .tsc = tsc, .host_pid = vm,
		.host_tid = vm + 1, .vm = vm, .vcpu_tid = vm + 1,
		.flags = VMPROF_SF_VCPU | VMPROF_SF_LONG_MODE | VMPROF_SF_IRQ_NMI,
		.mode = VMPROF_MODE_GUEST, .cpl = cpl, .vendor = VMPROF_VENDOR_SVM,
		.guest_ip = ip, .guest_cr3 = cr3, .exit_reason = 0x61,
	};
}

/* @n of them, one tick apart */
static inline void gen_guest(struct gen *g, uint32_t vm, uint64_t tsc, uint64_t cr3, uint8_t cpl,
			     uint64_t ip, unsigned n)
{
	struct vmprof_sample s = gen_guest_sample(vm, tsc, cr3, cpl, ip);

	for (; n; n--, s.tsc++)
		gen_record(g, &s, sizeof(s));
}

/* What the driver knows of a thread, for the samples behind it */
static inline void gen_task(struct gen *g, uint32_t vm, uint32_t pcpu, uint64_t tsc, uint32_t tid,
			    uint32_t tgid, uint32_t flags, const char *comm)
{
	struct vmprof_rec_task t = {
		.hdr = { VMPROF_REC_TASK, sizeof(t), pcpu }, .tsc = tsc, .vm = vm, .tid = tid, .tgid = tgid,
		.flags = flags,
	};

	memcpy(t.comm, comm, strlen(comm) < 15 ? strlen(comm) : 15);
	gen_record(g, &t, sizeof(t));
}

/* A sample of a thread that a TASK record told of */
static inline void gen_thread(struct gen *g, uint32_t vm, uint64_t tsc, uint64_t cr3, uint8_t cpl,
			      uint64_t ip, uint32_t tid)
{
	struct vmprof_sample s = gen_guest_sample(vm, tsc, cr3, cpl, ip);

	s.guest_task = VMPROF_TASK_KNOWN;
	s.guest_tid = tid;
	gen_record(g, &s, sizeof(s));
}

static inline void gen_host(struct gen *g, uint32_t vm, uint64_t tsc, uint8_t mode, uint32_t flags,
			    uint64_t exit_reason, uint64_t ip, unsigned n)
{
	struct vmprof_sample s = {
		.hdr = { VMPROF_REC_SAMPLE, sizeof(s), 0 }, .tsc = tsc, .host_ip = ip,
		.host_pid = mode <= VMPROF_MODE_VMM_USER ? vm : 77, .host_tid = vm + 1, .vm = vm,
		.vcpu_tid = vm + 1, .flags = flags, .mode = mode, .vendor = VMPROF_VENDOR_SVM,
		.exit_reason = exit_reason,
	};

	for (; n; n--, s.tsc++)
		gen_record(g, &s, sizeof(s));
}

static inline void gen_end(struct gen *g)
{
	assert_int_equal(vmp_writer_close(g->w), 0);
	g->w = NULL;
}

/* --------------------------------------------------------------- outputs */

static inline void gen_says(const char *output, const char *text)
{
	if (!strstr(output, text))
		fail_msg("'%s' is not in:\n%s", text, output);
}

static inline void gen_says_not(const char *output, const char *text)
{
	if (strstr(output, text))
		fail_msg("'%s' is in:\n%s", text, output);
}

/* ---------------------------------------------------------------- files */

/* A folder of the test's own, removed by gen_rmdir() */
static inline char *gen_dir(void)
{
	static char dir[64];

	strcpy(dir, "/tmp/vmprof-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	return dir;
}

static inline void gen_rmdir(const char *dir)
{
	char cmd[256];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	assert_int_equal(system(cmd), 0);
}

static inline uint8_t *gen_read(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	uint8_t *buf;

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	*len = (size_t)ftell(f);
	rewind(f);
	buf = malloc(*len + 1);
	assert_non_null(buf);
	assert_int_equal(fread(buf, 1, *len, f), *len);
	fclose(f);
	return buf;
}

static inline void gen_write(const char *path, const void *data, size_t len)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

#endif
