/* SPDX-License-Identifier: GPL-2.0-only */
/* tar.h - where the files in an archive lie (ustar, GNU's large sizes); its names are only compared. */
#ifndef VMP_TAR_H
#define VMP_TAR_H

#include <stdint.h>

#include "model/hash.h"
#include "model/vec.h"

#define VMP_TAR_NAME_MAX	101

struct vmp_tar_member {
	char name[VMP_TAR_NAME_MAX];
	uint64_t offset, bytes;
};

struct vmp_tar {
	VMP_VEC(struct vmp_tar_member) members;
	struct vmp_hash by_name;	/* the first of a name */
};

/** vmp_tar_is() - 1 when a file begins like an archive. */
int vmp_tar_is(int fd);

/** vmp_tar_read() - List the files.  Return: 0, -EBADMSG (damaged), -ENOMEM, -errno of reading. */
int vmp_tar_read(struct vmp_tar *t, int fd);

/** vmp_tar_find() - By name, or NULL. */
const struct vmp_tar_member *vmp_tar_find(const struct vmp_tar *t, const char *name);

void vmp_tar_free(struct vmp_tar *t);

#endif
