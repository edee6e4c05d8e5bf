// SPDX-License-Identifier: GPL-2.0-only
/* notes.c - under the tables: what is missing, why, and what to do about it. */
#include <inttypes.h>
#include <string.h>

#include "agent_msg.h"
#include "report/render.h"
#include "util/text.h"

/* The heading comes with the first note. */
struct notes {
	FILE *out;
	int begun;
	char prefix[300];
};

static void begin(struct notes *n)
{
	if (!n->begun)
		fputs("\nNotes\n", n->out);
	n->begun = 1;
	fprintf(n->out, "  %s", n->prefix);
}

#define note(n, ...) \
	do { begin(n); fprintf((n)->out, __VA_ARGS__); fputc('\n', (n)->out); } while (0)

static const char *noun(uint64_t n)
{
	return n == 1 ? "sample" : "samples";
}

/* What is inferred, and what is not */
static void without_module(struct notes *n, const struct vmp_machine *vm, const struct vmp_domain *d)
{
	uint64_t guest = vmp_guest_samples(d);
	char why[128];

	note(n, "the agent ran without its module, %s: nobody told whose an address space is",
	     vmp_no_module_text(why, vm->no_module, vm->module_error));
	if (!vm->infer.known.nr)
		note(n, "  no process could be inferred: what lives in the guest was not known as a whole");
	else
		note(n, "  processes are INFERRED, from code that only one living process had mapped: %" PRIu64 " address spaces, %.2f%% of the guest samples",
		     vm->infer.learned, vmp_percent(d->with_process, guest));
	if (d->shared)
		note(n, "  %" PRIu64 " samples (%.2f%%) more have module and function, but several processes had that code",
		     d->shared, vmp_percent(d->shared, guest));
	if (vm->infer.contradicted)
		note(n, "  %" PRIu64 " processes were left unknown: what was inferred of them contradicted itself",
		     vm->infer.contradicted);
}

static void agent(struct notes *n, const struct vmp_machine *vm, const struct vmp_domain *d,
		  const char *name)
{
	char safe[1024], why[128];
	unsigned int i;

	if (!vm->hellos && vmp_guest_samples(d)) {
		note(n, "no agent spoke from the guest: processes and functions are unknown.");
		note(n, "  In the guest, install the package vmprof-guest-agent; on the host: vmprof attach --domain %s",
		     vmp_shell_word(safe, sizeof(safe), name));
	}
	if (vmp_machine_without_module(vm))
		without_module(n, vm, d);
	else if (vm->no_module)
		note(n, "the agent went on without its module, %s: nobody told whose the address spaces of later processes are",
		     vmp_no_module_text(why, vm->no_module, vm->module_error));
	if (vm->no_module & VMPROF_HELLO_NO_PERF)
		note(n, "  the guest's kernel refused it perf events, too, so nobody told what began and ended: in the guest, load the module, or sysctl kernel.perf_event_paranoid=2");
	if (vm->boots.nr > 1 + vm->went_back)
		note(n, "the guest booted %" PRIu32 " times during the session",
		     vm->boots.nr + vm->more_boots - vm->went_back);
	if (vm->went_back)
		note(n, "the guest went back in time %" PRIu32 " times (a snapshot was loaded): what it told before does not hold after",
		     vm->went_back);
	if (vm->more_boots)
		note(n, "  only %u are told apart: what ran in the last %" PRIu32 " may have wrong names or none",
		     VMP_BOOTS_MAX, vm->more_boots);
	if (vm->hellos > vm->boots.nr + vm->more_boots && vm->boots.nr)
		note(n, "the agent began anew %" PRIu32 " times: processes between may lack names",
		     vm->hellos - vm->boots.nr - vm->more_boots);
	for (i = 0; i < VMPROF_GLOST_NR; i++)
		if (vmp_machine_lost(vm, i))
			note(n, "agent lost %" PRIu64 " %s", vmp_machine_lost(vm, i),
			     vmp_agent_loss_key(i) ? vmp_agent_loss_text(i) : "things of a kind unknown here");
	if (vm->bad_frames)
		note(n, "%" PRIu64 " of the agent's messages were damaged and left out", vm->bad_frames);
	if (vm->space.maps_over)
		note(n, "%" PRIu64 " mappings were left out: their programs had told of %u before; code there has no name",
		     vm->space.maps_over, VMP_IMAGE_MAPS_MAX);
	if (vm->space.images_over)
		note(n, "%" PRIu64 " events of processes were left out: %u programs had begun before; what ran in later ones has no process",
		     vm->space.images_over, VMP_IMAGES_MAX);
	if (vm->files_over)
		note(n, "%" PRIu64 " mappings and descriptions of files were left out: %u files had been told of before; code there has no name",
		     vm->files_over, VMP_FILES_MAX);
	if (vm->jit.lines.bad)
		note(n, "%" PRIu64 " lines of JIT maps made no sense and were left out", vm->jit.lines.bad);
	if (vm->jit.lines.over || vm->jit.pieces_over)
		note(n, "%" PRIu64 " lines and %" PRIu64 " messages of JIT maps were left out: they are over %u lines, or %u MiB",
		     vm->jit.lines.over, vm->jit.pieces_over, VMP_JIT_LINES_MAX, VMPROF_JITMAPS_BYTES_MAX >> 20);
	if (vm->space.repaired)
		note(n, "%" PRIu64 " address spaces were placed from later news: their beginnings were not told",
		     vm->space.repaired);
}

static void unresolved(struct notes *n, const struct vmp_domain *d, const char *objects)
{
	uint64_t guest = vmp_guest_samples(d);
	int i;

	if (!guest)
		return;
	note(n, "guest samples: %" PRIu64 ", with process %.2f%%, with function %.2f%%, with both %.2f%%", guest,
	     vmp_percent(d->with_process, guest), vmp_percent(d->with_function, guest),
	     vmp_percent(d->with_both, guest));
	if (d->why[VMP_WHY_UNNAMED])
		note(n, "  %" PRIu64 " (%.2f%%) of them: %s", d->why[VMP_WHY_UNNAMED],
		     vmp_percent(d->why[VMP_WHY_UNNAMED], guest), vmp_why_text(VMP_WHY_UNNAMED));
	for (i = VMP_WHY_UNNAMED + 1; i < VMP_WHY_NR; i++)
		if (d->why[i])
			note(n, "  %" PRIu64 " (%.2f%%) without function: %s", d->why[i],
			     vmp_percent(d->why[i], guest), vmp_why_text(i));
	if (d->why[VMP_WHY_NO_OBJECT] && !strcmp(objects, "none"))
		note(n, "  its binaries were left in the guest (vmprof start --objects none): offsets and build-ids tell what ran");
}

/* Which of the guest's tasks ran, by what its kernel calls current */
static void tasks(struct notes *n, const struct vmp_model *m, const struct vmp_machine *vm,
		  const struct vmp_domain *d)
{
	const char *why = vmp_tasks_off_text(vmp_model_name(m, vm->tasks_state)), *off = why;
	uint64_t looked = vmp_who_looked(d);
	int i;

	if (!off && *vmp_model_name(m, vm->tasks_state))
		off = vmp_who_text(d->who[VMP_WHO_UNTOLD] ? VMP_WHO_UNTOLD : VMP_WHO_OFF);
	if (!looked && off && vm->hellos && vmp_guest_samples(d))
		note(n, "the guest's threads are not told apart, its kernel's are shown with other processes: %s", off);
	if (!looked)
		return;
	note(n, "thread known of %.2f%% of the guest samples; %" PRIu64 " (%.2f%%) of kernel threads",
	     vmp_percent(d->who[VMP_WHO_SAME] + d->who[VMP_WHO_KTHREAD] + d->who[VMP_WHO_TASK], vmp_guest_samples(d)),
	     d->who[VMP_WHO_KTHREAD], vmp_percent(d->who[VMP_WHO_KTHREAD], vmp_guest_samples(d)));
	for (i = 0; i < VMP_WHO_NR; i++)
		if (d->who[i] && vmp_who_text(i))
			note(n, "  %" PRIu64 " (%.2f%%) without thread: %s", d->who[i],
			     vmp_percent(d->who[i], vmp_guest_samples(d)), i == VMP_WHO_OFF && why ? why : vmp_who_text(i));
	if (vm->seen.over)
		note(n, "  %" PRIu64 " records of threads were left out: there were %u before", vm->seen.over,
		     VMP_SEEN_MAX);
}

static void clock_axis(struct notes *n, const struct vmp_model *m, const struct vmp_machine *vm)
{
	if (!vm->nr_events)
		return;
	switch (vm->clock.source) {
	case VMP_CLOCK_NONE:
		note(n, "time axis: the guest's clock is unknown; processes may be mixed up");
		return;
	case VMP_CLOCK_ARRIVAL:
		note(n, "time axis: guessed from when the agent's messages arrived; short-lived processes may be mixed up");
		return;
	case VMP_CLOCK_MEASURED:
	case VMP_CLOCK_DRIVER:
		note(n, "time axis: guest events placed within %.3f us (clock from the %s)%s",
		     vmp_clock_error_us(m, vm), vmp_clock_name(vm->clock.source),
		     vm->clock.pieces.nr > 1 ? "; the guest's clock was moved during the session" : "");
	}
}

static void trigger(struct notes *n, const struct vmp_domain *d)
{
	uint64_t guest = vmp_guest_samples(d);

	if (d->by_timer)
		note(n, "sampled by a timer, not by a counter: code that runs with interrupts off shows late");
	if (guest)
		note(n, "%" PRIu64 " of %" PRIu64 " guest samples (%.2f%%) came by NMI", d->by_nmi, guest,
		     vmp_percent(d->by_nmi, guest));
}

double vmp_render_guest_cpi(const struct vmp_domain *d)
{
	return d->guest.instructions ? (double)d->guest.cycles / (double)d->guest.instructions : 0;
}

/* By counters that were read at samples: where there is no better */
static void counted_cpi(struct notes *n, const struct vmp_domain *d)
{
	double whole = vmp_render_guest_cpi(d);
	char text[64] = "";

	if (!d->guest.instructions && !d->rest.instructions)
		return;
	if (whole > 0)
		snprintf(text, sizeof(text), "the guest's as a whole is %.3f; ", whole);
	note(n, "CPI by counts since the sample before, whatever ran in between: %sthat of a function or process is mixed with"
		" others' (vmprof start --cpi tells its own)", text);
}

/* How CPI was estimated, and on what */
static void cpi(struct notes *n, const struct vmp_profile *p, const struct vmp_domain *d, int rated)
{
	const struct vmp_model *m = p->model;

	if (!vmp_weigh_paired(m) && rated)
		counted_cpi(n, d);
	if (!vmp_weigh_paired(m) || !d->cycle_samples || !d->instruction_samples)
		return;
	note(n, "CPI by two events: %" PRIu64 " samples of cycles for %" PRIu64 " each, %" PRIu64
		" of instructions for %" PRIu64 " each; in all %.3f; of a function with n samples of either it"
		" is good to 140 %% / sqrt(n)", d->cycle_samples, m->pair.cycles, d->instruction_samples,
	     m->pair.instructions, vmp_weigh_cpi(m, d->cycle_samples, d->instruction_samples));
}

static void of_domain(struct notes *n, const struct vmp_profile *p, const struct vmp_domain *d, int rated)
{
	const struct vmp_machine *vm = &p->model->vms.v[d->vm];
	const char *name = vmp_model_name(p->model, vm->name);
	char safe[256];

	/* with one domain the name says nothing */
	if (p->domains.nr > 1)
		snprintf(n->prefix, sizeof(n->prefix), "%s: ",
			 vmp_text(safe, sizeof(safe), name, strlen(name)));
	unresolved(n, d, vmp_model_name(p->model, vm->objects));
	tasks(n, p->model, vm, d);
	agent(n, vm, d, name);
	clock_axis(n, p->model, vm);
	trigger(n, d);
	cpi(n, p, d, rated);
	n->prefix[0] = 0;
}

static void of_collector(struct notes *n, const struct vmp_model *m, const struct vmp_loss *loss)
{
	uint32_t vm = loss->vm ? vmp_model_vm(m, loss->vm) : VMP_NONE;
	const char *name = vm == VMP_NONE ? "" : vmp_model_name(m, m->vms.v[vm].name);
	const char *key = vmp_model_name(m, loss->name), *text = vmp_collector_loss_text(key);
	char domain[256], safe[256];

	vmp_text(domain, sizeof(domain), name, strlen(name));
	if (text)
		note(n, "collector: %s%s%" PRIu64 " %s", domain, *domain ? ": " : "", loss->count, text);
	else
		note(n, "collector: %s%s%s %" PRIu64, domain, *domain ? ": " : "",
		     vmp_text(safe, sizeof(safe), key, strlen(key)), loss->count);
}

static void losses(struct notes *n, const struct vmp_model *m)
{
	uint64_t lost = 0;
	uint32_t i;

	for (i = 0; i < VMPROF_LOST_NR; i++) {
		lost += m->driver.lost[i];
		if (m->driver.lost[i])
			note(n, "LOST %" PRIu64 " %s in the driver: %s", m->driver.lost[i],
			     noun(m->driver.lost[i]), vmp_driver_loss_key(i) ?
			     vmp_driver_loss_text(i) : "a cause unknown here");
	}
	for (i = 0; i < m->losses.nr; i++)
		of_collector(n, m, &m->losses.v[i]);
	if (!lost && m->driver.at_stop)
		note(n, "no sample was lost (%" PRIu64 " overflows, %" PRIu64 " not of this session's business)",
		     m->driver.interrupts, m->driver.filtered);
}

/* Files that were looked for beside the object cache */
static void files(struct notes *n, const struct vmp_model *m)
{
	const struct vmp_seek *s = m->seek;
	char line[512];

	if (*vmp_seek_below(s, line, sizeof(line)))
		note(n, "%s", line);
	if (*vmp_seek_asked(s, line, sizeof(line)))
		note(n, "%s", line);
	if (*vmp_seek_unread(s, line, sizeof(line)))
		note(n, "%s", line);
	if (m->host_others)
		note(n, "%" PRIu32 " of the host's own files %s of another build now than when %s ran, or gone: code there has no names",
		     m->host_others, m->host_others == 1 ? "is" : "are", m->host_others == 1 ? "it" : "they");
}

static void file_end(struct notes *n, const struct vmp_model *m)
{
	const char *error = vmp_model_name(m, m->meta.error);
	char safe[1024];

	if (*error)
		note(n, "WARNING: the session ended with an error: %s",
		     vmp_text(safe, sizeof(safe), error, strlen(error)));
	if (*vmp_reader_warning(m->reader, safe, sizeof(safe)))
		note(n, "WARNING: %s", safe);
}

void vmp_render_notes(FILE *out, const struct vmp_profile *p, int rated)
{
	struct notes n = { .out = out };
	uint32_t i;

	for (i = 0; i < p->domains.nr; i++)
		if (p->domains.v[i].vm != VMP_NONE)
			of_domain(&n, p, &p->domains.v[i], rated);
	losses(&n, p->model);
	files(&n, p->model);
	if (p->others)
		note(&n, "%" PRIu64 " %s of other host work, no domain's (--all-host shows them)",
		     p->others, noun(p->others));
	file_end(&n, p->model);
}
