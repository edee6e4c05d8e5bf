/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * exact.h - the file that the emulator's vmprof-exact-stop writes; its lines
 * are described in qemu-patches/README.md.
 */
#ifndef TRUTH_EXACT_H
#define TRUTH_EXACT_H

#include <stdint.h>

#include "model/vec.h"

/* Whose code */
#define EXACT_USER	(1U << 0)
#define EXACT_GUEST	(1U << 1)
#define EXACT_COUNTING	(1U << 2)	/* a counter ran; spaces only */
#define EXACT_NMI	(1U << 3)	/* the host's kernel, from an NMI to its IRET; spaces only */

#define EXACT_NO_EXIT	UINT64_MAX

struct exact_space {
	uint32_t cpu, flags;
	uint64_t cr3, ncr3, exit;	/* exit: the host's code since which #VMEXIT */
	uint64_t first_tsc, last_tsc;
};

/* What was retired in a block of code, and (_at) what led to an address in it:
   where a counter that overflows finds the processor.  Of one block there may be several, to be added up: there are tens of
   millions, and hardly a count is larger than 32 bits. */
struct exact_block {
	uint64_t pc;
	uint32_t space, size;
	uint32_t insns, cycles, insns_at, cycles_at;
	uint32_t entries[2], led[2];	/* [1] by a taken branch, [0] in line: how often, and the cycles in cycles_at for it; what repeats itself is neither */
};

struct exact_overflow {
	uint64_t tsc, cr3, ncr3, exit, pc, fs;	/* of what runs next ... */
	uint64_t nmi_pc;	/* where the host was when its interrupt came; 0 not in this time */
	uint32_t cpu, flags;
	uint32_t of;		/* ... EXACT_GUEST: a guest's instruction overflowed */
	uint32_t held;		/* its interrupt could not come there */
	uint32_t taken;		/* by a sample */
};

/* The TSC of the guest with that root was the host's plus that, when it was entered first and last with it on a CPU */
struct exact_clock {
	uint64_t ncr3, offset;
	uint64_t first_tsc, last_tsc;
};

struct exact_exit {
	uint64_t code, count;
};

struct exact_cpu {
	uint32_t cpu;
	uint32_t overflow, overflows;	/* first, end: in order of time */
	uint64_t first_tsc, last_tsc;	/* the window */
};

struct exact {
	VMP_VEC(struct exact_cpu) cpus;
	VMP_VEC(struct exact_space) spaces;
	VMP_VEC(struct exact_block) blocks;
	VMP_VEC(struct exact_overflow) overflows;
	VMP_VEC(struct exact_exit) exits;	/* of all CPUs */
	VMP_VEC(struct exact_clock) clocks;
	uint64_t injected, behind;	/* interrupts into guests; right behind an NMI that ended a run */
};

/** exact_read() - Return: 0, -ENOMEM, -errno of reading, -EBADMSG (not such a file, or cut), -EPROTO (another version). */
int exact_read(struct exact *x, const char *path);

/** exact_why() - What that says, for people. */
const char *exact_why(int err);
void exact_free(struct exact *x);

/**
 * exact_overflow_of() - The overflow that a sample is of, or NULL.
 * @flags: EXACT_GUEST: a guest's is preferred, where two counters overflowed
 *         before one interrupt.
 * @ip: Where the sample is.
 * @within: Host ticks that an interrupt may take; more, while the machine that emulates stood still,
 *          of an overflow right there.
 *
 * It is the last on the CPU at or before the host TSC, or one of the three before
 * that: two events overflow on two sides. None is given out twice.
 */
struct exact_overflow *exact_overflow_of(struct exact *x, uint32_t cpu, uint64_t tsc,
					 uint32_t flags, uint64_t ip, uint64_t within);

/** exact_cpu_of() - A CPU's window, or NULL. */
const struct exact_cpu *exact_cpu_of(const struct exact *x, uint32_t cpu);

#endif
