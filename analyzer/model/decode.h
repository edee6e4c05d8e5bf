/* SPDX-License-Identifier: GPL-2.0-only */
/* decode.h - one instruction: its kinds, where it goes, its text; capstone, or nothing where it is not built in. */
#ifndef VMP_DECODE_H
#define VMP_DECODE_H

#include <stddef.h>
#include <stdint.h>

#define VMP_DECODE_BYTES	15	/* the longest instruction of x86 */

enum vmp_insn {
	VMP_INSN_DECODED,	/* all that could be read */
	VMP_INSN_LOAD,
	VMP_INSN_STORE,
	VMP_INSN_BRANCH,
	VMP_INSN_FLOAT,		/* arithmetic on floating-point numbers */
	VMP_INSN_INTEGER,	/* arithmetic and logic on integers */
	VMP_INSN_PREFETCH,
	VMP_INSN_PERMUTE,	/* moves elements within vector registers */
	VMP_INSN_SIMD,		/* works on several elements at once */
	VMP_INSN_NR
};

/* How code goes on behind an instruction */
enum vmp_flow {
	VMP_FLOW_ON,		/* with the next one */
	VMP_FLOW_COND,		/* a conditional jump */
	VMP_FLOW_CALL,
	VMP_FLOW_CALL_IND,
	VMP_FLOW_JUMP,
	VMP_FLOW_JUMP_IND,
	VMP_FLOW_RETURN,
	VMP_FLOW_SYSCALL,	/* system call, software interrupt */
	VMP_FLOW_SYSRET,	/* back from one, or from an interrupt */
	VMP_FLOW_NR
};

/** vmp_flow_name() - "call" */
const char *vmp_flow_name(enum vmp_flow flow);

/** vmp_flow_leaves() - 1 when the next instruction never follows: a jump, a return. */
static inline int vmp_flow_leaves(enum vmp_flow flow)
{
	return flow == VMP_FLOW_JUMP || flow == VMP_FLOW_JUMP_IND || flow == VMP_FLOW_RETURN ||
	       flow == VMP_FLOW_SYSRET;
}

#ifdef HAVE_CAPSTONE
#define VMP_DECODES	1
/** vmp_decoder_create() - A decoder for 64-bit x86 code, NULL when there is no memory. */
void *vmp_decoder_create(void);
void vmp_decoder_destroy(void *decoder);

/** vmp_decode() - Bits 1 << VMP_INSN_* of the instruction at @code; 0 none. */
unsigned int vmp_decode(void *decoder, const uint8_t *code, size_t len);

/** vmp_decode_step() - Bytes of the instruction at @code, and how it goes on; 0 none. */
unsigned int vmp_decode_step(void *decoder, const uint8_t *code, size_t len, enum vmp_flow *flow);

/** vmp_decode_step_any() - The same by capstone alone, which takes longer. */
unsigned int vmp_decode_step_any(void *decoder, const uint8_t *code, size_t len, enum vmp_flow *flow);

/**
 * vmp_decode_target() - Where a branch of so many @bytes goes.
 * @rel: As many bytes behind its end.
 * Return: 1; 0 the instruction itself does not tell.
 */
int vmp_decode_target(const uint8_t *code, unsigned int bytes, int64_t *rel);

/** vmp_decode_text() - "mov rax, rbx" in @buf, as if it lay at @address; "" none. */
const char *vmp_decode_text(void *decoder, const uint8_t *code, size_t len, uint64_t address, char *buf,
			    size_t size);
#else
#define VMP_DECODES	0
static inline void *vmp_decoder_create(void)
{
	return NULL;
}

static inline void vmp_decoder_destroy(void *decoder)
{
	(void)decoder;
}

static inline unsigned int vmp_decode(void *decoder, const uint8_t *code, size_t len)
{
	(void)decoder, (void)code, (void)len;
	return 0;
}

static inline unsigned int vmp_decode_step(void *decoder, const uint8_t *code, size_t len, enum vmp_flow *flow)
{
	(void)decoder, (void)code, (void)len, (void)flow;
	return 0;
}

static inline unsigned int vmp_decode_step_any(void *decoder, const uint8_t *code, size_t len, enum vmp_flow *flow)
{
	(void)decoder, (void)code, (void)len, (void)flow;
	return 0;
}

static inline int vmp_decode_target(const uint8_t *code, unsigned int bytes, int64_t *rel)
{
	(void)code, (void)bytes, (void)rel;
	return 0;
}

static inline const char *vmp_decode_text(void *decoder, const uint8_t *code, size_t len, uint64_t address,
					  char *buf, size_t size)
{
	(void)decoder, (void)code, (void)len, (void)address, (void)size;
	*buf = 0;
	return buf;
}
#endif

#endif
