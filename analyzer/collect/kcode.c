// SPDX-License-Identifier: GPL-2.0-only
/* kcode.c - see kcode.h. */
#include "collect/kcode.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/ksyms.h"
#include "util/text.h"

#define PAGE		4096ULL
#define HEAD_BYTES	16384U	/* of the file, before the code */
#define KCORE_SEGMENTS	4096U

_Static_assert(sizeof(Elf64_Ehdr) + VMP_KCODE_SEGMENTS * sizeof(Elf64_Phdr) <= HEAD_BYTES, "the head is too small");

/* ------------------------------------------------------------ where it is */

struct range {
	uint64_t start, end;	/* whole pages */
};

struct plan {
	VMP_VEC(struct range) ranges;	/* the first is the kernel's own; the others ascend */
	uint64_t bytes, missing;
};

static int find_symbol(const char *text, size_t len, const char *name, uint64_t *addr)
{
	const char *p = text, *end = text + len, *nl;
	size_t n = strlen(name);

	for (; (nl = memchr(p, '\n', (size_t)(end - p))); p = nl + 1)
		if ((size_t)(nl - p) > n && nl[-1 - (ptrdiff_t)n] == ' ' && !memcmp(nl - n, name, n))
			return vmp_text_unhex(&p, nl, addr) ? 0 : -ESRCH;
	return -ESRCH;
}

static int plan_kernel(struct plan *p, const char *text, size_t len)
{
	struct range r;

	if (find_symbol(text, len, "_stext", &r.start) || find_symbol(text, len, "_etext", &r.end) ||
	    !(r.start >> 63) || r.end <= r.start)
		return -ESRCH;
	if (r.end - r.start > VMP_KCODE_BYTES_MAX - 2 * PAGE || r.end > -PAGE)
		return -EFBIG;
	r.start &= ~(PAGE - 1);
	r.end = (r.end + PAGE - 1) & ~(PAGE - 1);
	p->bytes = r.end - r.start;
	return vmp_vec_push(&p->ranges, r);
}

/* The pages of a symbol, as far as they are not there yet; symbols come in order of address */
static int plan_symbol(struct plan *p, const struct vmp_symbol *s)
{
	struct range *last = &p->ranges.v[p->ranges.nr - 1], *own = &p->ranges.v[0];
	struct range r = { s->start & ~(PAGE - 1), ((s->end - 1) | (PAGE - 1)) + 1 };

	if (!(r.start >> 63) || r.end <= r.start || (r.start < own->end && r.end > own->start))
		return 0;
	if (last != own && r.start < last->end)
		r.start = last->end;
	if (r.start >= r.end)
		return 0;
	if (r.end - r.start > VMP_KCODE_BYTES_MAX - p->bytes) {
		p->missing += r.end - r.start;
		return 0;
	}
	p->bytes += r.end - r.start;
	if (last == own || last->end != r.start)
		return vmp_vec_push(&p->ranges, r);
	last->end = r.end;
	return 0;
}

static int plan_modules(struct plan *p, char *text, size_t len)
{
	struct vmp_strings strings;
	struct vmp_symtab t = { 0 };
	uint32_t i;
	int err = vmp_strings_init(&strings);

	if (!err)
		err = vmp_ksyms_parse(&t, text, len, &strings);
	for (i = 0; !err && i < t.sym.nr; i++)
		if (t.sym.v[i].module && !vmp_ksyms_is_made(vmp_strings_get(&strings, t.sym.v[i].module)))
			err = plan_symbol(p, &t.sym.v[i]);
	vmp_symtab_free(&t);
	vmp_strings_deinit(&strings);
	return err;
}

/* --------------------------------------------------------------- the file */

struct image {
	const struct vmp_kcode_reader *reader;
	struct vmp_kcode *out;
	Elf64_Phdr segment[VMP_KCODE_SEGMENTS];
	unsigned int nr;
};

static void add(struct image *m, uint64_t vaddr, size_t bytes)
{
	Elf64_Phdr *last = m->nr ? &m->segment[m->nr - 1] : NULL;

	if (!last || last->p_vaddr + last->p_filesz != vaddr)
		m->segment[m->nr++] = (Elf64_Phdr){
			.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = m->out->len, .p_vaddr = vaddr, .p_align = PAGE,
		};
	last = &m->segment[m->nr - 1];
	last->p_memsz = last->p_filesz += bytes;
	m->out->len += bytes;
	m->out->bytes += bytes;
}

static void copy(struct image *m, const struct range *r)
{
	uint64_t at = r->start;
	size_t n;

	while (at < r->end && m->nr < VMP_KCODE_SEGMENTS) {
		n = m->reader->read(m->reader->arg, at, m->out->elf + m->out->len, r->end - at);
		if (n)
			add(m, at, n);
		else
			m->out->missing += PAGE;
		at += n ? n : PAGE;
	}
	m->out->missing += r->end - at;
}

static void write_head(const struct image *m)
{
	Elf64_Ehdr h = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_CORE, .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_phoff = sizeof(h),
		.e_ehsize = sizeof(h), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = (Elf64_Half)m->nr,
	};

	memset(m->out->elf, 0, HEAD_BYTES);
	memcpy(m->out->elf, &h, sizeof(h));
	memcpy(m->out->elf + sizeof(h), m->segment, m->nr * sizeof(*m->segment));
}

static int fill(const struct plan *p, const struct vmp_kcode_reader *reader, struct vmp_kcode *out)
{
	struct image m = { .reader = reader, .out = out };
	uint32_t i;

	*out = (struct vmp_kcode){ .elf = malloc(HEAD_BYTES + p->bytes), .len = HEAD_BYTES };
	if (!out->elf)
		return -ENOMEM;
	copy(&m, &p->ranges.v[0]);
	if (out->missing) {
		free(out->elf);
		return -EFAULT;
	}
	for (i = 1; i < p->ranges.nr; i++)
		copy(&m, &p->ranges.v[i]);
	out->missing += p->missing;
	write_head(&m);
	return 0;
}

/* Before all symbols are looked at: page tables that are something else by now do not have all of the kernel's own code */
static int is_there(const struct plan *p, const struct vmp_kcode_reader *reader)
{
	uint64_t at = p->ranges.v[0].start, end = p->ranges.v[0].end;
	uint8_t code[16 * PAGE];
	size_t n;

	for (; at < end; at += n) {
		n = reader->read(reader->arg, at, code, end - at < sizeof(code) ? end - at : sizeof(code));
		if (!n)
			return -EFAULT;
	}
	return 0;
}

int vmp_kcode_make(char *ksyms, size_t len, const struct vmp_kcode_reader *reader, struct vmp_kcode *out)
{
	struct plan p = { 0 };
	struct vmp_kcode made;
	int err = plan_kernel(&p, ksyms, len);

	if (!err)
		err = is_there(&p, reader);
	if (!err)
		err = plan_modules(&p, ksyms, len);
	if (!err)
		err = fill(&p, reader, &made);
	if (!err)
		*out = made;
	vmp_vec_free(&p.ranges);
	return err;
}

/* ------------------------------------------------------------ /proc/kcore */

int vmp_kcore_open(struct vmp_kcore *k, const char *path)
{
	Elf64_Ehdr h;
	size_t bytes;
	int err = -ENOEXEC;

	*k = (struct vmp_kcore){ .fd = open(path, O_RDONLY | O_CLOEXEC) };
	if (k->fd < 0)
		return -errno;
	if (pread(k->fd, &h, sizeof(h), 0) != sizeof(h) || memcmp(h.e_ident, ELFMAG, SELFMAG) ||
	    h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phnum > KCORE_SEGMENTS)
		goto close;
	k->nr = h.e_phnum;
	bytes = k->nr * sizeof(Elf64_Phdr);
	k->segments = malloc(bytes + 1);
	if (!k->segments)
		err = -ENOMEM;
	else if (pread(k->fd, k->segments, bytes, (off_t)h.e_phoff) == (ssize_t)bytes)
		return 0;
close:
	vmp_kcore_close(k);
	return err;
}

size_t vmp_kcore_code(void *arg, uint64_t vaddr, void *buf, size_t bytes)
{
	const struct vmp_kcore *k = arg;
	const Elf64_Phdr *s = k->segments;
	ssize_t n;

	for (; s < (const Elf64_Phdr *)k->segments + k->nr; s++) {
		if (s->p_type != PT_LOAD || vaddr < s->p_vaddr || vaddr - s->p_vaddr >= s->p_memsz)
			continue;
		if (bytes > s->p_memsz - (vaddr - s->p_vaddr))
			bytes = s->p_memsz - (vaddr - s->p_vaddr);
		n = pread(k->fd, buf, bytes, (off_t)(s->p_offset + (vaddr - s->p_vaddr)));
		return n < 0 ? 0 : (size_t)n & ~(PAGE - 1);
	}
	return 0;
}

void vmp_kcore_close(struct vmp_kcore *k)
{
	free(k->segments);
	if (k->fd >= 0)
		close(k->fd);
	*k = (struct vmp_kcore){ .fd = -1 };
}
