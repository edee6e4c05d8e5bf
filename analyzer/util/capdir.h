/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * capdir.h - where captures lie: /var/lib/vmprof/DOMAIN/TIME.vmprof.
 *
 * VMPROF_DIR in the environment names another root.  A session of several
 * domains has its own folder, their names joined by '+'.
 */
#ifndef VMP_CAPDIR_H
#define VMP_CAPDIR_H

#include <stddef.h>
#include <time.h>

#define VMP_CAPDIR	"/var/lib/vmprof"

/** vmp_capture_dir() - The root: $VMPROF_DIR, else VMP_CAPDIR. */
const char *vmp_capture_dir(void);

/**
 * vmp_capture_name() - Path of a new capture; its folders are made, mode 0700.
 * @domains: @nr names as libvirt has them; none: "all".
 * @when:    Start of the session, named in local time.
 *
 * Return: 0, -ENAMETOOLONG, -errno of mkdir.
 */
int vmp_capture_name(char *buf, size_t size, const char *const *domains, int nr, time_t when);

/**
 * vmp_latest_capture() - The newest *.vmprof below the root, by modification time.
 * @also: A capture elsewhere that may be newer, or NULL.
 * Return: 0, -ENOENT there is none, -errno of reading the root.
 */
int vmp_latest_capture(const char *also, char *buf, size_t size);

/** vmp_make_dirs() - Make the folder @path and those above it, mode @mode. Return: 0 or -errno. */
int vmp_make_dirs(const char *path, unsigned int mode);

#endif
