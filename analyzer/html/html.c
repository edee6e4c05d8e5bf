// SPDX-License-Identifier: GPL-2.0-only
/* html.c - the bundled page with a capture's data in it, as a file. */
#include "html/html.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "export/out.h"
#include "html/bundle.h"
#include "html/page.h"

int vmp_html_built_in(void)
{
	size_t len;

	return vmp_html_bundle(&len) != NULL;
}

static int write_page(FILE *out, const struct vmp_page *page, const char *capture)
{
	size_t len, mark = strlen(VMP_HTML_MARK);
	const char *html = vmp_html_bundle(&len);
	const char *at = html ? memmem(html, len, VMP_HTML_MARK, mark) : NULL;
	int err;

	if (!at)
		return -ENOTSUP;
	fwrite(html, 1, (size_t)(at - html), out);
	err = vmp_page_data(out, page, capture);
	fwrite(at + mark, 1, len - (size_t)(at - html) - mark, out);
	if (!err && (fflush(out) || ferror(out)))
		err = errno ? -errno : -EIO;
	return err;
}

static int write_out(const char *file, const struct vmp_page *page, const char *capture)
{
	struct vmp_out out;
	int closed, err = vmp_out_open(&out, strcmp(file, "-") ? file : NULL, VMP_PACK_NONE);

	if (err)
		return err;
	err = write_page(out.stream, page, capture);
	closed = vmp_out_close(&out, err);
	return err ? err : closed;
}

int vmp_html_write(const char *file, struct vmp_model *m, const char *capture, const char *domain)
{
	struct vmp_page *page;
	int err;

	err = vmp_page_create(&page, m, domain);
	if (err)
		return err;
	if (domain && !page->profile.domains.nr)
		err = -ESRCH;
	else
		err = write_out(file, page, capture);
	vmp_page_destroy(page);
	return err;
}
