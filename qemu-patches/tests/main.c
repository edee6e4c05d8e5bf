// SPDX-License-Identifier: GPL-2.0-only
/*
 * main.c - registers and plain counts; runs all tests of the test guest.
 */
#include "guest.h"

void loop2(u32 n);

__attribute__((noinline))
static u64 count(u64 ctl, void (*f)(u32), u32 arg)
{
	wrmsr(CTL(0), ctl | EN);
	wrmsr(CTR(0), 0);
	wrmsr(GLOBAL_CTL, 1);
	f(arg);
	wrmsr(GLOBAL_CTL, 0);
	return rdmsr(CTR(0));
}

void test_registers(void)
{
	u32 before;

	wrmsr(CTL(0), EV_INSNS | OS);
	check("legacy control is the same register",
	      rdmsr(LEGACY_CTL0), EV_INSNS | OS);
	wrmsr(LEGACY_CTR0 + 3, 12345);
	check("legacy count is the same register", rdmsr(CTR(3)), 12345);
	wrmsr(CTR(5), ~0ULL);
	check("a counter has 48 bits", rdmsr(CTR(5)), CTR_MASK);
	check("reserved bit 19 of a control faults",
	      faults_wrmsr(CTL(1), 1 << 19), 1);
	check("reserved bit 36 of a control faults",
	      faults_wrmsr(CTL(1), 1ULL << 36), 1);
	check("reserved bit of the global control faults",
	      faults_wrmsr(GLOBAL_CTL, 1 << 6), 1);
	check("the global status is read-only",
	      faults_wrmsr(GLOBAL_STATUS, 0), 1);
	check("a good control does not fault", faults_wrmsr(CTL(1), 0), 0);
	check("RDPMC reads a counter", rdpmc(3), 12345);
	check("RDPMC of a counter that is not there faults",
	      faults_rdpmc(6), 1);
	check("it is #GP", fault_vector, 13);

	wrmsr(CTL(0), EV_INSNS | OS | EN);
	wrmsr(CTR(0), 0);
	check("nothing counts with the global bit clear", rdmsr(CTR(0)), 0);
	before = nmi_count;
	wrmsr(CTR(0), CTR_MASK - 5);
	wrmsr(GLOBAL_CTL, 1);
	loop2(100);
	wrmsr(GLOBAL_CTL, 0);
	check("an overflow sets its status bit", rdmsr(GLOBAL_STATUS), 1);
	check("without INT it is not an interrupt", nmi_count, before);
	wrmsr(GLOBAL_CLR, 1);
	check("the clear register clears it", rdmsr(GLOBAL_STATUS), 0);
}

static u64 slope(u64 ctl, u32 n)
{
	return count(ctl, loop2, 1000 + n) - count(ctl, loop2, 1000);
}

void test_counts(void)
{
	u64 a, b;

	check("instructions of 1e3 iterations",
	      slope(EV_INSNS | OS, 1000), 2000);
	check("instructions of 1e5 iterations",
	      slope(EV_INSNS | OS, 100000), 200000);
	check("instructions of 1e7 iterations",
	      slope(EV_INSNS | OS, 10000000), 20000000);
	check("branches", slope(EV_BRANCHES | OS, 100000), 100000);
	check("cost: 1, 1 and 1 for the taken branch",
	      slope(EV_CYCLES | OS, 100000), 300000);
	check("an unknown event counts nothing",
	      count(0x0964 | OS, loop2, 1000), 0);
	check("an event above 8 bits is another event",
	      count(0x1000000c0ULL | OS, loop2, 1000), 0);
	check("a unit mask is another event",
	      count(EV_INSNS | 0x100 | OS, loop2, 1000), 0);
	check("kernel code is not user code",
	      count(EV_INSNS | USR, loop2, 1000), 0);
	check("neither OS nor USR counts nothing",
	      count(EV_INSNS, loop2, 1000), 0);

	/* Two counters at a time, and read while they run. */
	wrmsr(CTL(4), EV_INSNS | OS | EN);
	wrmsr(CTL(5), EV_BRANCHES | OS | EN);
	wrmsr(CTR(4), 0);
	wrmsr(CTR(5), 0);
	wrmsr(GLOBAL_CTL, 0x30);
	a = rdpmc(4);
	b = rdpmc(4);
	loop2(5000);
	wrmsr(GLOBAL_CTL, 0);
	check("RDPMC while counting goes on", b > a && b - a < 20, 1);
	check("two counters at a time", rdmsr(CTR(5)) >= 5000 &&
	      rdmsr(CTR(4)) - 2 * rdmsr(CTR(5)) < 40, 1);
	wrmsr(CTL(4), 0);
	wrmsr(CTL(5), 0);
}

/* Does the command line end in this word? */
static int asked(const char *line, const char *word)
{
	const char *end = line, *w = word;

	while (*end)
		end++;
	while (*w)
		w++;
	while (w > word && end > line && w[-1] == end[-1]) {
		w--;
		end--;
	}
	return w == word;
}

int main(const char *line)
{
	int bad;

	put("TAP version 13\n");
	trap_init();
	if (asked(line, " bench")) {
		bench();
	} else if (asked(line, " long")) {
		test_long();
	} else if (asked(line, " counted")) {
		test_counted();
	} else if (asked(line, " patched")) {
		test_patched();
	} else {
		test_registers();
		test_counts();
		test_costs();
		test_sampling();
		test_faults();
		test_lbr();
		test_svm();	/* last: its VMLOAD costs us the TSS */
	}
	bad = finish();
	outb(0xf4, 0x10 + bad);
	return 0;
}
