/* SPDX-License-Identifier: GPL-2.0-only */
/* decode.h - one instruction's kinds; capstone, or nothing where it is not built in. */
#ifndef VMP_DECODE_H
#define VMP_DECODE_H

#include <stddef.h>
#include <stdint.h>

#define VMP_DECODE_BYTES	15	/* the longest instruction of x86 */

#ifdef HAVE_CAPSTONE
/** vmp_decoder_create() - A decoder for 64-bit x86 code, NULL when there is no memory. */
void *vmp_decoder_create(void);
void vmp_decoder_destroy(void *decoder);

/** vmp_decode() - Bits 1 << VMP_INSN_* of the instruction at @code; 0 none. */
unsigned int vmp_decode(void *decoder, const uint8_t *code, size_t len);
#else
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
#endif

#endif
