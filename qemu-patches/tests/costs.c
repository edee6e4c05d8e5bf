// SPDX-License-Identifier: GPL-2.0-only
/*
 * costs.c - the cost model, class by class; the numbers are README.md's.
 */
#include "guest.h"

#define REPEAT 64
static u32 memory[64] __attribute__((aligned(64)));

struct class {
	const char *name;
	void (*base)(void), (*full)(void);
	u32 cost;
};

/* A function that sets up, and one that then repeats an instruction. */
#define CLASS(id, setup, insn)						\
	static void id##_base(void)					\
	{								\
		asm volatile(setup : : "b"(memory)			\
			     : "eax", "ecx", "edx", "memory");		\
	}								\
	static void id##_full(void)					\
	{								\
		asm volatile(setup "\n.rept 64\n" insn "\n.endr"	\
			     : : "b"(memory)				\
			     : "eax", "ecx", "edx", "memory");		\
	}

CLASS(alu, "nop", "addl $1, %%eax")
CLASS(lea, "nop", "leal 4(%%ebx), %%eax")
CLASS(nop_ea, "nop", "nopl 4(%%ebx)")
CLASS(load, "nop", "movl (%%ebx), %%eax")
CLASS(store, "nop", "movl %%eax, 4(%%ebx)")
CLASS(rmw, "nop", "addl $1, 8(%%ebx)")
CLASS(push, "nop", "pushl %%eax\npopl %%eax")
CLASS(mul, "movl $3, %%eax", "imull %%eax, %%eax")
CLASS(div, "movl $1, %%ecx", "xorl %%edx, %%edx\ndivl %%ecx")
CLASS(lock, "nop", "lock addl $1, (%%ebx)")
CLASS(xchg, "nop", "xchgl %%eax, (%%ebx)")
CLASS(sse, "nop", "paddd %%xmm0, %%xmm1")
CLASS(sse_load, "nop", "movdqa (%%ebx), %%xmm0")
CLASS(sse_mul, "nop", "mulps %%xmm0, %%xmm1")
CLASS(sse_div, "nop", "divps %%xmm0, %%xmm1")
CLASS(x87, "fninit\nfld1", "fadd %%st(0), %%st")
CLASS(x87_div, "fninit\nfld1", "fdiv %%st(0), %%st")
CLASS(x87_sin, "fninit\nfldz", "fsin")
CLASS(jump, "nop", "jmp 1f\n1:")
CLASS(not_taken, "orl $1, %%eax", "jz 1f\n1:")
CLASS(taken, "orl $1, %%eax", "jnz 1f\n1:")
CLASS(call, "nop", "call 1f\n1: popl %%eax")
CLASS(fence, "nop", "mfence")
CLASS(rdtsc, "nop", "rdtsc")
CLASS(read_cr, "nop", "movl %%cr0, %%eax")
CLASS(cpuid, "pushl %%ebx\nmovl $0, %%eax\npopl %%ebx",
      "pushl %%ebx\nmovl $0, %%eax\ncpuid\npopl %%ebx")
CLASS(far, "nop", "ljmp $8, $1f\n1:")
CLASS(stos, "cld\nmovl %%ebx, %%edx",
      "xchgl %%edx, %%edi\nstosb\nxchgl %%edi, %%edx\nmovl %%ebx, %%edx")
CLASS(rep, "cld\nmovl %%edi, %%edx",
      "movl %%ebx, %%edi\nmovl $10, %%ecx\nrep stosb\nmovl %%edx, %%edi")

static const struct class classes[] = {
#define ENTRY(id, name, cost) { name, id##_base, id##_full, cost }
	ENTRY(alu, "plain", 1),
	ENTRY(lea, "LEA reads no memory", 1),
	ENTRY(nop_ea, "NOP reads no memory", 1),
	ENTRY(load, "load", 4),
	ENTRY(store, "store", 4),
	ENTRY(rmw, "read-modify-write", 4),
	ENTRY(push, "push, pop", 2 + 2),
	ENTRY(mul, "multiply", 3),
	ENTRY(div, "xor, divide", 1 + 20),
	ENTRY(lock, "atomic", 4 + 16),
	ENTRY(xchg, "XCHG with memory", 4 + 16),
	ENTRY(sse, "vector", 2),
	ENTRY(sse_load, "vector load", 2 + 3),
	ENTRY(sse_mul, "vector multiply", 3 + 1),
	ENTRY(sse_div, "vector divide", 15 + 1),
	ENTRY(x87, "x87", 4),
	ENTRY(x87_div, "x87 divide", 15),
	ENTRY(x87_sin, "x87 sine", 40),
	ENTRY(jump, "jump", 2),
	ENTRY(not_taken, "branch not taken", 1),
	ENTRY(taken, "branch taken", 2),
	ENTRY(call, "call, pop", 4 + 2),
	ENTRY(fence, "fence", 8),
	ENTRY(rdtsc, "RDTSC", 20),
	ENTRY(read_cr, "control register", 100),
	ENTRY(cpuid, "push, move, CPUID, pop", 2 + 1 + 100 + 2),
	ENTRY(far, "far jump", 40),
	ENTRY(stos, "xchg, STOSB, xchg, move", 1 + 4 + 1 + 1),
	ENTRY(rep, "move, move, REP STOSB of 10, move", 3 + 4 + 10 * 2),
};

__attribute__((noinline))
static u64 cost_of(void (*f)(void))
{
	wrmsr(CTL(0), EV_CYCLES | OS | EN);
	wrmsr(CTR(0), 0);
	wrmsr(GLOBAL_CTL, 1);
	f();
	wrmsr(GLOBAL_CTL, 0);
	return rdmsr(CTR(0));
}

void test_costs(void)
{
	for (u32 i = 0; i < ARRAY_SIZE(classes); i++)
		check(classes[i].name,
		      cost_of(classes[i].full) - cost_of(classes[i].base),
		      REPEAT * classes[i].cost);
}
