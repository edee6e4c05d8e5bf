/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * modelled.h - a capture of web01 that a test makes up, its model, and what a
 * profile of it says of processes and functions.
 */
#ifndef VMP_TEST_MODELLED_H
#define VMP_TEST_MODELLED_H

#include "gen.h"

#include "model/model.h"
#include "report/profile.h"

#define CR3_A	0x5000000ULL
#define CR3_B	0x6000000ULL
#define CR3_C	0x7000000ULL
#define CODE	0x401000ULL
#define PROG	0x400000ULL, 0x500000ULL, 0

static char *dir, path[128];
static struct gen g;
static struct vmp_model *model;
static struct vmp_profile *profile;

static inline int setup(void **state)
{
	(void)state;
	dir = gen_dir();
	snprintf(path, sizeof(path), "%s/a.vmprof", dir);
	setenv("VMPROF_OBJCACHE", dir, 1);
	gen_begin(&g, path);
	gen_vm(&g, GEN_VM, "web01");
	gen_clock(&g, GEN_VM);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	vmp_profile_destroy(profile);
	vmp_model_close(model);
	profile = NULL;
	model = NULL;
	gen_rmdir(dir);
	return 0;
}

/* What was put into @g so far is all of the capture. */
static inline void finish(void)
{
	if (g.agent_len)
		gen_agent_flush(&g, GEN_VM, 0);
	gen_records_flush(&g, 0, 1000, 900000);
	gen_end(&g);
	assert_int_equal(vmp_model_open(&model, path), 0);
}

static inline void run(uint32_t by)
{
	struct vmp_options o = { .by = by, .vcpu = -1, .pid = -1 };

	vmp_profile_destroy(profile);
	assert_int_equal(vmp_profile_create(&profile, model, &o), 0);
}

static const struct vmp_domain *domain(const char *name)
{
	uint32_t i;

	for (i = 0; i < profile->domains.nr; i++)
		if (!strcmp(vmp_model_name(model, model->vms.v[profile->domains.v[i].vm].name), name))
			return &profile->domains.v[i];
	fail_msg("no domain %s", name);
	return NULL;
}

/* Samples of a process, by name and pid */
static inline uint64_t of_process(const char *dom, const char *comm, uint32_t pid)
{
	const struct vmp_domain *d = domain(dom);
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < d->rows.nr; i++)
		if (!strcmp(vmp_model_name(model, d->rows.v[i].comm), comm) && d->rows.v[i].pid == pid)
			n += d->rows.v[i].samples;
	return n;
}

/* Samples of a function in a module; NULL any */
static inline uint64_t of_function(const char *dom, const char *function, const char *module)
{
	const struct vmp_domain *d = domain(dom);
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < d->rows.nr; i++)
		if ((!function || !strcmp(vmp_model_name(model, d->rows.v[i].function), function)) &&
		    (!module || !strcmp(vmp_model_name(model, d->rows.v[i].module), module)))
			n += d->rows.v[i].samples;
	return n;
}

/* A program from fork to exec: pid's own address space is @cr3 */
static inline void start_program(uint64_t tsc, uint64_t cr3, uint32_t pid, const char *comm)
{
	gen_proc(&g, VMPROF_MSG_FORK, tsc, cr3, pid, 1, 0, "sh");
	gen_proc(&g, VMPROF_MSG_EXEC, tsc + 1, cr3, pid, 1, 0, "sh");
	gen_proc(&g, VMPROF_MSG_EXEC, tsc + 2, cr3, pid, 1, VMPROF_PROC_EXEC_DONE, comm);
}

#endif
