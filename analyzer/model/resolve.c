// SPDX-License-Identifier: GPL-2.0-only
/* resolve.c - address to function and module, through maps, files and symbols. */
#include "model/resolve.h"

#include <stdio.h>
#include <string.h>

#include "model/demangle.h"
#include "model/dwarf.h"
#include "model/hosttext.h"
#include "util/text.h"

#define VSYSCALL	0xffffffffff600000ULL
#define BUILD_ID_SHOWN	8	/* bytes: enough to find the file */

static const struct {
	const char *key, *text;
} whys[VMP_WHY_NR] = {
	[VMP_WHY_OK] = { "resolved", "resolved" },
	[VMP_WHY_UNNAMED] = { "unnamed", "the function's name was stripped: sub_ADDRESS" },
	[VMP_WHY_NO_AGENT] = { "no_agent", "no agent told of the guest's processes" },
	[VMP_WHY_NO_OWNER] = { "no_process", "the process is not known" },
	[VMP_WHY_NO_MAP] = { "no_mapping", "no mapping is known at the address" },
	[VMP_WHY_ANON] = { "anonymous", "code that lies in no file, and that no JIT map names" },
	[VMP_WHY_NO_OBJECT] = { "no_object", "the program's file is not in the object cache" },
	[VMP_WHY_NO_SYMBOL] = { "no_symbol", "the program's file has no symbol there (stripped)" },
	[VMP_WHY_NO_KSYMS] = { "no_kernel_symbols", "no kernel symbols" },
	[VMP_WHY_NO_KSYM] = { "no_kernel_symbol", "no kernel symbol at the address" },
	[VMP_WHY_BOOT] = { "boot_code", "firmware or boot code" },
	[VMP_WHY_NESTED] = { "nested_guest", "a guest inside the guest" },
};

const char *vmp_why_text(enum vmp_why why)
{
	return why < VMP_WHY_NR ? whys[why].text : "";
}

const char *vmp_why_key(enum vmp_why why)
{
	return why < VMP_WHY_NR ? whys[why].key : "";
}

/* perf has such a list too; what is on it is run by idle tasks alone */
int vmp_is_idle_function(const char *name)
{
	static const char *const idle[] = {
		"default_idle", "native_safe_halt", "pv_native_safe_halt", "arch_cpu_idle",
		"do_idle", "default_idle_call", "default_enter_idle", "cpuidle_enter",
		"cpuidle_enter_state", "cpuidle_idle_call", "cpu_startup_entry", "mwait_idle",
		"intel_idle", "intel_idle_irq", "acpi_safe_halt", "acpi_idle_do_entry",
		"acpi_idle_enter", "acpi_processor_ffh_cstate_enter", "poll_idle",
		"haltpoll_enter_idle", "cpu_idle_poll", "amd_e400_idle",
		"kvm_guest_idle", "tick_nohz_idle_enter", "tick_nohz_idle_exit",
	};
	size_t i;

	for (i = 0; i < sizeof(idle) / sizeof(idle[0]); i++)
		if (!strcmp(name, idle[i]))
			return 1;
	return 0;
}

static uint32_t str(struct vmp_model *m, const char *s, int *err)
{
	return vmp_strings_add(&m->strings, s, strlen(s), err);
}

static int set(struct vmp_model *m, struct vmp_place *p, enum vmp_why why,
	       const char *function, const char *module)
{
	int err = 0;

	p->why = why;
	p->until = 0;
	p->function = str(m, function, &err);
	p->module = str(m, module, &err);
	return err;
}

/* "[libfoo.so+0x1234]" */
static int set_offset(struct vmp_model *m, struct vmp_place *p, enum vmp_why why,
		      const char *module, uint64_t offset)
{
	char name[VMPROF_PATH_BYTES_MAX + 32];

	snprintf(name, sizeof(name), "[%s+0x%llx]", module, (unsigned long long)offset);
	return set(m, p, why, name, module);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* The function @sym of table @t; its readable name is made once. */
static int set_symbol(struct vmp_model *m, struct vmp_place *p, struct vmp_symtab *t,
		      const struct vmp_symbol *sym, const char *module)
{
	uint32_t *shown = &t->shown[sym - t->sym.v];
	char readable[VMP_READABLE_BYTES];
	int err = 0;

	if (!*shown)
		*shown = str(m, vmp_demangle(readable, sizeof(readable), sym->name), &err);
	p->why = sym->rank == VMP_SYM_UNNAMED ? VMP_WHY_UNNAMED : VMP_WHY_OK;
	if (!t->own_module)
		t->own_module = str(m, module, &err);
	p->function = *shown;
	p->module = sym->module ? sym->module : t->own_module;
	return err;
}

/* @sym: of @t, or NULL; it is the answer up to @same */
static int kernel_symbol(struct vmp_model *m, struct vmp_symtab *t, struct vmp_symbol *sym, uint64_t ip,
			 uint64_t same, const char *kernel, struct vmp_place *p)
{
	if (!sym)
		return set_offset(m, p, VMP_WHY_NO_KSYM, kernel, ip);
	if (!sym->idle)
		sym->idle = vmp_is_idle_function(sym->name) ? 2 : 1;
	p->idle = sym->idle == 2;
	p->until = same;
	return set_symbol(m, p, t, sym, kernel);
}

int vmp_resolve_guest_kernel(struct vmp_model *m, struct vmp_machine *vm, uint32_t epoch, uint32_t era,
			     uint64_t ip, struct vmp_place *p)
{
	struct vmp_kernel *k = epoch == VMP_NONE ? NULL : &vm->boots.v[epoch].kernel;
	struct vmp_symbol *sym;
	struct vmp_symtab *t;
	uint64_t same;

	if (!(ip >> 63))
		return set(m, p, VMP_WHY_BOOT, "[firmware or boot code]", "[guest firmware]");
	if (!k || !vmp_kernel_known(k))
		return set(m, p, vm->boots.nr ? VMP_WHY_NO_KSYMS : VMP_WHY_NO_AGENT,
			   "[guest kernel]", "vmlinux");
	sym = vmp_kernel_find(k, era, ip, &t, &same);
	return kernel_symbol(m, t, sym, ip, same, "vmlinux", p);
}

/* What became (@err) of opening a file: its number + 1; one that is nowhere is remembered as such (NULL) */
static int keep_object(struct vmp_model *m, int err, struct vmp_elf *e, uint32_t *number)
{
	if (err == -ENOMEM)
		return err;
	if (err)
		e = NULL;
	if (vmp_vec_push(&m->elfs, e)) {
		vmp_elf_close(e);
		return -ENOMEM;
	}
	*number = m->elfs.nr;
	return 0;
}

#define MAPS_MAX	32	/* of a file, that are compared */

/* An address in a mapped file */
struct in_file {
	const char *module;
	const uint8_t *build_id;	/* as the agent told it, if it did */
	size_t build_id_len;
	uint64_t ip;
	uint64_t same;		/* the mapping holds up to here */
	uint64_t offset;	/* file offset of ip */
	struct vmp_elf_map maps[MAPS_MAX];	/* the one in question; all of the file where its segments overlap */
	unsigned int nr_maps;
};

/* Return: 1 when there is no room for another one */
static int add_map(struct in_file *in, uint64_t start, uint64_t pgoff)
{
	in->maps[in->nr_maps++] = (struct vmp_elf_map){ start, pgoff };
	return in->nr_maps == MAPS_MAX;
}

static int add_guest_map(void *in, const struct vmp_map *map)
{
	return add_map(in, map->start, map->pgoff);
}

/* "[libfoo.so+0x1234 build-id 0123456789abcdef]" */
static int unknown(struct vmp_model *m, struct vmp_place *p, enum vmp_why why, const struct vmp_elf *e,
		   const struct in_file *in, uint64_t offset)
{
	const uint8_t *id = in->build_id;
	char name[VMPROF_PATH_BYTES_MAX + 64];
	size_t len = in->build_id_len;
	int n;

	if (!len && e)
		id = vmp_elf_own_id(e, &len);
	if (!len)
		return set_offset(m, p, why, in->module, offset);
	n = snprintf(name, sizeof(name), "[%.*s+0x%llx build-id ", (int)VMPROF_PATH_BYTES_MAX, in->module,
		     (unsigned long long)offset);
	vmp_text_hex(name + n, id, len < BUILD_ID_SHOWN ? len : BUILD_ID_SHOWN);
	strcat(name + n, "]");
	return set(m, p, why, name, in->module);
}

static const char *readable(char *buf, size_t size, const struct vmp_frame *f, const char *symbol)
{
	/* the symbol knows its own function's name best */
	return f->name && (f->inlined || !symbol) ? vmp_demangle(buf, size, f->name) : symbol;
}

/* The name at one address with what --inline and --srcline ask for; p->function is the symbol's */
static int detail(struct vmp_model *m, struct vmp_place *p, struct vmp_elf *e, uint64_t vaddr)
{
	struct vmp_frame frames[VMP_FRAMES_MAX], *f;
	const char *name = p->why == VMP_WHY_OK ? vmp_model_name(m, p->function) : NULL, *file = "";
	char buf[VMP_READABLE_BYTES], text[VMP_READABLE_BYTES + 256], line[16] = "";
	int err = 0, nr = 0, inlined;
	struct vmp_dwarf *d;
	uint64_t bias;

	d = vmp_elf_dwarf(e, &bias);
	if (d)
		nr = vmp_dwarf_frames(d, vaddr - bias, frames);
	if (!nr)
		return 0;
	f = &frames[m->detail & VMP_DETAIL_INLINE ? 0 : nr - 1];
	inlined = f->inlined;
	name = readable(buf, sizeof(buf), f, name);
	if (!name)
		return 0;
	if (m->detail & VMP_DETAIL_LINE && frames[0].file && frames[0].line) {
		file = base_name(frames[0].file);
		snprintf(line, sizeof(line), ":%d", frames[0].line);
	}
	snprintf(text, sizeof(text), "%s%s%s%.200s%s", name, inlined ? " (inlined)" : "", *file ? " " : "",
		 file, line);
	p->function = str(m, text, &err);
	p->why = VMP_WHY_OK;
	return err;
}

static int file_symbol(struct vmp_model *m, struct vmp_elf *e, const struct in_file *in, struct vmp_place *p)
{
	const struct vmp_symbol *sym;
	uint64_t vaddr, end, same;
	int err;

	if (!e)
		return unknown(m, p, VMP_WHY_NO_OBJECT, e, in, in->offset);
	if (vmp_elf_vaddr_until(e, in->maps, in->nr_maps, in->offset, &vaddr, &end))
		return unknown(m, p, VMP_WHY_NO_SYMBOL, e, in, in->offset);
	sym = vmp_symtab_find_until(vmp_elf_symtab(e), vaddr, &same);
	if (sym) {
		p->until = in->same;
		if (end - in->offset < p->until - in->ip)
			p->until = in->ip + (end - in->offset);
		if (same - vaddr < p->until - in->ip)
			p->until = in->ip + (same - vaddr);
		err = set_symbol(m, p, vmp_elf_symtab(e), sym, in->module);
	} else {
		err = unknown(m, p, VMP_WHY_NO_SYMBOL, e, in, vaddr);
	}
	p->vaddr = vaddr;
	if (err || !m->detail)
		return err;
	p->until = 0;
	return detail(m, p, e, vaddr);
}

/* Code that the program made, where it told of its functions; a forked one has its parent's,
   too.  @same: to where the answer holds is lowered */
static const struct vmp_symbol *made_code(struct vmp_machine *vm, uint32_t image, uint32_t version,
					  uint64_t ip, struct vmp_symtab **table, uint64_t *same)
{
	const struct vmp_symbol *sym = NULL;
	uint64_t end, until = vmp_space_until(&vm->space, image, version);
	int n;

	for (n = 0; !sym && image != VMP_NONE && n <= VMP_FORKS_MAX; n++) {
		*table = vmp_jit_table(&vm->jit, image, until);
		until = vm->space.images.v[image].fork_tsc;
		image = vm->space.images.v[image].parent;
		if (!*table)
			continue;
		sym = vmp_symtab_find_until(*table, ip, &end);
		if (end < *same)
			*same = end;
	}
	return sym;
}

/* Memory files are how some runtimes map code that is writable elsewhere */
static int may_be_made(struct vmp_model *m, const struct vmp_machine *vm, const struct vmp_map *map)
{
	return map->file == VMP_FILE_ANON ||
	       !strncmp(vmp_model_name(m, vm->files.v[map->file].path), "/memfd:", 7);
}

int vmp_resolve_guest_user(struct vmp_model *m, struct vmp_machine *vm, uint32_t epoch,
			   uint32_t image, uint32_t version, uint64_t ip, struct vmp_place *p)
{
	const struct vmp_symbol *sym;
	struct vmp_symtab *table;
	const struct vmp_map *map;
	struct vmp_file *f;
	const char *module;
	struct in_file in;
	struct vmp_elf *e;
	uint64_t same;
	int err;

	if ((ip & ~0xfffULL) == VSYSCALL)
		return set(m, p, VMP_WHY_OK, "[vsyscall]", "[vsyscall]");
	if (epoch == VMP_NONE)
		return set(m, p, VMP_WHY_NO_AGENT, "[unknown user code]", "[unknown]");
	if (image == VMP_NONE)
		return set(m, p, VMP_WHY_NO_OWNER, "[unknown user code]", "[unknown]");
	map = vmp_space_map_until(&vm->space, image, version, ip, &same);
	if (!map)
		return set(m, p, VMP_WHY_NO_MAP, "[unmapped user code]", "[unknown]");
	sym = may_be_made(m, vm, map) ? made_code(vm, image, version, ip, &table, &same) : NULL;
	if (sym) {
		p->until = same;
		return set_symbol(m, p, table, sym, "[jit]");
	}
	if (map->file == VMP_FILE_ANON)
		return set(m, p, VMP_WHY_ANON, "[anonymous code]", "[anon]");
	f = &vm->files.v[map->file];
	if (!f->elf) {
		err = vmp_seek_guest(m->seek, vm->vm, f, vmp_model_name(m, f->path), !!m->detail, &e);
		err = keep_object(m, err, e, &f->elf);
		if (err)
			return err;
	}
	module = base_name(vmp_model_name(m, f->path));
	in = (struct in_file){
		.module = *module ? module : "?", .build_id = f->build_id, .build_id_len = f->build_id_len,
		.ip = ip, .same = same, .offset = ip - map->start + map->pgoff,
		.maps = { { map->start, map->pgoff } }, .nr_maps = 1,
	};
	p->elf = f->elf;
	e = m->elfs.v[f->elf - 1];
	if (e && vmp_elf_overlap(e, in.offset))
		vmp_space_each_map(&vm->space, image, map->file, add_guest_map, &in);
	return file_symbol(m, e, &in, p);
}

int vmp_resolve_host_kernel(struct vmp_model *m, uint64_t ip, struct vmp_place *p)
{
	struct vmp_symbol *sym;
	uint64_t same;

	if (!m->host_ksyms.sym.nr)
		return set(m, p, VMP_WHY_NO_KSYMS, "[host kernel]", "[host kernel]");
	sym = vmp_symtab_find_until(&m->host_ksyms, ip, &same);
	return kernel_symbol(m, &m->host_ksyms, sym, ip, same, "[host kernel]", p);
}

/* The file as it was when it ran, or none */
static int open_host(struct vmp_model *m, uint32_t name, const uint8_t *id, int len, uint32_t *number)
{
	const char *path = vmp_model_name(m, name);
	struct vmp_elf *e = NULL;
	int err = len < 0 ? len : -ENOENT;

	if (len >= 0 && *path == '/')
		err = vmp_seek_host(m->seek, path, id, (size_t)len, !!m->detail, &e);
	m->host_others += err == -ESTALE || (err == -ENOENT && len > 0);
	err = keep_object(m, err, e, number);
	return err ? err : vmp_hash_set(&m->elf_by_path, name, *number);
}

int vmp_resolve_host_user(struct vmp_model *m, uint32_t tgid, uint64_t ip, struct vmp_place *p)
{
	const struct vmp_host_proc *proc = vmp_host_proc(m, tgid);
	const struct vmp_host_map *map = vmp_host_map(proc, ip);
	uint8_t id[VMP_BUILD_ID_BYTES];
	uint32_t *known, n, i;
	struct vmp_elf *e;
	struct in_file in;
	int err, len;

	if (!map)
		return set(m, p, VMP_WHY_NO_MAP, "[host user code]",
			   proc && proc->comm ? vmp_model_name(m, proc->comm) : "[unknown]");
	if (!map->path)
		return set(m, p, VMP_WHY_ANON, "[anonymous code]", "[anon]");
	len = vmp_host_id(m, map->path, id);
	known = vmp_hash_find(&m->elf_by_path, map->path);
	n = known ? *known : 0;
	err = n ? 0 : open_host(m, map->path, id, len, &n);
	if (err)
		return err;
	in = (struct in_file){
		.module = base_name(vmp_model_name(m, map->path)), .build_id = id, .build_id_len = len > 0 ? (size_t)len : 0, .ip = ip, .same = map->end, .offset = ip - map->start + map->pgoff,
		.maps = { { map->start, map->pgoff } }, .nr_maps = 1,
	};
	p->elf = n;
	e = m->elfs.v[n - 1];
	for (i = 0; e && vmp_elf_overlap(e, in.offset) && i < proc->maps.nr; i++)
		if (proc->maps.v[i].path == map->path && add_map(&in, proc->maps.v[i].start, proc->maps.v[i].pgoff))
			break;
	return file_symbol(m, e, &in, p);
}
