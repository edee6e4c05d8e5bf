// SPDX-License-Identifier: GPL-2.0-only
/* decode.c - instructions by capstone, put into the classes of insn.h. */
#include "export/decode.h"

#ifdef HAVE_CAPSTONE
#include <capstone/capstone.h>
#include <stdlib.h>
#include <string.h>

#include "export/insn.h"

#define BIT(x)	(1U << VMP_INSN_##x)

struct decoder {
	csh handle;
	cs_insn *insn;
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
	cs_option(d->handle, CS_OPT_DETAIL, CS_OPT_ON);
	d->insn = cs_malloc(d->handle);
	return d;
}

void vmp_decoder_destroy(void *decoder)
{
	struct decoder *d = decoder;

	if (!d)
		return;
	cs_free(d->insn, 1);
	cs_close(&d->handle);
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
#endif
