// SPDX-License-Identifier: GPL-2.0-only
/* measure.c - run a command with its output to a file; print wall seconds, CPU seconds, peak memory in kB. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timespec t)
{
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct timespec begin, end;
	struct rusage ru;
	int status, fd;
	pid_t pid;

	if (argc < 3) {
		fputs("Usage: measure OUTPUT COMMAND [ARG]...\n", stderr);
		return 2;
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	pid = fork();
	if (!pid) {
		fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0)
			execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &ru) != pid) {
		perror("measure");
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "measure: %s failed\n", argv[2]);
		return 1;
	}
	printf("%.3f %.3f %ld\n", seconds(end) - seconds(begin),
	       (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
	       (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6, ru.ru_maxrss);
	return 0;
}
