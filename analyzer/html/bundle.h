/* SPDX-License-Identifier: GPL-2.0-only */
/* bundle.h - the page as it was bundled at build time (page/), without data. */
#ifndef VMP_HTML_BUNDLE_H
#define VMP_HTML_BUNDLE_H

#include <stddef.h>

/* Stands once in the page, where its data goes */
#define VMP_HTML_MARK	"@VMPROF-DATA@"

/** vmp_html_bundle() - The page; NULL when vmprof was built without it. */
const char *vmp_html_bundle(size_t *len);

#endif
