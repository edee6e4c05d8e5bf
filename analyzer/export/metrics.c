// SPDX-License-Identifier: GPL-2.0-only
/* metrics.c - paper tables 1 to 6 as far as sampled counters and instructions give them. */
#include "export/metrics.h"

#include <string.h>
#include <strings.h>

#define LINE_BYTES	64	/* moved by one miss of the last cache */

void vmp_metrics_base(struct vmp_metrics_base *b, const struct vmp_table *t)
{
	const struct vmp_model *m = t->model;
	const char *event = vmp_model_name(m, m->meta.event);
	int timer = !strcmp(vmp_model_name(m, m->meta.trigger), "timer");

	b->t = t;
	b->seconds_per_sample = (double)vmp_table_interval_ns(t) / 1e9;
	b->seconds_per_cycle = t->counted && m->header.tsc_khz ? 1e-3 / m->header.tsc_khz : 0;
	b->event = timer || !*event || !strcmp(event, "cycles") || !strcmp(event, "cpu-clock") ? NULL : event;
}

void vmp_metrics_add(struct vmp_metrics *m, const struct vmp_line *l, unsigned int insn)
{
	uint64_t n = l->sum.samples;
	unsigned int k;

	vmp_sums_add(&m->sum, &l->sum);
	m->side[l->side] += n;
	for (k = 0; k < VMP_INSN_NR; k++)
		m->insn[k] += insn >> k & 1 ? n : 0;
	if (insn & (1U << VMP_INSN_LOAD | 1U << VMP_INSN_STORE))
		m->memory += n;
	if (!(insn >> VMP_INSN_SIMD & 1))
		return;
	m->simd_float += insn >> VMP_INSN_FLOAT & 1 ? n : 0;
	m->simd_integer += insn >> VMP_INSN_INTEGER & 1 ? n : 0;
	m->simd_memory += insn & (1U << VMP_INSN_LOAD | 1U << VMP_INSN_STORE) ? n : 0;
}

/* A clock's samples are time; of other events the counted cycles tell it */
double vmp_metrics_seconds(const struct vmp_metrics_base *b, const struct vmp_metrics *m)
{
	if (b->event && b->seconds_per_cycle > 0)
		return (double)m->sum.cycles * b->seconds_per_cycle;
	return (double)m->sum.samples * b->seconds_per_sample;
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static void percent(struct vmp_xml *x, const char *name, uint64_t n, uint64_t of)
{
	vmp_xml_real(x, name, "percent", 100 * ratio((double)n, (double)of));
}

static void category(struct vmp_xml *x, const char *name)
{
	vmp_xml_begin(x, "category");
	vmp_xml_attr(x, "name", name);
}

static void performance(struct vmp_xml *x, const struct vmp_metrics_base *b, const struct vmp_metrics *m)
{
	double seconds = vmp_metrics_seconds(b, m), cycles = (double)m->sum.cycles;
	double instructions = (double)m->sum.instructions;

	category(x, "performance");
	vmp_xml_real(x, "execution_time", "sec", seconds);
	vmp_xml_count(x, "samples", m->sum.samples);
	if (b->seconds_per_cycle > 0) {
		vmp_xml_count(x, "cycles", m->sum.cycles);
		vmp_xml_count(x, "instructions", m->sum.instructions);
		vmp_xml_real(x, "ipc", "instructions/cycle", ratio(instructions, cycles));
		vmp_xml_real(x, "cpi", "cycles/instruction", ratio(cycles, instructions));
		vmp_xml_real(x, "mips", "MIPS", ratio(instructions, seconds) / 1e6);
	}
	vmp_xml_end(x);
}

/* Names of the misses of the last cache, ours and libpfm's: each moves a line */
static int moves_lines(const char *event)
{
	static const char *const names[] = {
		"cache-misses", "perf::cache-misses", "perf_count_hw_cache_misses", "llc-load-misses",
		"llc-store-misses", "llc_misses", "last_level_cache_misses", "longest_lat_cache:miss",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcasecmp(event, names[i]))
			return 1;
	return 0;
}

/* Memory and cache: what was sampled, when it was no clock */
static void event(struct vmp_xml *x, const struct vmp_metrics_base *b, const struct vmp_metrics *m)
{
	uint64_t n = m->sum.samples * b->t->model->meta.period;
	double seconds = vmp_metrics_seconds(b, m);

	category(x, "events");
	vmp_xml_item(x, b->event, "counts", "");
	vmp_xml_count(x, "event_counts", n);
	vmp_xml_real(x, "event_rate", "counts/sec", ratio((double)n, seconds));
	if (b->seconds_per_cycle > 0)
		percent(x, "event_per_instruction", n, m->sum.instructions);
	if (moves_lines(b->event))
		vmp_xml_real(x, "memory_throughput", "MB/sec", ratio((double)n * LINE_BYTES, seconds) / 1e6);
	vmp_xml_end(x);
	vmp_xml_end(x);
}

static void instruction_mix(struct vmp_xml *x, const struct vmp_metrics *m)
{
	static const struct {
		enum vmp_insn kind;
		const char *name;
	} share[] = {
		{ VMP_INSN_FLOAT, "floating_point_share" }, { VMP_INSN_INTEGER, "integer_share" },
		{ VMP_INSN_BRANCH, "branch_share" }, { VMP_INSN_PREFETCH, "prefetch_share" },
		{ VMP_INSN_PERMUTE, "permutation_share" },
	};
	uint64_t all = m->insn[VMP_INSN_DECODED];
	size_t i;

	category(x, "instruction_mix");
	vmp_xml_count(x, "decoded_samples", all);
	vmp_xml_item(x, "load_store_share", "percent", "");
	percent(x, "load_share", m->insn[VMP_INSN_LOAD], all);
	percent(x, "store_share", m->insn[VMP_INSN_STORE], all);
	percent(x, "either_share", m->memory, all);
	vmp_xml_end(x);
	for (i = 0; i < sizeof(share) / sizeof(share[0]); i++)
		percent(x, share[i].name, m->insn[share[i].kind], all);
	vmp_xml_end(x);
	category(x, "simd");
	percent(x, "simd_share", m->insn[VMP_INSN_SIMD], all);
	percent(x, "simd_floating_point_share", m->simd_float, m->insn[VMP_INSN_FLOAT]);
	percent(x, "simd_integer_share", m->simd_integer, m->insn[VMP_INSN_INTEGER]);
	percent(x, "simd_load_store_share", m->simd_memory, m->memory);
	vmp_xml_end(x);
}

void vmp_metrics_xml(struct vmp_xml *x, const struct vmp_metrics_base *b, const struct vmp_metrics *m,
		     const struct vmp_metrics *most)
{
	performance(x, b, m);
	if (b->event)
		event(x, b, m);
	if (m->insn[VMP_INSN_DECODED])
		instruction_mix(x, m);
	category(x, "load_balance");
	vmp_xml_real(x, "time_balance", "percent",
		     100 * ratio(vmp_metrics_seconds(b, m), vmp_metrics_seconds(b, most)));
	if (b->seconds_per_cycle > 0)
		percent(x, "instruction_balance", m->sum.instructions, most->sum.instructions);
	vmp_xml_end(x);
}
