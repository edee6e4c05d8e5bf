// SPDX-License-Identifier: GPL-2.0-only
/*
 * main.c - /dev/vmprof_guest: who lives in this guest, told to one reader.
 *
 * The interface is guest_uapi.h; what is read is the agent protocol's.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/irqflags.h>
#include <linux/kallsyms.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <asm/cpufeature.h>
#include <asm/msr.h>
#include <asm/special_insns.h>
#include <asm/tsc.h>

#include "guest_uapi.h"
#include "probes.h"
#include "ring.h"
#include "session.h"

#define RING_KB_MIN	256U		/* four times the largest record */
#define RING_KB_MAX	(1U << 20)

static unsigned int ring_kb = 4096;
module_param(ring_kb, uint, 0644);
MODULE_PARM_DESC(ring_kb, "memory for events while a session runs, KiB (default 4096, rounded up to a power of two)");

static int guest_open(struct inode *inode, struct file *file)
{
	int ret = vmpg_session_open(clamp(READ_ONCE(ring_kb), RING_KB_MIN, RING_KB_MAX) * 1024);

	return ret ?: stream_open(inode, file);
}

static int guest_release(struct inode *inode, struct file *file)
{
	vmpg_session_close();
	return 0;
}

static ssize_t guest_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	struct vmpg_ring *ring = vmpg_session_ring();
	ssize_t ret;

	ret = vmpg_session_lock();
	if (ret)
		return ret;
	ret = vmpg_ring_read(ring, buf, len);
	while (!ret && !(file->f_flags & O_NONBLOCK)) {
		ret = wait_event_interruptible(ring->readable, !vmpg_ring_empty(ring));
		if (!ret)
			ret = vmpg_ring_read(ring, buf, len);
	}
	vmpg_session_unlock();
	return ret ?: -EAGAIN;
}

static __poll_t guest_poll(struct file *file, poll_table *wait)
{
	struct vmpg_ring *ring = vmpg_session_ring();

	poll_wait(file, &ring->readable, wait);
	return vmpg_ring_is_due(ring) ? EPOLLIN | EPOLLRDNORM : 0;
}

static void fill_query(struct vmpg_query *q)
{
	unsigned long irq;

	*q = (struct vmpg_query){
		.version = VMPG_UAPI_VERSION,
		.flags = (boot_cpu_has(X86_FEATURE_PTI) ? VMPG_QUERY_PTI : 0) |
			 (__read_cr4() & X86_CR4_LA57 ? VMPG_QUERY_LA57 : 0),
		.nr_cpus = num_online_cpus(),
		.tsc_khz = tsc_khz,
		.ring_bytes = vmpg_session_ring()->size,
	};
	local_irq_save(irq);
	q->tsc = rdtsc_ordered();
	q->realtime_ns = ktime_get_real_ns();
	local_irq_restore(irq);
}

/* By the one function for this that modules may call: "name+0xoffset/0xbytes [module]" */
static int fill_symbol(struct vmpg_symbol *symbol)
{
	char *text = kmalloc(KSYM_SYMBOL_LEN, GFP_KERNEL), *plus;
	unsigned long offset, bytes = 0;
	int ret = -ENOENT;

	if (!text)
		return -ENOMEM;
	sprint_symbol(text, symbol->address);
	plus = strrchr(text, '+');
	if (plus && sscanf(plus, "+%lx/%lx", &offset, &bytes) == 2 && !offset) {
		symbol->bytes = bytes;
		ret = 0;
	}
	kfree(text);
	return ret;
}

static atomic64_t modules_changed;

static int on_module(struct notifier_block *nb, unsigned long state, void *module)
{
	if (state == MODULE_STATE_LIVE || state == MODULE_STATE_GOING)
		atomic64_inc(&modules_changed);
	return NOTIFY_DONE;
}

static struct notifier_block module_notifier = { .notifier_call = on_module };

static long guest_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;
	struct vmpg_query query;
	struct vmpg_symbol symbol;
	struct vmpg_lost lost;
	u64 token, changed;
	int ret;

	switch (cmd) {
	case VMPG_IOC_QUERY:
		fill_query(&query);
		return copy_to_user(user, &query, sizeof(query)) ? -EFAULT : 0;
	case VMPG_IOC_START:
		return arg ? -EINVAL : vmpg_session_start();
	case VMPG_IOC_STOP:
		if (arg)
			return -EINVAL;
		vmpg_session_stop();
		return 0;
	case VMPG_IOC_SNAPSHOT:
		if (copy_from_user(&token, user, sizeof(token)))
			return -EFAULT;
		return vmpg_session_snapshot(token);
	case VMPG_IOC_LOST:
		vmpg_session_lost(&lost);
		return copy_to_user(user, &lost, sizeof(lost)) ? -EFAULT : 0;
	case VMPG_IOC_SYMBOL:
		if (copy_from_user(&symbol, user, sizeof(symbol)))
			return -EFAULT;
		ret = fill_symbol(&symbol);
		return ret ?: copy_to_user(user, &symbol, sizeof(symbol)) ? -EFAULT : 0;
	case VMPG_IOC_MODULES:
		changed = atomic64_read(&modules_changed);
		return copy_to_user(user, &changed, sizeof(changed)) ? -EFAULT : 0;
	case VMPG_IOC_MADE:
		ret = vmpg_probes_made(&changed);
		return ret ?: copy_to_user(user, &changed, sizeof(changed)) ? -EFAULT : 0;
	}
	return -ENOTTY;
}

static const struct file_operations guest_fops = {
	.owner = THIS_MODULE,
	.open = guest_open,
	.release = guest_release,
	.read = guest_read,
	.poll = guest_poll,
	.unlocked_ioctl = guest_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice guest_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = VMPG_DEVICE_NAME,
	.fops = &guest_fops,
	.mode = 0600,
};

static int __init guest_init(void)
{
	int ret;

	ret = vmpg_probes_check();
	if (ret)
		return ret;
	ret = vmpg_session_module_init();
	if (ret)
		return ret;
	ret = register_module_notifier(&module_notifier);
	if (ret)
		goto out_session;
	ret = misc_register(&guest_misc);
	if (ret)
		goto out_notifier;
	return 0;
out_notifier:
	unregister_module_notifier(&module_notifier);
out_session:
	vmpg_session_module_exit();
	return ret;
}

static void __exit guest_exit(void)
{
	misc_deregister(&guest_misc);
	unregister_module_notifier(&module_notifier);
	vmpg_session_module_exit();
}

module_init(guest_init);
module_exit(guest_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("vmprof: tells the host's profiler which processes live in this guest");
MODULE_AUTHOR("The vmprof authors");
MODULE_VERSION(VMPROF_VERSION);
