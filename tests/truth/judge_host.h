/* SPDX-License-Identifier: GPL-2.0-only */
/* judge_host.h - the questions about the host's side, and about time. */
#ifndef TRUTH_JUDGE_HOST_H
#define TRUTH_JUDGE_HOST_H

#include "join.h"

/** judge_host_tests() - How many statistical tests judge_host() makes. */
uint32_t judge_host_tests(const struct join *j);

/**
 * judge_host() - KVM's time by exit reason and by function, the host's kernel by function, user code by process, QEMU's by function.
 * @shared: vCPUs share pCPUs: a reason is that of the pCPU's last #VMEXIT, which need not be the vCPU's.
 * @homeless: Some pCPU is no vCPU's home: user code is not judged.
 * @qemu: So many samples of QEMU's user code are there.
 * @level: Of a single test.
 */
void judge_host(const struct join *j, int shared, int homeless, uint64_t qemu, double level);

/** judge_steal() - All that a process did in user code was steal. */
void judge_steal(const struct join *j, uint32_t pid, double level);

/**
 * judge_not_steal() - What a process did in user code on the pCPU of a vCPU that slept was no steal.
 * @waited: The part of its time in which the scheduler says that the vCPU wanted to run.
 */
void judge_not_steal(const struct join *j, uint32_t pid, double waited, double level);

/**
 * judge_neighbours() - VMs that share pCPUs: what one runs while another one's vCPU waits is steal to that one.
 * @min: So many samples have to be that.
 */
void judge_neighbours(const struct join *j, uint64_t min);

/**
 * judge_axis() - Guest events and host samples agree on time.
 * @moved: So many residences lie before the guest's clock was moved, and as many after that.
 */
void judge_axis(const struct join *j, double within_us, uint64_t moved);

#endif
