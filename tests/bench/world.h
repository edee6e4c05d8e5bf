/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * world.h - a made-up guest from a seed: images with symbols, processes in
 * address spaces, a kernel, and an endless stream of samples.
 *
 * The same seed and sizes give the same world and the same samples, whichever
 * format they are written in.
 */
#ifndef VMP_BENCH_WORLD_H
#define VMP_BENCH_WORLD_H

#include <stdint.h>
#include <vmprof/uapi.h>

#define WORLD_VM		1000U		/* QEMU's tgid */
#define WORLD_VCPUS		16U
#define WORLD_MAPS_MAX		16U
#define WORLD_PAGE		4096ULL
#define WORLD_TEXT_AT		0x1000ULL	/* offset and link address of .text */
#define WORLD_KERNEL		0xffffffff81000000ULL
#define WORLD_HOST_KERNEL	0xffffffff91000000ULL
#define WORLD_KHZ		2000000U
#define WORLD_BEGIN		1000000ULL	/* host TSC */
#define WORLD_CLOCK_OFFSET	5000000ULL

struct world_symbol {
	uint32_t offset, bytes;	/* in the text */
};

/* An executable or library */
struct world_image {
	char name[32];
	uint8_t build_id[20];
	uint32_t nr_symbols;
	uint32_t text_bytes;
	struct world_symbol *symbol;
};

struct world_map {
	uint32_t image;
	uint64_t start;		/* gva of the text */
};

struct world_process {
	uint32_t pid;
	char comm[16];
	uint64_t cr3;
	uint64_t begin, end;	/* host TSC; 0: lived before */
	uint32_t nr_maps;
	struct world_map map[WORLD_MAPS_MAX];	/* 0: the program */
};

struct world {
	uint64_t seed, state;
	uint32_t nr_images, nr_processes, nr_slots;
	struct world_image *image;
	struct world_image kernel, host_kernel, qemu;
	struct world_process *process;	/* slot i: process i, then process i + nr_slots */
	uint64_t nr_samples, step;	/* TSC from one sample to the next */
	uint64_t end;
};

/* What perf.data needs to know beyond the record */
struct world_sample {
	struct vmprof_sample rec;
	uint32_t pid;		/* whose, as perf would see it */
	uint64_t ip;
	const struct world_process *process;
	const struct world_map *map;	/* guest user code: where it lies */
};

/** world_create() - Exits when there is no memory. */
struct world *world_create(uint64_t seed, uint32_t processes, uint32_t images, uint64_t samples);
void world_destroy(struct world *w);

/** world_sample() - Sample @n, to be asked for in order from 0. */
void world_sample(struct world *w, uint64_t n, struct world_sample *s);

/** world_symbol_name() - Of symbol @i of an image; some are C++ and Rust names. */
void world_symbol_name(char name[96], const struct world_image *im, uint32_t i);

#endif
