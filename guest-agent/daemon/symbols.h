/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * symbols.h - the kernel's symbols for the host: when the session begins, and again when modules came or went,
 * or code that the kernel made.
 *
 * A text that was read while modules changed is of no time: so it is sent if /proc/modules was the same
 * before and after it was read, and the host is told between which looks it became true.
 * The kernel has to write that text each time; where our own module says that nothing came or went, nobody looks.
 *
 * What the kernel made (BPF programs, trampolines) may come and go all the time: the symbols are read again once in
 * a while, the longer the more often that was, and a last time when the session ends.
 */
#ifndef VMP_SYMBOLS_H
#define VMP_SYMBOLS_H

#include <stdint.h>

#include "ksyms.h"
#include "out.h"

struct vmp_symbols {
	struct vmp_ksyms ksyms;
	int active;			/* there is something to be read, or sent */
	int announces;			/* the host takes MODULES */
	int changed;			/* it has to be told of a change first */
	uint64_t since_tsc, tsc;	/* the change was between these */
	int module;			/* as vmp_ksyms_open() */
	uint64_t sent;			/* bytes; that the host has, too */
	uint64_t kept_bytes;		/* that it says to have; 0 none */
	uint32_t kept_crc;
	uint64_t modules;		/* hash, when it was looked last */
	uint64_t changes;		/* what our module said then, as vmp_module_changes() */
	uint64_t settles_ms;		/* until then modules may come or go though it says nothing new */
	uint64_t looked_tsc, looked_ms;	/* 0: not in a session */
	const uint64_t *heard;		/* as vmp_symbols_begin() */
	uint64_t made;			/* how often code came or went, at the last look */
	uint64_t made_since_tsc;	/* code that was made came or went after that, and was not read since; 0 none did */
	uint64_t read_ms;		/* when it was read last */
	uint64_t made_ms;		/* from then on until it is read for that */
};

void vmp_symbols_init(struct vmp_symbols *s);

/** vmp_symbols_clear() - Send no more, look no more. */
void vmp_symbols_clear(struct vmp_symbols *s);

/**
 * vmp_symbols_begin() - Send the kernel's symbols, from now on also when modules or made code change.
 * @module:     As vmp_ksyms_open().
 * @heard:      How often the kernel made code or gave it up, where there is no module to tell; borrowed.
 * @announces:  The host is to be told when they did.
 * @kept_bytes: Of the first text's beginning, with the checksum @kept_crc, are left out; 0 none.
 */
void vmp_symbols_begin(struct vmp_symbols *s, int module, const uint64_t *heard, int announces, uint64_t kept_bytes,
		       uint32_t kept_crc);

/** vmp_symbols_look() - Look whether modules or code that was made changed, if the last look was long ago or @now. */
void vmp_symbols_look(struct vmp_symbols *s, int now);

/** vmp_symbols_end() - Look a last time; what is to be sent still goes out. */
void vmp_symbols_end(struct vmp_symbols *s);

/** vmp_symbols_announce() - Tell of a change.  Return: 1 the host knows, or need not; 0 no room. */
int vmp_symbols_announce(struct vmp_symbols *s, struct vmp_out *out);

/**
 * vmp_symbols_step() - Read some of them, or put one frame.
 * Return: 1 there is more that can be done now, 0 nothing (or no credit, no room).
 */
int vmp_symbols_step(struct vmp_symbols *s, struct vmp_out *out);

#endif
