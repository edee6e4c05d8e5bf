/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * profiled.h - what tests of reports have in common: one made-up capture, its
 * model, a profile of it, and the text that was rendered last.
 */
#ifndef VMP_TEST_PROFILED_H
#define VMP_TEST_PROFILED_H

#include "gen.h"

#include "report/profile.h"
#include "report/render.h"

static char *dir, path[128];
static struct gen g;
static struct vmp_model *model;
static struct vmp_profile *profile;
static char *output;

static inline void profiled_setup(void)
{
	dir = gen_dir();
	snprintf(path, sizeof(path), "%s/a.vmprof", dir);
	setenv("VMPROF_OBJCACHE", dir, 1);
}

/* As cmocka calls it */
static inline int profiled_set_up(void **state)
{
	(void)state;
	profiled_setup();
	return 0;
}

/* A capture of web01 begins, whose agent says HELLO at @tsc, with @flags */
static inline void profiled_guest(uint64_t tsc, uint32_t flags)
{
	profiled_setup();
	gen_begin(&g, path);
	gen_vm(&g, GEN_VM, "web01");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, tsc, 1, flags);
}

static inline void profiled_load(void)
{
	gen_end(&g);
	assert_int_equal(vmp_model_open(&model, path), 0);
}

static inline void profiled_make(const struct vmp_options *o)
{
	vmp_profile_destroy(profile);
	profile = NULL;
	assert_int_equal(vmp_profile_create(&profile, model, o), 0);
}

static inline int profiled_tear_down(void **state)
{
	(void)state;
	vmp_profile_destroy(profile);
	vmp_model_close(model);
	free(output);
	profile = NULL;
	model = NULL;
	output = NULL;
	gen_rmdir(dir);
	return 0;
}

/* The profile as @render writes it, in output as well */
static inline const char *profiled_text(void (*render)(FILE *, const struct vmp_profile *, const struct vmp_options *,
						       const struct vmp_render *))
{
	struct vmp_options o = { .vcpu = -1, .pid = -1 };
	struct vmp_render r = { .path = path };
	size_t len;
	FILE *f;

	free(output);
	f = open_memstream(&output, &len);
	assert_non_null(f);
	render(f, profile, &o, &r);
	fclose(f);
	return output;
}

#endif
