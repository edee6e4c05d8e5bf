// SPDX-License-Identifier: GPL-2.0-only
/* cmd-import.c - vmprof import: profiles of others as open XML. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "args.h"
#include "cmd.h"
#include "export/out.h"
#include "import/cubex.h"
#include "import/xmlin.h"
#include "util/log.h"
#include "util/opts.h"

static int import_cubex(int fd, struct vmp_xml *x, const char *path)
{
	struct vmp_cube c;
	int err = vmp_cube_open(&c, fd);

	if (!err) {
		err = vmp_cube_write(&c, x);
		vmp_cube_close(&c);
	}
	if (err == -EBADMSG)
		vmp_err("%s: %s", args_safe(path), c.error);
	return err;
}

static int import_xml(int fd, uint64_t bytes, struct vmp_xml *x, const char *path)
{
	const char *other;
	struct vmp_source *s;
	int err = vmp_source_open(&s, fd, 0, bytes);

	if (err)
		return err;
	err = vmp_xmlin_copy(s, x);
	other = err == -EBADMSG ? vmp_source_other(s) : NULL;
	if (err == -EBADMSG)
		vmp_err("%s%s%s\n"
			"  what is read: .cubex of Cube or Score-P, and XML as vmprof export --format xml writes it",
			args_safe(path), other ? " " : ", ", other ? other : vmp_source_error(s));
	vmp_source_close(s);
	return err;
}

static int import(int fd, uint64_t bytes, const char *path, const char *output, int indent)
{
	struct vmp_out out;
	struct vmp_xml x;
	int err, closed;

	err = vmp_out_open(&out, output, VMP_PACK_XML);
	if (err) {
		vmp_err("cannot write %s: %s", args_safe(output), strerror(-err));
		return VMP_EXIT_FAILED;
	}
	vmp_xml_init(&x, out.stream, indent);
	err = vmp_tar_is(fd) ? import_cubex(fd, &x, path) : import_xml(fd, bytes, &x, path);
	closed = vmp_out_close(&out, err);
	if (err && err != -EBADMSG)
		vmp_err("cannot read %s: %s", args_safe(path), strerror(-err));
	else if (closed)
		vmp_err("cannot write %s: %s", output ? args_safe(output) : "standard output", strerror(-closed));
	return err || closed ? VMP_EXIT_FAILED : VMP_EXIT_OK;
}

int cmd_import(int argc, char **argv)
{
	const char *output = NULL;
	int indent = 0, args, err, fd, ret;
	struct stat st;
	const struct vmp_opt opts[] = {
		{ "output", 'o', VMP_OPT_STR, "FILE", "write there, not to standard output;\nFILE.zst is packed by zstd", &output },
		{ "indent", 0, VMP_OPT_FLAG, NULL, "a line for each element", &indent },
		{ NULL },
	};
	const struct vmp_cmdline cmd = {
		.usage = "vmprof import [OPTION]... FILE",
		.about = "Read a profile and write it as open XML: process, thread, category, item, data.",
		.opts = opts,
		.more = "FILE is a profile of Cube or Score-P (.cubex) or such XML, of vmprof's or another\n"
			"program's making, packed by zstd or gzip or not.",
		.args_max = 1,
	};

	err = vmp_opts_parse(&cmd, argc, argv, &args);
	if (err)
		return err < 0 ? VMP_EXIT_USAGE : VMP_EXIT_OK;
	if (!args) {
		vmp_err("which file? Name a .cubex or an XML file");
		return VMP_EXIT_USAGE;
	}
	fd = open(argv[1], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st)) {
		vmp_err("cannot read %s: %m", args_safe(argv[1]));
		if (fd >= 0)
			close(fd);
		return VMP_EXIT_FAILED;
	}
	if (!S_ISREG(st.st_mode)) {
		vmp_err("%s is not a file", args_safe(argv[1]));
		ret = VMP_EXIT_FAILED;
	} else if (args_output(argv[1], output)) {
		ret = VMP_EXIT_USAGE;
	} else {
		ret = import(fd, (uint64_t)st.st_size, argv[1], output, indent);
	}
	close(fd);
	return ret;
}
