/* SPDX-License-Identifier: GPL-2.0-only */
/* demangle.h - C++, Rust and D symbol names in readable form, where configured. */
#ifndef VMP_DEMANGLE_H
#define VMP_DEMANGLE_H

#include <stddef.h>

#define VMP_READABLE_BYTES	4096	/* room for all that is shown of a readable name */

/**
 * vmp_demangle() - Readable form in @buf, or @name itself when it has none.
 *
 * Of what follows an '@' a stub's "@plt" stays and a version goes. Left as they are: names longer
 * than 1,024 bytes (D: 128), and such whose readable form does not fit.
 */
const char *vmp_demangle(char *buf, size_t size, const char *name);

#endif
