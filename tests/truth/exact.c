// SPDX-License-Identifier: GPL-2.0-only
/* exact.c - read the emulator's exact counts. */
#include "exact.h"

#include <stdio.h>
#include <string.h>

#define EVENTS	4	/* that may overflow before one interrupt */
#define NAME	"vmprof-exact "
#define VERSION	"7"

/* Take a word off a line; 0 when it is not there. */
static int word(char **line, const char *expected)
{
	size_t len = strlen(expected);

	if (strncmp(*line, expected, len) || (*line)[len] != ' ')
		return 0;
	*line += len + 1;
	return 1;
}

/* Exactly @nr numbers to the end of a line */
static int numbers(const char *line, uint64_t *v, int nr)
{
	char *end;

	for (; nr--; line = end) {
		*v++ = strtoull(line, &end, 0);
		if (end == line)
			return -EBADMSG;
	}
	return *line == '\n' ? 0 : -EBADMSG;
}

static int who(char **line, uint32_t *flags)
{
	int guest = word(line, "guest"), user;

	if (!guest && !word(line, "host"))
		return -EBADMSG;
	user = word(line, "user");
	if (!user && !word(line, "kernel"))
		return -EBADMSG;
	*flags = (guest ? EXACT_GUEST : 0) | (user ? EXACT_USER : 0);
	return 0;
}

static int on_space(struct exact *x, char *line, uint32_t base)
{
	struct exact_space s = { 0 };
	uint64_t nr, v[5];
	char *end;

	nr = strtoull(line, &end, 10);
	line = end + (*end == ' ');
	if (word(&line, "host nmi"))
		s.flags = EXACT_NMI;
	else if (who(&line, &s.flags))
		return -EBADMSG;
	if (!x->cpus.nr || base + nr != (uint64_t)x->spaces.nr + 1)
		return -EBADMSG;
	if (word(&line, "counting"))
		s.flags |= EXACT_COUNTING;
	else if (!word(&line, "quiet"))
		return -EBADMSG;
	if (numbers(line, v, 5))
		return -EBADMSG;
	s.cr3 = v[0];
	s.ncr3 = v[1];
	s.exit = v[2];
	s.first_tsc = v[3];
	s.last_tsc = v[4];
	s.cpu = x->cpus.v[x->cpus.nr - 1].cpu;
	return vmp_vec_push(&x->spaces, s);
}

/* As much of a count as one block takes */
static uint32_t part(uint64_t *count)
{
	uint32_t n = *count > UINT32_MAX ? UINT32_MAX : (uint32_t)*count;

	*count -= n;
	return n;
}

static int on_block(struct exact *x, const char *line, uint32_t base)
{
	uint64_t v[11];
	int err = 0, i;

	if (numbers(line, v, 11) || !v[0] || base + v[0] > x->spaces.nr || v[2] > UINT32_MAX)
		return -EBADMSG;
	do {
		struct exact_block b = {
			.space = base + (uint32_t)v[0] - 1, .pc = v[1], .size = (uint32_t)v[2],
			.insns = part(&v[3]), .cycles = part(&v[4]), .insns_at = part(&v[5]), .cycles_at = part(&v[6]),
			.entries = { part(&v[7]), part(&v[9]) }, .led = { part(&v[8]), part(&v[10]) },
		};

		err = vmp_vec_push(&x->blocks, b);
		for (i = 3; i < 11 && !v[i]; i++)
			;
	} while (!err && i < 11);
	return err;
}

static int on_overflow(struct exact *x, char *line)
{
	struct exact_overflow o = { 0 };
	uint64_t v[6];
	char *end;

	o.tsc = strtoull(line, &end, 10);
	line = end + (*end == ' ');
	if (word(&line, "guest"))
		o.of = EXACT_GUEST;
	else if (!word(&line, "host"))
		return -EBADMSG;
	if (who(&line, &o.flags))
		return -EBADMSG;
	o.held = (uint32_t)word(&line, "held");
	if ((!o.held && !word(&line, "due")) || numbers(line, v, 6) || !x->cpus.nr)
		return -EBADMSG;
	o.cr3 = v[0];
	o.ncr3 = v[1];
	o.exit = v[2];
	o.pc = v[3];
	o.fs = v[4];
	o.nmi_pc = v[5];
	o.cpu = x->cpus.v[x->cpus.nr - 1].cpu;
	x->cpus.v[x->cpus.nr - 1].overflows = x->overflows.nr + 1;
	return vmp_vec_push(&x->overflows, o);
}

static int on_cpu(struct exact *x, const char *line)
{
	struct exact_cpu c = { .overflow = x->overflows.nr, .overflows = x->overflows.nr };
	uint64_t v[3];

	if (numbers(line, v, 3))
		return -EBADMSG;
	c.cpu = (uint32_t)v[0];
	c.first_tsc = v[1];
	c.last_tsc = v[2];
	return vmp_vec_push(&x->cpus, c);
}

static int on_exit_count(struct exact *x, const char *line)
{
	struct exact_exit e;
	uint64_t v[2];
	uint32_t i;

	if (numbers(line, v, 2))
		return -EBADMSG;
	for (i = 0; i < x->exits.nr; i++) {
		if (x->exits.v[i].code == v[0]) {
			x->exits.v[i].count += v[1];
			return 0;
		}
	}
	e.code = v[0];
	e.count = v[1];
	return vmp_vec_push(&x->exits, e);
}

static int on_injected(struct exact *x, const char *line)
{
	uint64_t v[2];

	if (numbers(line, v, 2) || v[1] > v[0])
		return -EBADMSG;
	x->injected += v[0];
	x->behind += v[1];
	return 0;
}

static int on_clock(struct exact *x, const char *line)
{
	struct exact_clock c;
	uint64_t v[4];

	if (numbers(line, v, 4) || v[3] < v[2])
		return -EBADMSG;
	c = (struct exact_clock){ .ncr3 = v[0], .offset = v[1], .first_tsc = v[2], .last_tsc = v[3] };
	return vmp_vec_push(&x->clocks, c);
}

static int on_line(struct exact *x, char *line, uint32_t *base)
{
	if (word(&line, "block"))
		return on_block(x, line, *base);
	if (word(&line, "space"))
		return on_space(x, line, *base);
	if (word(&line, "overflow"))
		return on_overflow(x, line);
	if (word(&line, "exit"))
		return on_exit_count(x, line);
	if (word(&line, "injected"))
		return on_injected(x, line);
	if (word(&line, "clock"))
		return on_clock(x, line);
	if (!word(&line, "cpu"))
		return -EBADMSG;
	*base = x->spaces.nr;
	return on_cpu(x, line);
}

static int first_line(FILE *f)
{
	char line[64];

	if (!fgets(line, sizeof(line), f) || strncmp(line, NAME, strlen(NAME)) || !strchr(line, '\n'))
		return -EBADMSG;
	return strcmp(line, NAME VERSION "\n") ? -EPROTO : 0;
}

int exact_read(struct exact *x, const char *path)
{
	FILE *f = fopen(path, "r");
	int err, ended = 0;
	uint32_t base = 0;
	char line[256];

	memset(x, 0, sizeof(*x));
	if (!f)
		return -errno;
	err = first_line(f);
	while (!err && !ended && fgets(line, sizeof(line), f)) {
		ended = !strcmp(line, "end\n");
		err = ended ? 0 : on_line(x, line, &base);
	}
	fclose(f);
	if (!err && !ended)
		err = -EBADMSG;
	if (err)
		exact_free(x);
	return err;
}

const char *exact_why(int err)
{
	if (err == -EPROTO)
		return "its counts are not of version " VERSION ", which the emulator of this series writes";
	if (err == -EBADMSG)
		return "these are no exact counts, or they are cut";
	return strerror(-err);
}

void exact_free(struct exact *x)
{
	vmp_vec_free(&x->cpus);
	vmp_vec_free(&x->spaces);
	vmp_vec_free(&x->blocks);
	vmp_vec_free(&x->overflows);
	vmp_vec_free(&x->exits);
	vmp_vec_free(&x->clocks);
}

const struct exact_cpu *exact_cpu_of(const struct exact *x, uint32_t cpu)
{
	uint32_t i;

	for (i = 0; i < x->cpus.nr; i++)
		if (x->cpus.v[i].cpu == cpu)
			return &x->cpus.v[i];
	return NULL;
}

struct exact_overflow *exact_overflow_of(struct exact *x, uint32_t cpu, uint64_t tsc,
					 uint32_t flags, uint64_t ip, uint64_t within)
{
	const struct exact_cpu *c = exact_cpu_of(x, cpu);
	struct exact_overflow *o, *found = NULL;
	uint32_t low, high, i;

	if (!c)
		return NULL;
	low = c->overflow;
	high = c->overflows;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (x->overflows.v[mid].tsc <= tsc)
			low = mid + 1;
		else
			high = mid;
	}
	for (i = low; i > c->overflow && low - i < EVENTS; i--) {
		o = &x->overflows.v[i - 1];
		if (tsc - o->tsc > within && o->pc != ip)
			break;
		if (o->taken || (found && o->of != flags))
			continue;
		if (!found || found->of != flags)
			found = o;
	}
	if (found)
		found->taken = 1;
	return found;
}
