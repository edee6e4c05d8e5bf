/* SPDX-License-Identifier: GPL-2.0-only */
/* sampler.h - the overflow handlers of the counters that sample. */
#ifndef VMPH_SAMPLER_H
#define VMPH_SAMPLER_H

struct perf_event;
struct perf_sample_data;
struct pt_regs;

/** vmph_on_overflow() - perf's overflow handler; its context is a struct vmph_cpu. */
void vmph_on_overflow(struct perf_event *event, struct perf_sample_data *data,
		      struct pt_regs *regs);

/** vmph_on_instructions() - The same for the second event, instructions. */
void vmph_on_instructions(struct perf_event *event, struct perf_sample_data *data,
			  struct pt_regs *regs);

#endif
