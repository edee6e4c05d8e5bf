// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz_capture.c - a whole capture from reader to report, exports and blocks.
 *
 * First byte 0: what follows is a file as it is.  Otherwise what follows is
 * a list of blocks (type u8, source u8, length u16, payload) that get right
 * checksums, so that the parsers behind them are reached.
 */
#include <stdio.h>

#include "blocks/about.h"
#include "blocks/loops.h"
#include "blocks/timeline.h"
#include "export/format.h"
#include "html/page.h"
#include "model/needed.h"
#include "report/profile.h"
#include "report/render.h"
#include "items.h"

static void put_blocks(int fd, const uint8_t *p, size_t left)
{
	put_header(fd);
	while (left >= 4) {
		size_t len = p[2] | (size_t)p[3] << 8;

		left -= 4;
		if (len > left)
			len = left;
		put_block(fd, p[0], p[1], p + 4, len);
		p += 4 + len;
		left -= len;
	}
}

static int on_needed(void *arg, const struct vmp_needed *n)
{
	(void)arg;
	if ((!n->file && !n->build_id_len) || n->build_id_len > 32 || !strchr(n->key, '/') || !n->path)
		abort();
	return 0;
}

static void report(const char *path, uint32_t by)
{
	struct vmp_options o = { .by = by, .vcpu = -1, .pid = -1, .all_host = 1 };
	struct vmp_render r = { .path = path };
	struct vmp_profile *p;
	struct vmp_model *m;
	FILE *out;

	if (vmp_model_open(&m, path))
		return;
	if (!vmp_profile_create(&p, m, &o)) {
		out = fopen("/dev/null", "w");
		vmp_render_text(out, p, &o, &r);
		vmp_render_json(out, p, &o, &r);
		fclose(out);
		vmp_profile_destroy(p);
	}
	vmp_model_close(m);
}

static void export(const char *path, unsigned int format)
{
	struct vmp_choice c = {
		.vcpu = -1, .pid = -1, .all_host = 1, .threads = 1,
		.samples = !!(vmp_format_at(format)->flags & VMP_FORMAT_SAMPLES),
	};
	struct vmp_format_options o = { .indent = 0 };
	struct vmp_table *t;
	struct vmp_model *m;
	FILE *out;

	if (vmp_model_open(&m, path))
		return;
	if (!vmp_table_create(&t, m, &c)) {
		out = fopen("/dev/null", "w");
		if (vmp_format_at(format)->write)
			vmp_format_at(format)->write(out, t, &o);
		fclose(out);
		vmp_table_destroy(t);
	}
	vmp_model_close(m);
}

/* The page's data: whatever the capture, no character that could end its script element */
static void page(const char *path)
{
	struct vmp_page *p;
	struct vmp_model *m;
	size_t len, i;
	char *data;
	FILE *out;

	if (vmp_model_open(&m, path))
		return;
	if (!vmp_page_create(&p, m, NULL)) {
		out = open_memstream(&data, &len);
		vmp_page_data(out, p, path);
		fclose(out);
		for (i = 0; i < len; i++)
			if (data[i] == '<' || data[i] == '>' || data[i] == '&')
				abort();
		free(data);
		vmp_page_destroy(p);
	}
	vmp_model_close(m);
}

/* All that is made of branches, printed; samples are kept for the second pass, or read again */
static void blocks(const char *path, int keeps)
{
	const struct vmp_set_choice choice = { .vcpu = -1, .pid = -1, .keep_bytes = keeps ? VMP_KEEP_BYTES : 0 };
	const struct vmp_timeline_choice time = { .to_tsc = UINT64_MAX, .limit = 1000 };
	const struct vmp_look look = { 0 };
	struct vmp_timeline *timeline = NULL;
	struct vmp_estimates *e = NULL;
	struct vmp_measure *measure = NULL;
	struct vmp_loops *loops = NULL;
	struct vmp_set *set = NULL;
	struct vmp_model *m;
	FILE *out;

	if (vmp_model_open(&m, path))
		return;
	if (!vmp_set_create(&set, m, &choice) && !vmp_measure_create(&measure, set) &&
	    !vmp_estimate_create(&e, measure, 1) && !vmp_loops_create(&loops, set, e) &&
	    !vmp_timeline_create(&timeline, set, e, &time)) {
		out = fopen("/dev/null", "w");
		vmp_about_notes(out, set, e);
		vmp_timeline_text(out, set, timeline, &look);
		vmp_timeline_trace(out, set, timeline);
		fclose(out);
	}
	vmp_timeline_destroy(timeline);
	vmp_loops_destroy(loops);
	vmp_estimate_destroy(e);
	vmp_measure_destroy(measure);
	vmp_set_destroy(set);
	vmp_model_close(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t by[] = { VMP_BY_FUNCTION, VMP_BY_PROCESS, VMP_BY_MODULE, VMP_BY_VCPU, VMP_BY_EXIT };
	unsigned int formats = 0;
	char path[PATH_BYTES];
	int fd;

	if (!size)
		return 0;
	fd = new_capture(path);
	setenv("VMPROF_THREADS", size & 2 ? "2" : "1", 1);	/* threads are slow here */
	if (data[0])
		put_blocks(fd, data + 1, size - 1);
	else
		put(fd, data + 1, size - 1);
	report(path, by[data[0] % (sizeof(by) / sizeof(by[0]))]);
	while (vmp_format_at(formats))
		formats++;
	export(path, (unsigned int)(data[0] + size) % formats);
	page(path);
	blocks(path, size & 1);
	vmp_needed_objects(path, 0, on_needed, NULL);
	close(fd);
	return 0;
}
