// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz_frame.c - the agent protocol's reader: any bytes as a stream of frames,
 * and any bytes as the payload of each message.
 *
 * The first byte chooses: 0 a stream, fed in pieces; else the type of a message
 * whose payload follows (the checksum keeps a fuzzer from getting there).
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent_msg.h"
#include "frame.h"

static volatile uint64_t sink;

/* Use every byte that a parsed message lends */
static void touch(const void *p, size_t len)
{
	const uint8_t *b = p;

	while (len--)
		sink += b[len];
}

static void parse(unsigned int type, const void *payload, size_t len)
{
	struct vmp_agent_msg m;
	struct vmp_msg_task_cpu cpu;
	struct vmp_msg_map map;

	if (vmp_agent_msg_parse(type, payload, len, &m))
		return;
	if (type == VMPROF_MSG_PROC || type == VMPROF_MSG_FORK || type == VMPROF_MSG_EXEC)
		touch(m.proc.cgroup.p, m.proc.cgroup.len);
	if (type == VMPROF_MSG_EXIT)
		while (vmp_agent_msg_next_map(&m.proc, &map))
			touch(map.path.p, map.path.len);
	if (type == VMPROF_MSG_TASKS)
		while (vmp_agent_msg_next_cpu(&m.tasks, &cpu))
			sink += cpu.apic_id + cpu.current_gpa;
	if (type == VMPROF_MSG_HELLO)
		touch(m.hello.release.p, m.hello.release.len);
	if (type == VMPROF_MSG_FILE)
		touch(m.file.path.p, m.file.path.len);
	if (type == VMPROF_MSG_KSYMS)
		touch(m.ksyms.text.p, m.ksyms.text.len);
	if (type == VMPROF_MSG_JITMAP)
		touch(m.jitmap.text.p, m.jitmap.text.len);
	if (type == VMPROF_MSG_OBJECT)
		touch(m.object.data.p, m.object.data.len);
}

static void stream(const uint8_t *data, size_t size)
{
	static struct vmp_frame_decoder d;
	struct vmprof_frame f;
	const void *payload;
	size_t n, room, step = size % 97 + 1;

	vmp_frame_decoder_init(&d);
	for (; size; data += n, size -= n) {
		void *to = vmp_frame_space(&d, &room);

		n = size < step ? size : step;
		if (n > room)
			abort();	/* a drained decoder always has room */
		memcpy(to, data, n);
		vmp_frame_fed(&d, n);
		while (vmp_frame_next(&d, &f, &payload))
			parse(f.type, payload, f.len);
	}
	while (d.begin < d.end && !vmp_frame_next(&d, &f, &payload))
		vmp_frame_give_up(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0])
		parse(data[0], data + 1, size - 1);
	else
		stream(data + 1, size - 1);
	return 0;
}
