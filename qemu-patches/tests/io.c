// SPDX-License-Identifier: GPL-2.0-only
/*
 * io.c - serial output and TAP of the test guest.
 */
#include "guest.h"

static u32 tests, failures;

void put(const char *s)
{
	for (; *s; s++) {
		while (!(inb(0x3fd) & 0x20))
			;
		outb(0x3f8, *s);
	}
}

void put_dec(u64 v)
{
	char buf[24], *p = buf + sizeof(buf);

	*--p = 0;
	do {
		/* 64 bits by 10 without libgcc: bit by bit */
		u64 q = 0, r = 0;

		for (int i = 63; i >= 0; i--) {
			r = r << 1 | (v >> i & 1);
			if (r >= 10) {
				r -= 10;
				q |= 1ULL << i;
			}
		}
		*--p = '0' + (u32)r;
		v = q;
	} while (v);
	put(p);
}

void put_hex(u32 v)
{
	char buf[9];

	for (int i = 0; i < 8; i++)
		buf[i] = "0123456789abcdef"[v >> (28 - 4 * i) & 15];
	buf[8] = 0;
	put(buf);
}

void check(const char *what, u64 got, u64 want)
{
	tests++;
	if (got != want) {
		failures++;
		put("not ");
	}
	put("ok ");
	put_dec(tests);
	put(" - ");
	put(what);
	put("\n");
	if (got != want) {
		put("# got ");
		put_dec(got);
		put(", wanted ");
		put_dec(want);
		put("\n");
	}
}

int finish(void)
{
	put("1..");
	put_dec(tests);
	put("\n");
	return failures != 0;
}
