/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cached.h - a VM whose binaries come into an object cache of the harness's own.
 *
 * Each input begins with an empty cache, and leaves nothing there but whole files.
 */
#ifndef VMP_FUZZ_CACHED_H
#define VMP_FUZZ_CACHED_H

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

#include "collect/carry.h"
#include "collect/early.h"
#include "util/log.h"
#include "items.h"

#define BINARIES	4U
#define GUEST		"u-1"
#define EARLY		"u-2"	/* what comes while it samples, under any build-id */

static char cache[64];
static struct vmp_vm vm;

static void say_nothing(void *arg, enum vmp_log_level level, const char *text)
{
	(void)arg, (void)level, (void)text;
}

static void remove_cache(void)
{
	if (rmdir(cache))
		abort();
}

static inline void begin_vm(void)
{
	if (!*cache) {
		strcpy(cache, "/tmp/vmprof-fuzz.XXXXXX");
		if (!mkdtemp(cache) || setenv("VMPROF_OBJCACHE", cache, 1) || atexit(remove_cache))
			abort();
		vmp_log_set(say_nothing, NULL);
	}
	memset(&vm, 0, sizeof(vm));
	strcpy(vm.dom.shown, "guest");
	vm.agent.fd = -1;
	strcpy(vm.dom.uuid, EARLY);
	vmp_early_init(&vm);
	vmp_fetch_init(&vm.fetch);
}

/* The binary @nr is needed, with so many bytes */
static inline void need_at(unsigned int nr, uint64_t bytes, const char *path)
{
	static const uint8_t id[] = { 0xab, 0xcd, 0xef, 1, 2, 3, 4, 5 };
	char key[VMP_OBJKEY_MAX];
	const struct vmp_needed n = {
		.file = nr + 1, .bytes = bytes, .build_id = id, .build_id_len = sizeof(id), .key = key, .path = path,
	};

	snprintf(key, sizeof(key), GUEST "/ab%02x", nr % BINARIES);
	if (vm.fetch.nr < 16 && vmp_fetch_add(&vm.fetch, &n) == -EINVAL)
		abort();
}

static inline void need(unsigned int nr, uint64_t bytes)
{
	need_at(nr, bytes, "/bin/x");
}

static void remove_file(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", cache, name);
	if (unlink(path) && errno != ENOENT)
		abort();
}

static void remove_folder(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", cache, name);
	if (rmdir(path) && errno != ENOENT)
		abort();	/* there is something else */
}

static int remove_early(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	/* a temporary file has a suffix */
	if ((type == FTW_F && strchr(path + at->base, '.')) || remove(path))
		abort();
	return 0;
}

static inline void end_vm(void)
{
	char name[128];
	unsigned int i;

	vmp_carry_end(&vm);
	vmp_early_forget(&vm);
	snprintf(name, sizeof(name), "%s/" EARLY, cache);
	nftw(name, remove_early, 8, FTW_DEPTH | FTW_PHYS);
	vmp_fetch_free(&vm.fetch);
	for (i = 0; i < BINARIES; i++) {
		snprintf(name, sizeof(name), GUEST "/ab/%02x", i);
		remove_file(name);
		strcat(name, ".debug");
		remove_file(name);
	}
	remove_file(GUEST "/xx/0");	/* kernel symbols */
	remove_folder(GUEST "/ab");
	remove_folder(GUEST "/xx");
	remove_folder(GUEST);
}

#endif
