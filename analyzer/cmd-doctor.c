// SPDX-License-Identifier: GPL-2.0-only
/* cmd-doctor.c - vmprof doctor: check everything that a profile needs. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "collect/checks.h"
#include "collect/statedir.h"
#include "util/log.h"
#include "util/opts.h"

static void line(struct vmp_checks *c, const char *mark, const char *fmt, va_list ap)
{
	FILE *out = c->out ? c->out : stdout;

	fprintf(out, "%s  ", mark);
	vfprintf(out, fmt, ap);
	fputc('\n', out);
	fflush(out);
}

void vmp_check_good(struct vmp_checks *c, const char *fmt, ...)
{
	va_list ap;

	c->good++;
	va_start(ap, fmt);
	line(c, "ok", fmt, ap);
	va_end(ap);
}

void vmp_check_remark(struct vmp_checks *c, const char *fmt, ...)
{
	va_list ap;

	c->remarks++;
	va_start(ap, fmt);
	line(c, "--", fmt, ap);
	va_end(ap);
}

void vmp_check_fault(struct vmp_checks *c, const char *fmt, ...)
{
	va_list ap;

	c->faults++;
	va_start(ap, fmt);
	line(c, "!!", fmt, ap);
	va_end(ap);
}

static int session_runs(void)
{
	char *json;
	pid_t pid;
	int state = vmp_state_look(&pid, &json);

	free(json);
	return state == VMP_STATE_RUNNING;
}

/* Messages about what cannot be profiled become lines of ours: one each. */
static void as_fault(void *arg, enum vmp_log_level level, const char *text)
{
	int first = (int)strcspn(text, "\n");

	(void)level;
	if (text[first])
		vmp_check_fault(arg, "%.*s: %s", first, text,
				text + first + 1 + strspn(text + first + 1, " "));
	else
		vmp_check_fault(arg, "%s", text);
}

static void check_named(struct vmp_checks *c, virConnectPtr conn, const char *name)
{
	struct vmp_domain d;
	int err;

	vmp_log_set(as_fault, c);
	err = vmp_domain_find(conn, name, &d);
	vmp_log_set(NULL, NULL);
	if (!err)
		vmp_check_domain(c, conn, &d);
}

static void check_all(struct vmp_checks *c, virConnectPtr conn)
{
	struct vmp_domain *list;
	int i, nr;

	vmp_log_set(as_fault, c);
	nr = vmp_domain_list(conn, &list);
	vmp_log_set(NULL, NULL);
	if (nr < 0)
		return;
	if (!nr)
		vmp_check_remark(c, "no KVM domain is running: virsh start NAME");
	for (i = 0; i < nr; i++)
		vmp_check_domain(c, conn, &list[i]);
	free(list);
}

static void check_domains(struct vmp_checks *c, const char *uri, const struct vmp_opt_list *names)
{
	virConnectPtr conn;
	int i;

	vmp_log_set(as_fault, c);
	conn = vmp_libvirt_open(uri);
	vmp_log_set(NULL, NULL);
	if (!conn)
		return;
	vmp_check_good(c, "libvirt answers");
	for (i = 0; i < names->nr; i++)
		check_named(c, conn, names->item[i]);
	if (!names->nr)
		check_all(c, conn);
	virConnectClose(conn);
}

int cmd_doctor(int argc, char **argv)
{
	struct vmp_opt_list domains = { .nr = 0 };
	const char *uri = NULL;
	const struct vmp_opt opts[] = {
		{ "domain", 'd', VMP_OPT_LIST, "NAME",
		  "check this domain; may be given again; default: all that run", &domains },
		{ "connect", 'c', VMP_OPT_STR, "URI",
		  "libvirt's address; default: qemu:///system", &uri },
		{ 0 },
	};
	const struct vmp_cmdline cmd = {
		.usage = "vmprof doctor [--domain NAME]... [--connect URI]",
		.about = "Check everything that a profile needs, a line each:\n"
			 "  ok  as it should be\n"
			 "  --  a profile works, but with less in it; what mends it follows\n"
			 "  !!  no profile until this is mended; how follows\n"
			 "Changes nothing; a free agent is greeted and let go again.",
		.opts = opts,
		.more = "Exit status: 0 no line with !!, 1 there is one, 2 wrong usage.",
	};
	struct vmp_checks c = { 0 };
	int args, ret;

	ret = vmp_opts_parse(&cmd, argc, argv, &args);
	if (ret)
		return ret > 0 ? VMP_EXIT_OK : VMP_EXIT_USAGE;
	if (geteuid()) {
		vmp_check_fault(&c, "not root: the rest cannot be checked: sudo vmprof doctor");
		return VMP_EXIT_FAILED;
	}
	c.busy = session_runs();
	vmp_check_host(&c);
	check_domains(&c, uri, &domains);
	printf("%d ok, %d that could be better, %d in the way of a profile\n", c.good, c.remarks,
	       c.faults);
	return c.faults ? VMP_EXIT_FAILED : VMP_EXIT_OK;
}
