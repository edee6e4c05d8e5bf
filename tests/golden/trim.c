// SPDX-License-Identifier: GPL-2.0-only
/*
 * trim.c - make a capture small enough to be committed: every so manieth sample
 * with its branches, and of all symbols only those that these hit.
 *
 * What the agent told is kept but for the rest of the kernel's symbols.  Of the
 * guest's programs come their addresses and the names of functions that were
 * hit, not their code.  Paths of the host's files get a folder in front that
 * no machine has, so that reports do not depend on what lies at them.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent_msg.h"
#include "capture/reader.h"
#include "capture/writer.h"
#include "frame.h"
#include "model/classify.h"
#include "model/lbr.h"
#include "model/records.h"
#include "model/resolve.h"
#include "util/below.h"

#define NOWHERE		"/host"
#define PCPUS_MAX	64

struct bytes {
	char *p;
	size_t len, room;
};

/* A place in one of the guest's programs */
struct hit {
	uint32_t elf, vm, file;		/* as the model numbers them */
	uint64_t vaddr, offset;
};

struct trim {
	struct vmp_model *m;
	uint64_t nr, every;		/* samples so far; one of so many is kept, 0 none */
	VMP_VEC(uint64_t) kernel;	/* addresses, the guest's and the host's */
	VMP_VEC(struct hit) hits;
	struct vmp_writer *w;
	struct {
		struct bytes records;
		uint64_t first, last;	/* host TSC */
	} ring[PCPUS_MAX];
	unsigned int pcpu;		/* of the block that is being read */
	int keep;			/* the last sample */
	struct bytes ksyms;		/* of the guest, until they are whole */
	uint32_t ksyms_vm, seq;
};

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "trim: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void append(struct bytes *b, const void *data, size_t len)
{
	if (!len)
		return;
	if (b->room - b->len < len) {
		b->room = 2 * (b->len + len);
		b->p = realloc(b->p, b->room);
		check(b->p ? 0 : -ENOMEM, "memory");
	}
	memcpy(b->p + b->len, data, len);
	b->len += len;
}

/* ------------------------------------------------------------- what was hit */

static void note_kernel(struct trim *t, uint64_t addr)
{
	if (addr >> 63)
		check(vmp_vec_push(&t->kernel, addr), "memory");
}

/* An address in the guest's programs, as seen from a sample */
static void note_user(struct trim *t, const struct vmp_hit *at, uint64_t addr)
{
	struct vmp_machine *vm;
	const struct vmp_map *map;
	struct vmp_place place = { 0 };
	struct hit hit;

	if (!addr || addr >> 63 || at->image == VMP_NONE)
		return;
	vm = &t->m->vms.v[at->vm];
	map = vmp_space_map(&vm->space, at->image, at->version, addr);
	check(vmp_resolve_guest_user(t->m, vm, at->epoch, at->image, at->version, addr, &place), "symbols");
	if (!map || !place.elf || !t->m->elfs.v[place.elf - 1])
		return;
	hit = (struct hit){ place.elf - 1, at->vm, map->file, place.vaddr, addr - map->start + map->pgoff };
	check(vmp_vec_push(&t->hits, hit), "memory");
}

static int note(void *arg, const struct vmp_lbr_sample *ls)
{
	struct vmprof_sample s = *ls->s;
	struct trim *t = arg;
	struct vmp_hit at;
	unsigned int i;

	if (!t->every || t->nr++ % t->every)
		return 0;
	note_kernel(t, s.host_ip);
	note_kernel(t, s.host_return_ip[0]);
	note_kernel(t, s.host_return_ip[1]);
	note_kernel(t, s.guest_ip);
	for (i = 0; ls->lbr && i < ls->lbr->nr; i++) {
		note_kernel(t, ls->lbr->b[i].from);
		note_kernel(t, ls->lbr->b[i].to);
	}
	if (!s.vm)
		return 0;
	/* where the guest is also while its vCPU waits, or is in the host */
	s.mode = VMPROF_MODE_GUEST;
	s.flags = (s.flags & ~VMPROF_SF_STEAL) | VMPROF_SF_VCPU;
	check(vmp_classify(t->m, &s, &at), "capture");
	if (at.kind != VMP_KIND_GUEST_USER)
		return 0;
	note_user(t, &at, s.guest_ip);
	for (i = 0; ls->lbr && i < ls->lbr->nr; i++) {
		note_user(t, &at, ls->lbr->b[i].from);
		note_user(t, &at, ls->lbr->b[i].to);
	}
	return 0;
}

static int count(void *arg, const struct vmprof_sample *s)
{
	uint64_t *n = arg;

	(void)s;
	++*n;
	return 0;
}

/* ---------------------------------------------------------- kernel symbols */

struct line {
	uint64_t addr;
	const char *p;
	size_t len;
	int keep;
};

static int by_addr(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return a->p < b->p ? -1 : a->p > b->p;
}

static int by_place(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;

	return a->p < b->p ? -1 : a->p > b->p;
}

/* All names of the function that holds @addr, and the next one, which ends it */
static void keep_around(struct line *v, size_t nr, uint64_t addr)
{
	size_t lo = 0, hi = nr, mid, i;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (i = lo; i && v[i - 1].addr == v[lo - 1].addr; i--)
		v[i - 1].keep = 1;
	if (lo < nr)
		v[lo].keep = 1;
}

/* Lines as of /proc/kallsyms, in their order */
static struct bytes prune(const struct trim *t, const char *text, size_t len)
{
	const char *p = text, *end = text + len, *nl;
	VMP_VEC(struct line) lines = { 0 };
	struct bytes out = { 0 };
	uint32_t i;

	for (; p < end && (nl = memchr(p, '\n', (size_t)(end - p))); p = nl + 1) {
		struct line l = { .p = p, .len = (size_t)(nl + 1 - p) };
		char type = 0;

		if (sscanf(p, "%lx %c", &l.addr, &type) == 2 && strchr("tTwW", type))
			check(vmp_vec_push(&lines, l), "memory");
	}
	if (lines.nr)
		qsort(lines.v, lines.nr, sizeof(*lines.v), by_addr);
	for (i = 0; i < t->kernel.nr; i++)
		keep_around(lines.v, lines.nr, t->kernel.v[i]);
	if (lines.nr)
		qsort(lines.v, lines.nr, sizeof(*lines.v), by_place);
	for (i = 0; i < lines.nr; i++)
		if (lines.v[i].keep)
			append(&out, lines.v[i].p, lines.v[i].len);
	vmp_vec_free(&lines);
	return out;
}

/* ------------------------------------------------------------------ blocks */

static void put(struct trim *t, const struct vmp_block *b, const void *data, size_t len)
{
	check(vmp_writer_block(t->w, b->type, b->source, data, len, b->tsc_first, b->tsc_last), "output");
}

static void put_frame(struct trim *t, struct bytes *out, unsigned int type, const void *payload, size_t len)
{
	struct vmprof_frame f;

	check(vmp_frame_build(&f, (uint16_t)type, t->seq++, payload, len), "frame");
	append(out, &f, sizeof(f));
	append(out, payload, len);
}

/* A piece of the guest's kernel symbols; the last one puts what is left of them */
static void ksyms(struct trim *t, struct bytes *out, const struct vmp_msg_ksyms *msg, uint32_t vm)
{
	struct bytes kept, payload = { 0 };
	struct vmprof_ksyms k = { 0 };

	if (!msg->offset)
		t->ksyms.len = 0;
	check(t->ksyms.len && t->ksyms_vm != vm ? -ENOTSUP : 0, "symbols of two guests at once");
	t->ksyms_vm = vm;
	append(&t->ksyms, msg->text.p, msg->text.len);
	if (t->ksyms.len < msg->total)
		return;
	kept = prune(t, t->ksyms.p, t->ksyms.len);
	k.total = htole64(kept.len);
	append(&payload, &k, sizeof(k));
	append(&payload, kept.p, kept.len);
	put_frame(t, out, VMPROF_MSG_KSYMS, payload.p, payload.len);
	t->ksyms.len = 0;
	free(kept.p);
	free(payload.p);
}

static void agent(struct trim *t, const struct vmp_block *b, const void *data, size_t len)
{
	struct vmp_cursor c = vmp_cursor_init(data, len);
	struct bytes out = { 0 };

	while (vmp_cursor_left(&c)) {
		struct vmp_agent_msg msg;
		struct vmprof_frame f;
		const void *payload;

		vmp_cursor_copy(&c, &f, sizeof(f));
		payload = vmp_cursor_bytes(&c, le32toh(f.len));
		if (!payload || vmp_agent_msg_parse(le16toh(f.type), payload, le32toh(f.len), &msg))
			check(-EBADMSG, "an agent's frame");
		if (msg.type == VMPROF_MSG_KSYMS)
			ksyms(t, &out, &msg.ksyms, b->source);
		else
			put_frame(t, &out, msg.type, payload, le32toh(f.len));
	}
	if (out.len)
		put(t, b, out.p, out.len);
	free(out.p);
}

static int record(struct trim *t, const struct vmprof_record *rec)
{
	append(&t->ring[t->pcpu].records, rec, rec->size);
	return 0;
}

static int on_sample(void *arg, const struct vmprof_sample *s)
{
	struct trim *t = arg;

	t->keep = t->every && t->nr++ % t->every == 0;
	return t->keep ? record(t, &s->hdr) : 0;
}

static int on_other(void *arg, const struct vmprof_record *rec)
{
	struct trim *t = arg;

	return rec->type == VMPROF_REC_LBR && !t->keep ? 0 : record(t, rec);
}

/* "00400000-00500000 r-xp 00000000 08:01 55 /usr/bin/x": the path moves */
static void host_maps(struct trim *t, const struct vmp_block *b, const char *text, size_t len)
{
	const char *end = text + len, *nl, *path;
	struct bytes out = { 0 };

	for (; text < end && (nl = memchr(text, '\n', (size_t)(end - text))); text = nl + 1) {
		path = memchr(text, '/', (size_t)(nl - text));
		append(&out, text, (size_t)((path ? path : nl) - text));
		if (path)
			append(&out, NOWHERE, strlen(NOWHERE));
		append(&out, path ? path : nl, (size_t)(nl + 1 - (path ? path : nl)));
	}
	put(t, b, out.p, out.len);
	free(out.p);
}

static void ring_span(struct trim *t, const struct vmp_block *b)
{
	uint64_t *first = &t->ring[t->pcpu].first, *last = &t->ring[t->pcpu].last;

	if (b->tsc_first && (!*first || b->tsc_first < *first))
		*first = b->tsc_first;
	if (b->tsc_last > *last)
		*last = b->tsc_last;
}

static void block(struct trim *t, const struct vmp_block *b, const void *data, size_t len)
{
	struct bytes text;

	switch (b->type) {
	case VMPROF_CAP_INDEX:
		return;
	case VMPROF_CAP_AGENT:
		agent(t, b, data, len);
		return;
	case VMPROF_CAP_HOST_MAPS:
		host_maps(t, b, data, len);
		return;
	case VMPROF_CAP_HOST_KSYMS:
		text = prune(t, data, len);
		put(t, b, text.p, text.len);
		free(text.p);
		return;
	case VMPROF_CAP_RECORDS:
		check(b->source < PCPUS_MAX ? 0 : -ERANGE, "pCPUs");
		t->pcpu = b->source;
		ring_span(t, b);
		vmp_records_walk(data, len, on_sample, on_other, t);
		return;
	default:
		put(t, b, data, len);
	}
}

/* One block for each pCPU */
static void put_rings(struct trim *t)
{
	struct vmp_block b = { .type = VMPROF_CAP_RECORDS };

	for (b.source = 0; b.source < PCPUS_MAX; b.source++) {
		b.tsc_first = t->ring[b.source].first;
		b.tsc_last = t->ring[b.source].last;
		if (t->ring[b.source].records.len)
			put(t, &b, t->ring[b.source].records.p, t->ring[b.source].records.len);
		free(t->ring[b.source].records.p);
	}
}

static void put_blocks(struct trim *t, const char *in, const char *out)
{
	struct vmp_reader *r;
	struct vmp_block b;
	const void *data;
	size_t len;

	check(vmp_reader_open(&r, in), in);
	check(vmp_writer_create(&t->w, out, vmp_reader_header(r)), out);
	t->nr = 0;
	while (vmp_reader_next(r, &b) == 1) {
		check(vmp_reader_data(r, &data, &len), in);
		block(t, &b, data, len);
	}
	put_rings(t);
	check(vmp_writer_close(t->w), out);
	vmp_reader_close(r);
}

/* ---------------------------------------------------------------- programs */

static int by_elf(const void *pa, const void *pb)
{
	const struct hit *a = pa, *b = pb;

	if (a->elf != b->elf)
		return a->elf < b->elf ? -1 : 1;
	return a->vaddr < b->vaddr ? -1 : a->vaddr > b->vaddr;
}

/* What is left of a program: one segment, whose code is not there */
struct program {
	uint64_t start, end, offset;	/* of the segment */
	struct bytes note, symtab, strtab, frames;
};

static const struct { uint32_t len, id; uint8_t version, augmentation, code, data, ra, nop[3]; } cie = {
	12, 0, 1, 0, 1, 0x78, 16, { 0 },
};

static void add_function(struct program *p, const struct vmp_symbol *sym)
{
	struct { uint32_t len, cie; uint64_t start, bytes; } fde = {
		20, (uint32_t)p->frames.len + 4, sym->start, sym->end - sym->start,
	};
	Elf64_Sym s = {
		.st_name = (Elf64_Word)p->strtab.len, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1,
		.st_value = sym->start, .st_size = sym->end - sym->start,
	};

	p->offset -= sym->start < p->start ? p->start - sym->start : 0;
	p->start = sym->start < p->start ? sym->start : p->start;
	p->end = sym->end > p->end ? sym->end : p->end;
	if (sym->rank == VMP_SYM_UNNAMED) {
		append(&p->frames, &fde, sizeof(fde));
	} else {
		append(&p->symtab, &s, sizeof(s));
		append(&p->strtab, sym->name, strlen(sym->name) + 1);
	}
}

static Elf64_Shdr section(uint32_t name, uint32_t type, struct bytes *b, uint64_t *at)
{
	Elf64_Shdr sh = { .sh_name = name, .sh_type = type, .sh_offset = *at, .sh_size = b->len, .sh_addralign = 8 };

	*at += b->len;
	return sh;
}

static void write_program(struct program *p, const char *path)
{
	static const char names[] = "\0.text\0.note.gnu.build-id\0.eh_frame\0.symtab\0.strtab\0.shstrtab";
	struct bytes shstrtab = { (char *)(uintptr_t)names, sizeof(names), 0 };
	Elf64_Phdr ph = {
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_align = 0x1000, .p_offset = p->offset,
		.p_vaddr = p->start, .p_filesz = p->end - p->start, .p_memsz = p->end - p->start,
	};
	Elf64_Shdr sh[7] = { { 0 }, { .sh_name = 1, .sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				      .sh_addr = p->start, .sh_size = p->end - p->start } };
	Elf64_Ehdr h = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_phoff = sizeof(h),
		.e_shoff = sizeof(h) + sizeof(ph), .e_ehsize = sizeof(h), .e_phentsize = sizeof(ph), .e_phnum = 1,
		.e_shentsize = sizeof(sh[0]), .e_shnum = 7, .e_shstrndx = 6,
	};
	uint64_t at = h.e_shoff + sizeof(sh);
	FILE *f = fopen(path, "wb");

	check(f ? 0 : -errno, path);
	sh[2] = section(7, SHT_NOTE, &p->note, &at);
	sh[3] = section(26, SHT_PROGBITS, &p->frames, &at);
	sh[4] = section(36, SHT_SYMTAB, &p->symtab, &at);
	sh[4].sh_link = 5;
	sh[4].sh_info = 1;
	sh[4].sh_entsize = sizeof(Elf64_Sym);
	sh[5] = section(44, SHT_STRTAB, &p->strtab, &at);
	sh[6] = section(52, SHT_STRTAB, &shstrtab, &at);
	fwrite(&h, sizeof(h), 1, f);
	fwrite(&ph, sizeof(ph), 1, f);
	fwrite(sh, sizeof(sh), 1, f);
	fwrite(p->note.p, p->note.len, 1, f);
	fwrite(p->frames.p, p->frames.len, 1, f);
	fwrite(p->symtab.p, p->symtab.len, 1, f);
	fwrite(p->strtab.p, p->strtab.len, 1, f);
	fwrite(names, sizeof(names), 1, f);
	check(ferror(f) | fclose(f) ? -EIO : 0, path);
}

static void pad(struct bytes *b)
{
	append(b, "\0\0\0\0\0\0\0", (8 - b->len % 8) % 8);
}

/* The functions that hold @nr addresses of a program */
static void put_program(struct trim *t, const struct hit *hit, uint32_t nr, const char *path)
{
	const struct vmp_file *file = &t->m->vms.v[hit->vm].files.v[hit->file];
	struct program p = { .start = hit->vaddr, .end = hit->vaddr + 1, .offset = hit->offset };
	Elf64_Nhdr note = { 4, file->build_id_len, NT_GNU_BUILD_ID };
	const struct vmp_symbol *sym, *last = NULL;
	const Elf64_Sym none = { 0 };
	uint32_t i;

	append(&p.note, &note, sizeof(note));
	append(&p.note, "GNU", 4);
	append(&p.note, file->build_id, file->build_id_len);
	append(&p.frames, &cie, sizeof(cie));
	append(&p.symtab, &none, sizeof(none));
	append(&p.strtab, "", 1);
	for (i = 0; i < nr; i++) {
		check(hit[i].vaddr - hit[i].offset == hit->vaddr - hit->offset ? 0 : -ENOTSUP, "several segments");
		p.end = hit[i].vaddr >= p.end ? hit[i].vaddr + 1 : p.end;
		sym = vmp_elf_symbol(t->m->elfs.v[hit->elf], hit[i].vaddr);
		if (sym && sym != last)
			add_function(&p, sym);
		last = sym;
	}
	pad(&p.note);
	pad(&p.strtab);
	append(&p.frames, "\0\0\0\0", 4);
	pad(&p.frames);
	write_program(&p, path);
	free(p.note.p);
	free(p.frames.p);
	free(p.symtab.p);
	free(p.strtab.p);
}

static void make_folders(char *path)
{
	char *slash;

	for (slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		check(mkdir(path, 0777) && errno != EEXIST ? -errno : 0, path);
		*slash = '/';
	}
}

/* As an object cache has them */
static void put_programs(struct trim *t, const char *cache)
{
	uint32_t i, n;
	char path[4096];

	setenv("VMPROF_OBJCACHE", cache, 1);
	if (t->hits.nr)
		qsort(t->hits.v, t->hits.nr, sizeof(*t->hits.v), by_elf);
	for (i = 0; i < t->hits.nr; i += n) {
		const struct hit *h = &t->hits.v[i];

		for (n = 1; i + n < t->hits.nr && h[n].elf == h->elf; n++)
			;
		if (vmp_objcache_path(path, sizeof(path), t->m->vms.v[h->vm].files.v[h->file].key))
			continue;
		make_folders(path);
		put_program(t, h, n, path);
	}
}

int main(int argc, char **argv)
{
	struct vmp_seek seek = { .sysroot = VMP_BELOW_HOST };
	struct trim t = { 0 };
	uint64_t nr = 0, want;

	if (argc < 5) {
		fprintf(stderr, "usage: trim CAPTURE OUTPUT OBJECT-CACHE SAMPLES [SYSROOT]\n"
			"The guest's programs are looked for in $VMPROF_OBJCACHE and below SYSROOT.\n");
		return 2;
	}
	want = strtoull(argv[4], NULL, 10);
	if (argc > 5) {
		seek.sysroot = vmp_below_folder(argv[5]);
		check(seek.sysroot < 0 ? seek.sysroot : 0, argv[5]);
	}
	check(vmp_model_open(&t.m, argv[1]), argv[1]);
	t.m->seek = &seek;
	check(vmp_model_samples(t.m, count, &nr), argv[1]);
	t.every = want && nr > want ? (nr + want - 1) / want : want != 0;
	check(vmp_model_lbr_samples(t.m, note, &t), argv[1]);
	put_blocks(&t, argv[1], argv[2]);
	put_programs(&t, argv[3]);
	vmp_vec_free(&t.kernel);
	vmp_vec_free(&t.hits);
	free(t.ksyms.p);
	vmp_model_close(t.m);
	return 0;
}
