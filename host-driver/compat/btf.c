// SPDX-License-Identifier: GPL-2.0-only
/*
 * btf.c - asks a module's type information where a struct's member is.
 *
 * /sys/kernel/btf/MODULE is what the kernel itself verified when it loaded the
 * module.  Its strings and types go on where vmlinux's end, so the length of
 * vmlinux's strings is needed too; of its types nothing, since a private
 * struct's names and members are the module's own.
 */
#include <linux/btf.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include "compat.h"

#define VMPH_BTF_MAX	(16U << 20)

struct vmph_btf {
	void *data;
	u32 size;
	const struct btf_header *hdr;
	const void *types, *types_end;
	const char *strings;
	u32 strings_base;	/* length of vmlinux's strings */
};

/* Read up to @size bytes. Return: bytes read, negative errno. */
static ssize_t vmph_read_file(const char *path, void *buf, size_t size)
{
	struct file *file = filp_open(path, O_RDONLY, 0);
	size_t done = 0;
	loff_t pos = 0;
	ssize_t n = 0;

	if (IS_ERR(file))
		return PTR_ERR(file);
	while (done < size) {
		n = kernel_read(file, buf + done, size - done, &pos);
		if (n <= 0)
			break;
		done += n;
	}
	filp_close(file, NULL);
	return n < 0 ? n : done;
}

static int vmph_btf_open(struct vmph_btf *btf, const char *module)
{
	struct btf_header base;
	char path[64];
	ssize_t size;

	if (vmph_read_file("/sys/kernel/btf/vmlinux", &base, sizeof(base)) != sizeof(base) ||
	    base.magic != BTF_MAGIC)
		return -ENOENT;
	snprintf(path, sizeof(path), "/sys/kernel/btf/%s", module);
	btf->data = vzalloc(VMPH_BTF_MAX);
	if (!btf->data)
		return -ENOMEM;
	size = vmph_read_file(path, btf->data, VMPH_BTF_MAX);
	btf->hdr = btf->data;
	if (size < (ssize_t)sizeof(*btf->hdr) || size == VMPH_BTF_MAX ||
	    btf->hdr->magic != BTF_MAGIC ||
	    (u64)btf->hdr->hdr_len + btf->hdr->type_off + btf->hdr->type_len > size ||
	    (u64)btf->hdr->hdr_len + btf->hdr->str_off + btf->hdr->str_len > size) {
		vfree(btf->data);
		return -ENOENT;
	}
	btf->types = btf->data + btf->hdr->hdr_len + btf->hdr->type_off;
	btf->types_end = btf->types + btf->hdr->type_len;
	btf->strings = btf->data + btf->hdr->hdr_len + btf->hdr->str_off;
	btf->strings_base = base.str_len;
	return 0;
}

static bool vmph_btf_is_named(const struct vmph_btf *btf, u32 name_off, const char *name)
{
	u32 at = name_off - btf->strings_base;

	return name_off >= btf->strings_base && at < btf->hdr->str_len &&
	       !strncmp(btf->strings + at, name, btf->hdr->str_len - at);
}

/* Bytes that follow struct btf_type */
static size_t vmph_btf_extra(const struct btf_type *type)
{
	u32 n = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
		return sizeof(u32);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return n * sizeof(struct btf_enum);
	case BTF_KIND_FUNC_PROTO:
		return n * sizeof(struct btf_param);
	case BTF_KIND_VAR:
		return sizeof(struct btf_var);
	case BTF_KIND_DATASEC:
		return n * sizeof(struct btf_var_secinfo);
	case BTF_KIND_DECL_TAG:
		return sizeof(struct btf_decl_tag);
	case BTF_KIND_ENUM64:
		return n * sizeof(struct btf_enum64);
	default:
		return 0;
	}
}

static const struct btf_type *vmph_btf_struct(const struct vmph_btf *btf, const char *name)
{
	const void *at = btf->types;

	while (at + sizeof(struct btf_type) <= btf->types_end) {
		const struct btf_type *type = at;

		at += sizeof(*type) + vmph_btf_extra(type);
		if (at > btf->types_end)
			break;
		if (BTF_INFO_KIND(type->info) == BTF_KIND_STRUCT &&
		    vmph_btf_is_named(btf, type->name_off, name))
			return type;
	}
	return NULL;
}

/* Offset of a member in bytes, negative errno */
static int vmph_btf_offset(const struct btf_type *type, const struct vmph_btf *btf,
			   const char *name)
{
	const struct btf_member *member = (const void *)(type + 1);
	u32 i;

	for (i = 0; i < BTF_INFO_VLEN(type->info); i++, member++)
		if (vmph_btf_is_named(btf, member->name_off, name))
			return (BTF_INFO_KFLAG(type->info) ?
				BTF_MEMBER_BIT_OFFSET(member->offset) : member->offset) / 8;
	return -ENOENT;
}

int vmph_btf_check(const char *module, const char *type, const char *member, u32 offset)
{
	const struct btf_type *found;
	struct vmph_btf btf;
	int at = -ENOENT;

	if (vmph_btf_open(&btf, module))
		return 0;
	found = vmph_btf_struct(&btf, type);
	if (found)
		at = vmph_btf_offset(found, &btf, member);
	vfree(btf.data);
	if (at == (int)offset)
		return 0;
	pr_warn_once("vmprof: %s: struct %s has %s at %d, not at %u: vmprof was built for another kernel, please rebuild it\n",
		     module, type, member, at, offset);
	return -ENODEV;
}
