// SPDX-License-Identifier: GPL-2.0-only
/*
 * nested.c - a guest that has a guest of its own, on the bare (virtual) machine: it takes turns in a
 * loop of its own with its guest, which runs another one, three times as long, and calls back.
 *
 * 32-bit, flat, all memory mapped where it lies. Guest and guest's guest have an address space
 * each. What it is called with (multiboot) does not matter; what it says goes to the serial port,
 * "ready" when its guest has run once.
 */
#include <stdint.h>

#define OUTER_ROUNDS	100000
#define INNER_ROUNDS	(3 * OUTER_ROUNDS)

#define SERIAL		0x3f8

#define CODE		0x08	/* the GDT's selectors */
#define DATA		0x10
#define TSS		0x18

#define RFLAGS_IF	(1U << 9)
#define CR0_NE		(1U << 5)
#define CR0_PG		(1U << 31)
#define CR4_PSE		(1U << 4)
#define CR4_VMXE	(1U << 13)
#define PDE_4M		0xe3	/* present, writable, accessed, dirty, 4 MiB */

#define MSR_FEATURE_CONTROL	0x3a
#define FEATURE_CONTROL_VMXON	5	/* and locked */
#define MSR_VMX_BASIC		0x480
#define MSR_VMX_PIN		0x481
#define MSR_VMX_PROC		0x482
#define MSR_VMX_EXIT		0x483
#define MSR_VMX_ENTRY		0x484

#define EXIT_VMCALL		18

/* Fields of the VMCS (Intel's SDM vol. 3, appendix B) */
enum {
	GUEST_ES = 0x800, GUEST_CS = 0x802, GUEST_SS = 0x804, GUEST_DS = 0x806,
	GUEST_FS = 0x808, GUEST_GS = 0x80a, GUEST_TR = 0x80e,
	HOST_ES = 0xc00, HOST_CS = 0xc02, HOST_SS = 0xc04, HOST_DS = 0xc06,
	HOST_FS = 0xc08, HOST_GS = 0xc0a, HOST_TR = 0xc0c,
	LINK = 0x2800,
	PIN = 0x4000, PROC = 0x4002, VMEXIT = 0x400c, VMENTRY = 0x4012,
	ERROR = 0x4400, REASON = 0x4402,
	GUEST_ES_LIMIT = 0x4800, GUEST_TR_LIMIT = 0x480e,
	GUEST_ES_AR = 0x4814, GUEST_CS_AR = 0x4816, GUEST_LDTR_AR = 0x4820, GUEST_TR_AR = 0x4822,
	GUEST_CR0 = 0x6800, GUEST_CR3 = 0x6802, GUEST_CR4 = 0x6804, GUEST_DR7 = 0x681a,
	GUEST_RIP = 0x681e, GUEST_RFLAGS = 0x6820,
	HOST_CR0 = 0x6c00, HOST_CR3 = 0x6c02, HOST_CR4 = 0x6c04,
	HOST_RIP = 0x6c16,
};

void outer_run(uint32_t rounds);
extern char loop_outer[], loop_inner[], inner_start[], left[];
int enter_guest(void);

__asm__(
"	.section .multiboot, \"a\"\n"
"	.balign 4\n"
"	.long 0x1badb002, 0, -0x1badb002\n"
"	.text\n"
"	.globl start\n"
"start:	mov $stack_top, %esp\n"
"	lgdt gdt_ptr\n"
"	ljmp $0x08, $1f\n"
"1:	mov $0x10, %eax\n"
"	mov %eax, %ds\n"
"	mov %eax, %es\n"
"	mov %eax, %ss\n"
"	mov %eax, %fs\n"
"	mov %eax, %gs\n"
"	call main\n"
"2:	hlt\n"
"	jmp 2b\n"
"\n"
"	.balign 64\n"
"outer_run:\n"
"	mov 4(%esp), %ecx\n"
"	sti\n"				/* an exit cleared it */
"loop_outer:\n"
"	sub $1, %ecx\n"			/* three bytes */
"	jnz loop_outer\n"
"	ret\n"
"\n"
"	.balign 64\n"
"inner_start:\n"			/* ecx: rounds */
"loop_inner:\n"
"	sub $1, %ecx\n"
"	jnz loop_inner\n"
"	vmcall\n"
"\n"
/* int enter_guest(void): 0 after the guest's exit, 1 where there was no entry */
"enter_guest:\n"
"	pusha\n"
"	mov %esp, %eax\n"
"	mov $0x6c14, %edx\n"		/* HOST_RSP */
"	vmwrite %eax, %edx\n"
"	mov inner_rounds, %ecx\n"
"	testb $1, launched\n"
"	jnz 1f\n"
"	movb $1, launched\n"
"	vmlaunch\n"
"	jmp 2f\n"
"1:	vmresume\n"
"2:	popa\n"
"	mov $1, %eax\n"
"	ret\n"
"left:	popa\n"
"	xor %eax, %eax\n"
"	ret\n"
"\n"
"	.data\n"
"	.balign 8\n"
"gdt:	.quad 0, 0x00cf9b000000ffff, 0x00cf93000000ffff\n"
"gdt_ptr:\n"
"	.word 23\n"
"	.long gdt\n"
"launched:\n"
"	.byte 0\n"
"	.bss\n"
"	.balign 16\n"
"	.skip 16384\n"
"stack_top:\n"
"	.text\n");

uint32_t inner_rounds = INNER_ROUNDS;
static uint32_t vmxon_page[1024] __attribute__((aligned(4096)));
static uint32_t vmcs_page[1024] __attribute__((aligned(4096)));
static uint32_t outer_pages[1024] __attribute__((aligned(4096)));
static uint32_t inner_pages[1024] __attribute__((aligned(4096)));
static uint8_t tss[104];

static void put(const char *s)
{
	for (; *s; s++)
		__asm__ volatile("outb %0, %1" : : "a"(*s), "Nd"((uint16_t)SERIAL));
}

static void put_hex(const char *name, uint32_t v)
{
	char text[9];
	int i;

	for (i = 0; i < 8; i++)
		text[i] = "0123456789abcdef"[v >> (28 - 4 * i) & 15];
	text[8] = 0;
	put(name);
	put("=0x");
	/* as others print it */
	for (i = 0; i < 7 && text[i] == '0'; i++)
		;
	put(text + i);
	put(" ");
}

static uint64_t rdmsr(uint32_t msr)
{
	uint64_t v;

	__asm__ volatile("rdmsr" : "=A"(v) : "c"(msr));
	return v;
}

static void vmwrite(uint32_t field, uint32_t v)
{
	__asm__ volatile("vmwrite %0, %1" : : "r"(v), "r"(field) : "cc");
}

static uint32_t vmread(uint32_t field)
{
	uint32_t v;

	__asm__ volatile("vmread %1, %0" : "=r"(v) : "r"(field) : "cc");
	return v;
}

static void stop(const char *why, uint32_t v)
{
	put_hex(why, v);
	put("\n");
	for (;;)
		__asm__ volatile("hlt");
}

/* There are none, but both loops are open to them: Bochs keeps back what ends a guest's run where they are not */
static void interrupts_off(void)
{
	__asm__ volatile("outb %%al, $0x21\n outb %%al, $0xa1\n" : : "a"(0xff));
}

/* What has to be 1, and nothing else */
static void control(uint32_t field, uint32_t msr)
{
	vmwrite(field, (uint32_t)rdmsr(msr));
}

static void paging_on(void)
{
	uint32_t i;

	for (i = 0; i < 1024; i++)
		outer_pages[i] = inner_pages[i] = i << 22 | PDE_4M;
	__asm__ volatile("mov %0, %%cr4\n"
			 "mov %1, %%cr3\n"
			 "mov %2, %%cr0\n"
			 : : "r"(CR4_PSE | CR4_VMXE), "r"(outer_pages), "r"(CR0_PG | CR0_NE | 0x11) : "memory");
}

static void vmx_on(void)
{
	uint64_t region = (uint32_t)vmxon_page, vmcs = (uint32_t)vmcs_page;
	uint8_t failed;

	if (!(rdmsr(MSR_FEATURE_CONTROL) & 1))
		__asm__ volatile("wrmsr" : : "c"(MSR_FEATURE_CONTROL), "a"(FEATURE_CONTROL_VMXON), "d"(0));
	vmxon_page[0] = vmcs_page[0] = (uint32_t)rdmsr(MSR_VMX_BASIC) & 0x7fffffff;
	__asm__ volatile("vmxon %1\n setbe %0" : "=qm"(failed) : "m"(region) : "cc", "memory");
	if (failed)
		stop("vmxon", failed);
	__asm__ volatile("vmclear %1\n vmptrld %1\n setbe %0" : "=qm"(failed) : "m"(vmcs) : "cc", "memory");
	if (failed)
		stop("vmptrld", failed);
}

static void host_state(void)
{
	uint32_t cr0, i;

	__asm__ volatile("mov %%cr0, %0" : "=r"(cr0));
	for (i = HOST_ES; i <= HOST_GS; i += 2)
		vmwrite(i, DATA);
	vmwrite(HOST_CS, CODE);
	vmwrite(HOST_TR, TSS);
	vmwrite(HOST_CR0, cr0);
	vmwrite(HOST_CR3, (uint32_t)outer_pages);
	vmwrite(HOST_CR4, CR4_PSE | CR4_VMXE);
	vmwrite(HOST_RIP, (uint32_t)left);
	vmwrite(GUEST_CR0, cr0);
	vmwrite(GUEST_CR3, (uint32_t)inner_pages);
	vmwrite(GUEST_CR4, CR4_PSE | CR4_VMXE);
}

static void guest_state(void)
{
	uint32_t i;

	for (i = 0; i < 6; i++) {
		vmwrite(GUEST_ES + 2 * i, DATA);
		vmwrite(GUEST_ES_LIMIT + 2 * i, 0xffffffff);
		vmwrite(GUEST_ES_AR + 2 * i, 0xc093);
	}
	vmwrite(GUEST_CS, CODE);
	vmwrite(GUEST_CS_AR, 0xc09b);
	vmwrite(GUEST_LDTR_AR, 1 << 16);	/* there is none */
	vmwrite(GUEST_TR, TSS);
	vmwrite(GUEST_TR_LIMIT, sizeof(tss) - 1);
	vmwrite(GUEST_TR_AR, 0x8b);
	vmwrite(GUEST_DR7, 0x400);
	vmwrite(GUEST_RFLAGS, RFLAGS_IF | 2);
	vmwrite(LINK, ~0U);
	vmwrite(LINK + 1, ~0U);
}

static void vmcs_fill(void)
{
	control(PIN, MSR_VMX_PIN);
	control(PROC, MSR_VMX_PROC);
	control(VMEXIT, MSR_VMX_EXIT);
	control(VMENTRY, MSR_VMX_ENTRY);
	host_state();
	guest_state();
}

/* Let the guest run until it calls */
static void inner_run(void)
{
	vmwrite(GUEST_RIP, (uint32_t)inner_start);
	if (enter_guest())
		stop("no entry, error", vmread(ERROR));
	if (vmread(REASON) != EXIT_VMCALL)
		stop("unexpected exit", vmread(REASON));
}

int main(void)
{
	interrupts_off();
	paging_on();
	vmx_on();
	vmcs_fill();
	put_hex("loop_outer", (uint32_t)loop_outer);
	put_hex("loop_inner", (uint32_t)loop_inner);
	put_hex("outer_cr3", (uint32_t)outer_pages);
	put_hex("inner_cr3", (uint32_t)inner_pages);
	put("\n");
	inner_run();
	put("ready\n");
	for (;;) {
		outer_run(OUTER_ROUNDS);
		inner_run();
	}
}
