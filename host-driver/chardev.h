/* SPDX-License-Identifier: GPL-2.0-only */
/* chardev.h - the device /dev/vmprof comes and goes. */
#ifndef VMPH_CHARDEV_H
#define VMPH_CHARDEV_H

int vmph_chardev_init(void);
void vmph_chardev_exit(void);

#endif
