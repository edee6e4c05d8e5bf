// SPDX-License-Identifier: GPL-2.0-only
/* opts.c - options of a command as one table. */
#include "util/opts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/log.h"
#include "util/text.h"

#define HELP_COLUMN 24

static void print_opt(const char *name, char letter, const char *arg, const char *help)
{
	char head[128];
	int n, len;

	n = letter ? snprintf(head, sizeof(head), "  -%c, --%s", letter, name)
		   : snprintf(head, sizeof(head), "      --%s", name);
	if (arg)
		n += snprintf(head + n, sizeof(head) - n, " %s", arg);
	printf("%-*s", HELP_COLUMN, head);
	if (n >= HELP_COLUMN)
		printf("\n%*s", HELP_COLUMN, "");
	while (*help) {
		len = strcspn(help, "\n");
		printf("%.*s\n", len, help);
		help += len + !!help[len];
		if (*help)
			printf("%*s", HELP_COLUMN, "");
	}
}

void vmp_opts_help(const struct vmp_cmdline *cmd)
{
	const struct vmp_opt *o;

	printf("Usage: %s\n\n%s\n\nOptions:\n", cmd->usage, cmd->about);
	for (o = cmd->opts; o->name; o++)
		print_opt(o->name, o->letter, o->arg, o->help);
	print_opt("help", 'h', NULL, "this text");
	if (cmd->more)
		printf("\n%s\n", cmd->more);
}

static int set(const struct vmp_opt *o, const char *value)
{
	struct vmp_opt_list *list = o->ptr;

	switch (o->kind) {
	case VMP_OPT_FLAG:
		*(int *)o->ptr = 1;
		return 0;
	case VMP_OPT_STR:
		*(const char **)o->ptr = value;
		return 0;
	case VMP_OPT_LIST:
		if (list->nr == VMP_OPT_LIST_MAX) {
			vmp_err("--%s: more than %d of them", o->name, VMP_OPT_LIST_MAX);
			return -EINVAL;
		}
		list->item[list->nr++] = value;
		return 0;
	}
	return -EINVAL;
}

static const struct vmp_opt *find(const struct vmp_cmdline *cmd, const char *arg, size_t len)
{
	const struct vmp_opt *o;

	for (o = cmd->opts; o->name; o++)
		if (strlen(o->name) == len && !memcmp(o->name, arg, len))
			return o;
	return NULL;
}

static const struct vmp_opt *find_letter(const struct vmp_cmdline *cmd, char letter)
{
	const struct vmp_opt *o;

	for (o = cmd->opts; o->name; o++)
		if (o->letter && o->letter == letter)
			return o;
	return NULL;
}

static int usage_error(const char *command, const char *arg, const char *what)
{
	char safe[256];

	vmp_err("%s: %s '%s'; see vmprof %s --help", command, what,
		vmp_text(safe, sizeof(safe), arg, strlen(arg)), command);
	return -EINVAL;
}

/* One option at argv[*i], with its value there or at argv[*i + 1]. */
static int parse_one(const struct vmp_cmdline *cmd, int argc, char **argv, int *i)
{
	const char *arg = argv[*i], *value = NULL;
	const struct vmp_opt *o;

	if (arg[1] == '-') {
		size_t len = strcspn(arg + 2, "=");

		o = find(cmd, arg + 2, len);
		if (arg[2 + len])
			value = arg + 2 + len + 1;
	} else {
		o = find_letter(cmd, arg[1]);
		if (arg[2])
			value = arg + 2;
	}
	if (!o)
		return usage_error(argv[0], arg, "unknown option");
	if (o->kind == VMP_OPT_FLAG) {
		if (value)
			return usage_error(argv[0], arg, "this option takes no value:");
		return set(o, NULL);
	}
	if (!value && *i + 1 < argc)
		value = argv[++*i];
	if (!value || !*value)
		return usage_error(argv[0], arg, "a value is missing after");
	return set(o, value);
}

int vmp_opts_parse(const struct vmp_cmdline *cmd, int argc, char **argv, int *args)
{
	int i, err, nr = 0, opts_end = 0;

	for (i = 1; i < argc; i++) {
		char *arg = argv[i];

		if (opts_end || arg[0] != '-' || !arg[1]) {
			if (nr == cmd->args_max)
				return usage_error(argv[0], arg, "unexpected argument");
			argv[1 + nr++] = arg;
		} else if (!strcmp(arg, "--")) {
			opts_end = 1;
		} else if (!strcmp(arg, "--help") || !strcmp(arg, "-h")) {
			vmp_opts_help(cmd);
			return 1;
		} else {
			err = parse_one(cmd, argc, argv, &i);
			if (err)
				return err;
		}
	}
	*args = nr;
	return 0;
}
