// SPDX-License-Identifier: GPL-2.0-only
/* args.c - see args.h. */
#include "args.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "collect/statedir.h"
#include "util/below.h"
#include "util/capdir.h"
#include "util/log.h"
#include "util/text.h"
#include "util/units.h"

const char *args_safe(const char *s)
{
	static char buf[1024];

	return vmp_text(buf, sizeof(buf), s, strlen(s));
}

int args_number(const char *option, const char *s, uint64_t max, uint64_t *n)
{
	if (!vmp_parse_count(s, n) && *n <= max)
		return 0;
	vmp_err("--%s takes a number, not '%s'", option, args_safe(s));
	return -EINVAL;
}

int args_vcpu(const char *s, int *vcpu)
{
	uint64_t n;

	*vcpu = -1;
	if (s && args_number("vcpu", s, INT32_MAX, &n))
		return -EINVAL;
	if (s)
		*vcpu = (int)n;
	return 0;
}

int args_pid(const char *s, int64_t *pid)
{
	uint64_t n;

	*pid = -1;
	if (s && args_number("pid", s, UINT32_MAX - 1, &n))
		return -EINVAL;
	if (s)
		*pid = (int64_t)n;
	return 0;
}

/* Nanoseconds since the session's start; as they are where the option was not given */
static int parse_time(const char *option, const char *s, uint64_t *ns)
{
	if (!s || !vmp_parse_time(s, ns))
		return 0;
	vmp_err("--%s takes a time since the session's start, such as 1.5s or 200ms, not '%s'", option, args_safe(s));
	return -EINVAL;
}

static uint64_t tsc_at(const struct vmp_model *m, uint64_t ns)
{
	return m->header.tsc + (uint64_t)((__uint128_t)ns * m->header.tsc_khz / 1000000);
}

int args_span(const struct vmp_model *m, const char *from, const char *to, uint64_t *from_tsc, uint64_t *to_tsc)
{
	uint64_t from_ns = 0, to_ns = UINT64_MAX;
	char first[64];

	if (parse_time("from", from, &from_ns) || parse_time("to", to, &to_ns))
		return -EINVAL;
	if (from_ns >= to_ns) {
		vmp_text(first, sizeof(first), from ? from : "0", from ? strlen(from) : 1);
		vmp_err("--from %s is not before --to %s: no time lies between them", first, args_safe(to));
		return -EINVAL;
	}
	*from_tsc = from ? tsc_at(m, from_ns) : 0;
	*to_tsc = to ? tsc_at(m, to_ns) : UINT64_MAX;
	return 0;
}

int args_output(const char *input, const char *output)
{
	struct stat in, out;

	if (!output || stat(input, &in) || stat(output, &out) || in.st_dev != out.st_dev ||
	    in.st_ino != out.st_ino)
		return 0;
	vmp_err("%s is what is to be read; name another output", args_safe(output));
	return -EINVAL;
}

static void tell_unreadable(const char *path, int err)
{
	switch (err) {
	case -EBADMSG:
		vmp_err("%s is not a vmprof capture, or its beginning is damaged; without FILE the latest is read", args_safe(path));
		return;
	case -EPROTONOSUPPORT:
		vmp_err("%s was written by a newer vmprof; read it with that one", args_safe(path));
		return;
	case -EACCES:
		vmp_err("cannot read %s: %s; run this command with sudo", args_safe(path), strerror(-err));
		return;
	case -ENODATA:
		vmp_err("%s is empty or ends within its first bytes: nothing was recorded in it; make a capture with vmprof start", args_safe(path));
		return;
	case -EINVAL:
		vmp_err("%s is not a file; captures are files *.vmprof: find %s -name '*.vmprof'", args_safe(path), vmp_capture_dir());
		return;
	}
	vmp_err("cannot read %s: %s; without FILE the latest capture is read", args_safe(path), strerror(-err));
}

static int open_sysroot(const char *dir)
{
	int fd = vmp_below_folder(dir);

	if (fd == -ENOSYS)
		vmp_err("--sysroot needs openat2(), which Linux has since 5.6");
	else if (fd < 0)
		vmp_err("cannot open the folder %s of --sysroot: %s", args_safe(dir), strerror(-fd));
	return fd;
}

int args_domain(const struct vmp_model *m, const char *pattern)
{
	char names[1024] = "none", safe[256];
	size_t n = 0;
	uint32_t i;

	for (i = 0; pattern && i < m->vms.nr; i++) {
		const char *name = vmp_model_name(m, m->vms.v[i].name);

		if (!fnmatch(pattern, name, 0))
			return 0;
		if (n < sizeof(names) - sizeof(safe))
			n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i ? ", " : "",
					      vmp_text(safe, sizeof(safe) - 2, name, strlen(name)));
		else if (names[n - 1] != '.')
			n += (size_t)snprintf(names + n, sizeof(names) - n, " ...");
	}
	if (!pattern)
		return 0;
	vmp_err("the capture holds no domain '%s'; it holds: %s", args_safe(pattern), names);
	return -ESRCH;
}

/* One for all captures of a command, so that nothing is asked for twice; it lives as long as we */
static int find_seek(struct vmp_seek **out, const char *sysroot)
{
	static struct vmp_seek seek = { .sysroot = VMP_BELOW_HOST };

	if (sysroot && seek.sysroot == VMP_BELOW_HOST) {
		seek.sysroot = open_sysroot(sysroot);
		if (seek.sysroot < 0)
			return seek.sysroot;
	}
	if (!seek.server && vmp_debuginfod_create(&seek.server) == -ENOMEM)
		return -ENOMEM;
	*out = &seek;
	return 0;
}

void args_close(struct vmp_model *m)
{
	char line[512];

	if (m && *vmp_reader_warning(m->reader, line, sizeof(line)))
		vmp_warn("%s", line);
	if (m && *vmp_seek_below(m->seek, line, sizeof(line)))
		vmp_aside("%s", line);
	if (m && *vmp_seek_asked(m->seek, line, sizeof(line)))
		vmp_aside("%s", line);
	if (m && *vmp_seek_unread(m->seek, line, sizeof(line)))
		vmp_aside("%s", line);
	vmp_model_close(m);
}

int args_open(struct vmp_model **m, const char **path, const char *sysroot)
{
	static char last[4096], latest[4096];
	struct vmp_model *opened;
	struct vmp_seek *seek;
	int err;

	err = find_seek(&seek, sysroot);
	if (err)
		return err;
	if (!*path) {
		err = vmp_latest_capture(vmp_state_last(last, sizeof(last)) ? NULL : last, latest,
					 sizeof(latest));
		if (err == -ENOENT)
			vmp_err("no capture under %s: make one with vmprof start, or name a file", vmp_capture_dir());
		else if (err)
			tell_unreadable(vmp_capture_dir(), err);
		if (err)
			return err;
		*path = latest;
	}
	err = vmp_model_open(&opened, *path);
	if (!err && !opened->header.header_bytes) {
		vmp_model_close(opened);
		err = -ENODATA;
	}
	if (err) {
		tell_unreadable(*path, err);
		return err;
	}
	opened->seek = seek;
	*m = opened;
	return 0;
}
