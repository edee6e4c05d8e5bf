// SPDX-License-Identifier: GPL-2.0-only
/* formats.c - the one list of formats; --help and errors come from it. */
#include <string.h>

#include "export/format.h"
#include "util/text.h"

static const struct vmp_format formats[] = {
	{ "pprof", "go tool pprof, Parca, Pyroscope, speedscope (gzip)",
	  VMP_FORMAT_GZIP | VMP_FORMAT_OFFSETS | VMP_FORMAT_THREADS, vmp_write_pprof },
	{ "folded", "flamegraph.pl, inferno, speedscope: a stack a line", 0, vmp_write_folded },
	{ "speedscope", "speedscope", 0, vmp_write_speedscope },
	{ "gecko", "the Firefox Profiler: a time line for each vCPU", VMP_FORMAT_SAMPLES, vmp_write_gecko },
	{ "chrome", "Perfetto, chrome://tracing: a time line for each vCPU", VMP_FORMAT_SAMPLES, vmp_write_chrome },
	{ "perf-script", "what reads perf script's text: each sample",
	  VMP_FORMAT_THREADS | VMP_FORMAT_STREAM, vmp_write_perf_script },
	{ "bolt", "perf2bolt -pa, llvm-bolt -pa: branches of each binary, a folder of files",
	  VMP_FORMAT_FOLDER, NULL, vmp_write_bolt },
	{ "autofdo", "create_gcov, create_llvm_prof of AutoFDO: the same",
	  VMP_FORMAT_FOLDER, NULL, vmp_write_autofdo },
	{ "llvm-profgen", "llvm-profgen: the same",
	  VMP_FORMAT_FOLDER, NULL, vmp_write_profgen },
	{ "csv", "spreadsheets, databases", VMP_FORMAT_OFFSETS, vmp_write_csv },
	{ "json", "jq and programs; schema: share/vmprof/profile.schema.json",
	  VMP_FORMAT_OFFSETS | VMP_FORMAT_CONTAINERS, vmp_write_json },
	{ "xml", "processes, threads, metrics; schema: share/vmprof/performance.xsd",
	  VMP_FORMAT_XML | VMP_FORMAT_ADDRESSES | VMP_FORMAT_THREADS, vmp_write_xml },
};

const struct vmp_format *vmp_format_at(unsigned int i)
{
	return i < sizeof(formats) / sizeof(formats[0]) ? &formats[i] : NULL;
}

const struct vmp_format *vmp_format_find(const char *name)
{
	unsigned int i;

	for (i = 0; vmp_format_at(i); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

void vmp_format_word(FILE *out, const char *s, char bad, char instead)
{
	char safe[4 * VMPROF_PATH_BYTES_MAX], *p;

	vmp_text(safe, sizeof(safe), s, strlen(s));
	for (p = safe; *p; p++)
		if (*p == bad)
			*p = instead;
	fputs(*safe ? safe : "?", out);
}
