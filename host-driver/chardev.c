// SPDX-License-Identifier: GPL-2.0-only
/*
 * chardev.c - /dev/vmprof: the device's operations, as include/vmprof/uapi.h has them.
 *
 * User memory is copied before session->lock is taken and after it is released, and mmap(), which
 * comes in under the mmap lock, takes no lock of ours: START holds session->lock while it waits
 * for CPU hotplug, and others hold that back while they wait for mmap locks.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <asm/tsc.h>
#include "chardev.h"
#include "compat/compat.h"
#include "guest.h"
#include "session.h"
#include "steal.h"

static int vmph_open(struct inode *inode, struct file *file)
{
	struct vmph_session *session;
	int err;

	if (!capable(CAP_SYS_ADMIN) && !capable(CAP_PERFMON))
		return -EPERM;
	err = vmph_session_create(&session);
	if (err)
		return err;
	file->private_data = session;
	return 0;
}

static int vmph_release(struct inode *inode, struct file *file)
{
	vmph_session_destroy(file->private_data);
	return 0;
}

static long vmph_ioc_query(struct vmprof_query __user *user)
{
	struct perf_event_attr cycles;
	bool lbr_cycles;
	u8 lbr_entries;
	struct vmprof_query query = {
		.version = VMPROF_UAPI_VERSION,
		.compat = VMPROF_UAPI_COMPAT,
		.features = VMPROF_FEAT_TIMER,
		.nr_cpus = nr_cpu_ids,
		.tsc_khz = tsc_khz,
		.page_size = PAGE_SIZE,
	};

	query.vendor = vmph_kvm_vendor();
	vmph_counters_attr(&cycles, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000000);
	if (!vmph_counters_try(&cycles))
		query.features |= VMPROF_FEAT_PMU;
	if (vmph_steal_available())
		query.features |= VMPROF_FEAT_STEAL;
	if (vmph_kvm_mediated_pmu())
		query.features |= VMPROF_FEAT_MEDIATED;
	query.lbr_lack = vmph_lbr_lack(&lbr_entries, &lbr_cycles);
	query.lbr_entries = lbr_entries;
	query.guest_lack = vmph_session_guest_lack();
	if (!query.lbr_lack)
		query.features |= VMPROF_FEAT_LBR | (lbr_cycles ? VMPROF_FEAT_LBR_CYCLES : 0);
	return copy_to_user(user, &query, sizeof(query)) ? -EFAULT : 0;
}

static long vmph_ioc_config(struct vmph_session *session, struct vmprof_config __user *user)
{
	struct vmprof_config config;
	u32 *vms = NULL;
	int err;

	if (copy_from_user(&config, user, sizeof(config)))
		return -EFAULT;
	if (config.nr_vms > VMPROF_MAX_VMS)
		return -EINVAL;
	if (config.nr_vms && !(config.flags & VMPROF_CFG_ALL)) {
		vms = memdup_user(u64_to_user_ptr(config.vms), config.nr_vms * sizeof(*vms));
		if (IS_ERR(vms))
			return PTR_ERR(vms);
	}
	err = vmph_session_config(session, &config, vms);
	kfree(vms);
	return err;
}

static long vmph_ioc_stats(struct vmph_session *session, struct vmprof_cpu_stats __user *user)
{
	struct vmprof_cpu_stats stats;
	int err;

	if (copy_from_user(&stats, user, sizeof(stats)))
		return -EFAULT;
	err = vmph_session_stats(session, &stats);
	if (err)
		return err;
	return copy_to_user(user, &stats, sizeof(stats)) ? -EFAULT : 0;
}

static long vmph_ioc_tasks(struct vmph_session *session, struct vmprof_tasks __user *user)
{
	struct vmprof_tasks told;

	if (copy_from_user(&told, user, sizeof(told)))
		return -EFAULT;
	return vmph_session_tasks(session, &told);
}

static long vmph_ioc_add_vm(struct vmph_session *session, u32 __user *user)
{
	u32 vm;

	return get_user(vm, user) ? -EFAULT : vmph_session_add_vm(session, vm);
}

static long vmph_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct vmph_session *session = file->private_data;
	void __user *user = (void __user *)arg;

	switch (cmd) {
	case VMPROF_IOC_QUERY:
		return vmph_ioc_query(user);
	case VMPROF_IOC_CONFIG:
		return vmph_ioc_config(session, user);
	case VMPROF_IOC_START:
		return vmph_session_start(session);
	case VMPROF_IOC_STOP:
		vmph_session_stop(session);
		return 0;
	case VMPROF_IOC_STATS:
		return vmph_ioc_stats(session, user);
	case VMPROF_IOC_TASKS:
		return vmph_ioc_tasks(session, user);
	case VMPROF_IOC_ADD_VM:
		return vmph_ioc_add_vm(session, user);
	default:
		return -ENOTTY;
	}
}

static int vmph_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct vmph_session *session = file->private_data;
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 cpu = offset >> VMPROF_MMAP_CPU_SHIFT;

	if (!vmph_session_has_rings(session) || cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return -EINVAL;
	return vmph_ringmem_mmap(&session->cpus[cpu]->mem, vma,
				 offset - (cpu << VMPROF_MMAP_CPU_SHIFT));
}

static __poll_t vmph_poll(struct file *file, poll_table *wait)
{
	struct vmph_session *session = file->private_data;

	poll_wait(file, &session->wait, wait);
	return vmph_session_readable(session) ? EPOLLIN | EPOLLRDNORM : 0;
}

static const struct file_operations vmph_fops = {
	.owner = THIS_MODULE,
	.open = vmph_open,
	.release = vmph_release,
	.unlocked_ioctl = vmph_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = vmph_mmap,
	.poll = vmph_poll,
	.llseek = noop_llseek,
};

static struct miscdevice vmph_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "vmprof",
	.fops = &vmph_fops,
	.mode = 0600,
};

int vmph_chardev_init(void)
{
	return misc_register(&vmph_device);
}

void vmph_chardev_exit(void)
{
	misc_deregister(&vmph_device);
}
