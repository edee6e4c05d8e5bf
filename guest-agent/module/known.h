/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * known.h - files of which the reader has been told, so that it need not look at each again.
 *
 * A table of fixed size: what it has forgotten is told as new, which costs the reader a look.
 */
#ifndef VMPG_KNOWN_H
#define VMPG_KNOWN_H

#include <linux/fs.h>
#include <linux/types.h>

/**
 * vmpg_known_file() - Was this file told before, and not written since?  From now on it was.
 *
 * Whoever asks tells it next, or calls vmpg_known_forget() where that fails.
 * Context: any but NMI; never sleeps.
 */
bool vmpg_known_file(const struct inode *inode);

/** vmpg_known_vdso() - The same of a process's vdso: one of 32 bits, or of 64. */
bool vmpg_known_vdso(bool is_32);

/** vmpg_known_forget() - No file was told.  Costs the same however many there are.  Context: as above. */
void vmpg_known_forget(void);

#endif
