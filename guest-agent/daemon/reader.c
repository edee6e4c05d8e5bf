// SPDX-License-Identifier: GPL-2.0-only
/* reader.c - the daemon's side of the child that reads files of others. */
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"
#include "worker.h"

#define CHILD_FD	3	/* its end of the socket */

int vmp_reader_init(struct vmp_reader *r)
{
	memset(r, 0, sizeof(*r));
	r->fd = -1;
	r->serve = vmp_worker_serve;
	r->page = mmap(NULL, sizeof(*r->page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	return r->page == MAP_FAILED ? -ENOMEM : 0;
}

void vmp_reader_deinit(struct vmp_reader *r)
{
	vmp_reader_stop(r);
	munmap(r->page, sizeof(*r->page));
}

/* ------------------------------------------------------------- the child */

void vmp_reader_reap(struct vmp_reader *r)
{
	unsigned int i;

	for (i = 0; i < VMP_READER_DYING; i++)
		if (r->dying[i] && waitpid(r->dying[i], NULL, WNOHANG))
			r->dying[i] = 0;
}

static pid_t *free_place(struct vmp_reader *r)
{
	unsigned int i;

	vmp_reader_reap(r);
	for (i = 0; i < VMP_READER_DYING; i++)
		if (!r->dying[i])
			return &r->dying[i];
	return NULL;
}

/* A child is begun only where there is a place for it to die. */
static void end_child(struct vmp_reader *r)
{
	if (r->fd < 0)
		return;
	close(r->fd);
	r->fd = -1;
	kill(r->child, SIGKILL);
	*free_place(r) = r->child;
	vmp_reader_reap(r);
}

static void be_child(struct vmp_reader *r, int fd, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* the port, the module's device: they must not stay open through us */
	if (getppid() == parent && dup2(fd, CHILD_FD) == CHILD_FD) {
		closefrom(CHILD_FD + 1);
		r->serve(CHILD_FD, r->page);
	}
	_exit(0);
}

static int begin_child(struct vmp_reader *r)
{
	pid_t parent = getpid();
	int fd[2], err;

	if (r->fd >= 0)
		return 0;
	if (!free_place(r))
		return -EBUSY;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		return -errno;
	r->child = fork();
	if (!r->child)
		be_child(r, fd[1], parent);
	err = r->child < 0 ? -errno : 0;
	close(fd[1]);
	if (!err && fcntl(fd[0], F_SETFL, O_NONBLOCK))
		err = -errno;
	if (err) {
		close(fd[0]);
		return err;
	}
	r->fd = fd[0];
	r->begun++;
	return 0;
}

void vmp_reader_stop(struct vmp_reader *r)
{
	end_child(r);
	r->asked_ms = 0;
	r->answered = 0;
}

/* ----------------------------------------------- devices that were stuck */

int vmp_reader_is_held(const struct vmp_reader_page *page, uint32_t major, uint32_t minor)
{
	unsigned int i;

	for (i = 0; i < VMP_READER_HELD; i++)
		if (page->until_ms[i] && page->held[i].major == major && page->held[i].minor == minor)
			return 1;
	return 0;
}

static void release_held(struct vmp_reader_page *page, uint64_t now_ms)
{
	unsigned int i;

	for (i = 0; i < VMP_READER_HELD; i++)
		if (page->until_ms[i] <= now_ms)
			page->until_ms[i] = 0;
}

static int is_same(struct vmp_device a, struct vmp_device b)
{
	return a.major == b.major && a.minor == b.minor;
}

/* Its own place, else a free one, else that of the one that is, or was, released first */
static unsigned int hold_place(const struct vmp_reader_page *page, struct vmp_device d)
{
	uint64_t rank, least = UINT64_MAX;
	unsigned int i, first = 0;

	for (i = 0; i < VMP_READER_HELD; i++) {
		if (page->hold_ms[i] && is_same(page->held[i], d))
			return i;
		rank = page->hold_ms[i] ? page->until_ms[i] + 1 : 0;
		if (rank >= least)
			continue;
		least = rank;
		first = i;
	}
	return first;
}

/* Return: for how long */
static uint32_t hold(struct vmp_reader_page *page, struct vmp_device d, uint64_t now_ms)
{
	unsigned int i = hold_place(page, d);
	uint32_t ms = VMP_READER_HOLD_MS;

	if (page->hold_ms[i] && is_same(page->held[i], d))
		ms = page->hold_ms[i] < VMP_READER_HOLD_MAX_MS / 2 ? 2 * page->hold_ms[i] : VMP_READER_HOLD_MAX_MS;
	page->held[i] = d;
	page->hold_ms[i] = ms;
	page->until_ms[i] = now_ms + ms;
	return ms;
}

/* It has answered in time. */
static void forget_hold(struct vmp_reader_page *page, struct vmp_device d)
{
	unsigned int i;

	for (i = 0; i < VMP_READER_HELD; i++)
		if (!page->until_ms[i] && is_same(page->held[i], d))
			page->hold_ms[i] = 0;
}

/* ------------------------------------------------------ request and answer */

/* It failed here; the asker learns it as any other failure. */
static int refuse(struct vmp_reader *r, int status)
{
	r->answer = (struct vmp_read_answer){ .status = status };
	r->answered = 1;
	return 1;
}

int vmp_reader_ask(struct vmp_reader *r, uint64_t now_ms)
{
	const struct vmp_read_request *q = &r->request;
	size_t len = offsetof(struct vmp_read_request, path) + strlen(q->path) + 1;

	r->asked_ms = now_ms;
	release_held(r->page, now_ms);
	if (vmp_reader_is_held(r->page, q->m.dev_major, q->m.dev_minor))
		return refuse(r, -ETIMEDOUT);
	if (begin_child(r))
		return refuse(r, -EBUSY);
	r->page->touched = (struct vmp_device){ 0 };
	if (write(r->fd, q, len) == (ssize_t)len)
		return 0;
	end_child(r);
	return refuse(r, -EIO);
}

static struct vmp_device sent_for(const struct vmp_reader *r)
{
	return (struct vmp_device){ r->request.m.dev_major, r->request.m.dev_minor };
}

/* What it touches, or where it has not come so far, what it was sent for */
static void hold_culprit(struct vmp_reader *r, uint64_t now_ms)
{
	struct vmp_device d = r->page->touched;
	uint32_t ms;

	if (!d.major && !d.minor)
		d = sent_for(r);
	if (!d.major && !d.minor)
		return;
	ms = hold(r->page, d, now_ms);
	vmp_log(VMP_LOG_NOTICE, "reading a file on device %" PRIu32 ":%" PRIu32 " takes too long: its files are left alone for %" PRIu32 " s",
		d.major, d.minor, ms / 1000);
}

/* One that says "too late" has met a device that is left alone. */
static void forget_answered(struct vmp_reader *r)
{
	if (vmp_read_is_late(&r->answer))
		return;
	forget_hold(r->page, r->page->touched);
	forget_hold(r->page, sent_for(r));
}

static int is_whole(const struct vmp_read_answer *a, ssize_t n)
{
	const ssize_t head = (ssize_t)offsetof(struct vmp_read_answer, data);

	return n >= head && a->len <= VMP_READ_DATA && n - head == (ssize_t)a->len;
}

/* Return: 1 the request is answered, with a failure at worst */
static int receive(struct vmp_reader *r, uint64_t now_ms)
{
	ssize_t n = read(r->fd, &r->answer, sizeof(r->answer));

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (now_ms - r->asked_ms < VMP_READER_PATIENCE_MS)
			return 0;
		hold_culprit(r, now_ms);
		end_child(r);
		return refuse(r, -ETIMEDOUT);
	}
	if (n > 0 && is_whole(&r->answer, n)) {
		forget_answered(r);
		return 1;
	}
	vmp_log(VMP_LOG_ERROR, "the child that reads files has ended: another one takes its place");
	end_child(r);
	return refuse(r, -EIO);
}

const struct vmp_read_answer *vmp_reader_answer(struct vmp_reader *r, uint64_t now_ms)
{
	if (!r->asked_ms || (!r->answered && !receive(r, now_ms)))
		return NULL;
	r->asked_ms = 0;
	r->answered = 0;
	return &r->answer;
}
