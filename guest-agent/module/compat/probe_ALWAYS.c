// SPDX-License-Identifier: GPL-2.0-only
/* probe_ALWAYS.c - must compile: if it does not, the probes themselves are broken. */
#include <linux/fs.h>

const struct path *vmpg_probe(const struct file *file);
const struct path *vmpg_probe(const struct file *file)
{
	return &file->f_path;
}
