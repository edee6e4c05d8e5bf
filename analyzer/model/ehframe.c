// SPDX-License-Identifier: GPL-2.0-only
/* ehframe.c - bounds of functions from .eh_frame; every byte read here is hostile. */
#include "model/ehframe.h"

#include "cursor.h"

/* Pointer encodings (DW_EH_PE_*): format in the low half, base in the high half */
#define PE_ABSPTR	0x00
#define PE_UDATA4	0x03
#define PE_UDATA8	0x04
#define PE_SDATA4	0x0b
#define PE_SDATA8	0x0c
#define PE_PCREL	0x10
#define PE_NONE		0xff

struct walk {
	const uint8_t *data;
	size_t len;
	uint64_t addr;
	size_t cie;		/* offset of the CIE that encoding is of */
	uint8_t encoding;	/* of its FDEs' pc; PE_NONE: not one of ours */
};

static uint64_t uleb(struct vmp_cursor *c)
{
	unsigned int shift;
	uint64_t v = 0;
	uint8_t b;

	for (shift = 0; shift < 64; shift += 7) {
		b = vmp_cursor_u8(c);
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	c->failed = 1;
	return 0;
}

/* A pointer of this encoding, without its base; sets the cursor's error where unknown */
static uint64_t pointer(struct vmp_cursor *c, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return vmp_cursor_u64(c);
	case PE_UDATA4:
		return vmp_cursor_u32(c);
	case PE_SDATA4:
		return (uint64_t)(int64_t)(int32_t)vmp_cursor_u32(c);
	}
	c->failed = 1;
	return 0;
}

/* The encoding of pc in FDEs of the CIE behind @c (past its id) */
static uint8_t cie_encoding(struct vmp_cursor *c)
{
	uint8_t version = vmp_cursor_u8(c), encoding = PE_ABSPTR, b;
	char aug[8];
	size_t n = 0, i;

	while ((b = vmp_cursor_u8(c)) && n < sizeof(aug) - 1)
		aug[n++] = (char)b;
	if (b || (version != 1 && version != 3))
		return PE_NONE;
	uleb(c);		/* code alignment */
	uleb(c);		/* data alignment: the sign does not matter */
	if (version == 1)
		vmp_cursor_u8(c);
	else
		uleb(c);	/* return address column */
	if (n && aug[0] != 'z')
		return PE_NONE;
	if (n)
		uleb(c);	/* length of what follows */
	for (i = 1; i < n && !c->failed; i++) {
		if (aug[i] == 'R')
			encoding = vmp_cursor_u8(c);
		else if (aug[i] == 'L')
			vmp_cursor_u8(c);
		else if (aug[i] == 'P')
			pointer(c, vmp_cursor_u8(c));
		else if (aug[i] != 'S' && aug[i] != 'B')
			return PE_NONE;
	}
	return c->failed ? PE_NONE : encoding;
}

/* Encoding for the FDEs of the CIE at offset @at; remembers the last */
static uint8_t encoding_of(struct walk *w, size_t at)
{
	struct vmp_cursor c;

	if (at == w->cie)
		return w->encoding;
	w->cie = at;
	w->encoding = PE_NONE;
	if (at >= w->len)
		return PE_NONE;
	c = vmp_cursor_init(w->data + at, w->len - at);
	if (vmp_cursor_u32(&c) == UINT32_MAX)
		vmp_cursor_u64(&c);
	if (vmp_cursor_u32(&c) == 0 && !c.failed)
		w->encoding = cie_encoding(&c);
	return w->encoding;
}

/* The FDE behind @c (past its CIE pointer) as [start, end). Return: 1, or 0 none. */
static int fde_range(const struct walk *w, struct vmp_cursor *c, uint8_t encoding,
		     uint64_t *start, uint64_t *end)
{
	uint64_t base = w->addr + (uint64_t)(c->p - w->data), bytes;

	if (encoding == PE_NONE || (encoding & 0xf0 & ~PE_PCREL))
		return 0;
	*start = pointer(c, encoding) + (encoding & PE_PCREL ? base : 0);
	bytes = pointer(c, encoding & 0x0f);
	*end = *start + bytes;
	return !c->failed && *end > *start;
}

int vmp_ehframe_walk(const void *data, size_t len, uint64_t addr,
		     int (*fn)(void *arg, uint64_t start, uint64_t end), void *arg)
{
	struct walk w = { .data = data, .len = len, .addr = addr, .cie = SIZE_MAX };
	struct vmp_cursor all = vmp_cursor_init(data, len);
	uint64_t start, end;
	int err;

	while (vmp_cursor_left(&all) >= 4) {
		uint64_t bytes = vmp_cursor_u32(&all);
		struct vmp_cursor entry;
		const uint8_t *p;
		uint32_t id;

		if (bytes == UINT32_MAX)
			bytes = vmp_cursor_u64(&all);
		if (!bytes)
			continue;	/* a terminator; linkers may put more behind it */
		p = vmp_cursor_bytes(&all, bytes);
		if (!p)
			break;
		entry = vmp_cursor_init(p, bytes);
		id = vmp_cursor_u32(&entry);
		/* the id says how far before itself the CIE is */
		if (!id || entry.failed || id > (size_t)(p - w.data))
			continue;
		if (!fde_range(&w, &entry, encoding_of(&w, (size_t)(p - w.data) - id), &start, &end))
			continue;
		err = fn(arg, start, end);
		if (err)
			return err;
	}
	return 0;
}
