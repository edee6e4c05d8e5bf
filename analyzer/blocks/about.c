// SPDX-License-Identifier: GPL-2.0-only
/* about.c - heads and notes of everything that shows branches. */
#include "blocks/about.h"

#include <inttypes.h>
#include <string.h>

#include "report/render.h"
#include "util/text.h"
#include "util/units.h"

const char *vmp_about_source(enum vmp_source source)
{
	static const char *const texts[VMP_SOURCE_NR] = {
		"none", "the CPI of the samples, the same for all blocks of a sample (equation 1)",
		"share of time by number of runs", "cycles that the processor counted between branches",
	};

	return source < VMP_SOURCE_NR ? texts[source] : "";
}

const char *vmp_about_side(const struct vmp_set *set, uint32_t point)
{
	const struct vmp_point *p = &set->points.points.v[point];
	const struct vmp_object *o = p->object == VMP_NONE ? NULL : &set->points.objects.v[p->object];

	if (p->seen >> 63)
		return o && o->vm == VMP_NONE ? "vmm_kernel" : "guest_kernel";
	return o && o->vm == VMP_NONE ? "vmm_user" : "guest_user";
}

const char *vmp_about_domain(const struct vmp_set *set, uint32_t point)
{
	uint32_t object = set->points.points.v[point].object, vm;

	if (object == VMP_NONE)
		return "-";
	vm = set->points.objects.v[object].vm;
	return vm == VMP_NONE ? "[host]" : vmp_model_name(set->m, set->m->vms.v[vm].name);
}

void vmp_about_head(FILE *out, const struct vmp_set *set, const char *path)
{
	const struct vmp_set_totals *t = &set->totals;
	char safe[4096];

	fprintf(out, "Capture %s\n", vmp_text(safe, sizeof(safe), path, strlen(path)));
	fprintf(out, "%" PRIu64 " samples, %" PRIu64 " with branches, %" PRIu64 " branches; %" PRIu32 " blocks\n",
		t->samples, t->with_branches, t->entries, set->blocks.nr);
}

static int any_flaw(const struct vmp_set_totals *t)
{
	return t->steps != t->flaw[VMP_FLAW_NONE] || t->switched || t->unbound;
}

/* @lot: what becomes of steps with flaws */
static void flaws(FILE *out, const struct vmp_set *set, const char *lot)
{
	const struct vmp_set_totals *t = &set->totals;
	int i;

	fprintf(out, "  %" PRIu64 " of %" PRIu64 " steps between branches are good (%.2f%%)\n",
		t->flaw[VMP_FLAW_NONE], t->steps, vmp_percent(t->flaw[VMP_FLAW_NONE], t->steps));
	for (i = VMP_FLAW_NONE + 1; i < VMP_FLAW_NR; i++)
		if (t->flaw[i])
			fprintf(out, "  %10" PRIu64 " %s: %s\n", t->flaw[i], lot, vmp_flaw_text(i));
	if (t->unbound)
		fprintf(out, "  %10" PRIu64 " used, though nothing tells whether their instruction begins there: in no known function, or behind data\n",
			t->unbound);
	if (t->switched)
		fprintf(out, "  %10" PRIu64 " branches left out: %s\n", t->switched,
			vmp_flaw_text(VMP_FLAW_SWITCHED));
}

static void records(FILE *out, const struct vmp_set *set)
{
	const struct vmp_lbr_losses *l = &set->losses;

	if (l->orphans)
		fprintf(out, "  %" PRIu64 " branch records without a sample were left out\n", l->orphans);
	if (l->malformed)
		fprintf(out, "  %" PRIu64 " malformed branch records were left out\n", l->malformed);
	if (l->cut)
		fprintf(out, "  %" PRIu64 " branches were not looked at: beyond a VM entry or exit, or it was not known whose they are\n", l->cut);
}

void vmp_about_left_out(FILE *out, const struct vmp_set *set)
{
	if (any_flaw(&set->totals))
		flaws(out, set, "not used");
	records(out, set);
}

/* A kernel's code is what the session copied of it, or why it did not */
static void kernel_copy(FILE *out, const struct vmp_set *set, const struct vmp_object *o, const char *name)
{
	const struct vmp_kernel_copy *c = vmp_points_copy(&set->points, o);
	char size[32], safe[1024];
	const char *why = vmp_model_name(set->m, c->why);

	if (o->copy)
		fprintf(out, "  the kernel code of %s is a copy of its memory at the end of the session, %s\n", name,
			vmp_format_size(size, sizeof(size), c->bytes));
	if (o->copy && c->missing)
		fprintf(out, "    %s of its modules are not in it\n", vmp_format_size(size, sizeof(size), c->missing));
	if (o->flaw == VMP_FLAW_NO_KERNEL && c->why)
		fprintf(out, "  there is no copy of the kernel code of %s: %s\n", name, vmp_text(safe, sizeof(safe), why, strlen(why)));
	if (o->flaw == VMP_FLAW_NO_KERNEL && *c->key)
		fprintf(out, "  the copy of the kernel code of %s is of another boot, or not in the object cache any more\n", name);
}

static void kernels(FILE *out, const struct vmp_set *set)
{
	const struct vmp_object *o;
	char safe[1024];
	const char *name;
	uint32_t i;

	for (i = 0; i < set->points.objects.nr; i++) {
		o = &set->points.objects.v[i];
		if (!o->kernel)
			continue;
		name = o->vm == VMP_NONE ? "the host" : vmp_model_name(set->m, set->m->vms.v[o->vm].name);
		vmp_text(safe, sizeof(safe), name, strlen(name));
		kernel_copy(out, set, o, safe);
		if (o->flaw == VMP_FLAW_OTHER_KERNEL)
			fprintf(out, "  the kernel given for %s is not its own, or too little is known of it to tell: of %" PRIu32
				" functions that both have %" PRIu32 " lie elsewhere\n", safe, o->fit.same + o->fit.other,
				o->fit.other);
	}
}

static void estimates(FILE *out, const struct vmp_set *set, const struct vmp_estimates *e)
{
	const struct vmp_set_totals *t = &set->totals;

	fprintf(out, "  cycles: %s", vmp_about_source(e->source));
	if (e->source == VMP_SOURCE_TIME)
		fputs("; equation 1 gives all blocks of a sample the same CPI.\n"
		      "    Blocks with few samples have equation 1's (By: cpi)", out);
	fputc('\n', out);
	if (e->source == VMP_SOURCE_CPI)
		fputs("    the share of time needs the event cycles, and samples with counters\n", out);
	if (e->uncycled)
		fprintf(out, "  cycles of %" PRIu64 " of %" PRIu64 " runs are not counted, or over the counter's top; %" PRIu32 " blocks have no others\n",
			e->uncycled, t->flaw[VMP_FLAW_NONE], e->uncycled_blocks);
	if (e->chained)
		fprintf(out, "  runs: %s\n", e->by_instructions ? "from samples of instructions" :
			"from branches, corrected for windows that are taken at points of time");
	if (e->chained && !e->by_instructions && e->source == VMP_SOURCE_TIME)
		fputs("    +- holds what equation 1 says otherwise, and what the counters counted of other code: by branches alone nobody knows;\n"
		      "    samples of instructions (vmprof start --cpi) tell\n", out);
	if (e->doubted)
		fprintf(out, "    %" PRIu32 " blocks with %.1f%% of the time are more than twice or less than half of equation 1\n",
			e->doubted, t->timed ? 100 * e->doubted_samples / (double)t->timed : 0);
	fprintf(out, "  %%Time: of all %" PRIu64 " samples%s, of which %.0f (%.1f%%) lie in a block\n", t->timed,
		t->timed != t->samples ? " of the session's event" : "", e->samples, t->timed ? 100 * e->samples / (double)t->timed : 0);
	if (t->astray)
		fprintf(out, "  %" PRIu64 " of %" PRIu64 " samples were not taken in a block that their branches tell\n",
			t->astray, t->astray + t->landed);
	if (t->alone)
		fprintf(out, "  %" PRIu64 " samples came before the first branch behind a VM entry, or are the host's around one; %" PRIu64 " of them lie in a block that others show\n",
			t->alone, t->placed);
	if (e->guessed)
		fprintf(out, "  %" PRIu64 " steps are of code that is not here: no runs and cycles of it%s\n", e->guessed,
			e->by_instructions ? "" : ";");
	if (e->guessed && !e->by_instructions)
		fprintf(out, "    for the scale of the others it counts as an instruction in 4.2 bytes, %.1f%% of all\n",
			100 * e->guessed_part);
}

void vmp_about_notes(FILE *out, const struct vmp_set *set, const struct vmp_estimates *e)
{
	const struct vmp_set_totals *t = &set->totals;

	fputs("\nNotes\n", out);
	if (e && t->steps)
		estimates(out, set, e);
	if (t->steps || any_flaw(t))
		flaws(out, set, e ? "not used" : "not used for blocks");
	if (!e && t->impossible)
		fprintf(out, "  %" PRIu64 " branches are not shown, as %s\n", t->impossible, vmp_flaw_impossible());
	kernels(out, set);
	if (t->blockless)
		fprintf(out, "  %" PRIu64 " samples do not tell blocks: not all kinds of branches were recorded, or not both ends\n",
			t->blockless);
	if (t->user_only)
		fprintf(out, "  %" PRIu64 " samples have no kernel branches: a switch of address spaces is seen only where the driver met another CR3\n",
			t->user_only);
	records(out, set);
}

void vmp_about_spread(FILE *out, const struct vmp_estimates *e)
{
	fprintf(out, "  p50, p95: of the cycles in single windows, by %s\n",
		vmp_estimate_spread(e) == VMP_SOURCE_LBR ? "the processor" : "equation 1");
}

static void count(FILE *out, const char *key, uint64_t n)
{
	fprintf(out, "\"%s\":%" PRIu64 ",", key, n);
}

void vmp_about_json(FILE *out, const struct vmp_set *set, const struct vmp_estimates *e, const char *path)
{
	const struct vmp_set_totals *t = &set->totals;
	int i;

	fputs("\"capture\":", out);
	vmp_json_str(out, path);
	fputs(",\n\"totals\":{", out);
	count(out, "samples", t->samples);
	count(out, "timed", t->timed);
	count(out, "with_branches", t->with_branches);
	count(out, "branches", t->entries);
	count(out, "steps", t->steps);
	count(out, "instruction_not_known", t->unbound);
	count(out, "landed", t->landed);
	count(out, "astray", t->astray);
	count(out, "without_branch", t->alone);
	count(out, "placed_by_address", t->placed);
	count(out, "without_blocks", t->blockless);
	count(out, "without_kernel_branches", t->user_only);
	fprintf(out, "\"blocks\":%" PRIu32 "},\n\"left_out\":{", set->blocks.nr);
	count(out, "orphan_records", set->losses.orphans);
	count(out, "malformed_records", set->losses.malformed);
	count(out, "beyond_vm_exit", set->losses.cut);
	if (!e)
		count(out, "impossible_branches", t->impossible);
	for (i = VMP_FLAW_SWITCHED + 1; i < VMP_FLAW_NR; i++)
		count(out, vmp_flaw_key(i), t->flaw[i]);
	fprintf(out, "\"%s\":%" PRIu64 "},\n", vmp_flaw_key(VMP_FLAW_SWITCHED), t->switched);
	if (!e)
		return;
	fprintf(out, "\"estimator\":{\"used\":\"%s\",\"why\":", vmp_source_key(e->source));
	vmp_json_str(out, vmp_about_source(e->source));
	fprintf(out, ",\"runs_from\":\"%s\",\"period\":%.0f,\"percentiles\":\"%s\"",
		!e->chained ? "none" : e->by_instructions ? "instructions" : "branches", e->period,
		vmp_source_key(vmp_estimate_spread(e)));
	fprintf(out, ",\"cycles_not_counted\":%" PRIu64 ",\"blocks_not_counted\":%" PRIu32, e->uncycled, e->uncycled_blocks);
	fprintf(out, ",\"guessed_part\":%.4f,\"far_from_equation_1\":%" PRIu32 "},\n",
		e->by_instructions ? 0 : e->guessed_part, e->doubted);
}
