// SPDX-License-Identifier: GPL-2.0-only
/* fuzz_qmp.c - replies of QEMU's monitor and libvirt's XML: any bytes. */
#include <stdint.h>
#include <stdlib.h>

#include "collect/domxml.h"
#include "collect/qmp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct vmp_domxml x;
	struct vmp_qmp q;
	int i;

	if (!vmp_qmp_vmprof(text, size, &q)) {
		for (i = 0; i < q.nr_vcpus; i++)
			if (!q.vcpus[i].tid || q.vcpus[i].frac_bits > 63)
				abort();
		for (i = 0; i < q.nr_ram; i++)
			if (!q.ram[i].bytes)
				abort();
		vmp_qmp_free(&q);
	}
	if (!vmp_qmp_cpus_fast(text, size, &q))
		vmp_qmp_free(&q);
	vmp_domxml_parse(text, size, &x);
	return 0;
}
