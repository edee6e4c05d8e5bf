// SPDX-License-Identifier: GPL-2.0-only
/* objcache.c - names of guest binaries in the host's cache; their content is written elsewhere. */
#include "model/objcache.h"
#include "util/text.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FNV128_PRIME	(((unsigned __int128)1 << 88) + 0x13b)
#define FNV128_BASIS	(((unsigned __int128)0x6c62272e07bb0142ULL << 64) | 0x62b821756295c58dULL)

/* 128-bit FNV-1a: names files, does not protect them */
static void fnv128(unsigned __int128 *h, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (; len; len--)
		*h = (*h ^ *p++) * FNV128_PRIME;
}

static void fnv128_u64(unsigned __int128 *h, uint64_t v)
{
	v = htole64(v);
	fnv128(h, &v, sizeof(v));
}

static void write_hash(char *key, unsigned __int128 h)
{
	snprintf(key, VMP_OBJKEY_MAX, "x%016llx%016llx",
		 (unsigned long long)(h >> 64), (unsigned long long)h);
}

void vmp_objcache_key(char *key, const uint8_t boot_id[16], const struct vmp_msg_file *file)
{
	unsigned __int128 h = FNV128_BASIS;

	if (file->build_id_len) {
		vmp_text_hex(key, file->build_id, file->build_id_len < VMPROF_BUILD_ID_MAX ?
			     file->build_id_len : VMPROF_BUILD_ID_MAX);
		return;
	}
	fnv128(&h, boot_id, 16);
	fnv128_u64(&h, (uint64_t)file->dev_major << 32 | file->dev_minor);
	fnv128_u64(&h, file->ino);
	fnv128_u64(&h, file->ino_generation);
	fnv128_u64(&h, file->bytes);
	fnv128_u64(&h, file->mtime_ns);
	fnv128(&h, file->path.p, file->path.len);	/* the vdso has no inode */
	write_hash(key, h);
}

void vmp_objcache_content_key(char *key, const void *data, size_t len)
{
	unsigned __int128 h = FNV128_BASIS;
	const uint8_t *p = data;
	uint64_t word;

	/* by words, since a kernel's code is long */
	for (; len >= sizeof(word); len -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = (h ^ le64toh(word)) * FNV128_PRIME;
	}
	fnv128(&h, p, len);
	write_hash(key, h);
}

static size_t owner_length(const char *s)
{
	return strspn(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-");
}

void vmp_objcache_own(char key[VMP_OBJKEY_MAX], const char *uuid)
{
	size_t owner = strlen(uuid), n = strlen(key);

	if (!owner || owner > VMP_OBJKEY_OWNER_MAX || owner_length(uuid) != owner ||
	    owner + 1 + n >= VMP_OBJKEY_MAX) {
		*key = 0;
		return;
	}
	memmove(key + owner + 1, key, n + 1);
	memcpy(key, uuid, owner);
	key[owner] = '/';
}

const char *vmp_objcache_dir(void)
{
	const char *root = getenv("VMPROF_OBJCACHE");

	return root && *root ? root : VMP_OBJCACHE_DIR;
}

int vmp_objcache_path(char *buf, size_t size, const char *key)
{
	size_t owner = owner_length(key), n;
	const char *rest;
	int len;

	if (!owner || owner > VMP_OBJKEY_OWNER_MAX || key[owner] != '/')
		return -EINVAL;
	rest = key + owner + 1;
	n = strlen(rest);
	if (n < 3 || n > 2 * VMPROF_BUILD_ID_MAX || strspn(rest, "x0123456789abcdef") != n)
		return -EINVAL;
	len = snprintf(buf, size, "%s/%.*s/%.2s/%s", vmp_objcache_dir(),
		       (int)owner, key, rest, rest + 2);
	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : 0;
}

void vmp_objcache_used(const char *key)
{
	char path[4096];

	if (!vmp_objcache_path(path, sizeof(path), key))
		utimensat(AT_FDCWD, path, NULL, 0);
}

int vmp_objcache_has(const char *key)
{
	char path[4096];
	struct stat st;

	return !vmp_objcache_path(path, sizeof(path), key) && !stat(path, &st) &&
	       S_ISREG(st.st_mode);
}
