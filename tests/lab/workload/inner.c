// SPDX-License-Identifier: GPL-2.0-only
/*
 * inner.c - inner ADDRESS SECONDS: a virtual machine of its own, by KVM, for so many seconds; 0 leaves
 * after its first exit. Its one vCPU spins in long mode, at CPL 0 and at the linear ADDRESS, and leaves by OUT
 * about every million instructions.
 */
#include <err.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE	4096UL
#define CODE	(5 * PAGE)	/* behind four levels of page tables, which begin at the second page */
#define BYTES	(16 * PAGE)
#define PRESENT	3		/* and writable */

/* again: mov $500000, %ecx; spin: dec %ecx; jnz spin; out %al, $0x80; jmp again */
static const uint8_t code[] = {
	0xb9, 0x20, 0xa1, 0x07, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0xe6, 0x80, 0xeb, 0xf3,
};

static int call(int fd, unsigned long request, void *arg)
{
	int ret = ioctl(fd, request, arg);

	if (ret < 0)
		err(1, "KVM's ioctl %#lx", request);
	return ret;
}

/* The code at @address, and page tables that show this one page */
static void fill(uint8_t *memory, uint64_t address)
{
	unsigned int level;

	for (level = 1; level <= 4; level++) {
		uint64_t *table = (uint64_t *)(memory + level * PAGE);

		table[address >> (48 - 9 * level) & 511] = (level + 1) * PAGE | PRESENT;
	}
	memcpy(memory + CODE + address % PAGE, code, sizeof(code));
}

static void set_registers(int vcpu, uint64_t address)
{
	struct kvm_regs regs = { .rip = address, .rflags = 2 };
	struct kvm_segment flat = { .limit = ~0U, .type = 3, .present = 1, .s = 1, .g = 1, .db = 1, .selector = 16 };
	struct kvm_sregs sregs;

	call(vcpu, KVM_GET_SREGS, &sregs);
	sregs.ds = sregs.es = sregs.ss = flat;
	sregs.cs = flat;
	sregs.cs.selector = 8;
	sregs.cs.type = 11;
	sregs.cs.db = 0;
	sregs.cs.l = 1;
	sregs.cr0 = 0x80000033;		/* PG NE ET MP PE */
	sregs.cr3 = PAGE;
	sregs.cr4 = 0x20;		/* PAE */
	sregs.efer = 0x500;		/* LMA LME */
	call(vcpu, KVM_SET_SREGS, &sregs);
	call(vcpu, KVM_SET_REGS, &regs);
}

/* Long mode and addresses of that size are a processor's that has them */
static void set_features(int kvm, int vcpu)
{
	static struct { struct kvm_cpuid2 head; struct kvm_cpuid_entry2 entries[256]; } all = { .head = { .nent = 256 } };

	call(kvm, KVM_GET_SUPPORTED_CPUID, &all);
	call(vcpu, KVM_SET_CPUID2, &all);
}

int main(int argc, char **argv)
{
	struct kvm_userspace_memory_region region = { .memory_size = BYTES };
	uint64_t address = argc == 3 ? strtoull(argv[1], NULL, 16) : 0;
	time_t end = time(NULL) + (argc == 3 ? atoi(argv[2]) : 0);
	int kvm, vm, vcpu;
	struct kvm_run *run;

	if (!address || address % PAGE > PAGE - sizeof(code))
		errx(2, "usage: inner ADDRESS SECONDS, the code within one page");
	kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (kvm < 0)
		err(1, "/dev/kvm");
	vm = call(kvm, KVM_CREATE_VM, NULL);
	region.userspace_addr = (uint64_t)mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fill((uint8_t *)region.userspace_addr, address);
	call(vm, KVM_SET_USER_MEMORY_REGION, &region);
	vcpu = call(vm, KVM_CREATE_VCPU, NULL);
	run = mmap(NULL, (size_t)call(kvm, KVM_GET_VCPU_MMAP_SIZE, NULL), PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
	if (run == MAP_FAILED)
		err(1, "KVM's page of a vCPU");
	set_features(kvm, vcpu);
	set_registers(vcpu, address);
	do {
		call(vcpu, KVM_RUN, NULL);
		if (run->exit_reason != KVM_EXIT_IO)
			errx(1, "it left with KVM's reason %u", run->exit_reason);
	} while (time(NULL) < end);
	return 0;
}
