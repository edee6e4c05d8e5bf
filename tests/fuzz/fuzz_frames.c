// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz_frames.c - what an agent tells, in a capture, up to the report.
 *
 * The first byte: what tells rows apart.  Then items: a kind from 0x80 on is a message of the
 * agent, in a frame with the right checksum; 1 is a sample in the guest; 2 a thread, as the guest's
 * memory tells; any other begins a new block.
 */
#include <endian.h>
#include <stdio.h>
#include <vmprof/uapi.h>

#include "frame.h"
#include "model/model.h"
#include "model/needed.h"
#include "report/profile.h"
#include "report/render.h"
#include "items.h"

#define VM	1000U
#define BLOCK	(1U << 20)

static uint8_t frames[BLOCK], records[BLOCK];
static size_t frames_len, records_len;

static void flush_blocks(int fd)
{
	if (frames_len)
		put_block(fd, VMPROF_CAP_AGENT, VM, frames, frames_len);
	if (records_len)
		put_block(fd, VMPROF_CAP_RECORDS, 0, records, records_len);
	frames_len = records_len = 0;
}

static void put_message(const struct item *item, uint32_t seq)
{
	struct vmprof_frame f;

	if (frames_len + sizeof(f) + item->len > BLOCK || vmp_frame_build(&f, (uint16_t)item->kind, seq, item->p, item->len))
		return;
	memcpy(frames + frames_len, &f, sizeof(f));
	memcpy(frames + frames_len + sizeof(f), item->p, item->len);
	frames_len += sizeof(f) + item->len;
}

static void put_record(const void *rec, size_t len)
{
	if (records_len + len > BLOCK)
		return;
	memcpy(records + records_len, rec, len);
	records_len += len;
}

/* Where, when, in which address space, at which level, of which thread */
static void put_sample(const struct item *item)
{
	const struct vmprof_sample s = {
		.hdr = { VMPROF_REC_SAMPLE, sizeof(s), 0 }, .guest_ip = item_number(item, 0, 8), .tsc = item_number(item, 8, 8),
		.guest_cr3 = item_number(item, 16, 8), .cpl = (uint8_t)item_number(item, 24, 1),
		.guest_tid = (uint32_t)item_number(item, 25, 4), .guest_task = (uint8_t)item_number(item, 29, 1),
		.host_pid = VM, .host_tid = VM + 1, .vm = VM, .vcpu_tid = VM + 1, .mode = VMPROF_MODE_GUEST,
		.flags = VMPROF_SF_VCPU | VMPROF_SF_LONG_MODE | VMPROF_SF_IRQ_NMI, .vendor = VMPROF_VENDOR_SVM, .exit_reason = 0x61,
	};

	put_record(&s, sizeof(s));
}

/* When, which thread of which process, its flags and name */
static void put_task(const struct item *item)
{
	struct vmprof_rec_task t = {
		.hdr = { VMPROF_REC_TASK, sizeof(t), 0 }, .tsc = item_number(item, 0, 8), .vm = VM,
		.tid = (uint32_t)item_number(item, 8, 4), .tgid = (uint32_t)item_number(item, 12, 4),
		.flags = (uint32_t)item_number(item, 16, 4),
	};

	if (item->len > 20)
		memcpy(t.comm, item->p + 20, item->len - 20 < sizeof(t.comm) ? item->len - 20 : sizeof(t.comm));
	put_record(&t, sizeof(t));
}

static void put_capture(int fd, const uint8_t *data, size_t size)
{
	static const char meta[] = "{\"host\":\"h\",\"vendor\":\"svm\",\"event\":\"cycles\",\"period\":1000000,\"cpus\":1}";
	static const char vm[] = "{\"name\":\"g\",\"uuid\":\"u-1\",\"pid\":1000,\"agent\":true,\"vcpus\":[{\"id\":0,\"tid\":1001}]}";
	const struct vmprof_cap_clock clock = { .host_tsc = htole64(1000), .offset = htole64(5000000) };
	struct item item;
	uint32_t seq = 0;

	put_header(fd);
	put_block(fd, VMPROF_CAP_META, 0, meta, sizeof(meta) - 1);
	put_block(fd, VMPROF_CAP_VM, VM, vm, sizeof(vm) - 1);
	put_block(fd, VMPROF_CAP_CLOCK, VM, &clock, sizeof(clock));
	while (next_item(&data, &size, &item)) {
		if (item.kind >= 0x80)
			put_message(&item, seq++);
		else if (item.kind == 1)
			put_sample(&item);
		else if (item.kind == 2)
			put_task(&item);
		else
			flush_blocks(fd);
	}
	flush_blocks(fd);
}

static int on_needed(void *arg, const struct vmp_needed *n)
{
	(void)arg;
	if (strncmp(n->key, "u-1/", 4) || n->build_id_len > VMPROF_BUILD_ID_MAX || !n->path)
		abort();
	return 0;
}

/* No byte of the guest reaches the terminal */
static void check(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (((unsigned char)text[i] < ' ' && text[i] != '\n') || text[i] == 0x7f)
			abort();
}

static void report(const char *path, uint32_t by)
{
	struct vmp_options o = { .by = by, .vcpu = -1, .pid = -1, .all_host = 1 };
	struct vmp_render r = { .path = path };
	struct vmp_profile *p;
	struct vmp_model *m;
	char *text = NULL;
	size_t len;
	FILE *out;

	if (vmp_model_open(&m, path))
		return;
	if (!vmp_profile_create(&p, m, &o)) {
		out = open_memstream(&text, &len);
		vmp_render_text(out, p, &o, &r);
		fclose(out);
		check(text, len);
		free(text);
		vmp_profile_destroy(p);
	}
	vmp_model_close(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t by[] = { VMP_BY_FUNCTION, VMP_BY_PROCESS, VMP_BY_MODULE, VMP_BY_VCPU, VMP_BY_EXIT };
	char path[PATH_BYTES];
	int fd;

	if (!size)
		return 0;
	fd = new_capture(path);
	setenv("VMPROF_THREADS", "1", 1);
	put_capture(fd, data + 1, size - 1);
	report(path, by[data[0] % (sizeof(by) / sizeof(by[0]))]);
	vmp_needed_objects(path, 0, on_needed, NULL);
	close(fd);
	return 0;
}
