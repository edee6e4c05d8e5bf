// SPDX-License-Identifier: GPL-2.0-only
/*
 * ends.c - tasks that begin at one time and end at another one, and do nothing else.
 *
 *	ends process|thread NUMBER
 *
 * Says "ready". At a line on standard input so many begin and wait: "begun"; at the next one each
 * calls _exit() at once: "ended"; at the third it is over. Nobody waits for each of them, to be woken by it.
 * They have CODE executable mappings more than the program, as libraries would be, and touch none of them.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CODE	10

static int hold[2];		/* a pipe: they wait for its end */

static void until_released(void)
{
	char c;

	while (read(hold[0], &c, 1) > 0)
		;
}

static int begin_process(void)
{
	pid_t pid = fork();

	if (pid)
		return pid < 0;
	close(hold[1]);
	until_released();
	_exit(0);
}

static void *thread(void *arg)
{
	until_released();
	syscall(SYS_exit, 0);	/* of this thread alone; the library would do more */
	return arg;
}

static int begin_thread(void)
{
	pthread_attr_t small;
	pthread_t t;

	return pthread_attr_init(&small) || pthread_attr_setstacksize(&small, 64 << 10) || pthread_create(&t, &small, thread, NULL);
}

/* Looks a few times a second, instead of being woken by each */
static void wait_for_all(int processes)
{
	struct stat st = { 0 };

	while (processes ? !waitpid(-1, NULL, WNOHANG) : !stat("/proc/self/task", &st) && st.st_nlink > 3)
		usleep(200000);
}

static int map_code(void)
{
	int fd = open("/proc/self/exe", O_RDONLY), i;

	for (i = 0; i < CODE; i++)
		if (fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			return 1;
	return 0;
}

/* Tell, and wait to be told */
static void step(const char *done)
{
	char line[16];

	puts(done);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(1);
}

int main(int argc, char **argv)
{
	int processes = argc == 3 && !strcmp(argv[1], "process"), nr = argc == 3 ? atoi(argv[2]) : 0;

	if (nr < 1 || (!processes && strcmp(argv[1], "thread")) || pipe(hold))
		return 2;
	if (map_code()) {
		perror("ends: /proc/self/exe");
		return 1;
	}
	signal(SIGCHLD, SIG_IGN);	/* no zombies */
	step("ready");
	while (nr--) {
		if (processes ? begin_process() : begin_thread()) {
			perror("ends");
			return 1;
		}
	}
	step("begun");
	close(hold[1]);
	wait_for_all(processes);
	step("ended");
	return 0;
}
