// SPDX-License-Identifier: GPL-2.0-only
/* kcopy.c - see kcopy.h. */
#include "collect/kcopy.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collect/clock.h"
#include "collect/guestmem.h"
#include "collect/housekeep.h"
#include "collect/kcode.h"
#include "collect/session.h"
#include "util/log.h"
#include "util/text.h"
#include "util/units.h"

#define PTI_USER	(1ULL << 12)	/* of CR3: the half of the tables without the kernel */

void vmp_kcopy_frame(struct vmp_kcopy *k, const struct vmprof_frame *wire, const void *payload, uint32_t len)
{
	unsigned int type = le16toh(wire->type);
	struct vmprof_proc p;

	if ((type != VMPROF_MSG_PROC && type != VMPROF_MSG_EXEC) || len < sizeof(p))
		return;
	memcpy(&p, payload, sizeof(p));
	if (le32toh(p.tgid) == 1 && p.cr3)
		k->init_cr3 = le64toh(p.cr3);
}

int vmp_kcopy_wanted(const struct vmp_session *s)
{
	return (s->opts->lbr.branches & VMPROF_LBR_KERNEL) && !s->opts->no_kernel_text;
}

/* -------------------------------------------------------------- the cache */

/* Under the hash of what it holds: as long as the kernel does not change its code, sessions share it */
static int keep(struct vmp_session *s, struct vmp_kcopy *k, const struct vmp_kcode *code, const char *owner)
{
	int err;

	vmp_objcache_content_key(k->key, code->elf, code->len);
	vmp_objcache_own(k->key, owner);
	if (vmp_objcache_has(k->key)) {
		vmp_objcache_used(k->key);
		return 0;
	}
	if (s->cache_room < code->len)
		return -ENOSPC;
	err = vmp_cache_put(k->key, code->elf, code->len);
	if (!err)
		s->cache_room -= code->len;
	return err;
}

static const char *why(int err)
{
	switch (err) {
	case -ESRCH:
		return "its symbols do not tell where its code is";
	case -EFBIG:
		return "its symbols tell of more code than a kernel has";
	case -EFAULT:
		return "not all of its code is mapped where its symbols are, or it is not to be read";
	case -ENOSPC:
		return "there is no room in the object cache";
	}
	return strerror(-err);
}

/* No copy, for @text */
static void lack(struct vmp_kcopy *k, const char *shown, const char *text)
{
	*k->key = 0;
	snprintf(k->why, sizeof(k->why), "%s", text);
	vmp_warn("%s: no copy of its kernel's code, blocks of it have no instructions: %s", shown, text);
}

/* What was made (@err: or was not) since @begun_ns goes into the cache, and is told */
static void finish(struct vmp_session *s, struct vmp_kcopy *k, int err, struct vmp_kcode *code, const char *owner,
		   const char *shown, uint64_t begun_ns)
{
	char size[32], more[32];

	if (!err) {
		err = keep(s, k, code, owner);
		free(code->elf);
	}
	if (err) {
		lack(k, shown, why(err));
		return;
	}
	k->bytes = code->bytes;
	k->missing = code->missing;
	vmp_format_size(size, sizeof(size), k->bytes);
	vmp_info("%s: copied its kernel's code, %s in %.1f s%s%s", shown, size,
		 (double)(vmp_now_ns() - begun_ns) / 1e9, k->missing ? "; not there or too much: " : "",
		 k->missing ? vmp_format_size(more, sizeof(more), k->missing) : "");
}

/* -------------------------------------------------------------- the guest */

/* By one CR3 after the other: that of a process which has ended may lead anywhere */
static int read_guest(struct vmp_vm *vm, const char *ksyms, size_t len, struct vmp_kcode *code)
{
	const uint64_t half = vm->agent.flags & VMPROF_HELLO_PTI ? PTI_USER : 0;
	struct vmp_guestmem mem = {
		.pid = vm->dom.pid, .ram = vm->ram, .nr_ram = vm->nr_ram, .la57 = !!(vm->agent.flags & VMPROF_HELLO_LA57),
	};
	const struct vmp_kcode_reader reader = { vmp_guestmem_code, &mem };
	const struct vmp_kcopy *k = &vm->kcopy;
	char *text = malloc(len + 1);
	int err = text ? -EFAULT : -ENOMEM, i;

	for (i = -1; err == -EFAULT && i < VMP_KCOPY_CR3S; i++) {
		mem.cr3 = i < 0 ? k->init_cr3 : k->cr3[(k->at + VMP_KCOPY_CR3S - (unsigned int)i) % VMP_KCOPY_CR3S];
		mem.cr3 &= ~half;
		if (!mem.cr3)
			continue;
		memcpy(text, ksyms, len);
		err = vmp_kcode_make(text, len, &reader, code);
	}
	free(text);
	return err;
}

void vmp_kcopy_guest(struct vmp_vm *vm)
{
	struct pollfd qemu = { .fd = vm->pidfd, .events = POLLIN };
	uint64_t begun_ns = vmp_now_ns();
	struct vmp_kcode code;
	char *ksyms;
	size_t len;
	int err;

	if (vm->gone) {
		lack(&vm->kcopy, vm->dom.shown, "the domain ended before");
	} else if (vm->objects.way == VMP_OBJECTS_NONE) {
		lack(&vm->kcopy, vm->dom.shown, "it was left in the guest (--objects none)");
	} else if (!vm->nr_ram) {
		lack(&vm->kcopy, vm->dom.shown, "its QEMU does not tell where its memory is (query-vmprof)");
	} else if (vmp_kept_read(&vm->kept, vm->agent.boot_id, &ksyms, &len)) {
		lack(&vm->kcopy, vm->dom.shown, "its agent did not tell its symbols");
	} else {
		memcpy(vm->kcopy.boot_id, vm->agent.boot_id, sizeof(vm->kcopy.boot_id));
		err = read_guest(vm, ksyms, len, &code);
		free(ksyms);
		/* was it this domain's QEMU that was read? */
		if (!err && poll(&qemu, 1, 0)) {
			free(code.elf);
			err = -EFAULT;
		}
		finish(vm->session, &vm->kcopy, err, &code, vm->dom.uuid, vm->dom.shown, begun_ns);
	}
}

/* --------------------------------------------------------------- the host */

void vmp_kcopy_host(struct vmp_session *s)
{
	struct vmp_kcore core = { .fd = -1 };
	const struct vmp_kcode_reader reader = { vmp_kcore_code, &core };
	uint64_t begun_ns = vmp_now_ns();
	struct vmp_kcode code;
	char *ksyms;
	size_t len;
	int err;

	err = vmp_kcore_open(&core, "/proc/kcore");
	if (err) {
		lack(&s->kcopy, "host", "/proc/kcore cannot be read");
		return;
	}
	err = vmp_read_ksyms(&ksyms, &len);
	if (err) {
		lack(&s->kcopy, "host", "its symbols are hidden (sysctl kernel.kptr_restrict)");
	} else {
		err = vmp_kcode_make(ksyms, len, &reader, &code);
		free(ksyms);
		finish(s, &s->kcopy, err, &code, VMP_OBJKEY_HOST, "host", begun_ns);
	}
	vmp_kcore_close(&core);
}

int vmp_kcopy_json(const struct vmp_kcopy *k, FILE *out)
{
	char hex[2 * sizeof(k->boot_id) + 1];

	if (*k->key) {
		fprintf(out, "{\"path\":\"%s\",\"boot_id\":\"%s\",\"bytes\":%" PRIu64 ",\"missing_bytes\":%" PRIu64 "}",
			k->key, vmp_text_hex(hex, k->boot_id, sizeof(k->boot_id)), k->bytes, k->missing);
	} else if (*k->why) {
		fputs("{\"why\":", out);
		vmp_json_str(out, k->why);
		fputs("}", out);
	} else {
		fputs("null", out);
	}
	return *k->key || *k->why;
}
