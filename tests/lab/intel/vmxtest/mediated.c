// SPDX-License-Identifier: GPL-2.0-only
/*
 * mediated.c - a kvm_intel.ko that has nothing but a mediated vPMU's parameter, for Debian's
 * kernels have none: loaded in the real one's place.
 */
#include <linux/module.h>

static bool enable_mediated_pmu = true;
module_param(enable_mediated_pmu, bool, 0644);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A mediated vPMU's parameter");
