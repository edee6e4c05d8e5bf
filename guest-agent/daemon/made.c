// SPDX-License-Identifier: GPL-2.0-only
/* made.c - code that the kernel makes: dummy events of perf that tell of it, and their rings. */
#include "made.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING_PAGES	2UL	/* the kernel's, and one of records */
#define CPUS_MAX	4096

static int open_event(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY, .ksymbol = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static size_t ring_bytes(void)
{
	return RING_PAGES * (size_t)sysconf(_SC_PAGESIZE);
}

static int open_ring(struct vmp_made_ring *r, int cpu)
{
	int err;

	r->fd = open_event(cpu);
	if (r->fd < 0)
		return r->fd;
	r->page = mmap(NULL, ring_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (r->page != MAP_FAILED)
		return 0;
	err = -errno;
	close(r->fd);
	return err;
}

void vmp_made_init(struct vmp_made *m)
{
	memset(m, 0, sizeof(*m));
}

int vmp_made_open(struct vmp_made *m)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF), cpu;
	int err = 0;

	vmp_made_init(m);
	if (cpus < 1 || cpus > CPUS_MAX)
		return -E2BIG;
	m->ring = calloc((size_t)cpus, sizeof(*m->ring));
	if (!m->ring)
		return -ENOMEM;
	for (cpu = 0; !err && cpu < cpus; cpu++) {
		err = open_ring(&m->ring[m->nr], (int)cpu);
		m->nr += !err;
		if (err == -ENODEV)	/* it is not online */
			err = 0;
	}
	if (err)
		vmp_made_close(m);
	return err;
}

void vmp_made_close(struct vmp_made *m)
{
	while (m->nr) {
		struct vmp_made_ring *r = &m->ring[--m->nr];

		munmap(r->page, ring_bytes());
		close(r->fd);
	}
	free(m->ring);
	m->ring = NULL;
}

int vmp_made_changed(struct vmp_made *m)
{
	uint64_t head;
	uint32_t i;
	int changed = 0;

	for (i = 0; i < m->nr; i++) {
		struct perf_event_mmap_page *page = m->ring[i].page;

		/* room for the next one is all that is wanted: what found none was of use as well */
		head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
		changed |= head != page->data_tail;
		__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	}
	return changed;
}

int vmp_made_is_deaf(const struct vmp_made *m)
{
	return m->nr && sysconf(_SC_NPROCESSORS_ONLN) > (long)m->nr;
}
