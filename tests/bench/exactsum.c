// SPDX-License-Identifier: GPL-2.0-only
/*
 * exactsum.c - sums of the emulator's exact counts (qemu-patches/README.md).
 *
 * Usage: exactsum EXACT                   one line: guest instructions, guest cycles, host kernel's
 *                                         instructions, host user's, counter interrupts; host
 *                                         kernel's from an NMI's #VMEXIT to the next VMRUN, and
 *                                         how many of these there were
 *        exactsum EXACT nmi               one line: the host kernel's instructions from an NMI to its IRET, counter interrupts
 *        exactsum EXACT overflows         one line: counter interrupts, CPUs that had some, ticks of the TSC between
 *                                         two of a CPU that lie furthest apart, and from its first one to these
 *        exactsum EXACT cycles            one line: the guest's cycles while no counter of the CPU was on, all of the
 *                                         guest's, the host kernel's from an NMI's #VMEXIT to the next VMRUN
 *        exactsum EXACT rest              one line: the guest's instructions but for the two user address spaces that ran most, the
 *                                         host's but for the kernel's from an NMI's #VMEXIT to the next VMRUN
 *        exactsum EXACT module KALLSYMS   one line: instructions of the host module but for those from an NMI's #VMEXIT to the next
 *                                         VMRUN, all of the host's kernel but for these, #VMEXITs
 *        exactsum EXACT BASE KALLSYMS N   the N functions of the host that did most more in EXACT
 *                                         than in BASE: instructions more, function
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/truth/exact.h"

#define EXIT_NMI	0x61	/* AMD's manual 2, appendix C */

struct symbol {
	uint64_t addr;
	int64_t more;
	char name[64], module[16];
};

static struct symbol *symbols;
static size_t nr_symbols;

static int by_addr(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int by_more(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->more > y->more ? -1 : x->more < y->more;
}

static void read_symbols(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[512], type;
	struct symbol s = { 0 };

	while (f && fgets(line, sizeof(line), f)) {
		*s.module = 0;
		if (sscanf(line, "%" SCNx64 " %c %63s %15s", &s.addr, &type, s.name, s.module) < 3 || !strchr("tTwW", type))
			continue;
		if (!(nr_symbols & (nr_symbols - 1)))
			symbols = realloc(symbols, (nr_symbols ? 2 * nr_symbols : 1) * sizeof(s));
		if (!symbols)
			exit(1);
		symbols[nr_symbols++] = s;
	}
	if (!nr_symbols) {
		fprintf(stderr, "exactsum: no symbols in %s\n", path);
		exit(1);
	}
	fclose(f);
	qsort(symbols, nr_symbols, sizeof(*symbols), by_addr);
}

static struct symbol *symbol_of(uint64_t addr)
{
	size_t low = 0, high = nr_symbols;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (symbols[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &symbols[low - 1] : NULL;
}

static void open_exact(struct exact *x, const char *path)
{
	int err = exact_read(x, path);

	if (!err)
		return;
	fprintf(stderr, "exactsum: cannot read %s: %s\n", path, exact_why(err));
	exit(1);
}

static uint32_t side(const struct exact *x, const struct exact_block *b)
{
	return x->spaces.v[b->space].flags & (EXACT_GUEST | EXACT_USER);
}

/* The host's kernel, from an NMI's #VMEXIT to the next VMRUN */
static int is_after_nmi(const struct exact *x, const struct exact_block *b)
{
	return !side(x, b) && x->spaces.v[b->space].exit == EXIT_NMI;
}

/* Instructions of the host in a file, @sign times, on its functions */
static void add_functions(const char *path, int sign)
{
	struct symbol *s;
	struct exact x;
	uint32_t i;

	open_exact(&x, path);
	for (i = 0; i < x.blocks.nr; i++) {
		if (side(&x, &x.blocks.v[i]) & EXACT_GUEST)
			continue;
		s = symbol_of(x.blocks.v[i].pc);
		if (s)
			s->more += sign * (int64_t)x.blocks.v[i].insns;
	}
	exact_free(&x);
}

static void print_sums(const char *path)
{
	uint64_t insns[4] = { 0 }, cycles[4] = { 0 }, after_nmi = 0, nmis = 0;
	struct exact x;
	uint32_t i;

	open_exact(&x, path);
	for (i = 0; i < x.blocks.nr; i++) {
		const struct exact_block *b = &x.blocks.v[i];

		insns[side(&x, b)] += b->insns;
		cycles[side(&x, b)] += b->cycles;
		after_nmi += is_after_nmi(&x, b) ? b->insns : 0;
	}
	for (i = 0; i < x.exits.nr; i++)
		nmis += x.exits.v[i].code == EXIT_NMI ? x.exits.v[i].count : 0;
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu64 " %" PRIu64 "\n",
	       insns[EXACT_GUEST] + insns[EXACT_GUEST | EXACT_USER],
	       cycles[EXACT_GUEST] + cycles[EXACT_GUEST | EXACT_USER], insns[0], insns[EXACT_USER],
	       x.overflows.nr, after_nmi, nmis);
	exact_free(&x);
}

static void print_nmi(const char *path)
{
	uint64_t insns = 0;
	struct exact x;
	uint32_t i;

	open_exact(&x, path);
	for (i = 0; i < x.blocks.nr; i++)
		insns += x.spaces.v[x.blocks.v[i].space].flags & EXACT_NMI ? x.blocks.v[i].insns : 0;
	printf("%" PRIu64 " %" PRIu32 "\n", insns, x.overflows.nr);
	exact_free(&x);
}

static void print_overflows(const char *path)
{
	uint64_t longest = 0, at = 0, cpus = 0;
	struct exact x;
	uint32_t i, k;

	open_exact(&x, path);
	for (i = 0; i < x.cpus.nr; i++) {
		const struct exact_cpu *c = &x.cpus.v[i];

		cpus += c->overflows > c->overflow;
		for (k = c->overflow + 1; k < c->overflows; k++)
			if (x.overflows.v[k].tsc - x.overflows.v[k - 1].tsc > longest) {
				longest = x.overflows.v[k].tsc - x.overflows.v[k - 1].tsc;
				at = x.overflows.v[k - 1].tsc - x.overflows.v[c->overflow].tsc;
			}
	}
	printf("%" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", x.overflows.nr, cpus, longest, at);
	exact_free(&x);
}

static void print_cycles(const char *path)
{
	uint64_t quiet = 0, guest = 0, after_nmi = 0;
	struct exact x;
	uint32_t i;

	open_exact(&x, path);
	for (i = 0; i < x.blocks.nr; i++) {
		const struct exact_block *b = &x.blocks.v[i];
		const struct exact_space *s = &x.spaces.v[b->space];

		if (s->flags & EXACT_GUEST) {
			guest += b->cycles;
			quiet += s->flags & EXACT_COUNTING ? 0 : b->cycles;
		}
		after_nmi += is_after_nmi(&x, b) ? b->cycles : 0;
	}
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", quiet, guest, after_nmi);
	exact_free(&x);
}

/* One guest user address space, in however many spaces of the file */
struct ran {
	uint64_t cr3, insns;
};

static int by_insns(const void *a, const void *b)
{
	const struct ran *x = a, *y = b;

	return x->insns > y->insns ? -1 : x->insns < y->insns;
}

static void add_ran(struct ran *v, uint32_t *nr, uint64_t cr3, uint64_t insns)
{
	uint32_t i;

	for (i = 0; i < *nr && v[i].cr3 != cr3; i++)
		;
	if (i == *nr)
		v[(*nr)++] = (struct ran){ .cr3 = cr3 };
	v[i].insns += insns;
}

static void print_rest(const char *path)
{
	uint64_t guest = 0, host = 0;
	uint32_t i, nr = 0;
	struct exact x;
	struct ran *ran;

	open_exact(&x, path);
	ran = calloc(x.spaces.nr + 2, sizeof(*ran));
	if (!ran)
		exit(1);
	for (i = 0; i < x.blocks.nr; i++) {
		const struct exact_block *b = &x.blocks.v[i];

		if (side(&x, b) & EXACT_GUEST)
			guest += b->insns;
		else if (!is_after_nmi(&x, b))
			host += b->insns;
		if (side(&x, b) == (EXACT_GUEST | EXACT_USER))
			add_ran(ran, &nr, x.spaces.v[b->space].cr3, b->insns);
	}
	qsort(ran, nr, sizeof(*ran), by_insns);
	printf("%" PRIu64 " %" PRIu64 "\n", guest - ran[0].insns - ran[1].insns, host);
	free(ran);
	exact_free(&x);
}

static void print_module(const char *path)
{
	uint64_t module = 0, kernel = 0, exits = 0;
	const struct symbol *s;
	struct exact x;
	uint32_t i;

	open_exact(&x, path);
	for (i = 0; i < x.blocks.nr; i++) {
		const struct exact_block *b = &x.blocks.v[i];

		if (side(&x, b) || is_after_nmi(&x, b))
			continue;
		s = symbol_of(b->pc);
		kernel += b->insns;
		module += s && !strcmp(s->module, "[vmprof]") ? b->insns : 0;
	}
	for (i = 0; i < x.exits.nr; i++)
		exits += x.exits.v[i].count;
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", module, kernel, exits);
	exact_free(&x);
}

int main(int argc, char **argv)
{
	size_t i, n;

	if (argc == 2) {
		print_sums(argv[1]);
		return 0;
	}
	if (argc == 3 && !strcmp(argv[2], "nmi")) {
		print_nmi(argv[1]);
		return 0;
	}
	if (argc == 3 && !strcmp(argv[2], "overflows")) {
		print_overflows(argv[1]);
		return 0;
	}
	if (argc == 3 && !strcmp(argv[2], "cycles")) {
		print_cycles(argv[1]);
		return 0;
	}
	if (argc == 3 && !strcmp(argv[2], "rest")) {
		print_rest(argv[1]);
		return 0;
	}
	if (argc == 4 && !strcmp(argv[2], "module")) {
		read_symbols(argv[3]);
		print_module(argv[1]);
		return 0;
	}
	if (argc != 5) {
		fputs("usage: exactsum EXACT [nmi | overflows | cycles | rest | module KALLSYMS | BASE KALLSYMS N]\n", stderr);
		return 2;
	}
	read_symbols(argv[3]);
	add_functions(argv[1], 1);
	add_functions(argv[2], -1);
	qsort(symbols, nr_symbols, sizeof(*symbols), by_more);
	n = strtoul(argv[4], NULL, 10);
	for (i = 0; i < n && i < nr_symbols && symbols[i].more > 0; i++)
		printf("%" PRId64 " %s\n", symbols[i].more, symbols[i].name);
	return 0;
}
