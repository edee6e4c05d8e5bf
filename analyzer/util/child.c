// SPDX-License-Identifier: GPL-2.0-only
/* child.c - see child.h. */
#include "util/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/text.h"
#include "util/units.h"

#define GROUPS_MAX	256
#define END_TRIES	100
#define END_STEP_US	5000

/* Whom it shall run as, made ready before the fork */
struct caller {
	int changes;
	uid_t uid;
	gid_t gid, groups[GROUPS_MAX];
	int nr_groups;
	char **env;
	char *vars[4];		/* of env, ours to free */
};

/* Under sudo: who called it */
static int look_up(struct caller *c, struct passwd **pw)
{
	const char *text = geteuid() ? NULL : getenv("SUDO_UID");
	uint64_t uid;

	*pw = NULL;
	if (!text || vmp_parse_count(text, &uid) || !uid || uid >= UINT32_MAX)
		return 0;
	errno = 0;
	*pw = getpwuid((uid_t)uid);
	if (!*pw)
		return -ESRCH;
	c->changes = 1;
	c->uid = (*pw)->pw_uid;
	c->gid = (*pw)->pw_gid;
	c->nr_groups = GROUPS_MAX;
	if (getgrouplist((*pw)->pw_name, c->gid, c->groups, &c->nr_groups) < 0)
		c->nr_groups = GROUPS_MAX;
	return 0;
}

static int is_ours(const char *var)
{
	return !strncmp(var, "HOME=", 5) || !strncmp(var, "USER=", 5) || !strncmp(var, "LOGNAME=", 8) ||
	       !strncmp(var, "SSH_ASKPASS_REQUIRE=", 20);
}

/* The environment with the caller's own home */
static int make_env(struct caller *c, const struct passwd *pw)
{
	const char *home = pw ? pw->pw_dir : getenv("HOME"), *user = pw ? pw->pw_name : getenv("USER");
	int i, nr = 0;

	if (asprintf(&c->vars[0], "HOME=%s", home ? home : "/") < 0 ||
	    asprintf(&c->vars[1], "USER=%s", user ? user : "") < 0 ||
	    asprintf(&c->vars[2], "LOGNAME=%s", user ? user : "") < 0 ||
	    asprintf(&c->vars[3], "SSH_ASKPASS_REQUIRE=never") < 0)
		return -ENOMEM;
	while (environ[nr])
		nr++;
	c->env = calloc((size_t)nr + 5, sizeof(*c->env));
	if (!c->env)
		return -ENOMEM;
	memcpy(c->env, c->vars, sizeof(c->vars));
	for (i = 0, nr = 4; environ[i]; i++)
		if (!is_ours(environ[i]))
			c->env[nr++] = environ[i];
	return 0;
}

static void forget(struct caller *c)
{
	int i;

	for (i = 0; i < 4; i++)
		free(c->vars[i]);
	free(c->env);
}

/* In the new process; only what is safe after a fork of many threads */
static void become(const struct caller *c, const char *const argv[], uint64_t file_bytes, int fd, int err_fd)
{
	const struct rlimit bytes = { file_bytes, file_bytes }, none = { 0, 0 };
	sigset_t all;
	int sig;

	for (sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	/* a write beyond the limit is an error, no crash */
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	if (dup2(fd, 0) < 0 || dup2(fd, 1) < 0 || dup2(err_fd, 2) < 0 || setrlimit(RLIMIT_FSIZE, &bytes) ||
	    setrlimit(RLIMIT_CORE, &none))
		_exit(126);
	if (c->changes && (setgroups((size_t)c->nr_groups, c->groups) || setgid(c->gid) || setuid(c->uid)))
		_exit(126);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execvpe(argv[0], (char *const *)(uintptr_t)argv, c->env);
	_exit(VMP_CHILD_ABSENT);
}

static int no_wait(int fd)
{
	return fcntl(fd, F_SETFL, O_NONBLOCK);
}

static int run(struct vmp_child *c, const struct caller *as, const char *const argv[], uint64_t file_bytes)
{
	int io[2], said[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, io))
		return -errno;
	if (pipe2(said, O_CLOEXEC)) {
		close(io[0]);
		close(io[1]);
		return -EMFILE;
	}
	c->pid = fork();
	if (!c->pid)
		become(as, argv, file_bytes, io[1], said[1]);
	close(io[1]);
	close(said[1]);
	c->fd = io[0];
	c->err_fd = said[0];
	if (c->pid > 0 && !no_wait(c->fd) && !no_wait(c->err_fd))
		return 0;
	vmp_child_end(c, 0);
	return -EAGAIN;
}

int vmp_child_start(struct vmp_child *c, const char *const argv[], uint64_t file_bytes)
{
	struct caller as = { 0 };
	struct passwd *pw;
	int err;

	c->pid = 0;
	c->fd = c->err_fd = -1;
	err = look_up(&as, &pw);
	if (!err)
		err = make_env(&as, pw);
	if (!err)
		err = run(c, &as, argv, file_bytes);
	forget(&as);
	return err;
}

const char *vmp_child_said(const struct vmp_child *c, char *buf, size_t size)
{
	char text[4096];
	ssize_t n = c->err_fd < 0 ? 0 : read(c->err_fd, text, sizeof(text));
	ssize_t from;

	while (n > 0 && (text[n - 1] == '\r' || text[n - 1] == '\n'))
		n--;
	for (from = n; from > 0 && text[from - 1] != '\n'; from--)
		;
	return vmp_text(buf, size, text + (from > 0 ? from : 0), n > 0 ? (size_t)(n - from) : 0);
}

static int has_ended(pid_t pid, int *status, int flags)
{
	return waitpid(pid, status, flags) == pid;
}

int vmp_child_end(struct vmp_child *c, int done)
{
	int status = -1, ended = 0, i;

	if (c->fd >= 0)
		close(c->fd);
	if (c->err_fd >= 0)
		close(c->err_fd);
	c->fd = c->err_fd = -1;
	if (c->pid > 0) {
		for (i = 0; done && !ended && i < END_TRIES; i++) {
			ended = has_ended(c->pid, &status, WNOHANG);
			if (!ended)
				usleep(END_STEP_US);
		}
		/* what it left behind in its session goes, too */
		kill(-c->pid, SIGKILL);
		kill(c->pid, SIGKILL);
		if (!ended)
			has_ended(c->pid, &status, 0);
	}
	c->pid = 0;
	return status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
