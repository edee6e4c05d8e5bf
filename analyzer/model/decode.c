// SPDX-License-Identifier: GPL-2.0-only
/* decode.c - instructions by capstone, put into the classes of decode.h. */
#include "model/decode.h"

const char *vmp_flow_name(enum vmp_flow flow)
{
	static const char *const names[VMP_FLOW_NR] = {
		"interrupt", "conditional", "call", "indirect call", "jump", "indirect jump", "return",
		"system call", "system return",
	};

	return flow < VMP_FLOW_NR ? names[flow] : "";
}

#ifdef HAVE_CAPSTONE
#include <capstone/capstone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIT(x)	(1U << VMP_INSN_##x)

struct decoder {
	csh handle, plain;	/* with details, and without: much faster */
	cs_insn *insn, *step;
};

void *vmp_decoder_create(void)
{
	struct decoder *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &d->handle) != CS_ERR_OK) {
		free(d);
		return NULL;
	}
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &d->plain) != CS_ERR_OK) {
		cs_close(&d->handle);
		free(d);
		return NULL;
	}
	cs_option(d->handle, CS_OPT_DETAIL, CS_OPT_ON);
	d->insn = cs_malloc(d->handle);
	d->step = cs_malloc(d->plain);
	return d;
}

void vmp_decoder_destroy(void *decoder)
{
	struct decoder *d = decoder;

	if (!d)
		return;
	cs_free(d->insn, 1);
	cs_free(d->step, 1);
	cs_close(&d->handle);
	cs_close(&d->plain);
	free(d);
}

static int begins(const char *s, const char *const *list, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strncmp(s, list[i], strlen(list[i])))
			return 1;
	return 0;
}

#define BEGINS(s, list) begins(s, list, sizeof(list) / sizeof((list)[0]))

static int ends(const char *s, const char *end)
{
	size_t a = strlen(s), b = strlen(end);

	return a >= b && !strcmp(s + a - b, end);
}

static int is_vector(x86_reg r)
{
	return (r >= X86_REG_XMM0 && r <= X86_REG_XMM31) || (r >= X86_REG_YMM0 && r <= X86_REG_YMM31) ||
	       (r >= X86_REG_ZMM0 && r <= X86_REG_ZMM31) || (r >= X86_REG_MM0 && r <= X86_REG_MM7);
}

/* Explicit operands, and the stack of push and pop */
static unsigned int memory(const cs_insn *insn, int *vector)
{
	static const char *const none[] = { "lea", "nop", "prefetch", "j", "call", "ret" };
	const cs_x86 *x = &insn->detail->x86;
	unsigned int bits = 0;
	int i;

	if (insn->id == X86_INS_PUSH)
		bits |= BIT(STORE);
	if (insn->id == X86_INS_POP || insn->id == X86_INS_LEAVE)
		bits |= BIT(LOAD);
	for (i = 0; i < x->op_count; i++) {
		const cs_x86_op *op = &x->operands[i];

		*vector |= op->type == X86_OP_REG && is_vector(op->reg);
		if (op->type != X86_OP_MEM || BEGINS(insn->mnemonic, none))
			continue;
		if (op->access & CS_AC_READ)
			bits |= BIT(LOAD);
		if (op->access & CS_AC_WRITE)
			bits |= BIT(STORE);
		if (!op->access)
			bits |= i ? BIT(LOAD) : BIT(STORE);
	}
	return bits;
}

static unsigned int vector_kind(const char *name)
{
	static const char *const move[] = { "mov", "lddqu", "extract", "insert", "maskmov", "broadcast",
					    "pextr", "pinsr", "gather", "pbroadcast" };
	static const char *const permute[] = { "shuf", "pshuf", "perm", "unpck", "punpck", "palign",
					       "blend", "pblend", "packs", "packu", "align" };
	const char *base = *name == 'v' ? name + 1 : name;
	int scalar = ends(name, "ss") || ends(name, "sd");
	unsigned int bits = scalar ? 0 : BIT(SIMD);

	if (BEGINS(base, permute))
		return bits | BIT(PERMUTE);
	if (BEGINS(base, move))
		return bits;
	return bits | (scalar || ends(name, "ps") || ends(name, "pd") ? BIT(FLOAT) : BIT(INTEGER));
}

static unsigned int scalar_kind(const char *name)
{
	static const char *const integer[] = {
		"add", "sub", "adc", "sbb", "inc", "dec", "neg", "mul", "imul", "div", "idiv", "and", "or",
		"xor", "not", "shl", "shr", "sal", "sar", "rol", "ror", "rcl", "rcr", "cmp", "test", "lea",
		"bt", "bs", "popcnt", "lzcnt", "tzcnt", "xadd", "bzhi", "bext", "pext", "pdep", "rorx",
	};
	static const char *const x87_move[] = { "fld", "fst", "fist", "fild", "fxch", "fnst", "fx", "fwait" };

	if (*name == 'f')
		return BEGINS(name, x87_move) ? 0 : BIT(FLOAT);
	return BEGINS(strncmp(name, "lock ", 5) ? name : name + 5, integer) ? BIT(INTEGER) : 0;
}

unsigned int vmp_decode(void *decoder, const uint8_t *code, size_t len)
{
	struct decoder *d = decoder;
	uint64_t address = 0;
	unsigned int bits;
	int vector = 0;

	if (!d || !d->insn || !cs_disasm_iter(d->handle, &code, &len, &address, d->insn))
		return 0;
	bits = BIT(DECODED) | memory(d->insn, &vector);
	if (cs_insn_group(d->handle, d->insn, CS_GRP_JUMP) || cs_insn_group(d->handle, d->insn, CS_GRP_CALL) ||
	    cs_insn_group(d->handle, d->insn, CS_GRP_RET))
		return bits | BIT(BRANCH);
	if (!strncmp(d->insn->mnemonic, "prefetch", 8))
		return bits | BIT(PREFETCH);
	return bits | (vector ? vector_kind(d->insn->mnemonic) : scalar_kind(d->insn->mnemonic));
}

/* Prefixes that say nothing of where a branch goes */
static const uint8_t *skip_prefixes(const uint8_t *p, const uint8_t *end)
{
	while (p < end && (*p == 0xf2 || *p == 0xf3 || *p == 0x66 || *p == 0x2e || *p == 0x3e ||
			   (*p & 0xf0) == 0x40))
		p++;
	return p;
}

/* The operand is an address in the instruction itself */
static int is_relative(const cs_insn *insn)
{
	const uint8_t *end = insn->bytes + insn->size, *p = skip_prefixes(insn->bytes, end);

	return p < end && (*p == 0xe8 || *p == 0xe9 || *p == 0xeb);
}

static enum vmp_flow flow_of(const cs_insn *insn)
{
	switch (insn->id) {
	case X86_INS_CALL:
		return is_relative(insn) ? VMP_FLOW_CALL : VMP_FLOW_CALL_IND;
	case X86_INS_LCALL:
		return VMP_FLOW_CALL_IND;
	case X86_INS_JMP:
		return is_relative(insn) ? VMP_FLOW_JUMP : VMP_FLOW_JUMP_IND;
	case X86_INS_LJMP:
		return VMP_FLOW_JUMP_IND;
	case X86_INS_RET:
	case X86_INS_RETF:
	case X86_INS_RETFQ:
		return VMP_FLOW_RETURN;
	case X86_INS_SYSCALL:
	case X86_INS_SYSENTER:
	case X86_INS_INT:
	case X86_INS_INT1:
	case X86_INS_INT3:
		return VMP_FLOW_SYSCALL;
	case X86_INS_SYSRET:
	case X86_INS_SYSEXIT:
	case X86_INS_IRET:
	case X86_INS_IRETD:
	case X86_INS_IRETQ:
		return VMP_FLOW_SYSRET;
	}
	return insn->mnemonic[0] == 'j' || !strncmp(insn->mnemonic, "loop", 4) ? VMP_FLOW_COND : VMP_FLOW_ON;
}

/* What follows an opcode */
enum operands {
	OTHER,		/* it is not one of these; capstone knows */
	NONE, IMM8, IMM32,
	MODRM, MODRM8, MODRM32,		/* ... and what follows that */
};

/* The operands of opcodes of one byte: those that most code is made of, without prefixes but REX */
static enum operands operands_of(uint8_t op, int wide)
{
	if (op < 0x40)
		return (op & 7) < 4 ? MODRM : (op & 7) == 4 ? IMM8 : (op & 7) == 5 ? IMM32 : OTHER;
	if ((op & 0xf0) == 0x50 || op == 0x98 || op == 0x99)
		return NONE;
	if ((op & 0xf8) == 0xb8 && !wide)
		return IMM32;
	if ((op & 0xf8) == 0xb0)
		return IMM8;
	switch (op) {
	case 0x68: case 0xa9:
		return IMM32;
	case 0x6a: case 0xa8:
		return IMM8;
	case 0x63:
		return wide ? MODRM : OTHER;
	case 0x84: case 0x85: case 0x88: case 0x89: case 0x8a: case 0x8b: case 0x8d: case 0xd1: case 0xd3: case 0xf7: case 0xff:
		return MODRM;
	case 0x80: case 0x83: case 0x6b: case 0xc1: case 0xc6:
		return MODRM8;
	case 0x81: case 0x69: case 0xc7:
		return MODRM32;
	}
	return OTHER;
}

/* Some of their numbers in ModRM are other instructions, or none */
static int is_plain(uint8_t op, uint8_t modrm)
{
	unsigned int reg = modrm >> 3 & 7;

	switch (op) {
	case 0x8d: return modrm < 0xc0;
	case 0xc1: case 0xd1: case 0xd3: return reg != 6;
	case 0xc6: case 0xc7: return !reg;
	case 0xf7: return reg > 1;
	case 0xff: return reg < 2 || reg == 6;
	}
	return 1;
}

/* Bytes of ModRM and what it asks for */
static unsigned int modrm_bytes(const uint8_t *p)
{
	unsigned int mod = *p >> 6, rm = *p & 7, n = 1;

	if (mod == 3)
		return n;
	if (rm == 4)
		n++;
	if (mod == 1)
		return n + 1;
	return n + (mod == 2 || rm == 5 || (rm == 4 && (p[1] & 7) == 5) ? 4 : 0);
}

/* Of an instruction that needs no more bytes than there are; 0: capstone is to be asked */
static unsigned int quick_step(const uint8_t *code, size_t len, enum vmp_flow *flow)
{
	static const uint8_t behind[] = { [IMM8] = 1, [IMM32] = 4, [MODRM8] = 1, [MODRM32] = 4, [MODRM] = 0 };
	const uint8_t *p = code;
	enum operands operands;
	int rex;

	if (len < VMP_DECODE_BYTES)
		return 0;
	rex = (*p & 0xf0) == 0x40 ? *p++ : 0;
	*flow = VMP_FLOW_ON;
	if (!rex && (*p & 0xf0) == 0x70) {
		*flow = VMP_FLOW_COND;
		return 2;
	}
	if (!rex && (*p == 0xe8 || *p == 0xe9)) {
		*flow = *p == 0xe8 ? VMP_FLOW_CALL : VMP_FLOW_JUMP;
		return 5;
	}
	if (!rex && *p == 0x0f && (p[1] & 0xf0) == 0x80) {
		*flow = VMP_FLOW_COND;
		return 6;
	}
	if (!rex && *p == 0xc3) {
		*flow = VMP_FLOW_RETURN;
		return 1;
	}
	if (*p == 0x0f) {	/* conditional moves; loads that extend */
		p++;
		if ((*p & 0xf0) != 0x40 && (*p & 0xf6) != 0xb6)
			return 0;
		return (unsigned int)(p - code) + 1 + modrm_bytes(p + 1);
	}
	operands = operands_of(*p, rex & 8);
	if (operands == OTHER || (operands >= MODRM && !is_plain(*p, p[1])))
		return 0;
	return (unsigned int)(p - code) + 1 + (operands >= MODRM ? modrm_bytes(p + 1) : 0) + behind[operands];
}

unsigned int vmp_decode_step(void *decoder, const uint8_t *code, size_t len, enum vmp_flow *flow)
{
	unsigned int bytes = quick_step(code, len, flow);

	return bytes ? bytes : vmp_decode_step_any(decoder, code, len, flow);
}

unsigned int vmp_decode_step_any(void *decoder, const uint8_t *code, size_t len, enum vmp_flow *flow)
{
	struct decoder *d = decoder;
	uint64_t address = 0;

	if (!d || !d->step || !cs_disasm_iter(d->plain, &code, &len, &address, d->step))
		return 0;
	*flow = flow_of(d->step);
	return d->step->size;
}

int vmp_decode_target(const uint8_t *code, unsigned int bytes, int64_t *rel)
{
	const uint8_t *end = code + bytes, *p = skip_prefixes(code, end);
	int32_t rel32;

	if (end - p == 2 && ((*p & 0xf0) == 0x70 || (*p & 0xfc) == 0xe0 || *p == 0xeb)) {
		*rel = (int8_t)p[1];
		return 1;
	}
	if (end - p == 6 && *p == 0x0f && (p[1] & 0xf0) == 0x80)
		p++;
	else if (end - p != 5 || (*p != 0xe8 && *p != 0xe9))
		return 0;
	memcpy(&rel32, p + 1, sizeof(rel32));
	*rel = rel32;
	return 1;
}

const char *vmp_decode_text(void *decoder, const uint8_t *code, size_t len, uint64_t address, char *buf,
			    size_t size)
{
	struct decoder *d = decoder;

	*buf = 0;
	if (d && d->step && cs_disasm_iter(d->plain, &code, &len, &address, d->step))
		snprintf(buf, size, "%s%s%s", d->step->mnemonic, *d->step->op_str ? " " : "", d->step->op_str);
	return buf;
}
#endif
