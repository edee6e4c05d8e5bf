// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_export.c - the table behind the exports, its order of time, packing, and that
 * no format lets a guest's bytes through.
 *
 *   test_export --capture FILE    write the hostile capture, for export.t
 */
#include "gen.h"

#include <errno.h>
#include <locale.h>
#include <zlib.h>
#include <zstd.h>

#include "model/decode.h"
#include "export/format.h"
#include "export/insn.h"
#include "export/order.h"
#include "export/out.h"
#include "export/spool.h"
#include "util/text.h"

#define CR3_A	0x5000000ULL
#define CR3_B	0x6000000ULL
#define CR3_C	0x7000000ULL
#define LIB	0x7f0000000000ULL

static char *dir, path[128];
static struct gen g;
static struct vmp_model *model;
static struct vmp_table *table;
static struct vmp_choice choice;
static char *output;
static size_t output_len;

static void counted(uint32_t vm, uint64_t tsc, uint64_t cr3, uint64_t ip, uint32_t pcpu)
{
	struct vmprof_sample s = {
		.hdr = { VMPROF_REC_SAMPLE, sizeof(s), pcpu }, .tsc = tsc, .host_pid = vm,
		.host_tid = vm + 1, .vm = vm, .vcpu_tid = vm + 1, .vcpu = pcpu,
		.flags = VMPROF_SF_VCPU | VMPROF_SF_LONG_MODE | VMPROF_SF_COUNTS,
		.mode = VMPROF_MODE_GUEST, .cpl = 3, .vendor = VMPROF_VENDOR_SVM,
		.guest_ip = ip, .guest_cr3 = cr3, .exit_reason = 0x61,
		.cycles = 1000, .instructions = 400,
	};

	gen_record(&g, &s, sizeof(s));
}

/* What the sessions of these tests sampled */
static const char *event = "cycles";
static unsigned int period = 1000000;

/*
 * web01: two processes "app" (pid 10, 20) run the same file at different addresses
 * on two vCPUs, each a ring of its own; the VMM works; a thread steals.
 * web02 has one process of a name of its own.
 */
static void write_capture(void)
{
	gen_begin_event(&g, path, event, period);
	gen_vm(&g, GEN_VM, "web01");
	gen_vm(&g, 2000, "web02");
	gen_text(&g, VMPROF_CAP_HOST_KSYMS, 0,
		 "ffffffff90000000 T svm_vcpu_run\t[kvm_amd]\nffffffff90000100 T end\t[kvm_amd]\n");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	gen_ksyms(&g, "ffffffff81000000 T do_syscall_64\nffffffff81001000 T end\n");
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "app");
	gen_map(&g, 1600, CR3_A, 10, LIB, LIB + 0x10000, 0x2000, 100, "/usr/lib/libapp.so");
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_B, 20, 1, 0, "app");
	gen_map(&g, 1600, CR3_B, 20, LIB + 0x100000, LIB + 0x110000, 0x2000, 100, "/usr/lib/libapp.so");
	gen_agent_flush(&g, GEN_VM, 0);
	gen_clock(&g, 2000);
	gen_hello(&g, 1500, 2, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_C, 30, 1, 0, "secret");
	gen_map(&g, 1600, CR3_C, 30, LIB, LIB + 0x10000, 0, 7, "/opt/secret.so");
	gen_agent_flush(&g, 2000, 0);
	/* pCPU 1's block lies before pCPU 0's, though it is younger */
	counted(GEN_VM, 2500, CR3_B, LIB + 0x100123, 1);
	counted(GEN_VM, 3500, CR3_B, LIB + 0x100123, 1);
	gen_records_flush(&g, 1, 2500, 3500);
	counted(GEN_VM, 2000, CR3_A, LIB + 0x123, 0);
	counted(GEN_VM, 3000, CR3_A, LIB + 0x456, 0);
	counted(2000, 3100, CR3_C, LIB + 0x10, 0);
	gen_host(&g, GEN_VM, 3200, VMPROF_MODE_VMM_KERNEL, VMPROF_SF_VCPU, 0x400, 0xffffffff90000010, 2);
	gen_host(&g, GEN_VM, 3300, VMPROF_MODE_OTHER_USER, VMPROF_SF_STEAL, 0, 0x1000, 1);
	gen_host(&g, 0, 3400, VMPROF_MODE_IDLE, 0, 0, 0xffffffff90000010, 1);
	gen_records_flush(&g, 0, 2000, 3400);
}

/* A guest that has it in for whoever opens the export; names are hostile up to 4 kB */
static const char *const evil[] = {
	"<img src=x onerror=alert(1)>", "=cmd|' /C calc'!A0", "+1", "-2", "@SUM(A1)", "a;b;c", "a\nb\r\nc 7",
	"\033]0;owned\007\033[2J", "\xff\xfe\xc0\xaf\xed\xa0\x80", "\xc2\x9b" "31m", "\"quoted\",\\", "]]>&amp;<!--",
	"\xe2\x80\xae" "gnp.exe", "\xef\xbf\xbe\xef\xbf\xbf", "%s%n%x", "${jndi:x}",
};

#define NR_EVIL	(sizeof(evil) / sizeof(evil[0]))

static void write_hostile(void)
{
	char name[4096], ksyms[512] = "";
	size_t i;

	gen_begin(&g, path);
	gen_vm(&g, GEN_VM, "<img src=x onerror=alert(2)>\\u001b[31m;=1");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	snprintf(ksyms, sizeof(ksyms), "ffffffff81000000 T <script>;=\033[1m\xff\nffffffff81001000 T end\n");
	gen_ksyms(&g, ksyms);
	gen_tasks(&g, 1550, 0);
	for (i = 0; i < 2 * NR_EVIL; i++) {
		uint64_t cr3 = CR3_A + (i << 16);
		uint32_t pid = 100 + (uint32_t)i;
		size_t n = (size_t)snprintf(name, sizeof(name), "/lib/%s", evil[i % NR_EVIL]);

		if (i >= NR_EVIL)	/* the same again and again, up to the limit of a path */
			while (n + strlen(evil[i % NR_EVIL]) + 1 < sizeof(name))
				n += (size_t)sprintf(name + n, "%s", evil[i % NR_EVIL]);
		gen_proc(&g, VMPROF_MSG_PROC, 1600, cr3, pid, 1, 0, evil[i % NR_EVIL]);
		gen_map(&g, 1600, cr3, pid, LIB, LIB + 0x10000, 0, 200 + i, name);
		if (i % 8 == 7)
			gen_agent_flush(&g, GEN_VM, 0);
	}
	for (i = 0; i < 2 * NR_EVIL; i++) {
		counted(GEN_VM, 2000 + 10 * i, CR3_A + (i << 16), LIB + 0x40, 0);
		gen_guest(&g, GEN_VM, 2005 + 10 * i, CR3_A + (i << 16), 0, GEN_KERNEL, 1);
	}
	for (i = 0; i < NR_EVIL; i++) {
		gen_task(&g, GEN_VM, 0, 3000 + i, 500 + (uint32_t)i, 100 + (uint32_t)i,
			 i % 2 ? VMPROF_TASK_KTHREAD : 0, evil[i]);
		gen_thread(&g, GEN_VM, 3000 + i, CR3_A + (i << 16), 0, GEN_KERNEL, 500 + (uint32_t)i);
	}
	gen_records_flush(&g, 0, 2000, 4000);
	gen_end(&g);
}

static int setup(void **state)
{
	(void)state;
	dir = gen_dir();
	snprintf(path, sizeof(path), "%s/a.vmprof", dir);
	setenv("VMPROF_OBJCACHE", dir, 1);
	choice = (struct vmp_choice){ .vcpu = -1, .pid = -1, .samples = 1 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vmp_table_destroy(table);
	vmp_model_close(model);
	free(output);
	table = NULL;
	model = NULL;
	output = NULL;
	gen_rmdir(dir);
	return 0;
}

/* Two threads of "app", one of the kernel's on its CR3 */
static void write_threads(void)
{
	gen_begin(&g, path);
	gen_vm(&g, GEN_VM, "web01");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	gen_tasks(&g, 1550, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "app");
	gen_agent_flush(&g, GEN_VM, 0);
	gen_task(&g, GEN_VM, 0, 2000, 11, 10, 0, "worker-a");
	gen_thread(&g, GEN_VM, 2000, CR3_A, 3, 0x401000, 11);
	gen_task(&g, GEN_VM, 0, 2100, 12, 10, 0, "worker-b");
	gen_thread(&g, GEN_VM, 2100, CR3_A, 3, 0x401000, 12);
	gen_task(&g, GEN_VM, 0, 2200, 37, 37, VMPROF_TASK_KTHREAD, "kworker/0:1");
	gen_thread(&g, GEN_VM, 2200, CR3_A, 0, GEN_KERNEL, 37);
	gen_records_flush(&g, 0, 2000, 2200);
	gen_end(&g);
}

static void write_as(const char *format, int indent);

/* Sums that threads counted are those of single samples, in every format */
static void same_sums(void)
{
	static const char *const all[] = { "pprof", "folded", "speedscope", "csv", "json", "xml" };
	char *wanted[6];
	size_t len[6], i;

	for (i = 0; i < 6; i++) {
		write_as(all[i], 0);
		wanted[i] = output;
		len[i] = output_len;
		output = NULL;
	}
	vmp_table_destroy(table);
	choice.samples = 0;
	assert_int_equal(vmp_table_create(&table, model, &choice), 0);
	choice.samples = 1;
	for (i = 0; i < 6; i++) {
		write_as(all[i], 0);
		assert_int_equal(output_len, len[i]);
		assert_memory_equal(output, wanted[i], len[i]);
		free(wanted[i]);
	}
	vmp_table_destroy(table);
	assert_int_equal(vmp_table_create(&table, model, &choice), 0);
}

static void load(void)
{
	if (!model)
		assert_int_equal(vmp_model_open(&model, path), 0);
	vmp_table_destroy(table);
	assert_int_equal(vmp_table_create(&table, model, &choice), 0);
	same_sums();
}

static void write_as(const char *format, int indent)
{
	struct vmp_format_options o = { .indent = indent };
	FILE *f;

	free(output);
	f = open_memstream(&output, &output_len);
	assert_int_equal(vmp_format_find(format)->write(f, table, &o), 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(o.losses.late, 0);
}

#define says(text)	gen_says(output, text)
#define says_not(text)	gen_says_not(output, text)

static void test_table(void **state)
{
	const struct vmp_table_domain *d;

	(void)state;
	write_capture();
	gen_end(&g);
	load();
	assert_int_equal(table->domains.nr, 2);
	d = &table->domains.v[0];
	assert_int_equal(d->side[VMP_SIDE_USER], 4);
	assert_int_equal(d->side[VMP_SIDE_VMM], 2);
	assert_int_equal(d->side[VMP_SIDE_STEAL], 1);
	assert_int_equal(d->sum.samples, 7);
	assert_int_equal(d->sum.cycles, 4000);
	assert_int_equal(d->sum.instructions, 1600);
	assert_int_equal(table->counted, 1);
	/* app 10 in two functions, app 20 at one that is one of them, VMM, steal, secret */
	assert_int_equal(table->lines.nr, 6);
	assert_int_equal(table->tracks.nr, 3);
	write_as("folded", 0);
	assert_string_equal(output,
		"web01;[steal];(outside);[steal] 1\n"
		"web01;[VMM];[kvm_amd];svm_vcpu_run 2\n"
		"web01;app;libapp.so;[libapp.so+0x2123] 3\n"
		"web01;app;libapp.so;[libapp.so+0x2456] 1\n"
		"web02;secret;secret.so;[secret.so+0x10] 1\n");
	write_as("csv", 0);
	says("web01,vCPU 1,20,app,guest_user,,libapp.so,,0x2123,[libapp.so+0x2123],2,2000,800\r\n");
	says("web01,vCPU 0,,[VMM],vmm,NPF,[kvm_amd],,0xffffffff90000010,svm_vcpu_run,2,0,0\r\n");
}

static void test_filters(void **state)
{
	static const char *const all[] = { "pprof", "folded", "speedscope", "gecko", "chrome", "perf-script",
					   "csv", "json", "xml" };
	size_t i;

	(void)state;
	write_capture();
	gen_end(&g);
	choice.addresses = 1;
	/* what is given to somebody for one domain tells nothing of another */
	choice.domain = "web01";
	load();
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		write_as(all[i], 0);
		assert_null(memmem(output, output_len, "secret", 6));
		assert_null(memmem(output, output_len, "web02", 5));
		assert_non_null(memmem(output, output_len, "web01", 5));
	}
	choice.domain = NULL;
	choice.pid = 20;
	load();
	write_as("folded", 0);
	assert_string_equal(output, "web01;app;libapp.so;[libapp.so+0x2123] 2\n");
	choice.pid = -1;
	choice.vcpu = 1;
	load();
	write_as("folded", 0);
	assert_string_equal(output, "web01;app;libapp.so;[libapp.so+0x2123] 2\n");
	choice.vcpu = -1;
	choice.comm = "sec*";
	load();
	write_as("folded", 0);
	assert_string_equal(output, "web02;secret;secret.so;[secret.so+0x10] 1\n");
	choice.comm = NULL;
	choice.all_host = 1;
	load();
	write_as("folded", 0);
	says("[host];[idle];[host kernel];[idle] 1\n");
	choice.domain = "nobody";
	choice.all_host = 0;
	load();
	assert_int_equal(table->lines.nr, 0);
	write_as("gecko", 0);
	says("\"threads\":[]}");
	write_as("chrome", 0);
	says("\"traceEvents\":[\n]}");
	write_as("xml", 0);
	says("seconds=\"0.000002\"/>\n");
}

/* Two addresses of one function are one row, by the lower; asked for, two */
static void test_addresses(void **state)
{
	(void)state;
	gen_begin(&g, path);
	gen_vm(&g, GEN_VM, "web01");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	gen_ksyms(&g, "ffffffff81000000 T do_syscall_64\nffffffff81001000 T end\n");
	gen_agent_flush(&g, GEN_VM, 0);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 0, GEN_KERNEL + 8, 3);
	gen_guest(&g, GEN_VM, 2100, CR3_A, 0, GEN_KERNEL + 4, 2);
	gen_records_flush(&g, 0, 2000, 2200);
	gen_end(&g);
	load();
	write_as("csv", 0);
	says("vmlinux,,0xffffffff81000004,do_syscall_64,5,0,0\r\n");
	choice.addresses = 1;
	load();
	write_as("csv", 0);
	says("vmlinux,,0xffffffff81000004,do_syscall_64,2,0,0\r\n");
	says("vmlinux,,0xffffffff81000008,do_syscall_64,3,0,0\r\n");
}

/* @n samples of a thread of "app" on a vCPU, 1 ms each; tid 0: nobody knows of which */
static void on_vcpu(uint32_t tid, uint16_t vcpu, unsigned int n)
{
	struct vmprof_sample s = gen_guest_sample(GEN_VM, 2300, CR3_A, 3, 0x401000);

	s.vcpu = vcpu;
	s.guest_task = tid ? VMPROF_TASK_KNOWN : VMPROF_TASK_NO_READ;
	s.guest_tid = tid;
	for (; n; n--)
		gen_record(&g, &s, sizeof(s));
}

/* A process has its threads, each spread over vCPUs; what is nobody's goes by vCPU */
static void test_xml_threads(void **state)
{
	char *process, *end;

	(void)state;
	gen_begin(&g, path);
	gen_vm(&g, GEN_VM, "web01");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	gen_tasks(&g, 1550, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "app");
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_B, 20, 1, 0, "other");
	gen_agent_flush(&g, GEN_VM, 0);
	gen_task(&g, GEN_VM, 0, 2000, 11, 10, 0, "worker-a");
	gen_task(&g, GEN_VM, 0, 2000, 12, 10, 0, "worker-b");
	on_vcpu(11, 0, 3);
	on_vcpu(11, 1, 1);
	on_vcpu(12, 1, 2);
	on_vcpu(0, 1, 1);
	gen_guest(&g, GEN_VM, 2400, CR3_B, 3, 0x401000, 2);
	gen_host(&g, GEN_VM, 2500, VMPROF_MODE_VMM_KERNEL, VMPROF_SF_VCPU, 0x400, 0xffffffff90000010, 2);
	gen_records_flush(&g, 0, 2000, 2500);
	gen_end(&g);
	choice.threads = 1;
	load();
	write_as("xml", 1);
	/* the domain's own threads are its vCPUs */
	says("<process id=\"1000\" name=\"web01\" kind=\"domain\">\n    <thread id=\"0\" name=\"vCPU 0\" kind=\"vcpu\">");
	says("<process id=\"20\" name=\"other\" kind=\"guest-process\" domain=\"web01\">\n    <thread id=\"0\" name=\"vCPU 0\" kind=\"vcpu\">");
	write_as("xml", 0);
	process = strstr(output, "<process id=\"10\"");
	assert_non_null(process);
	end = strstr(process, "</process>");
	assert_non_null(end);
	*end = 0;
	memmove(output, process, strlen(process) + 1);
	says("\"web01\"><thread id=\"11\" name=\"worker-a\" kind=\"guest-thread\"><category name=\"performance\">"
	     "<item name=\"execution_time\"><data unit=\"sec\">0.004000</data></item>");
	says("<item name=\"time_balance\"><data unit=\"percent\">100.000000</data></item></category>"
	     "<category name=\"vcpu_balance\"><item name=\"vCPU 0\"><data unit=\"sec\">0.003000</data>"
	     "<item name=\"time_balance\"><data unit=\"percent\">100.000000</data></item></item>"
	     "<item name=\"vCPU 1\"><data unit=\"sec\">0.001000</data>"
	     "<item name=\"time_balance\"><data unit=\"percent\">33.333333</data></item></item></category></thread>"
	     "<thread id=\"12\" name=\"worker-b\" kind=\"guest-thread\">");
	says("<category name=\"load_balance\"><item name=\"time_balance\"><data unit=\"percent\">50.000000</data></item></category>"
	     "<category name=\"vcpu_balance\"><item name=\"vCPU 1\"><data unit=\"sec\">0.002000</data>"
	     "<item name=\"time_balance\"><data unit=\"percent\">100.000000</data></item></item></category></thread>"
	     "<thread id=\"1\" name=\"vCPU 1\" kind=\"vcpu\">");
	says("<category name=\"load_balance\"><item name=\"time_balance\"><data unit=\"percent\">25.000000</data></item></category></thread>");
}

/* app 20: two samples of 500 events each in 2000 cycles, which are 2 us, and 800 instructions */
static void sampled(const char *name, int lines)
{
	char *process, item[128];

	event = name;
	period = 500;
	write_capture();
	gen_end(&g);
	event = "cycles";
	period = 1000000;
	load();
	write_as("xml", 0);
	process = strstr(output, "<process id=\"20\"");
	assert_non_null(process);
	memmove(output, process, strlen(process) + 1);
	*strstr(output, "</process>") = 0;
	says("<item name=\"execution_time\"><data unit=\"sec\">0.000002</data></item>");
	snprintf(item, sizeof(item), "<category name=\"events\"><item name=\"%s\"><data unit=\"counts\"/>", name);
	says(item);
	says("<item name=\"event_counts\"><data unit=\"counts\">1000</data></item>"
	     "<item name=\"event_rate\"><data unit=\"counts/sec\">500000000.000000</data></item>"
	     "<item name=\"event_per_instruction\"><data unit=\"percent\">125.000000</data></item>");
	if (lines)
		says("<item name=\"memory_throughput\"><data unit=\"MB/sec\">32000.000000</data></item>");
	else
		says_not("memory_throughput");
	vmp_table_destroy(table);
	vmp_model_close(model);
	table = NULL;
	model = NULL;
}

static void test_xml_events(void **state)
{
	(void)state;
	sampled("cache-misses", 1);
	sampled("LLC-LOAD-MISSES", 1);
	sampled("cache-references", 0);
	write_capture();
	gen_end(&g);
	load();
	write_as("xml", 0);
	says_not("category name=\"events\"");
}

static void test_order_of_time(void **state)
{
	(void)state;
	write_capture();
	gen_end(&g);
	choice.addresses = 1;
	load();
	write_as("perf-script", 0);
	assert_memory_equal(output, "web01:app    10 [000]     0.000001000:    1000000 cycles:\n"
				    "\t    7f0000000123 [libapp.so+0x2123] (/usr/lib/libapp.so)\n\n"
				    "web01:app    20 [001]     0.000001500:", 155);
	says("web01:[VMM]  1000 [000]     0.000002200:    1000000 cycles:\n"
	     "\tffffffff90000010 svm_vcpu_run ([kvm_amd])\n");
	write_as("chrome", 0);
	/* one slice of two samples for the VMM, cut where the thief begins */
	says("\"name\":\"svm_vcpu_run\",\"cat\":\"vmm\",\"ts\":2.200,\"dur\":0.100,"
	     "\"args\":{\"samples\":2,\"module\":\"[kvm_amd]\",\"exit_reason\":\"NPF\"}}");
	says("\"name\":\"app\",\"cat\":\"process\",\"ts\":1.000,\"dur\":1.200,\"args\":{\"samples\":2,\"pid\":10}}");
	write_as("gecko", 0);
	says("\"data\":[\n[1,0.001500,0],\n[1,0.002500,0]]}}");
}

/* With threads there is a task for each; without, processes are told apart and nothing else */
static void test_threads(void **state)
{
	(void)state;
	write_threads();
	load();
	assert_int_equal(table->tasks.nr, 2);
	assert_string_equal(vmp_table_str(table, table->tasks.v[0].comm), "[kworker/0:1]");
	assert_string_equal(vmp_table_str(table, table->tasks.v[1].comm), "app");
	assert_int_equal(table->lines.nr, 2);
	choice.threads = 1;
	choice.addresses = 1;
	load();
	assert_int_equal(table->tasks.nr, 3);
	assert_int_equal(table->tasks.v[1].tid, 11);
	assert_int_equal(table->tasks.v[2].tid, 12);
	assert_string_equal(vmp_table_str(table, table->tasks.v[2].thread), "worker-b");
	write_as("perf-script", 0);
	says("web01:app    10/11 [000]     0.000001000:");
	says("web01:app    10/12 [000]     0.000001100:");
	says("web01:[kworker/0:1]    37/37 [000]     0.000001200:");
	write_as("pprof", 0);
	assert_non_null(memmem(output, output_len, "thread_name", 11));
	assert_non_null(memmem(output, output_len, "worker-b", 8));
}

/* Idle tasks borrow a process's address space: their time is theirs, also where only one of both is asked for */
static void test_idle(void **state)
{
	static const char app[] = "web01:app    10 [000]     0.000001000:    1000000 cycles:\n\tffffffff81000000 do_io (vmlinux)\n\n";
	static const char idle[] = "web01:swapper     0 [000]     0.000001100:    1000000 cycles:\n"
				   "\tffffffff81000100 default_idle (vmlinux)\n\n";
	char both[512];

	(void)state;
	gen_begin(&g, path);
	gen_vm(&g, GEN_VM, "web01");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	gen_ksyms(&g, "ffffffff81000000 T do_io\nffffffff81000100 T default_idle\nffffffff81001000 T end\n");
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "app");
	gen_agent_flush(&g, GEN_VM, 0);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 0, GEN_KERNEL, 1);
	gen_guest(&g, GEN_VM, 2100, CR3_A, 0, GEN_KERNEL + 0x100, 1);
	gen_records_flush(&g, 0, 2000, 2100);
	gen_end(&g);
	snprintf(both, sizeof(both), "%s%s", app, idle);
	load();
	write_as("perf-script", 0);
	assert_string_equal(output, both);
	choice.comm = "swapper";
	load();
	write_as("perf-script", 0);
	assert_string_equal(output, idle);
	choice.comm = "app";
	load();
	write_as("perf-script", 0);
	assert_string_equal(output, app);
	choice.comm = NULL;
	choice.pid = 0;
	load();
	write_as("perf-script", 0);
	assert_string_equal(output, idle);
}

/* One process in two cgroups of its life: two rows, where they are shown */
static void test_containers(void **state)
{
	(void)state;
	gen_begin(&g, path);
	gen_vm(&g, GEN_VM, "web01");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	gen_proc_in(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "app", 4, "/a\033");
	gen_proc_in(&g, VMPROF_MSG_EXEC, 3000, CR3_B, 10, 1, 0, "app", 4, "/b");
	gen_agent_flush(&g, GEN_VM, 0);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, 0x401000, 2);
	gen_guest(&g, GEN_VM, 3500, CR3_B, 3, 0x401000, 3);
	gen_records_flush(&g, 0, 2000, 4000);
	gen_end(&g);
	load();
	assert_int_equal(table->tasks.nr, 1);
	write_as("json", 0);
	says_not("nspid");
	choice.containers = 1;
	load();
	assert_int_equal(table->tasks.nr, 2);
	write_as("json", 0);
	says("\"pid\":10,\"nspid\":4,\"cgroup\":\"/a\\u001b\",\"process\":\"app\"");
	says("\"pid\":10,\"nspid\":4,\"cgroup\":\"/b\",");
}

/* A vCPU that was not sampled for a while did something else, or nothing */
static void test_gap(void **state)
{
	(void)state;
	gen_begin(&g, path);
	gen_vm(&g, GEN_VM, "web01");
	gen_guest(&g, GEN_VM, 1001000, CR3_A, 0, GEN_KERNEL, 1);
	gen_guest(&g, GEN_VM, 2001000, CR3_A, 0, GEN_KERNEL, 1);
	gen_guest(&g, GEN_VM, 9001000, CR3_A, 0, GEN_KERNEL, 1);
	gen_records_flush(&g, 0, 1001000, 9001000);
	gen_end(&g);
	load();
	write_as("chrome", 0);
	says("\"name\":\"[guest kernel]\",\"cat\":\"guest_kernel\",\"ts\":1000.000,\"dur\":2500.000,\"args\":{\"samples\":2,");
	says("\"name\":\"[guest kernel]\",\"cat\":\"guest_kernel\",\"ts\":9000.000,\"dur\":1500.000,\"args\":{\"samples\":1,");
}

struct got {
	uint64_t last;
	uint32_t line, nr, wrong;
};

static int add(struct vmp_order *o, uint64_t tsc, uint32_t line)
{
	const struct vmp_moment m = { .tsc = tsc, .line = line };

	return vmp_order_add(o, &m);
}

static int on_moment(void *arg, const struct vmp_moment *m)
{
	struct got *got = arg;

	got->wrong += m->tsc < got->last || (m->tsc == got->last && m->line < got->line);
	got->last = m->tsc;
	got->line = m->line;
	got->nr++;
	return 0;
}

static void test_order(void **state)
{
	struct got got = { 0 };
	struct vmp_order o;
	uint32_t i;

	(void)state;
	vmp_order_init(&o, on_moment, &got);
	/* two rings, each in order, one behind the other */
	for (i = 0; i < 1000; i++)
		assert_int_equal(add(&o, 2 * i, i), 0);
	for (i = 0; i < 1000; i++)
		assert_int_equal(add(&o, 2 * i + 1, i), 0);
	assert_int_equal(vmp_order_flush(&o), 0);
	assert_int_equal(got.nr, 2000);
	assert_int_equal(got.wrong, 0);
	assert_int_equal(o.late, 0);
	/* further behind than the heap has room */
	for (i = 0; i <= VMP_ORDER_ROOM; i++)
		add(&o, 10000 + i, 0);
	add(&o, 5000, 0);
	vmp_order_flush(&o);
	assert_int_equal(o.late, 1);
	assert_int_equal(got.nr, 2000 + VMP_ORDER_ROOM + 2);
	vmp_order_deinit(&o);
	/* nowhere in order, with equal times, through less room: of those the first one first */
	got = (struct got){ 0 };
	vmp_order_init(&o, on_moment, &got);
	o.limit = 4096;
	for (i = 0; i < 100000; i++)
		assert_int_equal(add(&o, (i & ~511U) + (i * 2654435761U >> 8) % 512, i), 0);
	assert_int_equal(vmp_order_flush(&o), 0);
	assert_int_equal(got.nr, 100000);
	assert_int_equal(got.wrong, 0);
	assert_int_equal(o.late, 0);
	vmp_order_deinit(&o);
}

static void test_spool(void **state)
{
	struct vmp_spool s;
	char line[32];
	uint32_t i, k;
	FILE *f;

	(void)state;
	assert_int_equal(vmp_spool_init(&s, 3), 0);
	for (i = 0; i < 3000; i++) {
		for (k = 0; k < 2; k++) {
			snprintf(line, sizeof(line), "%u:%u\n", k, i);
			assert_int_equal(vmp_spool_add(&s, k, line, strlen(line)), 0);
		}
	}
	assert_true(vmp_spool_empty(&s, 2));
	assert_false(vmp_spool_empty(&s, 1));
	for (k = 0; k < 2; k++) {
		char *p;

		f = open_memstream(&output, &output_len);
		assert_int_equal(vmp_spool_copy(&s, k, f), 0);
		fclose(f);
		for (p = output, i = 0; i < 3000; i++) {
			snprintf(line, sizeof(line), "%u:%u\n", k, i);
			assert_memory_equal(p, line, strlen(line));
			p += strlen(line);
		}
		assert_int_equal(*p, 0);
		free(output);
		output = NULL;
	}
	vmp_spool_deinit(&s);
}

/* What a terminal, a parser or a log could trip over */
static void check_bytes(const char *format)
{
	const uint8_t *p = (const uint8_t *)output, *end = p + output_len;

	while (p < end) {
		uint32_t c;
		size_t n = vmp_utf8_char(p, (size_t)(end - p), &c);

		if (!n)
			fail_msg("%s: no UTF-8 at %zu", format, (size_t)(p - (const uint8_t *)output));
		if ((c < 0x20 && c != '\n' && c != '\r' && c != '\t') || (c >= 0x7f && c < 0xa0))
			fail_msg("%s: control character 0x%02x", format, c);
		p += n;
	}
}

static void test_hostile(void **state)
{
	static const char *const text[] = { "folded", "speedscope", "gecko", "chrome", "perf-script", "csv",
					    "json", "xml" };
	char *p, *line;
	size_t i;

	(void)state;
	write_hostile();
	load();
	for (i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		write_as(text[i], 0);
		check_bytes(text[i]);
	}
	says_not("<img");
	says("&#60;img src=x o");
	write_as("folded", 0);
	for (line = strtok_r(output, "\n", &p); line; line = strtok_r(NULL, "\n", &p)) {
		char *semicolon = line;

		for (i = 0; (semicolon = strchr(semicolon, ';')); semicolon++)
			i++;
		if (i != 3)
			fail_msg("%zu frames in '%s'", i + 1, line);
	}
	write_as("perf-script", 0);
	for (line = strtok_r(output, "\n", &p), i = 0; line; line = strtok_r(NULL, "\n", &p), i++)
		if ((i % 2 ? line[0] != '\t' : line[strlen(line) - 1] != ':'))
			fail_msg("line %zu is '%s'", i, line);
	assert_int_equal(i, 2 * 5 * NR_EVIL);
	write_as("pprof", 0);
	assert_null(memmem(output, output_len, "\033[", 2));
	assert_null(memmem(output, output_len, "\033]", 2));
	assert_null(memmem(output, output_len, "\xff\xfe", 2));
	assert_non_null(memmem(output, output_len, "\\xff\\xfe", 8));
}

static void test_packed(void **state)
{
	char name[160], *plain;
	struct vmp_out o;
	uint8_t *packed;
	size_t len, n;
	unsigned int i;

	(void)state;
	snprintf(name, sizeof(name), "%s/x.zst", dir);
	assert_true(vmp_out_packed(name));
	assert_false(vmp_out_packed(".zst"));
	assert_false(vmp_out_packed(NULL));
	assert_int_equal(vmp_out_open(&o, name, VMP_PACK_NONE), 0);
	for (i = 0; i < 100000; i++)
		fprintf(o.stream, "line %u\n", i);
	assert_int_equal(vmp_out_close(&o, 0), 0);
	packed = gen_read(name, &len);
	plain = malloc(2000000);
	n = ZSTD_decompress(plain, 2000000, packed, len);
	assert_false(ZSTD_isError(n));
	assert_int_equal(n, 1088890);
	assert_memory_equal(plain + n - 11, "line 99999\n", 11);
	free(packed);

	snprintf(name, sizeof(name), "%s/x.gz", dir);
	assert_int_equal(vmp_out_open(&o, name, VMP_PACK_GZIP), 0);
	for (i = 0; i < 100000; i++)
		fprintf(o.stream, "line %u\n", i);
	assert_int_equal(vmp_out_close(&o, 0), 0);
	gzFile z = gzopen(name, "rb");
	assert_int_equal(gzread(z, plain, 2000000), 1088890);
	assert_int_equal(gzclose(z), Z_OK);
	free(plain);
}

static void test_failed_output(void **state)
{
	struct vmp_out o;
	char name[160];

	(void)state;
	snprintf(name, sizeof(name), "%s/half", dir);
	assert_int_equal(vmp_out_open(&o, name, VMP_PACK_NONE), 0);
	fputs("half of it", o.stream);
	assert_int_equal(vmp_out_close(&o, 1), 0);
	assert_int_equal(access(name, F_OK), -1);
	assert_int_equal(vmp_out_open(&o, "/dev/full", VMP_PACK_GZIP), 0);
	fputs("text", o.stream);
	assert_int_equal(vmp_out_close(&o, 0), -ENOSPC);
	assert_int_equal(access("/dev/full", F_OK), 0);
	snprintf(name, sizeof(name), "%s/no/such", dir);
	assert_int_equal(vmp_out_open(&o, name, VMP_PACK_NONE), -ENOENT);
}

#ifdef HAVE_CAPSTONE
static void decodes(const char *code, size_t len, unsigned int bits)
{
	void *d = vmp_decoder_create();
	unsigned int got = vmp_decode(d, (const uint8_t *)code, len);

	vmp_decoder_destroy(d);
	if (got != bits)
		fail_msg("%02x %02x...: 0x%x, not 0x%x", (uint8_t)code[0], (uint8_t)code[1], got, bits);
}

#define BIT(x)	(1U << VMP_INSN_##x)
#define DECODES(code, bits)	decodes(code, sizeof(code) - 1, bits)

static void test_decode(void **state)
{
	(void)state;
	DECODES("\x48\x01\xd8", BIT(DECODED) | BIT(INTEGER));				/* add rax, rbx */
	DECODES("\x48\x8b\x03", BIT(DECODED) | BIT(LOAD));					/* mov rax, [rbx] */
	DECODES("\x48\x89\x03", BIT(DECODED) | BIT(STORE));					/* mov [rbx], rax */
	DECODES("\x48\x01\x03", BIT(DECODED) | BIT(INTEGER) | BIT(LOAD) | BIT(STORE));	/* add [rbx], rax */
	DECODES("\x48\x8d\x03", BIT(DECODED) | BIT(INTEGER));				/* lea rax, [rbx] */
	DECODES("\x55", BIT(DECODED) | BIT(STORE));						/* push rbp */
	DECODES("\x5d", BIT(DECODED) | BIT(LOAD));						/* pop rbp */
	DECODES("\x75\x02", BIT(DECODED) | BIT(BRANCH));					/* jne */
	DECODES("\xe8\x00\x00\x00\x00", BIT(DECODED) | BIT(BRANCH));			/* call */
	DECODES("\xc3", BIT(DECODED) | BIT(BRANCH));						/* ret */
	DECODES("\x0f\x18\x0b", BIT(DECODED) | BIT(PREFETCH));				/* prefetcht0 [rbx] */
	DECODES("\xf2\x0f\x58\xc1", BIT(DECODED) | BIT(FLOAT));				/* addsd xmm0, xmm1 */
	DECODES("\x66\x0f\x58\xc1", BIT(DECODED) | BIT(FLOAT) | BIT(SIMD));		/* addpd xmm0, xmm1 */
	DECODES("\x66\x0f\xfe\xc1", BIT(DECODED) | BIT(INTEGER) | BIT(SIMD));		/* paddd xmm0, xmm1 */
	DECODES("\x66\x0f\x6f\x03", BIT(DECODED) | BIT(LOAD) | BIT(SIMD));		/* movdqa xmm0, [rbx] */
	DECODES("\x66\x0f\x70\xc1\x1b", BIT(DECODED) | BIT(PERMUTE) | BIT(SIMD));	/* pshufd */
	DECODES("\xc5\xfc\x58\xc1", BIT(DECODED) | BIT(FLOAT) | BIT(SIMD));		/* vaddps ymm0 */
	DECODES("\xd8\xc1", BIT(DECODED) | BIT(FLOAT));					/* fadd st(1) */
	DECODES("\x90", BIT(DECODED));								/* nop */
	DECODES("\x06", 0);									/* none in 64-bit code */
	DECODES("\x48\x01", 0);								/* cut */
}

/* The file that the samples lie in is at hand: two kinds of instructions, 3 : 1 */
static void test_instruction_mix(void **state)
{
	static const uint8_t id[20] = { 0xcd, 0x01 };
	char file[160];
	uint8_t code[0x2500] = { 0 };
	const Elf64_Phdr ph = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = sizeof(code), .p_memsz = sizeof(code), .p_align = 0x1000 };
	const Elf64_Ehdr eh = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_DYN, .e_machine = EM_X86_64,
		.e_version = EV_CURRENT, .e_phoff = sizeof(eh), .e_ehsize = sizeof(eh), .e_phentsize = sizeof(ph), .e_phnum = 1,
	};

	(void)state;
	memcpy(code, &eh, sizeof(eh));
	memcpy(code + sizeof(eh), &ph, sizeof(ph));
	memcpy(code + 0x2123, "\x66\x0f\x58\x03", 4);	/* addpd xmm0, [rbx] */
	memcpy(code + 0x2456, "\x75\x02", 2);
	snprintf(file, sizeof(file), "%s/u-1000", dir);
	mkdir(file, 0755);
	snprintf(file, sizeof(file), "%s/u-1000/cd", dir);
	mkdir(file, 0755);
	snprintf(file, sizeof(file), "%s/u-1000/cd/01000000000000000000000000000000000000", dir);
	gen_write(file, code, sizeof(code));
	write_capture();
	gen_file(&g, 5, 100, sizeof(code), id, sizeof(id), "/usr/lib/libapp.so");
	gen_agent_flush(&g, GEN_VM, 0);
	gen_end(&g);
	choice.domain = "web01";
	load();
	write_as("xml", 0);
	says("<process id=\"1000\" name=\"web01\" kind=\"domain\">");
	says("<item name=\"decoded_samples\"><data unit=\"counts\">2</data></item>");
	says("<item name=\"load_share\"><data unit=\"percent\">50.000000</data></item>");
	says("<item name=\"branch_share\"><data unit=\"percent\">50.000000</data></item>");
	says("<item name=\"simd_floating_point_share\"><data unit=\"percent\">100.000000</data></item>");
	says("<item name=\"cycles\"><data unit=\"counts\">2000</data></item>");
	says("<item name=\"cpi\"><data unit=\"cycles/instruction\">2.500000</data></item>");
}
#endif

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		T(test_table), T(test_filters), T(test_addresses), T(test_threads), T(test_containers),
		T(test_xml_threads), T(test_xml_events), T(test_order_of_time),
		T(test_idle), T(test_gap), cmocka_unit_test(test_order), T(test_spool),
		T(test_hostile), T(test_packed), T(test_failed_output),
#ifdef HAVE_CAPSTONE
		cmocka_unit_test(test_decode), T(test_instruction_mix),
#endif
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	if (argc == 3 && !strcmp(argv[1], "--capture")) {
		snprintf(path, sizeof(path), "%s", argv[2]);
		write_hostile();
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
