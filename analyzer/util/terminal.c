// SPDX-License-Identifier: GPL-2.0-only
/* terminal.c - see terminal.h; the pager is as git has it. */
#include "util/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/log.h"
#include "util/units.h"

#define WIDTH_USUAL	80
#define WIDTH_MAX	4096

static int width_of(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t n;

	if (!isatty(fd))
		return 0;
	if (!ioctl(fd, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	if (columns && !vmp_parse_count(columns, &n) && n && n < WIDTH_MAX)
		return (int)n;
	return WIDTH_USUAL;
}

static int colour_of(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && !(no && *no) && term && strcmp(term, "dumb");
}

int vmp_look_of(struct vmp_look *look, int fd, const char *when)
{
	int colour;

	if (!when || !strcmp(when, "auto"))
		colour = colour_of(fd);
	else if (!strcmp(when, "always") || !strcmp(when, "never"))
		colour = *when == 'a';
	else
		return -EINVAL;
	*look = (struct vmp_look){ width_of(fd), colour };
	return 0;
}

static int is_installed(const char *program)
{
	const char *path = getenv("PATH");
	char file[4096];
	size_t len;

	for (; path && *path; path += len + !!path[len]) {
		len = strcspn(path, ":");
		if (snprintf(file, sizeof(file), "%.*s/%s", (int)len, path, program) < (int)sizeof(file) &&
		    !access(file, X_OK))
			return 1;
	}
	return 0;
}

static const char *pager_command(void)
{
	const char *s = getenv("VMPROF_PAGER");

	if (!s)
		s = getenv("PAGER");
	if (!s)
		return is_installed("less") ? "less -FRX" : NULL;
	return *s && strcmp(s, "cat") ? s : NULL;
}

pid_t vmp_pager_start(void)
{
	const char *command = pager_command();
	int end[2];
	pid_t pid;

	if (!command || !isatty(STDOUT_FILENO) || pipe2(end, O_CLOEXEC))
		return 0;
	fflush(stdout);
	pid = fork();
	if (pid > 0) {
		/* the pager's user decides how much is read */
		signal(SIGPIPE, SIG_IGN);
		dup2(end[1], STDOUT_FILENO);
	} else if (!pid) {
		dup2(end[0], STDIN_FILENO);
		setenv("LESS", "FRX", 0);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	close(end[0]);
	close(end[1]);
	return pid > 0 ? pid : 0;
}

int vmp_pager_end(pid_t pager)
{
	int null, status = 0;

	if (!pager)
		return 0;
	fflush(stdout);
	/* closing our end tells the pager that this was all */
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		close(null);
	} else {
		close(STDOUT_FILENO);
	}
	clearerr(stdout);
	signal(SIGINT, SIG_IGN);
	while (waitpid(pager, &status, 0) < 0 && errno == EINTR)
		;
	/* as the shell tells it */
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 127)
		return 0;
	vmp_err("the pager cannot be run; set VMPROF_PAGER or PAGER to one that is there, or use --no-pager");
	return -ENOENT;
}
