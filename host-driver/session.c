// SPDX-License-Identifier: GPL-2.0-only
/*
 * session.c - start, stop and totals of a session.
 *
 * At most one runs on a host.  Counters come and go with the pCPUs through a
 * CPU hotplug state that exists only while it runs: setting the state up arms
 * every online pCPU, removing it disarms them.
 */
#include <linux/cpuhotplug.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <asm/tsc.h>
#include "compat/compat.h"
#include "config.h"
#include "guest.h"
#include "session.h"
#include "steal.h"
#include "tasks.h"

static DEFINE_MUTEX(vmph_running_lock);		/* taken inside session->lock */
static struct vmph_session *vmph_running;
static enum cpuhp_state vmph_hotplug_state;
static bool vmph_starting;			/* hotplug callbacks may fail */

/* ------------------------------------------------------------ wake-ups */

static void vmph_wake_work(struct irq_work *work)
{
	struct vmph_cpu *cpu = container_of(work, struct vmph_cpu, wake);

	wake_up_interruptible(&cpu->session->wait);
}

void vmph_session_wake(struct vmph_cpu *cpu)
{
	if (!READ_ONCE(cpu->session->sleeping))
		return;
	WRITE_ONCE(cpu->session->sleeping, 0);
	irq_work_queue(&cpu->wake);
}

bool vmph_session_readable(struct vmph_session *session)
{
	enum vmph_state state = READ_ONCE(session->state);
	u64 enough = state == VMPH_RUNNING ? session->wake_bytes : 1;
	int cpu;

	/* first say that we may sleep, then look: see vmph_ring_commit() */
	WRITE_ONCE(session->sleeping, 1);
	smp_mb();
	if (state == VMPH_OPEN)
		return false;
	for_each_possible_cpu(cpu)
		if (vmph_ring_used(&session->cpus[cpu]->ring) >= enough)
			return true;
	return false;
}

/* ------------------------------------------------------- create, destroy */

int vmph_session_create(struct vmph_session **session)
{
	struct vmph_session *s = kvzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);

	if (!s)
		return -ENOMEM;
	mutex_init(&s->lock);
	init_waitqueue_head(&s->wait);
	*session = s;
	return 0;
}

static void vmph_free_cpus(struct vmph_session *session)
{
	int cpu;

	if (!session->cpus)
		return;
	for_each_possible_cpu(cpu) {
		if (!session->cpus[cpu])
			continue;
		vmph_ringmem_free(&session->cpus[cpu]->mem);
		kfree(session->cpus[cpu]);
	}
	kfree(session->cpus);
	session->cpus = NULL;
}

void vmph_session_destroy(struct vmph_session *session)
{
	vmph_session_stop(session);
	vmph_free_cpus(session);
	vmph_tasks_free(session);
	mutex_destroy(&session->lock);
	kvfree(session);
}

/* --------------------------------------------------------------- config */

static int vmph_alloc_cpu(struct vmph_session *session, int cpu)
{
	struct vmph_cpu *c = kzalloc_node(sizeof(*c), GFP_KERNEL_ACCOUNT, cpu_to_node(cpu));
	int err;

	if (!c)
		return -ENOMEM;
	session->cpus[cpu] = c;
	c->session = session;
	c->cpu = cpu;
	mutex_init(&c->lock);
	init_irq_work(&c->wake, vmph_wake_work);
	err = vmph_ringmem_alloc(&c->mem, cpu, session->ring_bytes);
	if (err)
		return err;
	vmph_ring_init(&c->ring, c->mem.consumer, c->mem.producer, c->mem.data,
		       session->ring_bytes, session->wake_bytes, cpu);
	return 0;
}

static int vmph_alloc_cpus(struct vmph_session *session)
{
	int cpu, err;

	session->cpus = kcalloc(nr_cpu_ids, sizeof(*session->cpus), GFP_KERNEL_ACCOUNT);
	if (!session->cpus)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		err = vmph_alloc_cpu(session, cpu);
		if (err) {
			vmph_free_cpus(session);
			return err;
		}
	}
	return 0;
}

int vmph_session_config(struct vmph_session *session, const struct vmprof_config *config,
			const u32 *vms)
{
	int err;

	mutex_lock(&session->lock);
	err = -EBUSY;
	if (session->state != VMPH_OPEN)
		goto unlock;
	err = vmph_config_take(session, config, vms);
	if (err)
		goto unlock;
	err = vmph_alloc_cpus(session);
	/* what was made is seen by who sees this: mmap() and poll() take no lock */
	if (!err)
		smp_store_release(&session->state, VMPH_READY);
unlock:
	mutex_unlock(&session->lock);
	return err;
}

int vmph_session_tasks(struct vmph_session *session, const struct vmprof_tasks *told)
{
	struct vmph_tasks *tasks;
	int err = vmph_tasks_create(told, &tasks);

	if (err)
		return err;
	mutex_lock(&session->lock);
	err = session->state == VMPH_OPEN ? -EINVAL : vmph_tasks_set(session, told->vm, tasks);
	mutex_unlock(&session->lock);
	if (err)
		vmph_tasks_destroy(tasks);
	return err;
}

int vmph_session_add_vm(struct vmph_session *session, u32 vm)
{
	int err;

	mutex_lock(&session->lock);
	err = session->state == VMPH_OPEN ? -EINVAL : vmph_config_add_vm(session, vm);
	mutex_unlock(&session->lock);
	return err;
}

/* ---------------------------------------------------------- start, stop */

/* Say it once per errno: what perf would not give us */
static void vmph_log_arm_error(unsigned int cpu, int err)
{
	static DECLARE_BITMAP(said, MAX_ERRNO + 1);

	if (!test_and_set_bit(-err, said))
		pr_warn("vmprof: pCPU %u: perf gives no counter for the sampling event (error %d)%s\n",
			cpu, err, err == -EBUSY ?
			"; other events or the NMI watchdog (kernel.nmi_watchdog) hold them" : "");
}

static int vmph_cpu_online(unsigned int cpu)
{
	struct vmph_cpu *c = vmph_running->cpus[cpu];
	int err;

	mutex_lock(&c->lock);
	err = vmph_counters_arm(c);
	mutex_unlock(&c->lock);
	if (!err)
		return 0;
	vmph_log_arm_error(cpu, err);
	/* a pCPU that comes later is let up, unsampled: its stats say so */
	return vmph_starting ? err : 0;
}

static int vmph_cpu_offline(unsigned int cpu)
{
	struct vmph_cpu *c = vmph_running->cpus[cpu];

	mutex_lock(&c->lock);
	vmph_counters_disarm(c);
	mutex_unlock(&c->lock);
	return 0;
}

static int vmph_check_host(struct vmph_session *session)
{
	bool mediated = vmph_kvm_mediated_pmu();

	if (mediated && !session->timer)
		return -EOPNOTSUPP;
	/* where it is on, our counters would keep VMs from starting */
	session->want_counts = !mediated;
	return vmph_guest_get() ? -ENODEV : 0;
}

/* Start of a run: positions and totals go on from the last one */
static void vmph_reset_cpus(struct vmph_session *session)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct vmph_cpu *c = session->cpus[cpu];

		memset(&c->clocks, 0, sizeof(c->clocks));
		memset(&c->tasks, 0, sizeof(c->tasks));
		if (!session->started)
			WRITE_ONCE(c->ring.producer->start_tsc, rdtsc());
		WRITE_ONCE(c->ring.producer->end_tsc, 0);
	}
}

/* No hook runs any more: forget where vCPUs were */
static void vmph_forget_places(struct vmph_session *session)
{
	unsigned int i;
	int cpu;

	for (i = 0; i < VMPH_VCPUS_NR; i++) {
		atomic_set(&session->vms.vcpu[i].last_cpu, -1);
		atomic_set(&session->vms.vcpu[i].waits_on, -1);
	}
	for_each_possible_cpu(cpu) {
		atomic_set(&session->cpus[cpu]->home, 0);
		atomic_set(&session->cpus[cpu]->waiting, 0);
	}
}

/* At most one session runs on a host */
static int vmph_claim_host(struct vmph_session *session)
{
	int err = 0;

	mutex_lock(&vmph_running_lock);
	if (vmph_running)
		err = -EBUSY;
	else
		vmph_running = session;
	mutex_unlock(&vmph_running_lock);
	return err;
}

static void vmph_leave_host(void)
{
	mutex_lock(&vmph_running_lock);
	vmph_running = NULL;
	mutex_unlock(&vmph_running_lock);
}

u32 vmph_session_guest_lack(void)
{
	u32 lack = VMPROF_GUEST_LACK_NONE;

	mutex_lock(&vmph_running_lock);
	/* a session that runs holds what is found */
	if (!vmph_running) {
		lack = vmph_guest_get();
		if (!lack)
			vmph_guest_put();
	}
	mutex_unlock(&vmph_running_lock);
	return lack;
}

/* Hooks and counters on; what can fail is undone */
static int vmph_arm(struct vmph_session *session)
{
	int state;

	vmph_reset_cpus(session);
	session->steal = !vmph_steal_start(session);
	state = vmph_lbr_start(session);
	if (state)
		goto stop_steal;
	vmph_starting = true;
	state = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "vmprof:online", vmph_cpu_online,
				  vmph_cpu_offline);
	vmph_starting = false;
	if (state >= 0) {
		vmph_hotplug_state = state;
		return 0;
	}
	vmph_lbr_stop(session);
stop_steal:
	if (session->steal)
		vmph_steal_stop(session);
	vmph_forget_places(session);
	return state;
}

static void vmph_disarm(struct vmph_session *session)
{
	int cpu;

	cpuhp_remove_state(vmph_hotplug_state);
	vmph_lbr_stop(session);
	if (session->steal)
		vmph_steal_stop(session);
	vmph_forget_places(session);
	for_each_possible_cpu(cpu) {
		irq_work_sync(&session->cpus[cpu]->wake);
		WRITE_ONCE(session->cpus[cpu]->ring.producer->end_tsc, rdtsc());
	}
}

int vmph_session_start(struct vmph_session *session)
{
	int err;

	mutex_lock(&session->lock);
	err = session->state == VMPH_RUNNING ? -EBUSY : -EINVAL;
	if (session->state != VMPH_READY)
		goto unlock;
	err = vmph_claim_host(session);
	if (err)
		goto unlock;
	err = vmph_check_host(session);
	if (err)
		goto leave_host;
	err = vmph_arm(session);
	if (err)
		goto put_guest;
	session->started = true;
	WRITE_ONCE(session->state, VMPH_RUNNING);
	mutex_unlock(&session->lock);
	return 0;

put_guest:
	vmph_guest_put();
leave_host:
	vmph_leave_host();
unlock:
	mutex_unlock(&session->lock);
	return err;
}

void vmph_session_stop(struct vmph_session *session)
{
	mutex_lock(&session->lock);
	if (session->state == VMPH_RUNNING) {
		vmph_disarm(session);
		vmph_guest_put();
		vmph_leave_host();
		WRITE_ONCE(session->state, VMPH_READY);
		wake_up_interruptible(&session->wait);
	}
	mutex_unlock(&session->lock);
}

/* ---------------------------------------------------------------- stats */

int vmph_session_stats(struct vmph_session *session, struct vmprof_cpu_stats *stats)
{
	const struct vmprof_producer *page;
	struct vmph_cpu *c;
	int err = -EINVAL;

	if (stats->cpu >= nr_cpu_ids || !cpu_possible(stats->cpu) ||
	    memchr_inv(stats->reserved, 0, sizeof(stats->reserved)))
		return err;
	mutex_lock(&session->lock);
	if (session->state == VMPH_OPEN)
		goto unlock;
	c = session->cpus[stats->cpu];
	page = c->ring.producer;
	mutex_lock(&c->lock);
	vmph_counters_total(&c->counters, stats);
	mutex_unlock(&c->lock);
	stats->interrupts = READ_ONCE(page->interrupts);
	stats->filtered = READ_ONCE(page->filtered);
	stats->records = READ_ONCE(page->records);
	memcpy(stats->lost, page->lost, sizeof(stats->lost));
	err = 0;
unlock:
	mutex_unlock(&session->lock);
	return err;
}
