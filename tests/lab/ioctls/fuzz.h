/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fuzz.h - what the fuzzers of the two devices share; main.c has the threads.
 *
 * Each thread draws its calls from a generator of its own, so that the same seed gives the same
 * calls; how those of several threads fall together is the kernel's.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define FUZZ_NAMES_MAX	16

struct fuzz_worker {
	uint64_t state;
	char *buffer;			/* FUZZ_BUFFER bytes ... */
	char *edge;			/* ... which end here: behind them nothing is mapped */
	void *own;			/* of the device's call() */
	unsigned long made;		/* calls that came back */
	unsigned long good[FUZZ_NAMES_MAX];	/* of them, those that succeeded, by kind */
};

#define FUZZ_BUFFER	(1UL << 17)

struct fuzz_device {
	const char *path;
	unsigned int reopen;		/* one in so many calls closes and opens */
	const char *names[FUZZ_NAMES_MAX];	/* kinds of calls, up to NULL */
	size_t own_bytes;
	void (*begin)(void);		/* may be NULL, as end */
	/* One call.  Return: its kind; *ok whether it succeeded. */
	unsigned int (*call)(struct fuzz_worker *w, int fd, int *ok);
	void (*end)(void);		/* print what else is to be known */
};

extern const struct fuzz_device fuzz_guest, fuzz_host;

/* The host's VMs, by their processes; never empty */
extern uint32_t fuzz_pids[16];
extern unsigned int fuzz_nr_pids;

uint64_t fuzz_any(struct fuzz_worker *w);

/* An address: ours, nobody's, the kernel's, the edge of a mapping */
unsigned long fuzz_address(struct fuzz_worker *w);

/* Put a struct where a call may read it: in the buffer at @at, now and then over its edge */
unsigned long fuzz_put(struct fuzz_worker *w, const void *what, size_t size, size_t at);

/* One in four loses a word or more, at any place, to others */
void fuzz_spoil(struct fuzz_worker *w, void *what, size_t size);

/* One of an ioctl's near relatives: another size, direction or number */
unsigned long fuzz_relative(struct fuzz_worker *w, unsigned long request);

#endif
