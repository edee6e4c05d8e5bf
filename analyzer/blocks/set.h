/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * set.h - all branches of a capture: each distinct step once, checked against
 * the code, with counts.
 *
 * The first pass finds what there is; then every distinct step is resolved and
 * checked once.  The second pass, which only the estimates need, counts what
 * belongs together (measure.h): from what was kept of the samples, or, if that
 * was too much, by reading the capture again.  Memory grows with distinct steps,
 * not with samples.
 */
#ifndef VMP_SET_H
#define VMP_SET_H

#include "blocks/kept.h"
#include "blocks/points.h"
#include "blocks/raws.h"
#include "blocks/stepper.h"
#include "blocks/window.h"
#include "model/scan.h"

/* What a user asked for; zeroed but for vcpu and pid: all */
struct vmp_set_choice {
	const char *domain, *comm;	/* shell patterns, NULL all */
	int vcpu;			/* -1 all */
	int64_t pid;			/* -1 all */
	uint64_t from_tsc, to_tsc;	/* samples taken then; to 0: to the end */
	const char *vmlinux, *host_vmlinux;	/* the guests' kernel, the host's; or NULL */
	int counts_only;		/* once samples are counted none is looked up: raws are freed then */
	uint64_t keep_bytes;		/* that samples may take, so that they need not be read again */
};

#define VMP_KEEP_BYTES	(192ULL << 20)	/* 35 million branches, 16 to the sample */

/* What begins with its points is sorted by them */

/* A step as the code has it */
struct vmp_unit {
	uint32_t start, end, next;	/* points; start VMP_NONE: only the branch is known */
	uint32_t block;			/* VMP_NONE: none, there is a flaw */
	enum vmp_flaw flaw;
	enum vmp_flow flow;		/* of the branch; VMP_FLOW_NR unknown */
	uint32_t impossible;		/* the branch itself cannot be, whatever ran before it */
	uint32_t n, mispredicted;	/* in windows */
};

/* Of the steps that a mispredicted branch led to */
struct vmp_missed {
	uint32_t n;
	uint32_t cycled;		/* of n, with cycles */
	uint64_t cycles;
};

/* Straight code from start to end */
struct vmp_block_code {
	uint32_t start, end;
	uint32_t insns;			/* 0: unknown, its code is not here */
	enum vmp_flow flow;
	uint32_t n, mispredicted;
	uint64_t cycles;		/* as the LBR counted them, in cycled of n */
	uint32_t cycled;
	struct vmp_missed missed;	/* among all these */
};

/* Samples in one block, at one address */
struct vmp_landing {
	uint32_t start, at;
	uint32_t ip;		/* where they are: at, unless the block had ended: then where the branch at at led */
	uint32_t ended;		/* 1: by that branch, which was retired last */
	enum vmp_flaw flaw;		/* code does not run straight from start to there */
	uint32_t n;
};

/* What a raw became */
struct vmp_seen_as {
	uint32_t number : 31;	/* of the unit or landing */
	uint32_t missed : 1;	/* a mispredicted branch led there */
	uint32_t block;		/* of a unit; VMP_NONE none */
};

/* What a thread of the first pass kept */
struct vmp_set_kept {
	struct vmp_kept kept;
	VMP_VEC(uint32_t) raw;	/* number in the set's raws, by the thread's own; empty: they are the same */
};

struct vmp_set_totals {
	uint64_t samples;		/* that the filters let through, of both events */
	uint64_t timed;			/* of samples, those of the session's event */
	uint64_t with_branches;
	uint64_t entries;		/* of those */
	uint64_t switched;		/* entries left out: another address space's */
	uint64_t blockless;		/* samples whose branches do not tell blocks: not all were recorded */
	uint64_t user_only;		/* samples without kernel branches: switches are not seen */
	uint64_t steps;			/* with a start: pairs of neighbouring branches */
	uint64_t flaw[VMP_FLAW_NR];	/* steps, by why they are not used; NONE: they are */
	uint64_t unbound;		/* of those that are used, with an end or a target of which nothing tells whether an instruction begins there */
	uint64_t impossible;		/* branches that cannot be, with a start or without */
	uint64_t landed, astray;	/* samples in a block, and those of which that is not known */
	uint64_t alone, placed;		/* samples that no branch leads to, and of these those with a block by their address */
	uint32_t branches;		/* VMPROF_LBR_* of all records together */
};

struct vmp_set {
	struct vmp_model *m;		/* borrowed */
	struct vmp_set_choice choice;
	struct vmp_points points;
	struct vmp_stepper stepper;	/* for who does not share it with threads */
	struct vmp_raws raws;
	struct vmp_seen_as *seen_as;	/* by raw */
	VMP_VEC(struct vmp_set_mapping) mappings;
	struct vmp_hash by_mapping;
	VMP_VEC(struct vmp_unit) units;
	VMP_VEC(struct vmp_block_code) blocks;
	VMP_VEC(struct vmp_landing) landings;
	VMP_VEC(struct vmp_set_kept) kept;	/* none: the capture must be read again */
	struct vmp_lbr_losses losses;
	struct vmp_set_totals totals;
};

/** vmp_set_create() - The first pass.  Return: 0, -ENOMEM, -errno of reading or of the vmlinux. */
int vmp_set_create(struct vmp_set **set, struct vmp_model *m, const struct vmp_set_choice *choice);

/** vmp_set_first_block() - Number of the first block that begins at a point; the others follow it.  VMP_NONE none. */
uint32_t vmp_set_first_block(const struct vmp_set *set, uint32_t start);

/** vmp_set_behind() - What lies behind the instruction at an address of an object; 0: it is not here. */
uint64_t vmp_set_behind(const struct vmp_set *set, uint32_t object, uint64_t addr);

/**
 * vmp_set_blocks_before() - The first block that does not begin at a point, or goes on to an address.
 * @first: The first of its start, or VMP_NONE.
 * Return: its number; that of all blocks where there is none.
 */
uint32_t vmp_set_blocks_before(const struct vmp_set *set, uint32_t first, uint32_t start, uint64_t addr);

/* Of a block with so many others of its start before it, the number is not found step by step */
#define VMP_SET_NEAR	8U

/**
 * vmp_set_landing_block() - The first block of which samples of a landing may be.  All from there on may that are of its start; where the
 * landing's block had ended, those that end there.
 * @first: The first of its start, or VMP_NONE.
 */
static inline uint32_t vmp_set_landing_block(const struct vmp_set *set, const struct vmp_landing *l, uint32_t first)
{
	const struct vmp_point *points = set->points.points.v;
	const uint64_t addr = points[l->at].addr;
	uint32_t b;

	for (b = first; b < set->blocks.nr && b - first < VMP_SET_NEAR; b++)
		if (set->blocks.v[b].start != l->start || points[set->blocks.v[b].end].addr >= addr)
			return b;
	return vmp_set_blocks_before(set, b, l->start, addr);
}

/** vmp_set_open() - The same without any sample, for who looks at single ones. */
int vmp_set_open(struct vmp_set **set, struct vmp_model *m, const struct vmp_set_choice *choice);

/** vmp_set_forget_kept() - What was kept of samples has been used. */
void vmp_set_forget_kept(struct vmp_set *set);
void vmp_set_destroy(struct vmp_set *set);

/** vmp_set_wanted() - Does the filter let the samples of an origin through, as far as that tells? */
int vmp_set_wanted(const struct vmp_set *set, const struct vmp_origin *from);

/*
 * A file mapped somewhere.  All addresses in it are taken as those of the first
 * context that was met with it, so that the same code of many processes is one.
 */
struct vmp_set_mapping {
	uint32_t vm, file, context;
	uint64_t pgoff, start;
};

/* A context's addresses from start until before end are those of another context plus add */
struct vmp_set_known {
	uint32_t context, as;
	uint64_t start, end, add;
};

#define VMP_SET_KNOWN	4096

/* A sample on its way into the set; for both passes */
struct vmp_set_sample {
	const struct vmprof_sample *s;
	uint32_t context, kernel;	/* numbers of contexts */
	uint64_t ip;
	int alone;		/* no branch tells where its block began: it was the first behind a VM entry */
	struct vmp_window w;
};

/* What a thread needs to look at samples */
struct vmp_set_eye {
	struct vmp_set *set;
	struct vmp_residence *cache;
	struct vmp_origin last_from;	/* host code: the sample before */
	uint32_t last;
	VMP_VEC(struct vmp_context) contexts;	/* a copy of those that are known here */
	struct vmp_set_known *known;		/* VMP_SET_KNOWN of them */
	uint32_t last_known;
};

/**
 * vmp_set_see() - A sample with its window, if it is wanted.
 * Return: 1; 0 it is not, or has no branches (@out->w.nr is 0 then); -ENOMEM.
 */
int vmp_set_see(struct vmp_set_eye *eye, struct vmp_scan *scan, const struct vmp_lbr_sample *ls,
		struct vmp_set_sample *out);

int vmp_set_eye_init(struct vmp_set_eye *eye, struct vmp_set *set);
void vmp_set_eye_deinit(struct vmp_set_eye *eye);

/* The keys of a sample in the set: of its steps, then of where it was taken */
struct vmp_set_keys {
	struct vmp_raw raw[VMPROF_LBR_MAX + 1];
	uint64_t hash[VMPROF_LBR_MAX + 1];
	uint32_t number[VMPROF_LBR_MAX + 1];	/* once they were looked up, in raws */
	unsigned int nr;	/* of the steps */
	int landed;		/* raw[nr] is there; its a is 0 if only its place is known */
};

/**
 * vmp_set_keys() - Of all that a sample has.
 * @raws: Where they will be looked for: their slots are fetched meanwhile.
 * Return: 0 or -ENOMEM.
 */
int vmp_set_keys(struct vmp_set_eye *eye, const struct vmp_set_sample *s, const struct vmp_raws *raws,
		 struct vmp_set_keys *keys);

/** vmp_set_fetch() - What the slots point to is fetched meanwhile. */
void vmp_set_fetch(const struct vmp_raws *raws, const struct vmp_set_keys *keys);

/** vmp_set_look_up() - Numbers of keys in the set's raws; VMP_NONE: not there. */
void vmp_set_look_up(const struct vmp_set *set, struct vmp_set_keys *keys);

struct vmp_drawing;

/** vmp_set_resolve() - Raws, all noted (draw.h), become units, blocks and landings.  Private to set.c.  Return: 0 or -ENOMEM. */
int vmp_set_resolve(struct vmp_drawing *w);

#endif
