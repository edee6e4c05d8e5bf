/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * program.h - a program whose every block time is known: a few instructions
 * with costs, assembled into an ELF file, run by a small simulator that
 * samples it as a counter would, with its last branches.
 */
#ifndef VMP_TEST_PROGRAM_H
#define VMP_TEST_PROGRAM_H

#include "gen.h"

#include <elf.h>

#define PROG_MAX	256		/* instructions */
#define PROG_VADDR	0x1000ULL	/* link address and file offset of the code */
#define PROG_BASE	0x400000ULL	/* where it is mapped, less PROG_VADDR */
#define PROG_INO	77U
#define PROG_CR3	0x1000000ULL
#define PROG_PID	50U

enum prog_op { PROG_PLAIN, PROG_COND, PROG_JUMP, PROG_CALL, PROG_RET, PROG_REP };

struct prog_insn {
	enum prog_op op;
	uint32_t cost;		/* cycles */
	int target;		/* number of an instruction */
	uint32_t trips;		/* PROG_COND: taken all but once in so many times; 0: by chance */
	uint32_t chance;	/* ... then taken so many times of 100 */
	uint32_t missed;	/* so many times of 100 mispredicted when it is taken */
	uint32_t penalty;	/* cycles that it costs then what comes after it */
	int exits;		/* the guest is left for it: the VM entry behind begins without branches */
	const char *function;	/* begins here */
	uint32_t done;
	uint64_t addr;		/* in the file; set by prog_assemble() */
	uint32_t bytes;
};

/* What really ran, by first and last instruction of a block */
struct prog_truth {
	uint64_t runs, cycles;
	uint64_t missed, missed_cycles;	/* of these, after a mispredicted branch */
};

struct prog {
	struct prog_insn insn[PROG_MAX];
	int nr;
	uint8_t code[PROG_MAX * 8];
	uint32_t code_bytes;
	struct prog_truth truth[PROG_MAX][PROG_MAX];
	uint64_t taken[PROG_MAX];
};

static inline int prog_add(struct prog *p, struct prog_insn i)
{
	assert_true(p->nr < PROG_MAX);
	p->insn[p->nr] = i;
	return p->nr++;
}

/* @n plain instructions, the first of which costs @first cycles, the others @cost each */
static inline int prog_plain(struct prog *p, int n, uint32_t first, uint32_t cost)
{
	int at = p->nr;

	prog_add(p, (struct prog_insn){ .cost = first });
	while (--n)
		prog_add(p, (struct prog_insn){ .cost = cost });
	return at;
}

static inline int prog_jump(struct prog *p, enum prog_op op, int target, uint32_t trips, uint32_t chance)
{
	return prog_add(p, (struct prog_insn){ .op = op, .cost = 1, .target = target, .trips = trips, .chance = chance });
}

static inline void prog_assemble(struct prog *p)
{
	static const uint8_t bytes[] = { 3, 6, 5, 5, 1, 2 };
	uint64_t at = PROG_VADDR;
	uint8_t *c = p->code;
	int i;

	for (i = 0; i < p->nr; i++) {
		p->insn[i].addr = at;
		at += p->insn[i].bytes = bytes[p->insn[i].op];
	}
	for (i = 0; i < p->nr; i++) {
		const struct prog_insn *in = &p->insn[i];
		int32_t rel = (int32_t)(p->insn[in->target].addr - (in->addr + in->bytes));

		switch (in->op) {
		case PROG_PLAIN:
			memcpy(c, "\x48\x89\xd8", 3);	/* mov rax, rbx */
			break;
		case PROG_COND:
			memcpy(c, "\x0f\x85", 2);
			memcpy(c + 2, &rel, 4);
			break;
		case PROG_JUMP:
		case PROG_CALL:
			*c = in->op == PROG_CALL ? 0xe8 : 0xe9;
			memcpy(c + 1, &rel, 4);
			break;
		case PROG_RET:
			*c = 0xc3;
			break;
		case PROG_REP:
			memcpy(c, "\xf3\xa4", 2);	/* rep movsb */
		}
		c += in->bytes;
	}
	p->code_bytes = (uint32_t)(c - p->code);
}

static inline uint64_t prog_end(const struct prog *p, int i)
{
	for (i++; i < p->nr && !p->insn[i].function; i++)
		;
	return i < p->nr ? p->insn[i].addr : PROG_VADDR + p->code_bytes;
}

/* An ELF file with build-id @id (NULL: it has none), one segment, .text and .symtab */
static inline void prog_write(const struct prog *p, const char *path, const uint8_t *id)
{
	static const char names[] = "\0.note.gnu.build-id\0.text\0.symtab\0.strtab\0.shstrtab";
	static uint8_t file[0x8000];
	struct { Elf64_Nhdr h; char name[4]; uint8_t id[20]; } note = { { 4, 20, NT_GNU_BUILD_ID }, "GNU", { 0 } };
	Elf64_Ehdr h = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_phoff = sizeof(h),
		.e_shoff = 0x4000, .e_ehsize = sizeof(h), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 6, .e_shstrndx = 5,
	};
	Elf64_Phdr ph = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = PROG_VADDR, .p_vaddr = PROG_VADDR,
			  .p_filesz = p->code_bytes, .p_memsz = p->code_bytes, .p_align = 0x1000 };
	Elf64_Sym *sym = (void *)(file + 0x5000);
	char *str = (char *)file + 0x6000, *at = str + 1;
	Elf64_Shdr *sh = (void *)(file + 0x4000);
	int i, n = 1;

	memset(file, 0, sizeof(file));
	if (id)
		memcpy(note.id, id, 20);
	for (i = 0; i < p->nr; i++) {
		if (!p->insn[i].function)
			continue;
		sym[n++] = (Elf64_Sym){
			.st_name = (Elf64_Word)(at - str), .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 2,
			.st_value = p->insn[i].addr, .st_size = prog_end(p, i) - p->insn[i].addr,
		};
		at = stpcpy(at, p->insn[i].function) + 1;
	}
	sh[1] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_NOTE, .sh_offset = 0x200, .sh_size = id ? sizeof(note) : 0 };
	sh[2] = (Elf64_Shdr){ .sh_name = 20, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			      .sh_addr = PROG_VADDR, .sh_offset = PROG_VADDR, .sh_size = p->code_bytes };
	sh[3] = (Elf64_Shdr){ .sh_name = 26, .sh_type = SHT_SYMTAB, .sh_offset = 0x5000,
			      .sh_size = (uint64_t)n * sizeof(*sym), .sh_link = 4, .sh_info = 1, .sh_entsize = sizeof(*sym) };
	sh[4] = (Elf64_Shdr){ .sh_name = 34, .sh_type = SHT_STRTAB, .sh_offset = 0x6000, .sh_size = (uint64_t)(at - str) };
	sh[5] = (Elf64_Shdr){ .sh_name = 42, .sh_type = SHT_STRTAB, .sh_offset = 0x7000, .sh_size = sizeof(names) };
	memcpy(file, &h, sizeof(h));
	memcpy(file + sizeof(h), &ph, sizeof(ph));
	memcpy(file + 0x200, &note, sizeof(note));
	memcpy(file + PROG_VADDR, p->code, p->code_bytes);
	memcpy(file + 0x7000, names, sizeof(names));
	gen_write(path, file, sizeof(file));
}

/* The program where the object cache has it, and the agent's word of it and of a process that runs it */
static inline void prog_install_in(struct gen *g, const struct prog *p, const char *cache, uint32_t vm)
{
	static const uint8_t id[20] = { 0xab, 0xcd, 0xef, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17 };
	char path[512], cmd[600];

	snprintf(cmd, sizeof(cmd), "mkdir -p '%s/u-%u/ab'", cache, vm);
	assert_int_equal(system(cmd), 0);
	snprintf(path, sizeof(path), "%s/u-%u/ab/cdef0102030405060708090a0b0c0d0e0f1011", cache, vm);
	prog_write(p, path, id);
	gen_hello(g, 2000, 1, 0);
	gen_file(g, 1, PROG_INO, 0x8000, id, sizeof(id), "/usr/bin/prog");
	gen_proc(g, VMPROF_MSG_PROC, 2000, PROG_CR3, PROG_PID, 1, 0, "prog");
	gen_map(g, 2000, PROG_CR3, PROG_PID, PROG_BASE + PROG_VADDR, PROG_BASE + PROG_VADDR + 0x1000, PROG_VADDR,
		PROG_INO, "/usr/bin/prog");
}

static inline void prog_install(struct gen *g, const struct prog *p, const char *cache)
{
	prog_install_in(g, p, cache, GEN_VM);
}

/* ---------------------------------------------------------------- branches */

struct prog_branch {
	uint64_t from, to, cycles;
};

/* A record; @b: the youngest first */
static inline void gen_lbr_cut(struct gen *g, uint64_t tsc, uint32_t branches, unsigned format,
			       const struct prog_branch *b, unsigned nr, uint32_t mispredicted, unsigned cut)
{
	struct { struct vmprof_rec_lbr h; uint64_t word[3 * VMPROF_LBR_MAX]; } rec = { .h = {
		.tsc = tsc, .branches = branches, .format = (uint8_t)format, .nr = (uint8_t)nr,
		.cut = (uint8_t)cut, .mispredicted = mispredicted,
	} };
	unsigned i, n = 0;

	for (i = 0; i < nr; i++) {
		if (format != VMPROF_LBR_TO)
			rec.word[n++] = b[i].from;
		if (format != VMPROF_LBR_FROM)
			rec.word[n++] = b[i].to;
		if (format == VMPROF_LBR_FROM_TO_CYCLES)
			rec.word[n++] = b[i].cycles;
	}
	rec.h.hdr.type = VMPROF_REC_LBR;
	rec.h.hdr.size = (uint16_t)(sizeof(rec.h) + n * 8);
	gen_record(g, &rec, rec.h.hdr.size);
}

static inline void gen_lbr(struct gen *g, uint64_t tsc, uint32_t branches, unsigned format,
			   const struct prog_branch *b, unsigned nr, uint32_t mispredicted)
{
	gen_lbr_cut(g, tsc, branches, format, b, nr, mispredicted, 0);
}

/* --------------------------------------------------------------- simulator */

struct prog_run {
	uint64_t period;	/* cycles between samples */
	uint64_t samples;	/* to take */
	uint64_t instructions;	/* period of the second event, 0 none */
	unsigned format;	/* VMPROF_LBR_* */
	unsigned depth;		/* entries of the LBR */
	uint64_t top;		/* a branch's cycles from here on are not told; 0: all are */
	int scatters;		/* periods are up to twice as long, by chance */
	int leaves;		/* a sample ends a run of the guest: the next VM entry begins without branches */
	int counts;		/* samples have cycles and instructions */
	uint64_t seed;		/* of what goes by chance */
	uint64_t host;		/* it is QEMU's own code, which lies there (as PROG_BASE); 0: a guest's */
};

struct prog_sim {
	struct gen *g;
	struct prog *p;
	const struct prog_run *run;
	struct prog_branch lbr[VMPROF_LBR_MAX];	/* the youngest first */
	uint32_t mispredicted;			/* of these: bits */
	unsigned known;				/* of these: behind the last VM entry */
	uint64_t cycles, insns, last_cycles, last_insns, taken_at, random;
	uint64_t next, next_insns;	/* where the counters overflow; 0: they do not run */
	uint64_t n;			/* samples of cycles */
	uint32_t late;		/* cycles before the next instruction */
	int stack[64], depth, start;
};

/* Some hundred million instructions are simulated: what does that looks after itself */
#define PROG_QUICK	__attribute__((no_sanitize("address", "undefined"), optimize("O2")))

PROG_QUICK static inline uint32_t prog_chance(struct prog_sim *s)
{
	s->random = s->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(s->random >> 33) % 100;
}

PROG_QUICK static inline uint64_t prog_period(struct prog_sim *s, uint64_t period)
{
	if (!s->run->scatters)
		return period;
	prog_chance(s);
	return 1 + (s->random >> 20) % (2 * period - 1);
}

PROG_QUICK static inline uint64_t prog_base(const struct prog_sim *s)
{
	return s->run->host ? s->run->host : PROG_BASE;
}

static inline void prog_sample(struct prog_sim *s, unsigned type, int at)
{
	struct vmprof_sample r = {
		.hdr = { (uint16_t)type, sizeof(r), 0 }, .tsc = 10000 + s->cycles, .host_pid = GEN_VM, .host_tid = GEN_VM + 1,
		.vm = GEN_VM, .vcpu_tid = GEN_VM + 1, .mode = VMPROF_MODE_GUEST, .cpl = 3, .vendor = VMPROF_VENDOR_SVM,
		.flags = VMPROF_SF_VCPU | VMPROF_SF_LONG_MODE | VMPROF_SF_IRQ_NMI,
		.guest_ip = PROG_BASE + s->p->insn[at].addr, .guest_cr3 = PROG_CR3, .exit_reason = 0x61,
	};

	if (s->run->host) {
		r.mode = VMPROF_MODE_VMM_USER;
		r.host_ip = prog_base(s) + s->p->insn[at].addr;
		r.guest_ip = r.guest_cr3 = 0;
	}
	if (s->run->counts && type == VMPROF_REC_SAMPLE) {
		r.flags |= VMPROF_SF_COUNTS;
		r.cycles = s->cycles - s->last_cycles;
		r.instructions = s->insns - s->last_insns;
		s->last_cycles = s->cycles;
		s->last_insns = s->insns;
	}
	gen_record(s->g, &r, sizeof(r));
	if (s->known)
		gen_lbr_cut(s->g, r.tsc, VMPROF_LBR_ALL, s->run->format, s->lbr, s->known, s->mispredicted,
			    s->run->depth - s->known);
	if (s->run->leaves)
		s->known = 0;
	if (s->g->records_len > sizeof(s->g->records) - 4096)
		gen_records_flush(s->g, 0, 10000, r.tsc);
}

/* Goes from the instruction @at to another one, or on */
PROG_QUICK static inline int prog_step(struct prog_sim *s, int at)
{
	struct prog_insn *in = &s->p->insn[at];
	int to = at + 1;

	switch (in->op) {
	case PROG_PLAIN:
	case PROG_REP:
		return to;
	case PROG_COND:
		if (in->trips ? ++in->done % in->trips == 0 : prog_chance(s) >= in->chance)
			return to;
		/* fall through */
	case PROG_JUMP:
		to = in->target;
		break;
	case PROG_CALL:
		s->stack[s->depth++] = at + 1;
		to = in->target;
		break;
	case PROG_RET:
		to = s->stack[--s->depth];
	}
	memmove(s->lbr + 1, s->lbr, (s->run->depth - 1) * sizeof(*s->lbr));
	s->known += s->known < s->run->depth;
	s->lbr[0] = (struct prog_branch){ prog_base(s) + in->addr, prog_base(s) + s->p->insn[to].addr, s->cycles - s->taken_at };
	if (s->run->top && s->lbr[0].cycles >= s->run->top)
		s->lbr[0].cycles = 0;
	s->p->truth[s->start][at].runs++;
	s->p->truth[s->start][at].cycles += s->cycles - s->taken_at;
	if (s->mispredicted & 1) {
		s->p->truth[s->start][at].missed++;
		s->p->truth[s->start][at].missed_cycles += s->cycles - s->taken_at;
	}
	s->p->taken[at]++;
	s->taken_at = s->cycles;
	s->mispredicted <<= 1;
	if (in->missed && prog_chance(s) < in->missed) {
		s->mispredicted |= 1;
		s->late = in->penalty;
	}
	s->start = to;
	return to;
}

/* Time goes by: samples of it find the processor at @at */
PROG_QUICK static inline void prog_wait(struct prog_sim *s, uint32_t cycles, int at)
{
	s->cycles += cycles;
	for (; s->next && s->next <= s->cycles && s->n < s->run->samples; s->next += prog_period(s, s->run->period), s->n++)
		prog_sample(s, VMPROF_REC_SAMPLE, at);
}

/*
 * An instruction, behind what a mispredicted branch before it costs.  A counter that overflows in it interrupts when it has been
 * retired: the sample is at the next one.  Return: which that is
 */
PROG_QUICK static inline int prog_retire(struct prog_sim *s, int at)
{
	uint32_t cost = s->p->insn[at].cost;

	prog_wait(s, s->late, at);
	s->late = 0;
	s->cycles += cost;
	s->insns++;
	if (s->p->insn[at].exits)
		s->known = 0;
	at = prog_step(s, at);
	prog_wait(s, 0, at);
	if (s->next_insns && s->insns >= s->next_insns) {
		s->next_insns += prog_period(s, s->run->instructions);
		prog_sample(s, VMPROF_REC_INSTRUCTIONS, at);
	}
	return at;
}

PROG_QUICK static inline void prog_simulate(struct gen *g, struct prog *p, const struct prog_run *run)
{
	struct prog_sim s = { .g = g, .p = p, .run = run, .random = run->seed + 1 };
	int at = 0, i;

	for (i = 0; i < 4096; i++)	/* the LBR is full, and it runs in its loops */
		at = prog_retire(&s, at);
	memset(p->truth, 0, sizeof(p->truth));
	memset(p->taken, 0, sizeof(p->taken));
	s.next = run->period + s.cycles;
	s.next_insns = run->instructions;
	s.last_cycles = s.cycles;
	s.insns = 0;
	while (s.n < run->samples)
		at = prog_retire(&s, at);
	if (g->records_len)
		gen_records_flush(g, 0, 10000, 10000 + s.cycles);
}

#endif
