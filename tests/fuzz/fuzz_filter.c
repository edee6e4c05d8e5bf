// SPDX-License-Identifier: GPL-2.0-only
/* fuzz_filter.c - a filter's expression: what is accepted has a value, what is not is told where. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/filter.h"
#include "report/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void evaluate(const struct vmp_filter *f)
{
	struct vmp_domain d = { .vm = VMP_NONE, .total = 100 };
	struct vmp_row row = { .samples = 50, .pid = VMP_NONE, .track = 1, .side = VMP_SIDE_USER };
	struct vmp_profile p = { 0 };
	struct vmp_model m = { 0 };
	struct vmp_filter_error e;

	if (vmp_strings_init(&m.strings))
		abort();
	p.model = &m;
	if (vmp_filter_place(f, &p, &d, &row) >> 1 || vmp_filter_row(f, &p, &d, &row) >> 1)
		abort();
	if (vmp_filter_keys(f) & ~vmp_filter_columns(f))
		abort();
	/* with all keys there is nothing that cannot be compared, but a thief beside an exit reason */
	if (vmp_filter_check(f, ~VMP_KEY(VMP_COL_THIEF), &e) && !(vmp_filter_columns(f) & VMP_KEY(VMP_COL_THIEF)))
		abort();
	vmp_strings_deinit(&m.strings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct vmp_filter_error e;
	struct vmp_filter *f;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = 0;
	if (!vmp_filter_parse(&f, text, &e)) {
		evaluate(f);
		vmp_filter_free(f);
	} else if (!*e.text || e.at > strlen(text)) {
		abort();
	}
	free(text);
	return 0;
}
