// SPDX-License-Identifier: GPL-2.0-only
/* bulk.c - what the host gets within its credit: kernel symbols, then objects that it asked for. */
#include "bulk.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "crc32c.h"
#include "log.h"

#ifndef VMP_KALLSYMS
#define VMP_KALLSYMS "/proc/kallsyms"
#endif

void vmp_bulk_init(struct vmp_bulk *bulk)
{
	memset(bulk, 0, sizeof(*bulk));
	vmp_ksyms_init(&bulk->ksyms);
}

void vmp_bulk_clear(struct vmp_bulk *bulk)
{
	vmp_ksyms_clear(&bulk->ksyms);
	bulk->ksyms_active = 0;
	bulk->first = bulk->nr = 0;
}

void vmp_bulk_ksyms(struct vmp_bulk *bulk, int module, uint64_t kept_bytes, uint32_t kept_crc)
{
	int ret = vmp_ksyms_open(&bulk->ksyms, VMP_KALLSYMS, module);

	if (ret)
		vmp_log(VMP_LOG_NOTICE, "cannot read /proc/kallsyms: %s; the guest's kernel functions will have no names",
			strerror(-ret));
	bulk->ksyms_active = 1;
	bulk->ksyms_sent = 0;
	bulk->kept_bytes = kept_bytes;
	bulk->kept_crc = kept_crc;
}

int vmp_bulk_request(struct vmp_bulk *bulk, const struct vmp_msg_get_object *request)
{
	if (bulk->nr == VMP_BULK_REQUESTS)
		return -ENOBUFS;
	bulk->request[(bulk->first + bulk->nr++) % VMP_BULK_REQUESTS] = *request;
	return 0;
}

/* ------------------------------------------------------- kernel symbols */

/* With a total of 0 where there are none, so that the host does not wait. */
static int send_ksyms(struct vmp_bulk *bulk, struct vmp_out *out)
{
	struct vmp_ksyms *k = &bulk->ksyms;
	size_t room = vmp_out_bulk_room(out), len = k->bytes - bulk->ksyms_sent;
	struct vmprof_ksyms msg = {
		.offset = htole64(bulk->ksyms_sent), .total = htole64(k->bytes),
	};
	struct iovec iov[2] = { { &msg, sizeof(msg) } };

	if (room < sizeof(msg) + (len > 0))
		return 0;
	if (len > room - sizeof(msg))
		len = room - sizeof(msg);
	iov[1] = (struct iovec){ k->text ? k->text + bulk->ksyms_sent : NULL, len };
	if (vmp_out_put_bulk(out, VMPROF_MSG_KSYMS, iov, 2))
		return 0;
	bulk->ksyms_sent += len;
	if (bulk->ksyms_sent == k->bytes) {
		vmp_ksyms_clear(k);
		bulk->ksyms_active = 0;
	}
	return 1;
}

/* The whole text is here: does it begin with what the host has? */
static void skip_kept(struct vmp_bulk *bulk)
{
	const struct vmp_ksyms *k = &bulk->ksyms;

	if (bulk->kept_bytes && bulk->kept_bytes <= k->bytes &&
	    vmp_crc32c(0, k->text, bulk->kept_bytes) == bulk->kept_crc)
		bulk->ksyms_sent = bulk->kept_bytes;
}

static int step_ksyms(struct vmp_bulk *bulk, struct vmp_out *out)
{
	int ret;

	if (bulk->ksyms.fd < 0)
		return send_ksyms(bulk, out);
	ret = vmp_ksyms_step(&bulk->ksyms);
	if (ret < 0)
		vmp_log(VMP_LOG_NOTICE, "cannot read /proc/kallsyms: %s; the guest's kernel functions will have no names",
			strerror(-ret));
	else if (!ret)
		skip_kept(bulk);
	if (!ret && !bulk->ksyms.bytes)
		vmp_log(VMP_LOG_NOTICE, "/proc/kallsyms shows no addresses: vmprof-agent needs CAP_SYSLOG and kernel.kptr_restrict below 2");
	return 1;
}

/* -------------------------------------------------------------- objects */

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

	/* what finds no room any more is asked for again */
	if (vmp_out_put_bulk(out, VMPROF_MSG_OBJECT, iov, 2))
		return;
	req->offset += len;
	req->len -= (uint32_t)len;
	if (status || !req->len || req->offset >= total)
		done_request(bulk);
}

int vmp_bulk_ask(struct vmp_bulk *bulk, const struct vmp_files *files, struct vmp_out *out,
		 struct vmp_read_request *r)
{
	const struct vmp_msg_get_object *req = &bulk->request[bulk->first];
	size_t room = vmp_out_bulk_room(out);
	const struct vmp_file *file;
	uint32_t debug;

	while (bulk->nr && !bulk->ksyms_active && room > sizeof(struct vmprof_object)) {
		req = &bulk->request[bulk->first];
		debug = req->file & VMPROF_OBJECT_DEBUG;
		file = vmp_files_get(files, req->file & ~VMPROF_OBJECT_DEBUG);
		if (!file || (file->flags & VMPROF_FILE_NO_ACCESS && !debug)) {
			put_object(bulk, out, file ? -EACCES : -ENOENT, 0, NULL, 0);
			room = vmp_out_bulk_room(out);
			continue;
		}
		vmp_files_object(file, req->file, r);
		room -= sizeof(struct vmprof_object);
		r->offset = req->offset;
		r->len = req->len < room ? req->len : (uint32_t)room;
		return 1;
	}
	return 0;
}

void vmp_bulk_answer(struct vmp_bulk *bulk, const struct vmp_read_request *r,
		     const struct vmp_read_answer *a, struct vmp_out *out)
{
	const struct vmp_msg_get_object *req = &bulk->request[bulk->first];

	if (bulk->nr && req->file == r->number && req->offset == r->offset)
		put_object(bulk, out, a->status, a->bytes, a->data, a->len);
}

int vmp_bulk_step(struct vmp_bulk *bulk, struct vmp_out *out)
{
	return bulk->ksyms_active ? step_ksyms(bulk, out) : 0;
}
