// SPDX-License-Identifier: GPL-2.0-only
/* cmd-export.c - vmprof export: a capture in the format of another tool. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "cmd.h"
#include "export/format.h"
#include "export/out.h"
#include "util/log.h"
#include "util/opts.h"

/* As given on the command line */
struct given {
	const char *format, *output, *vcpu, *pid, *sysroot;
	int indent, brstack;
};

/* The formats for --help, and for who asks for one that is not there */
static const char *list(char *buf, size_t size, const char *before, const char *between, int about)
{
	const struct vmp_format *f;
	size_t n = 0;
	unsigned int i;

	for (i = 0; (f = vmp_format_at(i)) && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, about ? "%s%s%-13s%s" : "%s%s%s", i ? between : "",
				      before, f->name, f->about);
	return buf;
}

static int parse(const struct given *g, struct vmp_choice *c, const struct vmp_format **f)
{
	char names[512];

	if (!g->format) {
		vmp_err("which format? --format takes %s", list(names, sizeof(names), "", ", ", 0));
		return -EINVAL;
	}
	*f = vmp_format_find(g->format);
	if (!*f) {
		vmp_err("no format is called '%s'; --format takes %s", args_safe(g->format),
			list(names, sizeof(names), "", ", ", 0));
		return -EINVAL;
	}
	if (g->indent && !((*f)->flags & VMP_FORMAT_XML)) {
		vmp_err("--indent is for --format xml");
		return -EINVAL;
	}
	if (g->brstack && strcmp((*f)->name, "perf-script")) {
		vmp_err("--brstack is for --format perf-script");
		return -EINVAL;
	}
	if (c->addresses && !((*f)->flags & VMP_FORMAT_OFFSETS)) {
		vmp_err("--addresses is for --format pprof, csv and json");
		return -EINVAL;
	}
	c->addresses |= !!((*f)->flags & VMP_FORMAT_ADDRESSES);
	c->threads = !!((*f)->flags & VMP_FORMAT_THREADS);
	c->containers = !!((*f)->flags & VMP_FORMAT_CONTAINERS);
	c->samples = !!((*f)->flags & VMP_FORMAT_SAMPLES);
	c->streamed = !!((*f)->flags & VMP_FORMAT_STREAM);
	if (args_vcpu(g->vcpu, &c->vcpu) || args_pid(g->pid, &c->pid))
		return -EINVAL;
	if ((*f)->flags & VMP_FORMAT_FOLDER && (!g->output || vmp_out_packed(g->output) || c->all_host)) {
		vmp_err("%s is a file for each binary of a guest: name a folder with --output, without --all-host", (*f)->name);
		return -EINVAL;
	}
	if (!g->output && (*f)->flags & VMP_FORMAT_GZIP && isatty(STDOUT_FILENO)) {
		vmp_err("%s is not for terminals; name a file with --output", (*f)->name);
		return -EINVAL;
	}
	return 0;
}

static void tell_losses(const struct vmp_stream_losses *l)
{
	int i;

	if (l->late)
		vmp_warn("%llu samples came too late to be put in order of time", (unsigned long long)l->late);
	for (i = 0; i < VMP_LACK_NR; i++)
		if (l->lack[i])
			vmp_warn("%llu branches lack an end (0x0), or are left out%s: %s", (unsigned long long)l->lack[i],
				 i >= VMP_LACK_FLAW && i < VMP_LACK_BESIDE ? ", as what led there is not used" : "", vmp_lack_text(i));
}

/* Return: 0 nothing was sampled at all, of which an output can tell; -ENODATA: nothing of what was chosen */
static int tell_nothing(const struct vmp_choice *c)
{
	if (c->domain || c->comm || c->vcpu >= 0 || c->pid >= 0) {
		vmp_err("the capture has no such samples; vmprof report tells what was recorded");
		return -ENODATA;
	}
	vmp_warn("the capture has no such samples: there are none in the output; vmprof report tells what was recorded");
	return 0;
}

static int write_out(struct vmp_table *t, const struct vmp_format *f, const struct given *g)
{
	struct vmp_format_options o = { .indent = g->indent, .brstack = g->brstack };
	const char *to = g->output ? args_safe(g->output) : "standard output";
	struct vmp_out out;
	int err, closed;

	err = vmp_out_open(&out, g->output, f->flags & VMP_FORMAT_GZIP ? VMP_PACK_GZIP :
			   f->flags & VMP_FORMAT_XML ? VMP_PACK_XML : VMP_PACK_NONE);
	if (err) {
		vmp_err("cannot write %s: %s", to, strerror(-err));
		return VMP_EXIT_FAILED;
	}
	err = f->flags & VMP_FORMAT_STREAM || t->lines.nr ? 0 : tell_nothing(t->choice);
	if (!err)
		err = f->write(out.stream, t, &o);
	if (!err && f->flags & VMP_FORMAT_STREAM && !o.streamed)
		err = tell_nothing(t->choice);
	closed = vmp_out_close(&out, err);
	if ((err && err != -ENODATA) || closed)
		vmp_err("cannot write %s: %s", to, strerror(err ? -err : -closed));
	if (err || closed)
		return VMP_EXIT_FAILED;
	tell_losses(&o.losses);
	return VMP_EXIT_OK;
}

static int export_folder(struct vmp_model *m, const struct vmp_choice *c, const struct vmp_format *f,
			 const struct given *g)
{
	int err = f->write_folder(g->output, m, c);

	if (err && err != -ENOENT)
		vmp_err("cannot write to %s: %s", args_safe(g->output), strerror(-err));
	return err ? VMP_EXIT_FAILED : VMP_EXIT_OK;
}

static int export(struct vmp_model *m, const struct vmp_choice *c, const struct vmp_format *f,
		  const struct given *g, const char *path)
{
	struct vmp_table *t;
	int ret, err = vmp_table_create(&t, m, c);

	if (err) {
		vmp_err("cannot read %s: %s", args_safe(path), strerror(-err));
		return VMP_EXIT_FAILED;
	}
	ret = write_out(t, f, g);
	vmp_table_destroy(t);
	return ret;
}

int cmd_export(int argc, char **argv)
{
	struct vmp_choice c = { 0 };
	struct given g = { 0 };
	const struct vmp_opt opts[] = {
		{ "format", 'f', VMP_OPT_STR, "FORMAT", "which one, see below", &g.format },
		{ "output", 'o', VMP_OPT_STR, "FILE", "write there, not to standard output;\nFILE.zst is packed by zstd; bolt, autofdo, llvm-profgen: a folder", &g.output },
		{ "indent", 0, VMP_OPT_FLAG, NULL, "XML: a line for each element", &g.indent },
		{ "brstack", 0, VMP_OPT_FLAG, NULL, "perf-script: mappings, then addresses and branches alone, as\nllvm-profgen reads perf script's text", &g.brstack },
		{ "addresses", 0, VMP_OPT_FLAG, NULL, "pprof, csv, json: a row for each address, not for each\nfunction", &c.addresses },
		{ "domain", 'd', VMP_OPT_STR, "NAME", "only this domain; patterns as in the shell", &c.domain },
		{ "vcpu", 0, VMP_OPT_STR, "N", "only samples of this vCPU", &g.vcpu },
		{ "pid", 0, VMP_OPT_STR, "PID", "only this guest process", &g.pid },
		{ "comm", 0, VMP_OPT_STR, "NAME", "only processes of this name; patterns as in the shell", &c.comm },
		{ "all-host", 0, VMP_OPT_FLAG, NULL, "host work that is no domain's, too", &c.all_host },
		ARGS_SYSROOT(&g.sysroot),
		{ NULL },
	};
	char formats[2048] = "Formats:\n";
	const struct vmp_cmdline cmd = {
		.usage = "vmprof export --format FORMAT [OPTION]... [FILE]",
		.about = "Write a capture in the format of another tool.  Without FILE the latest capture\n"
			 "is read.",
		.opts = opts,
		.more = formats,
		.args_max = 1,
	};
	const struct vmp_format *f;
	const char *path;
	struct vmp_model *m;
	int args, err, ret;

	list(formats + strlen(formats), sizeof(formats) - strlen(formats), "  ", "\n", 1);
	err = vmp_opts_parse(&cmd, argc, argv, &args);
	if (err)
		return err < 0 ? VMP_EXIT_USAGE : VMP_EXIT_OK;
	if (parse(&g, &c, &f))
		return VMP_EXIT_USAGE;
	path = args ? argv[1] : NULL;
	if (args_open(&m, &path, g.sysroot))
		return VMP_EXIT_FAILED;
	if (args_output(path, g.output))
		ret = VMP_EXIT_USAGE;
	else if (args_domain(m, c.domain))
		ret = VMP_EXIT_FAILED;
	else
		ret = f->flags & VMP_FORMAT_FOLDER ? export_folder(m, &c, f, &g) : export(m, &c, f, &g, path);
	args_close(m);
	return ret;
}
