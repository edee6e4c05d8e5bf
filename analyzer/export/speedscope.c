// SPDX-License-Identifier: GPL-2.0-only
/*
 * speedscope.c - speedscope's own format (its file-format-schema.json): the
 * frames, then for each domain stacks of process, module and function with
 * their number of samples.
 */
#include <inttypes.h>

#include "export/format.h"
#include "export/stacks.h"
#include "util/text.h"

struct frames {
	FILE *out;
	const struct vmp_table *t;
	struct vmp_hash known;	/* module and name -> number */
	uint32_t nr;
	int err;
};

enum { PROCESS = 0, MODULE = 0xffffffff };	/* in place of a function's module */

/* Number of a frame; written to the list when it is new */
static uint32_t frame(struct frames *f, uint32_t module, uint32_t name, const char *text)
{
	uint64_t key = (uint64_t)module << 32 | name;
	uint32_t *known = vmp_hash_find(&f->known, key);

	if (known)
		return *known;
	if (vmp_hash_set(&f->known, key, f->nr)) {
		f->err = -ENOMEM;
		return 0;
	}
	fputs(f->nr ? ",\n{\"name\":" : "\n{\"name\":", f->out);
	vmp_json_str(f->out, text);
	if (module != PROCESS && module != MODULE) {
		fputs(",\"file\":", f->out);
		vmp_json_str(f->out, vmp_table_str(f->t, module));
	}
	fputc('}', f->out);
	return f->nr++;
}

static void frames_of(struct frames *f, const struct vmp_stack *s, uint32_t frames[3])
{
	const struct vmp_line *l = &f->t->lines.v[s->line];
	const struct vmp_site *site = &f->t->sites.v[s->site];
	/* tasks without a name: by side, beyond all numbers of strings */
	uint32_t comm = f->t->tasks.v[s->task].comm;

	frames[0] = frame(f, PROCESS, comm ? comm : VMP_NONE - l->side, vmp_table_comm(f->t, l));
	frames[1] = frame(f, MODULE, site->module, vmp_table_str(f->t, site->module));
	frames[2] = frame(f, site->module, site->function, vmp_table_str(f->t, site->function));
}

/* One domain's stacks are [first, end) */
static void profile(struct frames *f, const struct vmp_stack *stacks, uint32_t domain, uint32_t first,
		    uint32_t end)
{
	uint32_t i, frames[3];

	fputs("{\"type\":\"sampled\",\"name\":", f->out);
	vmp_json_str(f->out, vmp_table_domain_name(f->t, domain));
	fprintf(f->out, ",\"unit\":\"none\",\"startValue\":0,\"endValue\":%" PRIu64 ",\n\"samples\":[",
		f->t->domains.v[domain].sum.samples);
	for (i = first; i < end; i++) {
		frames_of(f, &stacks[i], frames);
		fprintf(f->out, "%s[%u,%u,%u]", i > first ? "," : "", frames[0], frames[1], frames[2]);
	}
	fputs("],\n\"weights\":[", f->out);
	for (i = first; i < end; i++)
		fprintf(f->out, "%s%" PRIu64, i > first ? "," : "", stacks[i].samples);
	fputs("]}", f->out);
}

int vmp_write_speedscope(FILE *out, struct vmp_table *t, struct vmp_format_options *o)
{
	struct frames f = { .out = out, .t = t };
	struct vmp_stacks stacks = { 0 };
	uint32_t i, d, first, frames[3];
	int err = vmp_stacks_create(&stacks, t);

	(void)o;
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"vmprof " VMPROF_VERSION "\",\"name\":", out);
	vmp_json_str(out, vmp_table_str(t, t->model->meta.host));
	fputs(",\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[", out);
	for (i = 0; i < stacks.v.nr; i++)
		frames_of(&f, &stacks.v.v[i], frames);
	fputs("]},\n\"profiles\":[", out);
	for (d = i = 0; d < t->domains.nr; d++) {
		for (first = i; i < stacks.v.nr && t->tasks.v[stacks.v.v[i].task].domain == d;)
			i++;
		fputs(d ? ",\n" : "\n", out);
		profile(&f, stacks.v.v, d, first, i);
	}
	fputs("]}\n", out);
	vmp_hash_free(&f.known);
	vmp_stacks_free(&stacks);
	return err ? err : f.err;
}
