/* SPDX-License-Identifier: GPL-2.0-only */
/* room.h - the part of a disk that guests cannot fill. */
#ifndef VMP_ROOM_H
#define VMP_ROOM_H

#include <stdint.h>

#define VMP_ROOM_BYTES	(100ULL << 20)	/* kept free, or a twentieth of a small disk */

/** vmp_room_left() - Bytes that a guest's data may still take of a disk of @total bytes. */
uint64_t vmp_room_left(uint64_t total, uint64_t free);

/** vmp_room_at() - The same of the disk that an open file lies on; UINT64_MAX where nobody knows. */
uint64_t vmp_room_at(int fd);

/**
 * vmp_room_for_files() - Whether a guest's data may be one file more where @free of @total can still be made: a twentieth is
 * kept, too.
 * @total: 0 where a file system sets no number.
 */
int vmp_room_for_files(uint64_t total, uint64_t free);

/** vmp_room_for_files_at() - The same of the file system that an open file lies on; 1 where nobody knows. */
int vmp_room_for_files_at(int fd);

#endif
