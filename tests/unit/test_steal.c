// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_steal.c - the host module's steal.c and vms.c, compiled as they are, before a scheduler that is made up: what
 * runs on a pCPU is steal while a vCPU wants to run there, and not while it sleeps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "kernel_shim.h"
#include <cmocka.h>

/* The kernel is built without these warnings */
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "../../host-driver/vms.c"
#include "../../host-driver/steal.c"

#define QEMU	100U

/* ---------------------------------------------------- a made-up scheduler */

static struct tracepoint points[] = { { "sched_wakeup" }, { "sched_migrate_task" }, { "sys_enter" }, { "sched_switch" } };
static unsigned int missing, refused;	/* 1 + number of the tracepoint */
static int hooks;

void for_each_kernel_tracepoint(void (*fn)(struct tracepoint *tp, void *arg), void *arg)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(points); i++)
		if (i + 1 != missing)
			fn(&points[i], arg);
}

int tracepoint_probe_register(struct tracepoint *tp, void *probe, void *data)
{
	assert_non_null(probe);
	assert_non_null(data);
	if (refused && tp == &points[refused - 1])
		return -EEXIST;
	hooks++;
	return 0;
}

int tracepoint_probe_unregister(struct tracepoint *tp, void *probe, void *data)
{
	assert_non_null(tp);
	assert_non_null(probe);
	assert_non_null(data);
	hooks--;
	return 0;
}

static struct kvm_vcpu *loaded;

struct kvm_vcpu *vmph_running_vcpu(void)
{
	return loaded;
}

void vmph_lbr_switched(struct vmph_cpu *cpu)
{
	assert_non_null(cpu);
}

int vmph_guest_read(struct kvm_vcpu *vcpu, u64 *verified, bool nmi, struct vmph_guest *guest)
{
	assert_ptr_equal(vcpu, loaded);
	assert_non_null(verified);
	assert_false(nmi);
	guest->ip = 0x401234;
	guest->cr3 = 0x1234000;
	guest->cpl = 3;
	return 0;
}

/* ---------------------------------------------------- what runs and waits */

/* pCPU 0, where all happens, and 1 */
static struct vmph_cpu cpus[2], *cpu_of[2] = { &cpus[0], &cpus[1] };
static struct vmph_session session;
static struct kvm_vcpu kvm_vcpu;
static struct task_struct vcpu0, vcpu1, hog;
static struct vmph_vcpu *known;

static void switched(struct task_struct *prev, struct task_struct *next, bool preempt, unsigned int state)
{
	prev->on_cpu = 0;
	next->on_cpu = 1;
	loaded = prev == &vcpu0 || prev == &vcpu1 ? &kvm_vcpu : NULL;
	vmph_on_sched_switch(&session, preempt, prev, next, state);
	loaded = NULL;
}

static void woken(struct task_struct *task)
{
	vmph_on_sched_wakeup(&session, task);
}

static int setup(void **state)
{
	(void)state;
	memset(&session, 0, sizeof(session));
	memset(cpus, 0, sizeof(cpus));
	session.cpus = cpu_of;
	cpus[0].session = cpus[1].session = &session;
	cpus[1].cpu = 1;
	vmph_vms_init(&session.vms, false);
	assert_int_equal(vmph_vms_add(&session.vms, QEMU), 0);
	vcpu0 = (struct task_struct){ .tgid = QEMU, .pid = 101 };
	vcpu1 = (struct task_struct){ .tgid = QEMU, .pid = 102 };
	hog = (struct task_struct){ .tgid = 300, .pid = 300 };
	hooks = 0;
	missing = refused = 0;
	/* one vCPU has run here, and sleeps */
	switched(&vcpu0, &hog, false, TASK_INTERRUPTIBLE);
	known = vmph_vcpu_find(&session.vms, QEMU, vcpu0.pid);
	assert_non_null(known);
	return 0;
}

/* --------------------------------------------------------------------- tests */

/* The pCPU is its home, and nobody is robbed there */
static void test_asleep(void **state)
{
	(void)state;
	assert_null(vmph_steal_waiter(&cpus[0]));
	assert_int_equal(atomic_read(&cpus[0].home), 1);
	/* whatever takes turns there */
	switched(&hog, &hog, true, TASK_RUNNING);
	woken(&hog);
	assert_null(vmph_steal_waiter(&cpus[0]));
}

/* From its wake-up until it runs */
static void test_woken(void **state)
{
	(void)state;
	woken(&vcpu0);
	assert_ptr_equal(vmph_steal_waiter(&cpus[0]), known);
	woken(&vcpu0);
	switched(&hog, &vcpu0, true, TASK_RUNNING);
	assert_null(vmph_steal_waiter(&cpus[0]));
	/* asleep again */
	switched(&vcpu0, &hog, false, TASK_INTERRUPTIBLE);
	assert_null(vmph_steal_waiter(&cpus[0]));
	assert_int_equal(atomic_read(&cpus[0].waiting), 0);
}

/* A wake-up before it had gone to sleep takes nothing from it */
static void test_woken_while_it_runs(void **state)
{
	(void)state;
	woken(&vcpu0);
	switched(&hog, &vcpu0, true, TASK_RUNNING);
	woken(&vcpu0);
	assert_null(vmph_steal_waiter(&cpus[0]));
}

/* Preempted, it wants to go on; where its guest was is kept */
static void test_preempted(void **state)
{
	struct vmph_guest guest = { 0 };

	(void)state;
	woken(&vcpu0);
	switched(&hog, &vcpu0, true, TASK_RUNNING);
	switched(&vcpu0, &hog, true, TASK_INTERRUPTIBLE);
	assert_ptr_equal(vmph_steal_waiter(&cpus[0]), known);
	vmph_steal_left(known, &guest);
	assert_int_equal(guest.ip, 0x401234);
	assert_int_equal(guest.cr3, 0x1234000);
	assert_int_equal(guest.cpl, 3);
	/* it yields */
	switched(&hog, &vcpu0, true, TASK_RUNNING);
	switched(&vcpu0, &hog, false, TASK_RUNNING);
	assert_ptr_equal(vmph_steal_waiter(&cpus[0]), known);
}

/* It waits where it is sent to; one that sleeps waits nowhere */
static void test_migrated(void **state)
{
	(void)state;
	vmph_on_sched_migrate_task(&session, &vcpu0, 1);
	assert_null(vmph_steal_waiter(&cpus[1]));
	woken(&vcpu0);
	vmph_on_sched_migrate_task(&session, &vcpu0, 1);
	assert_null(vmph_steal_waiter(&cpus[0]));
	assert_ptr_equal(vmph_steal_waiter(&cpus[1]), known);
	assert_int_equal(atomic_read(&cpus[0].home), 1);
}

/* The one that came last has gone, an earlier one has not */
static void test_two_wait(void **state)
{
	struct vmph_vcpu *other;

	(void)state;
	switched(&hog, &vcpu1, true, TASK_RUNNING);
	switched(&vcpu1, &hog, false, TASK_INTERRUPTIBLE);
	other = vmph_vcpu_find(&session.vms, QEMU, vcpu1.pid);
	assert_non_null(other);
	woken(&vcpu0);
	woken(&vcpu1);
	assert_ptr_equal(vmph_steal_waiter(&cpus[0]), other);
	switched(&hog, &vcpu1, true, TASK_RUNNING);
	assert_ptr_equal(vmph_steal_waiter(&cpus[0]), known);
	switched(&vcpu1, &vcpu0, false, TASK_INTERRUPTIBLE);
	assert_null(vmph_steal_waiter(&cpus[0]));
}

static void test_dead(void **state)
{
	(void)state;
	woken(&vcpu0);
	switched(&hog, &vcpu0, true, TASK_RUNNING);
	switched(&vcpu0, &hog, false, TASK_DEAD);
	assert_null(vmph_steal_waiter(&cpus[0]));
	assert_int_equal(atomic_read(&cpus[0].home), 0);
	woken(&vcpu0);
	assert_null(vmph_steal_waiter(&cpus[0]));
}

/* Of VMs that nobody chose nothing is known */
static void test_not_chosen(void **state)
{
	struct task_struct other = { .tgid = 500, .pid = 501 };

	(void)state;
	loaded = &kvm_vcpu;
	other.on_cpu = 0;
	vmph_on_sched_switch(&session, true, &other, &hog, TASK_RUNNING);
	loaded = NULL;
	woken(&other);
	assert_null(vmph_steal_waiter(&cpus[0]));
	assert_int_equal(atomic_read(&cpus[0].home), 1);
}

static void test_hooks(void **state)
{
	(void)state;
	missing = 2;
	assert_int_equal(vmph_steal_start(&session), -ENOENT);
	missing = 0;
	refused = 2;
	assert_int_equal(vmph_steal_start(&session), -EEXIST);
	assert_int_equal(hooks, 0);
	refused = 0;
	assert_int_equal(vmph_steal_start(&session), 0);
	assert_int_equal(hooks, 3);
	vmph_steal_stop(&session);
	assert_int_equal(hooks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_asleep, setup),
		cmocka_unit_test_setup(test_woken, setup),
		cmocka_unit_test_setup(test_woken_while_it_runs, setup),
		cmocka_unit_test_setup(test_preempted, setup),
		cmocka_unit_test_setup(test_migrated, setup),
		cmocka_unit_test_setup(test_two_wait, setup),
		cmocka_unit_test_setup(test_dead, setup),
		cmocka_unit_test_setup(test_not_chosen, setup),
		cmocka_unit_test_setup(test_hooks, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
