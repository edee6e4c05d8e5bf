/* SPDX-License-Identifier: GPL-2.0-only */
/* branchargs.h - what the commands that show branches have in common. */
#ifndef VMP_BRANCHARGS_H
#define VMP_BRANCHARGS_H

#include "args.h"
#include "blocks/about.h"
#include "blocks/sheet.h"
#include "report/filter.h"
#include "util/opts.h"

/* As given on the command line, then as understood */
struct branch_args {
	struct vmp_set_choice choice;
	const char *sysroot, *vcpu, *pid, *color, *limit, *sort, *module, *function, *filter_text;
	int json, csv, no_pager;
	int spread;			/* rows have percentiles */
	int looks_up;			/* samples' branches in the set, once it is complete */
	struct vmp_look look;
	uint64_t rows;			/* to be shown, 0 all */
	struct vmp_filter *filter;
};

/* The rows of their option tables */
#define BRANCH_SAMPLES(a) \
	{ "domain", 'd', VMP_OPT_STR, "NAME", "only this domain; patterns as in the shell", &(a)->choice.domain }, \
	{ "vcpu", 0, VMP_OPT_STR, "N", "only samples of this vCPU", &(a)->vcpu }, \
	{ "pid", 0, VMP_OPT_STR, "PID", "only this guest process", &(a)->pid }, \
	{ "comm", 0, VMP_OPT_STR, "NAME", "only processes of this name; patterns as in the shell", &(a)->choice.comm }, \
	{ "vmlinux", 0, VMP_OPT_STR, "FILE", "the guest's kernel with its symbols, instead of the copy of its\nmemory that start made", &(a)->choice.vmlinux }, \
	{ "host-vmlinux", 0, VMP_OPT_STR, "FILE", "the same for the host's kernel", &(a)->choice.host_vmlinux }, \
	ARGS_SYSROOT(&(a)->sysroot)
#define BRANCH_ROWS(a) \
	{ "module", 0, VMP_OPT_STR, "NAME", "only this module, such as 'libc.so*'", &(a)->module }, \
	{ "function", 0, VMP_OPT_STR, "NAME", "only this function; patterns as in the shell", &(a)->function }, \
	{ "limit", 0, VMP_OPT_STR, "N", "rows, 0 all; default: 40 on a terminal, else all", &(a)->limit }
#define BRANCH_LOOK(a) \
	{ "color", 0, VMP_OPT_STR, "WHEN", "auto (default: on a terminal, unless NO_COLOR is set),\nalways, never", &(a)->color }, \
	{ "no-pager", 0, VMP_OPT_FLAG, NULL, "print at once; else a terminal gets $VMPROF_PAGER,\n$PAGER or less -FRX", &(a)->no_pager }

/* A capture's branches */
struct branch_data {
	struct vmp_model *m;
	struct vmp_set *set;
	struct vmp_measure *measure;
	struct vmp_estimates *estimates;	/* NULL: not wanted */
	const char *path;
};

/**
 * branch_args_parse() - The options into choices.
 * Return: 0, or -EINVAL (told).
 */
int branch_args_parse(struct branch_args *a);
void branch_args_free(struct branch_args *a);

/**
 * branch_open() - Read a capture's branches.
 * @path:      As given, NULL the latest.
 * @estimates: 1 with the times of blocks: they must be there; 2 with more, for loops and annotate.
 * Return: 0, or -errno (told).
 */
int branch_open(struct branch_data *d, const struct branch_args *a, const char *path, int estimates);
void branch_close(struct branch_data *d);

/**
 * branch_run() - A whole command whose only argument is a capture: parse, read, show.
 * @estimates: As of branch_open().
 * @show:      Its result is the exit code; @arg is its own.
 * Return: VMP_EXIT_*.
 */
int branch_run(const struct vmp_cmdline *cmd, int argc, char **argv, struct branch_args *a, int estimates,
	       int (*show)(const struct branch_data *d, const void *arg), const void *arg);

/**
 * branch_print() - A sheet with head and notes, as text, CSV or JSON.
 * @name: Of the array in JSON.
 * @sort: The order if the user gave none.
 * Return: VMP_EXIT_*.
 */
int branch_print(const struct branch_data *d, const struct branch_args *a, struct vmp_sheet *s, const char *name,
		 const char *sort);

/** branch_wanted() - Is a point in the module and function that were asked for? */
int branch_wanted(const struct branch_args *a, const struct vmp_set *set, uint32_t point);

#endif
