// SPDX-License-Identifier: GPL-2.0-only
/* faults.c - a module that does what the debug kernel is there to find: kind=, one at a time. It does not stay. */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/string.h>

static char *kind = "";
module_param(kind, charp, 0);

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);

static void sleep_in_atomic(void)
{
	preempt_disable();
	might_sleep();
	preempt_enable();
}

static void use_freed(void)
{
	int *p = kzalloc(64, GFP_KERNEL);

	kfree(p);
	OPTIMIZER_HIDE_VAR(p);
	if (p)
		pr_info("faults: %d\n", READ_ONCE(*p));
}

static void shift_too_far(void)
{
	int by = 64;

	OPTIMIZER_HIDE_VAR(by);
	pr_info("faults: %d\n", 1 << by);
}

static void lose_memory(void)
{
	char *p = kzalloc(64, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(p);
}

static void lock_both_ways(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static const struct {
	const char *kind;
	void (*plant)(void);
} faults[] = {
	{ "sleep", sleep_in_atomic }, { "freed", use_freed }, { "shift", shift_too_far },
	{ "leak", lose_memory }, { "locks", lock_both_ways },
};

static int __init faults_init(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (strcmp(kind, faults[i].kind))
			continue;
		faults[i].plant();
		return -ECANCELED;
	}
	return -EINVAL;
}

module_init(faults_init);
MODULE_DESCRIPTION("faults that a debug kernel finds");
MODULE_LICENSE("GPL");
