// SPDX-License-Identifier: GPL-2.0-only
/* test_cpi.c - cycles and instructions sampled side by side: CPI, and that shares of time stay the cycles'. */
#include "profiled.h"

#include <math.h>

#include "export/format.h"
#include "export/table.h"
#include "html/page.h"
#include "report/choose.h"
#include "report/tree.h"

#define CR3		0x5000000ULL
#define SLOW		GEN_KERNEL
#define FAST		(GEN_KERNEL + 0x1000)
#define UNTIMED		(GEN_KERNEL + 0x2000)
#define HOST_IP		0xffffffff90000010ULL

/* What the counters said at each sample: nonsense where instructions are sampled as well */
static const struct vmp_weight nonsense = { 7, 70000 }, turns = { 1000000, 400000 };
static const struct vmp_weight *counted = &nonsense;

/* What was sampled while instructions overflowed, @n times */
static void gen_both(uint16_t type, uint8_t mode, uint32_t flags, uint64_t ip, unsigned n)
{
	struct vmprof_sample s = {
		.hdr = { type, sizeof(s), 0 }, .tsc = 2000, .host_pid = mode <= VMPROF_MODE_VMM_USER ? GEN_VM : 77,
		.host_tid = GEN_VM + 1, .vm = GEN_VM, .vcpu_tid = GEN_VM + 1, .flags = flags, .mode = mode,
		.vendor = VMPROF_VENDOR_SVM, .host_ip = ip, .guest_ip = ip, .guest_cr3 = CR3,
		.exit_reason = mode ? 0x400 : 0x61, .cycles = counted->cycles, .instructions = counted->instructions,
	};

	for (; n; n--)
		gen_record(&g, &s, sizeof(s));
}

/* slow: 30 of cycles, 10 of instructions; fast: 10, 40; KVM: 4, 2; steal 6, 0; one function 0, 3 */
static void write_capture(const char *meta)
{
	const uint32_t guest = VMPROF_SF_VCPU | VMPROF_SF_COUNTS | VMPROF_SF_LONG_MODE;

	gen_begin(&g, path);
	gen_text(&g, VMPROF_CAP_META, 0, meta);
	gen_vm(&g, GEN_VM, "web01");
	gen_text(&g, VMPROF_CAP_HOST_KSYMS, 0,
		 "ffffffff90000000 T svm_vcpu_run\t[kvm_amd]\nffffffff91000000 T end\n");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	gen_ksyms(&g, "ffffffff81000000 T slow\nffffffff81001000 T fast\nffffffff81002000 T untimed\n"
		  "ffffffff81003000 T end\n");
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3, 10, 1, 0, "app");
	gen_agent_flush(&g, GEN_VM, 0);
	gen_both(VMPROF_REC_SAMPLE, VMPROF_MODE_GUEST, guest, SLOW, 30);
	gen_both(VMPROF_REC_INSTRUCTIONS, VMPROF_MODE_GUEST, guest, SLOW, 10);
	gen_both(VMPROF_REC_SAMPLE, VMPROF_MODE_GUEST, guest, FAST, 10);
	gen_both(VMPROF_REC_INSTRUCTIONS, VMPROF_MODE_GUEST, guest, FAST, 40);
	gen_both(VMPROF_REC_INSTRUCTIONS, VMPROF_MODE_GUEST, guest, UNTIMED, 3);
	gen_both(VMPROF_REC_SAMPLE, VMPROF_MODE_VMM_KERNEL, VMPROF_SF_VCPU | VMPROF_SF_COUNTS, HOST_IP, 4);
	gen_both(VMPROF_REC_INSTRUCTIONS, VMPROF_MODE_VMM_KERNEL, VMPROF_SF_VCPU, HOST_IP, 2);
	gen_both(VMPROF_REC_SAMPLE, VMPROF_MODE_OTHER_USER, VMPROF_SF_STEAL | VMPROF_SF_COUNTS, 0x1000, 6);
	gen_records_flush(&g, 0, 2000, 1000002000);
}

#define META(more)	"{\"event\":\"cycles\",\"period\":1000000,\"trigger\":\"pmc\"" more "}"
#define BOTH		META(",\"instruction_period\":500000")

static const struct vmp_domain *count(uint32_t by)
{
	struct vmp_options o = { .vcpu = -1, .pid = -1, .by = by };

	profiled_make(&o);
	assert_int_equal(profile->domains.nr, 1);
	return &profile->domains.v[0];
}

static const struct vmp_row *row(const struct vmp_domain *d, const char *function)
{
	uint32_t i;

	for (i = 0; i < d->rows.nr; i++)
		if (!strcmp(vmp_model_name(model, d->rows.v[i].function), function))
			return &d->rows.v[i];
	fail_msg("no row %s", function);
	return NULL;
}

static void near(double got, double want)
{
	if (fabs(got - want) > 1e-9)
		fail_msg("%.9f, not %.9f", got, want);
}

static double cpi_of(const struct vmp_row *r)
{
	return vmp_weigh_cpi(model, r->cycle_samples, r->instruction_samples);
}

static void test_functions(void **state)
{
	const struct vmp_domain *d;

	(void)state;
	write_capture(BOTH);
	profiled_load();
	d = count(VMP_BY_FUNCTION);
	/* shares of time are as if instructions had not been sampled */
	assert_int_equal(profile->samples, 50);
	assert_int_equal(d->total, 50);
	assert_int_equal(d->shown, 50);
	assert_int_equal(d->side[VMP_SIDE_KERNEL], 40);
	assert_int_equal(d->side[VMP_SIDE_VMM], 4);
	assert_int_equal(d->side[VMP_SIDE_STEAL], 6);
	assert_int_equal(d->with_process, 40);
	assert_int_equal(d->by_nmi, 40);
	assert_int_equal(d->rows.nr, 4);
	assert_int_equal(row(d, "slow")->samples, 30);
	near(cpi_of(row(d, "slow")), 30 * 1e6 / (10 * 5e5));
	near(cpi_of(row(d, "fast")), 10 * 1e6 / (40 * 5e5));
	near(cpi_of(row(d, "svm_vcpu_run")), 4 * 1e6 / (2 * 5e5));
	assert_int_equal(row(d, "[steal]")->samples, 6);
	near(cpi_of(row(d, "[steal]")), 0);
	assert_int_equal(d->cycle_samples, 44);
	assert_int_equal(d->instruction_samples, 55);
}

/* Steal is in a vCPU's time, and not in its CPI. */
static void test_groups(void **state)
{
	const struct vmp_domain *d;

	(void)state;
	write_capture(BOTH);
	profiled_load();
	d = count(VMP_BY_VCPU);
	assert_int_equal(d->rows.nr, 1);
	assert_int_equal(d->rows.v[0].samples, 50);
	near(cpi_of(&d->rows.v[0]), 44 * 1e6 / (55 * 5e5));
	d = count(VMP_BY_EXIT);
	assert_int_equal(d->total, 50);
}

/* A function without time is in the sums above it, and no node. */
static void test_tree(void **state)
{
	struct vmp_column_list levels = { .nr = 2, .column = { VMP_COL_PROCESS, VMP_COL_FUNCTION } };
	struct vmp_options o = { .vcpu = -1, .pid = -1, .by = vmp_choose_keys(&levels) };
	struct vmp_tree *t;
	uint32_t app;

	(void)state;
	write_capture(BOTH);
	profiled_load();
	profiled_make(&o);
	assert_int_equal(profile->domains.v[0].rows.nr, 4);
	assert_int_equal(vmp_tree_create(&t, profile, &o, &levels), 0);
	near(cpi_of(&t->nodes.v[0].row), 44 * 1e6 / (55 * 5e5));
	assert_int_equal(vmp_tree_open(t, 0), 0);
	app = t->nodes.v[0].first;
	assert_string_equal(vmp_model_name(model, t->nodes.v[app].row.comm), "app");
	assert_int_equal(t->nodes.v[app].row.instruction_samples, 53);
	near(cpi_of(&t->nodes.v[app].row), 40 * 1e6 / (53 * 5e5));
	assert_int_equal(vmp_tree_open(t, app), 0);
	assert_int_equal(t->nodes.v[app].nr, 2);
	assert_int_equal(t->nodes.v[t->nodes.v[app].first].row.samples, 30);
	assert_int_equal(t->nodes.v[t->nodes.v[app].first + 1].row.samples, 10);
	vmp_tree_destroy(t);
}

/* perf let only half of the overflows of instructions through. */
static void test_throttled(void **state)
{
	struct vmprof_cap_totals t = {
		.interrupts = 3000, .instruction_interrupts = 1000, .event_count = 2000000000, .cycles = 2001000000,
		.instruction_count = 500000000, .instructions = 1000000000, .lost = { [VMPROF_LOST_THROTTLED] = 1000 },
	};

	(void)state;
	write_capture(BOTH);
	assert_int_equal(vmp_writer_block(g.w, VMPROF_CAP_TOTALS, 0, &t, sizeof(t), 0, 0), 0);
	profiled_load();
	assert_int_equal(model->pair.cycles, 1000000);
	assert_int_equal(model->pair.instructions, 1000000);
	near(cpi_of(row(count(VMP_BY_FUNCTION), "slow")), 3);
}

static void says_exported(int (*write)(FILE *out, struct vmp_table *t, struct vmp_format_options *o), const char *what)
{
	struct vmp_choice choice = { .vcpu = -1, .pid = -1 };
	struct vmp_format_options options = { 0 };
	struct vmp_table *t;
	size_t len;
	FILE *f;

	assert_int_equal(vmp_table_create(&t, model, &choice), 0);
	free(output);
	f = open_memstream(&output, &len);
	assert_int_equal(write(f, t, &options), 0);
	fclose(f);
	gen_says(output, what);
	vmp_table_destroy(t);
}

static void says_page(const char *what)
{
	struct vmp_page *page;
	size_t len;
	FILE *f;

	assert_int_equal(vmp_page_create(&page, model, NULL), 0);
	free(output);
	f = open_memstream(&output, &len);
	assert_int_equal(vmp_page_data(f, page, path), 0);
	fclose(f);
	gen_says(output, what);
	vmp_page_destroy(page);
}

/* Random periods: what a sample stands for is told by the totals, and output says that they are random. */
static void test_random(void **state)
{
	struct vmprof_cap_totals t = {
		.interrupts = 2990, .instruction_interrupts = 1010, .event_count = 2000000000, .cycles = 2000001000,
		.instruction_count = 500000000, .instructions = 500000100,
	};

	(void)state;
	write_capture(META(",\"instruction_period\":500000,\"random\":true"));
	assert_int_equal(vmp_writer_block(g.w, VMPROF_CAP_TOTALS, 0, &t, sizeof(t), 0, 0), 0);
	profiled_load();
	assert_int_equal(model->pair.cycles, 2000001000 / 1980);
	assert_int_equal(model->pair.instructions, 500000100 / 1010);
	count(VMP_BY_FUNCTION);
	gen_says(profiled_text(vmp_render_text), ", random, mean period 1000000\n");
	gen_says(profiled_text(vmp_render_json), "\"period\":1000000,\"random\":true,");
	says_exported(vmp_write_json, "\"period\":1000000,\"random\":true,");
	says_exported(vmp_write_xml, "period=\"1000000\" random=\"true\"");
	says_page("\"random\":true,\"period\":1000000,");
}

/* Totals as an older version wrote them are still totals. */
static void test_older_totals(void **state)
{
	struct vmprof_cap_totals t = { .interrupts = 5, .filtered = 2 };

	(void)state;
	write_capture(META(""));
	assert_int_equal(vmp_writer_block(g.w, VMPROF_CAP_TOTALS, 0, &t, 136, 0, 0), 0);
	profiled_load();
	assert_int_equal(model->driver.interrupts, 5);
	assert_int_equal(model->driver.filtered, 2);
	assert_int_equal(model->driver.at_stop, 1);
}

static void test_report(void **state)
{
	(void)state;
	write_capture(BOTH);
	profiled_load();
	count(VMP_BY_FUNCTION);
	profiled_text(vmp_render_text);
	gen_says(output, "   Samples    %CPU   Insn smpl     CPI  Function");
	gen_says(output, "        30   60.00          10    6.00  slow ");
	gen_says(output, "         6   12.00           0       -  [steal]");
	gen_says(output, "CPI by two events: 44 samples of cycles for 1000000 each, 55 of instructions for 500000 each; in all 1.600");
	gen_says_not(output, "untimed");
	profiled_text(vmp_render_json);
	gen_says(output, "\"cpi_estimator\":\"two-events\"");
	gen_says(output, "\"percent\":60.0000,\"cycle_samples\":30,\"instruction_samples\":10,\"cpi\":6.000000,\"samples\":30}");
	gen_says(output, "\"percent\":12.0000,\"cycle_samples\":0,\"instruction_samples\":0,\"samples\":6}");
}

/* Of no samples there is no CPI, which 0 would be. */
static void test_none(void **state)
{
	(void)state;
	gen_begin(&g, path);
	gen_text(&g, VMPROF_CAP_META, 0, BOTH);
	gen_vm(&g, GEN_VM, "web01");
	profiled_load();
	assert_true(vmp_weigh_paired(model));
	count(VMP_BY_FUNCTION);
	gen_says(profiled_text(vmp_render_text), "No samples; vmprof doctor tells what a profile needs.");
	gen_says_not(output, "CPI");
}

/* Without a second event, and where no row has a CPI, there is nothing to be said of it. */
static void test_one_event(void **state)
{
	(void)state;
	write_capture(META(""));
	profiled_load();
	count(VMP_BY_FUNCTION);
	gen_says_not(profiled_text(vmp_render_text), "CPI");
	gen_says_not(profiled_text(vmp_render_json), "cpi");
}

/* slow and fast take turns within a period, so that the counts at a sample in either are of both */
static void write_turns(uint32_t counts)
{
	const uint32_t guest = VMPROF_SF_VCPU | VMPROF_SF_LONG_MODE;
	unsigned i;

	counted = &turns;
	gen_begin(&g, path);
	gen_text(&g, VMPROF_CAP_META, 0, META(""));
	gen_vm(&g, GEN_VM, "web01");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	gen_ksyms(&g, "ffffffff81000000 T slow\nffffffff81001000 T fast\nffffffff81002000 T end\n");
	gen_agent_flush(&g, GEN_VM, 0);
	for (i = 0; i < 100; i++)
		gen_both(VMPROF_REC_SAMPLE, VMPROF_MODE_GUEST, guest | counts, i % 10 ? SLOW : FAST, 1);
	counted = &nonsense;
	gen_both(VMPROF_REC_SAMPLE, VMPROF_MODE_VMM_KERNEL, VMPROF_SF_VCPU | counts, HOST_IP, 4);
	gen_both(VMPROF_REC_SAMPLE, VMPROF_MODE_OTHER_USER, VMPROF_SF_STEAL | counts, 0x1000, 6);
	gen_records_flush(&g, 0, 2000, 1000002000);
}

/* A report as somebody asked for it */
static const char *wished(struct vmp_wishes w, int json)
{
	struct vmp_options o = { .vcpu = -1, .pid = -1 };
	struct vmp_render r = { .path = path };
	size_t len;
	FILE *f;

	assert_int_equal(vmp_choose(&w, &o, &r), 0);
	profiled_make(&o);
	free(output);
	f = open_memstream(&output, &len);
	assert_non_null(f);
	(json ? vmp_render_json : vmp_render_text)(f, profile, &o, &r);
	fclose(f);
	vmp_filter_free((struct vmp_filter *)o.filter);
	return output;
}

#define BY_COUNTS "CPI by counts since the sample before, whatever ran in between: "

/* Where one event was sampled, functions that take turns have one CPI; it is said that this is none of their own. */
static void test_counts(void **state)
{
	(void)state;
	write_turns(VMPROF_SF_COUNTS);
	profiled_load();
	wished((struct vmp_wishes){ .columns = "cpi,ipc,function" }, 0);
	gen_says(output, "  2.50    0.40  slow\n  2.50    0.40  fast\n");
	gen_says(output, "\n  " BY_COUNTS "the guest's as a whole is 2.500; that of a function or process is mixed with others'"
		 " (vmprof start --cpi tells its own)\n");
	/* wherever it is looked at */
	gen_says(wished((struct vmp_wishes){ .columns = "cpi,function" }, 0), BY_COUNTS);
	gen_says(wished((struct vmp_wishes){ .columns = "ipc,function" }, 0), BY_COUNTS);
	gen_says(wished((struct vmp_wishes){ .columns = "instructions,function" }, 0), BY_COUNTS);
	gen_says(wished((struct vmp_wishes){ .columns = "percent,cpi", .tree = 1 }, 0), BY_COUNTS);
	gen_says(wished((struct vmp_wishes){ .sort = "cpi" }, 0), BY_COUNTS);
	gen_says(wished((struct vmp_wishes){ .filter = "ipc > 1" }, 0), BY_COUNTS);
	/* and nowhere else */
	gen_says_not(wished((struct vmp_wishes){ .columns = "percent,function" }, 0), "CPI by");
	gen_says_not(wished((struct vmp_wishes){ .columns = "cycles,function" }, 0), "CPI by");
	gen_says_not(wished((struct vmp_wishes){ 0 }, 1), "cpi");
	wished((struct vmp_wishes){ .columns = "cycles,function" }, 1);
	gen_says(output, ",\"cpi_estimator\":\"counts\",\"trigger\":");
	gen_says(output, ",\"guest_cpi\":2.500000,\"total\":");
}

/* What the VMM's samples tell is not the guest's. */
static void test_counts_of_host(void **state)
{
	(void)state;
	gen_begin(&g, path);
	gen_text(&g, VMPROF_CAP_META, 0, META(""));
	gen_vm(&g, GEN_VM, "web01");
	gen_both(VMPROF_REC_SAMPLE, VMPROF_MODE_VMM_KERNEL, VMPROF_SF_VCPU | VMPROF_SF_COUNTS, HOST_IP, 4);
	gen_records_flush(&g, 0, 2000, 1000002000);
	profiled_load();
	gen_says(wished((struct vmp_wishes){ .columns = "cpi,function" }, 0), BY_COUNTS "that of a function or process");
	wished((struct vmp_wishes){ .columns = "cpi,function" }, 1);
	gen_says(output, "\"cpi_estimator\":\"counts\"");
	gen_says_not(output, "guest_cpi");
}

/* Where two events were sampled the counts tell nothing, and where nothing was counted there is no CPI. */
static void test_no_counts(void **state)
{
	(void)state;
	write_capture(BOTH);
	profiled_load();
	gen_says_not(wished((struct vmp_wishes){ .columns = "cpi,function" }, 0), "CPI by counts");
	wished((struct vmp_wishes){ .columns = "cpi,function" }, 1);
	gen_says(output, "\"cpi_estimator\":\"two-events\"");
	gen_says_not(output, "guest_cpi");
	says_exported(vmp_write_json, ",\"cpi_estimator\":\"two-events\",\"tsc_khz\":");
	says_exported(vmp_write_xml, " cpi_estimator=\"two-events\" ");
	says_page("\"cpi_estimator\":\"two-events\",");
}

static void test_counts_elsewhere(void **state)
{
	(void)state;
	write_turns(VMPROF_SF_COUNTS);
	profiled_load();
	says_exported(vmp_write_json, ",\"cpi_estimator\":\"counts\",\"tsc_khz\":");
	says_exported(vmp_write_xml, " cpi_estimator=\"counts\" ");
	says_page("\"cpi_estimator\":\"counts\",");
}

static void test_nothing_counted(void **state)
{
	(void)state;
	write_turns(0);
	profiled_load();
	gen_says_not(wished((struct vmp_wishes){ .columns = "cpi,function" }, 0), "CPI by");
	gen_says_not(wished((struct vmp_wishes){ .columns = "cpi,function" }, 1), "cpi");
	says_exported(vmp_write_json, "\"tsc_khz\":");
	gen_says_not(output, "cpi");
	says_exported(vmp_write_xml, "<performance ");
	gen_says_not(output, "cpi");
	says_page("\"period\":");
	gen_says_not(output, "cpi_estimator");
}

static const struct vmp_line *line(const struct vmp_table *t, const char *function)
{
	uint32_t i;

	for (i = 0; i < t->lines.nr; i++)
		if (!strcmp(vmp_table_str(t, t->sites.v[t->lines.v[i].site].function), function))
			return &t->lines.v[i];
	fail_msg("no line %s", function);
	return NULL;
}

static int each(void *arg, uint64_t ns, const struct vmp_line *l)
{
	unsigned *n = arg;

	(void)ns, (void)l;
	(*n)++;
	return 0;
}

/* The same in what is exported: cycles and instructions are those that the samples stand for. */
static void test_exports(void **state)
{
	struct vmp_choice choice = { .vcpu = -1, .pid = -1, .samples = 1 };
	struct vmp_format_options options = { 0 };
	struct vmp_table *t;
	unsigned n = 0;
	uint64_t late;
	size_t len;
	FILE *f;

	(void)state;
	write_capture(BOTH);
	profiled_load();
	assert_int_equal(vmp_table_create(&t, model, &choice), 0);
	assert_int_equal(line(t, "slow")->sum.samples, 30);
	assert_int_equal(line(t, "slow")->sum.cycles, 30000000);
	assert_int_equal(line(t, "slow")->sum.instructions, 5000000);
	assert_int_equal(line(t, "[steal]")->sum.cycles, 0);
	assert_int_equal(t->domains.v[0].sum.samples, 50);
	assert_int_equal(t->domains.v[0].sum.cycles, 44000000);
	assert_int_equal(t->domains.v[0].sum.instructions, 27500000);
	assert_int_equal(vmp_table_samples(t, &late, each, &n), 0);
	assert_int_equal(n, 50);
	f = open_memstream(&output, &len);
	assert_int_equal(vmp_write_folded(f, t, &options), 0);
	fclose(f);
	gen_says(output, "slow 30\n");
	gen_says_not(output, "untimed");
	vmp_table_destroy(t);
}

static void test_page(void **state)
{
	struct vmp_page *page;
	uint64_t samples = 0, cycles = 0, instructions = 0;
	uint32_t i;

	(void)state;
	write_capture(BOTH);
	profiled_load();
	assert_int_equal(vmp_page_create(&page, model, NULL), 0);
	for (i = 0; i < page->rows.nr; i++) {
		samples += page->rows.v[i].samples;
		cycles += page->rows.v[i].cycles;
		instructions += page->rows.v[i].instructions;
	}
	assert_int_equal(samples, 50);
	assert_int_equal(cycles, 44000000);
	assert_int_equal(instructions, 27500000);	/* with the function that has no time */
	assert_int_equal(page->profile.samples, 50);
	assert_int_equal(page->profile.domains.v[0].total, 50);
	vmp_page_destroy(page);
}

/* One program at a load: slow takes @load cycles for each instruction, fast half a cycle always */
static void write_load(const char *name, unsigned load, int both)
{
	const uint32_t guest = VMPROF_SF_VCPU | VMPROF_SF_COUNTS | VMPROF_SF_LONG_MODE;
	const struct { uint64_t ip; unsigned cycles, instructions; } ran[] = {
		{ SLOW, 100 * load, 200 }, { FAST, 50 * load, 200 * load },
	};
	unsigned i, n;

	snprintf(path, sizeof(path), "%s/%s-%u.vmprof", dir, name, load);
	gen_begin(&g, path);
	gen_text(&g, VMPROF_CAP_META, 0, both ? BOTH : META(""));
	gen_vm(&g, GEN_VM, "web01");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	gen_ksyms(&g, "ffffffff81000000 T slow\nffffffff81001000 T fast\nffffffff81002000 T end\n");
	gen_agent_flush(&g, GEN_VM, 0);
	for (i = 0; i < 2; i++) {
		struct vmprof_sample s = {
			.hdr = { VMPROF_REC_SAMPLE, sizeof(s), 0 }, .tsc = 2000, .host_pid = GEN_VM, .host_tid = GEN_VM + 1,
			.vm = GEN_VM, .vcpu_tid = GEN_VM + 1, .flags = guest, .vendor = VMPROF_VENDOR_SVM, .guest_ip = ran[i].ip,
			.mode = VMPROF_MODE_GUEST, .guest_cr3 = CR3, .exit_reason = 0x61, .cycles = 1000000,
			.instructions = 500000ULL * ran[i].instructions / ran[i].cycles,
		};

		for (n = 0; n < ran[i].cycles; n++)
			gen_record(&g, &s, sizeof(s));
		if (both)
			gen_both(VMPROF_REC_INSTRUCTIONS, VMPROF_MODE_GUEST, guest, ran[i].ip, ran[i].instructions);
	}
	gen_records_flush(&g, 0, 2000, 1000002000);
	gen_end(&g);
}

static int write_captures(char *folder)
{
	unsigned load;

	dir = folder;
	for (load = 1; load <= 4; load *= 2) {
		write_load("sampled", load, 1);
		write_load("counted", load, 0);
	}
	return 0;
}

#define T(name) cmocka_unit_test_setup_teardown(name, profiled_set_up, profiled_tear_down)

/* --capture DIR: write captures for tests/unit/report.t */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		T(test_functions), T(test_groups), T(test_tree), T(test_throttled), T(test_random), T(test_older_totals), T(test_report),
		T(test_none), T(test_one_event), T(test_counts), T(test_counts_of_host), T(test_no_counts), T(test_counts_elsewhere),
		T(test_nothing_counted), T(test_exports), T(test_page),
	};

	if (argc == 3 && !strcmp(argv[1], "--capture"))
		return write_captures(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
