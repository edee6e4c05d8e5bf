// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_share.c - samples that are shared out among the blocks of which they may be: block by block in one go, and
 * sample by sample as it is defined.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>

#include "blocks/share.h"

#define STARTS	40U
#define LONGEST	300U	/* blocks of one start */
#define ROOM	(STARTS * LONGEST)

static struct vmp_set set;
static struct vmp_measure measure = { .set = &set };
static struct vmp_chain chain = { .m = &measure };
static struct vmp_groups landings[4 * STARTS * LONGEST];
static uint64_t seed;

static uint32_t some(uint32_t below)
{
	seed = seed * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(seed >> 33) % below;
}

/* Blocks that are seen, now and then not; of a start one or hundreds. In each block ends a point, from its start's own on. */
static void make_blocks(void)
{
	uint32_t s, b, n, point = 0;

	for (s = 0; s < STARTS; s++) {
		const uint32_t start = point;

		n = s % 4 ? 1 + some(5) : 1 + some(LONGEST - 1);
		for (b = 0; b < n; b++) {
			const struct vmp_block_code block = { .start = start, .end = point, .n = some(8) ? 1 + some(1000) : 0 };

			assert_int_equal(vmp_vec_push(&set.points.points, ((struct vmp_point){ .addr = 16 * (uint64_t)point })), 0);
			assert_int_equal(vmp_vec_push(&set.blocks, block), 0);
			if (!some(20))		/* another way to end there */
				assert_int_equal(vmp_vec_push(&set.blocks, block), 0);
			point++;
		}
	}
}

static void make_landings(void)
{
	uint32_t i, g;

	for (i = 0; i < 3 * set.blocks.nr; i++) {
		const struct vmp_block_code *b = &set.blocks.v[some(set.blocks.nr)];
		const struct vmp_landing l = {
			.start = b->start, .at = b->end, .ended = !some(3), .flaw = some(50) ? VMP_FLAW_NONE : VMP_FLAW_MIDDLE,
		};

		assert_int_equal(vmp_vec_push(&set.landings, l), 0);
		for (g = 0; g < VMP_GROUPS; g++)
			landings[i].n[g] = some(100);
	}
}

static int may_be_of(const struct vmp_landing *l, const struct vmp_block_code *b)
{
	return b->start == l->start && (l->ended ? b->end == l->at : b->end >= l->at);
}

/* One landing's samples in one lane, as they are to be shared out */
static void share_one(const struct vmp_solutions *s, const struct vmp_landing *l, double n, unsigned int lane, double *time)
{
	double all = 0, seen = 0;
	uint32_t b;

	for (b = 0; b < set.blocks.nr; b++) {
		if (!may_be_of(l, &set.blocks.v[b]))
			continue;
		all += s->block[b * s->lanes + lane];
		seen += set.blocks.v[b].n;
	}
	for (b = 0; seen > 0 && b < set.blocks.nr; b++)
		if (may_be_of(l, &set.blocks.v[b]))
			time[b * s->lanes + lane] += n * (all > 0 ? s->block[b * s->lanes + lane] / all : set.blocks.v[b].n / seen);
}

/* @part: of the starts in which nothing tells executions, of ten */
static void make_executions(struct vmp_solutions *s, uint32_t part)
{
	uint32_t b, last = VMP_NONE;
	int none = 0;
	unsigned int l;

	for (b = 0; b < set.blocks.nr; b++) {
		none = set.blocks.v[b].start == last ? none || !some(60) : some(10) < part;
		last = set.blocks.v[b].start;
		for (l = 0; l < s->lanes; l++)
			s->block[b * s->lanes + l] = none || !some(4) ? 0 : some(1000000) * 1e-3;
	}
}

static void check(unsigned int first, unsigned int lanes, uint32_t part)
{
	struct vmp_solutions s;
	double *want;
	size_t i, nr = (size_t)set.blocks.nr * lanes;
	unsigned int l;

	assert_int_equal(vmp_solutions_init(&s, &chain, first, lanes), 0);
	make_executions(&s, part);
	want = calloc(nr, sizeof(*want));
	assert_non_null(want);
	for (i = 0; i < set.landings.nr; i++)
		for (l = 0; !set.landings.v[i].flaw && l < lanes; l++)
			share_one(&s, &set.landings.v[i], vmp_groups_without(&landings[i], first == VMP_CHAIN_ALL ? VMP_GROUPS : (int)(first + l)),
				  l, want);
	vmp_share(&chain, &s, landings, s.time);
	for (i = 0; i < nr; i++)
		assert_true(fabs(s.time[i] - want[i]) <= 1e-9 * want[i]);
	/* again: nothing is left of the first time */
	vmp_share(&chain, &s, landings, s.time);
	for (i = 0; i < nr; i++)
		assert_true(fabs(s.time[i] - want[i]) <= 1e-9 * want[i]);
	vmp_solutions_deinit(&s);
	free(want);
}

static void test_as_defined(void **state)
{
	(void)state;
	check(VMP_CHAIN_ALL, 1, 2);
	check(VMP_CHAIN_ALL, 1, 10);
	check(0, VMP_LANES, 2);
	check(VMP_LANES, VMP_LANES, 0);
}

/* By halving, as step by step */
static void test_block_of_a_landing(void **state)
{
	uint32_t i, b, first;

	(void)state;
	for (i = 0; i < set.landings.nr; i++) {
		const struct vmp_landing *l = &set.landings.v[i];

		for (first = 0; set.blocks.v[first].start != l->start; first++)
			;
		for (b = first; b < set.blocks.nr && set.blocks.v[b].start == l->start && set.blocks.v[b].end < l->at; b++)
			;
		assert_int_equal(vmp_set_landing_block(&set, l, first), b);
		if (l->flaw || b == set.blocks.nr || set.blocks.v[b].start != l->start)
			b = VMP_NONE;
		assert_int_equal(chain.landed[i], b);
	}
	assert_int_equal(vmp_set_landing_block(&set, &set.landings.v[0], VMP_NONE), set.blocks.nr);
}

static int setup(void **state)
{
	(void)state;
	seed = 1;
	make_blocks();
	make_landings();
	return vmp_share_init(&chain);
}

static int teardown(void **state)
{
	(void)state;
	vmp_vec_free(&set.points.points);
	vmp_vec_free(&set.blocks);
	vmp_vec_free(&set.landings);
	free(chain.landed);
	free(chain.seen);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_defined),
		cmocka_unit_test(test_block_of_a_landing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
