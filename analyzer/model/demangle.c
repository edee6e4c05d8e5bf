// SPDX-License-Identifier: GPL-2.0-only
/*
 * demangle.c - libiberty's demangler, kept from being blown up.
 *
 * Names come from guests, and a short one can stand for gigabytes: the output
 * is taken piece by piece and abandoned (by a jump out of the callback; the
 * printers hold no memory) once it is longer than what we would show.
 */
#include "model/demangle.h"

#include <string.h>

#define MANGLED_MAX	1024	/* longer ones libiberty refuses, too */

#ifdef HAVE_DEMANGLE
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>

struct out {
	jmp_buf full;
	char *buf;
	size_t size, len;
};

static void take(const char *s, size_t n, void *opaque)
{
	struct out *o = opaque;

	if (n >= o->size - o->len)
		longjmp(o->full, 1);
	memcpy(o->buf + o->len, s, n);
	o->len += n;
	o->buf[o->len] = 0;
}

static int demangle_d(char *buf, size_t size, const char *name)
{
	char *s = strlen(name) <= MANGLED_MAX / 8 ? dlang_demangle(name, DMGL_PARAMS) : NULL;
	int ok = s && strlen(s) < size;

	if (ok)
		strcpy(buf, s);
	free(s);
	return ok;
}

static int demangle(char *buf, size_t size, const char *name)
{
	struct out o = { .buf = buf, .size = size };

	if (name[1] == 'D')
		return demangle_d(buf, size, name);
	if (setjmp(o.full))
		return 0;
	if (rust_demangle_callback(name, DMGL_PARAMS | DMGL_ANSI, take, &o))
		return o.len > 0;
	o.len = 0;
	return name[1] == 'Z' &&
	       cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, take, &o) && o.len;
}
#else
static int demangle(char *buf, size_t size, const char *name)
{
	(void)buf;
	(void)size;
	(void)name;
	return 0;
}
#endif

const char *vmp_demangle(char *buf, size_t size, const char *name)
{
	size_t len = strcspn(name, "@");	/* then "plt" of a stub, or a version */
	const char *suffix = strcmp(name + len, "@plt") ? "" : "@plt";
	char mangled[MANGLED_MAX + 1];

	/* _Z C++ and Rust, _R Rust, _D D; everything else is C */
	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R' && name[1] != 'D') ||
	    len > MANGLED_MAX || size <= strlen(suffix))
		return name;
	memcpy(mangled, name, len);
	mangled[len] = 0;
	if (!demangle(buf, size - strlen(suffix), mangled))
		return name;
	strcat(buf, suffix);
	return buf;
}
