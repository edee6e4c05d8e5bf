// SPDX-License-Identifier: GPL-2.0-only
/* bulk.c - what the host gets within its credit: kernel symbols, then objects that it asked for. */
#include "bulk.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "vdso.h"

void vmp_bulk_init(struct vmp_bulk *bulk)
{
	memset(bulk, 0, sizeof(*bulk));
	bulk->fd = -1;
	vmp_ksyms_init(&bulk->ksyms);
}

static void close_file(struct vmp_bulk *bulk)
{
	if (bulk->fd >= 0)
		close(bulk->fd);
	bulk->fd = -1;
}

void vmp_bulk_clear(struct vmp_bulk *bulk)
{
	close_file(bulk);
	vmp_ksyms_clear(&bulk->ksyms);
	bulk->ksyms_active = 0;
	bulk->first = bulk->nr = 0;
}

void vmp_bulk_ksyms(struct vmp_bulk *bulk)
{
	int ret = vmp_ksyms_open(&bulk->ksyms, "/proc/kallsyms");

	if (ret)
		vmp_log(VMP_LOG_NOTICE, "cannot read /proc/kallsyms: %s; the guest's kernel functions will have no names",
			strerror(-ret));
	bulk->ksyms_active = 1;
	bulk->ksyms_sent = 0;
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

static int step_ksyms(struct vmp_bulk *bulk, struct vmp_out *out)
{
	int ret;

	if (bulk->ksyms.fd < 0)
		return send_ksyms(bulk, out);
	ret = vmp_ksyms_step(&bulk->ksyms);
	if (ret < 0)
		vmp_log(VMP_LOG_NOTICE, "cannot read /proc/kallsyms: %s; the guest's kernel functions will have no names",
			strerror(-ret));
	else if (!ret && !bulk->ksyms.bytes)
		vmp_log(VMP_LOG_NOTICE, "/proc/kallsyms shows no addresses: vmprof-agent needs CAP_SYSLOG and kernel.kptr_restrict below 2");
	return 1;
}

/* -------------------------------------------------------------- objects */

static void done_request(struct vmp_bulk *bulk)
{
	bulk->first = (bulk->first + 1) % VMP_BULK_REQUESTS;
	bulk->nr--;
}

/* Bytes of a file at offset: read, 0 at the end, or -errno */
static ssize_t read_object(struct vmp_bulk *bulk, const struct vmp_file *file, uint32_t handle,
			   void *buf, size_t len, uint64_t offset)
{
	struct vmp_elf_source src;

	if (file->flags & VMPROF_FILE_NO_ACCESS)
		return -EACCES;
	if (file->bytes > VMPROF_OBJECT_BYTES_MAX)
		return -EFBIG;
	if (offset > file->bytes)
		return -EINVAL;
	if (vmp_file_is_vdso(file)) {
		src = vmp_vdso_source();
		return src.read(src.arg, buf, len, offset);
	}
	if (bulk->fd < 0 || bulk->fd_file != handle) {
		close_file(bulk);
		bulk->fd = vmp_file_open(file);
		if (bulk->fd < 0)
			return bulk->fd;
		bulk->fd_file = handle;
	}
	src = vmp_elf_fd(&bulk->fd);
	return src.read(src.arg, buf, len, offset);
}

/* What is left to read of a request: never past the size that FILE told */
static size_t object_left(const struct vmp_file *file, const struct vmp_msg_get_object *req)
{
	uint64_t left = req->offset < file->bytes ? file->bytes - req->offset : 0;

	return left < req->len ? (size_t)left : req->len;
}

static int step_object(struct vmp_bulk *bulk, const struct vmp_files *files, struct vmp_out *out)
{
	struct vmp_msg_get_object *req = &bulk->request[bulk->first];
	const struct vmp_file *file = vmp_files_get(files, req->file);
	size_t room = vmp_out_bulk_room(out), len = file ? object_left(file, req) : 0;
	struct vmprof_object msg = {
		.file = htole32(req->file), .offset = htole64(req->offset),
		.total = htole64(file ? file->bytes : 0),
	};
	struct iovec iov[2] = { { &msg, sizeof(msg) } };
	uint8_t data[VMP_OUT_BULK_PAYLOAD];
	ssize_t n;

	if (room < sizeof(msg) + (len > 0))
		return 0;
	if (len > room - sizeof(msg))
		len = room - sizeof(msg);
	n = file ? read_object(bulk, file, req->file, data, len, req->offset) : -ENOENT;
	if (n >= 0 && (size_t)n < len)
		n = -ESTALE;		/* it became shorter */
	if (n < 0) {
		msg.status = htole32((uint32_t)-n);
		n = 0;
	}
	iov[1] = (struct iovec){ data, (size_t)n };
	if (vmp_out_put_bulk(out, VMPROF_MSG_OBJECT, iov, 2))
		return 0;
	req->offset += (uint64_t)n;
	req->len -= (uint32_t)n;
	if (msg.status || !object_left(file, req))
		done_request(bulk);
	return 1;
}

int vmp_bulk_step(struct vmp_bulk *bulk, const struct vmp_files *files, struct vmp_out *out)
{
	if (bulk->ksyms_active)
		return step_ksyms(bulk, out);
	if (bulk->nr)
		return step_object(bulk, files, out);
	close_file(bulk);
	return 0;
}
