// SPDX-License-Identifier: GPL-2.0-only
/* bundle.c - the page's bytes within the program; config.h says where the file is. */
#include "html/bundle.h"

#ifdef VMP_HTML_FILE
__asm__(".pushsection .rodata\n"
	"vmp_html_begin:\n"
	"\t.incbin \"" VMP_HTML_FILE "\"\n"
	"vmp_html_end:\n"
	"\t.popsection\n");
extern const char begin[] __asm__("vmp_html_begin"), end[] __asm__("vmp_html_end");

const char *vmp_html_bundle(size_t *len)
{
	*len = (size_t)(end - begin);
	return begin;
}
#else
const char *vmp_html_bundle(size_t *len)
{
	*len = 0;
	return NULL;
}
#endif
