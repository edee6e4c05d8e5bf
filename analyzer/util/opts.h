/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * opts.h - options of a command as one table: parsing and --help come from it.
 *
 * An unknown option, a missing or a surplus value is an error that names the
 * option.  Long options are written out (no abbreviations), as --name VALUE
 * or --name=VALUE; "--" ends them.
 */
#ifndef VMP_OPTS_H
#define VMP_OPTS_H

enum vmp_opt_kind {
	VMP_OPT_FLAG,		/* ptr: int *, set to 1 */
	VMP_OPT_STR,		/* ptr: const char **, the last one wins */
	VMP_OPT_LIST,		/* ptr: struct vmp_opt_list * */
};

struct vmp_opt {
	const char *name;	/* without the dashes */
	char letter;		/* 0 none */
	enum vmp_opt_kind kind;
	const char *arg;	/* how --help names the value */
	const char *help;	/* may hold newlines */
	void *ptr;
};

#define VMP_OPT_LIST_MAX	256

struct vmp_opt_list {
	const char *item[VMP_OPT_LIST_MAX];
	int nr;
};

struct vmp_cmdline {
	const char *usage;	/* lines "vmprof start ..." */
	const char *about;	/* what the command does; newlines inside */
	const struct vmp_opt *opts;	/* ends with name NULL */
	const char *more;	/* after the options; may be NULL */
	int args_max;		/* how many other arguments are allowed */
};

/* Exit codes of every command */
enum {
	VMP_EXIT_OK	= 0,
	VMP_EXIT_FAILED	= 1,
	VMP_EXIT_USAGE	= 2,
};

/**
 * vmp_opts_parse() - Read a command's arguments.
 * @cmd:   The table.
 * @argc:  As main's; argv[0] is the command's name.
 * @argv:  Reordered: other arguments come first, from argv[1] on.
 * @args:  Their number.
 *
 * Prints the help on --help (-h), and errors.
 *
 * Return: 0 go on; 1 help was printed, exit with 0; -EINVAL usage, told.
 */
int vmp_opts_parse(const struct vmp_cmdline *cmd, int argc, char **argv, int *args);

/** vmp_opts_help() - Print the help of a command to stdout. */
void vmp_opts_help(const struct vmp_cmdline *cmd);

#endif
