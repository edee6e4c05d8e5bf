// SPDX-License-Identifier: GPL-2.0-only
/*
 * tar.c - headers of 512 bytes, each followed by its file in whole blocks.
 *
 * Checksums are not compared: Cube 4.8 writes wrong ones.
 */
#include "import/tar.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK		512U
#define MEMBERS_MAX	100000U

struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8];
	char type, link[100], magic[6], rest[249];
};

_Static_assert(sizeof(struct header) == BLOCK, "tar header");

/* Octal digits, or base 256 where the first bit is set */
static int number(const char *s, size_t len, uint64_t *out)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if ((unsigned char)s[0] & 0x80) {
			if (n >> 55)
				return -EBADMSG;
			n = n << 8 | (i ? c : c & 0x7f);
		} else if (c == ' ' && !n) {
			continue;
		} else if (c == ' ' || !c) {
			break;
		} else if (c < '0' || c > '7' || n >> 60) {
			return -EBADMSG;
		} else {
			n = n << 3 | (c - '0');
		}
	}
	*out = n;
	return 0;
}

int vmp_tar_is(int fd)
{
	struct header h;

	return pread(fd, &h, sizeof(h), 0) == sizeof(h) && !memcmp(h.magic, "ustar", 5);
}

/* Its number, or NULL; @sum: where it is or would be */
static const uint32_t *find(const struct vmp_tar *t, const char *name, uint64_t *sum)
{
	const uint32_t *i;

	for (*sum = vmp_hash_bytes(name, strlen(name)); (i = vmp_hash_find(&t->by_name, *sum)); ++*sum)
		if (!strcmp(t->members.v[*i].name, name))
			break;
	return i;
}

static int add(struct vmp_tar *t, const struct vmp_tar_member *m)
{
	uint64_t sum;

	if (vmp_vec_push(&t->members, *m))
		return -ENOMEM;
	return find(t, m->name, &sum) ? 0 : vmp_hash_set(&t->by_name, sum, t->members.nr - 1);
}

int vmp_tar_read(struct vmp_tar *t, int fd)
{
	static const struct header zeros;
	struct vmp_tar_member m;
	struct header h;
	uint64_t at = 0, bytes;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st))
		return -errno;
	for (;; at += BLOCK + ((bytes + BLOCK - 1) & ~(uint64_t)(BLOCK - 1))) {
		n = pread(fd, &h, sizeof(h), (off_t)at);
		if (n < 0)
			return -errno;
		if (!n || (n == sizeof(h) && !memcmp(&h, &zeros, sizeof(h))))
			return 0;
		if (n != sizeof(h) || number(h.size, sizeof(h.size), &bytes) ||
		    bytes > (uint64_t)st.st_size - at - BLOCK || t->members.nr == MEMBERS_MAX)
			return -EBADMSG;
		if (h.type != '0' && h.type)
			continue;
		memset(&m, 0, sizeof(m));
		memcpy(m.name, h.name, sizeof(h.name));
		m.offset = at + BLOCK;
		m.bytes = bytes;
		if (add(t, &m))
			return -ENOMEM;
	}
}

const struct vmp_tar_member *vmp_tar_find(const struct vmp_tar *t, const char *name)
{
	uint64_t sum;
	const uint32_t *i = find(t, name, &sum);

	return i ? &t->members.v[*i] : NULL;
}

void vmp_tar_free(struct vmp_tar *t)
{
	vmp_vec_free(&t->members);
	vmp_hash_free(&t->by_name);
}
