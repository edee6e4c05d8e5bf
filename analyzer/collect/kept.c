// SPDX-License-Identifier: GPL-2.0-only
/* kept.c - kernel symbols of a guest's boot, in the host's object cache for its next session. */
#include "collect/kept.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "collect/housekeep.h"
#include "util/file.h"

#define BOOT_ID_BYTES	16

void vmp_kept_init(struct vmp_kept *k, const char *uuid)
{
	memset(k, 0, sizeof(*k));
	strcpy(k->key, VMP_OBJKEY_KSYMS);
	vmp_objcache_own(k->key, uuid);
}

void vmp_kept_drop(struct vmp_kept *k)
{
	free(k->text);
	k->text = NULL;
}

int vmp_kept_read(const struct vmp_kept *k, const uint8_t boot_id[16], char **text, size_t *len)
{
	char path[PATH_MAX], *data;
	int err;

	err = vmp_objcache_path(path, sizeof(path), k->key);
	if (!err)
		err = vmp_file_read(path, BOOT_ID_BYTES + VMPROF_KSYMS_BYTES_MAX, &data, len);
	if (err)
		return err;
	if (*len <= BOOT_ID_BYTES || memcmp(data, boot_id, BOOT_ID_BYTES)) {
		free(data);
		return -ENOENT;
	}
	vmp_objcache_used(k->key);
	*len -= BOOT_ID_BYTES;
	memmove(data, data + BOOT_ID_BYTES, *len);
	*text = data;
	return 0;
}

/* Up to the first line of code that the kernel made: agents of version 6 on put that behind all others */
static size_t lasting_bytes(const char *text, size_t len)
{
	static const char *const made[] = { "\t[bpf]", "\t[__builtin__" };
	const char *at, *newline;
	size_t i;

	for (i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		at = memmem(text, len, made[i], strlen(made[i]));
		newline = at ? memrchr(text, '\n', (size_t)(at - text)) : NULL;
		if (at)
			len = newline ? (size_t)(newline + 1 - text) : 0;
	}
	return len;
}

/* Is it what lies there already?  Most texts of a boot differ only in what is not kept. */
static int is_stored(const struct vmp_kept *k, size_t len)
{
	size_t stored_len;
	char *stored;
	int same;

	if (vmp_kept_read(k, (const uint8_t *)k->text, &stored, &stored_len))
		return 0;
	same = stored_len == len && !memcmp(stored, k->text + BOOT_ID_BYTES, len);
	free(stored);
	return same;
}

void vmp_kept_store(struct vmp_kept *k)
{
	size_t len;

	if (!k->text || k->got != k->total)
		return;
	len = lasting_bytes(k->text + BOOT_ID_BYTES, k->total);
	if (len && !is_stored(k, len))
		vmp_cache_put(k->key, k->text, BOOT_ID_BYTES + len);
	vmp_kept_drop(k);
}

void vmp_kept_take(struct vmp_kept *k, const uint8_t boot_id[16], const struct vmp_msg_ksyms *m)
{
	char *text;

	if (!*k->key)
		return;
	if (!m->offset) {
		vmp_kept_drop(k);
		k->got = 0;
		k->total = m->total;
	} else if (!k->text || m->offset != k->got || m->total != k->total) {
		vmp_kept_drop(k);
		return;
	}
	text = realloc(k->text, BOOT_ID_BYTES + k->got + m->text.len);
	if (!text) {
		vmp_kept_drop(k);
		return;
	}
	k->text = text;
	memcpy(text, boot_id, BOOT_ID_BYTES);
	memcpy(text + BOOT_ID_BYTES + k->got, m->text.p, m->text.len);
	k->got += m->text.len;
}
