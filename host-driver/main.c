// SPDX-License-Identifier: GPL-2.0-only
/*
 * main.c - load and unload.
 *
 * While a file is open the module is held by it; without one there is nothing
 * armed, so unloading has only the device to take away.
 */
#include <linux/module.h>
#include "chardev.h"
#include "guest.h"

static int __init vmph_init(void)
{
	/* says early what START would say; KVM's vendor module may come later */
	if (!vmph_guest_get())
		vmph_guest_put();
	return vmph_chardev_init();
}

static void __exit vmph_exit(void)
{
	vmph_chardev_exit();
}

module_init(vmph_init);
module_exit(vmph_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Samples KVM guests from their host");
MODULE_VERSION(VMPH_VERSION);
