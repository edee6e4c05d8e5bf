// SPDX-License-Identifier: GPL-2.0-only
/* test_no_libvirt.c - a host where one of libvirt's two libraries, or both, cannot be loaded. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <libvirt/libvirt-qemu.h>
#include <stdio.h>
#include <string.h>

#include "collect/domain.h"
#include "util/log.h"

static const char *refused;

/* The loader */
void *dlopen(const char *file, int mode)
{
	(void)mode;
	refused = file;
	return NULL;
}

char *dlerror(void)
{
	static char text[128];

	snprintf(text, sizeof(text), "%s: cannot open\033[2J", refused);
	return text;
}

/* It says which, in text that is safe to show, and does not send anyone to start a daemon. */
static void test_none(void **state)
{
	char said[1024] = "";
	FILE *real = stderr;

	(void)state;
	stderr = fmemopen(said, sizeof(said), "w");
	assert_null(vmp_libvirt_open(NULL));
	fclose(stderr);
	stderr = real;
	assert_non_null(strstr(said, "libvirt.so.0: cannot open"));
	assert_null(strchr(said, '\033'));
	assert_non_null(strstr(said, "install libvirt"));
	assert_null(strstr(said, "systemctl"));
}

static void test_monitor(void **state)
{
	char *answer = NULL;

	(void)state;
	assert_int_equal(virDomainQemuMonitorCommand(NULL, "{}", &answer, 0), -1);
	assert_non_null(strstr(vmp_libvirt_error(), "libvirt-qemu.so.0: cannot open"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none), cmocka_unit_test(test_monitor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
