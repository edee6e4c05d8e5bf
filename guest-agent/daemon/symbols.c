// SPDX-License-Identifier: GPL-2.0-only
/* symbols.c - the kernel's symbols for the host, and when modules, or code that it made, came or went. */
#include "symbols.h"

#include <endian.h>
#include <string.h>
#include <vmprof/agent_proto.h>

#include "clock.h"
#include "crc32c.h"
#include "log.h"
#include "module.h"

#ifndef VMP_KALLSYMS
#define VMP_KALLSYMS	"/proc/kallsyms"
#endif
#ifndef VMP_MODULES
#define VMP_MODULES	"/proc/modules"
#endif
#define LOOK_MS		2000
#define MADE_MS		20000	/* from one reading to the next, for what the kernel made; twice as long each time ... */
#define MADE_MS_MAX	320000	/* ... up to this */
#define SETTLE_MS	10000	/* a module that is about to go is there until its memory is freed */

void vmp_symbols_init(struct vmp_symbols *s)
{
	memset(s, 0, sizeof(*s));
	vmp_ksyms_init(&s->ksyms);
}

void vmp_symbols_clear(struct vmp_symbols *s)
{
	vmp_ksyms_clear(&s->ksyms);
	vmp_symbols_init(s);
}

static void cannot_read(int error)
{
	vmp_log(VMP_LOG_NOTICE, "cannot read /proc/kallsyms: %s; the guest's kernel functions will have no names",
		strerror(-error));
}

static void read_again(struct vmp_symbols *s)
{
	int ret = vmp_ksyms_open(&s->ksyms, VMP_KALLSYMS, s->module);

	if (ret)
		cannot_read(ret);
	s->active = 1;
	s->sent = 0;
	s->read_ms = vmp_now_ms();
	s->made_since_tsc = 0;
}

/* How often code came or went */
static uint64_t made_now(struct vmp_symbols *s)
{
	uint64_t made;

	if (s->module < 0)
		return *s->heard;
	return vmp_module_made(s->module, &made) ? s->made : made;
}

/* Does our module know that all modules are as they were at the last look? */
static int is_unchanged(struct vmp_symbols *s)
{
	uint64_t changes, now_ms = vmp_now_ms();

	if (s->module < 0 || vmp_module_changes(s->module, &changes))
		return 0;
	if (changes != s->changes)
		s->settles_ms = now_ms + SETTLE_MS;
	s->changes = changes;
	return now_ms >= s->settles_ms;
}

void vmp_symbols_begin(struct vmp_symbols *s, int module, const uint64_t *heard, int announces, uint64_t kept_bytes,
		       uint32_t kept_crc)
{
	s->module = module;
	s->heard = heard;
	s->announces = announces;
	s->kept_bytes = kept_bytes;
	s->kept_crc = kept_crc;
	s->looked_tsc = vmp_tsc();
	s->looked_ms = vmp_now_ms();
	s->settles_ms = s->looked_ms + SETTLE_MS;
	is_unchanged(s);
	s->made = made_now(s);
	s->modules = vmp_ksyms_modules(VMP_MODULES);
	s->changed = 0;
	s->made_ms = MADE_MS;
	read_again(s);
}

/* The host has to hear of it, and gets all symbols anew */
static void change(struct vmp_symbols *s, uint64_t since_tsc)
{
	/* of two changes that the host has not heard of, the first counts */
	s->since_tsc = s->changed ? s->since_tsc : since_tsc;
	s->tsc = vmp_tsc();
	s->changed = 1;
	s->kept_bytes = 0;
	read_again(s);
}

/* Where symbols are being read the ones that came meanwhile may be among them, or not: they are read again, later */
static int made_is_due(struct vmp_symbols *s)
{
	const uint64_t made = made_now(s);

	if (made != s->made && !s->made_since_tsc)
		s->made_since_tsc = s->looked_tsc;
	s->made = made;
	if (!s->made_since_tsc || s->active || vmp_now_ms() - s->read_ms < s->made_ms)
		return 0;
	s->made_ms = s->made_ms < MADE_MS_MAX ? 2 * s->made_ms : s->made_ms;
	return 1;
}

void vmp_symbols_look(struct vmp_symbols *s, int now)
{
	const uint64_t tsc = vmp_tsc();
	uint64_t modules;
	int made;

	if (!s->looked_ms || (!now && vmp_now_ms() - s->looked_ms < LOOK_MS))
		return;
	s->looked_ms = vmp_now_ms();
	made = made_is_due(s);
	modules = is_unchanged(s) && !now ? s->modules : vmp_ksyms_modules(VMP_MODULES);
	if (modules != s->modules || made)
		change(s, s->made_since_tsc ? s->made_since_tsc : s->looked_tsc);
	s->modules = modules;
	s->looked_tsc = tsc;
}

void vmp_symbols_end(struct vmp_symbols *s)
{
	vmp_symbols_look(s, 1);
	if (s->made_since_tsc)
		change(s, s->made_since_tsc);
	s->looked_ms = 0;
}

int vmp_symbols_announce(struct vmp_symbols *s, struct vmp_out *out)
{
	const struct vmprof_modules msg = { .tsc = htole64(s->tsc), .since_tsc = htole64(s->since_tsc) };
	const struct iovec iov = { (void *)&msg, sizeof(msg) };

	if (s->changed && s->announces && vmp_out_put(out, VMPROF_MSG_MODULES, &iov, 1))
		return 0;
	s->changed = 0;
	return 1;
}

/* With a total of 0 where there are none, so that the host does not wait. */
static int send_piece(struct vmp_symbols *s, struct vmp_out *out)
{
	struct vmp_ksyms *k = &s->ksyms;
	size_t room = vmp_out_bulk_room(out), len = k->bytes - s->sent;
	struct vmprof_ksyms msg = { .offset = htole64(s->sent), .total = htole64(k->bytes) };
	struct iovec iov[2] = { { &msg, sizeof(msg) } };

	if (room < sizeof(msg) + (len > 0))
		return 0;
	if (len > room - sizeof(msg))
		len = room - sizeof(msg);
	iov[1] = (struct iovec){ k->text ? k->text + s->sent : NULL, len };
	if (vmp_out_put_bulk(out, VMPROF_MSG_KSYMS, iov, 2))
		return 0;
	s->sent += len;
	if (s->sent == k->bytes) {
		vmp_ksyms_clear(k);
		s->active = 0;
	}
	return 1;
}

/* The whole text is here: does it begin with what the host has? */
static void skip_kept(struct vmp_symbols *s)
{
	const struct vmp_ksyms *k = &s->ksyms;

	if (s->kept_bytes && s->kept_bytes <= k->bytes && vmp_crc32c(0, k->text, s->kept_bytes) == s->kept_crc)
		s->sent = s->kept_bytes;
	if (!k->bytes)
		vmp_log(VMP_LOG_NOTICE, "/proc/kallsyms shows no addresses: vmprof-agent needs CAP_SYSLOG and kernel.kptr_restrict below 2");
}

int vmp_symbols_step(struct vmp_symbols *s, struct vmp_out *out)
{
	int ret;

	/* at once: until the new text is there, the host must not take the old one for true */
	if (!vmp_symbols_announce(s, out) || !s->active)
		return 0;
	if (s->ksyms.fd < 0)
		return send_piece(s, out);
	ret = vmp_ksyms_step(&s->ksyms);
	if (ret < 0)
		cannot_read(ret);
	if (ret)
		return 1;
	skip_kept(s);
	vmp_symbols_look(s, 1);
	return 1;
}
