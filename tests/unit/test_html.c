// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_html.c - the data of vmprof report --html: sums, folding, and that no
 * name leaves its string.  Pages for the browser tests go to $O/pages.
 */
#include "gen.h"

#include <json-c/json.h>
#include <sys/stat.h>

#include "html/bundle.h"
#include "html/html.h"
#include "html/page.h"

#define CR3_A	0x5000000ULL
#define CR3_B	0x6000000ULL
#define EVIL_PATH "/usr/bin/</script><script>alert(1)</script><img src=x onerror=alert(2)>&amp;\xe2\x80\xa8\xff"

static char *dir, path[128];
static struct gen g;
static struct vmp_model *model;
static struct vmp_page *page;
static char *data;
static size_t data_len;
static json_object *json;

static int setup(void **state)
{
	(void)state;
	dir = gen_dir();
	snprintf(path, sizeof(path), "%s/a.vmprof", dir);
	setenv("VMPROF_OBJCACHE", dir, 1);
	gen_begin(&g, path);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	json_object_put(json);
	vmp_page_destroy(page);
	vmp_model_close(model);
	free(data);
	json = NULL;
	page = NULL;
	model = NULL;
	data = NULL;
	gen_rmdir(dir);
	return 0;
}

/* A guest whose one process has two functions of the kernel's, three vCPU exits, steal */
static void write_small(const char *comm, const char *file)
{
	struct vmprof_sample s = {
		.hdr = { VMPROF_REC_SAMPLE, sizeof(s), 0 }, .tsc = 2000, .host_pid = GEN_VM,
		.host_tid = GEN_VM + 1, .vm = GEN_VM, .vcpu_tid = GEN_VM + 1,
		.flags = VMPROF_SF_VCPU | VMPROF_SF_COUNTS, .mode = VMPROF_MODE_GUEST, .cpl = 3,
		.vendor = VMPROF_VENDOR_SVM, .guest_ip = 0x401000, .guest_cr3 = CR3_A, .exit_reason = 0x61,
		.cycles = 1000, .instructions = 499,
	};
	unsigned int i;

	gen_vm(&g, GEN_VM, "web<01>");
	gen_text(&g, VMPROF_CAP_HOST_KSYMS, 0, "ffffffff90000000 T svm_vcpu_run\t[kvm_amd]\nffffffff91000000 T end\n");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	gen_ksyms(&g, "ffffffff81000000 T do_</script><!--_64\nffffffff81001000 T end\n");
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, comm);
	gen_map(&g, 1600, CR3_A, 10, 0x400000, 0x500000, 0, 100, file);
	gen_agent_flush(&g, GEN_VM, 0);
	/* 499, 500, 1499, 4500, 9000 instructions in 1000 cycles: paces 0, 1, 1, 4, 4 */
	for (i = 0; i < 5; i++) {
		static const uint64_t done[] = { 499, 500, 1499, 4500, 9000 };

		s.instructions = done[i];
		gen_record(&g, &s, sizeof(s));
	}
	gen_guest(&g, GEN_VM, 1000000, CR3_A, 0, GEN_KERNEL, 10);
	gen_host(&g, GEN_VM, 1500000, VMPROF_MODE_VMM_KERNEL, VMPROF_SF_VCPU, 0x400, 0xffffffff90000010, 4);
	gen_host(&g, GEN_VM, 1500000, VMPROF_MODE_VMM_USER, 0, 0, 0x401000, 2);
	gen_host(&g, GEN_VM, 1999990, VMPROF_MODE_OTHER_USER, VMPROF_SF_STEAL, 0, 0x1000, 8);
	gen_host(&g, 0, 2000, VMPROF_MODE_IDLE, 0, 0, 0xffffffff91000010, 3);
	gen_records_flush(&g, 0, 2000, 2000000);
}

/* @n samples of a thread, on a vCPU */
static void thread(uint32_t tid, uint64_t cr3, uint8_t cpl, uint16_t vcpu, uint64_t instructions, unsigned int n)
{
	struct vmprof_sample s = gen_guest_sample(GEN_VM, 2100, cr3, cpl, cpl ? 0x401000 : GEN_KERNEL);

	s.flags |= VMPROF_SF_COUNTS;
	s.vcpu = vcpu;
	s.cycles = 1000;
	s.instructions = instructions;
	s.guest_task = tid == VMP_NONE ? VMPROF_TASK_NO_READ : VMPROF_TASK_KNOWN;
	s.guest_tid = tid == VMP_NONE ? 0 : tid;
	for (; n; n--) {
		if (g.records_len + sizeof(s) > sizeof(g.records))
			gen_records_flush(&g, 0, 2000, 3000);
		gen_record(&g, &s, sizeof(s));
	}
}

static void threads_begin(void)
{
	gen_vm(&g, GEN_VM, "web01");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	gen_tasks(&g, 1550, 0);
	gen_ksyms(&g, "ffffffff81000000 T do_io\nffffffff81001000 T end\n");
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "app");
	gen_map(&g, 1600, CR3_A, 10, 0x400000, 0x500000, 0, 100, "/usr/bin/app");
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_B, 20, 1, 0, "other");
	gen_agent_flush(&g, GEN_VM, 0);
}

/* A process with two threads and time of nobody's, a kernel thread on its CR3, a process without any */
static void write_threads(void)
{
	threads_begin();
	gen_task(&g, GEN_VM, 0, 2000, 10, 10, 0, "app");
	gen_task(&g, GEN_VM, 0, 2000, 11, 10, 0, "<b>worker</b>");
	gen_task(&g, GEN_VM, 0, 2000, 37, 37, VMPROF_TASK_KTHREAD, "kworker/0:1");
	thread(10, CR3_A, 3, 0, 100, 10);
	thread(11, CR3_A, 3, 0, 2000, 20);
	thread(11, CR3_A, 0, 1, 2000, 10);
	thread(37, CR3_A, 0, 1, 500, 8);
	thread(VMP_NONE, CR3_A, 3, 1, 100, 4);
	thread(VMP_NONE, CR3_B, 3, 1, 100, 5);
	gen_host(&g, GEN_VM, 2200, VMPROF_MODE_VMM_KERNEL, VMPROF_SF_VCPU, 0x400, 0xffffffff90000010, 3);
	gen_records_flush(&g, 0, 2000, 3000);
}

static void load(const char *domain)
{
	FILE *f;

	gen_end(&g);
	assert_int_equal(vmp_model_open(&model, path), 0);
	assert_int_equal(vmp_page_create(&page, model, domain), 0);
	f = open_memstream(&data, &data_len);
	assert_int_equal(vmp_page_data(f, page, path), 0);
	fclose(f);
	json = json_tokener_parse(data);
	assert_non_null(json);
}

/* json[a][b], an array */
static json_object *column(const char *a, const char *b)
{
	json_object *o, *c;

	assert_true(json_object_object_get_ex(json, a, &o));
	assert_true(json_object_object_get_ex(o, b, &c));
	return c;
}

static int64_t at(json_object *array, size_t i)
{
	assert_true(i < json_object_array_length(array));
	return json_object_get_int64(json_object_array_get_idx(array, i));
}

/* Samples of a side, from the rows or from the lanes */
static int64_t rows_of(int side)
{
	json_object *sides = column("rows", "side"), *samples = column("rows", "samples");
	int64_t sum = 0;
	size_t i;

	for (i = 0; i < json_object_array_length(sides); i++)
		sum += at(sides, i) == side ? at(samples, i) : 0;
	return sum;
}

static int64_t lanes_of(int side)
{
	json_object *lanes, *sides;
	int64_t sum = 0;
	size_t i, k;

	assert_true(json_object_object_get_ex(json, "lanes", &lanes));
	for (i = 0; i < json_object_array_length(lanes); i++) {
		json_object_object_get_ex(json_object_array_get_idx(lanes, i), "sides", &sides);
		sides = json_object_array_get_idx(sides, (size_t)side);
		for (k = 0; k < json_object_array_length(sides); k++)
			sum += at(sides, k);
	}
	return sum;
}

static int has_string(const char *s)
{
	json_object *strings;
	size_t i;

	json_object_object_get_ex(json, "strings", &strings);
	for (i = 0; i < json_object_array_length(strings); i++)
		if (!strcmp(json_object_get_string(json_object_array_get_idx(strings, i)), s))
			return 1;
	return 0;
}

static void test_sums(void **state)
{
	static const int64_t expected[] = { 10, 5, 6, 8 };
	json_object *domains, *total;
	int side;

	(void)state;
	write_small("app", "/usr/bin/app");
	load(NULL);
	for (side = 0; side < 4; side++) {
		assert_int_equal(rows_of(side), expected[side]);
		assert_int_equal(lanes_of(side), expected[side]);
	}
	json_object_object_get_ex(json, "domains", &domains);
	assert_int_equal(json_object_array_length(domains), 1);
	json_object_object_get_ex(json_object_array_get_idx(domains, 0), "total", &total);
	assert_int_equal(json_object_get_int64(total), 29);
	assert_true(has_string("NPF"));
	assert_true(has_string("svm_vcpu_run"));
	assert_int_equal(page->profile.others, 3);
	assert_int_equal(page->profile.domains.v[0].with_process, 15);
	assert_int_equal(page->profile.domains.v[0].by_nmi, 15);
}

static void test_paces(void **state)
{
	json_object *cycles;

	(void)state;
	write_small("app", "/usr/bin/app");
	load(NULL);
	cycles = column("paces", "cycles");
	assert_int_equal(json_object_array_length(cycles), VMP_PACES);
	assert_int_equal(at(cycles, 0), 1000);
	assert_int_equal(at(cycles, 1), 2000);
	assert_int_equal(at(cycles, 2), 0);
	assert_int_equal(at(cycles, 3), 0);
	assert_int_equal(at(cycles, 4), 2000);
}

/* $O/pages, so that a browser can open them; else the test's own folder */
static void write_html(const char *name)
{
	char file[512];
	const char *o = getenv("O");
	struct stat st;

	snprintf(file, sizeof(file), "%s/pages", o ? o : dir);
	mkdir(file, 0755);
	snprintf(file, sizeof(file), "%s/pages/%s", o ? o : dir, name);
	assert_int_equal(vmp_html_write(file, model, path, NULL), 0);
	assert_int_equal(stat(file, &st), 0);
	assert_true(st.st_size < 5000000);
	strcat(file, ".new");
	assert_int_equal(stat(file, &st), -1);
}

static const char *string_at(int64_t i)
{
	json_object *strings;

	json_object_object_get_ex(json, "strings", &strings);
	return json_object_get_string(json_object_array_get_idx(strings, (size_t)i));
}

/* Number of a thread of the page, by name and thread number */
static int64_t thread_of(const char *name, int64_t tid)
{
	json_object *names = column("threads", "name"), *tids = column("threads", "tid");
	size_t i;

	for (i = 0; i < json_object_array_length(names); i++)
		if (!strcmp(string_at(at(names, i)), name) && at(tids, i) == tid)
			return (int64_t)i;
	fail_msg("no thread %s %lld", name, (long long)tid);
	return 0;
}

/* Samples of a thread, -1 not known; of a process, if one is named */
static int64_t samples_of(int64_t thread, const char *proc)
{
	json_object *threads = column("rows", "thread"), *samples = column("rows", "samples");
	json_object *procs = column("rows", "proc"), *names = column("procs", "name");
	int64_t sum = 0;
	size_t i;

	for (i = 0; i < json_object_array_length(threads); i++)
		if (at(threads, i) == thread &&
		    (!proc || !strcmp(string_at(at(names, (size_t)at(procs, i))), proc)))
			sum += at(samples, i);
	return sum;
}

/* Cycles of a thread on a vCPU that went by at a pace */
static int64_t paces_of(int64_t thread, int64_t vcpu, size_t pace)
{
	json_object *threads = column("paces", "thread"), *vcpus = column("paces", "vcpu"), *cycles = column("paces", "cycles");
	int64_t sum = 0;
	size_t i;

	for (i = 0; i < json_object_array_length(threads); i++)
		if (at(threads, i) == thread && at(vcpus, i) == vcpu)
			sum += at(cycles, i * VMP_PACES + pace);
	return sum;
}

static void test_threads(void **state)
{
	int64_t worker;

	(void)state;
	write_threads();
	load(NULL);
	worker = thread_of("<b>worker</b>", 11);
	assert_int_equal(json_object_array_length(column("threads", "tid")), 3);
	assert_int_equal(samples_of(thread_of("app", 10), "app"), 10);
	assert_int_equal(samples_of(worker, "app"), 30);
	assert_int_equal(samples_of(thread_of("[kworker/0:1]", 37), "[kworker/0:1]"), 8);
	assert_int_equal(samples_of(-1, "app"), 4);
	assert_int_equal(samples_of(-1, "other"), 5);
	assert_int_equal(samples_of(-1, "[VMM]"), 3);
	assert_int_equal(paces_of(worker, 0, 2), 20000);
	assert_int_equal(paces_of(worker, 1, 2), 10000);
	assert_int_equal(paces_of(-1, 1, 0), 9000);
	if (vmp_html_built_in())
		write_html("threads.html");
}

/* Small threads of one name are one entry; more names than there is room for are one of their process */
static void test_fold_threads(void **state)
{
	enum { POOL = 2000, NAMES = 2500, BIG = 50000 };
	json_object *counts;
	int64_t sum = 0;
	char comm[16];
	unsigned int i;
	size_t k;

	(void)state;
	threads_begin();
	for (i = 0; i < POOL + NAMES; i++) {
		snprintf(comm, sizeof(comm), i < POOL ? "pool" : "thr%u", i);
		if (g.records_len + sizeof(struct vmprof_rec_task) > sizeof(g.records))
			gen_records_flush(&g, 0, 2000, 3000);
		gen_task(&g, GEN_VM, 0, 2000, 1000 + i, 10, 0, comm);
		thread(1000 + i, CR3_A, 3, 0, 100, 1);
	}
	gen_task(&g, GEN_VM, 0, 2000, 10, 10, 0, "app");
	thread(10, CR3_A, 3, 0, 100, BIG);
	/* what is too small for a process of its own has no threads */
	gen_task(&g, GEN_VM, 0, 2000, 20, 20, 0, "other");
	thread(20, CR3_B, 3, 0, 100, 1);
	gen_records_flush(&g, 0, 2000, 3000);
	load(NULL);
	counts = column("threads", "count");
	assert_int_equal(json_object_array_length(counts), 1001);
	for (k = 0; k < json_object_array_length(counts); k++)
		sum += at(counts, k);
	assert_int_equal(sum, 1 + POOL + NAMES);
	assert_int_equal(at(counts, (size_t)thread_of("pool", -1)), POOL);
	assert_int_equal(samples_of(thread_of("pool", -1), "app"), POOL);
	assert_int_equal(samples_of(thread_of("app", 10), "app"), BIG);
	assert_int_equal(samples_of(thread_of("[smaller threads]", -1), "app"), NAMES - 998);
	assert_int_equal(samples_of(-1, "other"), 1);
	assert_int_equal(rows_of(1), BIG + POOL + NAMES + 1);
}

static void test_domain(void **state)
{
	(void)state;
	write_small("app", "/usr/bin/app");
	load("db*");
	assert_int_equal(page->profile.domains.nr, 0);
	assert_int_equal(json_object_array_length(column("rows", "proc")), 0);
	assert_int_equal(vmp_html_write("-", model, path, "db*"), -ESRCH);
}

/* No byte of a name can end the script element that the data stands in. */
static void test_hostile(void **state)
{
	size_t i;

	(void)state;
	write_small("<img src=x one>", EVIL_PATH);
	load(NULL);
	for (i = 0; i < data_len; i++)
		if (strchr("<>&", data[i]) && data[i])
			fail_msg("'%c' at %zu: %.40s", data[i], i, data + i);
	assert_null(memmem(data, data_len, "\xe2\x80\xa8", 3));
	assert_null(memmem(data, data_len, "\xff", 1));
	assert_true(has_string("<img src=x one>"));
	assert_true(has_string("do_</script><!--_64"));
}

static void need_page(void)
{
	if (vmp_html_built_in())
		return;
	if (g.w)
		gen_end(&g);
	skip();
}

static void test_hostile_page(void **state)
{
	(void)state;
	need_page();
	write_small("<img src=x one>", EVIL_PATH);
	load(NULL);
	write_html("hostile.html");
}

static void test_bundle(void **state)
{
	const char *html, *mark;
	size_t len;

	(void)state;
	need_page();
	html = vmp_html_bundle(&len);
	mark = memmem(html, len, VMP_HTML_MARK, strlen(VMP_HTML_MARK));
	assert_non_null(mark);
	mark++;
	assert_null(memmem(mark, (size_t)(html + len - mark), VMP_HTML_MARK, strlen(VMP_HTML_MARK)));
	assert_non_null(memmem(html, len, "default-src 'none'", 18));
}

static void test_unwritable(void **state)
{
	char file[256];

	(void)state;
	need_page();
	write_small("app", "/usr/bin/app");
	load(NULL);
	snprintf(file, sizeof(file), "%s/no/such/folder.html", dir);
	assert_int_equal(vmp_html_write(file, model, path, NULL), -ENOENT);
	assert_int_equal(vmp_html_write(dir, model, path, NULL), -EISDIR);
}

/* More processes, threads and functions than anybody can look at: it stays small, and nothing gets lost. */
static void test_fold(void **state)
{
	enum { PROCS = 6000, FUNCTIONS = 20000, THREADS = 3 };	/* of each process */
	struct vmprof_sample s = {
		.hdr = { VMPROF_REC_SAMPLE, sizeof(s), 0 }, .host_pid = GEN_VM, .host_tid = GEN_VM + 1, .vm = GEN_VM,
		.vcpu_tid = GEN_VM + 1, .flags = VMPROF_SF_VCPU | VMPROF_SF_COUNTS, .mode = VMPROF_MODE_GUEST,
		.vendor = VMPROF_VENDOR_SVM, .exit_reason = 0x61, .cycles = 1000000, .instructions = 700000,
		.guest_task = VMPROF_TASK_KNOWN,
	};
	char *ksyms = malloc(FUNCTIONS * 120), comm[16];
	size_t len = 0;
	unsigned int i;

	(void)state;
	gen_vm(&g, GEN_VM, "big");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	for (i = 0; i < FUNCTIONS; i++)
		len += (size_t)sprintf(ksyms + len, "ffffffff%08x T a_rather_long_name_of_a_function<with_brackets<%u>>\n",
				       0x81000000 + 256 * i, i);
	for (i = 0; i < len;) {
		struct vmprof_ksyms k = { .offset = i, .total = len };
		size_t n = len - i < 30000 ? len - i : 30000;

		gen_frame(&g, VMPROF_MSG_KSYMS, &k, sizeof(k), ksyms + i, n);
		i += n;
		if (g.agent_len > sizeof(g.agent) / 2)
			gen_agent_flush(&g, GEN_VM, 0);
	}
	free(ksyms);
	for (i = 0; i < PROCS; i++) {
		snprintf(comm, sizeof(comm), "app%u", i % 5500);
		gen_proc(&g, VMPROF_MSG_PROC, 1600, 0x10000000ULL + 4096ULL * i, 100 + i, 1, 0, comm);
		if (g.agent_len > sizeof(g.agent) / 2)
			gen_agent_flush(&g, GEN_VM, 0);
	}
	gen_tasks(&g, 1700, 0);
	gen_agent_flush(&g, GEN_VM, 0);
	for (i = 0; i < PROCS * THREADS; i++) {
		snprintf(comm, sizeof(comm), "thread%u", i % THREADS);
		if (g.records_len + sizeof(struct vmprof_rec_task) > sizeof(g.records))
			gen_records_flush(&g, 0, 1800, 1800);
		gen_task(&g, GEN_VM, 0, 1800, 100000 + i, 100 + i / THREADS, 0, comm);
	}
	for (i = 0; i < 120000; i++) {
		/* a few do much, many do little */
		unsigned int n = i * 2654435761U >> 8, proc = n / 11 % (n % 3 ? 20 : PROCS);

		s.tsc = 2000 + 10000ULL * i;
		s.vcpu = n % 4;
		s.cpl = 0;
		s.guest_ip = 0xffffffff81000000ULL + 256ULL * (n / 7 % (n % 5 ? 3000 : FUNCTIONS)) + 16;
		s.guest_cr3 = 0x10000000ULL + 4096ULL * proc;
		s.guest_tid = 100000 + THREADS * proc + (n >> 5) % THREADS;
		gen_record(&g, &s, sizeof(s));
		if (g.records_len + sizeof(s) > sizeof(g.records))
			gen_records_flush(&g, 0, 2000, s.tsc);
	}
	gen_records_flush(&g, 0, 2000, s.tsc);
	load(NULL);
	assert_int_equal(rows_of(0), 120000);
	assert_int_equal(lanes_of(0), 120000);
	assert_true(json_object_array_length(column("rows", "proc")) < 70000);
	assert_true(json_object_array_length(column("procs", "pid")) <= 4001);
	assert_in_range(json_object_array_length(column("threads", "tid")), 60, 1300);
	assert_true(has_string("[smaller functions]"));
	assert_true(has_string("[smaller processes]"));
	assert_true(data_len < 4900000);
	if (vmp_html_built_in())
		write_html("big.html");
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_sums), T(test_paces), T(test_threads), T(test_fold_threads), T(test_domain), T(test_hostile), T(test_hostile_page),
		cmocka_unit_test(test_bundle), T(test_unwritable), T(test_fold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
