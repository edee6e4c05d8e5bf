// SPDX-License-Identifier: GPL-2.0-only
/* timelineout.c - a time line as text for people, and as a trace for viewers. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "blocks/about.h"
#include "blocks/timeline.h"
#include "util/text.h"

#define BETWEEN		" | "	/* blocks of a line */
#define LEFT_OUT	"..." BETWEEN
#define ROOM_MIN	16

static double microseconds(const struct vmp_set *set, double ticks)
{
	uint32_t khz = set->m->header.tsc_khz;

	return ticks * 1000 / (khz ? khz : 1000000);
}

static double since_start(const struct vmp_set *set, double tsc)
{
	double start = (double)set->m->header.tsc;

	return tsc > start ? microseconds(set, tsc - start) : 0;
}

static const char *function(const struct vmp_set *set, uint32_t point)
{
	return point == VMP_NONE ? "-" : vmp_model_name(set->m, set->points.points.v[point].function);
}

static uint64_t address(const struct vmp_set *set, uint32_t point)
{
	return point == VMP_NONE ? 0 : set->points.points.v[point].addr;
}

/* -------------------------------------------------------------------- text */

/* A line under way: blocks that are the same in a row are one */
struct strip {
	FILE *out;
	const struct vmp_set *set;
	const struct vmp_look *look;
	char line[8192];
	size_t used;
	uint32_t start, end, n;
	double cycles, error;	/* of all; error NAN: of one of them it is not known */
};

static void append(struct strip *s, const char *text)
{
	size_t n = strlen(text);

	if (s->used + n + 1 > sizeof(s->line))
		n = sizeof(s->line) - 1 - s->used;
	memcpy(s->line + s->used, text, n);
	s->used += n;
	s->line[s->used] = 0;
}

static void end_run(struct strip *s)
{
	char text[512], safe[256], times[24] = "", error[32] = "";
	const char *name;

	if (!s->n)
		return;
	name = function(s->set, s->start);
	if (s->n > 1)
		snprintf(times, sizeof(times), " x%" PRIu32, s->n);
	if (!isnan(s->error))
		snprintf(error, sizeof(error), "+-%.0f", s->error);
	snprintf(text, sizeof(text), "%s %" PRIx64 "..%" PRIx64 "%s (%.0f%s)" BETWEEN, vmp_text(safe, sizeof(safe), name, strlen(name)),
		 address(s->set, s->start), address(s->set, s->end), times, s->cycles, error);
	append(s, text);
	s->n = 0;
	s->cycles = s->error = 0;
}

static void block(struct strip *s, const struct vmp_strip_span *b)
{
	if (s->n && (s->start != b->start || s->end != b->end))
		end_run(s);
	s->start = b->start;
	s->end = b->end;
	s->n++;
	s->cycles += b->cycles;
	s->error += b->error;	/* runs of one block: they are off together */
}

static void edge(struct strip *s)
{
	end_run(s);
	append(s, "[exit, entry]" BETWEEN);
}

/* As much of the line as there is room for: the oldest blocks stay away */
static void put_fitting(const struct strip *s, int room)
{
	const char *line = s->line, *next;
	char cut[sizeof(s->line)];

	if (vmp_text_width(line) > room) {
		room -= (int)strlen(LEFT_OUT);
		while (vmp_text_width(line) > room && (next = strstr(line, BETWEEN)))
			line = next + strlen(BETWEEN);
		fputs(LEFT_OUT, s->out);
	}
	vmp_text_cut(cut, sizeof(cut), line, room);
	fputs(cut, s->out);
}

static void print_line(struct strip *s, const struct vmp_strip_span *x)
{
	static const char *const kinds[] = { "", "", "exit", "steal" };
	const char *what = vmp_model_name(s->set->m, x->what), *name = function(s->set, x->start);
	int room;
	char safe[1024], safe_name[1024], text[2200];

	vmp_text(safe, sizeof(safe), what, strlen(what));
	vmp_text(safe_name, sizeof(safe_name), name, strlen(name));
	end_run(s);
	if (x->kind == VMP_MOMENT_SAMPLE)
		snprintf(text, sizeof(text), "* %s %" PRIx64, safe_name, address(s->set, x->start));
	else if (x->kind == VMP_MOMENT_STEAL)
		snprintf(text, sizeof(text), "[%s] %s ran", kinds[x->kind], safe);
	else
		snprintf(text, sizeof(text), "[%s %s] %s", kinds[x->kind], safe, safe_name);
	append(s, text);
	snprintf(text, sizeof(text), "%14.3f  vCPU %-3" PRIu32 " %-15s ", since_start(s->set, x->tsc), x->vcpu,
		 x->kind == VMP_MOMENT_SAMPLE ? safe : "-");
	fputs(text, s->out);
	room = s->look->width - vmp_text_width(text);
	if (s->look->width)
		put_fitting(s, room > ROOM_MIN ? room : ROOM_MIN);
	else
		fputs(s->line, s->out);
	fputc('\n', s->out);
	s->used = 0;
	*s->line = 0;
}

void vmp_timeline_text(FILE *out, const struct vmp_set *set, const struct vmp_timeline *t,
		       const struct vmp_look *look)
{
	static struct strip s;
	char title[160], cut[160];
	uint32_t i;

	s = (struct strip){ .out = out, .set = set, .look = look };
	snprintf(title, sizeof(title), "%14s  %-8s %-15s %s", "Microseconds", "vCPU", "Process",
		 "Blocks before the sample (cycles +- error) | * where it was taken");
	vmp_text_cut(cut, sizeof(cut), title, look->width && look->width < (int)sizeof(title) ? look->width : (int)sizeof(title));
	fprintf(out, "\n%s%s%s\n", look->colour ? "\033[1m" : "", cut, look->colour ? "\033[m" : "");
	for (i = 0; i < t->spans.nr; i++) {
		if (t->spans.v[i].kind == VMP_MOMENT_BLOCK)
			block(&s, &t->spans.v[i]);
		else if (t->spans.v[i].kind == VMP_MOMENT_EDGE)
			edge(&s);
		else
			print_line(&s, &t->spans.v[i]);
	}
}

/* ------------------------------------------------------------------- trace */

static void begin_event(FILE *out, const struct vmp_set *set, const struct vmp_strip_span *x, const char *phase, int *any)
{
	fprintf(out, "%s\n{\"ph\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32, *any ? "," : "", phase,
		set->m->vms.v[x->vm].vm, x->vcpu + 1);
	*any = 1;
}

static void names(FILE *out, const struct vmp_set *set, const struct vmp_strip_span *x, int *any)
{
	begin_event(out, set, x, "M", any);
	fputs(",\"name\":\"process_name\",\"args\":{\"name\":", out);
	vmp_json_str(out, vmp_model_name(set->m, set->m->vms.v[x->vm].name));
	fputs("}}", out);
	begin_event(out, set, x, "M", any);
	fprintf(out, ",\"name\":\"thread_name\",\"args\":{\"name\":\"vCPU %" PRIu32 "\"}}", x->vcpu);
}

static void trace_block(FILE *out, const struct vmp_set *set, const struct vmp_strip_span *x)
{
	fputs(",\"name\":", out);
	vmp_json_str(out, function(set, x->start));
	fprintf(out, ",\"cat\":\"%s\",\"ts\":%.4f,\"dur\":%.4f,\"args\":{\"start\":\"0x%" PRIx64 "\",\"end\":\"0x%" PRIx64
		"\",\"cycles\":%.2f,\"cycles_error\":", vmp_about_side(set, x->start),
		since_start(set, x->tsc), microseconds(set, x->ticks), address(set, x->start), address(set, x->end), x->cycles);
	if (isnan(x->error))
		fputs("null", out);
	else
		fprintf(out, "%.2f", x->error);
	fprintf(out, ",\"samples\":%.0f,\"mispredicted\":%s,\"process\":", x->samples, x->mispredicted ? "true" : "false");
	vmp_json_str(out, vmp_model_name(set->m, x->what));
	fputs("}}", out);
}

static void trace_moment(FILE *out, const struct vmp_set *set, const struct vmp_strip_span *x)
{
	static const char *const kinds[] = { "block", "sample", "exit", "steal", "entry" };

	fprintf(out, ",\"s\":\"t\",\"name\":\"%s\",\"cat\":\"%s\",\"ts\":%.4f,\"args\":{\"%s\":", kinds[x->kind],
		kinds[x->kind], since_start(set, x->tsc), x->kind == VMP_MOMENT_VMM ? "reason" :
		x->kind == VMP_MOMENT_STEAL ? "task" : "process");
	vmp_json_str(out, vmp_model_name(set->m, x->what));
	fputs(",\"function\":", out);
	vmp_json_str(out, function(set, x->start));
	fputs("}}", out);
}

void vmp_timeline_trace(FILE *out, const struct vmp_set *set, const struct vmp_timeline *t)
{
	uint32_t i;
	int any = 0;

	fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"generator\":\"vmprof " VMPROF_VERSION "\"", out);
	if (t->rate > 0)
		fprintf(out, ",\"ticks_per_cycle\":%.4f", t->rate);
	fputs("},\n\"traceEvents\":[", out);
	for (i = 0; i < t->spans.nr; i++) {
		const struct vmp_strip_span *x = &t->spans.v[i];

		if (!i || x[-1].vm != x->vm || x[-1].vcpu != x->vcpu)
			names(out, set, x, &any);
		begin_event(out, set, x, x->kind == VMP_MOMENT_BLOCK ? "X" : "i", &any);
		if (x->kind == VMP_MOMENT_BLOCK)
			trace_block(out, set, x);
		else
			trace_moment(out, set, x);
	}
	fputs("\n]}\n", out);
}
