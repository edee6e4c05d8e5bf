// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_tasks.c - whose a guest's sample is, by its CR3 and by the task that the driver read:
 * threads, kernel threads on a borrowed CR3, two that contradict, what could not be read,
 * and what was read before this boot had told where to look.
 */
#include "profiled.h"

#include <json-c/json.h>

#include "report/choose.h"
#include "report/render.h"

#define CR3_A	0x5000000ULL
#define CR3_B	0x6000000ULL
#define CR3_NEW	0x7000000ULL

static struct vmp_options options;
static struct vmp_render rendering;

/* @n samples of a guest's task */
static void sample(uint32_t pcpu, uint64_t tsc, uint64_t cr3, uint8_t cpl, enum vmprof_guest_task task,
		   uint32_t tid, unsigned int n)
{
	struct vmprof_sample s = gen_guest_sample(GEN_VM, tsc, cr3, cpl, cpl == 3 ? 0x401000 : GEN_KERNEL + 0x10);

	s.hdr.pcpu = pcpu;
	s.guest_task = task;
	s.guest_tid = tid;
	for (; n; n--)
		gen_record(&g, &s, sizeof(s));
}

static void known(uint64_t tsc, uint64_t cr3, uint8_t cpl, uint32_t tid, unsigned int n)
{
	sample(0, tsc, cr3, cpl, VMPROF_TASK_KNOWN, tid, n);
}

static void begin(const char *tasks)
{
	char json[256];

	gen_begin(&g, path);
	snprintf(json, sizeof(json), "{\"name\":\"web01\",\"uuid\":\"u\",\"pid\":1000,\"tasks\":\"%s\","
		 "\"vcpus\":[{\"id\":0,\"tid\":1001}],\"agent\":true}", tasks);
	gen_text(&g, VMPROF_CAP_VM, GEN_VM, json);
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	gen_ksyms(&g, "ffffffff81000000 T do_io\nffffffff81001000 T end\n");
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "app");
	gen_map(&g, 1600, CR3_A, 10, 0x400000, 0x500000, 0, 100, "/usr/bin/app");
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_B, 20, 1, 0, "other");
}

static void end(void)
{
	gen_agent_flush(&g, GEN_VM, 0);
	gen_records_flush(&g, 0, 2000, 3000);
	profiled_load();
}

/* Two threads, a kernel thread and idle tasks that borrow the CR3 of "app" */
static void write_threads(void)
{
	begin("on");
	gen_tasks(&g, 1700, 0);
	gen_task(&g, GEN_VM, 0, 2000, 10, 10, 0, "app");
	known(2000, CR3_A, 3, 10, 10);
	gen_task(&g, GEN_VM, 0, 2001, 11, 10, 0, "worker-a");
	known(2001, CR3_A, 3, 11, 30);
	known(2002, CR3_A, 0, 11, 4);
	gen_task(&g, GEN_VM, 0, 2003, 37, 37, VMPROF_TASK_KTHREAD, "kworker/0:1");
	known(2003, CR3_A, 0, 37, 20);
	gen_task(&g, GEN_VM, 0, 2004, 0, 0, VMPROF_TASK_KTHREAD, "swapper/0");
	known(2004, CR3_A, 0, 0, 5);
	gen_task(&g, GEN_VM, 1, 2004, 0, 0, VMPROF_TASK_KTHREAD, "swapper/1");
	sample(1, 2005, CR3_B, 0, VMPROF_TASK_KNOWN, 0, 2);
	end();
}

static void group(const char *keys)
{
	const struct vmp_wishes w = { .group_by = keys };
	uint32_t i;

	options = (struct vmp_options){ .vcpu = -1, .pid = -1 };
	rendering = (struct vmp_render){ .path = path };
	assert_int_equal(vmp_choose(&w, &options, &rendering), 0);
	profiled_make(&options);
	for (i = 0; i < profile->domains.nr; i++)
		assert_int_equal(profile->domains.v[i].total, vmp_guest_samples(&profile->domains.v[i]));
}

static const struct vmp_domain *domain(void)
{
	return &profile->domains.v[0];
}

/* Samples of the row of a process (and thread, NULL any), 0 none */
static uint64_t samples_of(const char *comm, const char *thread)
{
	uint64_t n = 0;
	uint32_t i;
	char buf[64];

	for (i = 0; i < domain()->rows.nr; i++) {
		const struct vmp_row *row = &domain()->rows.v[i];

		if (!strcmp(vmp_model_name(model, row->comm), comm) &&
		    (!thread || !strcmp(vmp_column_text(profile, domain(), row, VMP_COL_THREAD, buf), thread)))
			n += row->samples;
	}
	return n;
}

static void render(void (*fn)(FILE *, const struct vmp_profile *, const struct vmp_options *,
			      const struct vmp_render *))
{
	size_t len;
	FILE *f;

	free(output);
	f = open_memstream(&output, &len);
	assert_non_null(f);
	fn(f, profile, &options, &rendering);
	assert_int_equal(fclose(f), 0);
}

static void test_rows(void **state)
{
	(void)state;
	write_threads();
	group("process,pid");
	assert_int_equal(samples_of("app", NULL), 44);
	assert_int_equal(samples_of("[kworker/0:1]", NULL), 20);
	assert_int_equal(samples_of("swapper", NULL), 7);
	assert_int_equal(samples_of("other", NULL), 0);
	assert_int_equal(domain()->rows.nr, 3);
	assert_int_equal(domain()->rows.v[1].pid, 37);
	assert_int_equal(domain()->with_process, 71);
	assert_int_equal(domain()->who[VMP_WHO_SAME], 44);
	assert_int_equal(domain()->who[VMP_WHO_KTHREAD], 27);
}

static void test_thread_rows(void **state)
{
	(void)state;
	write_threads();
	group("process,thread");
	assert_int_equal(samples_of("app", "app 10"), 10);
	assert_int_equal(samples_of("app", "worker-a 11"), 34);
	assert_int_equal(samples_of("[kworker/0:1]", "[kworker/0:1] 37"), 20);
	assert_int_equal(samples_of("swapper", "swapper 0"), 7);
	assert_int_equal(domain()->rows.nr, 4);
}

static void test_pid(void **state)
{
	(void)state;
	write_threads();
	group("process");
	options.pid = 37;
	profiled_make(&options);
	assert_int_equal(domain()->shown, 20);
	options.pid = 10;
	profiled_make(&options);
	assert_int_equal(domain()->shown, 44);
}

static void test_notes(void **state)
{
	(void)state;
	write_threads();
	group("process");
	render(vmp_render_text);
	gen_says(output, "thread known of 100.00% of the guest samples; 27 (38.03%) of kernel threads");
	gen_says_not(output, "without thread");
	render(vmp_render_json);
	gen_says(output, "\"tasks\":{\"state\":\"on\",\"same\":44,\"kernel_thread\":27,\"task_only\":0,\"other\":0,");
}

/* In the middle of a switch, or after a lost event: the CR3 counts, and it is told */
static void test_contradiction(void **state)
{
	(void)state;
	begin("on");
	gen_tasks(&g, 1700, 0);
	gen_task(&g, GEN_VM, 0, 2000, 20, 20, 0, "other");
	known(2000, CR3_A, 0, 20, 3);
	known(2000, CR3_A, 3, 20, 2);
	/* a kernel thread runs no user code */
	gen_task(&g, GEN_VM, 0, 2001, 37, 37, VMPROF_TASK_KTHREAD, "kworker/0:1");
	known(2001, CR3_B, 3, 37, 1);
	end();
	group("process,thread");
	assert_int_equal(samples_of("app", "vCPU 0"), 5);
	assert_int_equal(samples_of("other", "vCPU 0"), 1);
	assert_int_equal(domain()->who[VMP_WHO_OTHER], 6);
	render(vmp_render_text);
	gen_says(output, "6 (100.00%) without thread: its process is not the CR3's, which counts");
}

/* Nobody told of the CR3: the process is known all the same, its mappings are not */
static void test_task_alone(void **state)
{
	(void)state;
	begin("on");
	gen_tasks(&g, 1700, 0);
	gen_task(&g, GEN_VM, 0, 2000, 91, 90, 0, "late");
	known(2000, CR3_NEW, 3, 91, 3);
	known(2000, CR3_NEW, 0, 91, 2);
	end();
	group("process,pid,function");
	assert_int_equal(samples_of("late", NULL), 5);
	assert_int_equal(domain()->rows.v[0].pid, 90);
	assert_int_equal(domain()->who[VMP_WHO_TASK], 5);
	assert_int_equal(domain()->with_function, 2);
}

static void test_causes(void **state)
{
	(void)state;
	begin("on");
	gen_tasks(&g, 1700, 0);
	sample(0, 2000, CR3_A, 3, VMPROF_TASK_NO_CPU, 0, 1);
	sample(0, 2000, CR3_A, 3, VMPROF_TASK_NO_READ, 0, 2);
	sample(0, 2000, CR3_A, 3, VMPROF_TASK_OUTSIDE, 0, 3);
	sample(0, 2000, CR3_A, 3, VMPROF_TASK_NO_TASK, 0, 4);
	known(2000, CR3_A, 3, 10, 5);			/* its record is missing ... */
	gen_task(&g, GEN_VM, 0, 2001, 10, 10, 0, "app");
	sample(1, 2002, CR3_A, 3, VMPROF_TASK_KNOWN, 10, 6);	/* ... or another pCPU's */
	sample(0, 2002, CR3_A, 3, (enum vmprof_guest_task)200, 0, 7);
	end();
	group("process");
	assert_int_equal(samples_of("app", NULL), 28);
	assert_int_equal(domain()->who[VMP_WHO_NO_CPU], 1);
	assert_int_equal(domain()->who[VMP_WHO_NO_READ], 2);
	assert_int_equal(domain()->who[VMP_WHO_OUTSIDE], 3);
	assert_int_equal(domain()->who[VMP_WHO_NO_TASK], 11);
	assert_int_equal(domain()->who[VMP_WHO_NO_RECORD], 11);
	render(vmp_render_text);
	gen_says(output, "2 (7.14%) without thread: its memory was not there at that moment");
}

/* A name that changes, and a number that is used again: each sample has what held then */
static void test_renamed(void **state)
{
	(void)state;
	begin("on");
	gen_tasks(&g, 1700, 0);
	gen_task(&g, GEN_VM, 0, 2000, 11, 10, 0, "first");
	known(2000, CR3_A, 3, 11, 2);
	gen_task(&g, GEN_VM, 0, 2100, 11, 10, 0, "second");
	known(2100, CR3_A, 3, 11, 3);
	end();
	group("thread");
	assert_int_equal(samples_of("-", "first 11") + samples_of("", "first 11"), 2);
	assert_int_equal(samples_of("-", "second 11") + samples_of("", "second 11"), 3);
}

/* What another boot left in memory is not believed before this one has told */
static void test_before_told(void **state)
{
	(void)state;
	begin("on");
	gen_tasks(&g, 2500, 0);
	gen_task(&g, GEN_VM, 0, 2000, 37, 37, VMPROF_TASK_KTHREAD, "kworker/0:1");
	known(2000, CR3_A, 0, 37, 3);
	known(2600, CR3_A, 0, 37, 4);
	end();
	group("process");
	assert_int_equal(samples_of("app", NULL), 3);
	assert_int_equal(samples_of("[kworker/0:1]", NULL), 4);
	assert_int_equal(domain()->who[VMP_WHO_OFF], 0);
	assert_int_equal(domain()->who[VMP_WHO_UNTOLD], 3);
	render(vmp_render_text);
	gen_says(output, "3 (42.86%) without thread: the capture does not have, or only from later on, where this boot's kernel keeps it");
}

/* The driver looked, but the guest's word of where did not get into the capture: said, not "off" */
static void test_not_kept(void **state)
{
	(void)state;
	begin("on");
	gen_task(&g, GEN_VM, 0, 2000, 37, 37, VMPROF_TASK_KTHREAD, "kworker/0:1");
	known(2000, CR3_A, 0, 37, 3);
	end();
	group("process");
	assert_int_equal(samples_of("app", NULL), 3);
	render(vmp_render_text);
	gen_says(output, "threads are not told apart, its kernel's are shown with other processes: the capture does not have");
	render(vmp_render_json);
	gen_says(output, "\"untold\":3,\"records_over\":0,\"off\":0");
}

/* Not looked for during a part of the session, or all of it: each has its reason */
static void test_partly_off(void **state)
{
	(void)state;
	begin("not-kept");
	gen_tasks(&g, 1700, 0);
	gen_task(&g, GEN_VM, 0, 2000, 10, 10, 0, "app");
	known(2000, CR3_A, 3, 10, 3);
	sample(0, 2500, CR3_A, 3, VMPROF_TASK_OFF, 0, 1);
	end();
	group("process");
	assert_int_equal(domain()->who[VMP_WHO_OFF], 1);
	render(vmp_render_text);
	gen_says(output, "1 (25.00%) without thread: where its kernel keeps them was told, but not kept");
}

static void test_never_looked(void **state)
{
	(void)state;
	begin("on");
	sample(0, 2500, CR3_A, 3, VMPROF_TASK_OFF, 0, 1);
	end();
	group("process");
	render(vmp_render_text);
	gen_says(output, "threads are not told apart, its kernel's are shown with other processes: it was not looked for");
}

/* Told that it cannot be, or not told: as without all this, and it is said */
static void test_off(void **state)
{
	(void)state;
	begin("encrypted");
	gen_tasks(&g, 1700, VMPROF_TASKS_LACK_ENCRYPTED);
	known(2000, CR3_A, 0, 37, 3);
	end();
	group("process");
	assert_int_equal(samples_of("app", NULL), 3);
	render(vmp_render_text);
	gen_says(output, "threads are not told apart, its kernel's are shown with other processes: its memory is encrypted");
	render(vmp_render_json);
	gen_says(output, "\"tasks\":{\"state\":\"encrypted\"");
}

/* More records than are kept: counted, and the samples are of nobody's thread */
static void test_flood(void **state)
{
	struct vmprof_rec_task t = { .hdr = { VMPROF_REC_TASK, sizeof(t), 0 }, .tgid = 1, .comm = "x" };
	struct vmp_strings strings;
	struct vmp_seen seen = { 0 };
	uint32_t i;

	(void)state;
	assert_int_equal(vmp_strings_init(&strings), 0);
	for (i = 0; i < VMP_SEEN_MAX + 7; i++) {
		t.tid = i % 4096;
		t.tsc = i;
		assert_int_equal(vmp_seen_add(&seen, &strings, &t), 0);
	}
	assert_int_equal(seen.over, 7);
	assert_int_equal(seen.tasks.nr, 4096);
	vmp_seen_free(&seen);
	vmp_strings_deinit(&strings);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, profiled_set_up, profiled_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(test_rows), EACH(test_thread_rows), EACH(test_pid), EACH(test_notes),
		EACH(test_contradiction), EACH(test_task_alone), EACH(test_causes), EACH(test_renamed),
		EACH(test_before_told), EACH(test_not_kept),
		EACH(test_partly_off), EACH(test_never_looked), EACH(test_off), cmocka_unit_test(test_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
