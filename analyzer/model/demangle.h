/* SPDX-License-Identifier: GPL-2.0-only */
/* demangle.h - C++, Rust and D symbol names in readable form, where configured. */
#ifndef VMP_DEMANGLE_H
#define VMP_DEMANGLE_H

#include <stddef.h>

/** vmp_demangle() - Readable form in @buf, or @name itself when it has none. */
const char *vmp_demangle(char *buf, size_t size, const char *name);

#endif
