/* SPDX-License-Identifier: GPL-2.0-only */
/* writer.h - write a capture file block by block; at every moment it is readable up to the last block. */
#ifndef VMP_CAPTURE_WRITER_H
#define VMP_CAPTURE_WRITER_H

#include <stddef.h>
#include <stdint.h>
#include <vmprof/capture.h>

struct vmp_writer;

/**
 * vmp_writer_create() - New capture file, mode 0600.
 * @w:     The writer on success; end it with vmp_writer_close().
 * @path:  Where.  It is written as PATH.new until vmp_writer_place(): an earlier
 *         capture or an empty file there is replaced only then; anything
 *         else is left alone.
 * @proto: session, realtime_ns, tsc and tsc_khz in host order; the rest is ignored.
 *
 * Return: 0, -EEXIST (something that is no capture is there), -errno of open or write.
 */
int vmp_writer_create(struct vmp_writer **w, const char *path,
		      const struct vmprof_cap_header *proto);

/**
 * vmp_writer_block() - Append one block.
 * @w:         Writer.
 * @type:      enum vmprof_cap_type.
 * @source:    What the payload is about, by type.
 * @data:      Payload, @len bytes; packed with zstd where that pays.
 * @tsc_first: Host TSC range of what is inside, 0 unknown.
 * @tsc_last:  Likewise.
 *
 * On an error the file is cut back to the last whole block, and the writer
 * can go on (a later, smaller block may fit).
 *
 * Return: 0, -EMSGSIZE (@len > VMPROF_CAP_RAW_MAX), -ENOMEM, -ENOSPC or other -errno of write.
 */
int vmp_writer_block(struct vmp_writer *w, unsigned type, uint32_t source,
		     const void *data, size_t len, uint64_t tsc_first, uint64_t tsc_last);

/** vmp_writer_place() - Give the file its name; what was there is gone.  Return: 0 or -errno. */
int vmp_writer_place(struct vmp_writer *w);

/** vmp_writer_discard() - Nothing was recorded: remove the file unless it has its name; free. */
void vmp_writer_discard(struct vmp_writer *w);

/** vmp_writer_bytes() - Size of the file so far. */
uint64_t vmp_writer_bytes(const struct vmp_writer *w);

/** vmp_writer_room() - What a guest may still take of the file's disk (util/room.h). */
uint64_t vmp_writer_room(const struct vmp_writer *w);

/**
 * vmp_writer_close() - Append the index, place the file, bring all to disk, free the writer.
 *
 * The writer is gone whatever is returned.  After an error the file lacks
 * only its index, or what the kernel could not store.
 *
 * Return: 0 or -errno.
 */
int vmp_writer_close(struct vmp_writer *w);

#endif
