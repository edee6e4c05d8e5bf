// SPDX-License-Identifier: GPL-2.0-only
/* cmd-status.c - vmprof status: what the running session does. */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "collect/control.h"
#include "collect/running.h"
#include "report/render.h"
#include "util/log.h"
#include "util/opts.h"
#include "util/text.h"
#include "util/units.h"

static struct json_object *member(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	json_object_object_get_ex(o, key, &v);
	return v;
}

static void print_losses(struct json_object *lost)
{
	unsigned long long n, sum = 0;

	json_object_object_foreach(lost, cause, value) {
		n = json_object_get_uint64(value);
		sum += n;
		if (n)
			printf("lost       %llu by %s\n", n, cause);
	}
	if (!sum)
		printf("lost       nothing\n");
}

static void print_branches(struct json_object *b)
{
	printf("branches   %llu, with %llu samples; %llu cut off at VM entries and exits\n",
	       vmp_json_count(b, "branches"), vmp_json_count(b, "samples"), vmp_json_count(b, "cut"));
}

static void print_agent(struct json_object *a)
{
	unsigned long long bad = vmp_json_count(a, "bad_frames") + vmp_json_count(a, "seq_gaps") +
				 vmp_json_count(a, "bad_payloads");
	const char *release = vmp_json_get(a, "release");
	char size[32];

	printf("           agent: %s", vmp_json_get(a, "state"));
	if (*release)
		printf(", guest kernel %s, %llu messages, %s", release, vmp_json_count(a, "frames"),
		       vmp_format_size(size, sizeof(size), vmp_json_count(a, "bytes")));
	if (*vmp_json_get(a, "without_module"))
		printf(", without its module (%s)", vmp_json_get(a, "without_module"));
	if (json_object_get_boolean(member(a, "without_perf")))
		printf(", nor may it listen to perf (in the guest: sysctl kernel.perf_event_paranoid=2)");
	if (bad)
		printf(", %llu broken or missing", bad);
	if (vmp_json_count(a, "dropped_frames"))
		printf(", %llu not kept", vmp_json_count(a, "dropped_frames"));
	if (vmp_json_count(a, "dropped_hellos"))
		printf(", began anew %llu times too fast", vmp_json_count(a, "dropped_hellos"));
	if (vmp_json_count(a, "unsent"))
		printf(", did not read %llu requests", vmp_json_count(a, "unsent"));
	printf("\n");
}

static void print_domains(struct json_object *list)
{
	size_t i;

	for (i = 0; i < json_object_array_length(list); i++) {
		struct json_object *d = json_object_array_get_idx(list, i);
		const char *name = vmp_json_get(d, "name");
		char safe[256];

		printf("domain     %s: QEMU %llu, %llu vCPUs, %llu samples in the guest, clock by %s%s\n",
		       vmp_text(safe, sizeof(safe), name, strlen(name)), vmp_json_count(d, "pid"),
		       vmp_json_count(d, "vcpus"), vmp_json_count(d, "samples"),
		       vmp_json_get(d, "clock_source"),
		       json_object_get_boolean(member(d, "ended")) ? ", ended" : "");
		print_agent(member(d, "agent"));
		if (vmp_tasks_off_text(vmp_json_get(d, "tasks")))
			printf("           threads are not told apart: %s\n", vmp_tasks_off_text(vmp_json_get(d, "tasks")));
	}
}

static void print_status(struct json_object *o)
{
	const char *file = vmp_json_get(o, "file"), *error = vmp_json_get(o, "error");
	char safe[4096], size[32];

	printf("session    %s for %.0f s, collector %llu\n", vmp_json_get(o, "phase"),
	       json_object_get_double(member(o, "seconds")), vmp_json_count(o, "pid"));
	if (*error)
		printf("error      %s\n", error);
	printf("event      %s%s, %speriod %llu, by %s\n", vmp_json_get(o, "event"),
	       vmp_json_count(o, "instruction_period") ? " and instructions" : "",
	       json_object_get_boolean(member(o, "random")) ? "random, mean " : "", vmp_json_count(o, "period"),
	       strcmp(vmp_json_get(o, "trigger"), "timer") ? "counter" : "timer");
	printf("samples    %llu\n", vmp_json_count(o, "samples"));
	if (member(o, "lbr"))
		print_branches(member(o, "branches"));
	print_losses(member(o, "lost"));
	printf("file       %s, %s\n", vmp_text(safe, sizeof(safe), file, strlen(file)),
	       vmp_format_size(size, sizeof(size), vmp_json_count(o, "bytes")));
	print_domains(member(o, "domains"));
}

static int show(const char *json, int as_json)
{
	struct json_object *o;

	if (as_json) {
		printf("%s\n", json);
		return VMP_EXIT_OK;
	}
	o = json_tokener_parse(json);
	if (!o) {
		vmp_err("the collector's answer makes no sense; is it of another version of vmprof?");
		return VMP_EXIT_FAILED;
	}
	print_status(o);
	json_object_put(o);
	return VMP_EXIT_OK;
}

int cmd_status(int argc, char **argv)
{
	int as_json = 0, args, ret;
	char *json = NULL;
	const struct vmp_opt opts[] = {
		{ "json", 'j', VMP_OPT_FLAG, NULL,
		  "print a JSON object: {\"running\": false}, or all there is to know", &as_json },
		{ 0 },
	};
	const struct vmp_cmdline cmd = {
		.usage = "vmprof status [--json]",
		.about = "Tell what the running session does: its domains, samples, losses by cause, the\n"
			 "state of the guests' agents, and the file.",
		.opts = opts,
		.more = "Exit status: 0 a session runs, 1 none runs, 2 wrong usage.",
	};

	ret = vmp_opts_parse(&cmd, argc, argv, &args);
	if (ret)
		return ret > 0 ? VMP_EXIT_OK : VMP_EXIT_USAGE;
	if (vmp_need_root("status"))
		return VMP_EXIT_FAILED;
	ret = vmp_control_ask("status", &json);
	if (!ret && json) {
		ret = show(json, as_json);
		free(json);
		return ret;
	}
	free(json);
	if (as_json)
		printf("{\"running\": false}\n");
	else
		vmp_tell_absent();
	return VMP_EXIT_FAILED;
}
