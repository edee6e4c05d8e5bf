// SPDX-License-Identifier: GPL-2.0-only
/* cmd-annotate.c - vmprof annotate: the code of a function with what each instruction cost. */
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "args.h"
#include "blocks/listing.h"
#include "branchargs.h"
#include "cmd.h"
#include "model/dwarf.h"
#include "report/render.h"
#include "util/log.h"
#include "util/text.h"

#define INSN_WIDTH	46

/* One function on its way to the terminal */
struct page {
	const struct branch_data *d;
	const struct branch_args *a;
	const struct vmp_listing *l;
	struct vmp_dwarf *dwarf;
	uint64_t bias;
	char line[320];			/* source line shown last */
};

static double percent(uint64_t n, uint64_t of)
{
	return of ? 100 * (double)n / (double)of : 0;
}

static void number(double n, int width, int digits)
{
	if (isnan(n))
		printf("%*s", width, "-");
	else
		printf("%*.*f", width, digits, n);
}

/* "file.c:12", where it is another one than the line before; safe */
static const char *source_line(struct page *p, uint64_t addr)
{
	struct vmp_frame frames[VMP_FRAMES_MAX];
	char text[300], safe[320];
	const char *slash;

	if (!p->dwarf || !vmp_dwarf_frames(p->dwarf, addr - p->bias, frames) || !frames[0].file || !frames[0].line)
		return "";
	slash = strrchr(frames[0].file, '/');
	snprintf(text, sizeof(text), "%.250s:%d", slash ? slash + 1 : frames[0].file, frames[0].line);
	vmp_text(safe, sizeof(safe), text, strlen(text));
	if (!strcmp(safe, p->line))
		return "";
	strcpy(p->line, safe);
	return p->line;
}

/* Blocks that begin at an address, above its instruction */
static void blocks_at(const struct page *p, uint64_t addr)
{
	const struct vmp_set *set = p->d->set;
	uint32_t point = vmp_point_at(&set->points, p->l->object, addr), i;

	for (i = vmp_set_first_block(set, point); i < set->blocks.nr && set->blocks.v[i].start == point; i++) {
		const struct vmp_block_code *b = &set->blocks.v[i];
		const struct vmp_estimate *e = &p->d->estimates->block[i];

		printf("%s  block %" PRIx64 "..%" PRIx64 ": %" PRIu32 " instructions, ", p->a->look.colour ? "\033[36m" : "",
		       addr, set->points.points.v[b->end].addr, b->insns);
		printf("%.0f samples, ", e->samples);
		number(e->executions, 0, 0);
		fputs(" +- ", stdout);
		number(isnan(e->executions) ? NAN : e->executions_error, 0, 0);
		fputs(" runs, ", stdout);
		number(e->cycles[e->source], 0, 2);
		if (!isnan(vmp_estimate_error(e)))
			printf(" +- %.2f", vmp_estimate_error(e));
		printf(" cycles (%s), CPI ", vmp_source_key(e->source));
		number(e->cycles[e->source] / b->insns, 0, 2);
		printf(", %.2f%% of the time%s\n", e->samples * 100 / (p->d->set->totals.timed ? (double)p->d->set->totals.timed : 1),
		       p->a->look.colour ? "\033[m" : "");
	}
}

static void instruction(struct page *p, const struct vmp_listed *x)
{
	const struct vmp_points *points = &p->d->set->points;
	double share = percent(x->samples, p->l->samples);
	int colour = p->a->look.colour ? vmp_colour_of(share) : 0;
	char text[192];
	const uint8_t *code;
	size_t len;

	blocks_at(p, x->addr);
	code = vmp_points_code(points, p->l->object, x->addr, &len);
	vmp_decode_text(p->d->set->stepper.decoder, code, code ? len : 0, x->addr, text, sizeof(text));
	if (colour)
		printf("\033[%dm", colour);
	printf("%8" PRIu64 "  %6.2f  ", x->samples, share);
	number(x->runs > 0 ? x->runs : NAN, 12, 0);
	fputs("  ", stdout);
	number(x->runs_error, 8, 0);
	fputs("  ", stdout);
	number(x->cycles, 8, 2);
	fputs("  ", stdout);
	number(x->cycles_error, 6, 2);
	printf("  %8" PRIx64 "  %-*s", x->addr, p->dwarf ? INSN_WIDTH : 0, *text ? text : "(no instruction)");
	if (colour)
		fputs("\033[m", stdout);
	printf(p->dwarf ? "  %s\n" : "%s\n", source_line(p, x->addr));
}

static void function(const struct branch_data *d, const struct branch_args *a, const struct vmp_listings *all,
		     const struct vmp_listing *l)
{
	const struct vmp_object *o = &d->set->points.objects.v[l->object];
	struct page p = { .d = d, .a = a, .l = l };
	const char *name = vmp_model_name(d->m, l->function), *module = vmp_model_name(d->m, l->module);
	char safe[1024], safe_module[1024], safe_domain[1024];
	const char *domain = o->vm == VMP_NONE ? "[host]" : vmp_model_name(d->m, d->m->vms.v[o->vm].name);
	uint32_t i;

	printf("\n%s%s%s in %s, %s: %" PRIu64 " samples, %.2f%% of all\n", a->look.colour ? "\033[1m" : "",
	       vmp_text(safe, sizeof(safe), name, strlen(name)), a->look.colour ? "\033[m" : "",
	       vmp_text(safe_module, sizeof(safe_module), module, strlen(module)),
	       vmp_text(safe_domain, sizeof(safe_domain), domain, strlen(domain)), l->samples, percent(l->samples, all->samples));
	if (!l->insns.nr) {
		puts(o->kernel ? "  its code is not here; kernels can be given with --vmlinux and --host-vmlinux" :
		     "  its code is not here");
		return;
	}
	if (o->code)
		p.dwarf = vmp_elf_dwarf((struct vmp_elf *)o->code, &p.bias);
	p.bias += o->slide;
	printf("\n%8s  %6s  %12s  %8s  %8s  %6s  %8s  %-*s%s\n", "Samples", "%", "Runs", "+-", "Cycles", "+-", "Address",
	       p.dwarf ? INSN_WIDTH : 0, "Instruction", p.dwarf ? "  Source" : "");
	for (i = 0; i < l->insns.nr; i++)
		instruction(&p, &l->insns.v[i]);
}

static int show(const struct branch_data *d, const struct branch_args *a, const char *name)
{
	struct vmp_listings *l;
	uint32_t i;
	pid_t pager;
	int err = vmp_listings_create(&l, d->set, d->estimates, name, a->module);

	if (err) {
		vmp_err("cannot read %s: %s", args_safe(d->path), strerror(-err));
		return VMP_EXIT_FAILED;
	}
	if (!l->list.nr) {
		vmp_err("no sample and no block is of a function '%s'; vmprof report lists functions", args_safe(name));
		vmp_listings_destroy(l);
		return VMP_EXIT_FAILED;
	}
	pager = a->no_pager ? 0 : vmp_pager_start();
	vmp_about_head(stdout, d->set, d->path);
	for (i = 0; i < l->list.nr; i++)
		function(d, a, l, &l->list.v[i]);
	vmp_about_notes(stdout, d->set, d->estimates);
	vmp_listings_destroy(l);
	return vmp_pager_end(pager) ? VMP_EXIT_FAILED : VMP_EXIT_OK;
}

int cmd_annotate(int argc, char **argv)
{
	struct branch_args a = { 0 };
	const struct vmp_opt opts[] = {
		BRANCH_SAMPLES(&a),
		{ "module", 0, VMP_OPT_STR, "NAME", "only this module, such as 'libc.so*'", &a.module },
		BRANCH_LOOK(&a),
		{ NULL },
	};
	const struct vmp_cmdline cmd = {
		.usage = "vmprof annotate [OPTION]... FUNCTION [FILE]",
		.about = "Print the code of a function with samples, runs and cycles of each instruction and block,\n"
			 "and source lines where there is debugging information.",
		.opts = opts,
		.more = "FUNCTION may be a pattern as in the shell.  It takes a session that records\n"
			 "branches (vmprof-start(1)).  Without FILE the latest capture is read.",
		.args_max = 2,
	};
	struct branch_data d;
	int args, ret, err = vmp_opts_parse(&cmd, argc, argv, &args);

	if (err)
		return err < 0 ? VMP_EXIT_USAGE : VMP_EXIT_OK;
	if (!args) {
		vmp_err("which function? vmprof annotate FUNCTION [FILE]");
		return VMP_EXIT_USAGE;
	}
	if (args == 1 && !fnmatch("*.vmprof", argv[1], 0)) {
		vmp_err("'%s' is a capture: the function comes before it, vmprof annotate FUNCTION FILE", args_safe(argv[1]));
		return VMP_EXIT_USAGE;
	}
	if (branch_args_parse(&a))
		return VMP_EXIT_USAGE;
	ret = VMP_EXIT_FAILED;
	if (!branch_open(&d, &a, args > 1 ? argv[2] : NULL, 2)) {
		ret = show(&d, &a, argv[1]);
		branch_close(&d);
	}
	return ret;
}
