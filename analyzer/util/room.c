// SPDX-License-Identifier: GPL-2.0-only
/* room.c - the part of a disk that guests cannot fill. */
#include "util/room.h"

#include <sys/statvfs.h>

uint64_t vmp_room_left(uint64_t total, uint64_t free)
{
	uint64_t kept = total / 20 < VMP_ROOM_BYTES ? total / 20 : VMP_ROOM_BYTES;

	return free > kept ? free - kept : 0;
}

uint64_t vmp_room_at(int fd)
{
	struct statvfs st;

	/* a file system without sizes has no limit that we could keep */
	if (fstatvfs(fd, &st) || !st.f_blocks)
		return UINT64_MAX;
	return vmp_room_left((uint64_t)st.f_blocks * st.f_frsize, (uint64_t)st.f_bavail * st.f_frsize);
}

int vmp_room_for_files(uint64_t total, uint64_t free)
{
	return !total || free > total / 20;
}

int vmp_room_for_files_at(int fd)
{
	struct statvfs st;

	return fstatvfs(fd, &st) || vmp_room_for_files(st.f_files, st.f_favail);
}
