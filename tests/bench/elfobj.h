/* SPDX-License-Identifier: GPL-2.0-only */
/* elfobj.h - real ELF objects of the world's images: symbols, build-id, a text full of nothing. */
#ifndef VMP_BENCH_ELFOBJ_H
#define VMP_BENCH_ELFOBJ_H

#include "world.h"

/** elfobj_write() - A shared object.  Return: 0 or -errno. */
int elfobj_write(const char *path, const struct world_image *im, const uint8_t *code, uint32_t bytes);

#endif
