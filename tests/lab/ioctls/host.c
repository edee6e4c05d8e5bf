// SPDX-License-Identifier: GPL-2.0-only
/* host.c - calls of /dev/vmprof, in an order that lets some of them get far. */
#define _GNU_SOURCE
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vmprof/uapi.h>

#include "fuzz.h"
#include "vm.h"

#define MAPS	8
#define LIST_AT	4096		/* in the buffer: what structs point to */

enum { QUERY, CONFIG, START, STOP, STATS, TASKS, ADD_VM, MMAP, TOUCH, POLL, OTHER };

static const unsigned long requests[] = {
	VMPROF_IOC_QUERY, VMPROF_IOC_CONFIG, VMPROF_IOC_START, VMPROF_IOC_STOP, VMPROF_IOC_STATS, VMPROF_IOC_TASKS,
	VMPROF_IOC_ADD_VM,
};

struct map {
	char *at;
	size_t len;
	int prot;
	int consumer;
};

struct own {
	struct map map[MAPS];
};

static _Atomic uint32_t ring_bytes = 4096;	/* of the last CONFIG */
static _Atomic uint64_t most_records, positions;
static _Thread_local sigjmp_buf gone;

/* Of 1,024 calls; those that do much work are rare */
static unsigned int draw(struct fuzz_worker *w)
{
	static const struct {
		unsigned int kind, weight;
	} weights[] = {
		{ QUERY, 2 }, { CONFIG, 12 }, { START, 2 }, { STOP, 1 }, { STATS, 200 }, { TASKS, 20 },
		{ ADD_VM, 8 }, { MMAP, 60 }, { TOUCH, 160 }, { POLL, 24 },
	};
	unsigned int i, r = fuzz_any(w) % 1024;

	for (i = 0; i < sizeof(weights) / sizeof(weights[0]); i++) {
		if (r < weights[i].weight)
			return weights[i].kind;
		r -= weights[i].weight;
	}
	return OTHER;
}

static uint32_t pid(struct fuzz_worker *w)
{
	uint64_t r = fuzz_any(w);

	return r % 16 ? fuzz_pids[(r >> 8) % fuzz_nr_pids] : (uint32_t)(r >> 8) >> (r >> 40) % 32;
}

static void config_trigger(struct fuzz_worker *w, struct vmprof_config *c)
{
	uint64_t r = fuzz_any(w);

	if (r % 4 == 0) {
		c->flags |= VMPROF_CFG_TIMER;
		c->period = 10000 << (r >> 8) % 10;
		return;
	}
	c->event_type = r % 16 ? 0 : (r >> 8) % 8;	/* PERF_TYPE_HARDWARE and others */
	c->event_config = (r >> 12) % 16 ? (r >> 16) % 2 : (r >> 16) % 16;
	c->period = 20000ULL << (r >> 20) % 10;
	if ((r >> 52) % 4 == 0)
		c->flags |= VMPROF_CFG_RANDOM;
	if ((r >> 32) % 4 == 0)
		c->instruction_period = 20000ULL << (r >> 36) % 10;
	if ((r >> 44) % 2) {
		c->lbr_branches = (r >> 46) % 4 ? VMPROF_LBR_ALL : (r >> 48) & VMPROF_LBR_ALL;
		c->lbr_format = 1 + (r >> 60) % 3;
	}
}

static int do_config(struct fuzz_worker *w, int fd)
{
	uint32_t vms[VMPROF_MAX_VMS], i;
	uint64_t r = fuzz_any(w);
	struct vmprof_config c = {
		.size = sizeof(c), .flags = r % 4 ? 0 : VMPROF_CFG_ALL,
		.ring_bytes = 4096U << (r >> 8) % 8, .nr_vms = 1 + (r >> 16) % 4,
	};

	if ((r >> 24) % 64 == 0)
		c.nr_vms = (r >> 32) % (VMPROF_MAX_VMS + 2);
	for (i = 0; i < VMPROF_MAX_VMS; i++)
		vms[i] = pid(w);
	c.vms = (r >> 48) % 32 ? fuzz_put(w, vms, sizeof(vms), LIST_AT) : fuzz_address(w);
	config_trigger(w, &c);
	fuzz_spoil(w, &c, sizeof(c));
	if (ioctl(fd, VMPROF_IOC_CONFIG, fuzz_put(w, &c, sizeof(c), 0)))
		return 0;
	atomic_store(&ring_bytes, c.ring_bytes);
	return 1;
}

static int do_tasks(struct fuzz_worker *w, int fd)
{
	struct vmprof_tasks_ram ram[VMPROF_TASKS_RAM_MAX] = { { 0 } };
	uint64_t vcpus[8], r = fuzz_any(w), piece;
	struct vmprof_tasks t = {
		.size = sizeof(t), .vm = pid(w), .linear_bytes = VM_RAM_BYTES,
		.nr_vcpus = r % 8, .nr_ram = r % 8 ? 1 + (r >> 8) % 4 : 0,
		.flags_offset = (r >> 16) % 64 * 4, .pid_offset = (r >> 24) % 64 * 4,
		.comm_offset = (r >> 32) % 64 * 4, .kthread_flag = 1U << (r >> 40) % 32,
	};
	unsigned int i;

	t.tgid_offset = (r >> 48) % 4 ? t.pid_offset + 4 : (r >> 50) % 64 * 4;
	for (i = 0; i < 8; i++)
		vcpus[i] = fuzz_any(w) % 16 ? VM_RAM_HVA + fuzz_any(w) % (VM_RAM_BYTES / 8) * 8 : fuzz_address(w);
	piece = VM_RAM_BYTES / (t.nr_ram + 1);
	for (i = 0; i < t.nr_ram; i++) {
		ram[i] = (struct vmprof_tasks_ram){ .gpa = i * piece, .bytes = piece, .hva = VM_RAM_HVA + i * piece };
		if (fuzz_any(w) % 32 == 0)
			fuzz_spoil(w, &ram[i], sizeof(ram[i]));
	}
	t.vcpus = fuzz_any(w) % 32 ? fuzz_put(w, vcpus, sizeof(vcpus), LIST_AT) : fuzz_address(w);
	t.ram = fuzz_any(w) % 32 ? fuzz_put(w, ram, sizeof(ram), 2 * LIST_AT) : fuzz_address(w);
	fuzz_spoil(w, &t, sizeof(t));
	return !ioctl(fd, VMPROF_IOC_TASKS, fuzz_put(w, &t, sizeof(t), 0));
}

static int do_add_vm(struct fuzz_worker *w, int fd)
{
	uint32_t vm = pid(w);

	return !ioctl(fd, VMPROF_IOC_ADD_VM, fuzz_any(w) % 16 ? fuzz_put(w, &vm, sizeof(vm), 0) : fuzz_address(w));
}

static int do_stats(struct fuzz_worker *w, int fd)
{
	uint64_t r = fuzz_any(w), most = atomic_load(&most_records);
	struct vmprof_cpu_stats s = { .cpu = r % 8 ? (r >> 8) % 4 : (uint32_t)(r >> 8) };
	unsigned long at;

	if (r % 16 == 1)
		s.reserved[(r >> 40) % 2] = r >> 41;
	at = fuzz_put(w, &s, sizeof(s), 0);
	if (!((r >> 48) % 16))
		at = fuzz_address(w);
	if (ioctl(fd, VMPROF_IOC_STATS, at))
		return 0;
	if (at != (unsigned long)w->buffer)
		return 1;
	memcpy(&s, w->buffer, sizeof(s));
	if (s.records > most)
		atomic_store(&most_records, s.records);
	return 1;
}

static int do_mmap(struct fuzz_worker *w, int fd)
{
	static const uint64_t parts[] = { VMPROF_MMAP_CONSUMER(0), VMPROF_MMAP_PRODUCER(0), VMPROF_MMAP_DATA(0) };
	struct map *m = &((struct own *)w->own)->map[fuzz_any(w) % MAPS];
	uint64_t r = fuzz_any(w), cpu = r % 16 ? (r >> 4) % 2 : (r >> 4) % (1ULL << 31), part = (r >> 36) % 3;
	uint64_t offset = parts[part] + (cpu << VMPROF_MMAP_CPU_SHIFT);

	if (m->at) {
		munmap(m->at, m->len);
		m->at = NULL;
		return 1;
	}
	m->consumer = part == 0;
	m->prot = PROT_READ | (m->consumer || (r >> 40) % 16 == 0 ? PROT_WRITE : 0) | ((r >> 44) % 32 ? 0 : PROT_EXEC);
	m->len = part == 2 ? atomic_load(&ring_bytes) : 4096;
	if ((r >> 50) % 16 == 0)
		m->len += 4096 * ((r >> 54) % 4);
	if ((r >> 56) % 32 == 0)
		offset = fuzz_any(w) & ~4095ULL;
	m->at = mmap(NULL, m->len, m->prot, (r >> 62) ? MAP_SHARED : MAP_PRIVATE, fd, (off_t)offset);
	if (m->at != MAP_FAILED)
		return 1;
	m->at = NULL;
	return 0;
}

/* A reader that mostly keeps up, else writes what it likes as its position */
static void touch_consumer(struct fuzz_worker *w, struct map *m)
{
	uint64_t r = fuzz_any(w), *tail = (uint64_t *)m->at;

	__atomic_store_n(tail, r % 8 ? atomic_load(&positions) : r >> r % 64, __ATOMIC_RELEASE);
}

/* madvise() takes pages away, and the device gives none back */
static void on_bus(int sig)
{
	(void)sig;
	siglongjmp(gone, 1);
}

static int do_touch(struct fuzz_worker *w)
{
	struct map *m = &((struct own *)w->own)->map[fuzz_any(w) % MAPS];
	uint64_t r = fuzz_any(w);
	int prot;

	if (!m->at || sigsetjmp(gone, 1))
		return 0;
	if (r % 8 == 0) {
		prot = PROT_READ | ((r >> 8) % 2 ? PROT_WRITE : 0) | ((r >> 9) % 4 ? 0 : PROT_EXEC);
		if (mprotect(m->at, m->len, prot))
			return 0;
		m->prot = prot;
		return 1;
	}
	if (r % 8 == 1)
		return !madvise(m->at, m->len, (int)((r >> 8) % 26));
	if (m->consumer && (m->prot & PROT_WRITE))
		touch_consumer(w, m);
	else if (m->len == 4096)	/* the producer's page */
		atomic_store(&positions, ((const volatile struct vmprof_producer *)m->at)->head);
	else
		(void)*(const volatile char *)(m->at + (r >> 8) % m->len);
	return 1;
}

static unsigned int call(struct fuzz_worker *w, int fd, int *ok)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	unsigned int kind = draw(w);
	uint64_t r;

	switch (kind) {
	case QUERY:
		*ok = !ioctl(fd, VMPROF_IOC_QUERY, fuzz_address(w));
		break;
	case CONFIG:
		*ok = do_config(w, fd);
		break;
	case START:
	case STOP:
		*ok = !ioctl(fd, requests[kind], fuzz_any(w));
		break;
	case STATS:
		*ok = do_stats(w, fd);
		break;
	case TASKS:
		*ok = do_tasks(w, fd);
		break;
	case ADD_VM:
		*ok = do_add_vm(w, fd);
		break;
	case MMAP:
		*ok = do_mmap(w, fd);
		break;
	case TOUCH:
		*ok = do_touch(w);
		break;
	case POLL:
		*ok = poll(&p, 1, fuzz_any(w) % 64 == 0) >= 0;
		break;
	default:
		r = fuzz_any(w);
		r = r % 4 ? fuzz_relative(w, requests[(r >> 8) % (sizeof(requests) / sizeof(requests[0]))]) : (uint32_t)(r >> 8);
		/* START and STOP take their time, and are drawn by themselves */
		*ok = r != VMPROF_IOC_START && r != VMPROF_IOC_STOP && ioctl(fd, r, fuzz_address(w)) >= 0;
	}
	return kind;
}

static void begin(void)
{
	signal(SIGBUS, on_bus);
}

static void end(void)
{
	printf(" records=%lu", (unsigned long)atomic_load(&most_records));
}

const struct fuzz_device fuzz_host = {
	.path = VMPROF_DEVICE,
	.reopen = 800,
	.names = { "query", "config", "start", "stop", "stats", "tasks", "add_vm", "mmap", "touch", "poll", "other" },
	.own_bytes = sizeof(struct own),
	.begin = begin,
	.call = call,
	.end = end,
};
