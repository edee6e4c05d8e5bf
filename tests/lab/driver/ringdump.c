// SPDX-License-Identifier: GPL-2.0-only
/*
 * ringdump.c - the smallest reader of /dev/vmprof, for the lab tests of the host module.
 *
 *   ringdump query                   what QUERY answers
 *   ringdump dump [OPTION]...        one session; records as lines of text, then the totals
 *   ringdump cycle N [OPTION]...     N times START, some time, STOP in one session
 *   ringdump refuse                  everything the contract refuses; one TAP line each
 *   ringdump hold N                  N counters of each pCPU, as others have them, until it is killed
 *
 * Options: -p TGID (repeatable) | -a; -t (timer); -n PERIOD; -s SECONDS; -r RING_BYTES;
 *          -e TYPE:CONFIG; -i PERIOD (instructions, too); -l BRANCHES (VMPROF_LBR_*); -f FORMAT;
 *          -z (never read: the ring fills); -w (wait by poll() only, until it has woken twice);
 *          -q (totals only).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <vmprof/uapi.h>

struct ring {
	struct vmprof_consumer *consumer;
	const struct vmprof_producer *producer;
	const char *data;
};

static struct vmprof_config config = {
	.size = sizeof(config), .period = 1000000, .ring_bytes = 1 << 22,
};
static uint32_t vms[VMPROF_MAX_VMS];
static double seconds = 2;
static int never_read, poll_only, quiet;
static struct vmprof_query query;
static struct ring *rings;
static volatile sig_atomic_t stop;

static void die(const char *what)
{
	fprintf(stderr, "ringdump: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int open_query(void)
{
	int fd = open(VMPROF_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		die(VMPROF_DEVICE);
	if (ioctl(fd, VMPROF_IOC_QUERY, &query))
		die("query");
	return fd;
}

static void *map(int fd, size_t len, int prot, uint64_t offset)
{
	void *p = mmap(NULL, len, prot, MAP_SHARED, fd, offset);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

static int open_session(void)
{
	int fd = open_query();
	uint32_t cpu;

	config.vms = (uintptr_t)vms;
	if (ioctl(fd, VMPROF_IOC_CONFIG, &config))
		die("config");
	rings = calloc(query.nr_cpus, sizeof(*rings));
	for (cpu = 0; rings && cpu < query.nr_cpus; cpu++) {
		struct ring *r = &rings[cpu];

		r->consumer = map(fd, query.page_size, PROT_READ | PROT_WRITE,
				  VMPROF_MMAP_CONSUMER(cpu));
		r->producer = map(fd, query.page_size, PROT_READ, VMPROF_MMAP_PRODUCER(cpu));
		r->data = map(fd, config.ring_bytes, PROT_READ, VMPROF_MMAP_DATA(cpu));
	}
	return fd;
}

/* A letter for each VMPROF_SF_*: Vcpu Counts Steal Nested Long-mode Timer nmI */
static const char *flag_letters(uint32_t flags)
{
	static char text[8];
	int i, n = 0;

	for (i = 0; i < 7; i++)
		if (flags & (1U << i))
			text[n++] = "VCSNLTI"[i];
	text[n] = 0;
	return text;
}

static void print_sample(char kind, const struct vmprof_sample *s)
{
	printf("%c cpu=%u tsc=%llu mode=%u vm=%u vcpu=%u vcpu_tid=%u pid=%u tid=%u flags=%s cpl=%u vendor=%u gip=%#llx cr3=%#llx exit=%#llx info=%#llx hip=%#llx ret1=%#llx ret2=%#llx cycles=%llu instructions=%llu\n",
	       kind, s->hdr.pcpu, s->tsc, s->mode, s->vm, s->vcpu, s->vcpu_tid, s->host_pid,
	       s->host_tid, flag_letters(s->flags), s->cpl, s->vendor, s->guest_ip, s->guest_cr3,
	       s->exit_reason, s->exit_intr_info, s->host_ip, s->host_return_ip[0],
	       s->host_return_ip[1], s->cycles, s->instructions);
}

static void print_branches(const struct vmprof_rec_lbr *b)
{
	unsigned int i, words = (b->hdr.size - sizeof(*b)) / sizeof(b->word[0]);

	printf("B cpu=%u tsc=%llu branches=%#x format=%u nr=%u cut=%u flags=%#x mispredicted=%#x",
	       b->hdr.pcpu, b->tsc, b->branches, b->format, b->nr, b->cut, b->flags, b->mispredicted);
	for (i = 0; i < words; i++)
		printf(" %#llx", b->word[i]);
	putchar('\n');
}

static void print_record(const struct vmprof_record *rec)
{
	const struct vmprof_rec_clock *c = (const void *)rec;
	const struct vmprof_rec_lost *l = (const void *)rec;

	switch (rec->type) {
	case VMPROF_REC_SAMPLE:
		print_sample('S', (const void *)rec);
		break;
	case VMPROF_REC_INSTRUCTIONS:
		print_sample('I', (const void *)rec);
		break;
	case VMPROF_REC_LBR:
		print_branches((const void *)rec);
		break;
	case VMPROF_REC_LOST:
		printf("L cpu=%u tsc=%llu full=%llu nested=%llu state=%llu\n", rec->pcpu, l->tsc,
		       l->count[0], l->count[1], l->count[2]);
		break;
	case VMPROF_REC_CLOCK:
		printf("C cpu=%u tsc=%llu vm=%u vcpu=%u vcpu_tid=%u frac=%u offset=%lld ratio=%llu\n",
		       rec->pcpu, c->tsc, c->vm, c->vcpu, c->vcpu_tid, c->frac_bits,
		       c->tsc_offset, c->tsc_ratio);
		break;
	}
}

static uint64_t drain(struct ring *r)
{
	uint64_t head = __atomic_load_n(&r->producer->head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->consumer->tail, n = 0;

	while (tail != head) {
		const struct vmprof_record *rec =
			(const void *)(r->data + (tail & (config.ring_bytes - 1)));

		if (rec->size < sizeof(*rec) || rec->size > head - tail || rec->size % 8) {
			fprintf(stderr, "ringdump: bad record at %" PRIu64 "\n", tail);
			exit(1);
		}
		if (rec->type != VMPROF_REC_PAD) {
			if (!quiet)
				print_record(rec);
			n++;
		}
		tail += rec->size;
	}
	__atomic_store_n(&r->consumer->tail, tail, __ATOMIC_RELEASE);
	return n;
}

static uint64_t drain_all(void)
{
	uint64_t n = 0;
	uint32_t cpu;

	for (cpu = 0; cpu < query.nr_cpus; cpu++)
		n += drain(&rings[cpu]);
	return n;
}

static void print_stats(int fd)
{
	uint32_t cpu;

	for (cpu = 0; cpu < query.nr_cpus; cpu++) {
		struct vmprof_cpu_stats s = { .cpu = cpu };

		if (ioctl(fd, VMPROF_IOC_STATS, &s))
			die("stats");
		printf("T cpu=%u online=%u interrupts=%llu filtered=%llu records=%llu events=%llu cycles=%llu instructions=%llu full=%llu nested=%llu state=%llu throttled=%llu insn_interrupts=%llu insn_events=%llu start=%llu end=%llu\n",
		       cpu, s.online, s.interrupts, s.filtered, s.records, s.event_count, s.cycles,
		       s.instructions, s.lost[0], s.lost[1], s.lost[2], s.lost[3],
		       s.instruction_interrupts, s.instruction_count,
		       rings[cpu].producer->start_tsc, rings[cpu].producer->end_tsc);
	}
}

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

#define POLLS_WANTED	2

static int cmd_dump(void)
{
	int fd = open_session();
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	uint64_t wakeups = 0;
	double end = now() + seconds;

	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	if (ioctl(fd, VMPROF_IOC_START))
		die("start");
	fprintf(stderr, "ringdump: started\n");
	while (now() < end && !stop && !(poll_only && wakeups == POLLS_WANTED)) {
		if (never_read) {
			usleep(50000);
		} else if (poll(&pfd, 1, poll_only ? 1000 * seconds : 100) > 0 || !poll_only) {
			wakeups += pfd.revents & POLLIN;
			drain_all();
		}
	}
	if (ioctl(fd, VMPROF_IOC_STOP))
		die("stop");
	drain_all();
	print_stats(fd);
	printf("W wakeups=%" PRIu64 "\n", wakeups);
	return 0;
}

static int cmd_cycle(unsigned long n)
{
	int fd = open_session();
	uint64_t records = 0, empty = 0, got;
	unsigned long i;

	for (i = 0; i < n; i++) {
		if (ioctl(fd, VMPROF_IOC_START))
			die("start");
		usleep(10000 + 1000 * (i % 20));
		if (ioctl(fd, VMPROF_IOC_STOP))
			die("stop");
		got = drain_all();
		usleep(2000);
		if (drain_all()) {
			fprintf(stderr, "ringdump: records came after STOP\n");
			return 1;
		}
		records += got;
		empty += !got;
	}
	print_stats(fd);
	printf("Y cycles=%lu records=%" PRIu64 " empty=%" PRIu64 "\n", n, records, empty);
	return 0;
}

/* ------------------------------------------------- what must be refused */

static int tap_nr, tap_failed;

static void expect(const char *what, long result, int want)
{
	int got = result < 0 ? errno : 0;

	tap_failed += got != want;
	printf("%s %d - %s%s%s\n", got == want ? "ok" : "not ok", ++tap_nr, what,
	       got == want ? "" : ": ", got == want ? "" : strerror(got));
}

static void expect_config(const char *what, const struct vmprof_config *bad, int want)
{
	int fd = open_query();

	expect(what, ioctl(fd, VMPROF_IOC_CONFIG, bad), want);
	close(fd);
}

#define REFUSE_CONFIG(what, field, value, want) do { \
	struct vmprof_config bad = config; \
	bad.field = value; \
	expect_config("config refuses " what, &bad, want); \
} while (0)

static void refuse_configs(void)
{
	REFUSE_CONFIG("a wrong size", size, sizeof(config) - 1, EINVAL);
	REFUSE_CONFIG("an unknown flag", flags, 1 << 7, EINVAL);
	REFUSE_CONFIG("reserved0", reserved0, 1, EINVAL);
	REFUSE_CONFIG("reserved1", reserved1, 1, EINVAL);
	REFUSE_CONFIG("reserved[5]", reserved[5], 1, EINVAL);
	REFUSE_CONFIG("a short period of instructions", instruction_period, 1, EINVAL);
	REFUSE_CONFIG("a short period", period, VMPROF_PERIOD_MIN - 1, EINVAL);
	REFUSE_CONFIG("an endless period", period, 1ULL << 63, EINVAL);
	REFUSE_CONFIG("a ring of odd size", ring_bytes, 12288, EINVAL);
	REFUSE_CONFIG("a small ring", ring_bytes, 2048, EINVAL);
	REFUSE_CONFIG("a huge ring", ring_bytes, 1U << 29, EINVAL);
	REFUSE_CONFIG("a late wake-up", wake_bytes, config.ring_bytes + 1, EINVAL);
	REFUSE_CONFIG("too many VMs", nr_vms, VMPROF_MAX_VMS + 1, EINVAL);
	REFUSE_CONFIG("no VM", nr_vms, 0, EINVAL);
	REFUSE_CONFIG("VM 0", vms, (uintptr_t)&(uint32_t){ 0 }, EINVAL);
	REFUSE_CONFIG("a bad pointer", vms, 8, EFAULT);
	config.flags = VMPROF_CFG_RANDOM;
	REFUSE_CONFIG("an endless period in the mean", period, VMPROF_PERIOD_RANDOM_MAX + 1, EINVAL);
	config.flags = VMPROF_CFG_TIMER;
	REFUSE_CONFIG("random periods of the timer", flags, VMPROF_CFG_TIMER | VMPROF_CFG_RANDOM, EINVAL);
	REFUSE_CONFIG("instructions beside the timer", instruction_period, 1000000, EINVAL);
	config.flags = 0;
	config.event_config = 2;	/* page faults */
	REFUSE_CONFIG("a software event other than the cpu-clock", event_type, 1, EINVAL);
	config.event_config = 0;
	REFUSE_CONFIG("a tracepoint", event_type, 2, EINVAL);
	REFUSE_CONFIG("an unknown hardware event", event_config, 999, EINVAL);
}

#define REFUSE_LBR(what, b, f, want) do { \
	struct vmprof_config bad = config; \
	bad.lbr_branches = b; \
	bad.lbr_format = f; \
	expect_config("config refuses " what, &bad, want); \
} while (0)

static void refuse_lbr(void)
{
	const uint32_t all = VMPROF_LBR_ALL;

	REFUSE_LBR("branches of no level", VMPROF_LBR_COND, VMPROF_LBR_FROM, EINVAL);
	REFUSE_LBR("branches of no kind", VMPROF_LBR_USER, VMPROF_LBR_FROM, EINVAL);
	REFUSE_LBR("branches that do not exist", all + 1, VMPROF_LBR_FROM, EINVAL);
	REFUSE_LBR("branches without a format", all, 0, EINVAL);
	REFUSE_LBR("an unknown format", all, VMPROF_LBR_FROM_TO_CYCLES + 1, EINVAL);
	REFUSE_LBR("a format without branches", 0, VMPROF_LBR_FROM, EINVAL);
	config.flags = VMPROF_CFG_TIMER;
	REFUSE_LBR("branches beside the timer", all, VMPROF_LBR_FROM, EINVAL);
	config.flags = 0;
	if (query.lbr_lack) {
		REFUSE_LBR("branches where there are none", all, VMPROF_LBR_FROM, EOPNOTSUPP);
		return;
	}
	REFUSE_LBR("the kernel's without calls and returns",
		   VMPROF_LBR_KERNEL | VMPROF_LBR_COND, VMPROF_LBR_FROM, EOPNOTSUPP);
	if (!(query.features & VMPROF_FEAT_LBR_CYCLES))
		REFUSE_LBR("cycles that are not counted", all, VMPROF_LBR_FROM_TO_CYCLES, EOPNOTSUPP);
}

static int fails(void *p)
{
	return p == MAP_FAILED ? -1 : 0;
}

static void refuse_maps(int fd)
{
	uint32_t page = query.page_size, ring = config.ring_bytes;
	int rw = PROT_READ | PROT_WRITE;
	void *producer;

#define MAP(len, prot, kind, off) fails(mmap(NULL, len, prot, kind, fd, off))
	expect("consumer page of two pages", MAP(2 * page, rw, MAP_SHARED, VMPROF_MMAP_CONSUMER(0)), EINVAL);
	expect("private consumer page", MAP(page, rw, MAP_PRIVATE, VMPROF_MMAP_CONSUMER(0)), EINVAL);
	expect("writable producer page", MAP(page, rw, MAP_SHARED, VMPROF_MMAP_PRODUCER(0)), EINVAL);
	expect("writable data", MAP(ring, rw, MAP_SHARED, VMPROF_MMAP_DATA(0)), EINVAL);
	expect("executable data", MAP(ring, PROT_READ | PROT_EXEC, MAP_SHARED, VMPROF_MMAP_DATA(0)), EINVAL);
	expect("half the data", MAP(ring / 2, PROT_READ, MAP_SHARED, VMPROF_MMAP_DATA(0)), EINVAL);
	expect("data and more", MAP(ring + page, PROT_READ, MAP_SHARED, VMPROF_MMAP_DATA(0)), EINVAL);
	expect("data from the middle", MAP(ring - page, PROT_READ, MAP_SHARED, VMPROF_MMAP_DATA(0) + page), EINVAL);
	expect("a pCPU too many", MAP(page, rw, MAP_SHARED, VMPROF_MMAP_CONSUMER(query.nr_cpus)), EINVAL);
	expect("an absurd pCPU", MAP(page, rw, MAP_SHARED, VMPROF_MMAP_CONSUMER(0x7fffffff)), EINVAL);
	producer = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, VMPROF_MMAP_PRODUCER(0));
	expect("the producer page, read-only", fails(producer), 0);
	expect("mprotect to write it", mprotect(producer, page, rw), EACCES);
	expect("mprotect to execute it", mprotect(producer, page, PROT_READ | PROT_EXEC), EACCES);
	munmap(producer, page);
#undef MAP
}

#define REFUSE_TASKS(what, field, value, want) do { \
	struct vmprof_tasks bad = tasks; \
	bad.field = value; \
	expect("tasks refuse " what, ioctl(fd, VMPROF_IOC_TASKS, &bad), want); \
} while (0)

static void refuse_tasks(int fd)
{
	struct vmprof_tasks_ram ram = { .bytes = 4096, .hva = 4096 }, endless = { .gpa = 1, .bytes = UINT64_MAX };
	uint64_t vcpu = 4096;
	struct vmprof_tasks tasks = {
		.size = sizeof(tasks), .vm = vms[0], .nr_vcpus = 1, .nr_ram = 1,
		.vcpus = (uintptr_t)&vcpu, .ram = (uintptr_t)&ram,
	};

	expect("good tasks", ioctl(fd, VMPROF_IOC_TASKS, &tasks), 0);
	expect("other ones instead", ioctl(fd, VMPROF_IOC_TASKS, &tasks), 0);
	REFUSE_TASKS("a wrong size", size, sizeof(tasks) - 1, EINVAL);
	REFUSE_TASKS("a VM that is not chosen", vm, 1, ESRCH);
	REFUSE_TASKS("too many vCPUs", nr_vcpus, VMPROF_TASKS_VCPUS_MAX + 1, EINVAL);
	REFUSE_TASKS("too much memory", nr_ram, VMPROF_TASKS_RAM_MAX + 1, EINVAL);
	REFUSE_TASKS("no memory", nr_ram, 0, EINVAL);
	REFUSE_TASKS("memory without end", ram, (uintptr_t)&endless, EINVAL);
	REFUSE_TASKS("a far offset", comm_offset, VMPROF_TASKS_SPAN_MAX, EINVAL);
	REFUSE_TASKS("reserved[3]", reserved[3], 1, EINVAL);
	REFUSE_TASKS("a bad pointer", vcpus, 8, EFAULT);
	REFUSE_TASKS("another one", ram, 8, EFAULT);
	tasks.nr_vcpus = tasks.nr_ram = 0;
	expect("none any more", ioctl(fd, VMPROF_IOC_TASKS, &tasks), 0);
}

static void refuse_vms(int fd)
{
	struct vmprof_tasks none = { .size = sizeof(none), .vm = 1 };
	uint32_t vm = 0;

	expect("no VM has the number 0", ioctl(fd, VMPROF_IOC_ADD_VM, &vm), EINVAL);
	vm = INT32_MAX;
	expect("nor one that no process has", ioctl(fd, VMPROF_IOC_ADD_VM, &vm), EINVAL);
	expect("a VM from nowhere", ioctl(fd, VMPROF_IOC_ADD_VM, (void *)8), EFAULT);
	vm = 1;
	expect("a VM more", ioctl(fd, VMPROF_IOC_ADD_VM, &vm), 0);
	expect("the same one again", ioctl(fd, VMPROF_IOC_ADD_VM, &vm), 0);
	expect("it is chosen now", ioctl(fd, VMPROF_IOC_TASKS, &none), 0);
}

static int cmd_refuse(void)
{
	struct vmprof_tasks none = { .size = sizeof(none), .vm = 1 };
	struct vmprof_cpu_stats stats = { 0 };
	int fd, other;

	vms[0] = getpid();
	config.nr_vms = 1;
	config.vms = (uintptr_t)vms;
	close(open_query());
	refuse_configs();
	refuse_lbr();

	fd = open_query();
	expect("an unknown ioctl", ioctl(fd, _IO(VMPROF_IOC_MAGIC, 99)), ENOTTY);
	expect("start before config", ioctl(fd, VMPROF_IOC_START), EINVAL);
	expect("stats before config", ioctl(fd, VMPROF_IOC_STATS, &stats), EINVAL);
	expect("tasks before config", ioctl(fd, VMPROF_IOC_TASKS, &none), EINVAL);
	expect("a VM before config", ioctl(fd, VMPROF_IOC_ADD_VM, vms), EINVAL);
	expect("mmap before config", fails(mmap(NULL, query.page_size, PROT_READ, MAP_SHARED, fd,
						VMPROF_MMAP_PRODUCER(0))), EINVAL);
	expect("stop before start is fine", ioctl(fd, VMPROF_IOC_STOP), 0);
	expect("query into nowhere", ioctl(fd, VMPROF_IOC_QUERY, (void *)8), EFAULT);
	expect("a good config", ioctl(fd, VMPROF_IOC_CONFIG, &config), 0);
	expect("a second config", ioctl(fd, VMPROF_IOC_CONFIG, &config), EBUSY);
	refuse_maps(fd);
	refuse_tasks(fd);
	refuse_vms(fd);
	stats.cpu = query.nr_cpus;
	expect("stats of no pCPU", ioctl(fd, VMPROF_IOC_STATS, &stats), EINVAL);
	stats.cpu = 0;
	stats.reserved[1] = 1;
	expect("stats with reserved set", ioctl(fd, VMPROF_IOC_STATS, &stats), EINVAL);

	expect("start", ioctl(fd, VMPROF_IOC_START), 0);
	expect("start twice", ioctl(fd, VMPROF_IOC_START), EBUSY);
	other = open_query();
	expect("config of another session", ioctl(other, VMPROF_IOC_CONFIG, &config), 0);
	expect("start of another session", ioctl(other, VMPROF_IOC_START), EBUSY);
	expect("stop of another session touches nothing", ioctl(other, VMPROF_IOC_STOP), 0);
	expect("start of another session, still", ioctl(other, VMPROF_IOC_START), EBUSY);
	expect("stop", ioctl(fd, VMPROF_IOC_STOP), 0);
	expect("stop twice", ioctl(fd, VMPROF_IOC_STOP), 0);
	expect("start of another session, now", ioctl(other, VMPROF_IOC_START), 0);
	close(other);
	expect("start again, after the other was closed", ioctl(fd, VMPROF_IOC_START), 0);
	close(fd);
	printf("1..%d\n", tap_nr);
	return tap_failed != 0;
}

static void cmd_hold(long nr)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE, .size = sizeof(attr),
					.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS, .pinned = 1 };
	long cpu, i;

	for (cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++)
		for (i = 0; i < nr; i++)
			if (syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0) < 0)
				die("perf_event_open");
	printf("held\n");
	fflush(stdout);
	for (;;)
		pause();
}

static void options(int argc, char **argv)
{
	int opt;
	char *colon;

	while ((opt = getopt(argc, argv, "p:atn:s:r:e:i:l:f:zwq")) != -1) {
		switch (opt) {
		case 'p':
			if (config.nr_vms < VMPROF_MAX_VMS)
				vms[config.nr_vms++] = strtoul(optarg, NULL, 0);
			break;
		case 'a':
			config.flags |= VMPROF_CFG_ALL;
			break;
		case 't':
			config.flags |= VMPROF_CFG_TIMER;
			break;
		case 'n':
			config.period = strtoull(optarg, NULL, 0);
			break;
		case 's':
			seconds = strtod(optarg, NULL);
			break;
		case 'r':
			config.ring_bytes = strtoul(optarg, NULL, 0);
			break;
		case 'e':
			config.event_type = strtoul(optarg, &colon, 0);
			config.event_config = *colon ? strtoull(colon + 1, NULL, 0) : 0;
			break;
		case 'i':
			config.instruction_period = strtoull(optarg, NULL, 0);
			break;
		case 'l':
			config.lbr_branches = strtoul(optarg, NULL, 0);
			break;
		case 'f':
			config.lbr_format = strtoul(optarg, NULL, 0);
			break;
		case 'z':
			never_read = 1;
			break;
		case 'w':
			poll_only = 1;
			break;
		case 'q':
			quiet = 1;
			break;
		default:
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	const char *cmd = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	if (!strcmp(cmd, "query")) {
		open_query();
		printf("version=%u compat=%u features=%#llx vendor=%u nr_cpus=%u tsc_khz=%u page_size=%u guest_lack=%u lbr_lack=%u lbr_entries=%u\n",
		       query.version, query.compat, query.features, query.vendor, query.nr_cpus,
		       query.tsc_khz, query.page_size, query.guest_lack, query.lbr_lack, query.lbr_entries);
		return 0;
	}
	if (!strcmp(cmd, "dump")) {
		options(argc - 1, argv + 1);
		return cmd_dump();
	}
	if (!strcmp(cmd, "cycle") && argc > 2) {
		options(argc - 2, argv + 2);
		return cmd_cycle(strtoul(argv[2], NULL, 0));
	}
	if (!strcmp(cmd, "refuse"))
		return cmd_refuse();
	if (!strcmp(cmd, "hold") && argc > 2)
		cmd_hold(strtol(argv[2], NULL, 0));
	fprintf(stderr, "usage: ringdump query | dump | cycle N | refuse | hold N\n");
	return 2;
}
