// SPDX-License-Identifier: GPL-2.0-only
/*
 * exits.c - init of a tiny guest that leaves for its host, each way from a place of its own:
 * CPUID, I/O, memory that is nobody's, memory that was never touched, and sleep, for which its
 * kernel sets a timer and halts. "ready" goes to the serial port.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/io.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODYS	0xd0000000	/* between memory and devices */
#define FRESH	(80UL << 20)
#define PAGE	4096
#define ALONE	__attribute__((noinline, noclone))

extern const char at_cpuid[], at_io[], at_mmio[];

static ALONE void leave_by_cpuid(void)
{
	uint32_t eax = 0, ecx = 0;

	__asm__ volatile("at_cpuid: cpuid" : "+a" (eax), "+c" (ecx) : : "ebx", "edx");
}

static ALONE void leave_by_io(void)
{
	__asm__ volatile("at_io: outb %%al, %%dx" : : "a" (0), "d" (0x80));
}

static ALONE void leave_by_mmio(const volatile uint32_t *nobodys)
{
	uint32_t value;

	__asm__ volatile("at_mmio: movl %1, %0" : "=r" (value) : "m" (*nobodys));
}

int main(void)
{
	char *fresh = mmap(NULL, FRESH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile uint32_t *nobodys;
	size_t touched = 0;
	int i, mem;

	mkdir("/dev", 0755);
	mount("dev", "/dev", "devtmpfs", 0, NULL);
	mem = open("/dev/mem", O_RDONLY | O_SYNC);
	nobodys = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, mem, NOBODYS);
	if (nobodys == MAP_FAILED || fresh == MAP_FAILED || iopl(3)) {
		perror("exits");
		pause();
	}
	printf("at_cpuid=%p at_io=%p at_mmio=%p\nready\n", (const void *)at_cpuid,
	       (const void *)at_io, (const void *)at_mmio);
	fflush(stdout);
	for (;;) {
		for (i = 0; i < 1000; i++)
			leave_by_cpuid();
		for (i = 0; i < 200; i++)
			leave_by_io();
		for (i = 0; i < 200; i++)
			leave_by_mmio(nobodys);
		for (i = 0; i < 200 && touched < FRESH; i++, touched += PAGE)
			fresh[touched] = 1;
		for (i = 0; i < 20; i++)
			usleep(100);
	}
}
