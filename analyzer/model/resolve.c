// SPDX-License-Identifier: GPL-2.0-only
/* resolve.c - address to function and module, through maps, files and symbols. */
#include "model/resolve.h"

#include <stdio.h>
#include <string.h>

#include "model/demangle.h"
#include "model/hosttext.h"

#define VSYSCALL	0xffffffffff600000ULL

static const struct {
	const char *key, *text;
} whys[VMP_WHY_NR] = {
	[VMP_WHY_OK] = { "resolved", "resolved" },
	[VMP_WHY_UNNAMED] = { "unnamed", "the function's name was stripped: sub_ADDRESS" },
	[VMP_WHY_NO_AGENT] = { "no_agent", "no agent told of the guest's processes" },
	[VMP_WHY_NO_OWNER] = { "no_process", "the process is not known" },
	[VMP_WHY_NO_MAP] = { "no_mapping", "no mapping is known at the address" },
	[VMP_WHY_ANON] = { "anonymous", "code that lies in no file (JIT)" },
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
static int set_symbol(struct vmp_model *m, struct vmp_place *p, const struct vmp_symtab *t,
		      const struct vmp_symbol *sym, const char *module)
{
	uint32_t *shown = &t->shown[sym - t->sym.v];
	char readable[1024];
	int err = 0;

	if (!*shown)
		*shown = str(m, vmp_demangle(readable, sizeof(readable), sym->name), &err);
	p->why = sym->rank == VMP_SYM_UNNAMED ? VMP_WHY_UNNAMED : VMP_WHY_OK;
	p->function = *shown;
	p->module = sym->module ? sym->module : str(m, module, &err);
	return err;
}

static int kernel_symbol(struct vmp_model *m, struct vmp_symtab *t, uint64_t ip,
			 const char *kernel, struct vmp_place *p)
{
	uint64_t same;
	const struct vmp_symbol *sym = vmp_symtab_find_until(t, ip, &same);

	if (!sym)
		return set_offset(m, p, VMP_WHY_NO_KSYM, kernel, ip);
	p->until = same;
	return set_symbol(m, p, t, sym, kernel);
}

int vmp_resolve_guest_kernel(struct vmp_model *m, struct vmp_machine *vm, uint32_t epoch,
			     uint64_t ip, struct vmp_place *p)
{
	struct vmp_symtab *t = epoch == VMP_NONE ? NULL : &vm->boots.v[epoch].ksyms;

	if (!(ip >> 63))
		return set(m, p, VMP_WHY_BOOT, "[firmware or boot code]", "[guest firmware]");
	if (!t || !t->sym.nr)
		return set(m, p, vm->boots.nr ? VMP_WHY_NO_KSYMS : VMP_WHY_NO_AGENT,
			   "[guest kernel]", "vmlinux");
	return kernel_symbol(m, t, ip, "vmlinux", p);
}

/* Opened object + 1; a file that cannot be read is remembered as such (NULL). */
static int open_object(struct vmp_model *m, const char *path, uint32_t *number)
{
	struct vmp_elf *e = NULL;
	int err = path ? vmp_elf_open(&e, path) : -ENOENT;

	if (err == -ENOMEM)
		return err;
	if (vmp_vec_push(&m->elfs, e)) {
		vmp_elf_close(e);
		return -ENOMEM;
	}
	*number = m->elfs.nr;
	return 0;
}

/* @same: where the mapping ends, in file offsets */
static int file_symbol(struct vmp_model *m, struct vmp_elf *e, const char *module,
		       uint64_t offset, uint64_t same, struct vmp_place *p)
{
	const struct vmp_symbol *sym;
	uint64_t vaddr, end, symbol_end;

	if (!e)
		return set_offset(m, p, VMP_WHY_NO_OBJECT, module, offset);
	if (vmp_elf_vaddr_until(e, offset, &vaddr, &end))
		return set_offset(m, p, VMP_WHY_NO_SYMBOL, module, offset);
	sym = vmp_symtab_find_until(vmp_elf_symtab(e), vaddr, &symbol_end);
	if (!sym)
		return set_offset(m, p, VMP_WHY_NO_SYMBOL, module, vaddr);
	if (same < end)
		end = same;
	if (symbol_end - vaddr < end - offset)
		end = offset + (symbol_end - vaddr);
	p->until = end - offset;	/* a distance: the caller knows from where */
	return set_symbol(m, p, vmp_elf_symtab(e), sym, module);
}

int vmp_resolve_guest_user(struct vmp_model *m, struct vmp_machine *vm, uint32_t epoch,
			   uint32_t image, uint32_t version, uint64_t ip, struct vmp_place *p)
{
	const struct vmp_map *map;
	struct vmp_file *f;
	const char *module;
	char path[4096];
	uint64_t same, offset;
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
	if (map->file == VMP_FILE_ANON)
		return set(m, p, VMP_WHY_ANON, "[anonymous code]", "[anon]");
	f = &vm->files.v[map->file];
	if (!f->elf) {
		err = open_object(m, *f->key && !vmp_objcache_path(path, sizeof(path), f->key) ?
				  path : NULL, &f->elf);
		if (err)
			return err;
	}
	module = base_name(vmp_model_name(m, f->path));
	offset = ip - map->start + map->pgoff;
	p->until = 0;
	err = file_symbol(m, m->elfs.v[f->elf - 1], *module ? module : "?", offset,
			  offset + (same - ip), p);
	p->until = p->until ? ip + p->until : 0;
	return err;
}

int vmp_resolve_host_kernel(struct vmp_model *m, uint64_t ip, struct vmp_place *p)
{
	if (!m->host_ksyms.sym.nr)
		return set(m, p, VMP_WHY_NO_KSYMS, "[host kernel]", "[host kernel]");
	return kernel_symbol(m, &m->host_ksyms, ip, "[host kernel]", p);
}

int vmp_resolve_host_user(struct vmp_model *m, uint32_t tgid, uint64_t ip, struct vmp_place *p)
{
	const struct vmp_host_proc *proc = vmp_host_proc(m, tgid);
	const struct vmp_host_map *map = vmp_host_map(proc, ip);
	const char *path;
	uint32_t *known, n;
	uint64_t offset;
	int err;

	if (!map)
		return set(m, p, VMP_WHY_NO_MAP, "[host user code]",
			   proc && proc->comm ? vmp_model_name(m, proc->comm) : "[unknown]");
	if (!map->path)
		return set(m, p, VMP_WHY_ANON, "[anonymous code]", "[anon]");
	path = vmp_model_name(m, map->path);
	known = vmp_hash_find(&m->elf_by_path, map->path);
	n = known ? *known : 0;
	if (!n) {
		err = open_object(m, *path == '/' ? path : NULL, &n);
		if (!err)
			err = vmp_hash_set(&m->elf_by_path, map->path, n);
		if (err)
			return err;
	}
	offset = ip - map->start + map->pgoff;
	p->until = 0;
	err = file_symbol(m, m->elfs.v[n - 1], base_name(path), offset, offset + (map->end - ip), p);
	p->until = p->until ? ip + p->until : 0;
	return err;
}
