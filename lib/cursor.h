/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cursor.h - bounds-checked reading of foreign bytes.
 *
 * A parser is a straight line of reads; a read past the end gives zeros and
 * sets the cursor's error, which is looked at once at the end.  Nothing is
 * copied: pointers are borrowed from the buffer under the cursor.
 */
#ifndef VMP_CURSOR_H
#define VMP_CURSOR_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct vmp_cursor {
	const uint8_t *p;
	const uint8_t *end;
	int failed;		/* a read went past the end */
};

/** vmp_cursor_init() - Cursor over @len bytes at @data, which must outlive it. */
static inline struct vmp_cursor vmp_cursor_init(const void *data, size_t len)
{
	return (struct vmp_cursor){ data, (const uint8_t *)data + len, 0 };
}

/** vmp_cursor_left() - Bytes not read yet; 0 after a failure. */
static inline size_t vmp_cursor_left(const struct vmp_cursor *c)
{
	return c->failed ? 0 : (size_t)(c->end - c->p);
}

/**
 * vmp_cursor_bytes() - The next @len bytes, borrowed.
 * Return: pointer into the buffer, or NULL (cursor failed).
 */
static inline const void *vmp_cursor_bytes(struct vmp_cursor *c, size_t len)
{
	const uint8_t *p = c->p;

	if (c->failed || len > (size_t)(c->end - c->p)) {
		c->failed = 1;
		return NULL;
	}
	c->p += len;
	return p;
}

/** vmp_cursor_copy() - Copy the next @len bytes to @dst; zeros on failure. */
static inline int vmp_cursor_copy(struct vmp_cursor *c, void *dst, size_t len)
{
	const void *p = vmp_cursor_bytes(c, len);

	if (!p) {
		memset(dst, 0, len);
		return 0;
	}
	memcpy(dst, p, len);
	return 1;
}

static inline uint8_t vmp_cursor_u8(struct vmp_cursor *c)
{
	uint8_t v;

	vmp_cursor_copy(c, &v, sizeof(v));
	return v;
}

static inline uint16_t vmp_cursor_u16(struct vmp_cursor *c)
{
	uint16_t v;

	vmp_cursor_copy(c, &v, sizeof(v));
	return le16toh(v);
}

static inline uint32_t vmp_cursor_u32(struct vmp_cursor *c)
{
	uint32_t v;

	vmp_cursor_copy(c, &v, sizeof(v));
	return le32toh(v);
}

static inline uint64_t vmp_cursor_u64(struct vmp_cursor *c)
{
	uint64_t v;

	vmp_cursor_copy(c, &v, sizeof(v));
	return le64toh(v);
}

#endif
