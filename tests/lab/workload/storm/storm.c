// SPDX-License-Identifier: GPL-2.0-only
/*
 * storm.c - many short processes of many programs, begun in each way that there is.
 *
 *	storm DIR COUNT PROGRAMS ROUNDS
 *
 * Runs DIR/child-0 .. DIR/child-(PROGRAMS-1), COUNT in all, four at a time: by fork, by vfork, by
 * posix_spawn, and by clone() with a shared address space and a stack of its own.  Prints how many failed.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT_ONCE	4

extern char **environ;

static char stack[AT_ONCE][65536] __attribute__((aligned(16)));

static int run(void *arg)
{
	char **argv = arg;

	execv(argv[0], argv);
	_exit(127);
}

static pid_t begin(unsigned int nr, char **argv)
{
	pid_t pid;

	switch (nr % 4) {
	case 0:
		pid = fork();
		if (!pid)
			run(argv);
		return pid;
	case 1:
		pid = vfork();
		if (!pid)
			run(argv);
		return pid;
	case 2:
		return posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) ? -1 : pid;
	default:
		return clone(run, stack[nr / 4 % AT_ONCE] + sizeof(stack[0]), CLONE_VM | CLONE_VFORK | SIGCHLD, argv);
	}
}

static int failed(void)
{
	int status;

	return wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	unsigned int nr, count, programs, bad = 0, running = 0;
	char path[256], *child[] = { path, NULL, NULL };

	if (argc != 5)
		return 2;
	count = (unsigned int)atoi(argv[2]);
	programs = (unsigned int)atoi(argv[3]);
	child[1] = argv[4];
	for (nr = 0; nr < count; nr++) {
		snprintf(path, sizeof(path), "%s/child-%u", argv[1], nr % programs);
		if (begin(nr, child) < 0)
			bad++;
		else
			running++;
		if (running == AT_ONCE) {
			bad += failed();
			running--;
		}
	}
	for (; running; running--)
		bad += failed();
	printf("%u of %u failed\n", bad, count);
	return bad != 0;
}
