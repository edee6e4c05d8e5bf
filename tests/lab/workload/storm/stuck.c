// SPDX-License-Identifier: GPL-2.0-only
/*
 * stuck.c - a FUSE file system with one file, which never answers one program.
 *
 *	stuck DIR FILE NAME
 *
 * DIR/file is FILE to all but processes of that name: their requests are taken and forgotten, so
 * that they sleep in the kernel until this program ends. It says "mounted" when it serves.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_INO	2

static struct fuse_attr attr = { .ino = FILE_INO, .mode = S_IFREG | 0755, .nlink = 1 };
static int file;

static void reply(int fd, uint64_t unique, int error, const void *data, size_t len)
{
	struct fuse_out_header h = { .len = (uint32_t)(sizeof(h) + len), .error = -error, .unique = unique };
	struct iovec iov[2] = { { &h, sizeof(h) }, { (void *)data, len } };

	/* ENOENT: who asked has gone */
	if (writev(fd, iov, len ? 2 : 1) < 0 && errno != ENOENT) {
		perror("stuck: reply");
		exit(1);
	}
}

/* Is the one who asks a process of @name? */
static int is_named(uint32_t pid, const char *name)
{
	char path[48], comm[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	f = fopen(path, "r");
	if (f && fgets(comm, sizeof(comm), f))
		comm[strcspn(comm, "\n")] = 0;
	if (f)
		fclose(f);
	return !strcmp(comm, name);
}

static void answer(int fd, const struct fuse_in_header *h, const void *arg)
{
	static char data[1 << 17];
	const struct fuse_init_out init = { .major = 7, .minor = 31, .max_readahead = 1 << 16, .max_write = 4096 };
	const struct fuse_open_out opened = { .open_flags = FOPEN_KEEP_CACHE };
	struct fuse_entry_out entry = { .nodeid = FILE_INO, .entry_valid = 3600, .attr_valid = 3600, .attr = attr };
	struct fuse_attr_out of = { .attr_valid = 3600, .attr = attr };
	const struct fuse_read_in *wanted = arg;
	ssize_t n;

	switch (h->opcode) {
	case FUSE_INIT:
		reply(fd, h->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		if (strcmp(arg, "file"))
			reply(fd, h->unique, ENOENT, NULL, 0);
		else
			reply(fd, h->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		if (h->nodeid == FUSE_ROOT_ID)
			of.attr = (struct fuse_attr){ .ino = 1, .mode = S_IFDIR | 0755, .nlink = 2 };
		reply(fd, h->unique, 0, &of, sizeof(of));
		break;
	case FUSE_OPEN:
		reply(fd, h->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		n = pread(file, data, wanted->size < sizeof(data) ? wanted->size : sizeof(data), (off_t)wanted->offset);
		reply(fd, h->unique, n < 0 ? EIO : 0, data, n < 0 ? 0 : (size_t)n);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;			/* nobody waits */
	case FUSE_RELEASE:
	case FUSE_FLUSH:
		reply(fd, h->unique, 0, NULL, 0);
		break;
	default:
		reply(fd, h->unique, ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static char in[1 << 18] __attribute__((aligned(8)));
	const struct fuse_in_header *h = (const struct fuse_in_header *)in;
	char options[96];
	struct stat st;
	int fd;

	if (argc != 4) {
		fprintf(stderr, "usage: stuck DIR FILE NAME\n");
		return 2;
	}
	file = open(argv[2], O_RDONLY | O_CLOEXEC);
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (file < 0 || fd < 0 || fstat(file, &st)) {
		perror("stuck");
		return 1;
	}
	attr.size = (uint64_t)st.st_size;
	attr.blocks = (attr.size + 511) / 512;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
	if (mount("stuck", argv[1], "fuse", MS_NODEV, options)) {
		perror("stuck: mount");
		return 1;
	}
	puts("mounted");
	fflush(stdout);
	for (;;) {
		if (read(fd, in, sizeof(in)) < 0) {
			if (errno == EINTR || errno == ENOENT)
				continue;
			break;		/* it was unmounted */
		}
		if (h->opcode == FUSE_INIT || !is_named(h->pid, argv[3]))
			answer(fd, h, h + 1);
	}
	return 0;
}
