// SPDX-License-Identifier: GPL-2.0-only
/* running.c - what start, stop and status say about a session that runs, was killed, or ended. */
#include "collect/running.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/statedir.h"
#include "util/file.h"
#include "util/log.h"
#include "util/text.h"

const char *vmp_json_get(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) && json_object_is_type(v, json_type_string) ?
	       json_object_get_string(v) : "";
}

unsigned long long vmp_json_count(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_uint64(v) : 0;
}

int vmp_need_root(const char *command)
{
	if (!geteuid())
		return 0;
	vmp_err("%s needs root: sessions sample the whole host and read its guests' memory\n"
		"  sudo vmprof %s ...", command, command);
	return -EPERM;
}

/* The domains of a session, comma between them. */
static void name_domains(struct json_object *session, char *dst, size_t size)
{
	struct json_object *list;
	size_t i, n = 0;

	dst[0] = 0;
	if (!json_object_object_get_ex(session, "domains", &list) ||
	    !json_object_is_type(list, json_type_array))
		return;
	for (i = 0; i < json_object_array_length(list) && n < size; i++) {
		const char *name = vmp_json_get(json_object_array_get_idx(list, i), "name");
		char safe[256];

		n += snprintf(dst + n, size - n, "%s%s", i ? ", " : "",
			      vmp_text(safe, sizeof(safe), name, strlen(name)));
	}
}

/* It is remembered as the last session. */
static void tell_killed(const char *json, pid_t pid)
{
	struct json_object *o = json_tokener_parse(json);
	char path[4096], *text = NULL;
	size_t len;
	FILE *f;

	vmp_warn("the collector of an earlier session (process %d) was killed; sampling has stopped\n"
		 "  what it had written is readable: vmprof report %s", pid,
		 vmp_json_get(o, "file"));
	f = open_memstream(&text, &len);
	if (f) {
		fprintf(f, "{\"ended\":%lld,\"reason\":\"its collector was killed\",\"file\":",
			(long long)time(NULL));
		vmp_json_str(f, vmp_json_get(o, "file"));
		fputs("}", f);
		if (!fclose(f))
			vmp_file_write(vmp_state_path(path, sizeof(path), "last.json"), text, len);
		free(text);
	}
	json_object_put(o);
	vmp_state_clean();
}

int vmp_none_runs(void)
{
	char *json, names[1024];
	struct json_object *o;
	int state;
	pid_t pid;

	state = vmp_state_look(&pid, &json);
	if (state == VMP_STATE_STALE)
		tell_killed(json, pid);
	if (state == VMP_STATE_RUNNING) {
		o = json ? json_tokener_parse(json) : NULL;
		name_domains(o, names, sizeof(names));
		vmp_err("a session runs already: %s (collector %d, %s)\n"
			"  vmprof status tells more, vmprof stop ends it", *names ? names : "?", pid,
			o ? vmp_json_get(o, "file") : "being set up");
		json_object_put(o);
	}
	free(json);
	return state == VMP_STATE_RUNNING ? -EBUSY : 0;
}

static int tell_last(void)
{
	char path[4096], *text, when[32];
	struct json_object *o;
	const char *error, *why;
	struct tm tm;
	size_t len;
	time_t t;

	if (vmp_file_read(vmp_state_path(path, sizeof(path), "last.json"), 1 << 20, &text, &len))
		return -ENOENT;
	o = json_tokener_parse(text);
	free(text);
	if (!o)
		return -ENOENT;
	t = (time_t)vmp_json_count(o, "ended");
	localtime_r(&t, &tm);
	strftime(when, sizeof(when), "%F %T", &tm);
	error = vmp_json_get(o, "error");
	why = *error ? error : vmp_json_get(o, "reason");
	vmp_err("no session runs; the last one ended at %s%s%.*s\n"
		"  vmprof report %s", when,
		*error ? " with an error: " : *why ? ": " : "", (int)strcspn(why, "\n"), why,
		vmp_json_get(o, "file"));
	json_object_put(o);
	return 0;
}

void vmp_tell_absent(void)
{
	char *json;
	pid_t pid;
	int state = vmp_state_look(&pid, &json);

	if (state == VMP_STATE_RUNNING) {
		vmp_err("the collector %d does not answer: it is being set up, or ending; try again in a moment",
			pid);
	} else if (state == VMP_STATE_STALE) {
		tell_killed(json, pid);
		vmp_err("no session runs");
	} else if (tell_last()) {
		vmp_err("no session runs; vmprof start --domain NAME begins one");
	}
	free(json);
}
