// SPDX-License-Identifier: GPL-2.0-only
/* bulk.c - objects that the host asked for, within its credit. */
#include "bulk.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

void vmp_bulk_init(struct vmp_bulk *bulk)
{
	memset(bulk, 0, sizeof(*bulk));
}

void vmp_bulk_clear(struct vmp_bulk *bulk)
{
	bulk->first = bulk->nr = 0;
	bulk->since_ms = bulk->due_ms = 0;
}

int vmp_bulk_request(struct vmp_bulk *bulk, const struct vmp_msg_get_object *request)
{
	if (bulk->nr == VMP_BULK_REQUESTS)
		return -ENOBUFS;
	bulk->request[(bulk->first + bulk->nr++) % VMP_BULK_REQUESTS] = *request;
	return 0;
}

static void done_request(struct vmp_bulk *bulk)
{
	bulk->first = (bulk->first + 1) % VMP_BULK_REQUESTS;
	bulk->nr--;
}

/* With a status, if not 0, in place of data */
static void put_object(struct vmp_bulk *bulk, struct vmp_out *out, int status, uint64_t total,
		       const void *data, size_t len)
{
	struct vmp_msg_get_object *req = &bulk->request[bulk->first];
	struct vmprof_object msg = {
		.file = htole32(req->file), .status = htole32((uint32_t)-status),
		.offset = htole64(req->offset), .total = htole64(status ? 0 : total),
	};
	struct iovec iov[2] = { { &msg, sizeof(msg) }, { (void *)data, len } };

	bulk->since_ms = bulk->due_ms = 0;
	/* what finds no room any more is asked for again */
	if (vmp_out_put_bulk(out, VMPROF_MSG_OBJECT, iov, 2))
		return;
	req->offset += len;
	req->len -= (uint32_t)len;
	if (status || !req->len || req->offset >= total)
		done_request(bulk);
}

int vmp_bulk_ask(struct vmp_bulk *bulk, const struct vmp_files *files, struct vmp_out *out, uint64_t now_ms,
		 struct vmp_read_request *r)
{
	const struct vmp_msg_get_object *req = &bulk->request[bulk->first];
	size_t room = vmp_out_bulk_room(out);
	const struct vmp_file *file;
	uint32_t debug;

	while (bulk->nr && room > sizeof(struct vmprof_object) && now_ms >= bulk->due_ms) {
		req = &bulk->request[bulk->first];
		debug = req->file & VMPROF_OBJECT_DEBUG;
		file = vmp_files_get(files, req->file & ~VMPROF_OBJECT_DEBUG);
		if (bulk->forbidden || !file || (file->flags & VMPROF_FILE_NO_ACCESS && !debug)) {
			put_object(bulk, out, bulk->forbidden ? -EPERM : file ? -EACCES : -ENOENT, 0, NULL, 0);
			room = vmp_out_bulk_room(out);
			continue;
		}
		if (!bulk->since_ms)
			bulk->since_ms = now_ms;
		vmp_files_object(file, req->file, r);
		room -= sizeof(struct vmprof_object);
		r->offset = req->offset;
		r->len = req->len < room ? req->len : (uint32_t)room;
		return 1;
	}
	return 0;
}

int vmp_bulk_answer(struct vmp_bulk *bulk, const struct vmp_read_request *r, const struct vmp_read_answer *a,
		    struct vmp_out *out, uint64_t now_ms)
{
	const struct vmp_msg_get_object *req = &bulk->request[bulk->first];

	if (!bulk->nr || req->file != r->number || req->offset != r->offset)
		return 0;
	if (vmp_read_is_late(a) && now_ms + VMP_READ_LATE_MS - bulk->since_ms < VMP_BULK_PATIENCE_MS) {
		bulk->due_ms = now_ms + VMP_READ_LATE_MS;
		return 1;
	}
	put_object(bulk, out, a->status, a->bytes, a->data, a->len);
	return 0;
}
