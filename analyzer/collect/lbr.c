// SPDX-License-Identifier: GPL-2.0-only
/* lbr.c - last branch records as people ask for them, and why they cannot be had. */
#include "collect/lbr.h"

#include <errno.h>
#include <string.h>

#include "util/log.h"
#include "util/text.h"

#define LEVELS	(VMPROF_LBR_KERNEL | VMPROF_LBR_USER)
#define CALLS	(VMPROF_LBR_CALL_REL | VMPROF_LBR_CALL_IND)
#define KINDS	(VMPROF_LBR_ALL & ~LEVELS)

static const char *const formats[] = {
	[VMPROF_LBR_FROM_TO] = "from-to",
	[VMPROF_LBR_FROM] = "from",
	[VMPROF_LBR_TO] = "to",
	[VMPROF_LBR_FROM_TO_CYCLES] = "from-to-cycles",
};

#define FORMATS	(sizeof(formats) / sizeof(formats[0]))

/* What may be asked for; the last four are the acquisition types 1 to 4 of paper [2], table 8 */
static const struct {
	const char *name;
	uint32_t branches;
	uint32_t format;	/* of a preset */
} words[] = {
	{ "any", KINDS, 0 },
	{ "call", CALLS, 0 },
	{ "ret", VMPROF_LBR_RET, 0 },
	{ "cond", VMPROF_LBR_COND, 0 },
	{ "ind", VMPROF_LBR_CALL_IND | VMPROF_LBR_JUMP_IND, 0 },
	{ "jump", VMPROF_LBR_JUMP_REL | VMPROF_LBR_JUMP_IND, 0 },
	{ "far", VMPROF_LBR_FAR, 0 },
	{ "user", VMPROF_LBR_USER, 0 },
	{ "kernel", VMPROF_LBR_KERNEL, 0 },
	{ "calls", CALLS, VMPROF_LBR_FROM_TO },
	{ "flow-from", CALLS | VMPROF_LBR_RET, VMPROF_LBR_FROM },
	{ "flow-to", CALLS | VMPROF_LBR_RET, VMPROF_LBR_TO },
	{ "flow", CALLS | VMPROF_LBR_RET, VMPROF_LBR_FROM_TO },
};

/* The bits of vmprof_config.lbr_branches, for the capture */
static const char *const bits[] = {
	"kernel", "user", "cond", "call-rel", "call-ind", "ret", "jump-ind", "jump-rel", "far",
};

static int is_word(const char *name, const char *s, size_t len)
{
	return strlen(name) == len && !memcmp(name, s, len);
}

static int parse_word(const char *s, size_t len, struct vmp_lbr *lbr)
{
	char safe[64];
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!is_word(words[i].name, s, len))
			continue;
		if (words[i].format && (lbr->format || (lbr->branches & KINDS))) {
			vmp_err("--lbr: %s says already which branches are recorded; beside it go user and kernel only",
				words[i].name);
			return -EINVAL;
		}
		if (lbr->format && (words[i].branches & KINDS)) {
			vmp_err("--lbr: beside calls, flow, flow-from and flow-to go user and kernel only, not %s",
				words[i].name);
			return -EINVAL;
		}
		lbr->branches |= words[i].branches;
		lbr->format |= words[i].format;
		return 0;
	}
	vmp_err("--lbr: there are no branches '%s'; give some of any, call, ret, cond, ind, jump, far, user, kernel, or one of calls, flow, flow-from, flow-to",
		vmp_text(safe, sizeof(safe), s, len));
	return -EINVAL;
}

static int parse_filter(const char *s, struct vmp_lbr *lbr)
{
	size_t len;
	int err;

	for (;; s += len + 1) {
		len = strcspn(s, ",");
		err = parse_word(s, len, lbr);
		if (err || !s[len])
			break;
	}
	if (!(lbr->branches & KINDS))
		lbr->branches |= KINDS;
	if (!(lbr->branches & LEVELS))
		lbr->branches |= LEVELS;
	return err;
}

static int parse_format(const char *s, struct vmp_lbr *lbr)
{
	char safe[64];
	size_t i;

	if (lbr->format) {
		vmp_err("--lbr-format: calls, flow, flow-from and flow-to have a format of their own; leave it out");
		return -EINVAL;
	}
	for (i = VMPROF_LBR_FROM_TO; i < FORMATS; i++) {
		if (!strcmp(formats[i], s)) {
			lbr->format = (uint32_t)i;
			return 0;
		}
	}
	vmp_err("--lbr-format %s: give from-to, from, to or from-to-cycles",
		vmp_text(safe, sizeof(safe), s, strlen(s)));
	return -EINVAL;
}

int vmp_lbr_parse(const char *filter, const char *format, struct vmp_lbr *lbr)
{
	struct vmp_lbr l = { 0 };
	int err;

	if (!filter && format) {
		vmp_err("--lbr-format goes with --lbr, such as --lbr any");
		return -EINVAL;
	}
	err = filter ? parse_filter(filter, &l) : 0;
	if (!err && format)
		err = parse_format(format, &l);
	if (err)
		return err;
	if (filter && !l.format) {
		l.format = VMPROF_LBR_FROM_TO;
		l.is_usual = 1;
	}
	if ((l.branches & VMPROF_LBR_KERNEL) &&
	    !(l.branches & (VMPROF_LBR_CALL_REL | VMPROF_LBR_RET))) {
		vmp_err("--lbr: the kernel's branches can be had with call, ret or any among them only, or nothing tells where the host's end\n"
			"  add one of these, or take user code alone: user");
		return -EINVAL;
	}
	*lbr = l;
	return 0;
}

int vmp_lbr_tells_blocks(const struct vmp_lbr *lbr)
{
	const uint32_t near = KINDS & ~VMPROF_LBR_FAR;

	return (lbr->branches & near) == near &&
	       (lbr->format == VMPROF_LBR_FROM_TO || lbr->format == VMPROF_LBR_FROM_TO_CYCLES);
}

struct vmp_lbr vmp_lbr_on(const struct vmp_lbr *lbr, const struct vmprof_query *q)
{
	struct vmp_lbr on = *lbr;

	if (on.is_usual && (q->features & VMPROF_FEAT_LBR_CYCLES) && vmp_lbr_tells_blocks(&on))
		on.format = VMPROF_LBR_FROM_TO_CYCLES;
	return on;
}

const char *vmp_lbr_lack(const struct vmprof_query *q)
{
	static const char *const why[] = {
		[VMPROF_LBR_LACK_CPU] = "the processor keeps no branches that vmprof can read (AMD: Zen 4 or later; Intel: Skylake or later)",
		[VMPROF_LBR_LACK_FREEZE] = "the processor does not keep its branches at a counter's interrupt",
		[VMPROF_LBR_LACK_KVM] = "KVM is not loaded, or its entries and exits cannot be followed on this kernel",
		[VMPROF_LBR_LACK_PERF] = "this kernel's perf has no events with branches for this processor",
	};

	if (q->features & VMPROF_FEAT_LBR)
		return NULL;
	if (q->version < 3)
		return "the loaded module vmprof is too old: install this version's, then modprobe -r vmprof && modprobe vmprof";
	if (!q->lbr_lack || q->lbr_lack >= sizeof(why) / sizeof(why[0]))
		return "the module vmprof does not say why";
	return why[q->lbr_lack];
}

int vmp_lbr_check(const struct vmp_lbr *lbr, const struct vmprof_query *q)
{
	const char *why = vmp_lbr_lack(q);

	if (!lbr->branches)
		return 0;
	if (why) {
		vmp_err("--lbr: this host has no last branch records: %s", why);
		return q->version < 3 ? -EPROTO : -EOPNOTSUPP;
	}
	if (lbr->format == VMPROF_LBR_FROM_TO_CYCLES && !(q->features & VMPROF_FEAT_LBR_CYCLES)) {
		vmp_err("--lbr-format from-to-cycles: this processor does not count cycles between branches; leave it out");
		return -EOPNOTSUPP;
	}
	return 0;
}

static void write_names(const struct vmp_lbr *lbr, const char *between, FILE *f)
{
	size_t i;
	int nr = 0;

	for (i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		if (lbr->branches & 1U << i)
			fprintf(f, "%s%s", nr++ ? between : "", bits[i]);
}

void vmp_lbr_json(const struct vmp_lbr *lbr, FILE *f)
{
	if (!lbr->branches) {
		fputs("null", f);
		return;
	}
	fputs("{\"branches\":[\"", f);
	write_names(lbr, "\",\"", f);
	fprintf(f, "\"],\"format\":\"%s\"}", formats[lbr->format]);
}

const char *vmp_lbr_text(char *dst, const struct vmp_lbr *lbr)
{
	FILE *f = fmemopen(dst, 128, "w");

	dst[0] = 0;
	if (!f)
		return dst;
	write_names(lbr, ", ", f);
	fprintf(f, "; %s", formats[lbr->format]);
	fclose(f);
	return dst;
}

unsigned int vmp_lbr_bytes(const struct vmp_lbr *lbr, unsigned int entries)
{
	static const unsigned int nr_words[] = {
		[VMPROF_LBR_FROM_TO] = 2, [VMPROF_LBR_FROM] = 1, [VMPROF_LBR_TO] = 1,
		[VMPROF_LBR_FROM_TO_CYCLES] = 3,
	};

	return (unsigned int)sizeof(struct vmprof_rec_lbr) + entries * nr_words[lbr->format] * 8;
}
