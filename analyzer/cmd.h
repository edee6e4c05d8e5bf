/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cmd.h - the commands of vmprof, one file each (cmd-NAME.c).
 *
 * argv[0] is the command's name.  Each returns the exit code: VMP_EXIT_* of
 * util/opts.h.
 */
#ifndef VMP_CMD_H
#define VMP_CMD_H

int cmd_start(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_tui(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_blocks(int argc, char **argv);
int cmd_branches(int argc, char **argv);
int cmd_annotate(int argc, char **argv);
int cmd_loops(int argc, char **argv);
int cmd_timeline(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_import(int argc, char **argv);

#endif
