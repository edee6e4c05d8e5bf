// SPDX-License-Identifier: GPL-2.0-only
/*
 * svm.c - counters beside and inside a tiny SVM guest.
 */
#include "guest.h"

extern char guest_loop[], guest_loop_dec[], guest_loop_jnz[], guest_end[];
extern char loop2_dec[];
extern u32 guest_ecx;
void enter_guest(u32 vmcb);
void loop2(u32 n);

static u8 vmcb[4096] __attribute__((aligned(4096)));
static u8 hsave[4096] __attribute__((aligned(4096)));
static u8 guest_stack[1024];

static void set32(u32 ofs, u32 v) { *(u32 *)(vmcb + ofs) = v; }
static void set64(u32 ofs, u64 v) { *(u64 *)(vmcb + ofs) = v; }
static u64 get64(u32 ofs) { return *(u64 *)(vmcb + ofs); }

static void segment(u32 ofs, u16 selector, u16 attrib)
{
	*(u16 *)(vmcb + ofs) = selector;
	*(u16 *)(vmcb + ofs + 2) = attrib;
	set32(ofs + 4, 0xffffffff);
	set64(ofs + 8, 0);
}

#define TSC_OFFSET	0x050
#define EXITCODE	0x070
#define RIP		0x578

static void setup(void)
{
	u32 cr0;

	asm("movl %%cr0, %0" : "=r"(cr0));
	for (u32 i = 0; i < sizeof(vmcb); i++)
		vmcb[i] = 0;
	set32(0x00c, 1 << 1);		/* intercept NMI */
	set32(0x010, 1 << 0 | 1 << 1);	/* VMRUN, VMMCALL */
	set32(0x058, 1);		/* ASID */
	segment(0x400, 0x10, 0xc93);	/* ES */
	segment(0x410, 0x08, 0xc9b);	/* CS */
	segment(0x420, 0x10, 0xc93);	/* SS */
	segment(0x430, 0x10, 0xc93);	/* DS */
	set64(0x4d0, rdmsr(EFER));
	set64(0x558, cr0);
	set64(0x570, 2);		/* RFLAGS */
	set64(RIP, (u32)guest_loop);
	set64(0x5d8, (u32)guest_stack + sizeof(guest_stack));
}

static u64 guest_count(u64 ctl)
{
	setup();
	wrmsr(CTL(0), ctl | EN);
	wrmsr(CTR(0), 0);
	wrmsr(GLOBAL_CTL, 1);
	enter_guest((u32)vmcb);
	wrmsr(GLOBAL_CTL, 0);
	return rdmsr(CTR(0));
}

/* Guest: MOV, then 1000 times DEC and JNZ, VMMCALL is intercepted. */
static void test_sampling_guest(u64 period)
{
	u32 n = 0, wrong = 0;

	setup();
	nmi_count = 0;
	wrmsr(CTL(0), EV_INSNS | OS | INT | GUESTONLY | EN);
	wrmsr(CTR(0), -period & CTR_MASK);
	wrmsr(GLOBAL_CTL, 1);
	for (;;) {
		u32 before = nmi_count;

		enter_guest((u32)vmcb);
		if (get64(EXITCODE) != 0x61)
			break;
		n++;
		if (nmi_count != before + 1)
			wrong++;	/* held until STGI, then taken once */
		if (get64(RIP) != (u32)((n * (u32)period - 1) & 1 ? guest_loop_jnz
							     : guest_loop_dec))
			wrong++;
		wrmsr(CTR(0), -period & CTR_MASK);
		wrmsr(GLOBAL_CLR, 0x3f);
	}
	wrmsr(GLOBAL_CTL, 0);
	check("overflows in the guest are #VMEXIT(NMI)", n, 2001 / (u32)period);
	check("at the right instruction, delivered once", wrong, 0);
	check("the guest ended by VMMCALL", get64(EXITCODE), 0x81);
}

static void hook_interrupt(void)
{
}

/*
 * An interrupt waits when VMRUN is run, and the host's counter overflows at each instruction
 * before, in and after it in turn: in CLGI, VMLOAD and VMRUN itself the NMI ends the guest's run.
 */
static void test_before_interrupt(void)
{
	u32 by_nmi = 0, by_interrupt = 0, period;

	timer_hook = hook_interrupt;
	nmi_count = 0;
	for (period = 1; period <= 60; period++) {
		setup();
		set32(0x00c, 1 << 0 | 1 << 1);	/* intercept INTR and NMI */
		set64(0x570, 0x202);		/* RFLAGS.IF */
		wrmsr(CTL(0), EV_INSNS | OS | INT | HOSTONLY | EN);
		wrmsr(CTR(0), -(u64)period & CTR_MASK);
		*(volatile u32 *)APIC_ICR = ICR_SELF | TIMER_VECTOR;
		wrmsr(GLOBAL_CTL, 1);
		enter_guest((u32)vmcb);
		wrmsr(GLOBAL_CTL, 0);
		by_nmi += get64(EXITCODE) == 0x61;
		by_interrupt += get64(EXITCODE) == 0x60;
		asm volatile("sti\n\tnop\n\tcli" : : : "memory");
		wrmsr(GLOBAL_CLR, 0x3f);
	}
	check("an overflow before VMRUN is done goes before an interrupt", by_nmi, 3);
	check("at any other time the interrupt ends the guest's run", by_interrupt, 60 - 3);
	check("overflows up to the counter's stop are NMIs", nmi_count > 20 && nmi_count <= 60, 1);
}

/* The host calls, the guest goes back twice, the host returns: nothing else is in the record, and VMRUN and #VMEXIT are not. */
static void test_record(void)
{
	u32 wrong = 0, i;

	setup();
	set64(RIP, (u32)guest_loop_dec);
	guest_ecx = 3;
	for (i = 0; i < 6; i++) {
		wrmsr(LBR_FROM(i), 0);
		wrmsr(LBR_TO(i), 0);
	}
	wrmsr(DBG_EXTN_CFG, LBR_EN_V2);
	enter_guest((u32)vmcb);
	wrmsr(DBG_EXTN_CFG, 0);
	check("the guest ended by VMMCALL", get64(EXITCODE), 0x81);
	for (i = 1; i < 3; i++)
		wrong += rdmsr(LBR_FROM(i)) != (u32)guest_loop_jnz || rdmsr(LBR_TO(i)) != ((u32)guest_loop_dec | LBR_VALID);
	check("the guest's branches are in the record", wrong, 0);
	check("right behind the host's last before VMRUN", rdmsr(LBR_TO(3)), (u32)enter_guest | LBR_VALID);
	check("... and before its first after #VMEXIT", rdmsr(LBR_FROM(0)) - (u32)enter_guest < 64 && rdmsr(LBR_TO(0)) & LBR_VALID, 1);
	check("which are all", rdmsr(LBR_TO(4)), 0);
}

/* One instruction that does its work so often that an emulator does not do it at once.  Return: its address. */
static u32 repeat(u32 times)
{
	const char *from = 0;
	u32 at;

	asm volatile("movl $1f, %0\n1:\trep lodsb" : "=&r"(at), "+S"(from), "+c"(times) : : "eax", "memory");
	return at;
}

/* A loop with an instruction that lies on two pages: an emulator begins anew there.  Return: its address. */
static u32 cross(u32 times)
{
	u32 at;

	asm volatile("movl $2f, %0\n\tjmp 1f\n\t.p2align 12\n\t.fill 4080, 1, 0x90\n"
		     "1:\t.fill 14, 1, 0x90\n2:\tmovl $0, %%eax\n\tdecl %%ecx\n\tjnz 1b"
		     : "=&r"(at), "+c"(times) : : "eax");
	return at;
}

/* Known work for who counts by address from outside; where it is, is printed. Then nothing runs any more. */
void test_counted(void)
{
	u32 n, repeated, crossed;

	wrmsr(EFER, rdmsr(EFER) | 1 << 12);
	wrmsr(VM_HSAVE_PA, (u32)hsave);
	for (n = 0; n < 3; n++) {
		setup();
		set64(TSC_OFFSET, n < 2 ? 0x1000 : -0x2000);
		enter_guest((u32)vmcb);
	}
	loop2(100000);
	repeated = repeat(300000);
	crossed = cross(1000);
	put("# counted 0x");
	put_hex((u32)loop2_dec);
	put(" 0x");
	put_hex((u32)guest_loop_dec);
	put(" 0x");
	put_hex(repeated);
	put(" 0x");
	put_hex(crossed);
	put("\n");
	for (;;)
		asm volatile("cli\n\thlt");
}

void test_svm(void)
{
	u64 both, guest, host;

	wrmsr(EFER, rdmsr(EFER) | 1 << 12);
	wrmsr(VM_HSAVE_PA, (u32)hsave);
	guest = guest_count(EV_INSNS | OS | GUESTONLY);
	check("guest-only counts the guest", guest, 2001);
	check("the guest ended by VMMCALL", get64(EXITCODE), 0x81);
	host = guest_count(EV_INSNS | OS | HOSTONLY);
	check("host-only does not", host < 60, 1);
	both = guest_count(EV_INSNS | OS);
	check("neither bit counts both", both, guest + host);
	check("both bits count both",
	      guest_count(EV_INSNS | OS | HOSTONLY | GUESTONLY), both);
	check("the guest has its privilege levels too",
	      guest_count(EV_INSNS | USR | GUESTONLY), 0);
	test_sampling_guest(101);
	test_sampling_guest(100);
	test_before_interrupt();
	test_record();
	wrmsr(EFER, rdmsr(EFER) & ~(1ULL << 12));
	wrmsr(CTL(0), EV_INSNS | OS | GUESTONLY | EN);
	wrmsr(CTR(0), 0);
	wrmsr(GLOBAL_CTL, 1);
	wrmsr(GLOBAL_CTL, 0);
	check("without SVM the guest-only bit is ignored",
	      rdmsr(CTR(0)) > 0, 1);
}
