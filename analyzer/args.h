/* SPDX-License-Identifier: GPL-2.0-only */
/* args.h - what the commands that read captures have in common: arguments, and telling what is wrong. */
#ifndef VMP_ARGS_H
#define VMP_ARGS_H

#include <stdint.h>

#include "model/model.h"

/** args_safe() - A foreign string for a message; good until the next call. */
const char *args_safe(const char *s);

/** args_number() - Value of --@option, at most @max.  Return: 0, or -EINVAL (told). */
int args_number(const char *option, const char *s, uint64_t max, uint64_t *n);

/** args_vcpu(), args_pid() - The same into a filter; @s NULL: -1, all. */
int args_vcpu(const char *s, int *vcpu);
int args_pid(const char *s, int64_t *pid);

/**
 * args_span() - Host TSCs of --from and --to, times since the session's start; NULL: 0, UINT64_MAX.
 * Return: 0, or -EINVAL (told): they are no times, or no time lies between them.
 */
int args_span(const struct vmp_model *m, const char *from, const char *to, uint64_t *from_tsc, uint64_t *to_tsc);

/**
 * args_output() - Is @output (NULL: standard output) another file than @input?
 * Return: 0, or -EINVAL (told): writing it would destroy what is read.
 */
int args_output(const char *input, const char *output);

/**
 * args_domain() - Does the capture hold a domain that --domain names (NULL: it was not given)?
 * Return: 0, or -ESRCH (told, with those that it holds).
 */
int args_domain(const struct vmp_model *m, const char *pattern);

/* The row of an option table for where guests' files are looked for */
#define ARGS_SYSROOT(ptr) \
	{ "sysroot", 0, VMP_OPT_STR, "DIR", "look for guests' binaries and debug files below DIR, too", ptr }

/**
 * args_open() - Open the capture that was asked for.
 * @path:    In: as given, NULL for the latest one; out: its path, good until the next call.
 * @sysroot: As given, NULL none; the same at each call.
 * Return: 0, or -errno (told).
 */
int args_open(struct vmp_model **m, const char **path, const char *sysroot);

/**
 * args_close() - Close it, for commands that print no notes: warn of a capture that was cut off, tell what was
 * looked for beside the object cache.
 */
void args_close(struct vmp_model *m);

#endif
