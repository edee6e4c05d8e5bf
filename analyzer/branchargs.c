// SPDX-License-Identifier: GPL-2.0-only
/* branchargs.c - see branchargs.h. */
#include "branchargs.h"

#include <errno.h>
#include <fnmatch.h>
#include <malloc.h>
#include <string.h>
#include <unistd.h>

#include "report/choose.h"
#include "util/log.h"

#define TERMINAL_ROWS	40
#define MMAP_BYTES	(2 << 20)	/* what takes as much goes back to the kernel when it is freed */

/* What rows of blocks know; the rest of report's columns is of samples */
#define KEYS	(VMP_KEY(VMP_COL_DOMAIN) | VMP_KEY(VMP_COL_MODULE) | VMP_KEY(VMP_COL_FUNCTION) | VMP_KEY(VMP_COL_SIDE))
#define MEASURES (VMP_KEY(VMP_COL_SAMPLES) | VMP_KEY(VMP_COL_PERCENT) | VMP_KEY(VMP_COL_CYCLES) | \
		  VMP_KEY(VMP_COL_INSTRUCTIONS) | VMP_KEY(VMP_COL_CPI) | VMP_KEY(VMP_COL_IPC))

static int parse_filter(struct branch_args *a)
{
	int err;

	if (!a->filter_text)
		return 0;
	err = vmp_choose_filter(a->filter_text, KEYS, &a->filter);
	if (!err && (vmp_filter_keys(a->filter) & ~KEYS || vmp_filter_columns(a->filter) & ~(KEYS | MEASURES))) {
		vmp_err("--filter: of blocks there are domain, module, function, side, samples, percent, cycles, instructions, cpi and ipc; processes are chosen by --pid and --comm");
		err = -EINVAL;
	}
	return err;
}

int branch_args_parse(struct branch_args *a)
{
	if (vmp_look_of(&a->look, STDOUT_FILENO, a->color)) {
		vmp_err("--color takes auto, always or never, not '%s'", args_safe(a->color));
		return -EINVAL;
	}
	if (a->json && a->csv) {
		vmp_err("--json and --csv are two formats; give one of them");
		return -EINVAL;
	}
	a->rows = isatty(STDOUT_FILENO) && !a->json && !a->csv ? TERMINAL_ROWS : 0;
	if (args_vcpu(a->vcpu, &a->choice.vcpu) || args_pid(a->pid, &a->choice.pid))
		return -EINVAL;
	if (a->limit && args_number("limit", a->limit, UINT64_MAX, &a->rows))
		return -EINVAL;
	return parse_filter(a);
}

void branch_args_free(struct branch_args *a)
{
	vmp_filter_free(a->filter);
}

static int read_set(struct branch_data *d, const struct branch_args *a, int estimates)
{
	struct vmp_set_choice choice = a->choice;
	int err;

	choice.keep_bytes = estimates ? VMP_KEEP_BYTES : 0;
	choice.counts_only = !a->looks_up;
	err = vmp_set_create(&d->set, d->m, &choice);
	if (!err && estimates)
		err = vmp_measure_create(&d->measure, d->set);
	if (!err && estimates)
		err = vmp_estimate_create(&d->estimates, d->measure, estimates > 1);
	return err;
}

/* What there must be for anything to be shown */
static int check(const struct branch_data *d, int estimates)
{
	const struct vmp_set_totals *t = &d->set->totals;

	if (!t->with_branches) {
		vmp_err(t->samples ? "the capture has no branches of these samples; vmprof start --lbr records them" :
			"the capture has no such samples; vmprof report tells what was recorded");
		return -ENOENT;
	}
	if (estimates && !t->steps) {
		vmp_err("the branches do not tell blocks: not all kinds were recorded, or not both ends; vmprof branches shows them");
		return -ENOENT;
	}
	return 0;
}

static int can_read(const char *option, const char *path)
{
	if (!path || !access(path, R_OK))
		return 1;
	vmp_err("cannot read %s of %s: %s", args_safe(path), option, strerror(errno));
	return 0;
}

int branch_open(struct branch_data *d, const struct branch_args *a, const char *path, int estimates)
{
	int err;

	/* large tables are freed before others are made */
	mallopt(M_MMAP_THRESHOLD, MMAP_BYTES);
	mallopt(M_ARENA_MAX, 1);	/* what one thread has freed another one takes: the kernel clears fewer pages */
	memset(d, 0, sizeof(*d));
	if (estimates && !VMP_DECODES) {
		vmp_err("this vmprof was built without capstone, which decodes instructions\n"
			"  install it (Debian: apt install libcapstone-dev), then ./configure && make again");
		return -ENOSYS;
	}
	if (!can_read("--vmlinux", a->choice.vmlinux) || !can_read("--host-vmlinux", a->choice.host_vmlinux))
		return -ENOENT;
	d->path = path;
	err = args_open(&d->m, &d->path, a->sysroot);
	if (err)
		return err;
	err = args_domain(d->m, a->choice.domain);
	if (err) {
		args_close(d->m);
		return err;
	}
	err = read_set(d, a, estimates);
	if (err == -ENOEXEC && (a->choice.vmlinux || a->choice.host_vmlinux))
		vmp_err("%s names no ELF file\n  it has to be a kernel's vmlinux, from its package of debug information",
			!a->choice.host_vmlinux ? "--vmlinux" : !a->choice.vmlinux ? "--host-vmlinux" : "--vmlinux or --host-vmlinux");
	else if (err)
		vmp_err("cannot read %s: %s", args_safe(d->path), strerror(-err));
	if (!err)
		err = check(d, estimates);
	if (err)
		branch_close(d);
	return err;
}

void branch_close(struct branch_data *d)
{
	vmp_estimate_destroy(d->estimates);
	vmp_measure_destroy(d->measure);
	vmp_set_destroy(d->set);
	args_close(d->m);
	memset(d, 0, sizeof(*d));
}

int branch_run(const struct vmp_cmdline *cmd, int argc, char **argv, struct branch_args *a, int estimates,
	       int (*show)(const struct branch_data *d, const void *arg), const void *arg)
{
	struct branch_data d;
	int args, ret = VMP_EXIT_FAILED, err = vmp_opts_parse(cmd, argc, argv, &args);

	if (err)
		return err < 0 ? VMP_EXIT_USAGE : VMP_EXIT_OK;
	if (branch_args_parse(a)) {
		ret = VMP_EXIT_USAGE;
	} else if (!branch_open(&d, a, args ? argv[1] : NULL, estimates)) {
		ret = show(&d, arg);
		branch_close(&d);
	}
	branch_args_free(a);
	return ret;
}

static void text(const struct branch_data *d, const struct branch_args *a, const struct vmp_sheet *s)
{
	vmp_about_head(stdout, d->set, d->path);
	if (s->nr_rows)
		vmp_sheet_text(stdout, s, &a->look, a->rows);
	else
		printf("\nNone%s.\n", a->module || a->function || a->filter ? ": try without --module, --function and --filter" : "");
	vmp_about_notes(stdout, d->set, d->estimates);
	if (a->spread && s->nr_rows)
		vmp_about_spread(stdout, d->estimates);
}

int branch_print(const struct branch_data *d, const struct branch_args *a, struct vmp_sheet *s, const char *name,
		 const char *sort)
{
	int err = vmp_sheet_sort(s, a->sort ? a->sort : sort, a->rows);
	pid_t pager;

	if (err)
		return err == -EINVAL ? VMP_EXIT_USAGE : VMP_EXIT_FAILED;
	pager = a->no_pager ? 0 : vmp_pager_start();
	if (a->json) {
		putchar('{');
		vmp_about_json(stdout, d->set, d->estimates, d->path);
		printf("\"%s\":", name);
		vmp_sheet_json(stdout, s, a->rows);
		puts("}");
	} else if (a->csv) {
		vmp_sheet_csv(stdout, s, a->rows);
	} else {
		text(d, a, s);
	}
	return vmp_pager_end(pager) ? VMP_EXIT_FAILED : VMP_EXIT_OK;
}

int branch_wanted(const struct branch_args *a, const struct vmp_set *set, uint32_t point)
{
	const struct vmp_point *p;

	if (!a->module && !a->function)
		return 1;
	if (point == VMP_NONE)
		return 0;
	p = &set->points.points.v[point];
	return (!a->module || !fnmatch(a->module, vmp_model_name(set->m, p->module), 0)) &&
	       (!a->function || !fnmatch(a->function, vmp_model_name(set->m, p->function), 0));
}
