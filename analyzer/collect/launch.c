// SPDX-License-Identifier: GPL-2.0-only
/* launch.c - a collector in a process of its own, and what it says until samples flow. */
#include "collect/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/lines.h"
#include "collect/session.h"
#include "collect/statedir.h"
#include "util/log.h"

static volatile sig_atomic_t collector;

/* Ctrl-C while we wait: the collector ends in order, and we tell what it says. */
static void pass_on(int sig)
{
	(void)sig;
	if (collector > 0)
		kill(collector, SIGTERM);
}

/* Wait until the collector says that samples flow, or ends. */
static int wait_for(pid_t pid, int fd)
{
	char log[4096];
	int status, code;

	collector = pid;
	signal(SIGINT, pass_on);
	signal(SIGTERM, pass_on);
	code = vmp_lines_relay(fd, NULL);
	if (code >= 0)
		return code;
	if (waitpid(pid, &status, 0) == pid && WIFSIGNALED(status))
		vmp_err("the collector was killed by signal %d (%s)", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else
		vmp_err("the collector ended without a word; see its log: %s",
			vmp_state_path(log, sizeof(log), "log"));
	return VMP_EXIT_FAILED;
}

static void become_collector(const struct vmp_session_opts *o, int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	_exit(vmp_collect(o, fd));
}

int vmp_launch(const struct vmp_session_opts *o)
{
	int pipe_fd[2], code;
	pid_t pid;

	if (pipe2(pipe_fd, O_CLOEXEC)) {
		vmp_err("cannot make a pipe: %m");
		return VMP_EXIT_FAILED;
	}
	pid = fork();
	if (pid < 0) {
		vmp_err("cannot start the collector: %m");
		return VMP_EXIT_FAILED;
	}
	if (!pid) {
		close(pipe_fd[0]);
		become_collector(o, pipe_fd[1]);
	}
	close(pipe_fd[1]);
	code = wait_for(pid, pipe_fd[0]);
	close(pipe_fd[0]);
	return code;
}
