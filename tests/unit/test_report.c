// SPDX-License-Identifier: GPL-2.0-only
/* test_report.c - totals, rows, filters, exit names, and that no foreign byte reaches the terminal. */
#include "profiled.h"

#include <json-c/json.h>
#include <locale.h>

#include "capture/block.h"
#include "report/exits.h"
#include "report/render.h"

#define CR3_A	0x5000000ULL
#define CR3_B	0x6000000ULL

static struct vmp_options options;

/* Two VMs; web01: 10 kernel, 20 user (5 of pid 20), 4 + 2 VMM, 8 steal; others 3 */
static void write_capture(const char *comm)
{
	gen_begin(&g, path);
	gen_vm(&g, GEN_VM, "web01");
	gen_vm(&g, 2000, "web02");
	gen_text(&g, VMPROF_CAP_HOST_KSYMS, 0,
		 "ffffffff90000000 T svm_vcpu_run\t[kvm_amd]\nffffffff90000100 T kvm_io\t[kvm]\n"
		 "ffffffff91000000 T schedule\nffffffff91001000 T end\n");
	gen_text(&g, VMPROF_CAP_HOST_COMMS, 0, "1000 1000 qemu-system-x86\n77 77 stress\n");
	gen_text(&g, VMPROF_CAP_HOST_MAPS, GEN_VM, "00400000-00500000 r-xp 00001000 08:01 55 /nonexistent/qemu bin\n");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	gen_ksyms(&g, "ffffffff81000000 T do_syscall_64\nffffffff81001000 T end\n");
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, comm);
	gen_map(&g, 1600, CR3_A, 10, 0x400000, 0x500000, 0, 100, "/usr/bin/app");
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_B, 20, 1, 0, "other");
	gen_agent_flush(&g, GEN_VM, 0);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 0, GEN_KERNEL, 10);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, 0x401000, 15);
	gen_guest(&g, GEN_VM, 2000, CR3_B, 3, 0x401000, 5);
	gen_host(&g, GEN_VM, 2000, VMPROF_MODE_VMM_KERNEL, VMPROF_SF_VCPU, 0x400, 0xffffffff90000010, 4);
	gen_host(&g, GEN_VM, 2000, VMPROF_MODE_VMM_USER, 0, 0, 0x401000, 2);
	gen_host(&g, GEN_VM, 2000, VMPROF_MODE_OTHER_USER, VMPROF_SF_STEAL, 0, 0x1000, 8);
	gen_host(&g, 0, 2000, VMPROF_MODE_OTHER_KERNEL, 0, 0, 0xffffffff91000010, 2);
	gen_host(&g, 0, 2000, VMPROF_MODE_IDLE, 0, 0, 0xffffffff91000010, 1);
	gen_records_flush(&g, 0, 2000, 1000002000);
}

static int setup(void **state)
{
	(void)state;
	profiled_setup();
	options = (struct vmp_options){ .vcpu = -1, .pid = -1 };
	write_capture("app");
	return 0;
}

static void run(void)
{
	profiled_make(&options);
}

static void render(void (*fn)(FILE *, const struct vmp_profile *, const struct vmp_options *,
			      const struct vmp_render *))
{
	struct vmp_render r = { .path = path };
	size_t len;
	FILE *f;

	free(output);
	f = open_memstream(&output, &len);
	fn(f, profile, &options, &r);
	fclose(f);
}

#define says(text)	gen_says(output, text)
#define says_not(text)	gen_says_not(output, text)

static void test_totals(void **state)
{
	const struct vmp_domain *d;

	(void)state;
	profiled_load();
	run();
	assert_int_equal(profile->domains.nr, 2);
	d = &profile->domains.v[0];
	assert_int_equal(d->side[VMP_SIDE_KERNEL], 10);
	assert_int_equal(d->side[VMP_SIDE_USER], 20);
	assert_int_equal(d->side[VMP_SIDE_VMM], 6);
	assert_int_equal(d->side[VMP_SIDE_STEAL], 8);
	assert_int_equal(d->total, 44);
	assert_int_equal(d->by_nmi, 30);
	assert_int_equal(d->with_process, 30);
	assert_int_equal(d->with_function, 10);
	assert_int_equal(profile->others, 3);
	assert_int_equal(profile->samples, 47);
	assert_int_equal(profile->domains.v[1].total, 0);
}

/* The host's own files that are not what ran are told of, in text and JSON */
static void test_other_builds(void **state)
{
	(void)state;
	gen_text(&g, VMPROF_CAP_HOST_BUILD_IDS, GEN_VM, "ab01 /nonexistent/qemu bin\n");
	profiled_load();
	run();
	render(vmp_render_text);
	says("1 of the host's own files is of another build now than when it ran, or gone: code there has no names");
	says("[qemu bin+0x2000 build-id ab01]");
	render(vmp_render_json);
	says("\"host_other_build\":1,\"sysroot\":{");
}

static void test_text(void **state)
{
	(void)state;
	profiled_load();
	run();
	render(vmp_render_text);
	says("Domain web01\nTotal samples: 44   OS:USER:steal = 22.73% : 45.45% : 18.18%   VMM: 13.64%\n");
	says("   Samples    %CPU  Function              Module     Process\n"
	     "        15   34.09  [app+0x1000]          app        app\n"
	     "        10   22.73  do_syscall_64         vmlinux    app\n"
	     "         8   18.18  [steal]               (outside)  -\n"
	     "         5   11.36  [unmapped user code]  [unknown]  other\n"
	     "         4    9.09  svm_vcpu_run          [kvm_amd]  [VMM]\n"
	     "         2    4.55  [qemu bin+0x2000]     qemu bin   [VMM]\n");
	says("Domain web02\nTotal samples: 0");
	says("No samples; vmprof doctor tells what a profile needs.");
	says("30 of 30 guest samples (100.00%) came by NMI");
	says("with process 100.00%, with function 33.33%, with both 33.33%");
	says("15 (50.00%) without function: the program's file is not in the object cache");
	says("3 samples of other host work");
	says_not("WARNING");
	says_not("no agent spoke");
}

static uint64_t shown(void)
{
	run();
	return profile->domains.v[0].shown;
}

static void test_filters(void **state)
{
	(void)state;
	profiled_load();
	options.pid = 20;
	assert_int_equal(shown(), 5);
	assert_int_equal(profile->domains.v[0].total, 44);	/* percentages stay those of the whole */
	options.pid = -1;
	options.comm = "app";
	assert_int_equal(shown(), 25);
	options.comm = "[[]VMM]";
	assert_int_equal(shown(), 6);
	options.comm = NULL;
	options.module = "vmlin*";
	assert_int_equal(shown(), 10);
	options.module = NULL;
	options.exit_reason = "npf";
	assert_int_equal(shown(), 4);
	options.exit_reason = "0x61";
	assert_int_equal(shown(), 30);
	options.exit_reason = NULL;
	options.vcpu = 0;
	assert_int_equal(shown(), 44);
	options.vcpu = 1;
	assert_int_equal(shown(), 0);
	render(vmp_render_text);
	says("No sample passes the filters");
	options.vcpu = -1;
	options.domain = "web*";
	run();
	assert_int_equal(profile->domains.nr, 2);
	options.domain = "db";
	run();
	assert_int_equal(profile->domains.nr, 0);
}

static const struct vmp_row *row(uint32_t i)
{
	assert_true(i < profile->domains.v[0].rows.nr);
	return &profile->domains.v[0].rows.v[i];
}

static const char *name(uint32_t str)
{
	return vmp_model_name(model, str);
}

static void test_groups(void **state)
{
	(void)state;
	profiled_load();
	options.by = VMP_BY_PROCESS;
	run();
	assert_int_equal(profile->domains.v[0].rows.nr, 4);
	assert_string_equal(name(row(0)->comm), "app");
	assert_int_equal(row(0)->pid, 10);
	assert_int_equal(row(0)->samples, 25);
	assert_string_equal(name(row(1)->comm), "[steal]");
	options.by = VMP_BY_EXIT;
	run();
	assert_string_equal(name(row(0)->cause), "(in guest)");
	assert_int_equal(row(0)->samples, 20);
	options.sort[0] = (struct vmp_sort){ VMP_COL_EXIT, 1 };
	options.nr_sort = 1;
	run();
	assert_string_equal(name(row(profile->domains.v[0].rows.nr - 1)->cause), "NPF");
	options.nr_sort = 0;
	options.by = VMP_BY_VCPU;
	run();
	assert_int_equal(profile->domains.v[0].rows.nr, 1);
	assert_int_equal(row(0)->track, 0);
	options.by = VMP_BY_MODULE;
	run();
	assert_string_equal(name(row(0)->module), "app");
	options.by = VMP_BY_FUNCTION;
	options.sort[0] = (struct vmp_sort){ VMP_COL_FUNCTION, 1 };
	options.nr_sort = 1;
	run();
	assert_true(strcmp(name(row(0)->function), name(row(1)->function)) <= 0);
	assert_true(strcmp(name(row(1)->function), name(row(2)->function)) <= 0);
	assert_true(strcmp(name(row(2)->function), name(row(3)->function)) <= 0);
}

static void test_all_host(void **state)
{
	(void)state;
	profiled_load();
	options.all_host = 1;
	run();
	assert_int_equal(profile->domains.nr, 3);
	assert_int_equal(profile->domains.v[2].vm, VMP_NONE);
	assert_int_equal(profile->domains.v[2].total, 3);
	render(vmp_render_text);
	says("schedule");
	says("stress");
}

static struct json_object *member(struct json_object *o, const char *key)
{
	struct json_object *v;

	if (!json_object_object_get_ex(o, key, &v))
		fail_msg("no member %s", key);
	return v;
}

static int64_t integer(struct json_object *o, const char *key)
{
	return json_object_get_int64(member(o, key));
}

static void test_json(void **state)
{
	struct json_object *o, *d, *rows;

	(void)state;
	profiled_load();
	run();
	render(vmp_render_json);
	o = json_tokener_parse(output);
	assert_non_null(o);
	assert_int_equal(integer(o, "layout"), 1);
	assert_int_equal(integer(member(o, "totals"), "guest_samples"), 30);
	assert_int_equal(integer(member(o, "totals"), "resolved_process"), 30);
	assert_int_equal(integer(member(o, "totals"), "resolved_function"), 10);
	assert_int_equal(integer(member(o, "totals"), "resolved"), 10);
	assert_int_equal(integer(member(o, "totals"), "samples"), 47);
	d = json_object_array_get_idx(member(o, "domains"), 0);
	assert_string_equal(json_object_get_string(member(d, "name")), "web01");
	assert_int_equal(integer(member(d, "unresolved"), "no_object"), 15);
	rows = member(d, "rows");
	assert_int_equal(integer(json_object_array_get_idx(rows, 0), "samples"), 15);
	assert_string_equal(json_object_get_string(member(json_object_array_get_idx(rows, 0), "function")),
			    "[app+0x1000]");
	json_object_put(o);
}

/* A guest that wants to write to our terminal */
static void test_hostile_names(void **state)
{
	const char *p;

	(void)state;
	gen_end(&g);
	write_capture("\033]0;x\007\x9b\xff\xc2\x9b\n\t\"");
	profiled_load();
	run();
	render(vmp_render_text);
	for (p = output; *p; p++)
		if (((unsigned char)*p < 0x20 && *p != '\n') || *p == 0x7f || (unsigned char)*p >= 0x80)
			fail_msg("byte 0x%02x reaches the terminal", (unsigned char)*p);
	says("\\x1b]0;x\\x07\\x9b\\xff\\xc2\\x9b\\x0a\\x09\"");
	options.by = VMP_BY_PROCESS;
	run();
	render(vmp_render_json);
	assert_non_null(strstr(output, "\\u001b"));
	for (p = output; *p; p++)
		if ((unsigned char)*p < 0x20 && *p != '\n')
			fail_msg("byte 0x%02x in JSON", (unsigned char)*p);
	json_object_put(json_tokener_parse(output));
}

/* The command that helps is one to paste. */
static void test_no_agent_note(void **state)
{
	(void)state;
	gen_vm(&g, 3000, "my $web");
	gen_guest(&g, 3000, 3000, CR3_A, 3, 0x401000, 1);
	gen_records_flush(&g, 0, 3000, 3001);
	profiled_load();
	run();
	render(vmp_render_text);
	says("on the host: vmprof attach --domain 'my $web'\n");
}

/* Every cause has its words, and one of a later version is not silent. */
static void test_loss_names(void **state)
{
	struct vmprof_agent_lost agent = { .count = { 1, 2, 4, 8, 16, 32, 64, 128 } };
	struct vmprof_cap_totals totals = { .lost = { 1, 2, 4, 8, 16, 32, 64, 128 } };
	json_object *o, *lost, *domain;
	unsigned int i;

	(void)state;
	for (i = 0; i <= VMPROF_GLOST_JIT; i++)
		assert_true(vmp_agent_loss_key(i) && vmp_agent_loss_text(i));
	for (i = 0; i <= VMPROF_LOST_THROTTLED; i++)
		assert_true(vmp_driver_loss_key(i) && vmp_driver_loss_text(i));
	gen_frame(&g, VMPROF_MSG_LOST, &agent, sizeof(agent), NULL, 0);
	gen_agent_flush(&g, GEN_VM, 0);
	assert_int_equal(vmp_writer_block(g.w, VMPROF_CAP_TOTALS, 0, &totals, sizeof(totals), 0, 0), 0);
	profiled_load();
	run();
	render(vmp_render_text);
	says("agent lost 16 task events: a probe");
	says("agent lost 32 files");
	says("agent lost 64 JIT maps");
	render(vmp_render_json);
	o = json_tokener_parse(output);
	domain = json_object_array_get_idx(member(o, "domains"), 0);
	for (i = 0; i < 2; i++) {
		int64_t sum = 0;

		lost = i ? member(member(o, "losses"), "driver") : member(member(domain, "agent"), "lost");
		json_object_object_foreach(lost, key, value)
			sum += strcmp(key, "total") ? json_object_get_int64(value) : 0;
		assert_int_equal(json_object_get_int64(member(lost, "total")), 255);
		assert_int_equal(sum, 255);
	}
	json_object_put(o);
}

static void test_losses(void **state)
{
	struct vmprof_rec_lost lost = { .hdr = { VMPROF_REC_LOST, sizeof(lost), 0 }, .count = { 3, 0, 1 } };
	struct vmprof_agent_lost agent = { .count = { 7 } };

	(void)state;
	gen_record(&g, &lost, sizeof(lost));
	gen_records_flush(&g, 0, 0, 0);
	gen_frame(&g, VMPROF_MSG_LOST, &agent, sizeof(agent), NULL, 0);
	agent.count[0] = 9;	/* since HELLO, not since the last */
	gen_frame(&g, VMPROF_MSG_LOST, &agent, sizeof(agent), NULL, 0);
	gen_hello(&g, 5000, 1, 0);
	agent.count[0] = 2;
	gen_frame(&g, VMPROF_MSG_LOST, &agent, sizeof(agent), NULL, 0);
	gen_agent_flush(&g, GEN_VM, 0);
	gen_text(&g, VMPROF_CAP_SUMMARY, 0,
		 "{\"collector\":{\"samples\":1,\"dropped_records\":4,\"future_lost\":1,\"error\":\"disk full\"},\"vms\":[{\"vm\":1000,\"agent_bad_bytes\":5,\"agent_frames\":6}]}");
	profiled_load();
	run();
	assert_int_equal(vmp_machine_lost(&model->vms.v[0], VMPROF_GLOST_RING), 11);
	render(vmp_render_text);
	says("LOST 3 samples in the driver: a ring was full");
	says("LOST 1 sample in the driver: the guest's state");
	says("agent lost 11 task events");
	says("collector: 4 records that could not be written to the capture");
	says("collector: web01: 5 bytes from the agent that made no sense");
	says("collector: future_lost 1");
	says("WARNING: the session ended with an error: disk full");
	says_not("agent_frames");
	says_not("no sample was lost");
}

static void test_totals_over_records(void **state)
{
	struct vmprof_rec_lost lost = { .hdr = { VMPROF_REC_LOST, sizeof(lost), 0 }, .count = { 3 } };
	struct vmprof_cap_totals totals = { .interrupts = 100, .lost = { 4 } };

	(void)state;
	gen_record(&g, &lost, sizeof(lost));
	gen_records_flush(&g, 0, 0, 0);
	assert_int_equal(vmp_writer_block(g.w, VMPROF_CAP_TOTALS, 0, &totals, sizeof(totals), 0, 0), 0);
	assert_int_equal(vmp_writer_block(g.w, VMPROF_CAP_TOTALS, 1, &totals, sizeof(totals), 0, 0), 0);
	profiled_load();
	assert_int_equal(model->driver.lost[0], 8);
	assert_int_equal(model->driver.interrupts, 200);
}

static void test_cut_capture(void **state)
{
	size_t len;
	uint8_t *all;

	(void)state;
	gen_end(&g);
	all = gen_read(path, &len);
	/* into the index: everything is there, but it was not closed */
	gen_write(path, all, len - 10);
	free(all);
	assert_int_equal(vmp_model_open(&model, path), 0);
	run();
	assert_int_equal(profile->domains.v[0].total, 44);
	render(vmp_render_text);
	says("WARNING:");
	says("bytes at the end of the capture were not read");
}

/* Where the payloads of the blocks of records end; padding behind them may lack. */
static int record_ends(const uint8_t *all, size_t len, size_t *ends, int max)
{
	size_t at = sizeof(struct vmprof_cap_header);
	struct vmprof_cap_block b;
	int nr = 0;

	for (; at < len; at += sizeof(b) + vmp_padded(b.stored_bytes)) {
		memcpy(&b, all + at, sizeof(b));
		if (b.type == VMPROF_CAP_RECORDS && nr < max)
			ends[nr++] = at + sizeof(b) + b.stored_bytes;
	}
	return nr;
}

/* Wherever the file ends, the report has the sums of the whole blocks up to there, and a warning. */
static void test_cut_anywhere(void **state)
{
	static const unsigned int samples[] = { 47, 7, 11, 13 }, others[] = { 3, 0, 0, 0 };
	uint64_t want, outside, total;
	size_t len, cut, ends[4];
	uint8_t *all;
	uint32_t i;

	(void)state;
	for (i = 1; i < 4; i++) {
		gen_guest(&g, i == 2 ? 2000 : GEN_VM, 3000 * i, CR3_A, 3, 0x401000, samples[i]);
		gen_records_flush(&g, i & 1, 3000 * i, 3000 * i + samples[i]);
	}
	gen_end(&g);
	all = gen_read(path, &len);
	assert_int_equal(record_ends(all, len, ends, 4), 4);
	for (cut = 0; cut < len; cut++) {
		gen_write(path, all, cut);
		assert_int_equal(vmp_model_open(&model, path), 0);
		run();
		for (want = outside = i = 0; i < 4; i++) {
			want += ends[i] <= cut ? samples[i] : 0;
			outside += ends[i] <= cut ? others[i] : 0;
		}
		for (total = i = 0; i < profile->domains.nr; i++)
			total += profile->domains.v[i].total;
		assert_int_equal(profile->samples, want);
		assert_int_equal(profile->others, outside);
		assert_int_equal(total, want - outside);
		render(vmp_render_text);
		says("WARNING: ");
		render(vmp_render_json);
		assert_non_null(strstr(output, "\"closed\":false"));
		vmp_profile_destroy(profile);
		vmp_model_close(model);
		profile = NULL;
		model = NULL;
	}
	free(all);
}

static void test_exit_names(void **state)
{
	char b[VMP_EXIT_NAME_MAX];

	(void)state;
	assert_string_equal(vmp_exit_name(b, VMPROF_VENDOR_SVM, 0x61), "NMI");
	assert_string_equal(vmp_exit_name(b, VMPROF_VENDOR_SVM, 0x78), "HLT");
	assert_string_equal(vmp_exit_name(b, VMPROF_VENDOR_SVM, VMPROF_EXIT_ENTRY), "ENTRY");
	assert_string_equal(vmp_exit_name(b, VMPROF_VENDOR_VMX, VMPROF_EXIT_ENTRY), "ENTRY");
	assert_true(vmp_exit_known("entry"));
	assert_string_equal(vmp_exit_name(b, VMPROF_VENDOR_SVM, 0x400), "NPF");
	assert_string_equal(vmp_exit_name(b, VMPROF_VENDOR_SVM, 0x7b), "IOIO");
	assert_string_equal(vmp_exit_name(b, VMPROF_VENDOR_SVM, 0x10), "CR_WRITE0");
	assert_string_equal(vmp_exit_name(b, VMPROF_VENDOR_SVM, 0x4e), "EXCP14");
	assert_string_equal(vmp_exit_name(b, VMPROF_VENDOR_SVM, 0xffff), "0xffff");
	assert_string_equal(vmp_exit_name(b, VMPROF_VENDOR_VMX, 10), "CPUID");
	assert_string_equal(vmp_exit_name(b, VMPROF_VENDOR_VMX, 12), "HLT");
	assert_string_equal(vmp_exit_name(b, VMPROF_VENDOR_VMX, 30), "IO_INSTRUCTION");
	assert_string_equal(vmp_exit_name(b, VMPROF_VENDOR_VMX, 31), "MSR_READ");
	assert_string_equal(vmp_exit_name(b, VMPROF_VENDOR_VMX, 32), "MSR_WRITE");
	assert_string_equal(vmp_exit_name(b, VMPROF_VENDOR_VMX, 48), "EPT_VIOLATION");
	assert_string_equal(vmp_exit_name(b, VMPROF_VENDOR_VMX, 49), "EPT_MISCONFIG");
	assert_string_equal(vmp_exit_name(b, VMPROF_VENDOR_VMX, 0x80000021), "INVALID_STATE");
	assert_string_equal(vmp_exit_name(b, VMPROF_VENDOR_NONE, 5), "0x5");
	assert_true(vmp_exit_is(VMPROF_VENDOR_SVM, 0x61, "nmi"));
	assert_true(vmp_exit_is(VMPROF_VENDOR_SVM, 0x61, "97"));
	assert_false(vmp_exit_is(VMPROF_VENDOR_SVM, 0x61, "HLT"));
	assert_true(vmp_exit_known("ept_violation"));
	assert_true(vmp_exit_known("CR_WRITE3"));
	assert_false(vmp_exit_known("nonsense"));
	assert_true(vmp_exit_nmi(VMPROF_VENDOR_SVM, 0x61, 0));
	assert_false(vmp_exit_nmi(VMPROF_VENDOR_SVM, 0x60, 0));
	assert_true(vmp_exit_nmi(VMPROF_VENDOR_VMX, 0, 0x80000202));
	assert_false(vmp_exit_nmi(VMPROF_VENDOR_VMX, 0, 0x8000030e));	/* a page fault */
	assert_false(vmp_exit_nmi(VMPROF_VENDOR_VMX, 0, 0x202));	/* not valid */
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, profiled_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_totals), T(test_other_builds), T(test_text), T(test_filters), T(test_groups), T(test_all_host),
		T(test_json), T(test_hostile_names), T(test_losses), T(test_no_agent_note), T(test_loss_names), T(test_totals_over_records),
		T(test_cut_capture), T(test_cut_anywhere), cmocka_unit_test(test_exit_names),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
