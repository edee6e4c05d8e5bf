/* SPDX-License-Identifier: GPL-2.0-only */
/* html.h - the report as one HTML file that opens offline. */
#ifndef VMP_HTML_H
#define VMP_HTML_H

#include "model/model.h"

/** vmp_html_built_in() - 1 when this vmprof has the page; else --html cannot work. */
int vmp_html_built_in(void);

/**
 * vmp_html_write() - Write a report; @file is replaced at once, or left as it was.
 * @file:    Where to; "-" is standard output.
 * @capture: Path of the capture, to be shown.
 * @domain:  Shell pattern of the domains wanted, NULL all.
 *
 * Return: 0; -ESRCH no domain of that name; -ENOMEM, -errno of reading and writing.
 */
int vmp_html_write(const char *file, struct vmp_model *m, const char *capture, const char *domain);

#endif
