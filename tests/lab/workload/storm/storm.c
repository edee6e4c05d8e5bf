// SPDX-License-Identifier: GPL-2.0-only
/*
 * storm.c - many short processes of many programs, begun in each way that there is.
 *
 *	storm DIR COUNT PROGRAMS ROUNDS
 *
 * Runs DIR/child-0 .. DIR/child-(PROGRAMS-1), COUNT in all, four at a time: by fork, by vfork, by
 * posix_spawn, by clone() with a shared address space and a stack of its own, by a chain of programs, and by a
 * thread that is not the process's first, which exec makes that.  Prints how many failed.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void run_it(char **argv)
{
	run(argv);
}

/* This program, which runs @argv at once */
static void run_by_us(char **argv)
{
	char *us[] = { "/proc/self/exe", "--next", argv[0], argv[1], NULL };

	run(us);
}

static void *run_in_thread(void *arg)
{
	run(arg);
	return NULL;
}

static void run_by_thread(char **argv)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_in_thread, argv))
		_exit(126);
	for (;;)
		pause();
}

static pid_t in_fork(void (*way)(char **argv), char **argv)
{
	pid_t pid = fork();

	if (!pid)
		way(argv);
	return pid;
}

static pid_t begin(unsigned int nr, char **argv)
{
	pid_t pid;

	switch (nr % 6) {
	case 0:
		return in_fork(run_it, argv);
	case 1:
		return in_fork(run_by_us, argv);
	case 2:
		return in_fork(run_by_thread, argv);
	case 3:
		pid = vfork();
		if (!pid)
			run(argv);
		return pid;
	case 4:
		return posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) ? -1 : pid;
	default:
		return clone(run, stack[nr / 6 % AT_ONCE] + sizeof(stack[0]), CLONE_VM | CLONE_VFORK | SIGCHLD, argv);
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

	if (argc == 4 && !strcmp(argv[1], "--next"))
		run(argv + 2);
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
