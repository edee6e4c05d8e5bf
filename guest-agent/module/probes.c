// SPDX-License-Identifier: GPL-2.0-only
/*
 * probes.c - where the kernel is tapped: tracepoints and kprobes, found by name.
 *
 * Nothing is tapped while no session runs: then the module costs nothing.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include "probes.h"

#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/tracepoint.h>
#include <asm/page.h>

#include "events.h"

/* ---------------------------------------------------------- tracepoints */

static void on_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	vmpg_event_fork(child);
}

static void on_exec(void *data, struct task_struct *task, pid_t old_pid,
		    struct linux_binprm *bprm)
{
	vmpg_event_exec_done();
}

static void on_rename(void *data, struct task_struct *task, const char *comm)
{
	vmpg_event_comm(task, comm);
}

static struct {
	const char *name;
	void *handler;
	struct tracepoint *tp;
} points[] = {
	{ "sched_process_fork", on_fork },
	{ "sched_process_exec", on_exec },
	{ "task_rename", on_rename },
};

static void match_point(struct tracepoint *tp, void *priv)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(points); i++)
		if (!strcmp(tp->name, points[i].name))
			points[i].tp = tp;
}

/* -------------------------------------------------------------- kprobes */

static int on_begin_new_exec(struct kprobe *kp, struct pt_regs *regs)
{
	vmpg_event_exec((const struct linux_binprm *)regs_get_kernel_argument(regs, 0));
	return 0;
}
NOKPROBE_SYMBOL(on_begin_new_exec);

static int on_perf_event_mmap(struct kprobe *kp, struct pt_regs *regs)
{
	vmpg_event_map((struct vm_area_struct *)regs_get_kernel_argument(regs, 0));
	return 0;
}
NOKPROBE_SYMBOL(on_perf_event_mmap);

/*
 * do_exit() tells its accounting hooks whether the last thread of the process
 * is ending, after it made sure of that and before it gives the mm up.  At
 * do_exit()'s own entry two threads that end at once both see another alive.
 */
static int on_accounting(struct kprobe *kp, struct pt_regs *regs)
{
	vmpg_event_exit((int)regs_get_kernel_argument(regs, 1) != 0);
	return 0;
}
NOKPROBE_SYMBOL(on_accounting);

static int on_do_exit(struct kprobe *kp, struct pt_regs *regs)
{
	vmpg_event_exit(atomic_read(&current->signal->live) <= 1);
	return 0;
}
NOKPROBE_SYMBOL(on_do_exit);

static atomic64_t made;

/* A BPF program, or a trampoline, comes or goes: perf is told of it, whether anybody listens there or not */
static int on_made(struct kprobe *kp, struct pt_regs *regs)
{
	atomic64_inc(&made);
	return 0;
}
NOKPROBE_SYMBOL(on_made);

/* Those that a kernel may be without come last: they hear nothing of the others' own trampolines */
enum { TAP_EXEC, TAP_MMAP, TAP_EXIT, TAP_NEEDED, TAP_BPF = TAP_NEEDED, TAP_TRAMPOLINE, TAP_NR };

/* Functions that serve a purpose, the best first; what is found is used */
static const struct {
	const char *symbol;
	kprobe_pre_handler_t handler;
} taps[TAP_NR][3] = {
	[TAP_EXEC] = { { "begin_new_exec", on_begin_new_exec } },
	[TAP_MMAP] = { { "perf_event_mmap", on_perf_event_mmap } },
	[TAP_EXIT] = {
		{ "taskstats_exit", on_accounting },
		{ "acct_collect", on_accounting },
		{ "do_exit", on_do_exit },
	},
	[TAP_BPF] = { { "perf_event_bpf_event", on_made } },	/* both from 5.1 on */
	[TAP_TRAMPOLINE] = { { "perf_event_ksymbol", on_made } },
};

static struct kprobe kprobes[TAP_NR];
static unsigned int choice[TAP_NR];	/* index in taps[] that this kernel has */
static bool is_there[TAP_NR];		/* that it has one at all */

static int tap(unsigned int t, unsigned int c, u32 flags)
{
	/* a struct that was registered once must be fresh to be so again */
	kprobes[t] = (struct kprobe){
		.symbol_name = taps[t][c].symbol,
		.pre_handler = taps[t][c].handler,
		.flags = flags,
	};
	return register_kprobe(&kprobes[t]);
}

static int check_tap(unsigned int t)
{
	unsigned int c;
	int ret = -ENOENT;

	for (c = 0; c < ARRAY_SIZE(taps[t]) && taps[t][c].symbol; c++) {
		ret = tap(t, c, KPROBE_FLAG_DISABLED);
		if (ret)
			continue;
		unregister_kprobe(&kprobes[t]);
		choice[t] = c;
		is_there[t] = true;
		return 0;
	}
	if (t < TAP_NEEDED)
		pr_err("cannot probe %s() in this kernel (error %d): it needs CONFIG_KPROBES and this function\n",
		       taps[t][0].symbol, ret);
	return -ENOENT;
}

int vmpg_probes_check(void)
{
	unsigned int i;
	int ret;

	for_each_kernel_tracepoint(match_point, NULL);
	for (i = 0; i < ARRAY_SIZE(points); i++) {
		if (points[i].tp)
			continue;
		pr_err("this kernel has no tracepoint %s: it needs CONFIG_TRACEPOINTS\n",
		       points[i].name);
		return -ENOENT;
	}
	for (i = 0; i < TAP_NR; i++) {
		ret = check_tap(i);
		if (ret && i < TAP_NEEDED)
			return ret;
	}
	return 0;
}

static void untap(unsigned int nr_points, unsigned int nr_kprobes)
{
	while (nr_kprobes--)
		if (is_there[nr_kprobes])
			unregister_kprobe(&kprobes[nr_kprobes]);
	while (nr_points--)
		tracepoint_probe_unregister(points[nr_points].tp, points[nr_points].handler, NULL);
	tracepoint_synchronize_unregister();
}

int vmpg_probes_start(void)
{
	unsigned int p, k = 0;
	int ret;

	for (p = 0; p < ARRAY_SIZE(points); p++) {
		ret = tracepoint_probe_register(points[p].tp, points[p].handler, NULL);
		if (ret)
			goto out;
	}
	for (k = 0; k < TAP_NR; k++) {
		ret = is_there[k] ? tap(k, choice[k], 0) : 0;
		if (ret)
			goto out;
	}
	vmpg_events_switch(true);
	return 0;
out:
	pr_err("cannot tap the kernel: error %d\n", ret);
	untap(p, k);
	return ret;
}

void vmpg_probes_stop(void)
{
	vmpg_events_switch(false);
	untap(ARRAY_SIZE(points), TAP_NR);
}

u64 vmpg_probes_missed(void)
{
	unsigned int k;
	u64 sum = 0;

	for (k = 0; k < TAP_NEEDED; k++)
		sum += kprobes[k].nmissed;
	return sum;
}

int vmpg_probes_made(u64 *count)
{
	*count = atomic64_read(&made);
	return is_there[TAP_BPF] || is_there[TAP_TRAMPOLINE] ? 0 : -EOPNOTSUPP;
}

u64 vmpg_kernel_cr3(void)
{
	/*
	 * Modules cannot look symbols up, but kprobes do it for them: the
	 * address is filled in before the probe is refused, as it must be on
	 * data.  Where that should ever change, the answer is 0: unknown.
	 */
	struct kprobe kp = { .symbol_name = "init_top_pgt", .flags = KPROBE_FLAG_DISABLED };

	if (!register_kprobe(&kp)) {
		unregister_kprobe(&kp);
		return 0;
	}
	return IS_ALIGNED((unsigned long)kp.addr, PAGE_SIZE) && kp.addr ? __pa(kp.addr) : 0;
}
