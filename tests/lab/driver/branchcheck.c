// SPDX-License-Identifier: GPL-2.0-only
/*
 * branchcheck.c - are the branches in ringdump's output those that knownbranches takes?
 *
 *   branchcheck KNOWN BRANCHES TEXT_END <DUMP
 *
 * KNOWN has the guest's "branch KIND FROM TO" lines, BRANCHES the VMPROF_LBR_* that were asked
 * for, TEXT_END the end of the guest kernel's text, which begins where an unrandomised kernel's
 * does. One line of sums comes out:
 *
 *   guest, host         samples of the side, without the idle task's
 *   guest_with, ...     of them: with a record of branches behind them, of the sample's time
 *   guest_entries, ...  branches in them
 *   guest_foreign       addresses that are neither the program's nor in the guest kernel's text
 *   guest_unknown       branches in the program that are none of KNOWN, or of a kind not asked for
 *   guest_kernel        branches that end in the kernel
 *   pairs, chained      neighbours; the younger starts a little behind where the older one ends
 *   first, near         samples with entries; the address is a little behind the youngest's end
 *   samples0, entries0  guest samples of vCPU 0, branches in their records
 *   switched0, 1        records of the vCPU that say that its address space changed
 *   vmm_foreign         addresses of the guest's program or kernel in records of its QEMU; other
 *                       tasks may well run programs at the same addresses
 *   cut                 entries left out, of both sides
 *   odd                 records that are not as they should be: size, branches, order, no sample
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vmprof/uapi.h>

#define KERNEL_TEXT	0xffffffff81000000ULL
#define NEAR		4096	/* bytes of code without a taken branch, at most */
#define ENTRIES		VMPROF_LBR_MAX

struct branch {
	uint64_t from, to;
};

static const char *const kinds[] = {
	"kernel", "user", "cond", "call_rel", "call_ind", "ret", "jump_ind", "jump_rel", "far",
};

static struct {
	struct branch b;
	unsigned int kind;
} known[64];
static unsigned int nr_known;
static unsigned long branches;
static uint64_t text_end, program_start = -1, program_end;

static struct {
	unsigned long samples, with, entries;
} sides[2];				/* guest, host */
static unsigned long guest_foreign, vmm_foreign, unknown, kernel, pairs, chained, first, near, cut, odd, switched[2], samples0, entries0;

static int is_kernel(uint64_t a)
{
	return a >> 63;
}

static int in_program(uint64_t a)
{
	return a >= program_start && a < program_end;
}

static int in_text(uint64_t a)
{
	return a >= KERNEL_TEXT && a < text_end;
}

/* The guest's program is small: what it shows of itself is its first and its last branch */
static void read_known(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[256], kind[16];
	struct branch b;
	unsigned int i;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "branch %15s %lx %lx", kind, &b.from, &b.to) != 3 || nr_known == 64)
			continue;
		known[nr_known].b = b;
		for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (!strcmp(kind, kinds[i]))
				known[nr_known].kind = 1U << i;
		nr_known++;
		for (i = 0; i < 2; i++) {
			uint64_t a = i ? b.from : b.to;

			if (a && a < program_start)
				program_start = a & ~0xfffULL;
			if (a && a + 1 > program_end)
				program_end = (a | 0xfff) + 1;
		}
	}
	if (f)
		fclose(f);
	if (!nr_known) {
		fprintf(stderr, "branchcheck: %s has no branches\n", path);
		exit(2);
	}
}

/* A missing half of an entry matches any */
static int is_known(const struct branch *b, int has_from, int has_to)
{
	unsigned int i;

	for (i = 0; i < nr_known; i++) {
		const struct branch *k = &known[i].b;

		if (!(known[i].kind & branches))
			continue;
		if ((!has_from || b->from == k->from || (!k->from && is_kernel(b->from))) &&
		    (!has_to || b->to == k->to || (!k->to && is_kernel(b->to))))
			return 1;
	}
	return 0;
}

static void see_guest(const struct branch *b, int has_from, int has_to)
{
	uint64_t a[2] = { b->from, b->to };
	int i, has[2] = { has_from, has_to };

	for (i = 0; i < 2; i++)
		if (has[i] && !in_program(a[i]) && !in_text(a[i]))
			guest_foreign++;
	if (has_to && is_kernel(b->to))
		kernel++;
	/* the kernel's own branches, and interrupts of the program, are not known */
	if ((has_from && is_kernel(b->from)) || (has_to && is_kernel(b->to)))
		return;
	unknown += !is_known(b, has_from, has_to);
}

static void see_chain(const struct branch *b, unsigned int nr, uint64_t gip)
{
	unsigned int i;

	for (i = 0; i + 1 < nr; i++) {
		pairs++;
		chained += b[i].from - b[i + 1].to < NEAR;
	}
	if (nr) {
		first++;
		near += gip - b[0].to < NEAR;
	}
}

static void see_record(char *line, int mode, unsigned int vcpu, uint64_t tsc, uint64_t gip)
{
	struct branch b[ENTRIES] = { 0 };
	unsigned int recorded, format, nr, left_out, flags, i, words, has_from, has_to;
	int host = mode != VMPROF_MODE_GUEST;
	char *at = strstr(line, " mispredicted=");
	uint64_t when;

	if (!at || sscanf(line, "B cpu=%*u tsc=%lu branches=%x format=%u nr=%u cut=%u flags=%x", &when,
			  &recorded, &format, &nr, &left_out, &flags) != 6 || nr > ENTRIES ||
	    when != tsc || recorded != branches) {
		odd++;
		return;
	}
	has_from = format != VMPROF_LBR_TO;
	has_to = format != VMPROF_LBR_FROM;
	at = strchr(at + 1, ' ');
	for (words = 0; at && *at == ' '; words++) {
		uint64_t value = strtoull(at, &at, 16);

		i = words / (has_from + has_to);
		if (i < ENTRIES)
			*(has_to && (!has_from || words % 2) ? &b[i].to : &b[i].from) = value;
	}
	odd += words != nr * (has_from + has_to);
	cut += left_out;
	switched[vcpu & 1] += !!(flags & VMPROF_LBR_SWITCHED);
	if (!host && !vcpu) {
		samples0++;
		entries0 += nr;
	}
	sides[host].with++;
	sides[host].entries += nr;
	for (i = 0; i < nr; i++) {
		if (!host)
			see_guest(&b[i], has_from, has_to);
		else if (mode == VMPROF_MODE_VMM_KERNEL || mode == VMPROF_MODE_VMM_USER)
			vmm_foreign += in_program(b[i].from) || in_program(b[i].to) ||
				       in_text(b[i].from) || in_text(b[i].to);
	}
	if (!host && has_from && has_to)
		see_chain(b, nr, gip);
}

int main(int argc, char **argv)
{
	static char line[8192];
	uint64_t tsc = 0, gip = 0;
	unsigned int vcpu = 0;
	int mode = -1;

	if (argc != 4)
		return 2;
	read_known(argv[1]);
	branches = strtoul(argv[2], NULL, 16);
	text_end = strtoull(argv[3], NULL, 16);
	while (fgets(line, sizeof(line), stdin)) {
		char *at = strstr(line, " gip=");

		if (*line == 'S' && at &&
		    sscanf(line, "S cpu=%*u tsc=%lu mode=%d vm=%*u vcpu=%u", &tsc, &mode, &vcpu) == 3) {
			gip = strtoull(at + 5, NULL, 16);
			if (mode != VMPROF_MODE_IDLE)
				sides[mode != VMPROF_MODE_GUEST].samples++;
		} else if (*line == 'B' && mode >= 0) {
			see_record(line, mode, vcpu, tsc, gip);
			mode = -1;
		} else if (*line == 'B') {
			odd++;
		} else {
			mode = -1;
		}
	}
	printf("guest=%lu guest_with=%lu guest_entries=%lu guest_foreign=%lu guest_unknown=%lu guest_kernel=%lu pairs=%lu chained=%lu first=%lu near=%lu samples0=%lu entries0=%lu switched0=%lu switched1=%lu host=%lu host_with=%lu host_entries=%lu vmm_foreign=%lu cut=%lu odd=%lu\n",
	       sides[0].samples, sides[0].with, sides[0].entries, guest_foreign, unknown, kernel,
	       pairs, chained, first, near, samples0, entries0, switched[0], switched[1], sides[1].samples, sides[1].with, sides[1].entries,
	       vmm_foreign, cut, odd);
	return 0;
}
