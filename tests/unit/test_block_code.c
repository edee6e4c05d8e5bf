// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_block_code.c - where blocks have their code from, other than from a guest's programs: files of kernels, copies
 * of their memory, the host's own programs.
 */
#include "measured.h"

#include "blocks/about.h"
#include "blocks/listing.h"
#include "collect/kcode.h"
#include "util/capdir.h"
#include "util/file.h"

#define FUNCTIONS	40	/* of a kernel */

/* The small program as a kernel with a file of its own, its path in @file */
static void write_kernel(char file[160])
{
	static char names[FUNCTIONS][24];
	static const uint8_t id[20];
	int i;

	prog.insn[0].function = "schedule";
	for (i = 1; i < FUNCTIONS; i++) {
		snprintf(names[i], sizeof(names[i]), "function_%d", i);
		prog.insn[prog_plain(&prog, 1, 1, 1)].function = names[i];
	}
	prog_assemble(&prog);
	snprintf(file, 160, "%s/vmlinux", dir);
	prog_write(&prog, file, id);
}

/* Its first @nr functions as a running kernel lists them, moved by @base; the last @others lie elsewhere */
static const char *list_kernel(uint64_t base, int nr, int others)
{
	static char text[64 * FUNCTIONS];
	size_t n = (size_t)sprintf(text, "%llx T _stext\n", GEN_KERNEL);
	int i, k = 0;

	for (i = 0; i < prog.nr && k < nr; i++)
		if (prog.insn[i].function && ++k)
			n += (size_t)sprintf(text + n, "%llx T %s\n", (unsigned long long)
					     (base + prog.insn[i].addr + (k > nr - others ? 0x1000 : 0)),
					     prog.insn[i].function);
	sprintf(text + n, "%llx T _etext\n", GEN_KERNEL + 0x90000);
	return text;
}

static const struct vmp_object *only_kernel(void)
{
	const struct vmp_object *found = NULL;
	uint32_t i;

	for (i = 0; i < set->points.objects.nr; i++) {
		if (!set->points.objects.v[i].kernel)
			continue;
		assert_null(found);
		found = &set->points.objects.v[i];
	}
	assert_non_null(found);
	return found;
}

/* The loop was decoded, in the kernel's own file */
static void is_decoded(void)
{
	assert_int_equal(set->totals.flaw[VMP_FLAW_NONE], 1);
	assert_int_equal(only_block()->insns, 5);
	assert_int_equal(only_block()->flow, VMP_FLOW_COND);
	assert_int_equal(only_block()->mispredicted, 1);
	assert_string_equal(vmp_model_name(model, set->points.points.v[only_block()->start].function), "schedule");
}

/* A guest's kernel with a loop; it is known of so many functions where they are */
static void load_guest_kernel(char file[160], int nr, int others)
{
	const uint64_t base = GEN_KERNEL + 0x40000 - PROG_VADDR;
	struct vmp_set_choice all = { .vcpu = -1, .pid = -1 };

	begin_small();
	write_kernel(file);
	gen_hello(&g, 2000, 2, 0);
	gen_ksyms(&g, list_kernel(base, nr, others));
	gen_agent_flush(&g, GEN_VM, 3000);
	gen_guest(&g, GEN_VM, 10000, PROG_CR3, 0, base + prog.insn[0].addr, 1);
	put_loop(10000, base);
	load_small();
	assert_int_equal(set->totals.flaw[VMP_FLAW_NO_KERNEL], 1);
	assert_int_equal(only_block()->insns, 0);
	all.host_vmlinux = file;	/* that is another machine's */
	load_again(&all);
	assert_int_equal(set->totals.flaw[VMP_FLAW_NO_KERNEL], 1);
	all.vmlinux = file;
	load_again(&all);
}

/* Kernel code comes from a vmlinux, wherever the guest's kernel was put; a module's is not in it */
static void test_kernel(void **state)
{
	char vmlinux[160];
	uint32_t point;

	(void)state;
	load_guest_kernel(vmlinux, FUNCTIONS, 0);
	is_decoded();
	assert_int_equal(only_kernel()->fit.same, FUNCTIONS);
	assert_int_equal(only_kernel()->fit.other, 0);
	assert_int_equal(vmp_points_find(&set->points, set->points.contexts.nr - 1, 0xffffffffc0200000, &point), 0);
	assert_int_equal(set->points.points.v[point].flaw, VMP_FLAW_NO_KERNEL);
}

static void is_refused(uint32_t same, uint32_t other)
{
	char *notes, line[200];
	size_t len;
	FILE *f = open_memstream(&notes, &len);

	vmp_about_notes(f, set, NULL);
	fclose(f);
	snprintf(line, sizeof(line), "  the kernel given for web01 is not its own, or too little is known of it to tell: of %u functions that both have %u lie elsewhere\n",
		 same + other, other);
	gen_says(notes, line);
	gen_says(notes, "         1 not used for blocks: the file given for the kernel is not that which ran\n");
	free(notes);
	assert_int_equal(set->totals.flaw[VMP_FLAW_OTHER_KERNEL], 1);
	assert_int_equal(set->totals.flaw[VMP_FLAW_NONE], 0);
	assert_int_equal(only_block()->insns, 0);
	assert_null(only_kernel()->code);
	assert_int_equal(only_kernel()->fit.same, same);
	assert_int_equal(only_kernel()->fit.other, other);
}

/* A vmlinux of another kernel, or of one of which too little is known */
static void test_other_kernel(void **state)
{
	char vmlinux[160];

	(void)state;
	load_guest_kernel(vmlinux, FUNCTIONS, 2);	/* "schedule" fits */
	is_refused(FUNCTIONS - 2, 2);
}

static void test_unknown_kernel(void **state)
{
	char vmlinux[160];

	(void)state;
	load_guest_kernel(vmlinux, 31, 0);
	is_refused(31, 0);
}

/* The host's kernel: its own file */
static void test_host_kernel(void **state)
{
	const uint64_t base = GEN_KERNEL + 0x40000 - PROG_VADDR;
	struct vmp_set_choice all = { .vcpu = -1, .pid = -1 };
	char vmlinux[160];

	(void)state;
	begin_small();
	write_kernel(vmlinux);
	gen_text(&g, VMPROF_CAP_HOST_KSYMS, 0, list_kernel(base, FUNCTIONS, 0));
	gen_host(&g, GEN_VM, 10000, VMPROF_MODE_VMM_KERNEL, 0, 0, base + prog.insn[0].addr, 1);
	put_loop(10000, base);
	load_small();
	assert_int_equal(set->totals.flaw[VMP_FLAW_NO_KERNEL], 1);
	all.vmlinux = vmlinux;
	load_again(&all);
	assert_int_equal(set->totals.flaw[VMP_FLAW_NO_KERNEL], 1);
	all.host_vmlinux = vmlinux;
	load_again(&all);
	is_decoded();
}

/* ------------------------------------------------- copies of kernels' memory */

#define KERNEL_BASE	(GEN_KERNEL + 0x40000 - PROG_VADDR)
#define MODULE		0xffffffffc0200000ULL	/* has the program once more */

/* Memory in which the program lies twice */
static size_t read_kernel(void *arg, uint64_t vaddr, void *buf, size_t bytes)
{
	const uint64_t at[] = { KERNEL_BASE + PROG_VADDR, MODULE };
	size_t i;

	(void)arg;
	memset(buf, 0xcc, 4096);
	for (i = 0; i < 2; i++)
		if (vaddr == at[i])
			memcpy(buf, prog.code, prog.code_bytes < 4096 ? prog.code_bytes : 4096);
	return bytes < 4096 ? bytes : 4096;
}

/* The copy of a kernel that lists @text, in the cache; OBJECTS tell of it */
static void put_copy(uint32_t source, const char *boot_id, const char *text)
{
	const struct vmp_kcode_reader reader = { read_kernel, NULL };
	char *own = strdup(text), key[VMP_OBJKEY_MAX], file[160], json[400];
	struct vmp_kcode code;

	assert_int_equal(vmp_kcode_make(own, strlen(own), &reader, &code), 0);
	free(own);
	vmp_objcache_content_key(key, code.elf, code.len);
	vmp_objcache_own(key, source ? "u-1000" : VMP_OBJKEY_HOST);
	assert_int_equal(vmp_objcache_path(file, sizeof(file), key), 0);
	*strrchr(file, '/') = 0;
	assert_int_equal(vmp_make_dirs(file, 0700), 0);
	file[strlen(file)] = '/';
	assert_int_equal(vmp_file_write(file, code.elf, code.len), 0);
	free(code.elf);
	snprintf(json, sizeof(json), "{\"kernel\":{\"path\":\"%s\",\"boot_id\":\"%s\",\"bytes\":%llu,\"missing_bytes\":%llu},\"objects\":[]}",
		 key, boot_id, (unsigned long long)code.bytes, (unsigned long long)code.missing);
	gen_text(&g, VMPROF_CAP_OBJECTS, source, json);
}

static void notes_say(const char *what)
{
	char *notes;
	size_t len;
	FILE *f = open_memstream(&notes, &len);

	vmp_about_notes(f, set, NULL);
	fclose(f);
	gen_says(notes, what);
	free(notes);
}

static const char boot_2[] = "02020202020202020202020202020202";

/* A guest's kernel with a loop at @base, of which no file is given */
static void begin_copied(uint64_t base)
{
	char file[160];

	begin_small();
	write_kernel(file);
	gen_hello(&g, 2000, 2, 0);
	gen_guest(&g, GEN_VM, 10000, PROG_CR3, 0, base + prog.insn[0].addr, 1);
	put_loop(10000, base);
}

static void load_copied(void)
{
	gen_agent_flush(&g, GEN_VM, 3000);
	load_small();
}

static void is_not_decoded(void)
{
	assert_int_equal(set->totals.flaw[VMP_FLAW_NO_KERNEL], 1);
	assert_int_equal(only_block()->insns, 0);
}

/* Kernel code is what was in memory, without any vmlinux; one that is given goes before it */
static void test_kernel_copy(void **state)
{
	struct vmp_set_choice all = { .vcpu = -1, .pid = -1 };
	char vmlinux[160];

	(void)state;
	begin_copied(KERNEL_BASE);
	gen_ksyms(&g, list_kernel(KERNEL_BASE, 5, 0));
	put_copy(GEN_VM, boot_2, list_kernel(KERNEL_BASE, 5, 0));
	load_copied();
	is_decoded();
	assert_true(only_kernel()->copy);
	assert_int_equal(only_kernel()->slide, 0);
	notes_say("  the kernel code of web01 is a copy of its memory at the end of the session, 576.0 KiB\n");
	write_kernel(vmlinux);
	all.vmlinux = vmlinux;
	load_again(&all);
	assert_int_equal(set->totals.flaw[VMP_FLAW_OTHER_KERNEL], 1);	/* five functions are too few */
	assert_false(only_kernel()->copy);
}

static void test_host_copy(void **state)
{
	char file[160];

	(void)state;
	begin_small();
	write_kernel(file);
	gen_text(&g, VMPROF_CAP_HOST_KSYMS, 0, list_kernel(KERNEL_BASE, FUNCTIONS, 0));
	gen_host(&g, GEN_VM, 10000, VMPROF_MODE_VMM_KERNEL, 0, 0, KERNEL_BASE + prog.insn[0].addr, 1);
	put_loop(10000, KERNEL_BASE);
	put_copy(0, "", list_kernel(KERNEL_BASE, FUNCTIONS, 0));
	load_small();
	is_decoded();
	notes_say("  the kernel code of the host is a copy of its memory at the end of the session, 576.0 KiB\n");
}

/* Another boot's copy, one that is gone, and none, for a reason that is told */
static void test_other_boot(void **state)
{
	(void)state;
	begin_copied(KERNEL_BASE);
	gen_ksyms(&g, list_kernel(KERNEL_BASE, FUNCTIONS, 0));
	put_copy(GEN_VM, "03030303030303030303030303030303", list_kernel(KERNEL_BASE, FUNCTIONS, 0));
	load_copied();
	is_not_decoded();
	notes_say("  the copy of the kernel code of web01 is of another boot, or not in the object cache any more\n");
}

static void test_copy_gone(void **state)
{
	(void)state;
	begin_copied(KERNEL_BASE);
	gen_ksyms(&g, list_kernel(KERNEL_BASE, FUNCTIONS, 0));
	gen_text(&g, VMPROF_CAP_OBJECTS, GEN_VM, "{\"kernel\":{\"path\":\"u-1000/x00112233445566778899aabbccddeeff\","
		 "\"boot_id\":\"02020202020202020202020202020202\",\"bytes\":1}}");
	load_copied();
	is_not_decoded();
	notes_say("  the copy of the kernel code of web01 is of another boot, or not in the object cache any more\n");
}

static void test_no_copy(void **state)
{
	(void)state;
	begin_copied(KERNEL_BASE);
	gen_ksyms(&g, list_kernel(KERNEL_BASE, FUNCTIONS, 0));
	/* paths that are none, and more than there is room for */
	gen_text(&g, VMPROF_CAP_OBJECTS, GEN_VM, "{\"kernel\":{\"path\":\"../../etc/passwd\"}}");
	gen_text(&g, VMPROF_CAP_OBJECTS, GEN_VM, "{\"kernel\":{\"path\":7,\"boot_id\":\"0202020202020202020202020202020202\"}}");
	gen_text(&g, VMPROF_CAP_OBJECTS, GEN_VM, "{\"kernel\":null,\"objects\":[]}");
	gen_text(&g, VMPROF_CAP_OBJECTS, GEN_VM, "{\"kernel\":{\"why\":\"its QEMU \\u001b does not tell\"},\"objects\":[]}");
	load_copied();
	is_not_decoded();
	notes_say("  there is no copy of the kernel code of web01: its QEMU \\x1b does not tell\n");
}

/* A kernel with a module that has the program, too */
static const char *list_module(int there)
{
	static char text[64 * FUNCTIONS + 256];
	size_t n = (size_t)sprintf(text, "%s", list_kernel(KERNEL_BASE, FUNCTIONS, 0));

	if (there)
		sprintf(text + n, "%llx t schedule\t[mod]\n%llx t more\t[mod]\n", MODULE, MODULE + 0x800);
	return text;
}

static void test_module_copy(void **state)
{
	(void)state;
	begin_copied(MODULE - PROG_VADDR);
	gen_ksyms(&g, list_module(1));
	put_copy(GEN_VM, boot_2, list_module(1));
	load_copied();
	is_decoded();
	assert_string_equal(vmp_model_name(model, set->points.points.v[only_block()->start].module), "[mod]");
}

/* A module that came later: what lay there before is not in a copy from the end */
static void test_new_module(void **state)
{
	(void)state;
	begin_copied(MODULE - PROG_VADDR);
	gen_ksyms(&g, list_module(0));
	gen_modules(&g, 2000, 3000);
	gen_ksyms(&g, list_module(1));
	put_copy(GEN_VM, boot_2, list_module(1));
	load_copied();
	is_not_decoded();
}

/* Its listing has the kernel's own bounds, since the copy has no symbols */
static void test_copy_listing(void **state)
{
	struct vmp_listings *l;

	(void)state;
	begin_copied(KERNEL_BASE);
	gen_ksyms(&g, list_kernel(KERNEL_BASE, FUNCTIONS, 0));
	put_copy(GEN_VM, boot_2, list_kernel(KERNEL_BASE, FUNCTIONS, 0));
	load_copied();
	assert_int_equal(vmp_measure_create(&measure, set), 0);
	assert_int_equal(vmp_estimate_create(&estimates, measure, 0), 0);
	assert_int_equal(vmp_listings_create(&l, set, estimates, "schedule", NULL), 0);
	assert_int_equal(l->list.nr, 1);
	assert_int_equal(l->list.v[0].start, KERNEL_BASE + prog.insn[0].addr);
	assert_int_equal(l->list.v[0].insns.nr, 20);	/* up to the next function */
	vmp_listings_destroy(l);
}

/* QEMU's own code, which lies on the host; @ids: the build-ids that it had, NULL nobody told; %s: its path */
static void sample_qemu(const char *ids)
{
	static const uint8_t id[20] = { 0xab };
	char qemu[160], text[640];

	begin_small();
	snprintf(qemu, sizeof(qemu), "%s/qemu", dir);
	prog_write(&prog, qemu, id);
	snprintf(text, sizeof(text), "500000001000-500000002000 r-xp 00001000 08:01 5   %s\n", qemu);
	gen_text(&g, VMPROF_CAP_HOST_MAPS, GEN_VM, text);
	for (; ids && *ids; ids += strcspn(ids, " ") + !!strchr(ids, ' ')) {
		snprintf(text, sizeof(text), "%.*s %s\n", (int)strcspn(ids, " "), ids, qemu);
		gen_text(&g, VMPROF_CAP_HOST_BUILD_IDS, GEN_VM, text);
	}
	gen_host(&g, GEN_VM, 10000, VMPROF_MODE_VMM_USER, 0, 0, 0x500000000000 + prog.insn[0].addr, 1);
	put_loop(10000, 0x500000000000);
}

#define QEMU_ID		"ab00000000000000000000000000000000000000"
#define OTHER_ID	"ab00000000000000000000000000000000000001"

/* A file that is of another build now is not what ran, nor is one of which two had the path */
static void test_host_replaced(void **state)
{
	static const char *const ids[] = { OTHER_ID, "ab", QEMU_ID "00", QEMU_ID " " OTHER_ID };
	size_t i;

	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		sample_qemu(ids[i]);
		load_small();
		assert_int_equal(set->totals.flaw[VMP_FLAW_NONE], 0);
		assert_int_equal(set->totals.flaw[VMP_FLAW_NO_FILE], 1);
		assert_int_equal(model->host_others, 1);
		assert_int_equal(teardown(state), 0);
		assert_int_equal(setup(state), 0);
	}
	sample_qemu(QEMU_ID " " QEMU_ID);
	load_small();
	assert_int_equal(set->totals.flaw[VMP_FLAW_NONE], 1);
	assert_int_equal(model->host_others, 0);
}

/* Code of 32 bits has other instructions: it is not decoded as if it were of 64 */
static void test_not_64_bit(void **state)
{
	static const uint16_t machine = EM_386;
	char qemu[160];
	int fd;

	(void)state;
	sample_qemu(NULL);
	snprintf(qemu, sizeof(qemu), "%s/qemu", dir);
	fd = open(qemu, O_WRONLY);
	assert_int_equal(pwrite(fd, &machine, sizeof(machine), offsetof(Elf64_Ehdr, e_machine)), sizeof(machine));
	close(fd);
	load_small();
	assert_int_equal(set->totals.flaw[VMP_FLAW_NONE], 0);
	assert_int_equal(set->totals.flaw[VMP_FLAW_NOT_64], 1);
}

static void test_host(void **state)
{
	(void)state;
	sample_qemu(NULL);
	load_small();
	assert_int_equal(set->totals.flaw[VMP_FLAW_NONE], 1);
	assert_int_equal(only_block()->insns, 5);
	assert_int_equal(set->points.objects.v[set->points.points.v[only_block()->start].object].vm, VMP_NONE);
	assert_string_equal(vmp_model_name(model, set->points.points.v[only_block()->start].module), "qemu");
}

/* -------------------------------------------------------------- decoding */

/* What is decoded quickly is what capstone says: all opcodes of one and two bytes, with and without REX, all of ModRM */
static void test_quick(void **state)
{
	static const uint8_t rex[] = { 0, 0x40, 0x41, 0x42, 0x44, 0x48, 0x49, 0x4c, 0x4f };
	static const uint8_t sib[] = { 0x24, 0x25, 0xed, 0xff };
	void *decoder = vmp_decoder_create();
	uint32_t i;

	(void)state;
	for (i = 0; VMP_DECODES && i < sizeof(rex) * 2 * 256 * 256 * sizeof(sib); i++) {
		uint8_t code[VMP_DECODE_BYTES + 1], *p = code;
		enum vmp_flow flow = VMP_FLOW_ON, said = VMP_FLOW_ON;
		unsigned int bytes, want;

		memset(code, i % 3 ? 0x11 : 0xff, sizeof(code));
		if (rex[i >> 19])
			*p++ = rex[i >> 19];
		if (i >> 18 & 1)
			*p++ = 0x0f;
		*p++ = (uint8_t)(i >> 10);
		*p++ = (uint8_t)(i >> 2);
		*p = sib[i & 3];
		bytes = vmp_decode_step(decoder, code, sizeof(code), &flow);
		want = vmp_decode_step_any(decoder, code, sizeof(code), &said);
		if (bytes != want || (bytes && flow != said))
			fail_msg("%02x %02x %02x %02x %02x: %u bytes (%s), not %u (%s)", code[0], code[1], code[2], code[3], code[4],
				 bytes, vmp_flow_name(flow), want, vmp_flow_name(said));
	}
	vmp_decoder_destroy(decoder);
}

/* ----------------------------------------------------- where branches went */

/* A guest's kernel's branch, of which the record says that it went to an address; code ran up to it */
static void put_gone(uint64_t tsc, uint32_t branches, int end, uint64_t next)
{
	const struct prog_branch b[] = {
		{ KERNEL_BASE + prog.insn[end].addr, next },
		{ KERNEL_BASE + prog.insn[8].addr, KERNEL_BASE + prog.insn[end == 4 ? 0 : 5].addr },
	};

	gen_guest(&g, GEN_VM, tsc, PROG_CR3, 0, KERNEL_BASE + prog.insn[0].addr, 1);
	gen_lbr(&g, tsc, branches, VMPROF_LBR_FROM_TO, b, 2, 0);
}

static uint64_t kernel_function(const char *name)
{
	int i;

	for (i = 0; i < prog.nr; i++)
		if (prog.insn[i].function && !strcmp(prog.insn[i].function, name))
			return KERNEL_BASE + prog.insn[i].addr;
	fail_msg("no %s", name);
	return 0;
}

static void rename_function(const char *from, const char *to)
{
	int i;

	for (i = 0; i < prog.nr; i++)
		if (prog.insn[i].function && !strcmp(prog.insn[i].function, from))
			prog.insn[i].function = to;
}

/* Steps of branches to schedule's beginning, its middle, inside of an instruction, and to two other functions, with these names */
static void begin_gone(uint32_t branches, const char *seventh, const char *ninth, char file[160])
{
	begin_small();
	write_kernel(file);
	rename_function("function_7", seventh);
	rename_function("function_9", ninth);
	gen_hello(&g, 2000, 2, 0);
	put_gone(10000, branches, 4, KERNEL_BASE + prog.insn[0].addr);
	put_gone(10010, branches, 4, KERNEL_BASE + prog.insn[5].addr);
	put_gone(10020, branches, 8, KERNEL_BASE + prog.insn[9].addr);
	put_gone(10030, branches, 8, KERNEL_BASE + prog.insn[1].addr + 1);
	put_gone(10040, branches, 8, kernel_function(seventh));
	put_gone(10050, branches, 4, kernel_function(ninth));
	gen_ksyms(&g, list_kernel(KERNEL_BASE, FUNCTIONS, 0));
}

static void gone(uint64_t good, uint64_t elsewhere)
{
	assert_int_equal(set->totals.steps, 6);
	assert_int_equal(set->totals.flaw[VMP_FLAW_NONE], good);
	assert_int_equal(set->totals.flaw[VMP_FLAW_ELSEWHERE], elsewhere);
	assert_int_equal(set->totals.flaw[VMP_FLAW_MIDDLE], 1);
	notes_say(" not used for blocks: end with a branch that goes elsewhere in the code\n");
}

static void load_gone(uint32_t branches, const char *seventh, const char *ninth)
{
	char file[160];

	begin_gone(branches, seventh, ninth, file);
	put_copy(GEN_VM, boot_2, list_kernel(KERNEL_BASE, FUNCTIONS, 0));
	load_copied();
}

/* An interrupt that came before the branch ran looks like one to where the kernel's interrupts begin: a function */
static void test_interrupted(void **state)
{
	(void)state;
	load_gone(VMPROF_LBR_ALL, "function_7", "function_9");
	gone(3, 2);
}

/* ... which is known by its name */
static void test_interrupted_named(void **state)
{
	(void)state;
	load_gone(VMPROF_LBR_ALL, "function_7", "asm_exc_page_fault");
	gone(2, 3);
}

/* ... as are those of devices, which are one behind the other */
static void test_interrupted_device(void **state)
{
	(void)state;
	load_gone(VMPROF_LBR_ALL, "irq_entries_start", "asm_exc_page_fault");
	gone(3, 2);
}

/* Without far branches there is none in the record */
static void test_not_interrupted(void **state)
{
	(void)state;
	load_gone(VMPROF_LBR_ALL & ~VMPROF_LBR_FAR, "function_7", "function_9");
	gone(1, 4);
}

/* A file has the branches that a kernel patches as they were built; of conditional ones it tells */
static void test_patched(void **state)
{
	struct vmp_set_choice all = { .vcpu = -1, .pid = -1 };
	char vmlinux[160];

	(void)state;
	begin_gone(VMPROF_LBR_ALL & ~VMPROF_LBR_FAR, "function_7", "function_9", vmlinux);
	load_copied();
	all.vmlinux = vmlinux;
	load_again(&all);
	gone(3, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kernel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_kernel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown_kernel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host_kernel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kernel_copy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host_copy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_boot, setup, teardown),
		cmocka_unit_test(test_quick),
		cmocka_unit_test_setup_teardown(test_interrupted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_interrupted_named, setup, teardown),
		cmocka_unit_test_setup_teardown(test_interrupted_device, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_interrupted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_patched, setup, teardown),
		cmocka_unit_test_setup_teardown(test_copy_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_copy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_module_copy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_new_module, setup, teardown),
		cmocka_unit_test_setup_teardown(test_copy_listing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_64_bit, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
