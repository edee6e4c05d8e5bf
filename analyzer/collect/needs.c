// SPDX-License-Identifier: GPL-2.0-only
/* needs.c - see needs.h. */
#include "collect/needs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/clock.h"
#include "model/objcache.h"

#define PATH_BYTES	65536	/* no frame has a longer one */

/* One file; build-id, key and path follow.  The last has nothing but the result. */
struct told {
	uint64_t bytes;
	uint32_t vm, file, elsewhere;
	uint32_t build_id_len, key_len, path_len;
	int32_t last, err;
};

/* ------------------------------------------------------ the other process */

static int put(void *arg, const struct vmp_needed *n)
{
	const struct told t = {
		.bytes = n->bytes, .vm = n->vm, .file = n->file, .elsewhere = (uint32_t)n->elsewhere,
		.build_id_len = (uint32_t)n->build_id_len, .key_len = (uint32_t)strlen(n->key),
		.path_len = (uint32_t)strlen(n->path),
	};
	FILE *to = arg;

	fwrite(&t, sizeof(t), 1, to);
	fwrite(n->build_id, 1, t.build_id_len, to);
	fwrite(n->key, 1, t.key_len, to);
	fwrite(n->path, 1, t.path_len, to);
	return ferror(to) ? -EPIPE : 0;
}

static void find(int fd, const char *path, uint32_t vm)
{
	FILE *to = fdopen(fd, "w"), *score = fopen("/proc/self/oom_score_adj", "w");
	struct told last = { .last = 1 };

	/* the first that the kernel ends */
	if (score) {
		fputs("1000", score);
		fclose(score);
	}
	if (!to)
		return;
	last.err = vmp_needed_objects(path, vm, put, to);
	fwrite(&last, sizeof(last), 1, to);
	fclose(to);
}

/* -------------------------------------------------------- in the collector */

static int get(FILE *from, char *to, uint32_t len, uint32_t room)
{
	if (len >= room || fread(to, 1, len, from) != len)
		return -ENOMEM;
	to[len] = 0;
	return 0;
}

/* @fn: NULL: whether all of it is there */
static int take_all(FILE *from, int (*fn)(void *arg, const struct vmp_needed *n), void *arg)
{
	char build_id[VMPROF_BUILD_ID_MAX + 1], key[VMP_OBJKEY_MAX];
	char *path = malloc(PATH_BYTES);
	struct told t;
	int err = path ? 0 : -ENOMEM;

	while (!err) {
		if (fread(&t, sizeof(t), 1, from) != 1) {
			err = -ENOMEM;
			break;
		}
		if (t.last) {
			err = t.err;
			break;
		}
		if (get(from, build_id, t.build_id_len, sizeof(build_id)) || get(from, key, t.key_len, sizeof(key)) ||
		    get(from, path, t.path_len, PATH_BYTES)) {
			err = -ENOMEM;
			break;
		}
		const struct vmp_needed n = {
			.vm = t.vm, .file = t.file, .bytes = t.bytes, .build_id = (const uint8_t *)build_id,
			.build_id_len = t.build_id_len, .key = key, .path = path, .elsewhere = (int)t.elsewhere,
		};

		err = fn ? fn(arg, &n) : 0;
	}
	free(path);
	return err;
}

/* Return: 0 it has ended; -ETIMEDOUT it did not by itself */
static int wait_for(pid_t pid, uint64_t patience_ns)
{
	const uint64_t until_ns = vmp_now_ns() + patience_ns;
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	uint64_t now_ns;
	int err = p.fd < 0 ? -errno : 0, n = 0;

	while (!err && !n) {
		now_ns = vmp_now_ns();
		if (now_ns >= until_ns)
			err = -ETIMEDOUT;
		else if ((n = poll(&p, 1, (int)((until_ns - now_ns) / 1000000 + 1))) < 0 && errno != EINTR)
			err = -errno;
		else if (n < 0)
			n = 0;
	}
	if (p.fd >= 0)
		close(p.fd);
	if (err)
		kill(pid, SIGKILL);
	return waitpid(pid, NULL, 0) < 0 ? -errno : err;
}

/* Nothing is taken of a process that was ended: it may be asked again */
int vmp_needs(const char *path, uint32_t vm, uint64_t patience_ns, int (*fn)(void *arg, const struct vmp_needed *n),
	      void *arg)
{
	const pid_t parent = getpid();
	int fd = memfd_create("vmprof-needs", MFD_CLOEXEC), err;
	FILE *from = fd < 0 ? NULL : fdopen(fd, "r");
	pid_t pid;

	if (!from) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent && dup2(fd, 3) == 3) {
			close_range(4, ~0U, 0);
			find(3, path, vm);
		}
		_exit(0);
	}
	err = pid < 0 ? -errno : wait_for(pid, patience_ns);
	rewind(from);
	if (!err)
		err = take_all(from, NULL, NULL);
	rewind(from);
	if (!err)
		err = take_all(from, fn, arg);
	fclose(from);
	return err;
}
