// SPDX-License-Identifier: GPL-2.0-only
/*
 * vm.c - the smallest VM that has something to sample: its vCPUs count in real mode and leave for
 * this program now and then.  Says "ready" and runs until it is killed.
 *
 * Its memory is full of numbers that are addresses in it, for who looks for tasks there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vm.h"

#define CODE_GPA	0x1000

static const uint8_t code[] = {
	0xb9, 0x00, 0x20,	/* mov $0x2000, %cx */
	0xe2, 0xfe,		/* 1: loop 1b */
	0xe6, 0x10,		/* out %al, $0x10 */
	0xeb, 0xf7,		/* jmp to the first */
};

static int vm;
static size_t run_bytes;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void *vcpu(void *nr)
{
	struct kvm_regs regs = { .rip = CODE_GPA, .rflags = 2 };
	struct kvm_sregs sregs;
	struct kvm_run *run;
	int fd = ioctl(vm, KVM_CREATE_VCPU, (unsigned long)nr);

	if (fd < 0 || ioctl(fd, KVM_GET_SREGS, &sregs))
		die("vm: vCPU");
	sregs.cs.base = 0;
	sregs.cs.selector = 0;
	run = mmap(NULL, run_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (run == MAP_FAILED || ioctl(fd, KVM_SET_SREGS, &sregs) || ioctl(fd, KVM_SET_REGS, &regs))
		die("vm: vCPU");
	for (unsigned long i = 0;; i++) {
		if (ioctl(fd, KVM_RUN, 0) && errno != EINTR && errno != EAGAIN)
			die("vm: run");
		if (run->exit_reason != KVM_EXIT_IO && run->exit_reason != KVM_EXIT_INTR) {
			fprintf(stderr, "vm: exit %u\n", run->exit_reason);
			exit(1);
		}
		if (!nr && i == 10 && write(STDOUT_FILENO, "ready\n", 6) < 0)
			exit(1);
	}
}

int main(void)
{
	struct kvm_userspace_memory_region slot = { .memory_size = VM_RAM_BYTES, .userspace_addr = VM_RAM_HVA };
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	uint64_t *ram;
	pthread_t thread[VM_VCPUS];
	unsigned long i;

	if (kvm < 0)
		die("/dev/kvm");
	ram = mmap((void *)VM_RAM_HVA, VM_RAM_BYTES, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (ram == MAP_FAILED)
		die("vm: memory");
	for (i = 0; i < VM_RAM_BYTES / sizeof(*ram); i++)
		ram[i] = i * 0x9e3779b97f4a7c15ULL % VM_RAM_BYTES & ~7ULL;
	memcpy((char *)ram + CODE_GPA, code, sizeof(code));
	vm = ioctl(kvm, KVM_CREATE_VM, 0);
	run_bytes = (size_t)ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	if (vm < 0 || ioctl(vm, KVM_SET_USER_MEMORY_REGION, &slot))
		die("vm: VM");
	for (i = 0; i < VM_VCPUS; i++)
		if (pthread_create(&thread[i], NULL, vcpu, (void *)i))
			die("vm: thread");
	pause();
	return 0;
}
