// SPDX-License-Identifier: GPL-2.0-only
/* session.c - the collector's loop: poll, drain, tick; phases as in session.h. */
#include "collect/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "collect/carry.h"
#include "collect/clock.h"
#include "collect/early.h"
#include "collect/lines.h"
#include "collect/statedir.h"
#include "util/file.h"
#include "util/log.h"
#include "util/text.h"

#define TICK_NS			1000000000ULL
#define RINGS_NS		100000000ULL	/* rings that are not full are stored as often */
#define ROUND_NS		5000000000ULL	/* of slow readings */
#define HELLO_PATIENCE_NS	5000000000ULL	/* for agents before sampling begins */
#define NEW_PATIENCE_NS		15000000000ULL	/* for one that starts with its channel */
#define SNAPSHOT_PATIENCE_NS	15000000000ULL
#define KSYMS_PATIENCE_NS	30000000000ULL
#define FIRST_PATIENCE_NS	5000000000ULL	/* for the first sample */
#define AGAIN_PATIENCE_NS	30000000000ULL	/* for a domain that ended to run again */

/* ------------------------------------------------------------ messages */

static void session_log(void *arg, enum vmp_log_level level, const char *text)
{
	static const char *const mark[] = { "", "warning: ", "error: ", "" };
	struct vmp_session *s = arg;
	char kind = vmp_lines_kind(level);

	vmp_logfile_line(&s->log, mark[level], text);
	if (s->start_fd >= 0 && vmp_lines_send(s->start_fd, kind, text)) {
		close(s->start_fd);
		s->start_fd = -1;
	}
	vmp_control_tell(&s->control, kind, text, 0);
}

/* `start` may return. */
static void tell_start(struct vmp_session *s, int code)
{
	if (s->start_fd < 0)
		return;
	vmp_lines_send(s->start_fd, 'X', code ? "1" : "0");
	close(s->start_fd);
	s->start_fd = -1;
}

void vmp_session_phase(struct vmp_session *s, enum vmp_phase phase)
{
	s->phase = phase;
	s->phase_ns = vmp_now_ns();
}

void vmp_session_fail(struct vmp_session *s, const char *fmt, ...)
{
	va_list ap;
	int i;

	if (s->error[0])
		return;		/* the first one is the reason for the others */
	va_start(ap, fmt);
	vsnprintf(s->error, sizeof(s->error), fmt, ap);
	va_end(ap);
	vmp_err("%s", s->error);
	if (s->phase != VMP_PREPARING && s->phase != VMP_SAMPLING)
		return;
	if (s->sampling)
		vmp_driver_stop(&s->driver);
	s->sampling = 0;
	s->end_ns = vmp_now_ns();
	for (i = 0; i < s->nr_vms; i++)
		vmp_agent_stop(&s->vms[i]->agent);
	vmp_session_phase(s, VMP_FAILED);
}

struct vmp_vm *vmp_session_vm(struct vmp_session *s, uint32_t pid)
{
	int i;

	for (i = 0; i < s->nr_vms; i++)
		if (s->vms[i]->dom.pid == pid)
			return s->vms[i];
	return NULL;
}

int vmp_session_all_gone(const struct vmp_session *s)
{
	int i;

	for (i = 0; i < s->nr_vms; i++)
		if (!s->vms[i]->gone)
			return 0;
	return 1;
}

/* -------------------------------------------------------------- phases */

static int agent_settled(const struct vmp_vm *vm, uint64_t waited_ns)
{
	switch (vm->agent.state) {
	case VMP_AGENT_GREETED:
		if (vm->channel_is_new)
			return waited_ns > NEW_PATIENCE_NS;
		return !vm->port_open || waited_ns > HELLO_PATIENCE_NS;
	case VMP_AGENT_STARTED:
		return waited_ns > SNAPSHOT_PATIENCE_NS;
	case VMP_AGENT_RUNNING:
		/* the guest's work for its symbols is not part of the profile */
		return vm->agent.ksyms_whole || waited_ns > KSYMS_PATIENCE_NS;
	default:
		return 1;
	}
}

static void prepare_step(struct vmp_session *s, uint64_t now_ns)
{
	int i;

	for (i = 0; i < s->nr_vms; i++)
		if (!agent_settled(s->vms[i], now_ns - s->phase_ns))
			return;
	for (i = 0; i < s->nr_vms; i++)
		if (s->vms[i]->agent.state == VMP_AGENT_GREETED)
			vmp_warn("%s: no agent in the guest: user code will have no names\n"
				 "  install vmprof-guest-agent in the guest and start it: systemctl start vmprof-agent",
				 s->vms[i]->dom.shown);
	if (vmp_session_begin(s)) {
		snprintf(s->error, sizeof(s->error), "sampling could not begin");
		vmp_session_phase(s, VMP_OVER);
		return;
	}
	vmp_session_phase(s, VMP_SAMPLING);
}

static void look_for_first_sample(struct vmp_session *s, uint64_t now_ns)
{
	if (s->told_ready || (!s->samples && now_ns - s->begin_ns < FIRST_PATIENCE_NS))
		return;
	s->told_ready = 1;
	if (s->samples)
		vmp_info("samples flow; vmprof stop ends the session");
	else
		vmp_warn("the session runs, but there was no sample in %llu s: the guests may be idle\n"
			 "  vmprof status shows whether samples come, vmprof doctor what may hinder them",
			 FIRST_PATIENCE_NS / 1000000000);
	tell_start(s, 0);
}

/* All domains ended, and none of them will be waited for any more. */
static int is_deserted(const struct vmp_session *s, uint64_t now_ns)
{
	uint64_t last_ns = s->begin_ns;
	int i;

	if (s->opts->all || !vmp_session_all_gone(s))
		return 0;
	for (i = 0; i < s->nr_vms; i++)
		if (s->vms[i]->gone_ns > last_ns)
			last_ns = s->vms[i]->gone_ns;
	return !vmp_driver_adds_vms(&s->driver) || s->monitor.fd < 0 || now_ns >= last_ns + AGAIN_PATIENCE_NS;
}

static void sample_step(struct vmp_session *s, uint64_t now_ns)
{
	look_for_first_sample(s, now_ns);
	if (is_deserted(s, now_ns))
		snprintf(s->reason, sizeof(s->reason), "all domains of the session ended");
	else if (s->opts->duration_ns && now_ns - s->begin_ns >= s->opts->duration_ns)
		snprintf(s->reason, sizeof(s->reason), "the time given by --duration is over");
	else if (!s->stop_asked)
		return;
	if (s->reason[0])
		vmp_info("%s", s->reason);
	vmp_session_end(s);
}

static void tick(struct vmp_session *s, uint64_t now_ns)
{
	int i;

	s->tick_ns = now_ns;
	for (i = 0; i < s->nr_vms; i++) {
		vmp_agent_tick(&s->vms[i]->agent, now_ns);
		vmp_session_tick_tasks(s, s->vms[i]);
		vmp_store_batch(s->vms[i]);
	}
	if (now_ns - s->round_ns >= ROUND_NS && s->phase <= VMP_SAMPLING)
		vmp_watch_round(s, now_ns);
}

static void advance(struct vmp_session *s, uint64_t now_ns)
{
	int i;

	if (now_ns - s->tick_ns >= TICK_NS)
		tick(s, now_ns);
	switch (s->phase) {
	case VMP_PREPARING:
		if (s->stop_asked) {
			vmp_session_fail(s, "the session was stopped before sampling began");
			vmp_session_phase(s, VMP_OVER);
		} else {
			prepare_step(s, now_ns);
		}
		break;
	case VMP_SAMPLING:
		for (i = 0; i < s->nr_vms; i++)
			vmp_early_step(s->vms[i], now_ns, 1);
		sample_step(s, now_ns);
		break;
	case VMP_FAILED:
		tell_start(s, 1);
		if (!s->begin_ns) {
			vmp_session_phase(s, VMP_OVER);
		} else if (s->stop_asked) {
			vmp_err("sampling had stopped by itself: %s", s->error);
			vmp_session_end(s);
		}
		break;
	case VMP_ENDING:
		vmp_watch_ask(s);
		vmp_session_finish_step(s, now_ns);
		break;
	case VMP_FETCHING:
		vmp_session_finish_step(s, now_ns);
		break;
	case VMP_OVER:
		break;
	}
}

/* ----------------------------------------------------------- the loop */

#define POLL_FIXED 3	/* device, signals, helper */
#define POLL_VM 3	/* agent, QEMU, ssh */

static int fill(struct vmp_session *s, struct pollfd *p)
{
	int i, nr = 0;

	p[nr++] = (struct pollfd){ .fd = s->sampling ? s->driver.fd : -1, .events = POLLIN };
	p[nr++] = (struct pollfd){ .fd = s->signal_fd, .events = POLLIN };
	p[nr++] = (struct pollfd){ .fd = s->monitor.fd, .events = POLLIN };
	for (i = 0; i < s->nr_vms; i++) {
		struct vmp_vm *vm = s->vms[i];

		p[nr++] = (struct pollfd){
			.fd = vm->agent.fd, .events = vmp_agent_events(&vm->agent) };
		p[nr++] = (struct pollfd){ .fd = vm->gone ? -1 : vm->pidfd, .events = POLLIN };
		p[nr++] = vmp_carry_poll(vm);
	}
	return nr + vmp_control_fill(&s->control, p + nr);
}

static void on_command(struct vmp_session *s, int fd)
{
	struct vmp_control_client *client;
	char *json;

	switch (vmp_control_read(&s->control, fd, &client)) {
	case VMP_CONTROL_STATUS:
		if (s->sampling)
			vmp_store_rings(s);
		json = vmp_session_status(s);
		if (json)
			vmp_control_reply(client, 'J', json, 0);
		if (client->fd >= 0)
			vmp_control_reply(client, 'X', json ? "0" : "1", 1);
		free(json);
		break;
	case VMP_CONTROL_STOP:
		s->stop_asked = 1;
		break;
	case VMP_CONTROL_NOTHING:
		break;
	}
}

static void on_gone(struct vmp_vm *vm)
{
	struct vmp_session *s = vm->session;
	int waits = s->phase <= VMP_SAMPLING && !s->opts->all && s->monitor.fd >= 0 && vmp_driver_adds_vms(&s->driver);

	vm->gone = 1;
	vm->gone_ns = vmp_now_ns();
	s->news = 1;	/* it may run again, in another QEMU */
	vmp_warn("%s: the domain ended; what was sampled of it is kept%s", vm->dom.shown,
		 waits ? "\n  when it runs again it joins; where no other domain runs the session ends in half a minute" : "");
	/* the last words are still in the socket */
	vmp_agent_ready(&vm->agent, POLLIN, vmp_now_ns());
	vmp_agent_close(&vm->agent);
}

static void on_signal(struct vmp_session *s)
{
	struct signalfd_siginfo info;

	if (read(s->signal_fd, &info, sizeof(info)) == sizeof(info) && !s->stop_asked) {
		s->stop_asked = 1;
		snprintf(s->reason, sizeof(s->reason), "the collector was asked to end by signal %u",
			 info.ssi_signo);
	}
}

static void serve(struct vmp_session *s, struct pollfd *p, int nr, uint64_t now_ns)
{
	int i, vms = s->nr_vms;

	/* the socket first: what was written before QEMU's end counts */
	for (i = 0; i < vms; i++) {
		struct pollfd *vp = p + POLL_FIXED + POLL_VM * i;

		if (vp[0].revents)
			vmp_agent_ready(&s->vms[i]->agent, vp[0].revents, now_ns);
		if (vp[1].revents)
			on_gone(s->vms[i]);
		if (vp[2].revents)
			vmp_carry_ready(s->vms[i]);
	}
	if (s->sampling && (p[0].revents || now_ns - s->rings_ns >= RINGS_NS)) {
		vmp_store_rings(s);
		s->rings_ns = now_ns;
	}
	if (p[1].revents)
		on_signal(s);
	if (p[2].revents)
		vmp_watch_answer(s);
	for (i = POLL_FIXED + POLL_VM * vms; i < nr; i++) {
		if (!p[i].revents)
			continue;
		if (p[i].fd == s->control.fd)
			vmp_control_accept(&s->control);
		else
			on_command(s, p[i].fd);
	}
}

static int timeout_ms(const struct vmp_session *s)
{
	if (s->phase == VMP_SAMPLING && s->told_ready)
		return 1000;
	return s->phase == VMP_FAILED ? 1000 : 100;
}

static void loop(struct vmp_session *s)
{
	static struct pollfd p[POLL_FIXED + POLL_VM * VMP_SESSION_VMS + 1 + VMP_CONTROL_CLIENTS];
	int nr;

	s->tick_ns = vmp_now_ns();
	while (s->phase != VMP_OVER) {
		nr = fill(s, p);
		if (poll(p, nr, timeout_ms(s)) < 0 && errno != EINTR) {
			vmp_session_fail(s, "poll: %m; what was sampled until now is kept: vmprof report %s",
					 s->path);
			if (s->begin_ns)
				vmp_store_rings(s);
			break;
		}
		serve(s, p, nr, vmp_now_ns());
		advance(s, vmp_now_ns());
	}
}

/* ------------------------------------------------------- life of it all */

static int block_signals(void)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void write_state(struct vmp_session *s, const char *name)
{
	char path[4096], *json = vmp_session_status(s);

	if (json)
		vmp_file_write(vmp_state_path(path, sizeof(path), name), json, strlen(json));
	free(json);
}

static void write_last(struct vmp_session *s)
{
	char path[4096], *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	fprintf(f, "{\"ended\":%lld,\"samples\":%" PRIu64 ",\"file\":", (long long)time(NULL),
		s->samples);
	vmp_json_str(f, s->path);
	fputs(",\"reason\":", f);
	vmp_json_str(f, s->reason);
	fputs(",\"error\":", f);
	vmp_json_str(f, s->error);
	fputs("}", f);
	if (!fclose(f))
		vmp_file_write(vmp_state_path(path, sizeof(path), "last.json"), text, len);
	free(text);
}

static void tear_down(struct vmp_session *s)
{
	int i;

	vmp_monitor_stop(&s->monitor);
	vmp_driver_close(&s->driver);
	/* if it never sampled nothing is left behind, and what was there stays */
	if (s->writer && !s->begin_ns)
		vmp_writer_discard(s->writer);
	else if (s->writer)
		vmp_writer_close(s->writer);
	for (i = 0; i < s->nr_vms; i++)
		vmp_vm_free(s->vms[i]);
	vmp_comms_free(&s->comms);
	free(s->scratch);
}

static void run(struct vmp_session *s)
{
	int err;

	if (vmp_session_setup(s)) {
		snprintf(s->error, sizeof(s->error), "the session could not be set up");
		return;
	}
	err = vmp_control_open(&s->control);
	if (err) {
		vmp_err("cannot open the control socket: %s; VMPROF_RUN_DIR=DIR names another place for it",
			strerror(-err));
		snprintf(s->error, sizeof(s->error), "no control socket");
		return;
	}
	/* no file system is kept busy by where `start` was called */
	if (chdir("/"))
		vmp_warn("chdir /: %m");
	vmp_session_phase(s, VMP_PREPARING);
	write_state(s, "session.json");
	loop(s);
	if (s->begin_ns)
		write_last(s);
}

int vmp_collect(const struct vmp_session_opts *opts, int start_fd)
{
	static struct vmp_session session;
	struct vmp_session *s = &session;
	char path[4096];
	int failed;

	s->opts = opts;
	s->start_fd = start_fd;
	s->monitor.fd = s->driver.fd = -1;
	vmp_control_init(&s->control);
	vmp_log_set(session_log, s);
	s->lock_fd = vmp_state_lock();
	if (s->lock_fd < 0) {
		vmp_err("cannot become the collector: %s%s", strerror(-s->lock_fd),
			s->lock_fd == -EBUSY ? "; a session runs: vmprof status" :
			"; VMPROF_RUN_DIR=DIR names another place than /run/vmprof");
		tell_start(s, 1);
		return VMP_EXIT_FAILED;
	}
	vmp_state_clean();
	vmp_logfile_open(&s->log, vmp_state_path(path, sizeof(path), "log"));
	s->signal_fd = block_signals();
	run(s);
	failed = s->error[0] != 0;
	tear_down(s);
	vmp_state_clean();
	tell_start(s, failed);
	vmp_control_tell(&s->control, 'X', failed ? "1" : "0", 1);
	vmp_control_close(&s->control);
	vmp_logfile_close(&s->log);
	close(s->lock_fd);
	return failed ? VMP_EXIT_FAILED : VMP_EXIT_OK;
}
