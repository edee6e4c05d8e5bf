// SPDX-License-Identifier: GPL-2.0-only
/* world.c - the made-up guest; all numbers come from one generator (splitmix64). */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL_SYMBOLS	60000U

static uint64_t next(struct world *w)
{
	uint64_t z = w->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static uint32_t below(struct world *w, uint32_t n)
{
	return (uint32_t)((next(w) >> 32) * n >> 32);
}

/* Below @n by Zipf's law: each power of two as often as the one before */
static uint32_t skewed(struct world *w, uint32_t n)
{
	uint32_t r, b;

	do {
		b = below(w, 32 - (uint32_t)__builtin_clz(n));
		r = (1U << b) - 1 + below(w, 1U << b);
	} while (r >= n);
	return r;
}

static void *need(void *p)
{
	if (!p) {
		fputs("gen-capture: out of memory\n", stderr);
		exit(1);
	}
	return p;
}

static void make_image(struct world *w, struct world_image *im, const char *name, uint32_t symbols)
{
	uint32_t i, at = 0;

	snprintf(im->name, sizeof(im->name), "%s", name);
	for (i = 0; i < sizeof(im->build_id); i++)
		im->build_id[i] = (uint8_t)next(w);
	im->nr_symbols = symbols;
	im->symbol = need(calloc(symbols, sizeof(*im->symbol)));
	for (i = 0; i < symbols; i++) {
		im->symbol[i].offset = at;
		im->symbol[i].bytes = 16 + 16 * skewed(w, 256);
		at += im->symbol[i].bytes;
	}
	im->text_bytes = at;
}

void world_symbol_name(char name[96], const struct world_image *im, uint32_t i)
{
	static const char *const verb[] = { "parse", "get", "put", "copy", "lookup", "insert", "flush", "init" };
	static const char *const noun[] = { "header", "page", "node", "table", "cache", "request", "buffer" };
	const char *v = verb[i % 8], *n = noun[i / 8 % 7];

	if (i % 10 == 3)
		snprintf(name, 96, "_ZN4vmpb%zu%s%zu%s%uEPKcm", strlen(n), n,
			 strlen(v) + (i < 10 ? 1 : i < 100 ? 2 : i < 1000 ? 3 : i < 10000 ? 4 : 5), v, i);
	else if (i % 10 == 7)
		snprintf(name, 96, "_ZN%zu%s%zu%s17h%016xE", strlen(n), n, strlen(v), v, i);
	else
		snprintf(name, 96, "%.8s_%s_%s_%u", im->name, v, n, i);
}

/* The program and some libraries; what is used by many has a small number */
static void map_images(struct world *w, struct world_process *p)
{
	uint64_t at = 0x7f0000000000ULL + ((uint64_t)below(w, 1 << 20) << 16);
	uint32_t programs = w->nr_images / 2 ? w->nr_images / 2 : 1, libs = w->nr_images - programs, i;

	p->nr_maps = 3 + below(w, WORLD_MAPS_MAX - 4);
	for (i = 0; i < p->nr_maps; i++) {
		struct world_map *m = &p->map[i];

		m->image = i && libs ? programs + skewed(w, libs) : skewed(w, programs);
		m->start = at + WORLD_TEXT_AT;
		at += (w->image[m->image].text_bytes + 4 * WORLD_PAGE) & ~(WORLD_PAGE - 1);
	}
	snprintf(p->comm, sizeof(p->comm), "%.15s", w->image[p->map[0].image].name);
}

/* Half of the processes begin in the middle, each on the CR3 of one that has ended. */
static void make_processes(struct world *w)
{
	uint32_t i;

	w->nr_slots = (w->nr_processes + 1) / 2;
	for (i = 0; i < w->nr_processes; i++) {
		struct world_process *p = &w->process[i];
		uint32_t slot = i % w->nr_slots;

		p->pid = 2000 + i;
		p->cr3 = 0x100000000ULL + (uint64_t)slot * 0x3000;
		map_images(w, p);
		p->end = UINT64_MAX;
		if (i >= w->nr_slots) {
			p->begin = WORLD_BEGIN + (w->end - WORLD_BEGIN) / (w->nr_slots + 1) * (slot + 1);
			w->process[slot].end = p->begin - 1000;
		}
	}
}

struct world *world_create(uint64_t seed, uint32_t processes, uint32_t images, uint64_t samples)
{
	struct world *w = need(calloc(1, sizeof(*w)));
	char name[32];
	uint32_t i;

	w->seed = w->state = seed;
	w->nr_images = images;
	w->nr_processes = processes;
	w->nr_samples = samples;
	w->step = 2000000 / WORLD_VCPUS;
	w->end = WORLD_BEGIN + (samples + 1) * w->step;
	w->image = need(calloc(images, sizeof(*w->image)));
	w->process = need(calloc(processes, sizeof(*w->process)));
	for (i = 0; i < images; i++) {
		snprintf(name, sizeof(name), i < images / 2 ? "app%u" : "lib%u.so", i);
		make_image(w, &w->image[i], name, 100 + skewed(w, 8000));
	}
	make_image(w, &w->kernel, "kernel", KERNEL_SYMBOLS);
	make_image(w, &w->host_kernel, "host", KERNEL_SYMBOLS);
	make_image(w, &w->qemu, "qemu-system-x86_64", 20000);
	make_processes(w);
	return w;
}

void world_destroy(struct world *w)
{
	uint32_t i;

	for (i = 0; i < w->nr_images; i++)
		free(w->image[i].symbol);
	free(w->kernel.symbol);
	free(w->host_kernel.symbol);
	free(w->qemu.symbol);
	free(w->image);
	free(w->process);
	free(w);
}

/* An offset in the text: a function, and in it one of its hot places */
static uint64_t place(struct world *w, const struct world_image *im)
{
	/* which functions are hot has nothing to do with where they lie */
	uint64_t rank = skewed(w, im->nr_symbols);
	const struct world_symbol *s = &im->symbol[rank * 2654435761ULL % im->nr_symbols];

	return s->offset + 4 * skewed(w, s->bytes / 4);
}

static const struct world_process *whose(struct world *w, uint64_t tsc)
{
	uint32_t slot = skewed(w, w->nr_slots);

	if (slot + w->nr_slots < w->nr_processes && tsc >= w->process[slot + w->nr_slots].begin)
		slot += w->nr_slots;
	return &w->process[slot];
}

static void in_guest(struct world *w, struct world_sample *s, const struct world_process *p, int user)
{
	const struct world_map *m = &p->map[skewed(w, p->nr_maps)];

	s->rec.mode = VMPROF_MODE_GUEST;
	s->rec.cpl = user ? 3 : 0;
	s->rec.guest_ip = user ? m->start + place(w, &w->image[m->image]) :
				 WORLD_KERNEL + place(w, &w->kernel);
	s->rec.exit_reason = 0x61;
	s->rec.host_ip = WORLD_HOST_KERNEL + w->host_kernel.symbol[7].offset;
	s->pid = p->pid;
	s->ip = s->rec.guest_ip;
	s->process = p;
	s->map = user ? m : NULL;
}

static void in_host(struct world *w, struct world_sample *s, enum vmprof_mode mode)
{
	static const uint64_t reasons[] = { 0x400, 0x78, 0x7b, 0x60, 0x7c, 0x72, 0x61 };

	s->rec.mode = (uint8_t)mode;
	s->rec.host_ip = mode == VMPROF_MODE_VMM_USER ? 0x555555554000ULL + WORLD_TEXT_AT + place(w, &w->qemu) :
							 WORLD_HOST_KERNEL + place(w, &w->host_kernel);
	s->rec.host_return_ip[0] = WORLD_HOST_KERNEL + w->host_kernel.symbol[skewed(w, 2000)].offset;
	s->rec.host_return_ip[1] = WORLD_HOST_KERNEL + w->host_kernel.symbol[skewed(w, 500)].offset;
	s->rec.exit_reason = reasons[skewed(w, sizeof(reasons) / sizeof(reasons[0]))];
	s->rec.exit_info1 = s->rec.exit_reason == 0x400 ? 0x100000004ULL : 0;
	s->rec.exit_info2 = s->rec.exit_reason == 0x400 ? next(w) & 0xfffff000 : 0;
	s->pid = mode == VMPROF_MODE_VMM_USER ? WORLD_VM : 0;
	s->ip = s->rec.host_ip;
}

void world_sample(struct world *w, uint64_t n, struct world_sample *s)
{
	uint64_t tsc = WORLD_BEGIN + 1 + n * w->step + below(w, (uint32_t)w->step - 1);
	const struct world_process *p = whose(w, tsc);
	uint32_t cpu = (uint32_t)(n % WORLD_VCPUS), dice = below(w, 100);

	memset(s, 0, sizeof(*s));
	s->rec = (struct vmprof_sample){
		.hdr = { VMPROF_REC_SAMPLE, sizeof(s->rec), cpu }, .tsc = tsc,
		.host_pid = WORLD_VM, .host_tid = WORLD_VM + 1 + cpu, .vm = WORLD_VM,
		.vcpu_tid = WORLD_VM + 1 + cpu, .vcpu = cpu, .vendor = VMPROF_VENDOR_SVM,
		.flags = VMPROF_SF_VCPU | VMPROF_SF_COUNTS | VMPROF_SF_LONG_MODE | VMPROF_SF_IRQ_NMI,
		.guest_cr3 = p->cr3, .cycles = 1000000 + below(w, 4096),
		.instructions = 300000 + below(w, 1 << 20),
	};
	if (dice < 85) {
		in_guest(w, s, p, dice < 60);
		return;
	}
	/* the vCPU's state stays what it was at the exit */
	s->rec.guest_ip = WORLD_KERNEL + place(w, &w->kernel);
	if (dice < 94) {
		in_host(w, s, VMPROF_MODE_VMM_KERNEL);
	} else if (dice < 97) {
		in_host(w, s, VMPROF_MODE_VMM_USER);
	} else {
		in_host(w, s, VMPROF_MODE_OTHER_KERNEL);
		s->rec.host_pid = s->rec.host_tid = 77;
		s->rec.flags = dice < 99 ? VMPROF_SF_STEAL | VMPROF_SF_IRQ_NMI : VMPROF_SF_IRQ_NMI;
	}
}
