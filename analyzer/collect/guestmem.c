// SPDX-License-Identifier: GPL-2.0-only
/* guestmem.c - see guestmem.h. */
#include "collect/guestmem.h"

#include <endian.h>
#include <errno.h>
#include <sys/uio.h>

#define PRESENT		(1ULL << 0)
#define LARGE		(1ULL << 7)	/* of the second and third level: it maps a page */
#define NO_EXECUTE	(1ULL << 63)
#define ADDRESS		0x000ffffffffff000ULL
#define LARGE_LEVEL	2		/* 1 GiB; 0 is 4 KiB */

int vmp_guestmem_read(const struct vmp_guestmem *m, uint64_t gpa, void *buf, size_t bytes)
{
	struct iovec to = { buf, bytes }, from = { NULL, bytes };
	ssize_t n;
	int i;

	for (i = 0; i < m->nr_ram; i++) {
		const struct vmp_qmp_ram *r = &m->ram[i];

		if (gpa < r->gpa || gpa - r->gpa >= r->bytes || r->bytes - (gpa - r->gpa) < bytes)
			continue;
		from.iov_base = (void *)(uintptr_t)(r->hva + (gpa - r->gpa));
		n = process_vm_readv((pid_t)m->pid, &to, 1, &from, 1, 0);
		return n < 0 ? -errno : (size_t)n == bytes ? 0 : -EFAULT;
	}
	return -EFAULT;
}

int vmp_guestmem_walk(const struct vmp_guestmem *m, uint64_t gva, uint64_t *gpa, uint64_t *bytes)
{
	uint64_t entry = m->cr3, inside;
	int level, shift, err;

	for (level = m->la57 ? 4 : 3; level >= 0; level--) {
		shift = 12 + 9 * level;
		err = vmp_guestmem_read(m, (entry & ADDRESS) + ((gva >> shift) & 511) * sizeof(entry), &entry,
					sizeof(entry));
		if (err)
			return err;
		entry = le64toh(entry);
		if (!(entry & PRESENT))
			return -ENOENT;
		if (entry & NO_EXECUTE)
			return -EACCES;
		if (level && !(entry & LARGE))
			continue;
		if (level > LARGE_LEVEL)
			return -ENOENT;		/* there are no such pages */
		inside = (1ULL << shift) - 1;
		*gpa = (entry & ADDRESS & ~inside) | (gva & inside);
		*bytes = inside + 1 - (gva & inside);
		return 0;
	}
	return -ENOENT;
}

size_t vmp_guestmem_code(void *arg, uint64_t gva, void *buf, size_t bytes)
{
	uint64_t gpa, run;

	if (vmp_guestmem_walk(arg, gva, &gpa, &run))
		return 0;
	if (bytes > run)
		bytes = run;
	return vmp_guestmem_read(arg, gpa, buf, bytes) ? 0 : bytes;
}
