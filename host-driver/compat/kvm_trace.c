// SPDX-License-Identifier: GPL-2.0-only
/*
 * kvm_trace.c - hooks at KVM's tracepoints kvm_entry and kvm_exit.
 *
 * Their header is KVM's own; what is known of them is that the vCPU is their first argument,
 * in every kernel so far.  The others are not looked at.
 */
#include <linux/tracepoint.h>
#include "compat.h"

extern struct tracepoint __tracepoint_kvm_entry;
extern struct tracepoint __tracepoint_kvm_exit;

static int vmph_kvm_trace(struct tracepoint *tp, vmph_kvm_hook *hook, void *data, bool on)
{
	int err;

	if (on)
		return tracepoint_probe_register(tp, hook, data);
	err = tracepoint_probe_unregister(tp, hook, data);
	tracepoint_synchronize_unregister();
	return err;
}

int vmph_kvm_trace_entry(vmph_kvm_hook *hook, void *data, bool on)
{
	return vmph_kvm_trace(&__tracepoint_kvm_entry, hook, data, on);
}

int vmph_kvm_trace_exit(vmph_kvm_hook *hook, void *data, bool on)
{
	return vmph_kvm_trace(&__tracepoint_kvm_exit, hook, data, on);
}
