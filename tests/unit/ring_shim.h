/* SPDX-License-Identifier: GPL-2.0-only */
/* ring_shim.h - what host-driver's ring.c, branches.c and task.c take from the kernel, for user-space builds. */
#ifndef VMP_TEST_RING_SHIM_H
#define VMP_TEST_RING_SHIM_H

#include <linux/types.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

struct rcu_head {
	void *next;
};

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define min(a, b)		((a) < (b) ? (a) : (b))

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define smp_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define noinline		__attribute__((noinline))
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define barrier()		__asm__ volatile("" : : : "memory")

#endif
