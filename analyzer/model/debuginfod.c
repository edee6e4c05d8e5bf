// SPDX-License-Identifier: GPL-2.0-only
/* debuginfod.c - see debuginfod.h. */
#include "model/debuginfod.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model/elffile.h"
#include "model/hash.h"
#include "model/vec.h"
#include "util/child.h"
#include "util/log.h"
#include "util/share.h"
#include "util/text.h"

#define SILENT_NS	1000000000ULL	/* what takes longer is said */

static const struct {
	const char *key, *text;
} answers[VMP_DEBUGINFOD_ANSWERS] = {
	[VMP_DEBUGINFOD_GOT] = { "got", "had" },
	[VMP_DEBUGINFOD_ABSENT] = { "absent", "not on the servers" },
	[VMP_DEBUGINFOD_FAILED] = { "failed", "failed, or too large" },
	[VMP_DEBUGINFOD_SLOW] = { "slow", "not there in time" },
	[VMP_DEBUGINFOD_UNASKED] = { "unasked", "not asked for any more" },
};

const char *vmp_debuginfod_key(enum vmp_debuginfod_answer answer)
{
	return answers[answer].key;
}

const char *vmp_debuginfod_text(enum vmp_debuginfod_answer answer)
{
	return answers[answer].text;
}

/* What was spent for the files of a VM, or of the host */
struct asker {
	uint32_t vm;		/* 0: the host */
	uint32_t files;
	uint64_t ns;
};

struct vmp_debuginfod {
	struct vmp_hash known;		/* kind and build-id -> number in paths; with the VM whose share was used up by then */
	VMP_VEC(char *) paths;		/* NULL: not to be had */
	VMP_VEC(struct asker) askers;
	uint64_t ask_ns, left_ns, bytes;
	uint64_t count[VMP_DEBUGINFOD_ANSWERS];
	uint32_t asked;		/* files */
	int told_urls, told_failure, absent;
};

/* One question under way */
struct question {
	enum vmp_debuginfod_kind kind;
	struct asker *by;
	char id[2 * VMP_BUILD_ID_BYTES + 1];
	const char *name;
	char answer[PATH_MAX];
	size_t len;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int vmp_debuginfod_create(struct vmp_debuginfod **out)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct vmp_debuginfod *d;

	if (!urls || !urls[strspn(urls, " ")])
		return -ENOENT;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	vmp_debuginfod_budget(d, VMP_DEBUGINFOD_ASK_NS, VMP_DEBUGINFOD_ALL_NS, VMP_DEBUGINFOD_BYTES);
	*out = d;
	return 0;
}

void vmp_debuginfod_destroy(struct vmp_debuginfod *d)
{
	uint32_t i;

	if (!d)
		return;
	for (i = 0; i < d->paths.nr; i++)
		free(d->paths.v[i]);
	vmp_vec_free(&d->paths);
	vmp_vec_free(&d->askers);
	vmp_hash_free(&d->known);
	free(d);
}

void vmp_debuginfod_budget(struct vmp_debuginfod *d, uint64_t ask_ns, uint64_t all_ns, uint64_t bytes)
{
	d->bytes = bytes;
	d->ask_ns = ask_ns;
	d->left_ns = all_ns;
}

static const char *what(const struct question *q)
{
	return q->kind == VMP_DEBUGINFOD_DEBUG ? "the debug file of " : "";
}

/* Read on until it is done.  Return: 1 it is, 0 the time is over */
static int listen(struct question *q, const struct vmp_child *c, uint64_t until_ns)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	char rest[512];
	uint64_t now;
	ssize_t n;

	while ((now = now_ns()) < until_ns) {
		if (poll(&p, 1, (int)((until_ns - now) / 1000000 + 1)) < 1)
			continue;
		if (q->len < sizeof(q->answer) - 1)
			n = read(c->fd, q->answer + q->len, sizeof(q->answer) - 1 - q->len);
		else
			n = read(c->fd, rest, sizeof(rest));
		if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
			return 1;
		if (n > 0 && q->len < sizeof(q->answer) - 1)
			q->len += (size_t)n;
	}
	return 0;
}

static int wait_for(struct question *q, const struct vmp_child *c, uint64_t patience_ns)
{
	uint64_t begin = now_ns();
	char safe[256];

	if (listen(q, c, begin + (patience_ns < SILENT_NS ? patience_ns : SILENT_NS)))
		return 1;
	if (patience_ns <= SILENT_NS)
		return 0;
	vmp_aside("debuginfod: fetching %s%s", what(q), vmp_text(safe, sizeof(safe), q->name, strlen(q->name)));
	return listen(q, c, begin + patience_ns);
}

/* The first failure says what is wrong; the others are likely to be the same */
static void tell_failure(struct vmp_debuginfod *d, const char *said)
{
	if (!d->told_failure)
		vmp_warn("debuginfod: %s", *said ? said : "debuginfod-find failed without a word");
	d->told_failure = 1;
}

static enum vmp_debuginfod_answer judge(struct vmp_debuginfod *d, struct question *q, int status, const char *said)
{
	if (status == VMP_CHILD_ABSENT) {
		d->absent = 1;
		tell_failure(d, "DEBUGINFOD_URLS is set, but there is no debuginfod-find to ask with\n"
			     "  install it (Debian: apt install debuginfod; Fedora: dnf install elfutils-debuginfod-client)");
		return VMP_DEBUGINFOD_UNASKED;
	}
	while (q->len && q->answer[q->len - 1] == '\n')
		q->len--;
	q->answer[q->len] = 0;
	if (!status && *q->answer == '/' && !strchr(q->answer, '\n'))
		return VMP_DEBUGINFOD_GOT;
	if (strstr(said, strerror(ENOENT)) || strstr(said, "No such file"))
		return VMP_DEBUGINFOD_ABSENT;
	tell_failure(d, said);
	return VMP_DEBUGINFOD_FAILED;
}

/* What may still be spent for the asker: all that is left, or a VM's share of it */
static uint64_t share(const struct asker *by, uint64_t left, uint64_t spent)
{
	return by->vm ? vmp_share(left, spent) : left;
}

static enum vmp_debuginfod_answer run(struct vmp_debuginfod *d, struct question *q)
{
	const char *const argv[] = {
		"debuginfod-find", q->kind == VMP_DEBUGINFOD_DEBUG ? "debuginfo" : "executable", q->id, NULL,
	};
	uint64_t begin = now_ns(), took;
	uint64_t patience = share(q->by, d->left_ns, q->by->ns);
	struct vmp_child c;
	char said[1024];
	int err, done, status;

	if (patience > d->ask_ns)
		patience = d->ask_ns;
	err = vmp_child_start(&c, argv, d->bytes);
	if (err) {
		tell_failure(d, strerror(-err));
		return VMP_DEBUGINFOD_FAILED;
	}
	done = wait_for(q, &c, patience);
	vmp_child_said(&c, said, sizeof(said));
	status = vmp_child_end(&c, done);
	took = now_ns() - begin;
	d->left_ns -= took < d->left_ns ? took : d->left_ns;
	q->by->ns += took;
	return done ? judge(d, q, status, said) : VMP_DEBUGINFOD_SLOW;
}

static void tell_urls(struct vmp_debuginfod *d)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	char safe[512];

	if (!d->told_urls && urls)
		vmp_aside("debuginfod: asking %s for files by their build-id",
			 vmp_text(safe, sizeof(safe), urls, strlen(urls)));
	d->told_urls = 1;
}

static enum vmp_debuginfod_answer ask(struct vmp_debuginfod *d, struct question *q)
{
	if (d->absent || !share(q->by, d->left_ns, q->by->ns) || !share(q->by, VMP_DEBUGINFOD_FILES - d->asked, q->by->files))
		return VMP_DEBUGINFOD_UNASKED;
	d->asked++;
	q->by->files++;
	tell_urls(d);
	return run(d, q);
}

static struct asker *asker_of(struct vmp_debuginfod *d, uint32_t vm)
{
	uint32_t i;

	for (i = 0; i < d->askers.nr; i++)
		if (d->askers.v[i].vm == vm)
			return &d->askers.v[i];
	return vmp_vec_push(&d->askers, (struct asker){ .vm = vm }) ? NULL : &d->askers.v[i];
}

/* Ask for it, and keep the answer: for all, or for the one that could not ask, or not wait, as long as others can */
static int learn(struct vmp_debuginfod *d, struct question *q, uint64_t sum, uint64_t own_sum)
{
	const int hurried = share(q->by, d->left_ns, q->by->ns) < d->ask_ns;
	enum vmp_debuginfod_answer answer = ask(d, q);
	char *path = answer == VMP_DEBUGINFOD_GOT ? strdup(q->answer) : NULL;

	d->count[answer]++;
	if (vmp_vec_push(&d->paths, path)) {
		free(path);
		return -ENOMEM;
	}
	if (answer == VMP_DEBUGINFOD_UNASKED || (answer == VMP_DEBUGINFOD_SLOW && hurried))
		sum = own_sum;
	return vmp_hash_set(&d->known, sum, d->paths.nr - 1);
}

int vmp_debuginfod_find(struct vmp_debuginfod *d, uint32_t vm, enum vmp_debuginfod_kind kind,
			const uint8_t *build_id, size_t len, const char *name, char *path, size_t size)
{
	struct question q = { .kind = kind, .by = asker_of(d, vm), .name = name };
	uint8_t id[1 + VMP_BUILD_ID_BYTES + sizeof(vm)] = { (uint8_t)kind };
	uint64_t sum, own_sum;
	uint32_t *n;
	int err;

	if (!q.by)
		return -ENOMEM;
	if (!len || len > VMP_BUILD_ID_BYTES)
		return -ENOENT;
	memcpy(id + 1, build_id, len);
	sum = vmp_hash_bytes(id, 1 + len);
	memcpy(id + 1 + len, &vm, sizeof(vm));
	own_sum = vmp_hash_bytes(id, 1 + len + sizeof(vm));
	vmp_text_hex(q.id, build_id, len);
	n = vmp_hash_find(&d->known, sum);
	if (!n && !vmp_hash_find(&d->known, own_sum)) {
		err = learn(d, &q, sum, own_sum);
		if (err)
			return err;
		n = vmp_hash_find(&d->known, sum);
	}
	if (!n || !d->paths.v[*n] || strlen(d->paths.v[*n]) >= size)
		return -ENOENT;
	strcpy(path, d->paths.v[*n]);
	return 0;
}

uint64_t vmp_debuginfod_count(const struct vmp_debuginfod *d, enum vmp_debuginfod_answer answer)
{
	return d->count[answer];
}
