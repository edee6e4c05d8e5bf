/* SPDX-License-Identifier: GPL-2.0-only */
/* cached.h - an object cache of the test's own, and objects to be fetched into it. */
#ifndef VMP_TEST_CACHED_H
#define VMP_TEST_CACHED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/fetch.h"
#include "util/file.h"

static char cache[64];
static struct vmp_fetch fetch;

static inline int make_cache(void **state)
{
	(void)state;
	strcpy(cache, "/tmp/vmprof-test.XXXXXX");
	vmp_fetch_init(&fetch);
	return !mkdtemp(cache) || setenv("VMPROF_OBJCACHE", cache, 1);
}

static inline int remove_cache(void **state)
{
	char cmd[128];

	(void)state;
	vmp_fetch_free(&fetch);
	unsetenv("VMPROF_OBJCACHE");
	snprintf(cmd, sizeof(cmd), "rm -rf %s", cache);
	return system(cmd);
}

static inline int add(uint32_t file, uint64_t bytes, const uint8_t *build_id, size_t build_id_len, const char *key)
{
	const struct vmp_needed n = {
		.file = file, .bytes = bytes, .build_id = build_id, .build_id_len = build_id_len, .key = key,
		.path = "/usr/lib/lib.so",
	};

	return vmp_fetch_add(&fetch, &n);
}

static inline int files_in_cache(void)
{
	char cmd[128];
	FILE *f;
	int n = -1;

	snprintf(cmd, sizeof(cmd), "find %s -type f | wc -l", cache);
	f = popen(cmd, "r");
	if (f && fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		pclose(f);
	return n;
}

#endif
