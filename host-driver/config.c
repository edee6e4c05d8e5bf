// SPDX-License-Identifier: GPL-2.0-only
/*
 * config.c - checks what a user asks for and turns it into a session's settings.
 *
 * Every field is checked here; nothing behind this has to doubt it again.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/string.h>
#include <linux/threads.h>
#include "config.h"
#include "session.h"

#define VMPH_TIMER_MIN_NS	10000	/* perf makes any shorter cpu-clock period this long */

static bool vmph_config_period(const struct vmprof_config *config, u64 period)
{
	return period >= VMPROF_PERIOD_MIN &&
	       period <= (config->flags & VMPROF_CFG_RANDOM ? VMPROF_PERIOD_RANDOM_MAX : S64_MAX);
}

static bool vmph_config_sane(const struct vmprof_config *config)
{
	if (config->size != sizeof(*config) || config->reserved0 || config->reserved1 ||
	    memchr_inv(config->reserved, 0, sizeof(config->reserved)))
		return false;
	if (config->flags & ~(VMPROF_CFG_ALL | VMPROF_CFG_TIMER | VMPROF_CFG_RANDOM))
		return false;
	if (!vmph_config_period(config, config->period) ||
	    (config->instruction_period && !vmph_config_period(config, config->instruction_period)))
		return false;
	if (config->ring_bytes < VMPROF_RING_MIN || config->ring_bytes > VMPROF_RING_MAX ||
	    !is_power_of_2(config->ring_bytes) || config->ring_bytes < PAGE_SIZE ||
	    config->wake_bytes > config->ring_bytes)
		return false;
	if (config->nr_vms > VMPROF_MAX_VMS ||
	    !vmph_branches_sane(config->lbr_branches, config->lbr_format))
		return false;
	return (config->flags & VMPROF_CFG_ALL) || config->nr_vms;
}

/* Can guest and host be counted apart here? */
static bool vmph_config_split(const struct vmph_session *session)
{
	struct perf_event_attr attr = session->attr;
	unsigned int i;

	for (i = 0; !session->timer && i < VMPH_SAMPLE_NR; i++) {
		vmph_counters_side(&attr, i, true);
		if (vmph_counters_try(&attr))
			return false;
	}
	return !session->timer;
}

/* Branches beside the samples */
static int vmph_config_lbr(struct vmph_session *session, const struct vmprof_config *config)
{
	struct vmph_lbr *lbr = &session->lbr;
	bool cycles;

	lbr->branches = config->lbr_branches;
	lbr->format = config->lbr_format;
	if (!lbr->branches)
		return 0;
	if (session->timer)
		return -EINVAL;
	/* without an event for each side nothing tells whose branches they are */
	if (vmph_lbr_lack(&lbr->entries, &cycles) || !vmph_branches_tell_entry(lbr->branches) ||
	    (lbr->format == VMPROF_LBR_FROM_TO_CYCLES && !cycles) || !session->split)
		return -EOPNOTSUPP;
	if (!vmph_lbr_by_perf(lbr))
		return 0;
	vmph_lbr_attr(&session->attr);
	if (session->second.sample_period)
		vmph_lbr_attr(&session->second);
	return vmph_counters_try(&session->attr);
}

/* The event that samples, from what the user asked for */
static int vmph_config_event(struct vmph_session *session, const struct vmprof_config *config)
{
	bool timer = config->flags & VMPROF_CFG_TIMER;
	int err;

	if (config->event_type == PERF_TYPE_SOFTWARE &&
	    config->event_config == PERF_COUNT_SW_CPU_CLOCK)
		timer = true;
	if (timer) {
		if (config->period < VMPH_TIMER_MIN_NS || config->instruction_period ||
		    (config->flags & VMPROF_CFG_RANDOM))
			return -EINVAL;
		vmph_counters_attr(&session->attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK,
				   config->period);
	} else {
		if (config->event_type != PERF_TYPE_HARDWARE &&
		    config->event_type != PERF_TYPE_HW_CACHE &&
		    config->event_type != PERF_TYPE_RAW)
			return -EINVAL;
		vmph_counters_attr(&session->attr, config->event_type, config->event_config,
				   config->period);
		session->attr.config1 = config->event_config1;
		session->attr.config2 = config->event_config2;
	}
	session->timer = timer;
	session->random = config->flags & VMPROF_CFG_RANDOM;
	vmph_counters_attr(&session->second, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS,
			   config->instruction_period);
	err = vmph_counters_try(&session->attr);
	if (!err && config->instruction_period)
		err = vmph_counters_try(&session->second);
	session->split = !err && vmph_config_split(session);
	return err == -ENOENT || err == -ENODEV ? -EOPNOTSUPP : err;
}

int vmph_config_add_vm(struct vmph_session *session, u32 vm)
{
	/* the sampler sees the initial namespace's numbers */
	if (task_active_pid_ns(current) != &init_pid_ns || !vm || vm > PID_MAX_LIMIT)
		return -EINVAL;
	return vmph_vms_add(&session->vms, vm);
}

static int vmph_config_vms(struct vmph_session *session, const struct vmprof_config *config,
			   const u32 *vms)
{
	u32 i;
	int err;

	session->all = config->flags & VMPROF_CFG_ALL;
	memset(&session->vms, 0, sizeof(session->vms));
	vmph_vms_init(&session->vms, session->all);
	if (session->all)
		return 0;
	for (i = 0; i < config->nr_vms; i++) {
		err = vmph_config_add_vm(session, vms[i]);
		if (err)
			return err;
	}
	return 0;
}

int vmph_config_take(struct vmph_session *session, const struct vmprof_config *config,
		     const u32 *vms)
{
	int err;

	if (!vmph_config_sane(config))
		return -EINVAL;
	err = vmph_config_vms(session, config, vms);
	if (err)
		return err;
	err = vmph_config_event(session, config);
	if (err)
		return err;
	err = vmph_config_lbr(session, config);
	if (err)
		return err;
	session->ring_bytes = config->ring_bytes;
	session->wake_bytes = config->wake_bytes ?: config->ring_bytes / 2;
	return 0;
}
