// SPDX-License-Identifier: GPL-2.0-only
/* meta.c - take the few things that a report needs out of the JSON blocks. */
#include "model/meta.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define DEPTH	16

/* The text's object, or NULL; put it back with json_object_put() */
static struct json_object *parse(const void *data, size_t len)
{
	struct json_tokener *tok = json_tokener_new_ex(DEPTH);
	struct json_object *o = NULL;

	if (!tok)
		return NULL;
	if (len <= INT32_MAX) {
		o = json_tokener_parse_ex(tok, data, (int)len);
		if (json_tokener_get_error(tok) != json_tokener_success) {
			json_object_put(o);
			o = NULL;
		}
	}
	json_tokener_free(tok);
	if (o && !json_object_is_type(o, json_type_object)) {
		json_object_put(o);
		o = NULL;
	}
	return o;
}

static uint32_t text(struct vmp_model *m, struct json_object *o, const char *key, int *err)
{
	struct json_object *v;

	if (!json_object_object_get_ex(o, key, &v) || !json_object_is_type(v, json_type_string))
		return 0;
	return vmp_strings_add(&m->strings, json_object_get_string(v),
			       (size_t)json_object_get_string_len(v), err);
}

static uint64_t count(struct json_object *o, const char *key)
{
	struct json_object *v;

	if (!json_object_object_get_ex(o, key, &v) || !json_object_is_type(v, json_type_int))
		return 0;
	return json_object_get_uint64(v);
}

static int truth(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) && json_object_is_type(v, json_type_boolean) &&
	       json_object_get_boolean(v);
}

int vmp_meta_session(struct vmp_model *m, const void *data, size_t len)
{
	struct json_object *o = parse(data, len);
	struct vmp_meta *meta = &m->meta;
	int err = 0;

	if (!o)
		return 0;
	meta->host = text(m, o, "host", &err);
	meta->release = text(m, o, "release", &err);
	meta->vendor = text(m, o, "vendor", &err);
	meta->event = text(m, o, "event", &err);
	meta->trigger = text(m, o, "trigger", &err);
	meta->command = text(m, o, "command", &err);
	meta->version = text(m, o, "version", &err);
	meta->period = count(o, "period");
	meta->instruction_period = count(o, "instruction_period");
	meta->random = truth(o, "random");
	meta->cpus = (uint32_t)count(o, "cpus");
	json_object_put(o);
	return err;
}

static int vcpu_threads(struct vmp_model *m, struct json_object *o)
{
	struct json_object *list;
	size_t i;
	int err = 0;

	if (!json_object_object_get_ex(o, "vcpus", &list) || !json_object_is_type(list, json_type_array))
		return 0;
	for (i = 0; !err && i < json_object_array_length(list); i++) {
		struct json_object *v = json_object_array_get_idx(list, i);

		if (json_object_is_type(v, json_type_object) && count(v, "tid"))
			err = vmp_hash_set(&m->vcpu_by_tid, count(v, "tid"), (uint32_t)count(v, "id"));
	}
	return err;
}

int vmp_meta_vm(struct vmp_model *m, uint32_t vm, const void *data, size_t len)
{
	struct json_object *o = parse(data, len), *v;
	uint32_t i;
	int err;

	err = vmp_model_add_vm(m, vm, &i);
	if (err || !o) {
		json_object_put(o);
		return err;
	}
	m->vms.v[i].name = text(m, o, "name", &err);
	m->vms.v[i].uuid = text(m, o, "uuid", &err);
	m->vms.v[i].objects = text(m, o, "objects", &err);
	m->vms.v[i].clock_source = text(m, o, "clock_source", &err);
	m->vms.v[i].tasks_state = text(m, o, "tasks", &err);
	if (json_object_object_get_ex(o, "agent", &v) && json_object_is_type(v, json_type_boolean))
		m->vms.v[i].said_agent = json_object_get_boolean(v);
	if (!err)
		err = vcpu_threads(m, o);
	json_object_put(o);
	return err;
}

/* A string that has room; else it stays empty */
static void short_text(struct json_object *o, const char *key, char *to, size_t size)
{
	struct json_object *v;

	if (json_object_object_get_ex(o, key, &v) && json_object_is_type(v, json_type_string) &&
	    (size_t)json_object_get_string_len(v) < size)
		strcpy(to, json_object_get_string(v));
}

int vmp_meta_objects(struct vmp_model *m, uint32_t vm, const void *data, size_t len)
{
	struct json_object *o = parse(data, len), *kernel;
	struct vmp_kernel_copy *copy = &m->host_copy;
	uint32_t i;
	int err = vm ? vmp_model_add_vm(m, vm, &i) : 0;

	if (!err && o && json_object_object_get_ex(o, "kernel", &kernel) &&
	    json_object_is_type(kernel, json_type_object)) {
		if (vm)
			copy = &m->vms.v[i].copy;
		*copy = (struct vmp_kernel_copy){
			.why = text(m, kernel, "why", &err), .bytes = count(kernel, "bytes"),
			.missing = count(kernel, "missing_bytes"),
		};
		short_text(kernel, "path", copy->key, sizeof(copy->key));
		short_text(kernel, "boot_id", copy->boot_id, sizeof(copy->boot_id));
	}
	json_object_put(o);
	return err;
}

static int tells_of_loss(const char *key)
{
	return strstr(key, "lost") || strstr(key, "bad") || strstr(key, "gaps") ||
	       strstr(key, "dropped") || strstr(key, "failed");
}

/* Objects and arrays below @o; agent_lost is told by the agent itself in the stream. */
static int losses(struct vmp_model *m, struct json_object *o, uint32_t vm, int depth)
{
	struct json_object_iterator it = json_object_iter_begin(o), end = json_object_iter_end(o);
	int err = 0;

	for (; !err && !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		const char *key = json_object_iter_peek_name(&it);
		struct json_object *v = json_object_iter_peek_value(&it);
		struct vmp_loss loss = { .vm = vm };
		size_t i;

		if (json_object_is_type(v, json_type_object) && depth < DEPTH)
			err = losses(m, v, vm, depth + 1);
		for (i = 0; !err && json_object_is_type(v, json_type_array) &&
			    i < json_object_array_length(v); i++) {
			struct json_object *e = json_object_array_get_idx(v, i);

			if (json_object_is_type(e, json_type_object) && depth < DEPTH)
				err = losses(m, e, (uint32_t)count(e, "vm"), depth + 1);
		}
		if (err || !json_object_is_type(v, json_type_int) || !tells_of_loss(key))
			continue;
		loss.count = json_object_get_uint64(v);
		loss.name = vmp_strings_add(&m->strings, key, strlen(key), &err);
		if (loss.count && !err)
			err = vmp_vec_push(&m->losses, loss);
	}
	return err;
}

int vmp_meta_summary(struct vmp_model *m, const void *data, size_t len)
{
	struct json_object *o = parse(data, len), *collector;
	int err;

	if (!o)
		return 0;
	m->losses.nr = 0;
	err = losses(m, o, 0, 0);
	if (!err && json_object_object_get_ex(o, "collector", &collector) &&
	    json_object_is_type(collector, json_type_object))
		m->meta.error = text(m, collector, "error", &err);
	json_object_put(o);
	return err;
}
