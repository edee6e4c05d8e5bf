// SPDX-License-Identifier: GPL-2.0-only
/* driver.c - /dev/vmprof: versions, configuration, rings, totals. */
#include "collect/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/log.h"

/* Modules from these on know these requests */
#define TASKS_VERSION	4
#define ADD_VM_VERSION	8

extern char **environ;

/* Run modprobe; what it says last, if it fails, is left in @why. */
static int load_module(char *why, size_t size)
{
	char *argv[] = { "modprobe", "vmprof", NULL };
	posix_spawn_file_actions_t actions;
	int err, fd[2], status = -1;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	vmp_info("loading the module vmprof");
	if (pipe2(fd, O_CLOEXEC))
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd[1], 2);
	err = posix_spawnp(&pid, "modprobe", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fd[1]);
	while (!err && n < size - 1 && (got = read(fd[0], why + n, size - 1 - n)) > 0)
		n += got;
	close(fd[0]);
	n -= n && why[n - 1] == '\n';
	why[n] = 0;
	if (err) {
		snprintf(why, size, "modprobe: %s", strerror(err));
		return -err;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -ENOENT;
}

const char *vmp_driver_how_to_install(const char *root)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/usr/src/vmprof-" VMPROF_VERSION "/dkms.conf", root);
	return access(path, R_OK) ?
	       "install the package vmprof-dkms, or in the source tree: make -C host-driver dkms-install" :
	       "dkms install vmprof/" VMPROF_VERSION;
}

const char *vmp_driver_guest_lack(const struct vmprof_query *q)
{
	static const char *const why[] = {
		[VMPROF_GUEST_LACK_KVM] = "neither kvm_amd nor kvm_intel is loaded: modprobe kvm_amd (or kvm_intel)",
		[VMPROF_GUEST_LACK_SYMBOL] = "this kernel does not tell which vCPU runs: boot one in which kprobes find kvm_get_running_vcpu: grep -E 'KPROBES|KALLSYMS' /boot/config-$(uname -r)",
		[VMPROF_GUEST_LACK_LAYOUT] = "KVM keeps its state otherwise than in the kernel that it was built for: dkms install --force vmprof/" VMPROF_VERSION ", then modprobe -r vmprof && modprobe vmprof",
	};
	/* modules before interface 5 tell no more */
	uint32_t lack = q->vendor == VMPROF_VENDOR_NONE ? VMPROF_GUEST_LACK_KVM : q->guest_lack;

	return lack < sizeof(why) / sizeof(why[0]) ? why[lack] : "the kernel's log has the reason: dmesg | grep vmprof";
}

/* What helps where modprobe did not */
static const char *how_to_load(const char *why)
{
	if (strstr(why, "Key was rejected") || strstr(why, "Required key") || strstr(why, "not permitted"))
		return "the kernel loads signed modules only (Secure Boot, lockdown): enrol the key that signed it (\"Secure Boot\" in share/doc/vmprof/packages.md): mokutil --import /var/lib/dkms/mok.pub";
	return "else the kernel's log has the reason: dmesg | grep vmprof";
}

static int open_device(struct vmp_driver *d)
{
	d->fd = open(VMPROF_DEVICE, O_RDWR | O_CLOEXEC);
	return d->fd < 0 ? -errno : 0;
}

static int check_version(struct vmp_driver *d)
{
	if (ioctl(d->fd, VMPROF_IOC_QUERY, &d->query)) {
		vmp_err(VMPROF_DEVICE " does not answer as vmprof's module does: %m");
		return -EPROTO;
	}
	if (d->query.compat > VMPROF_UAPI_VERSION || d->query.version < VMPROF_UAPI_COMPAT) {
		vmp_err("the loaded module vmprof has interface %u, this command needs %u\n"
			"  install the module of this version, then: modprobe -r vmprof && modprobe vmprof",
			d->query.version, VMPROF_UAPI_VERSION);
		return -EPROTO;
	}
	return 0;
}

int vmp_driver_open(struct vmp_driver *d)
{
	char why[512];
	int err;

	memset(d, 0, sizeof(*d));
	err = open_device(d);
	if (err == -ENOENT) {
		if (load_module(why, sizeof(why))) {
			vmp_err("the kernel module vmprof cannot be loaded: %s\n"
				"  not found: %s\n"
				"  %s",
				why, vmp_driver_how_to_install(""), how_to_load(why));
			return -ENOENT;
		}
		err = open_device(d);
	}
	if (err == -EACCES || err == -EPERM) {
		vmp_err("no permission to open " VMPROF_DEVICE "; run vmprof as root");
		return err;
	}
	if (err) {
		vmp_err("cannot open " VMPROF_DEVICE ": %s\n"
			"  the kernel's log has the reason: dmesg | grep vmprof", strerror(-err));
		return err;
	}
	err = check_version(d);
	if (err)
		vmp_driver_close(d);
	return err;
}

static int map_ring(struct vmp_driver *d, uint32_t cpu)
{
	void *cons, *prod, *data;

	cons = mmap(NULL, d->query.page_size, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd,
		    (off_t)VMPROF_MMAP_CONSUMER(cpu));
	if (cons == MAP_FAILED)
		return -errno;
	prod = mmap(NULL, d->query.page_size, PROT_READ, MAP_SHARED, d->fd,
		    (off_t)VMPROF_MMAP_PRODUCER(cpu));
	if (prod == MAP_FAILED)
		goto unmap_cons;
	data = mmap(NULL, d->ring_bytes, PROT_READ, MAP_SHARED, d->fd,
		    (off_t)VMPROF_MMAP_DATA(cpu));
	if (data == MAP_FAILED)
		goto unmap_prod;
	vmp_ring_init(&d->rings[cpu], prod, cons, data, d->ring_bytes);
	return 0;
unmap_prod:
	munmap(prod, d->query.page_size);
unmap_cons:
	munmap(cons, d->query.page_size);
	return -errno;
}

/* CPU numbers may have holes: of one that cannot be there, nothing can be asked. */
static int is_hole(const struct vmp_driver *d, uint32_t cpu)
{
	struct vmprof_cpu_stats stats;

	return vmp_driver_stats(d, cpu, &stats) == -EINVAL;
}

static int map_rings(struct vmp_driver *d)
{
	uint32_t cpu;
	int err;

	d->rings = calloc(d->query.nr_cpus, sizeof(*d->rings));
	if (!d->rings)
		return -ENOMEM;
	for (cpu = 0; cpu < d->query.nr_cpus; cpu++) {
		if (is_hole(d, cpu))
			continue;
		err = map_ring(d, cpu);
		if (err)
			return err;
	}
	return 0;
}

static int refused(int err, const struct vmprof_config *c)
{
	if (err == -ENOMEM)
		vmp_err("no memory for rings of %u bytes per CPU; choose a smaller --buffer",
			c->ring_bytes);
	else if (err == -EOPNOTSUPP)
		vmp_err("this host cannot count that event (type %u, config 0x%llx)\n"
			"  --event cpu-clock needs no counter; vmprof doctor tells more",
			c->event_type, c->event_config);
	else if (err == -EINVAL)
		vmp_err("this event cannot be sampled (type %u, config 0x%llx); --event cycles can, --event cpu-clock everywhere",
			c->event_type, c->event_config);
	else if (err == -EBUSY)
		vmp_err("the module vmprof is taken by another session; vmprof status tells whose");
	else
		vmp_err("the module vmprof refuses the configuration: %s\n"
			"  the kernel's log has the reason: dmesg | grep vmprof", strerror(-err));
	return err;
}

int vmp_driver_config(struct vmp_driver *d, struct vmprof_config *config,
		      const uint32_t *vms, uint32_t nr)
{
	int err;

	config->size = sizeof(*config);
	config->nr_vms = nr;
	config->vms = (uintptr_t)vms;
	if (ioctl(d->fd, VMPROF_IOC_CONFIG, config))
		return refused(-errno, config);
	d->ring_bytes = config->ring_bytes;
	err = map_rings(d);
	if (err)
		vmp_err("cannot map the rings of " VMPROF_DEVICE ": %s; choose a smaller --buffer",
			strerror(-err));
	return err;
}

int vmp_driver_try(const struct vmprof_config *config, const uint32_t *vms, uint32_t nr)
{
	struct vmprof_config smallest = *config;
	int err = 0, fd = open(VMPROF_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	smallest.size = sizeof(smallest);
	smallest.ring_bytes = VMPROF_RING_MIN;
	smallest.nr_vms = nr;
	smallest.vms = (uintptr_t)vms;
	if (ioctl(fd, VMPROF_IOC_CONFIG, &smallest) || ioctl(fd, VMPROF_IOC_START))
		err = -errno;
	close(fd);
	return err;
}

int vmp_driver_tasks(const struct vmp_driver *d, const struct vmprof_tasks *tasks)
{
	if (d->query.version < TASKS_VERSION)
		return -EOPNOTSUPP;
	return ioctl(d->fd, VMPROF_IOC_TASKS, tasks) ? -errno : 0;
}

int vmp_driver_adds_vms(const struct vmp_driver *d)
{
	return d->query.version >= ADD_VM_VERSION;
}

int vmp_driver_add_vm(const struct vmp_driver *d, uint32_t vm)
{
	return ioctl(d->fd, VMPROF_IOC_ADD_VM, &vm) ? -errno : 0;
}

int vmp_driver_knows(const struct vmp_driver *d, const char *option, uint32_t version)
{
	if (d->query.version >= version)
		return 0;
	vmp_err("%s: the loaded module vmprof is too old for it\n"
		"  install the module of this version, then: modprobe -r vmprof && modprobe vmprof", option);
	return -EPROTO;
}

int vmp_driver_start(struct vmp_driver *d)
{
	int err;

	if (!ioctl(d->fd, VMPROF_IOC_START))
		return 0;
	err = -errno;
	if (err == -EBUSY)
		vmp_err("sampling cannot begin: another session runs, or all counters are taken\n"
			"  the NMI watchdog holds one: sysctl kernel.nmi_watchdog=0; perf may hold others; --cpi takes two more, which --no-cpi leaves; --lbr does not go beside perf record -b");
	else if (err == -EOPNOTSUPP && (d->query.features & VMPROF_FEAT_MEDIATED))
		vmp_err("KVM's mediated vPMU keeps the counters for its guests\n"
			"  load kvm_intel or kvm_amd with enable_mediated_pmu=0, or use --event cpu-clock");
	else if (err == -EOPNOTSUPP)
		vmp_err("this host cannot sample that event; --event cpu-clock needs no counter");
	else if (err == -ENODEV && vmp_driver_guest_lack(&d->query))
		vmp_err("the module cannot read what guests do: %s", vmp_driver_guest_lack(&d->query));
	else if (err == -ENODEV)
		vmp_err("the module cannot read what guests do; the kernel's log has the reason: dmesg | grep vmprof");
	else if (err == -EINVAL)
		vmp_err("this event cannot be sampled; --event cycles can, --event cpu-clock everywhere");
	else
		vmp_err("sampling cannot begin: %s\n"
			"  the kernel's log has the reason: dmesg | grep vmprof", strerror(-err));
	return err;
}

int vmp_driver_stop(struct vmp_driver *d)
{
	int err;

	if (!ioctl(d->fd, VMPROF_IOC_STOP))
		return 0;
	err = -errno;
	vmp_err("the module vmprof does not stop: %s; dmesg | grep vmprof has the reason\n"
		"  it stops when its collector ends: kill %d", strerror(-err), getpid());
	return err;
}

int vmp_driver_stats(const struct vmp_driver *d, uint32_t cpu, struct vmprof_cpu_stats *s)
{
	memset(s, 0, sizeof(*s));
	s->cpu = cpu;
	return ioctl(d->fd, VMPROF_IOC_STATS, s) ? -errno : 0;
}

void vmp_driver_close(struct vmp_driver *d)
{
	uint32_t cpu;

	for (cpu = 0; d->rings && cpu < d->query.nr_cpus; cpu++) {
		struct vmp_ring *r = &d->rings[cpu];

		if (!r->data)
			continue;
		munmap((void *)r->data, d->ring_bytes);
		munmap((void *)r->producer, d->query.page_size);
		munmap(r->consumer, d->query.page_size);
	}
	free(d->rings);
	d->rings = NULL;
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}
