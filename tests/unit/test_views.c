// SPDX-License-Identifier: GPL-2.0-only
/* test_views.c - what rows are told apart by, order, limits, trees, exits, steal, two captures, and width. */
#include "profiled.h"

#include <json-c/json.h>
#include <locale.h>

#include "report/choose.h"
#include "report/diff.h"
#include "report/tree.h"
#include "util/log.h"
#include "util/text.h"

#define CR3_A	0x5000000ULL
#define CR3_B	0x6000000ULL

static char told[4096];
static struct vmp_model *older;
static struct vmp_profile *before;
static struct vmp_options options;
static struct vmp_render rendering;

static void listen(void *arg, enum vmp_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	snprintf(told, sizeof(told), "%s", text);
}

/* A sample as the driver writes it, with all that it may tell of the guest */
static void sample(uint8_t mode, uint32_t flags, uint64_t host_ip, uint64_t reason, uint64_t guest_ip,
		   uint64_t cr3, uint8_t cpl, uint32_t vcpu, unsigned int n)
{
	struct vmprof_sample s = {
		.hdr = { VMPROF_REC_SAMPLE, sizeof(s), 0 }, .tsc = 2000, .host_ip = host_ip,
		.host_pid = mode <= VMPROF_MODE_VMM_USER ? GEN_VM : 77, .host_tid = GEN_VM + 1 + vcpu,
		.vm = GEN_VM, .vcpu_tid = GEN_VM + 1 + vcpu, .vcpu = vcpu, .flags = flags | VMPROF_SF_COUNTS,
		.mode = mode, .cpl = cpl, .vendor = VMPROF_VENDOR_SVM, .guest_ip = guest_ip, .guest_cr3 = cr3,
		.exit_reason = reason, .cycles = 100, .instructions = cpl == 3 ? 50 : 200,
	};

	for (; n; n--, s.tsc++)
		gen_record(&g, &s, sizeof(s));
}

static void guest(uint64_t cr3, uint8_t cpl, uint64_t ip, uint32_t vcpu, unsigned int n)
{
	sample(VMPROF_MODE_GUEST, VMPROF_SF_VCPU | VMPROF_SF_IRQ_NMI, 0, 0x61, ip, cr3, cpl, vcpu, n);
}

static void begin(const char *file, const char *comm)
{
	gen_begin(&g, file);
	gen_text(&g, VMPROF_CAP_VM, GEN_VM, "{\"name\":\"web01\",\"uuid\":\"u\",\"pid\":1000,"
		 "\"vcpus\":[{\"id\":0,\"tid\":1001},{\"id\":1,\"tid\":1002}],\"agent\":true}");
	gen_text(&g, VMPROF_CAP_HOST_KSYMS, 0,
		 "ffffffff90000000 T svm_vcpu_run\t[kvm_amd]\nffffffff90000100 T kvm_io\t[kvm]\n"
		 "ffffffff91000000 T schedule\nffffffff91001000 T end\n");
	gen_text(&g, VMPROF_CAP_HOST_COMMS, 0, "1000 1000 qemu\n77 77 stress\n");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	gen_ksyms(&g, "ffffffff81000000 T do_io\nffffffff81001000 T do_fault\nffffffff81002000 T end\n");
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, comm);
	gen_map(&g, 1600, CR3_A, 10, 0x400000, 0x500000, 0, 100, "/usr/bin/app");
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_B, 20, 1, 0, "other");
	gen_agent_flush(&g, GEN_VM, 0);
}

static void finish(void)
{
	gen_records_flush(&g, 0, 2000, 3000);
	gen_end(&g);
}

#define IO	0x7bULL
#define NPF	0x400ULL

/* 100 samples: 40 + 20 user, 16 kernel, 14 VMM (10 with an exit), 10 steal */
static void write_capture(const char *file)
{
	begin(file, "app");
	guest(CR3_A, 3, 0x401000, 0, 40);
	guest(CR3_A, 3, 0x402000, 1, 15);
	guest(CR3_B, 3, 0x401000, 1, 5);
	guest(CR3_A, 0, GEN_KERNEL + 0x10, 0, 12);
	guest(CR3_B, 0, GEN_KERNEL + 0x1010, 1, 4);
	gen_records_flush(&g, 0, 2000, 2500);
	sample(VMPROF_MODE_VMM_KERNEL, VMPROF_SF_VCPU, 0xffffffff90000110, IO, GEN_KERNEL + 0x20, CR3_A, 0, 0, 6);
	sample(VMPROF_MODE_VMM_KERNEL, VMPROF_SF_VCPU, 0xffffffff90000010, NPF, 0x401004, CR3_A, 3, 0, 3);
	sample(VMPROF_MODE_VMM_KERNEL, VMPROF_SF_VCPU, 0xffffffff90000010, NPF, GEN_KERNEL + 0x1000, CR3_B, 0, 1, 1);
	sample(VMPROF_MODE_VMM_KERNEL, 0, 0xffffffff91000010, 0, 0, 0, 0, 0, 4);
	sample(VMPROF_MODE_OTHER_KERNEL, VMPROF_SF_STEAL, 0xffffffff91000010, 0, GEN_KERNEL + 0x30, CR3_A, 0, 0, 7);
	sample(VMPROF_MODE_OTHER_KERNEL, VMPROF_SF_STEAL, 0xffffffff91000010, 0, 0, 0, 0, 1, 3);
	finish();
}

static int setup(void **state)
{
	(void)state;
	profiled_setup();
	options = (struct vmp_options){ .vcpu = -1, .pid = -1 };
	rendering = (struct vmp_render){ .path = path };
	told[0] = 0;
	vmp_log_set(listen, NULL);
	write_capture(path);
	assert_int_equal(vmp_model_open(&model, path), 0);
	return 0;
}

static int teardown(void **state)
{
	vmp_log_set(NULL, NULL);
	vmp_filter_free((struct vmp_filter *)options.filter);
	vmp_profile_destroy(before);
	vmp_model_close(older);
	before = NULL;
	older = NULL;
	return profiled_tear_down(state);
}

static void make(void)
{
	profiled_make(&options);
}

/* As vmprof report does */
static int wish(struct vmp_wishes w)
{
	int err;

	vmp_filter_free((struct vmp_filter *)options.filter);
	options = (struct vmp_options){ .vcpu = -1, .pid = -1, .view = options.view, .all_rows = w.diff };
	rendering = (struct vmp_render){ .path = path, .look = rendering.look };
	err = vmp_choose(&w, &options, &rendering);
	if (!err)
		make();
	return err;
}

static void render(int json)
{
	size_t len;
	FILE *f;

	free(output);
	f = open_memstream(&output, &len);
	(json ? vmp_render_json : vmp_render_text)(f, profile, &options, &rendering);
	fclose(f);
}

static void valid_json(void)
{
	struct json_object *o = json_tokener_parse(output);

	assert_non_null(o);
	json_object_put(o);
}

#define says(text)	gen_says(output, text)
#define says_not(text)	gen_says_not(output, text)

static void test_groups(void **state)
{
	(void)state;
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "side,process" }), 0);
	render(0);
	says("   Samples    %CPU  Time          Process\n"
	     "        55   55.00  guest user    app\n"
	     "        14   14.00  VMM           [VMM]\n"
	     "        12   12.00  guest kernel  app\n"
	     "        10   10.00  steal         [steal]\n"
	     "         5    5.00  guest user    other\n"
	     "         4    4.00  guest kernel  other\n");
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "thread" }), 0);
	render(0);
	says("        72   72.00  vCPU 0\n        28   28.00  vCPU 1\n");
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "pid,vcpu" }), 0);
	render(1);
	says("{\"pid\":10,\"vcpu\":0,\"percent\":52.0000,\"samples\":52}");
	says("\"by\":\"pid,vcpu\"");
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "domain" }), 0);
	render(0);
	says("       100  100.00  web01\n");
}

static void test_columns(void **state)
{
	(void)state;
	assert_int_equal(wish((struct vmp_wishes){ .columns = "cpi,ipc,cycles,instructions,percent,process" }), 0);
	render(0);
	says("   CPI     IPC          Cycles    Instructions    %CPU  Process\n"
	     "  1.30    0.77            6700            5150   67.00  app\n");
	says("  0.60    1.68            1400            2350   14.00  [VMM]\n");
	render(1);
	says("\"process\":\"app\",\"cycles\":6700,\"instructions\":5150,\"cpi\":1.3010,\"ipc\":0.7687,\"percent\":67.0000");
	/* without such a column they are not looked at */
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "process" }), 0);
	render(1);
	says_not("cycles\":6700");
	assert_int_equal(profile->domains.v[0].rows.v[0].cycles, 0);
}

static const char *first(void)
{
	return vmp_model_name(model, profile->domains.v[0].rows.v[0].comm);
}

static void test_sort(void **state)
{
	(void)state;
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "process", .sort = "samples:asc" }), 0);
	assert_string_equal(first(), "other");
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "process", .sort = "process" }), 0);
	assert_string_equal(first(), "[VMM]");
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "process", .sort = "process:desc" }), 0);
	assert_string_equal(first(), "other");
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "process", .sort = "cpi" }), 0);
	assert_string_equal(first(), "app");
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "process", .sort = "cpi:asc,process" }), 0);
	assert_string_equal(first(), "[VMM]");
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "process", .sort = "ipc,process:desc" }), 0);
	assert_string_equal(first(), "[VMM]");
	/* of steal there is none: it comes last either way */
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "process", .sort = "cpi:asc" }), 0);
	assert_string_equal(vmp_model_name(model, profile->domains.v[0].rows.v[3].comm), "[steal]");
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "process", .sort = "cpi:desc" }), 0);
	assert_string_equal(vmp_model_name(model, profile->domains.v[0].rows.v[3].comm), "[steal]");
}

static void test_limits(void **state)
{
	(void)state;
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "process", .percent_limit = "10" }), 0);
	render(0);
	says("        10   10.00  [steal]\n         9    9.00  ... 1 smaller rows (--percent-limit)\n");
	render(1);
	says("\"rows_total\":4");
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "process" }), 0);
	rendering.limit = 1;
	render(0);
	says("        67   67.00  app\n        33   33.00  ... 3 more rows (--limit 0 shows all)\n");
}

static void test_filter(void **state)
{
	(void)state;
	/* what is compared need not be shown */
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "process", .filter = "side == guest_user && vcpu == 1" }), 0);
	render(0);
	says("Shown: 20 samples (20.00%) that pass the filters\n");
	says("        15   15.00  app\n         5    5.00  other\n");
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "process", .filter = "side ~ guest* && percent > 10" }), 0);
	render(0);
	says("Shown: 67 samples");
	says_not("other");
	assert_int_equal(wish((struct vmp_wishes){ .filter = "exit == npf", .group_by = "exit" }), 0);
	assert_int_equal(profile->domains.v[0].shown, 4);
	assert_int_equal(wish((struct vmp_wishes){ .filter = "cpi > 1", .group_by = "process" }), 0);
	assert_int_equal(profile->domains.v[0].rows.nr, 1);
	assert_int_equal(wish((struct vmp_wishes){ .filter = "process == nobody" }), 0);
	render(0);
	says("No sample passes the filters");
	assert_int_equal(wish((struct vmp_wishes){ .filter = "percnt > 1" }), -EINVAL);
	gen_says(told, "--filter, character 1: no column is called so");
	gen_says(told, "\n  percnt > 1\n  ^");
	assert_int_equal(wish((struct vmp_wishes){ .filter = "process == \"\033[31m\xc3\xa4\" && x == 1" }), -EINVAL);
	/* under the x, where escaped and wide characters take what they take */
	gen_says(told, "\n  process == \"\\x1b[31m\xc3\xa4\" && x == 1\n                            ^");
}

static void test_wrong_wishes(void **state)
{
	(void)state;
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "process,frob\033" }), -EINVAL);
	gen_says(told, "--group-by: no column is called 'frob\\x1b'");
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "samples" }), -EINVAL);
	gen_says(told, "samples is a number of a row");
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "process", .columns = "pid" }), -EINVAL);
	gen_says(told, "rows have no pid here; add pid to --group-by");
	assert_int_equal(wish((struct vmp_wishes){ .sort = "samples:up" }), -EINVAL);
	gen_says(told, "cannot sort by 'samples:up'");
	assert_int_equal(wish((struct vmp_wishes){ .sort = "delta" }), -EINVAL);
	gen_says(told, "columns of --diff");
	assert_int_equal(wish((struct vmp_wishes){ .by = "frob" }), -EINVAL);
	gen_says(told, "cannot group by 'frob'");
	assert_int_equal(wish((struct vmp_wishes){ .by = "process", .tree = 1 }), -EINVAL);
	assert_int_equal(wish((struct vmp_wishes){ .percent_limit = "-1" }), -EINVAL);
	assert_int_equal(wish((struct vmp_wishes){ .percent_limit = "x" }), -EINVAL);
	gen_says(told, "takes percent, from 0 to 100, such as 0.5, not 'x'");
}

static void test_tree(void **state)
{
	struct json_object *o, *d, *v, *node;

	(void)state;
	assert_int_equal(wish((struct vmp_wishes){ .tree = 1 }), 0);
	render(0);
	says("   Samples    %CPU  Process > Thread > Module > Function\n"
	     "        67   67.00  app\n"
	     "        52   52.00    vCPU 0\n"
	     "        40   40.00      app\n"
	     "        40   40.00        [app+0x1000]\n"
	     "        12   12.00      vmlinux\n"
	     "        12   12.00        do_io\n"
	     "        15   15.00    vCPU 1\n"
	     "        15   15.00      app\n"
	     "        15   15.00        [app+0x2000]\n"
	     "        14   14.00  [VMM]\n");
	assert_int_equal(wish((struct vmp_wishes){ .tree = 1, .group_by = "module,process", .percent_limit = "11",
						   .columns = "percent,cpi" }), 0);
	render(0);
	says("  %CPU     CPI  Module > Process\n"
	     " 55.00    2.00  app\n"
	     " 55.00    2.00    app\n"
	     " 16.00    0.50  vmlinux\n"
	     " 12.00    0.50    app\n"
	     "  4.00    0.50    ... 1 more\n"
	     " 29.00    0.73  ... 5 more\n");
	assert_int_equal(wish((struct vmp_wishes){ .tree = 1, .group_by = "process,function", .sort = "process,function" }), 0);
	render(1);
	o = json_tokener_parse(output);
	assert_non_null(o);
	assert_true(json_object_object_get_ex(o, "domains", &d));
	d = json_object_array_get_idx(d, 0);
	assert_true(json_object_object_get_ex(d, "children", &v));
	assert_int_equal(json_object_array_length(v), 4);
	node = json_object_array_get_idx(v, 2);
	assert_string_equal(json_object_get_string(json_object_object_get(node, "process")), "app");
	assert_int_equal(json_object_get_int(json_object_object_get(node, "samples")), 67);
	v = json_object_object_get(node, "children");
	assert_int_equal(json_object_array_length(v), 3);
	node = json_object_array_get_idx(v, 0);
	assert_string_equal(json_object_get_string(json_object_object_get(node, "function")), "[app+0x1000]");
	assert_null(json_object_object_get(node, "children"));
	json_object_put(o);
}

/* Whoever opens what, sums are those of the rows. */
static void test_tree_sums(void **state)
{
	struct vmp_tree *t;
	uint64_t sum;
	uint32_t i, k;

	(void)state;
	assert_int_equal(wish((struct vmp_wishes){ .tree = 1 }), 0);
	assert_int_equal(vmp_tree_create(&t, profile, &options, &rendering.levels), 0);
	assert_int_equal(t->nodes.nr, 1);	/* nothing is made before it is asked for */
	for (i = 0; i < t->nodes.nr; i++) {
		assert_int_equal(vmp_tree_open(t, i), 0);
		assert_int_equal(vmp_tree_open(t, i), 0);
		if (vmp_tree_is_leaf(t, &t->nodes.v[i]))
			continue;
		for (sum = k = 0; k < t->nodes.v[i].nr; k++) {
			const struct vmp_node *child = &t->nodes.v[t->nodes.v[i].first + k];

			assert_int_equal(child->parent, i);
			sum += child->row.samples;
		}
		assert_int_equal(sum, t->nodes.v[i].row.samples);
	}
	assert_true(t->nodes.nr > 20);
	vmp_tree_destroy(t);
}

static void test_exits(void **state)
{
	(void)state;
	options.view = VMP_VIEW_EXITS;
	assert_int_equal(wish((struct vmp_wishes){ 0 }), 0);
	render(0);
	says("Total samples: 100   OS:USER:steal = 16.00% : 60.00% : 10.00%   VMM: 14.00%\n");
	says("VMM time by exit reason and the guest function that exited\n"
	     "\n   Samples    %CPU          Cycles  Exit  Function      Module         Process\n"
	     "         6    6.00             600  IOIO  do_io         vmlinux        app\n"
	     "         4    4.00             400  -     schedule      [host kernel]  [VMM]\n"
	     "         3    3.00             300  NPF   [app+0x1004]  app            app\n"
	     "         1    1.00             100  NPF   do_fault      vmlinux        other\n");
	/* what the guest did is not what its time went to */
	says("guest samples: 76, with process 100.00%");
	render(1);
	says("\"view\":\"exits\"");
	says("{\"function\":\"do_io\",\"module\":\"vmlinux\",\"process\":\"app\",\"exit\":\"IOIO\",\"cycles\":600,");
	assert_int_equal(wish((struct vmp_wishes){ .tree = 1, .group_by = "exit,process" }), 0);
	render(0);
	says("         4    4.00             400  NPF\n         3    3.00             300    app\n");
	assert_int_equal(wish((struct vmp_wishes){ .filter = "process == other" }), 0);
	render(0);
	says("Shown: 1 samples");
}

static void test_steal(void **state)
{
	struct vmp_options waiting = { .view = VMP_VIEW_WAITERS, .by = VMP_BY_WAITERS, .vcpu = -1, .pid = -1 };
	struct vmp_profile *waiters;

	(void)state;
	options.view = VMP_VIEW_THIEVES;
	assert_int_equal(wish((struct vmp_wishes){ 0 }), 0);
	assert_int_equal(vmp_profile_create(&waiters, model, &waiting), 0);
	assert_int_equal(waiters->domains.v[0].side[VMP_SIDE_STEAL], 10);
	assert_int_equal(waiters->domains.v[0].side[VMP_SIDE_KERNEL], 16);
	rendering.waiters = waiters;
	render(0);
	says("What ran while vCPUs waited\n"
	     "\n   Samples    %CPU  vCPU  Process  Function  Module\n"
	     "         7    7.00  0     stress   schedule  [host kernel]\n"
	     "         3    3.00  1     stress   schedule  [host kernel]\n");
	says("Guest functions that waited meanwhile\n"
	     "\n   Samples    %CPU  Function   Module     Process  vCPU  Taken by\n"
	     "         7    7.00  do_io      vmlinux    app      0     stress\n"
	     "         3    3.00  [unknown]  [unknown]  -        1     stress\n");
	render(1);
	says("\"view\":\"steal\"");
	says("{\"function\":\"schedule\",\"module\":\"[host kernel]\",\"process\":\"stress\",\"vcpu\":0,\"percent\":7.0000,");
	says("\"waiting\":[\n{\"function\":\"do_io\",\"module\":\"vmlinux\",\"process\":\"app\",\"vcpu\":0,\"thief\":\"stress\",");
	valid_json();
	vmp_profile_destroy(waiters);
}

/* As vmprof top looks at the last seconds: blocks that end before are passed over */
static void test_window(void **state)
{
	(void)state;
	make();
	assert_int_equal(profile->samples, 100);
	model->from_tsc = 2501;
	make();
	assert_int_equal(profile->samples, 24);
	assert_int_equal(profile->domains.v[0].side[VMP_SIDE_USER], 0);
	model->from_tsc = 2500;
	make();
	assert_int_equal(profile->samples, 100);
}

/* Another 100 samples: app's user code fell from 55 to 30, the kernel grew, a new process came, other went */
static void write_later(const char *file)
{
	begin(file, "app");
	gen_proc(&g, VMPROF_MSG_PROC, 1600, 0x7000000, 30, 1, 0, "new");
	gen_agent_flush(&g, GEN_VM, 0);
	guest(CR3_A, 3, 0x401000, 0, 30);
	guest(CR3_A, 0, GEN_KERNEL + 0x10, 0, 60);
	guest(0x7000000, 0, GEN_KERNEL + 0x10, 0, 10);
	finish();
}

static void compare(struct vmp_wishes w)
{
	w.diff = 1;
	vmp_profile_destroy(before);
	before = NULL;
	assert_int_equal(wish(w), 0);
	assert_int_equal(vmp_profile_create(&before, older, &options), 0);
	assert_int_equal(vmp_diff(profile, before, &options), 0);
	rendering.path_before = "old";
}

static void test_diff(void **state)
{
	(void)state;
	older = model;
	strcat(path, "2");
	write_later(path);
	assert_int_equal(vmp_model_open(&model, path), 0);
	compare((struct vmp_wishes){ .group_by = "process" });
	render(0);
	says("Before  old\nCapture ");
	says("Before: 100 samples\n");
	says(" Before   After    Delta  Process\n"
	     "  67.00   90.00   +23.00  app\n"
	     "  14.00    0.00   -14.00  [VMM]\n"
	     "   0.00   10.00   +10.00  new\n"
	     "  10.00    0.00   -10.00  [steal]\n"
	     "   9.00    0.00    -9.00  other\n");
	render(1);
	says("{\"process\":\"other\",\"before\":9.0000,\"delta\":-9.0000,\"before_samples\":9,\"percent\":0.0000,\"samples\":0}");
	says("\"before\":\"old\"");
	valid_json();
	compare((struct vmp_wishes){ .group_by = "process", .sort = "delta:asc", .filter = "before > 0", .percent_limit = "9.5" });
	render(0);
	says("Delta  Process\n"
	     "  14.00    0.00   -14.00  [VMM]\n"
	     "  10.00    0.00   -10.00  [steal]\n"
	     "  67.00   90.00   +23.00  app\n");
	says("1 smaller rows");
	says_not("new");
	compare((struct vmp_wishes){ .tree = 1, .percent_limit = "9.5" });
	render(0);
	says(" Before   After    Delta  Process > Module > Function\n"
	     "  67.00   90.00   +23.00  app\n"
	     "  12.00   60.00   +48.00    vmlinux\n"
	     "  12.00   60.00   +48.00      do_io\n");
	says("  14.00    0.00   -14.00  [VMM]\n");
	says("   0.00   10.00   +10.00  new\n");
	says("   9.00    0.00    -9.00  ... 1 more\n");
	render(1);
	says("{\"process\":\"[VMM]\",\"before\":14.0000,\"delta\":-14.0000,\"before_samples\":14,");
	valid_json();
	compare((struct vmp_wishes){ .columns = "delta,function,process", .filter = "side == guest_kernel" });
	render(0);
	says("  Delta  Function  Process\n"
	     " +48.00  do_io     app\n"
	     " +10.00  do_io     new\n"
	     "  -4.00  do_fault  other\n");
}

/* ---------------------------------------------------------------------- width */

static int longest(void)
{
	const char *p, *end;
	char line[8192];
	int max = 0, w;

	for (p = strstr(output, "Samples   "); p && *p && *p != '\n'; p = end + 1) {
		end = strchrnul(p, '\n');
		snprintf(line, sizeof(line), "%.*s", (int)(end - p), p);
		w = vmp_text_width(line);
		max = w > max ? w : max;
	}
	return max;
}

/* A path of 1,500 characters, and rows that all have one line, however narrow */
static void test_width(void **state)
{
	char name[1500], p[1600];
	int width;

	(void)state;
	vmp_model_close(model);
	model = NULL;
	memset(name, 'x', sizeof(name));
	memcpy(name, "begin", 5);
	strcpy(name + 1490, "\xe6\xbc\xa2\xe5\xad\x97" "end");
	snprintf(p, sizeof(p), "/%s", name);
	begin(path, "a \xe6\xbc\xa2\xe5\xad\x97\033[31m\xff");
	gen_map(&g, 1600, CR3_A, 10, 0x600000, 0x700000, 0, 101, p);
	gen_agent_flush(&g, GEN_VM, 0);
	guest(CR3_A, 3, 0x601000, 0, 40);
	guest(CR3_A, 0, GEN_KERNEL, 0, 40);
	finish();
	assert_int_equal(vmp_model_open(&model, path), 0);
	assert_int_equal(wish((struct vmp_wishes){ 0 }), 0);
	render(0);
	says(name);	/* whole in a file */
	for (width = 1; width < 200; width++) {
		rendering.look.width = width;
		render(0);
		if (width >= 18)
			assert_true(longest() <= width);
		says_not(name);
		says_not("\033");
	}
	rendering.look.width = 100;
	render(0);
	assert_int_equal(longest(), 100);
	says("\xe2\x80\xa6");
	says("\xe6\xbc\xa2\xe5\xad\x97" "end");
	assert_int_equal(wish((struct vmp_wishes){ .tree = 1 }), 0);
	for (width = 30; width < 120; width++) {
		rendering.look.width = width;
		render(0);
		assert_true(longest() <= width);
	}
}

static void test_colour(void **state)
{
	(void)state;
	rendering.look.colour = 1;
	assert_int_equal(wish((struct vmp_wishes){ .group_by = "process" }), 0);
	render(0);
	says("\n\033[1mDomain web01\033[m\n");
	says("        67  \033[31m 67.00\033[m  app\n");
	rendering.look.colour = 0;
	render(0);
	says_not("\033");
}

static void test_cut(void **state)
{
	static const struct {
		const char *s;
		int width;
		const char *cut;
	} cases[] = {
		{ "short", 5, "short" }, { "shorter", 5, "sh\xe2\x80\xa6" "er" }, { "shorter", 1, "\xe2\x80\xa6" },
		{ "shorter", 0, "" }, { "", 0, "" }, { "shorter", 6, "sho\xe2\x80\xa6" "er" },
		/* two wide ones: places, not bytes */
		{ "\xe6\xbc\xa2\xe5\xad\x97", 4, "\xe6\xbc\xa2\xe5\xad\x97" },
		{ "\xe6\xbc\xa2\xe5\xad\x97", 3, "\xe2\x80\xa6\xe5\xad\x97" },
		{ "\xe6\xbc\xa2\xe5\xad\x97", 2, "\xe2\x80\xa6" },
		/* what combines is not left without what it combines with */
		{ "abcde\xcc\x81", 5, "abcde\xcc\x81" }, { "abcdefe\xcc\x81", 3, "a\xe2\x80\xa6" "e\xcc\x81" },
	};
	char buf[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int w = vmp_text_cut(buf, sizeof(buf), cases[i].s, cases[i].width);

		assert_string_equal(buf, cases[i].cut);
		assert_int_equal(w, vmp_text_width(buf));
		assert_true(w <= cases[i].width);
	}
	/* a small buffer: less, but whole characters */
	for (i = 1; i < 20; i++) {
		vmp_text_cut(buf, i, "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97", 100);
		assert_true(strlen(buf) < i);
		assert_true(mbstowcs(NULL, buf, 0) != (size_t)-1);
	}
}

/* A guest of web01's own: whatever its addresses and CR3 are called in web01, they are not web01's */
static void test_nested_guest(void **state)
{
	const uint32_t flags = VMPROF_SF_VCPU | VMPROF_SF_NESTED | VMPROF_SF_IRQ_NMI;

	(void)state;
	vmp_model_close(model);
	begin(path, "app");
	guest(CR3_A, 3, 0x401000, 0, 40);
	sample(VMPROF_MODE_GUEST, flags, 0, 0x61, 0x401000, CR3_A, 3, 0, 20);
	sample(VMPROF_MODE_GUEST, flags, 0, 0x61, GEN_KERNEL + 0x10, CR3_A, 0, 1, 10);
	sample(VMPROF_MODE_GUEST, flags, 0, 0x61, 0x1000, 0x7000000, 0, 1, 5);
	sample(VMPROF_MODE_VMM_KERNEL, flags, 0xffffffff90000110, IO, GEN_KERNEL + 0x20, CR3_A, 0, 0, 6);
	sample(VMPROF_MODE_OTHER_KERNEL, VMPROF_SF_STEAL | VMPROF_SF_NESTED, 0xffffffff91000010, 0,
	       GEN_KERNEL + 0x30, CR3_A, 0, 0, 7);
	finish();
	assert_int_equal(vmp_model_open(&model, path), 0);
	assert_int_equal(wish((struct vmp_wishes){ 0 }), 0);
	assert_int_equal(profile->domains.v[0].why[VMP_WHY_NESTED], 35);
	render(0);
	says("        40   45.45  [app+0x1000]    app             app\n"
	     "        35   39.77  [nested guest]  [nested guest]  [unknown]\n");
	says("35 (46.67%) without function: a guest inside the guest\n");
	says_not("do_io");
	render(1);
	says("\"nested_guest\":35");
	options.view = VMP_VIEW_EXITS;
	assert_int_equal(wish((struct vmp_wishes){ 0 }), 0);
	render(0);
	says("         6    6.82             600  IOIO  [nested guest]  [nested guest]  [unknown]\n");
	says_not("do_io");
	options.view = VMP_VIEW_WAITERS;
	assert_int_equal(wish((struct vmp_wishes){ .columns = "samples,function,process" }), 0);
	render(0);
	says("         7  [nested guest]  [unknown]\n");
	says_not("do_io");
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* --capture FILE: write that capture, for tests that run the command */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		T(test_groups), T(test_columns), T(test_sort), T(test_limits), T(test_filter), T(test_wrong_wishes),
		T(test_tree), T(test_tree_sums), T(test_exits), T(test_steal), T(test_diff), T(test_window), T(test_width),
		T(test_colour), T(test_nested_guest), cmocka_unit_test(test_cut),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	if (argc == 3 && !strcmp(argv[1], "--capture")) {
		write_capture(argv[2]);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
