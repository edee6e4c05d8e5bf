/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kernel_shim.h - what host-driver's files about branch records, Intel's VMCS, AMD's VMCB, perf's counters,
 * steal and the vCPU that runs, and the guest module's files take from the kernel, for user-space builds. The Makefile
 * makes each of the kernel's headers that they include of this one. A test defines the functions: processor,
 * MSRs, memory and perf are its own.
 */
#ifndef VMP_TEST_KERNEL_SHIM_H
#define VMP_TEST_KERNEL_SHIM_H

#include "ring_shim.h"
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>

#define clamp(v, low, high)	((v) < (low) ? (low) : (v) > (high) ? (high) : (v))
#define GENMASK_ULL(high, low)	(~0ULL << (low) & ~0ULL >> (63 - (high)))
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define IS_ERR(p)		((unsigned long)(p) >= -4095UL)
#define PTR_ERR(p)		((long)(p))
#define ERR_PTR(err)		((void *)(long)(err))
#define container_of(p, type, member)	((type *)((char *)(p) - offsetof(type, member)))
#define pr_warn_once(...)	kernel_log(__VA_ARGS__)
#define pr_warn(...)		kernel_log(__VA_ARGS__)

void kernel_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static inline int fls(unsigned int x)
{
	return x ? 32 - __builtin_clz(x) : 0;
}

/* ---------------------------------------------------------- the processor */

#define X86_FEATURE_PDCM	1
#define X86_FEATURE_ARCH_LBR	2

/* Intel SDM volume 4, "IA-32 Architectural MSRs" and those of Skylake */
#define MSR_LBR_TOS			0x1c9
#define MSR_IA32_DEBUGCTLMSR		0x1d9
#define MSR_IA32_PERF_CAPABILITIES	0x345
#define MSR_CORE_PERF_GLOBAL_STATUS	0x38e
#define GLOBAL_STATUS_LBRS_FROZEN	(1ULL << 58)	/* LBR_FRZ */
#define MSR_LBR_NHM_FROM		0x680	/* MSR_LASTBRANCH_0_FROM_IP */
#define MSR_ARCH_LBR_FROM_0		0x1500

#define DEBUGCTLMSR_LBR			(1UL << 0)
#define DEBUGCTLMSR_FREEZE_LBRS_ON_PMI	(1UL << 11)

/* Volume 3, "Field Encoding in VMCS" and what is in the fields */
#define GUEST_PHYSICAL_ADDRESS		0x2400
#define GUEST_IA32_DEBUGCTL		0x2802
#define SECONDARY_VM_EXEC_CONTROL	0x401e
#define VM_EXIT_REASON			0x4402
#define VM_EXIT_INTR_INFO		0x4404
#define GUEST_CS_AR_BYTES		0x4816
#define GUEST_SS_AR_BYTES		0x4818
#define EXIT_QUALIFICATION		0x6400
#define GUEST_CR3			0x6802
#define GUEST_CS_BASE			0x6808
#define GUEST_RIP			0x681e
#define SECONDARY_EXEC_ENABLE_EPT	(1U << 1)
#define INTR_INFO_INTR_TYPE_MASK	0x700
#define INTR_INFO_VALID_MASK		(1U << 31)
#define INTR_TYPE_NMI_INTR		(2 << 8)

/* AMD APM volume 2, "Layout of VMCB": what is read of it, not where it is */
#define SVM_NESTED_CTL_NP_ENABLE	(1ULL << 0)
#define SVM_NESTED_CTL_SEV_ES_ENABLE	(1ULL << 2)
#define LBR_CTL_ENABLE_MASK		(1ULL << 0)
#define EFER_LMA			(1U << 10)

struct vmcb {
	struct {
		u32 exit_code, exit_int_info;
		u64 exit_info_1, exit_info_2, nested_ctl, virt_ext;
	} control;
	struct {
		struct { u16 attrib; u64 base; } cs;
		u8 cpl;
		u64 efer, cr3, rip, dbgctl;
	} save;
};

#define rdmsrq(msr, value)	((value) = kernel_rdmsr(msr))
#define wrmsrq(msr, value)	kernel_wrmsr((msr), (value))
#define __rdmsr(msr)		kernel_rdmsr(msr)
#define rdpmcl(counter, value)	((value) = kernel_rdpmc(counter))

u64 kernel_rdmsr(u32 msr);
void kernel_wrmsr(u32 msr, u64 value);
u64 kernel_rdpmc(u32 counter);
u32 cpuid_eax(u32 leaf);
u32 cpuid_ebx(u32 leaf);
u32 cpuid_ecx(u32 leaf);
bool boot_cpu_has(int feature);

#define X86_VENDOR_INTEL	0
#define X86_VENDOR_AMD		2

struct cpuinfo_x86 {
	u8 x86_vendor;
	u8 x86_virt_bits;
};

extern struct cpuinfo_x86 boot_cpu_data;

/* ----------------------------------------------------------------- memory */

#define PAGE_ALIGNED(p)		((unsigned long)(p) % 4096 == 0)
#define __pa(p)			kernel_pa(p)
#define __sme_clr(pa)		((pa) & ~KERNEL_SME)
#define KERNEL_SME		(1UL << 47)

bool virt_addr_valid(const void *p);
unsigned long kernel_pa(const void *p);
long copy_from_kernel_nofault(void *to, const void *from, size_t n);

/* ------------------------------------------------------------------- perf */

struct pt_regs;
struct perf_sample_data;
struct task_struct;
struct vm_area_struct;

#define PERF_EVENT_STATE_ERROR	(-2)
#define PERF_EVENT_STATE_ACTIVE	1

typedef u64 local64_t;
#define local64_read(count)	(*(count))

struct perf_event {
	struct perf_event_attr attr;
	struct { void (*read)(struct perf_event *event); } *pmu;
	struct {
		struct { u64 config; unsigned int reg; } branch_reg;
		local64_t prev_count;
		u64 sample_period;
		local64_t period_left;
		u32 event_base_rdpmc;
	} hw;
	local64_t count;
	int state, oncpu, cpu;
};

typedef void (*perf_overflow_handler_t)(struct perf_event *event, struct perf_sample_data *data,
					struct pt_regs *regs);

struct perf_event *perf_event_create_kernel_counter(struct perf_event_attr *attr, int cpu,
						    struct task_struct *task,
						    perf_overflow_handler_t handler, void *context);
void perf_event_enable(struct perf_event *event);
void perf_event_disable(struct perf_event *event);
u64 perf_event_read_value(struct perf_event *event, u64 *enabled, u64 *running);
int perf_event_release_kernel(struct perf_event *event);

#define local_irq_save(flags)		((flags) = 0)
#define local_irq_restore(flags)	((void)(flags))

#define cpu_online_mask		0
#define cpumask_first(mask)	(mask)
#define smp_processor_id()	0

struct perf_branch_stack {
	u64 nr;
	u64 hw_idx;
	struct perf_branch_entry entries[];
};

struct perf_sample_data {
	u64 sample_flags;
	struct perf_branch_stack *br_stack;
};

/* ----------------------------------------------------------------- chance */

struct rnd_state {
	u64 state;
};

#define get_random_u64()	1ULL
#define mul_u64_u32_shr(a, b, shift)	((u64)((unsigned __int128)(a) * (b) >> (shift)))
#define max_t(type, a, b)	max((type)(a), (type)(b))

static inline void prandom_seed_state(struct rnd_state *state, u64 seed)
{
	state->state = seed;
}

/* Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014), half of a number */
static inline u32 prandom_u32_state(struct rnd_state *state)
{
	u64 z = state->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (z ^ z >> 31) >> 32;
}

/* ------------------------------------------------- KVM, kprobes, the rest */

#define VMPH_HAVE_VM_FLAGS_SET
#define VMPH_HAVE_UNWINDER
#define VMPH_HAVE_KVM_TRACE
#define HF_GUEST_MASK	1
#ifndef KVM_X86_TDX_VM
#define KVM_X86_TDX_VM	5
#endif

struct kvm {
	struct { u8 vm_type; } arch;
};

struct kvm_vcpu {
	struct kvm *kvm;
	int vcpu_id;
	struct {
		u32 hflags;
		u8 handling_intr_from_guest;
		int last_vmentry_cpu;
		s64 l1_tsc_offset;
		u64 l1_tsc_scaling_ratio, cr3, last_host_tsc;
	} arch;
};

struct kprobe {
	const char *symbol_name;
	void *addr;
};

int register_kprobe(struct kprobe *probe);
void unregister_kprobe(struct kprobe *probe);

struct module;

void module_put(struct module *module);

#define DEFINE_PER_CPU(type, name)	type name
#define __this_cpu_read(name)		(name)
#define __this_cpu_write(name, v)	((name) = (v))

#define __rcu

typedef struct { int counter; } atomic_t;
typedef struct { int woken; } wait_queue_head_t;

#define atomic_read(a)			__atomic_load_n(&(a)->counter, __ATOMIC_RELAXED)
#define atomic_set(a, n)		__atomic_store_n(&(a)->counter, (n), __ATOMIC_RELAXED)
#define atomic_xchg(a, n)		__atomic_exchange_n(&(a)->counter, (n), __ATOMIC_SEQ_CST)
#define atomic_inc(a)			((void)__atomic_fetch_add(&(a)->counter, 1, __ATOMIC_RELAXED))
#define atomic_dec(a)			((void)__atomic_fetch_sub(&(a)->counter, 1, __ATOMIC_RELAXED))
#define smp_rmb()			__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb()			__atomic_thread_fence(__ATOMIC_RELEASE)

static inline int atomic_cmpxchg(atomic_t *a, int from, int to)
{
	__atomic_compare_exchange_n(&a->counter, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return from;
}

#define ilog2(n)		(31 - __builtin_clz(n))
#define hash_32(n, bits)	((u32)(n) * 0x61c88647U >> (32 - (bits)))	/* <linux/hash.h> */
#define hash_64(n, bits)	((u64)(n) * 0x61c8864680b583ebULL >> (64 - (bits)))
#define init_waitqueue_head(w)		((w)->woken = 0)
#define wq_has_sleeper(w)		1
#define wake_up(w)			__atomic_fetch_add(&(w)->woken, 1, __ATOMIC_SEQ_CST)
#define wake_up_interruptible(w)	wake_up(w)

struct mutex {
	int unused;
};

struct irq_work {
	void (*func)(struct irq_work *work);
};

#define init_irq_work(work, f)	((work)->func = (f))
#define irq_work_queue(work)	((work)->func(work))
#define irq_work_sync(work)	((void)(work))

struct work_struct {
	void (*func)(struct work_struct *work);
};

/* A test lets it run */
struct delayed_work {
	struct work_struct work;
	int pending;
};

#define INIT_DELAYED_WORK(d, f)		((d)->work.func = (f), (d)->pending = 0)
#define to_delayed_work(w)		container_of(w, struct delayed_work, work)
#define delayed_work_pending(d)		READ_ONCE((d)->pending)
#define schedule_delayed_work(d, ms)	((void)(ms), WRITE_ONCE((d)->pending, 1))
#define cancel_delayed_work_sync(d)	((d)->pending = 0)
#define msecs_to_jiffies(ms)		((unsigned long)(ms))

/* Who waits lets a tick go by, in which a test may do something */
extern unsigned long jiffies;
void kernel_sleep(void);
#define cond_resched()			((void)0)
#define wait_event_idle(w, cond)	while (!(cond)) kernel_sleep()
#define wait_event_idle_timeout(w, cond, ticks) \
	do { \
		for (unsigned long end_ = jiffies + (ticks); !(cond) && (long)(end_ - jiffies) > 0; ) \
			kernel_sleep(); \
	} while (0)

typedef struct { int taken; } raw_spinlock_t;

#define DEFINE_RAW_SPINLOCK(name)	raw_spinlock_t name

#define raw_spin_lock_init(lock)	((lock)->taken = 0)

static inline void raw_spin_lock(raw_spinlock_t *lock)
{
	while (__atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

#define raw_spin_lock_irqsave(lock, flags)	((flags) = 0, raw_spin_lock(lock))
#define raw_spin_unlock_irqrestore(lock, flags)	((void)(flags), __atomic_store_n(&(lock)->taken, 0, __ATOMIC_RELEASE))

#define __user
#define ALIGN(n, to)		(((n) + (to) - 1) / (to) * (to))
#define cpu_to_le64(n)		(n)
#define vmalloc(bytes)		malloc(bytes)
#define vfree(p)		free(p)

static inline u32 roundup_pow_of_two(u32 n)
{
	return n < 2 ? 1 : 1U << (32 - __builtin_clz(n - 1));
}

/* ------------------------------------------- tasks and their mappings */

struct mm_struct;

struct pid {
	unsigned int level;
	struct { int nr; } numbers[4];
};

struct signal_struct {
	atomic_t live;
};

struct task_struct {
	u32 tgid;
	struct mm_struct *mm;
	u32 pid;
	int on_cpu, cpu;	/* it runs; where it is, or was last */
	u32 flags;
	char comm[16];
	struct task_struct *real_parent;
	struct pid *thread_pid;	/* NULL: released */
	struct signal_struct *signal;
	struct fs_struct *fs;
	struct task_struct *next_process, *next_thread;
};

#define PF_KTHREAD		0x200000U
#define pid_alive(task)		((task)->thread_pid != NULL)
#define task_tgid(task)		((task)->thread_pid)
#define rcu_read_lock()		((void)0)
#define rcu_read_unlock()	((void)0)
#define rcu_dereference(p)	(p)
#define for_each_process(p)	for ((p) = kernel_processes(); (p); (p) = (p)->next_process)
#define for_each_thread(p, t)	for ((t) = (p); (t); (t) = (t)->next_thread)
#define task_lock(task)		((void)(task))
#define task_unlock(task)	((void)(task))

struct task_struct *kernel_processes(void);
void get_task_struct(struct task_struct *task);
void put_task_struct(struct task_struct *task);
int vmpg_cgroup_path(struct task_struct *task, char *buf, size_t room);

#define TASK_RUNNING		0U
#define TASK_INTERRUPTIBLE	1U
#define TASK_DEAD		0x80U
#define task_cpu(task)		((task)->cpu)
#define raw_smp_processor_id()	smp_processor_id()

struct tracepoint {
	const char *name;
};

void for_each_kernel_tracepoint(void (*fn)(struct tracepoint *tp, void *arg), void *arg);
int tracepoint_probe_register(struct tracepoint *tp, void *probe, void *data);
int tracepoint_probe_unregister(struct tracepoint *tp, void *probe, void *data);
#define tracepoint_synchronize_unregister()	((void)0)
#define check_trace_callback_type_sched_switch(probe)		((void)(probe))
#define check_trace_callback_type_sched_wakeup(probe)		((void)(probe))
#define check_trace_callback_type_sched_migrate_task(probe)	((void)(probe))

struct vm_operations_struct {
	const char *(*name)(struct vm_area_struct *vma);
};

struct vm_area_struct {
	unsigned long vm_flags, vm_start, vm_end, vm_pgoff;
	struct mm_struct *vm_mm;
	struct file *vm_file;
	const struct vm_operations_struct *vm_ops;
};

struct vma_iterator {
	struct mm_struct *mm;
	unsigned long at;
};

#define VMA_ITERATOR(name, mm, at)	struct vma_iterator name = { (mm), (at) }
#define for_each_vma(vmi, vma)		while (((vma) = vma_next(&(vmi))))

struct vm_area_struct *vma_next(struct vma_iterator *vmi);

/* A file: what tells it from others, and when it was written */
struct timespec64 {
	s64 tv_sec;
	long tv_nsec;
};

struct super_block {
	u32 s_dev;
};

struct inode {
	u64 i_ino, size;
	u32 i_generation;
	struct super_block *i_sb;
	struct timespec64 mtime;
	unsigned int i_nlink;
};

struct dentry {
	struct inode *inode;
	bool unlinked;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct path f_path;
};

#define d_inode(dentry)		((dentry)->inode)
#define d_unlinked(dentry)	((dentry)->unlinked)
#define vmpg_file_path(file)	(&(file)->f_path)
#define vmpg_file_inode(file)	((file)->f_path.dentry->inode)

char *d_path(const struct path *path, char *buf, int room);
void path_put(const struct path *path);
void get_fs_root(struct fs_struct *fs, struct path *root);
int scnprintf(char *buf, size_t room, const char *fmt, ...);

#define i_size_read(inode)	((inode)->size)
#define vmpg_mtime(inode)	((inode)->mtime)
#define VMPG_COMPAT_H

struct linux_binprm {
	struct mm_struct *mm;
};

extern struct task_struct *current;

#define VM_READ			1UL
#define VM_WRITE		2UL
#define VM_EXEC			4UL
#define PAGE_SHIFT		12
#define SZ_4G			(1ULL << 32)
#define U32_MAX			(~0U)
#define same_thread_group(a, b)	((a)->tgid == (b)->tgid)
#define strscpy_pad(to, from, n)	((void)strncpy((to), (from), (n) - 1), (to)[(n) - 1] = 0)

bool mmap_read_trylock(struct mm_struct *mm);
void mmap_read_unlock(struct mm_struct *mm);
struct mm_struct *get_task_mm(struct task_struct *task);
void mmgrab(struct mm_struct *mm);
void mmdrop(struct mm_struct *mm);
bool mmget_not_zero(struct mm_struct *mm);
void vmpg_mmput(struct mm_struct *mm);
void udelay(unsigned long us);
void msleep(unsigned int ms);
void on_each_cpu(void (*fn)(void *arg), void *arg, int wait);
void preempt_disable(void);
void preempt_enable(void);

typedef struct { s64 counter; } atomic64_t;

#define atomic64_inc(a)		__atomic_fetch_add(&(a)->counter, 1, __ATOMIC_RELAXED)

#define __aligned(n)			__attribute__((aligned(n)))
#define per_cpu(name, cpu)		(*((void)(cpu), &(name)))
#define this_cpu_read(name)		(name)
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < 1; (cpu)++)
#define kvzalloc_node(n, gfp, node)	calloc(1, (n))
#define kvzalloc(n, gfp)		calloc(1, (n))
#define kvmalloc_array(nr, n, gfp)	calloc((nr), (n))
#define kvfree(p)			free(p)
#define cpu_to_le16(n)			(n)
#define cpu_to_le32(n)			(n)
#define le32_to_cpu(n)			(n)
#define le16_to_cpu(n)			(n)

u64 rdtsc_ordered(void);
unsigned long copy_to_user(void *to, const void *from, unsigned long n);

#endif
