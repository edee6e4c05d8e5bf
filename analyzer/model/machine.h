/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * machine.h - one VM of a capture: its clock, boots, files, address spaces.
 *
 * Filled in two steps: vmp_machine_frames() takes the agent's frames as they
 * lie in the capture; vmp_machine_build(), once all blocks were read, puts
 * the events on the host's axis of time and makes the history of them.
 */
#ifndef VMP_MACHINE_H
#define VMP_MACHINE_H

#include <stddef.h>
#include <stdint.h>
#include <vmprof/agent_proto.h>

#include "model/clock.h"
#include "model/infer.h"
#include "model/jit.h"
#include "model/kernel.h"
#include "model/objcache.h"
#include "model/space.h"
#include "model/strings.h"
#include "model/tasks.h"

/* Number of the file behind an anonymous mapping */
#define VMP_FILE_ANON	0

/* A guest's file that is mapped somewhere, or that the agent told of; one that is written over in place is another one */
struct vmp_file {
	uint32_t epoch;
	uint32_t dev_major, dev_minor, ino_generation;
	uint64_t ino;
	uint32_t path;		/* string number */
	/* from FILE messages; handle 0: none came */
	uint32_t handle;
	uint32_t hello;		/* the agent's conversation that the handle is of */
	uint32_t flags;		/* VMPROF_FILE_* */
	uint64_t bytes;
	uint8_t build_id[VMPROF_BUILD_ID_MAX];
	uint32_t build_id_len;
	char key[VMP_OBJKEY_MAX];	/* in the object cache, "" none */
	uint32_t elf;		/* the model's: opened object + 1, 0 not tried */
};

#define VMP_FILES_MAX	(1U << 20)	/* of a guest in one capture: each takes several times what its message did */

#define VMP_BOOTS_MAX	256	/* of a guest in one capture; later ones are taken for the last */

/* One boot of the guest; two, if in it the guest went back in time (a snapshot was loaded) */
struct vmp_boot {
	uint8_t boot_id[16];
	uint32_t flags;		/* VMPROF_HELLO_* */
	uint32_t release;	/* string number */
	uint32_t events;	/* of the machine's, when it said HELLO */
	uint64_t hello_guest_tsc;
	uint64_t told_guest_tsc;	/* the last moment that it told of */
	uint64_t hello_seen;	/* host TSC by which HELLO had come, 0 unknown */
	uint64_t hello_tsc;	/* host, once built */
	uint64_t begin;		/* host TSC where its clock begins; 0 unknown */
	uint64_t tasks_tsc;	/* host TSC when it first told where it keeps its tasks; 0 never */
	struct vmp_kernel kernel;
};

struct vmp_guest_event {
	uint64_t tsc;		/* guest; host once built */
	uint64_t seen;		/* host TSC by which it had come */
	uint64_t cr3;
	uint16_t type, epoch;	/* below VMP_BOOTS_MAX */
	uint32_t pid, tgid, ppid, flags, comm;
	uint32_t nspid, cgroup;	/* 0 not told; string number */
	uint32_t map, nr_maps;	/* in maps */
	uint32_t jit_text;	/* of JITMAP: whose program runs now */
	uint32_t order;
};

/* The copy of a kernel's code, as it was in memory, in the object cache */
struct vmp_kernel_copy {
	char key[VMP_OBJKEY_MAX];	/* "" there is none ... */
	uint32_t why;			/* ... for this reason, a string number; 0 nobody asked for one */
	char boot_id[33];		/* a guest's, in hexadecimal digits */
	uint64_t bytes, missing;
};

struct vmp_machine {
	uint32_t vm;		/* QEMU's tgid */
	uint32_t name, uuid;	/* string numbers */
	uint32_t clock_source;	/* string number, as the collector named it */
	uint32_t objects;	/* string number: how its binaries came, as --objects names it */
	int said_agent;		/* VM block: 1 agent there, 0 not, -1 not told */
	uint32_t tasks_state;	/* string number: why the driver did not look for tasks, or "on" */
	uint32_t no_module;	/* VMPROF_HELLO_* of the last HELLO of an agent without its module ... */
	uint32_t module_error;	/* ... and its errno */
	uint32_t hellos;	/* conversations begun by the agent ... */
	uint64_t hello_tsc;	/* ... and the last HELLO's guest TSC */
	uint32_t more_boots;	/* over VMP_BOOTS_MAX */
	uint32_t went_back;	/* times that the guest went back in time within a boot */
	uint64_t frames, bad_frames;
	uint64_t lost[VMPROF_GLOST_NR];		/* of ended conversations */
	uint64_t lost_now[VMPROF_GLOST_NR];	/* of the current one */
	struct vmp_clock clock;
	struct vmp_space space;
	struct vmp_infer infer;
	uint32_t lost_in_boot;	/* number + 1 of the last boot without module in which events were lost */
	uint32_t snapped_in_boot;	/* number + 1 of the boot of which a snapshot is whole, 0 none is */
	struct vmp_seen seen;
	VMP_VEC(struct vmp_boot) boots;
	VMP_VEC(struct vmp_file) files;		/* 0: VMP_FILE_ANON */
	struct vmp_hash by_inode;		/* as it is now */
	uint32_t files_max;			/* VMP_FILES_MAX, but in tests */
	uint64_t files_over;			/* mappings and FILEs of more, left out */
	uint64_t looked_back;			/* events, for the mappings of files that are other ones now */
	struct vmp_kernel_copy copy;		/* of the last boot's kernel */
	struct vmp_jit jit;
	VMP_VEC(struct vmp_guest_event) events;	/* until built */
	VMP_VEC(struct vmp_map) maps;		/* of events */
	uint64_t nr_events;
};

int vmp_machine_init(struct vmp_machine *m, uint32_t vm);
void vmp_machine_deinit(struct vmp_machine *m);

/**
 * vmp_machine_frames() - Take an AGENT block.
 * @data: @len bytes of frames; every one is checked again.
 * @seen: Host TSC by which they had arrived, 0 unknown.
 *
 * Return: 0 or -ENOMEM.
 */
int vmp_machine_frames(struct vmp_machine *m, struct vmp_strings *strings,
		       const void *data, size_t len, uint64_t seen);

/**
 * vmp_machine_build() - Make the history, once the clock's points are in.
 * @begin: Host TSC of the session's start.
 * @end:   Of its end: nothing happened later.
 *
 * Return: 0 or -ENOMEM.
 */
int vmp_machine_build(struct vmp_machine *m, struct vmp_strings *strings,
		      uint64_t begin, uint64_t end);

/** vmp_machine_without_module() - In some boot the agent had no module to tell of CR3s. */
int vmp_machine_without_module(const struct vmp_machine *m);

/** vmp_machine_lost() - Events that the agent lost, by cause VMPROF_GLOST_*. */
uint64_t vmp_machine_lost(const struct vmp_machine *m, unsigned int cause);

#endif
