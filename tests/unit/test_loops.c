// SPDX-License-Identifier: GPL-2.0-only
/* test_loops.c - loops of programs, simulated but for one: where they are, how often they were entered and went round. */
#include "simulated.h"

#include "blocks/loops.h"
#include "blocks/solutions.h"

/* A loop of the program, by its instructions */
struct want {
	int header, end;
	uint32_t level;
	uint64_t entries;
	double trips;
};

static double reached(int insn)
{
	uint64_t n = 0;
	int s, e;

	for (s = 0; s <= insn; s++)
		for (e = insn; e < prog.nr; e++)
			n += prog.truth[s][e].runs;
	return (double)n;
}

/* @doubt: part of the figure that the error holds besides chance */
static void near(const char *what, int header, double found, double error, double truth, double doubt)
{
	if (getenv("SHOW"))
		print_message("# %d: %s %.2f +- %.2f, of that in doubt %.2f, truly %.2f\n", header, what, found, error, found * doubt, truth);
	assert_true(error >= found * doubt);
	error = by_chance(error, found, doubt);
	assert_true(error > 0 && error < 0.1 * found);
	assert_true(fabs(found - truth) < 3 * error + 0.01 * truth);
}

/* Of the runs of blocks that begin there, or of their cycles */
static double doubt_of(int header, int cycles)
{
	double runs = 0, doubt = 0;
	uint32_t i;

	for (i = 0; i < set->blocks.nr; i++) {
		const struct vmp_estimate *e = &estimates->block[i];

		if (insn_at(set->blocks.v[i].start) != header || isnan(e->executions))
			continue;
		runs += e->executions;
		doubt += e->executions * (cycles ? e->doubt : e->executions_doubt);
	}
	assert_true(estimates->by_instructions ? !(doubt > 0) : doubt > 0);
	return doubt / runs;
}

/* Of an iteration, by what its instructions cost */
static double truly(int header, int end)
{
	double cycles = 0;
	int i;

	for (i = header; i <= end; i++)
		cycles += reached(i) * prog.insn[i].cost;
	return cycles / reached(header);
}

static struct vmp_loops *find_loops(void)
{
	struct vmp_loops *loops;

	vmp_estimate_destroy(estimates);
	assert_int_equal(vmp_estimate_create(&estimates, measure, 1), 0);
	assert_int_equal(vmp_loops_create(&loops, set, estimates), 0);
	return loops;
}

static const struct vmp_loop *loop_at(const struct vmp_loops *loops, int header)
{
	const struct vmp_loop *l = NULL;
	uint32_t i;

	for (i = 0; i < loops->list.nr; i++)
		if (insn_at(loops->list.v[i].header) == header)
			l = &loops->list.v[i];
	return l;
}

static void compare_loops(const struct want *want, size_t nr)
{
	struct vmp_loops *loops = find_loops();
	size_t w;

	for (w = 0; w < nr; w++) {
		const struct vmp_loop *l = loop_at(loops, want[w].header);

		assert_non_null(l);
		assert_int_equal(l->end, prog.insn[want[w].end].addr);
		assert_int_equal(l->level, want[w].level);
		near("entries", want[w].header, l->entries, l->entries_error, (double)want[w].entries, doubt_of(want[w].header, 0));
		near("iterations", want[w].header, l->iterations, l->iterations_error, reached(want[w].header), doubt_of(want[w].header, 0));
		near("cycles", want[w].header, l->cycles, l->cycles_error, truly(want[w].header, want[w].end), doubt_of(want[w].header, 1));
		near("trips", want[w].header, l->trips, l->trips_error, want[w].trips, 0);
	}
	vmp_loops_destroy(loops);
}

static const struct prog_run loops_run = {
	.period = 2503, .samples = 20000, .format = VMPROF_LBR_FROM_TO, .depth = 32, .counts = 1, .scatters = 1,
};

/* Instructions are sampled, too: nothing is in doubt */
static const struct prog_run both_run = {
	.period = 2503, .samples = 20000, .instructions = 2003, .format = VMPROF_LBR_FROM_TO, .depth = 32, .counts = 1, .scatters = 1,
};

/* A VM entry at each sample: windows that it cut in the long block show how the loop was entered, and its first rounds */
static void test_loop_behind_long(void **state)
{
	const struct prog_run run = {
		.period = 40009, .samples = 20000, .instructions = 4003, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1, .scatters = 1, .leaves = 1,
	};
	const struct vmp_loop *l;
	struct vmp_loops *loops;
	int top, inner, latch;

	(void)state;
	top = prog_plain(&prog, 4, 1, 1);
	prog.insn[top].function = "main";
	inner = prog_plain(&prog, 6, 1, 2);
	latch = prog_jump(&prog, PROG_COND, inner, 16, 0);
	prog_plain(&prog, 200, 17, 17);
	prog_jump(&prog, PROG_JUMP, top, 0, 0);
	simulate(&run);
	loops = find_loops();
	l = loop_at(loops, inner);
	assert_non_null(l);
	assert_int_equal(l->end, prog.insn[latch].addr);
	print_message("trips of a loop behind a long block: %+.2f %%, error %.2f %%\n", 100 * (l->trips / 16 - 1), 100 * l->trips_error / l->trips);
	assert_true(fabs(l->trips / 16 - 1) < 0.02);
	vmp_loops_destroy(loops);
}

/* The error of a loop's trips, where its iterations are in doubt by this part of them */
static double error_of_trips(int header, double doubt, double *trips)
{
	struct vmp_loops *loops;
	double error;
	uint32_t i;

	for (i = 0; i < set->blocks.nr; i++)
		if (insn_at(set->blocks.v[i].start) == header)
			estimates->block[i].executions_doubt = doubt;
	assert_int_equal(vmp_loops_create(&loops, set, estimates), 0);
	*trips = loop_at(loops, header)->trips;
	error = loop_at(loops, header)->trips_error;
	vmp_loops_destroy(loops);
	return error;
}

/* Trips are a ratio, in which what is in doubt of runs cancels; not where that is more than these are */
static void test_trips_in_doubt(void **state)
{
	double trips, known;
	int top, inner;

	(void)state;
	top = prog_plain(&prog, 4, 10, 2);
	prog.insn[top].function = "main";
	inner = prog_plain(&prog, 3, 8, 2);
	prog_jump(&prog, PROG_COND, inner, 5, 1);
	prog_plain(&prog, 1, 3, 3);
	prog_jump(&prog, PROG_JUMP, top, 0, 0);
	simulate(&loops_run);
	vmp_loops_destroy(find_loops());
	known = error_of_trips(inner, 0, &trips);
	assert_true(fabs(trips - 5) < 0.1 && known < 0.1);
	assert_true(error_of_trips(inner, 0.9, &trips) == known);
	assert_true(error_of_trips(inner, 3, &trips) > 3 * (trips - 1));
}

/* The test is at the bottom, and where it is entered; in an outer loop whose test never fails */
static void test_loop_rotated(void **state)
{
	int top, enter, body, latch;

	(void)state;
	top = prog_plain(&prog, 3, 20, 2);
	prog.insn[top].function = "main";
	enter = prog_jump(&prog, PROG_JUMP, 0, 0, 0);
	body = prog_plain(&prog, 5, 6, 1);
	prog.insn[enter].target = prog_plain(&prog, 2, 2, 1);
	latch = prog_jump(&prog, PROG_COND, body, 6, 0);
	prog_plain(&prog, 2, 9, 1);
	prog_jump(&prog, PROG_JUMP, top, 0, 0);
	simulate(&loops_run);
	assert_true(fabs((double)prog.taken[latch] / (double)prog.taken[enter] - 5) < 0.001);
	compare_loops((struct want[]){ { body, latch, 0, prog.taken[enter], 5 } }, 1);
}

/* Each goes round another number of times; the outermost is run into from above */
static void test_loop_nest(void **state)
{
	int call, outer, middle, inner, latch[3], ret, main;

	(void)state;
	main = prog_plain(&prog, 2, 10, 1);
	prog.insn[main].function = "main";
	call = prog_jump(&prog, PROG_CALL, 0, 0, 0);
	prog_plain(&prog, 2, 3, 1);
	prog_jump(&prog, PROG_JUMP, main, 0, 0);
	prog.insn[call].target = prog_plain(&prog, 2, 5, 1);
	prog.insn[prog.insn[call].target].function = "nest";
	outer = prog_plain(&prog, 2, 12, 1);
	middle = prog_plain(&prog, 3, 8, 1);
	inner = prog_plain(&prog, 4, 4, 1);
	latch[0] = prog_jump(&prog, PROG_COND, inner, 7, 0);
	prog_plain(&prog, 2, 3, 1);
	latch[1] = prog_jump(&prog, PROG_COND, middle, 4, 0);
	prog_plain(&prog, 1, 2, 0);
	latch[2] = prog_jump(&prog, PROG_COND, outer, 3, 0);
	ret = prog_jump(&prog, PROG_RET, 0, 0, 0);
	simulate(&loops_run);
	assert_true(fabs((double)prog.taken[ret] - (double)prog.taken[call]) <= 1);
	compare_loops((struct want[]){
		{ inner, latch[0], 0, prog.taken[latch[0]] / 6, 7 },
		{ middle, latch[1], 1, prog.taken[latch[1]] / 3, 4 },
		{ outer, latch[2], 2, prog.taken[call], 3 },
	}, 3);
}

/* One behind the other; the second one leaves its body now and then for code behind it, which comes back into the middle */
static void test_loops_beside(void **state)
{
	int top, a, b, latch[2], leave, again;

	(void)state;
	top = prog_plain(&prog, 2, 10, 1);
	prog.insn[top].function = "main";
	a = prog_plain(&prog, 3, 3, 1);
	latch[0] = prog_jump(&prog, PROG_COND, a, 4, 0);
	prog_plain(&prog, 2, 7, 1);
	b = prog_plain(&prog, 4, 5, 1);
	leave = prog_jump(&prog, PROG_COND, 0, 0, 30);
	again = prog_plain(&prog, 2, 2, 1);
	latch[1] = prog_jump(&prog, PROG_COND, b, 9, 0);
	prog_jump(&prog, PROG_JUMP, top, 0, 0);
	prog.insn[leave].target = prog_plain(&prog, 2, 6, 1);
	prog_jump(&prog, PROG_JUMP, again, 0, 0);
	simulate(&both_run);
	compare_loops((struct want[]){
		{ a, latch[0], 0, prog.taken[latch[0]] / 3, 4 }, { b, latch[1], 0, prog.taken[latch[1]] / 8, 9 },
	}, 2);
}

/*
 * A function that leaves for code behind itself now and then, which comes back to what does not lead there again: that
 * goes round once an entry, with what goes round for true behind it and before it.
 */
static void test_code_behind(void **state)
{
	int call, main, leave, back, a, b, test, latch[2];
	struct vmp_loops *loops;

	(void)state;
	main = prog_plain(&prog, 2, 10, 1);
	prog.insn[main].function = "main";
	call = prog_jump(&prog, PROG_CALL, 0, 0, 0);
	prog_plain(&prog, 2, 3, 1);
	prog_jump(&prog, PROG_JUMP, main, 0, 0);
	prog.insn[call].target = a = prog_plain(&prog, 3, 5, 1);
	prog.insn[a].function = "leaves";
	latch[0] = prog_jump(&prog, PROG_COND, a, 4, 0);
	leave = prog_jump(&prog, PROG_COND, 0, 0, 40);
	back = prog_plain(&prog, 2, 2, 1);
	test = prog_jump(&prog, PROG_JUMP, 0, 0, 0);
	b = prog_plain(&prog, 3, 4, 1);
	prog.insn[test].target = prog_plain(&prog, 2, 3, 1);
	latch[1] = prog_jump(&prog, PROG_COND, b, 2, 0);	/* rotated, and once an entry */
	prog_jump(&prog, PROG_RET, 0, 0, 0);
	prog.insn[leave].target = prog_plain(&prog, 2, 6, 1);
	prog_jump(&prog, PROG_JUMP, back, 0, 0);
	simulate(&both_run);
	loops = find_loops();
	assert_null(loop_at(loops, back));
	assert_int_equal(loops->list.nr, 3);	/* main's, too */
	vmp_loops_destroy(loops);
	compare_loops((struct want[]){
		{ a, latch[0], 0, prog.taken[latch[0]] / 3, 4 }, { b, latch[1], 0, prog.taken[test], 1 },
	}, 2);
}

/* What leaves its body always, for code behind the function, which a call and a loop of its own are in, goes round there */
static void test_loop_through_code_behind(void **state)
{
	int top, h, leave, again, latch, inner, latch2, call;
	struct vmp_loops *loops;

	(void)state;
	top = prog_plain(&prog, 2, 10, 1);
	prog.insn[top].function = "main";
	h = prog_plain(&prog, 4, 5, 1);
	leave = prog_jump(&prog, PROG_JUMP, 0, 0, 0);
	again = prog_plain(&prog, 2, 2, 1);
	latch = prog_jump(&prog, PROG_COND, h, 9, 0);
	prog_jump(&prog, PROG_JUMP, top, 0, 0);
	prog.insn[leave].target = inner = prog_plain(&prog, 2, 6, 1);
	prog.insn[inner].function = "main.cold";
	call = prog_jump(&prog, PROG_CALL, 0, 0, 0);
	latch2 = prog_jump(&prog, PROG_COND, inner, 3, 0);
	prog_jump(&prog, PROG_JUMP, again, 0, 0);
	prog.insn[call].target = prog_plain(&prog, 2, 6, 1);
	prog.insn[prog.insn[call].target].function = "callee";
	prog_jump(&prog, PROG_RET, 0, 0, 0);
	simulate(&both_run);
	loops = find_loops();
	assert_int_equal(loop_at(loops, h)->end, prog.insn[latch].addr);
	vmp_loops_destroy(loops);
	compare_loops((struct want[]){ { inner, latch2, 0, prog.taken[latch2] / 2, 3 } }, 1);
}

/* The way round leads through a part of the function with a name of its own, and back to before the loop's header by address */
static void test_loop_by_cold_part(void **state)
{
	int main, call, low, skip, h, leave, back, ret, cold, latch;
	struct vmp_loops *loops;

	(void)state;
	main = prog_plain(&prog, 2, 10, 1);
	prog.insn[main].function = "main";
	call = prog_jump(&prog, PROG_CALL, 0, 0, 0);
	prog_jump(&prog, PROG_JUMP, main, 0, 0);
	prog.insn[call].target = low = prog_plain(&prog, 2, 4, 1);
	prog.insn[low].function = "f";
	skip = prog_jump(&prog, PROG_JUMP, 0, 0, 0);
	h = prog_plain(&prog, 3, 5, 1);
	leave = prog_jump(&prog, PROG_JUMP, 0, 0, 0);
	prog.insn[skip].target = prog_plain(&prog, 2, 3, 1);
	back = prog_jump(&prog, PROG_JUMP, h, 0, 0);
	ret = prog_jump(&prog, PROG_RET, 0, 0, 0);
	prog.insn[leave].target = cold = prog_plain(&prog, 2, 6, 1);
	prog.insn[cold].function = "f.cold";
	latch = prog_jump(&prog, PROG_COND, low, 10, 0);
	prog_jump(&prog, PROG_JUMP, ret, 0, 0);
	simulate(&both_run);
	loops = find_loops();
	assert_non_null(loop_at(loops, h));
	assert_int_equal(loop_at(loops, h)->end, prog.insn[back].addr);
	assert_true(prog.taken[latch] > 1000);
	vmp_loops_destroy(loops);
}

static uint64_t seen(int end, int next)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < set->units.nr; i++) {
		const struct vmp_unit *u = &set->units.v[i];

		if (!u->flaw && u->end != VMP_NONE && u->next != VMP_NONE && insn_at(u->end) == end && insn_at(u->next) == next)
			n += u->n;
	}
	return n;
}

/* A loop around two long ones, of few samples: where its branch back was seen it is a loop, though not all of its way was */
static void test_loops_hardly_seen(void **state)
{
	int seed, top, inner, latch, times = 0, far = 0;
	const struct vmp_loop *l;
	struct vmp_loops *loops;

	(void)state;
	for (seed = 0; seed < 40; seed++) {
		const struct prog_run run = {
			.period = 5003, .samples = 500, .instructions = 7001, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1,
			.scatters = 1, .seed = (uint64_t)seed * 7919,
		};

		if (seed) {
			forget();
			begin("again");
		}
		top = prog_plain(&prog, 3, 5, 1);
		prog.insn[top].function = "main";
		inner = prog_plain(&prog, 3, 1, 1);
		prog_jump(&prog, PROG_COND, inner, 3000, 0);
		prog_plain(&prog, 3, 1, 1);
		inner = prog_plain(&prog, 3, 1, 1);
		prog_jump(&prog, PROG_COND, inner, 3000, 0);
		prog_plain(&prog, 3, 1, 1);
		latch = prog_jump(&prog, PROG_JUMP, top, 0, 0);
		simulate(&run);
		loops = find_loops();
		times += seen(latch, top) > 0;
		l = loop_at(loops, top);
		assert_int_equal(!!l, seen(latch, top) > 0);
		far += l && !(fabs(l->iterations - (double)prog.taken[latch]) <= 4 * l->iterations_error);
		vmp_loops_destroy(loops);
	}
	assert_true(times >= 10);
	print_message("# %d of %d are more than four errors off\n", far, times);
	assert_int_equal(far, 0);
}

/* Twice around a long loop, and then through another long one */
static int put_twice_around(void)
{
	int top = prog_plain(&prog, 3, 5, 1), head, inner;

	prog.insn[top].function = "main";
	head = prog_plain(&prog, 3, 1, 1);
	inner = prog_plain(&prog, 3, 1, 1);
	prog_jump(&prog, PROG_COND, inner, 2000, 0);
	prog_plain(&prog, 3, 1, 1);
	prog_jump(&prog, PROG_COND, head, 2, 0);
	inner = prog_plain(&prog, 3, 1, 1);
	prog_jump(&prog, PROG_COND, inner, 3000, 0);
	prog_jump(&prog, PROG_JUMP, top, 0, 0);
	return head;
}

/* The first time around goes through a long loop, the second one through as many branches as a window has, and slowly */
static int put_two_ways_around(void)
{
	int top = prog_plain(&prog, 3, 5, 1), head, choice, inner, leave, i;

	prog.insn[top].function = "main";
	head = prog_plain(&prog, 3, 1, 1);
	choice = prog_jump(&prog, PROG_COND, 0, 2, 0);
	for (i = 0; i < 16; i++) {
		prog_plain(&prog, 1, 40, 0);
		prog_jump(&prog, PROG_JUMP, prog.nr + 1, 0, 0);
	}
	leave = prog_jump(&prog, PROG_JUMP, 0, 0, 0);
	prog.insn[choice].target = inner = prog_plain(&prog, 23, 1, 1);
	prog_jump(&prog, PROG_COND, inner, 2000, 0);
	prog_jump(&prog, PROG_JUMP, head, 0, 0);
	prog.insn[leave].target = inner = prog_plain(&prog, 23, 1, 1);
	prog_jump(&prog, PROG_COND, inner, 2000, 0);
	prog_jump(&prog, PROG_JUMP, top, 0, 0);
	return head;
}

static void trips_hardly_seen(int (*put)(void), int wanted)
{
	int seed, head, times = 0, far = 0;
	const struct vmp_loop *l;
	struct vmp_loops *loops;

	for (seed = 0; seed < 80; seed++) {
		const struct prog_run run = {
			.period = 5003, .samples = 4000, .instructions = 7001, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1,
			.scatters = 1, .seed = (uint64_t)seed * 7919,
		};

		if (seed) {
			forget();
			begin("again");
		}
		head = put();
		simulate(&run);
		loops = find_loops();
		l = loop_at(loops, head);
		if (l && !isnan(l->trips)) {
			if (getenv("SHOW"))
				print_message("# %.2f +- %.2f trips, truly 2\n", l->trips, l->trips_error);
			times++;
			far += !(fabs(l->trips - 2) <= 4 * l->trips_error);
		}
		vmp_loops_destroy(loops);
	}
	assert_true(times >= wanted);
	print_message("# %d of %d are more than four errors off\n", far, times);
	assert_int_equal(far, 0);
}

/* Of few samples few entries and few ways back were seen, either of which can be far fewer than it would be in the mean */
static void test_trips_hardly_seen(void **state)
{
	(void)state;
	trips_hardly_seen(put_twice_around, 40);
}

/* What runs right behind them is rare: most windows that show them are of samples that do not tell how often */
static void test_trips_before_rare_code(void **state)
{
	(void)state;
	trips_hardly_seen(put_two_ways_around, 40);
}

#define SEEDS	80

/*
 * A loop of which a window shows one iteration at most, by some dozens of windows: eight groups of these agree by chance in some sessions, and it is no
 * better known for that. What the iterations of all sessions scatter by is their error.
 */
static void test_error_of_few_samples(void **state)
{
	double part[SEEDS], error[SEEDS], sum = 0, squares = 0, scatter;
	int seed, top, body, i, narrow = 0;

	(void)state;
	for (seed = 0; seed < SEEDS; seed++) {
		const struct prog_run run = {
			.period = 5003, .samples = 4000, .instructions = 20011, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1,
			.scatters = 1, .seed = (uint64_t)seed * 104729 + 1,
		};
		struct vmp_loops *loops;
		const struct vmp_loop *l;

		if (seed) {
			forget();
			begin("again");
		}
		top = prog_plain(&prog, 3, 5, 1);
		prog.insn[top].function = "main";
		body = prog_plain(&prog, 5, 2, 1);
		for (i = 0; i < 16; i++) {
			prog_jump(&prog, PROG_JUMP, prog.nr + 1, 0, 0);
			prog_plain(&prog, 1, 2, 1);
		}
		prog_jump(&prog, PROG_COND, body, 5, 0);
		/* what takes the time */
		prog_jump(&prog, PROG_COND, prog_plain(&prog, 9, 1, 1), 100, 0);
		prog_jump(&prog, PROG_JUMP, top, 0, 0);
		simulate(&run);
		loops = find_loops();
		l = loop_at(loops, body);
		assert_non_null(l);
		part[seed] = l->iterations / reached(body);
		error[seed] = l->iterations_error / reached(body);
		if (getenv("SHOW"))
			print_message("# %.3f +- %.3f of the iterations\n", part[seed], error[seed]);
		sum += part[seed];
		squares += part[seed] * part[seed];
		vmp_loops_destroy(loops);
	}
	sum /= SEEDS;
	scatter = sqrt(squares / SEEDS - sum * sum);
	for (seed = 0; seed < SEEDS; seed++)
		narrow += error[seed] < 0.6 * scatter;
	print_message("# %.3f of the iterations in the mean, scattering by %.3f; %d of %d errors are less than 0.6 of that\n", sum, scatter, narrow, SEEDS);
	assert_true(fabs(sum - 1) < 3.5 * scatter / sqrt(SEEDS));
	assert_int_equal(narrow, 0);
}

/* So long a loop that one window alone shows how it is entered: how often is not known */
static void test_loop_hardly_entered(void **state)
{
	const struct prog_run run = {
		.period = 2503, .samples = 4000, .instructions = 2003, .format = VMPROF_LBR_FROM_TO, .depth = 32, .counts = 1, .scatters = 1,
	};
	struct vmp_loops *loops;
	const struct vmp_loop *l;
	int top, body;

	(void)state;
	top = prog_plain(&prog, 2, 10, 1);
	prog.insn[top].function = "main";
	body = prog_plain(&prog, 4, 2, 1);
	prog_jump(&prog, PROG_COND, body, 110000, 0);
	prog_jump(&prog, PROG_JUMP, top, 0, 0);
	simulate(&run);
	loops = find_loops();
	l = loop_at(loops, body);
	assert_non_null(l);
	assert_true(l->entries > 0 && l->iterations > 0 && l->iterations_error < 0.1 * l->iterations);
	assert_true(isnan(l->trips));
	vmp_loops_destroy(loops);
}

/* ------------------------------------------------------------ interrupts */

#define KERNEL		(GEN_KERNEL + 0x40000 - PROG_VADDR)	/* has the program's code, too */
#define FUNCTIONS	40		/* more, by which a kernel is known */
#define NOWHERE		0x7f0000000000ULL	/* the branch before a block is not known */

/* A block that ran so often, and where it led: instructions of the program, or of the kernel */
struct step {
	uint64_t base;
	int start, end;
	uint64_t to;
	int next;
	double runs;
};

static void replace(int insn, const char *bytes)
{
	memcpy(prog.code + (prog.insn[insn].addr - PROG_VADDR), bytes, 2);
}

/* Loops at the very beginning, behind system calls of each kind and behind other code, and two ways out of the kernel */
static void put_resumed_program(void)
{
	static char names[FUNCTIONS][24], text[48 * FUNCTIONS];
	size_t n = (size_t)sprintf(text, "%llx T _stext\n", GEN_KERNEL);
	int i;

	prog_plain(&prog, 1, 1, 1);			/* 0 */
	prog.insn[0].function = "loops";
	prog_jump(&prog, PROG_COND, 0, 0, 0);		/* 1 */
	prog_plain(&prog, 1, 1, 1);			/* 2 */
	prog_jump(&prog, PROG_CALL, 0, 0, 0);		/* 3 */
	prog_jump(&prog, PROG_REP, 0, 0, 0);		/* 4: syscall */
	prog_plain(&prog, 1, 1, 1);			/* 5 */
	prog_jump(&prog, PROG_COND, 5, 0, 0);		/* 6 */
	prog_jump(&prog, PROG_REP, 0, 0, 0);		/* 7: sysenter */
	prog_plain(&prog, 1, 1, 1);			/* 8 */
	prog_jump(&prog, PROG_COND, 8, 0, 0);		/* 9 */
	prog_jump(&prog, PROG_REP, 0, 0, 0);		/* 10: rdtsc */
	prog_plain(&prog, 1, 1, 1);			/* 11 */
	prog_jump(&prog, PROG_COND, 11, 0, 0);		/* 12 */
	prog_jump(&prog, PROG_REP, 0, 0, 0);		/* 13: add al, 5 */
	prog_plain(&prog, 1, 1, 1);			/* 14 */
	prog_jump(&prog, PROG_COND, 14, 0, 0);		/* 15 */
	prog_plain(&prog, 1, 1, 1);			/* 16 */
	prog_jump(&prog, PROG_REP, 0, 0, 0);		/* 17: iretq */
	prog_plain(&prog, 1, 1, 1);			/* 18 */
	prog_jump(&prog, PROG_JUMP, 16, 0, 0);		/* 19: the running kernel has another one there */
	prog_jump(&prog, PROG_REP, 0, 0, 0);		/* 20: int 0x80 */
	prog_plain(&prog, 1, 1, 1);			/* 21 */
	prog_jump(&prog, PROG_COND, 21, 0, 0);		/* 22 */
	for (i = 0; i < FUNCTIONS; i++) {
		snprintf(names[i], sizeof(names[i]), "function_%d", i);
		prog.insn[prog_plain(&prog, 1, 1, 1)].function = names[i];
	}
	prog_assemble(&prog);
	replace(4, "\x0f\x05");
	replace(7, "\x0f\x34");
	replace(10, "\x0f\x31");
	replace(13, "\x04\x05");
	replace(17, "\x48\xcf");
	replace(20, "\xcd\x80");
	prog_install(&g, &prog, dir);
	for (i = 0; i < prog.nr; i++) {
		const struct prog_insn *in = &prog.insn[i];

		if (in->function)
			n += (size_t)sprintf(text + n, "%llx T %s\n", (unsigned long long)(KERNEL + in->addr), in->function);
	}
	sprintf(text + n, "%llx T _etext\n", GEN_KERNEL + 0x90000);
	gen_ksyms(&g, text);
	gen_agent_flush(&g, GEN_VM, 3000);
}

static int is_at(uint32_t p, uint64_t base, int insn)
{
	return set->points.points.v[p].addr == (base == PROG_BASE ? 0 : base) + prog.insn[insn].addr;
}

static int is_step(const struct vmp_unit *u, const struct step *s)
{
	return u->start != VMP_NONE && is_at(u->start, s->base, s->start) && is_at(u->end, s->base, s->end) &&
	       is_at(u->next, s->to, s->next);
}

/* How often each unit ran is made up */
static void run_steps(const struct step *steps, size_t nr)
{
	size_t i, found = 0;
	uint32_t u;
	int k;

	for (u = 0; u < set->units.nr; u++) {
		const struct vmp_unit *x = &set->units.v[u];

		estimates->unit[u] = 0;
		estimates->unit_chance[u] = (struct vmp_chance){ 0 };
		for (i = 0; i < nr; i++) {
			if (!is_step(x, &steps[i]))
				continue;
			assert_int_equal(x->flaw, VMP_FLAW_NONE);
			estimates->unit[u] = steps[i].runs;
			found++;
		}
		for (k = 0; k < VMP_GROUPS; k++)
			estimates->unit_without[k][u] = (float)estimates->unit[u];
	}
	assert_int_equal(found, nr);
}

static void load_steps(const struct step *steps, size_t nr)
{
	struct vmp_set_choice all = { .vcpu = -1, .pid = -1 };
	static const uint8_t id[20];
	char vmlinux[160];
	uint64_t tsc;
	size_t i;

	for (i = 0, tsc = 10000; i < nr; i++, tsc += 10) {
		const struct step *s = &steps[i];
		const uint64_t next = s->to + prog.insn[s->next].addr;
		const struct prog_branch b[] = {
			{ s->base + prog.insn[s->end].addr, next }, { NOWHERE, s->base + prog.insn[s->start].addr },
		};
		struct vmprof_sample sample = gen_guest_sample(GEN_VM, tsc, PROG_CR3, s->to == KERNEL ? 0 : 3, next);

		sample.flags |= VMPROF_SF_COUNTS;
		sample.cycles = sample.instructions = 1000;
		gen_record(&g, &sample, sizeof(sample));
		gen_lbr(&g, tsc, VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO, b, 2, 0);
	}
	snprintf(vmlinux, sizeof(vmlinux), "%s/vmlinux", dir);
	prog_write(&prog, vmlinux, id);
	load_small();
	all.vmlinux = vmlinux;
	load_again(&all);
	assert_int_equal(vmp_measure_create(&measure, set), 0);
	assert_int_equal(vmp_estimate_create(&estimates, measure, 1), 0);
	run_steps(steps, nr);
}

static void entered(const struct vmp_loops *loops, uint64_t base, int header, double entries, double iterations)
{
	uint32_t i;

	for (i = 0; i < loops->list.nr; i++) {
		const struct vmp_loop *l = &loops->list.v[i];

		if (!is_at(l->header, base, header))
			continue;
		assert_true(fabs(l->entries - entries) < 0.5);
		assert_true(fabs(l->iterations - iterations) < 0.5);
		return;
	}
	fail_msg("no loop at %d", header);
}

/* An interrupt's way back to where a loop begins is neither an entry nor an iteration; a system call's, right before it, is */
static void test_loops_resumed(void **state)
{
	const struct step steps[] = {
		{ PROG_BASE, 2, 3, PROG_BASE, 0, 100 }, { PROG_BASE, 0, 1, PROG_BASE, 0, 700 },
		{ KERNEL, 16, 17, PROG_BASE, 0, 5000 }, { KERNEL, 18, 19, PROG_BASE, 0, 3000 },
		{ PROG_BASE, 5, 6, PROG_BASE, 5, 900 },
		{ KERNEL, 16, 17, PROG_BASE, 5, 40 }, { KERNEL, 18, 19, PROG_BASE, 5, 20 },
		{ PROG_BASE, 8, 9, PROG_BASE, 8, 1100 },
		{ KERNEL, 16, 17, PROG_BASE, 8, 30 },
		{ PROG_BASE, 21, 22, PROG_BASE, 21, 700 },
		{ KERNEL, 16, 17, PROG_BASE, 21, 25 },
		{ PROG_BASE, 10, 12, PROG_BASE, 11, 60 }, { PROG_BASE, 11, 12, PROG_BASE, 11, 400 },
		{ KERNEL, 16, 17, PROG_BASE, 11, 7000 },
		{ PROG_BASE, 13, 15, PROG_BASE, 14, 50 }, { PROG_BASE, 14, 15, PROG_BASE, 14, 300 },
		{ KERNEL, 16, 17, PROG_BASE, 14, 8000 },
		{ KERNEL, 2, 3, KERNEL, 0, 80 }, { KERNEL, 0, 1, KERNEL, 0, 500 },
		{ KERNEL, 16, 17, KERNEL, 0, 6000 },
	};
	struct vmp_loops *loops;

	(void)state;
	put_resumed_program();
	load_steps(steps, sizeof(steps) / sizeof(steps[0]));
	assert_int_equal(vmp_loops_create(&loops, set, estimates), 0);
	assert_int_equal(loops->list.nr, 7);
	entered(loops, PROG_BASE, 0, 100, 800);
	entered(loops, PROG_BASE, 5, 60, 960);
	entered(loops, PROG_BASE, 8, 30, 1130);
	entered(loops, PROG_BASE, 21, 25, 725);
	entered(loops, PROG_BASE, 11, 60, 60 + 460);
	entered(loops, PROG_BASE, 14, 50, 50 + 350);
	entered(loops, KERNEL, 0, 80, 580);
	vmp_loops_destroy(loops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_loop_behind_long, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loop_rotated, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loop_nest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_trips_in_doubt, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loops_beside, setup, teardown),
		cmocka_unit_test_setup_teardown(test_code_behind, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loop_through_code_behind, setup, teardown),
		cmocka_unit_test_setup_teardown(test_error_of_few_samples, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loop_hardly_entered, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loop_by_cold_part, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loops_hardly_seen, setup, teardown),
		cmocka_unit_test_setup_teardown(test_trips_hardly_seen, setup, teardown),
		cmocka_unit_test_setup_teardown(test_trips_before_rare_code, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loops_resumed, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
