/* SPDX-License-Identifier: GPL-2.0-only */
/* running.h - what start, stop and status say about a session that runs, was killed, or ended. */
#ifndef VMP_RUNNING_H
#define VMP_RUNNING_H

struct json_object;

/** vmp_need_root() - Return: 0, or -EPERM (told). */
int vmp_need_root(const char *command);

/**
 * vmp_none_runs() - A new session may begin.
 * What a killed collector left is told and removed.
 * Return: 0, or -EBUSY (told, with its domains).
 */
int vmp_none_runs(void);

/**
 * vmp_tell_absent() - Tell why there is nothing to stop: it was killed, or the
 * last session ended by itself, or there was none.
 */
void vmp_tell_absent(void);

/** vmp_json_get() - String member of an object, or "". Borrowed. */
const char *vmp_json_get(struct json_object *o, const char *key);

/** vmp_json_count() - Number of an object, or 0. */
unsigned long long vmp_json_count(struct json_object *o, const char *key);

#endif
