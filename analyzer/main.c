// SPDX-License-Identifier: GPL-2.0-only
/* main.c - the vmprof command: one table of subcommands. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "util/log.h"
#include "util/opts.h"
#include "util/text.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{ "start", cmd_start, "profile running domains in the background" },
	{ "stop", cmd_stop, "end the session and finish its capture" },
	{ "status", cmd_status, "tell what the running session does" },
	{ "report", cmd_report, "print where the time of a capture went" },
	{ "tui", cmd_tui, "walk through a capture on the terminal" },
	{ "top", cmd_top, "watch a running domain on the terminal" },
	{ "blocks", cmd_blocks, "print the time of each block of instructions" },
	{ "branches", cmd_branches, "print which branches were taken, and who calls whom" },
	{ "annotate", cmd_annotate, "print the code of a function with what each instruction cost" },
	{ "loops", cmd_loops, "print how often loops go round, and what a round takes" },
	{ "timeline", cmd_timeline, "lay blocks on the axis of time, with exits and steal" },
	{ "export", cmd_export, "write a capture in the format of another tool" },
	{ "import", cmd_import, "turn a Cube or Score-P profile into open XML" },
	{ "attach", cmd_attach, "add the agent's channel to a running domain" },
	{ "doctor", cmd_doctor, "check everything that a profile needs" },
	{ NULL, NULL, NULL },
};

static void help(void)
{
	const struct command *c;

	printf("Usage: vmprof COMMAND [OPTION]...\n\n"
	       "Profile whole KVM guests from their host: guest processes, user and kernel\n"
	       "functions, the time in KVM and QEMU, and what other work took.\n\n"
	       "Commands:\n");
	for (c = commands; c->name; c++)
		printf("  %-8s %s\n", c->name, c->summary);
	printf("\nOptions:\n"
	       "  -h, --help     this text; vmprof COMMAND --help or vmprof help COMMAND tells more\n"
	       "      --version  print the version\n\n"
	       "A first profile:\n"
	       "  vmprof doctor --domain web01\n"
	       "  vmprof start --domain web01\n"
	       "  vmprof stop && vmprof report\n\n"
	       "Exit status: 0 done, 1 failed, 2 wrong usage.\n");
}

static const struct command *find(const char *name)
{
	const struct command *c;

	for (c = commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

static int unknown(const char *name)
{
	char safe[128];

	vmp_err("unknown command '%s'; see vmprof --help",
		vmp_text(safe, sizeof(safe), name, strlen(name)));
	return VMP_EXIT_USAGE;
}

/* A full disk or closed pipe behind stdout must not look like success. */
static int flushed(int code)
{
	if ((fflush(stdout) || ferror(stdout)) && code == VMP_EXIT_OK) {
		vmp_err("cannot write to standard output: %m");
		return VMP_EXIT_FAILED;
	}
	return code;
}

int main(int argc, char **argv)
{
	const struct command *c;
	char help_opt[] = "--help";
	char *help_argv[] = { NULL, help_opt, NULL };

	setlocale(LC_CTYPE, "C.UTF-8");
	if (argc < 2) {
		vmp_err("a command is missing; see vmprof --help");
		return VMP_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("vmprof %s\n", VMPROF_VERSION);
		return flushed(VMP_EXIT_OK);
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    (!strcmp(argv[1], "help") && argc == 2)) {
		help();
		return flushed(VMP_EXIT_OK);
	}
	if (!strcmp(argv[1], "help")) {
		c = find(argv[2]);
		if (!c)
			return unknown(argv[2]);
		help_argv[0] = argv[2];
		return flushed(c->run(2, help_argv));
	}
	c = find(argv[1]);
	if (!c)
		return unknown(argv[1]);
	return flushed(c->run(argc - 1, argv + 1));
}
