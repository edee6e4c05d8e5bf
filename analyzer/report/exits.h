/* SPDX-License-Identifier: GPL-2.0-only */
/* exits.h - names of the reasons for which a CPU left the guest, SVM and VMX. */
#ifndef VMP_EXITS_H
#define VMP_EXITS_H

#include <stddef.h>
#include <stdint.h>
#include <vmprof/uapi.h>

#define VMP_EXIT_NAME_MAX	32

/** vmp_exit_code() - The part of the field that names the reason. */
uint64_t vmp_exit_code(unsigned int vendor, uint64_t exit_reason);

/**
 * vmp_exit_name() - "NPF", "HLT"; ENTRY for the host's code around VM entry; by number where there is no name.
 * @buf: VMP_EXIT_NAME_MAX bytes, used only for numbers.
 */
const char *vmp_exit_name(char *buf, unsigned int vendor, uint64_t exit_reason);

/**
 * vmp_exit_is() - Does a reason go by what a user wrote (name or number)?
 * Case does not matter; "0x61" and "97" are numbers.
 */
int vmp_exit_is(unsigned int vendor, uint64_t exit_reason, const char *wanted);

/** vmp_exit_known() - 1 when @wanted names a reason of either vendor or is a number. */
int vmp_exit_known(const char *wanted);

/** vmp_exit_nmi() - Was it an NMI?  @intr_info as in the sample. */
int vmp_exit_nmi(unsigned int vendor, uint64_t exit_reason, uint64_t intr_info);

#endif
