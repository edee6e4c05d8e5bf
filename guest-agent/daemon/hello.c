// SPDX-License-Identifier: GPL-2.0-only
/* hello.c - what the agent says of its guest first. */
#include "hello.h"

#include <endian.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "clock.h"
#include "module.h"

int vmp_hello_parse_uuid(const char *text, uint8_t uuid[16])
{
	unsigned int i, byte;

	for (i = 0; i < 16; i++) {
		if (*text == '-')
			text++;
		if (strspn(text, "0123456789abcdefABCDEF") < 2 || sscanf(text, "%2x", &byte) != 1)
			return 0;
		uuid[i] = (uint8_t)byte;
		text += 2;
	}
	return 1;
}

static void read_boot_id(uint8_t id[16])
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	char line[64];

	if (!f)
		return;
	if (!fgets(line, sizeof(line), f) || !vmp_hello_parse_uuid(line, id))
		memset(id, 0, 16);
	fclose(f);
}

/* Without the module: page-table isolation as /proc/cpuinfo has it. */
static uint32_t flags_of_cpuinfo(void)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[8192];
	uint32_t flags = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "flags", 5))
			continue;
		flags = (strstr(line, " pti ") ? VMPROF_HELLO_PTI : 0) |
			(strstr(line, " la57 ") ? VMPROF_HELLO_LA57 : 0);
		break;
	}
	if (f)
		fclose(f);
	return flags;
}

static struct vmpg_query query_machine(int module, uint32_t *flags)
{
	struct vmpg_query q;

	if (module >= 0 && !vmp_module_query(module, &q)) {
		*flags = (q.flags & VMPG_QUERY_PTI ? VMPROF_HELLO_PTI : 0) |
			 (q.flags & VMPG_QUERY_LA57 ? VMPROF_HELLO_LA57 : 0);
		return q;
	}
	*flags = VMPROF_HELLO_NO_MODULE | flags_of_cpuinfo();
	return (struct vmpg_query){
		.nr_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
		.tsc = vmp_tsc(),
		.realtime_ns = vmp_realtime_ns(),
	};
}

size_t vmp_hello_build(struct vmp_hello_msg *msg, int module)
{
	struct utsname uts;
	uint32_t flags;
	const struct vmpg_query q = query_machine(module, &flags);
	const __le32 module_error = htole32(module < 0 ? (uint32_t)-module : 0);
	size_t len = uname(&uts) ? 0 : strlen(uts.release);

	_Static_assert(sizeof(uts.release) <= VMPROF_RELEASE_MAX, "release");
	memset(msg, 0, sizeof(*msg));
	msg->fixed.version = htole32(VMPROF_PROTO_VERSION);
	msg->fixed.compat = htole32(VMPROF_PROTO_COMPAT);
	read_boot_id(msg->fixed.boot_id);
	msg->fixed.flags = htole32(flags);
	msg->fixed.nr_cpus = htole32(q.nr_cpus);
	msg->fixed.tsc_khz = htole32(q.tsc_khz);
	msg->fixed.release_len = htole32((uint32_t)len);
	msg->fixed.tsc = htole64(q.tsc);
	msg->fixed.realtime_ns = htole64(q.realtime_ns);
	memcpy(msg->release_and_error, uts.release, len);
	memcpy(msg->release_and_error + len, &module_error, sizeof(module_error));
	return sizeof(msg->fixed) + len + sizeof(module_error);
}
