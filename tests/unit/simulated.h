/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * simulated.h - programs that a simulator ran, and their blocks beside what it counted.
 */
#ifndef VMP_TEST_SIMULATED_H
#define VMP_TEST_SIMULATED_H

#include "measured.h"

#include <math.h>

/* The capture's META says another period than gen_begin() does */
static inline void say_period(uint64_t period, uint64_t instructions)
{
	char meta[256];

	snprintf(meta, sizeof(meta), "{\"event\":\"cycles\",\"trigger\":\"pmc\",\"period\":%llu,\"instruction_period\":%llu}",
		 (unsigned long long)period, (unsigned long long)instructions);
	gen_text(&g, VMPROF_CAP_META, 0, meta);
}

/* The program's samples become the capture */
static inline void record(const struct prog_run *run)
{
	prog_assemble(&prog);
	prog_install(&g, &prog, dir);
	gen_agent_flush(&g, GEN_VM, 3000);
	say_period(run->period, run->instructions);
	prog_simulate(&g, &prog, run);
	gen_end(&g);
}

/* The program is QEMU's */
static inline void record_host(const struct prog_run *run)
{
	char qemu[160], maps[320];

	prog_assemble(&prog);
	snprintf(qemu, sizeof(qemu), "%s/qemu", dir);
	prog_write(&prog, qemu, NULL);
	snprintf(maps, sizeof(maps), "%llx-%llx r-xp 00001000 08:01 5   %s\n", (unsigned long long)(run->host + PROG_VADDR),
		 (unsigned long long)(run->host + PROG_VADDR + 0x1000), qemu);
	gen_text(&g, VMPROF_CAP_HOST_MAPS, GEN_VM, maps);
	say_period(run->period, run->instructions);
	prog_simulate(&g, &prog, run);
	gen_end(&g);
}

static inline void simulate(const struct prog_run *run)
{
	struct vmp_set_choice all = { .vcpu = -1, .pid = -1 };

	if (run->host)
		record_host(run);
	else
		record(run);
	assert_int_equal(vmp_model_open(&model, path), 0);
	assert_int_equal(vmp_set_create(&set, model, &all), 0);
	assert_int_equal(vmp_measure_create(&measure, set), 0);
	assert_int_equal(vmp_estimate_create(&estimates, measure, 0), 0);
}

static inline void show(const struct vmp_estimate *e, const struct vmp_block_code *b, double cycles, double runs)
{
	print_message("# %3d..%-3d insns %u n %u samples %.0f: cycles %.2f, time %.2f +- %.2f, cpi %.2f, lbr %.2f; runs %.0f, %.0f +- %.0f\n",
		      insn_at(b->start), insn_at(b->end), b->insns, b->n, e->samples, cycles,
		      e->cycles[VMP_SOURCE_TIME], e->error, e->cycles[VMP_SOURCE_CPI], e->cycles[VMP_SOURCE_LBR],
		      runs, e->executions, e->executions_error);
}

/* What of an error is by chance: without what else it holds, a part of the figure */
static inline double by_chance(double error, double figure, double part)
{
	return sqrt(fmax(0, error * error - figure * part * figure * part));
}

/* What a comparison of all blocks with the truth found */
struct verdict {
	int compared;
	double cpi_from, cpi_to;	/* equation 1's largest relative errors, below the truth and above it */
	double off;		/* the largest of the one in use */
	double worst;		/* the same, its sampling error taken off */
};

static inline struct verdict compare(enum vmp_source source, double samples)
{
	struct verdict v = { 0 };
	uint32_t i;

	for (i = 0; i < set->blocks.nr; i++) {
		const struct vmp_block_code *b = &set->blocks.v[i];
		const struct vmp_estimate *e = &estimates->block[i];
		const struct prog_truth *t = &prog.truth[insn_at(b->start)][insn_at(b->end)];
		double cycles, off;

		assert_true(t->runs > 0);
		assert_int_equal(b->insns, insn_at(b->end) - insn_at(b->start) + 1);
		if (e->samples < samples)
			continue;
		cycles = (double)t->cycles / (double)t->runs;
		if (getenv("SHOW"))
			show(e, b, cycles, (double)t->runs);
		assert_int_equal(e->source, source);
		off = fabs(e->cycles[source] - cycles);
		v.off = fmax(v.off, off / cycles);
		off -= source == VMP_SOURCE_TIME ? 3 * by_chance(e->error, e->cycles[source], e->doubt) : 0;
		v.worst = fmax(v.worst, off / cycles);
		if (!isnan(e->cycles[VMP_SOURCE_CPI])) {
			v.cpi_from = fmin(v.cpi_from, e->cycles[VMP_SOURCE_CPI] / cycles - 1);
			v.cpi_to = fmax(v.cpi_to, e->cycles[VMP_SOURCE_CPI] / cycles - 1);
		}
		off = fabs(e->executions - (double)t->runs);
		off -= isnan(e->executions_error) ? 0 : 3 * by_chance(e->executions_error, e->executions, e->executions_doubt);
		assert_true(off / (double)t->runs < 0.05);
		v.compared++;
	}
	return v;
}

/* Slow and fast blocks, an inner loop, calls, and a path by chance */
static inline void mixed_program(void)
{
	int top, inner, call, skip, f, out;

	prog.insn[0].function = "main";
	top = prog_plain(&prog, 3, 90, 2);
	prog.insn[top].function = "main";
	inner = prog_plain(&prog, 4, 1, 0);
	prog_jump(&prog, PROG_COND, inner, 40, 0);
	prog_plain(&prog, 2, 5, 5);
	call = prog_jump(&prog, PROG_CALL, 0, 0, 0);
	prog_plain(&prog, 2, 1, 1);
	skip = prog_jump(&prog, PROG_COND, 0, 0, 70);
	prog_plain(&prog, 5, 30, 1);
	call = (call << 16) | prog_jump(&prog, PROG_CALL, 0, 0, 0);
	out = prog_plain(&prog, 1, 3, 0);
	prog_jump(&prog, PROG_JUMP, top, 0, 0);
	prog.insn[skip].target = out;
	f = prog_plain(&prog, 3, 12, 1);
	prog.insn[f].function = "helper";
	skip = prog_jump(&prog, PROG_COND, 0, 0, 50);
	prog_plain(&prog, 6, 20, 0);
	out = prog_jump(&prog, PROG_RET, 0, 0, 0);
	prog.insn[skip].target = out;
	prog.insn[call >> 16].target = prog.insn[call & 0xffff].target = f;
}

/* Two loops that run for long, one after the other: only counters tell their scale */
static inline void phased_program(void)
{
	int a, b;

	a = prog_plain(&prog, 3, 30, 1);
	prog.insn[a].function = "slow_loop";
	prog_jump(&prog, PROG_COND, a, 6000, 0);
	b = prog_plain(&prog, 9, 1, 0);
	prog.insn[b].function = "fast_loop";
	prog_jump(&prog, PROG_COND, b, 180000, 0);
	prog_jump(&prog, PROG_JUMP, a, 0, 0);
}

/* For blocks.t: a capture of a program, and its object cache */
static inline void write_run(char *folder, const char *name, void (*program)(void), unsigned format, uint64_t instructions)
{
	/* of two events few: some blocks have less than one of them */
	const struct prog_run run = {
		.period = 5003, .samples = instructions ? 200 : 4000, .format = format, .depth = 16, .counts = !instructions, .instructions = instructions,
		.top = format == VMPROF_LBR_FROM_TO_CYCLES ? 50 : 0,
	};

	dir = folder;
	begin(name);
	program();
	record(&run);
}

#endif
