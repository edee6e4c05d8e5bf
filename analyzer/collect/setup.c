// SPDX-License-Identifier: GPL-2.0-only
/* setup.c - everything that the collector does before its loop. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "collect/clock.h"
#include "collect/early.h"
#include "collect/housekeep.h"
#include "collect/session.h"
#include "util/capdir.h"
#include "util/log.h"
#include "util/text.h"
#include "util/units.h"

/* Modules from these on know the second event, and random periods */
#define CPI_VERSION	2
#define RANDOM_VERSION	6

/* -------------------------------------------------------- the domains */

/* Return: 1 the channel is new: an agent in the guest starts only now */
static int attach(virConnectPtr conn, struct vmp_domain *d)
{
	int added = vmp_domain_attach(conn, d);

	if (added == 1)
		vmp_info("%s: added the agent's channel", d->shown);
	return added == 1;
}

static int add_domain(struct vmp_session *s, virConnectPtr conn, struct vmp_domain *d)
{
	struct vmp_vm *vm;
	int err, added;

	if (d->xml.secured[0] && !s->opts->all) {
		vmp_err("%s: an encrypted guest (%s) hides its registers, what it does cannot be profiled\n"
			"  without <launchSecurity> it can: virsh edit %s", d->shown, d->xml.secured,
			d->word);
		return -EOPNOTSUPP;
	}
	added = attach(conn, d);
	err = vmp_vm_create(&vm, s, d, conn);
	if (err)
		return err;
	vmp_vm_tell_secured(vm);
	if (!d->xml.channel_path[0])
		vmp_vm_tell_no_channel(vm);
	vm->channel_is_new = added;
	s->vms[s->nr_vms++] = vm;
	vmp_info("%s: QEMU is process %u, %d vCPUs, clock by %s", d->shown, d->pid, vm->nr_vcpus,
		 vmp_clock_source_name(vm->source));
	return 0;
}

static int add_all(struct vmp_session *s, virConnectPtr conn)
{
	struct vmp_domain *list;
	int i, nr, err = 0;

	nr = vmp_domain_list(conn, &list);
	if (nr < 0)
		return nr;
	if (!nr) {
		vmp_err("no KVM domain is running; virsh list --all shows what there is");
		err = -ENOENT;
	}
	for (i = 0; i < nr && s->nr_vms < VMP_SESSION_VMS; i++)
		add_domain(s, conn, &list[i]);
	if (i < nr)
		vmp_warn("%d domains run; the first %d are profiled", nr, VMP_SESSION_VMS);
	free(list);
	return err ? err : s->nr_vms ? 0 : -ESRCH;
}

static int is_known(const struct vmp_session *s, const char *name)
{
	int i;

	for (i = 0; i < s->nr_vms; i++)
		if (!strcmp(s->vms[i]->dom.name, name))
			return 1;
	return 0;
}

static int find_domains(struct vmp_session *s)
{
	const struct vmp_opt_list *names = &s->opts->domains;
	virConnectPtr conn = vmp_libvirt_open(s->opts->uri);
	struct vmp_domain d;
	int i, err = 0;

	if (!conn)
		return -ENOTCONN;
	if (s->opts->all)
		err = add_all(s, conn);
	for (i = 0; !s->opts->all && !err && i < names->nr; i++) {
		if (is_known(s, names->item[i]))
			continue;
		err = vmp_domain_find(conn, names->item[i], &d);
		if (!err)
			err = add_domain(s, conn, &d);
	}
	virConnectClose(conn);
	return err;
}

/* -------------------------------------------------- event and period */

/* CPI needs two counters that overflow, cycles and instructions */
static int check_cpi(const struct vmp_session *s)
{
	if (!vmp_event_is_cycles(&s->event)) {
		vmp_err("--cpi needs performance counters, which this host has not");
		return -EOPNOTSUPP;
	}
	return vmp_driver_knows(&s->driver, "--cpi", CPI_VERSION);
}

/* A timer has no random periods: those below 10 us would be as long */
static int check_random(const struct vmp_session *s)
{
	if (s->event.is_timer) {
		vmp_err("--random needs a performance counter, which this host has not; start without it");
		return -EOPNOTSUPP;
	}
	return vmp_driver_knows(&s->driver, "--random", RANDOM_VERSION);
}

static void tell_sampling(const struct vmp_session *s)
{
	const struct vmp_lbr lbr = vmp_lbr_on(&s->opts->lbr, &s->driver.query);
	unsigned int entries = s->driver.query.lbr_entries;
	char text[128];

	vmp_info("a sample every %s of %s%s%s", vmp_period_text(text, &s->event, s->period, s->tsc_khz), s->event.name,
		 s->instruction_period ? ", and every so many instructions" : "",
		 s->opts->random ? ", in the mean of random periods" : "");
	if (lbr.branches)
		vmp_info("with each sample up to %u branches (%s), %u bytes", entries,
			 vmp_lbr_text(text, &lbr), vmp_lbr_bytes(&lbr, entries));
	if (s->instruction_period && !s->opts->cpi)
		vmp_info("samples of instructions are for the times of blocks; they are as many interrupts again: --no-cpi leaves them out");
}

void vmp_session_instructions(struct vmp_session *s, const struct vmprof_config *config, const uint32_t *vms, uint32_t nr)
{
	struct vmprof_config with = *config;

	s->instruction_period = s->opts->cpi ? s->period : 0;
	if (s->opts->cpi || s->opts->no_cpi || !vmp_lbr_tells_blocks(&s->opts->lbr))
		return;
	if (!vmp_event_is_cycles(&s->event)) {
		vmp_warn("no samples of instructions, which go with the event cycles, not with %s: vmprof blocks will have the CPI of the samples, the same for all blocks of a sample",
			 s->event.name);
		return;
	}
	with.instruction_period = s->period;
	/* where it cannot be had without them either, the session's own start says why */
	if (vmp_driver_try(&with, vms, nr) && !vmp_driver_try(config, vms, nr)) {
		vmp_warn("no samples of instructions, for which each CPU needs two counters more than are free (sysctl kernel.nmi_watchdog=0; pgrep -a perf): blocks will have no times, or, where a counter is left for instructions, by branches alone, which can be far off");
		return;
	}
	s->instruction_period = s->period;
}

static int choose_event(struct vmp_session *s)
{
	uint64_t features = s->driver.query.features;
	int err;

	s->tsc_khz = s->driver.query.tsc_khz ? s->driver.query.tsc_khz : vmp_tsc_khz();
	err = vmp_event_parse(s->opts->event ? s->opts->event : "cycles", &s->event);
	if (err)
		return err;
	if (!s->event.is_timer && !(features & VMPROF_FEAT_PMU)) {
		if (!vmp_event_is_cycles(&s->event)) {
			vmp_err("--event %s: this host has no performance counter to count it\n"
				"  --event cpu-clock samples by timer", s->event.name);
			return -EOPNOTSUPP;
		}
		vmp_warn("this host has no usable performance counter: sampling by timer (cpu-clock)");
		vmp_event_to_timer(&s->event);
	}
	if (s->event.is_timer && !(features & VMPROF_FEAT_TIMER)) {
		vmp_err("the module vmprof has no timer trigger here; use --event cycles");
		return -EOPNOTSUPP;
	}
	err = vmp_period_parse(s->opts->period, &s->event, s->tsc_khz, &s->period);
	if (!err && s->opts->cpi)
		err = check_cpi(s);
	if (!err && s->opts->random)
		err = check_random(s);
	if (!err)
		err = vmp_lbr_check(&s->opts->lbr, &s->driver.query);
	return err;
}

static int configure(struct vmp_session *s)
{
	const struct vmp_lbr lbr = vmp_lbr_on(&s->opts->lbr, &s->driver.query);
	struct vmprof_config config = {
		.flags = (s->opts->all ? VMPROF_CFG_ALL : 0) |
			 (s->event.is_timer ? VMPROF_CFG_TIMER : 0) |
			 (s->opts->random ? VMPROF_CFG_RANDOM : 0),
		.event_type = s->event.type,
		.event_config = s->event.config,
		.event_config1 = s->event.config1,
		.event_config2 = s->event.config2,
		.period = s->period,
		.lbr_branches = lbr.branches,
		.lbr_format = lbr.format,
		.ring_bytes = (uint32_t)s->opts->ring_bytes,
	};
	uint32_t pids[VMP_SESSION_VMS];
	int i;

	for (i = 0; i < s->nr_vms; i++)
		pids[i] = s->vms[i]->dom.pid;
	vmp_session_instructions(s, &config, pids, s->opts->all ? 0 : s->nr_vms);
	tell_sampling(s);
	config.instruction_period = s->instruction_period;
	return vmp_driver_config(&s->driver, &config, pids, s->opts->all ? 0 : s->nr_vms);
}

/* ------------------------------------------------------------ the file */

static int choose_path(struct vmp_session *s)
{
	const char *names[VMP_SESSION_VMS], *root;
	char cwd[2048];
	int i, err;

	if (s->opts->output) {
		root = s->opts->output[0] == '/' ? "" : getcwd(cwd, sizeof(cwd));
		if (!root || snprintf(s->path, sizeof(s->path), "%s%s%s", root, *root ? "/" : "",
				      s->opts->output) >= (int)sizeof(s->path)) {
			vmp_err("--output: the path is too long; choose a shorter one: --output FILE");
			return -ENAMETOOLONG;
		}
		return 0;
	}
	for (i = 0; i < s->nr_vms; i++)
		names[i] = s->vms[i]->dom.name;
	err = vmp_capture_name(s->path, sizeof(s->path), names, s->opts->all ? 0 : s->nr_vms,
			       time(NULL));
	if (err)
		vmp_err("cannot make a folder for the capture below %s: %s\n"
			"  choose another place: --output FILE", vmp_capture_dir(), strerror(-err));
	return err;
}

static int create_file(struct vmp_session *s)
{
	struct vmprof_cap_header proto = { .tsc_khz = s->tsc_khz };
	struct timespec now;
	char safe[4096];
	int err;

	err = choose_path(s);
	if (err)
		return err;
	memcpy(proto.session, s->id, sizeof(proto.session));
	clock_gettime(CLOCK_REALTIME, &now);
	proto.tsc = vmp_tsc_now();
	proto.realtime_ns = (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	err = vmp_writer_create(&s->writer, s->path, &proto);
	vmp_text(safe, sizeof(safe), s->path, strlen(s->path));
	if (err == -EEXIST)
		vmp_err("%s is there already and is no capture; choose another --output", safe);
	else if (err)
		vmp_err("cannot create %s: %s; choose another place: --output FILE", safe, strerror(-err));
	else
		vmp_info("writing %s", safe);
	return err;
}

static void write_meta(struct vmp_session *s, FILE *f)
{
	static const char *const vendor[] = { "none", "svm", "vmx" };
	const struct vmp_lbr lbr = vmp_lbr_on(&s->opts->lbr, &s->driver.query);
	uint32_t v = s->driver.query.vendor;
	struct utsname u;
	int i;

	uname(&u);
	fputs("{\"host\":", f);
	vmp_json_str(f, u.nodename);
	fputs(",\"release\":", f);
	vmp_json_str(f, u.release);
	fprintf(f, ",\"vendor\":\"%s\",\"event\":", v < 3 ? vendor[v] : "none");
	vmp_json_str(f, s->event.name);
	if (s->instruction_period)
		fprintf(f, ",\"instruction_period\":%" PRIu64, s->instruction_period);
	if (lbr.branches) {
		fputs(",\"lbr\":", f);
		vmp_lbr_json(&lbr, f);
	}
	if (s->opts->random)
		fputs(",\"random\":true", f);
	fprintf(f, ",\"period\":%" PRIu64 ",\"trigger\":\"%s\",\"command\":", s->period,
		s->event.is_timer ? "timer" : "pmc");
	fputs("\"vmprof start", f);
	if (s->opts->all)
		fputs(" --all", f);
	for (i = 0; i < s->opts->domains.nr; i++) {
		char safe[256];

		/* quotes and backslashes are not in what vmp_file_part() leaves */
		fprintf(f, " --domain %s", vmp_file_part(safe, sizeof(safe),
							 s->opts->domains.item[i]));
	}
	fprintf(f, "\",\"version\":\"%s\",\"cpus\":%u}", VMPROF_VERSION, s->driver.query.nr_cpus);
}

static int store_host(struct vmp_session *s)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int err;

	if (!f)
		return -ENOMEM;
	write_meta(s, f);
	err = fclose(f) ? -ENOMEM : vmp_store(s, VMPROF_CAP_META, 0, text, len, 0, 0);
	free(text);
	if (err)
		return err;
	err = vmp_read_ksyms(&text, &len);
	if (err) {
		vmp_warn("cannot read the host's kernel symbols: %s; its functions will have no names%s",
			 strerror(-err),
			 err == -EPERM ? "\n  sysctl kernel.kptr_restrict=1 mends it" : "");
		return 0;
	}
	err = vmp_store(s, VMPROF_CAP_HOST_KSYMS, 0, text, len, 0, 0);
	free(text);
	return err;
}

/* ------------------------------------------------------------ a VM joins */

static void keep_frame(void *arg, const struct vmprof_frame *wire, const void *payload,
		       uint32_t len)
{
	struct vmp_vm *vm = arg;

	vmp_kcopy_frame(&vm->kcopy, wire, payload, len);
	vmp_store_frame(vm, wire, payload, len);
}

static int take_object(void *arg, const struct vmp_msg_object *o)
{
	struct vmp_vm *vm = arg;

	return vmp_fetch_object(&vm->early, o, vmp_now_ns()) || vmp_fetch_object(&vm->fetch, o, vmp_now_ns());
}

static void take_file(void *arg, const struct vmp_msg_file *m)
{
	struct vmp_vm *vm = arg;

	if (vm->session->phase <= VMP_SAMPLING)
		vmp_early_take(vm, m);
}

static void tell_started(const struct vmp_vm *vm)
{
	const struct vmp_agent *a = &vm->agent;

	vmp_info("%s: the agent answers, guest kernel %s%s", vm->dom.shown, a->release,
		 a->counts.hellos > 1 ? " (again)" : "");
	vmp_vm_tell_no_module(vm, "runs");
}

static void take_tasks(void *arg, const struct vmp_msg_tasks *m)
{
	struct vmp_vm *vm = arg;

	vmp_tasks_take(&vm->tasks, m);
	vmp_session_told_tasks(vm->session, vm);
}

static void agent_changed(void *arg)
{
	struct vmp_vm *vm = arg;
	struct vmp_agent *a = &vm->agent;

	/* the next conversation may be with another kernel */
	if (!vmp_agent_is_there(a))
		vmp_tasks_forget(&vm->tasks);
	if (!vmp_agent_is_there(a) || a->state == VMP_AGENT_STARTED)
		vmp_early_forget(vm);
	if (!vm->tasks.cpu)
		vmp_session_tasks(vm->session, vm);
	switch (a->state) {
	case VMP_AGENT_STARTED:
		vm->port_open = 1;
		if (vmp_vm_may_tell(vm))
			tell_started(vm);
		break;
	case VMP_AGENT_RUNNING:
		vmp_vm_clock_check(vm);
		break;
	case VMP_AGENT_REFUSED:
		if (vmp_vm_may_tell(vm))
			vmp_warn("%s: the agent speaks protocol %u, this vmprof %u: install the agent of this version in the guest",
				 vm->dom.shown, a->version, VMPROF_PROTO_VERSION);
		break;
	default:
		break;
	}
}

int vmp_session_add_vm(struct vmp_session *s, struct vmp_vm *vm)
{
	static const struct vmp_agent_ops ops = { keep_frame, take_object, agent_changed, take_tasks, take_file };
	uint64_t session, now_ns = vmp_now_ns();
	size_t len, ids_len;
	char *maps, *ids;
	int err;

	memcpy(&session, s->id, sizeof(session));
	vmp_agent_init(&vm->agent, session, &ops, vm);
	if (vm->objects.way != VMP_OBJECTS_NONE) {
		vmp_kept_init(&vm->kept, vm->dom.uuid);
		vm->agent.kept = &vm->kept;
	}
	vmp_store_vm(vm);
	if (!vmp_read_maps(vm->dom.pid, &maps, &len)) {
		vmp_store(s, VMPROF_CAP_HOST_MAPS, vm->dom.pid, maps, len, 0, 0);
		if (!vmp_host_build_ids(vm->dom.pid, maps, len, &ids, &ids_len)) {
			if (ids_len)
				vmp_store(s, VMPROF_CAP_HOST_BUILD_IDS, vm->dom.pid, ids, ids_len, 0, 0);
			free(ids);
		}
		free(maps);
	}
	vmp_store_clocks(vm);
	if (!vm->dom.xml.channel_path[0])
		return 0;
	err = vmp_agent_connect(&vm->agent, vm->dom.xml.channel_path, now_ns);
	if (err)
		vmp_warn("%s: cannot connect to the agent's channel %s: %s", vm->dom.shown,
			 vm->dom.xml.channel_path, strerror(-err));
	return 0;
}

/* ------------------------------------------------------------------ all */

int vmp_session_setup(struct vmp_session *s)
{
	int i, err, swept;

	s->early_room = VMP_EARLY_ALL_BYTES;
	swept = vmp_sweep_leftovers(time(NULL));
	if (swept)
		vmp_info("removed %d unfinished files of sessions that were killed", swept);
	if (getrandom(s->id, sizeof(s->id), 0) != sizeof(s->id))
		return -EIO;
	s->scratch = malloc(VMP_SCRATCH_BYTES);
	if (!s->scratch)
		return -ENOMEM;
	err = find_domains(s);
	if (err)
		return err;
	err = vmp_monitor_start(&s->monitor, s->opts->uri);
	if (err) {
		vmp_err("cannot start the helper that talks to libvirt: %s\n"
			"  what limits processes and files shows: ulimit -a", strerror(-err));
		return err;
	}
	err = vmp_driver_open(&s->driver);
	if (err)
		return err;
	err = choose_event(s);
	if (err)
		return err;
	err = configure(s);
	if (err)
		return err;
	err = create_file(s);
	if (err)
		return err;
	err = store_host(s);
	for (i = 0; !err && i < s->nr_vms; i++)
		err = vmp_session_add_vm(s, s->vms[i]);
	return s->error[0] ? -EIO : err;
}

int vmp_session_begin(struct vmp_session *s)
{
	int err;

	err = vmp_driver_start(&s->driver);
	if (err)
		return err;
	err = vmp_writer_place(s->writer);
	if (err) {
		vmp_driver_stop(&s->driver);
		vmp_err("cannot create %s: %s; choose another place: --output FILE", s->path,
			strerror(-err));
		return err;
	}
	s->sampling = 1;
	s->news = 1;	/* a domain that ended meanwhile may run again */
	s->begin_tsc = vmp_tsc_now();
	s->begin_ns = vmp_now_ns();
	return 0;
}
