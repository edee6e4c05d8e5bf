/* SPDX-License-Identifier: GPL-2.0-only */
/* ksyms.h - kernel symbols out of text as in /proc/kallsyms, the guest's or the host's. */
#ifndef VMP_KSYMS_H
#define VMP_KSYMS_H

#include "model/strings.h"
#include "model/symtab.h"

/**
 * vmp_ksyms_parse() - Make a table of lines "address type name[\t[module]]".
 * @t:       Empty table; names are borrowed from @text.
 * @text:    @len bytes, which must outlive @t; line ends become NULs.
 *           Lines that make no sense are skipped; so are addresses of 0
 *           (a host that hides them).
 * @strings: Module names, with their brackets, go here.
 *
 * Return: 0 or -ENOMEM.
 */
int vmp_ksyms_parse(struct vmp_symtab *t, char *text, size_t len, struct vmp_strings *strings);

/** vmp_ksyms_is_made() - Is a module none, but code that the kernel made: "[bpf]", "[__builtin__ftrace]", ... */
int vmp_ksyms_is_made(const char *module);

#endif
