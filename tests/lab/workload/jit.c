// SPDX-License-Identifier: GPL-2.0-only
/*
 * jit.c - a program that makes code while it runs: NAME_heavy and NAME_light, which work 3 : 1.
 *
 *	jit NAME SECONDS	tells of them in /tmp/perf-PID.map
 *	jit NAME SECONDS dump	in /tmp/jit-PID.dump, a jitdump file
 *	jit NAME SECONDS 0xADDRESS	as the first, and the code lies there: above 47 bits only where page tables have five levels
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CODE_BYTES	8192
#define LIGHT_AT	1024		/* behind the heavy one */

typedef void (*made_fn)(uint64_t rounds);

struct dump_head {
	uint32_t magic, version, bytes, machine, pad, pid;
	uint64_t timestamp, flags;
};

struct dump_load {
	uint32_t type, all_bytes;
	uint64_t timestamp;
	uint32_t pid, tid;
	uint64_t vma, address, bytes, index;
};

static FILE *map;
static int dump;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int begin_dump(void)
{
	const struct dump_head h = {
		.magic = 0x4a695444, .version = 1, .bytes = sizeof(h), .machine = 62,
		.pid = (uint32_t)getpid(),
	};

	/* the mapping is how a profiler hears of the file */
	return fwrite(&h, sizeof(h), 1, map) == 1 &&
	       mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(map), 0) != MAP_FAILED;
}

static void tell(const uint8_t *at, uint64_t bytes, const char *name)
{
	const struct dump_load l = {
		.all_bytes = (uint32_t)(sizeof(l) + strlen(name) + 1 + bytes), .pid = (uint32_t)getpid(),
		.vma = (uintptr_t)at, .address = (uintptr_t)at, .bytes = bytes,
	};

	if (dump) {
		fwrite(&l, sizeof(l), 1, map);
		fwrite(name, strlen(name) + 1, 1, map);
		fwrite(at, bytes, 1, map);
	} else {
		fprintf(map, "%lx %lx %s\n", (unsigned long)at, (unsigned long)bytes, name);
	}
	fflush(map);
}

/* A loop of @rdi rounds, 16 additions each, and a line that names it */
static made_fn make(uint8_t *at, const char *name, const char *suffix)
{
	static const uint8_t add[] = { 0x48, 0x83, 0xc0, 0x01 };	/* add $1, %rax */
	static const uint8_t next[] = { 0x48, 0xff, 0xcf, 0x75, 0xbb };	/* dec %rdi; jnz to the first */
	uint8_t *p = at;
	char full[64];
	int i;

	for (i = 0; i < 16; i++, p += sizeof(add))
		memcpy(p, add, sizeof(add));
	memcpy(p, next, sizeof(next));
	p += sizeof(next);
	*p++ = 0xc3;							/* ret */
	snprintf(full, sizeof(full), "%s_%s", name, suffix);
	tell(at, (uint64_t)(p - at), full);
	return (made_fn)(uintptr_t)at;
}

int main(int argc, char **argv)
{
	made_fn heavy, light;
	char path[64];
	uintptr_t where;
	uint8_t *code;
	double end;

	if (argc < 3)
		return 2;
	dump = argc > 3 && !strcmp(argv[3], "dump");
	where = argc > 3 && !dump ? strtoull(argv[3], NULL, 16) : 0;
	end = now() + atof(argv[2]);
	snprintf(path, sizeof(path), dump ? "/tmp/jit-%d.dump" : "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w+");
	code = mmap((void *)where, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!map || code == MAP_FAILED || (where && code != (void *)where) || (dump && !begin_dump())) {
		perror(path);
		return 1;
	}
	heavy = make(code, argv[1], "heavy");
	light = make(code + LIGHT_AT, argv[1], "light");
	while (now() < end) {
		heavy(300000);
		light(100000);
	}
	return 0;
}
