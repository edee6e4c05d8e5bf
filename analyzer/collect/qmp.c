// SPDX-License-Identifier: GPL-2.0-only
/* qmp.c - replies of QEMU's monitor, taken apart. */
#include "collect/qmp.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static int get_int(struct json_object *obj, const char *key, int64_t min, int64_t max,
		   int64_t *out)
{
	struct json_object *v;
	int64_t n;

	if (!json_object_object_get_ex(obj, key, &v) || !json_object_is_type(v, json_type_int))
		return -EBADMSG;
	n = json_object_get_int64(v);
	if (n < min || n > max)
		return -EBADMSG;
	*out = n;
	return 0;
}

static int get_bool(struct json_object *obj, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(obj, key, &v) && json_object_get_boolean(v);
}

/* The reply's "return", of type @type; the root is to be put. */
static int open_reply(const char *text, size_t len, enum json_type type,
		      struct json_object **root, struct json_object **ret)
{
	struct json_object *err, *class;
	struct json_tokener *tok;
	int status = -EBADMSG;

	if (len > VMP_QMP_BYTES_MAX)
		return -EBADMSG;
	tok = json_tokener_new();
	if (!tok)
		return -ENOMEM;
	*root = json_tokener_parse_ex(tok, text, (int)len);
	/* a bare number may go on behind the text: no reply anyway */
	if (json_tokener_get_error(tok) != json_tokener_success) {
		json_object_put(*root);
		*root = NULL;
	}
	json_tokener_free(tok);
	if (!*root || !json_object_is_type(*root, json_type_object))
		goto put_root;
	if (json_object_object_get_ex(*root, "error", &err)) {
		status = -EREMOTEIO;
		if (json_object_is_type(err, json_type_object) &&
		    json_object_object_get_ex(err, "class", &class) &&
		    json_object_is_type(class, json_type_string) &&
		    !strcmp(json_object_get_string(class), "CommandNotFound"))
			status = -ENOSYS;
		goto put_root;
	}
	if (json_object_object_get_ex(*root, "return", ret) && json_object_is_type(*ret, type))
		return 0;
put_root:
	json_object_put(*root);
	return status;
}

static int read_clock(struct json_object *obj, struct vmp_qmp_vcpu *v)
{
	int64_t offset, ratio = 0, bits = 0;

	if (!json_object_object_get_ex(obj, "tsc-offset", NULL))
		return 0;
	if (get_int(obj, "tsc-offset", INT64_MIN, INT64_MAX, &offset))
		return -EBADMSG;
	/* a CPU without TSC scaling has no ratio: 1:1 */
	if (json_object_object_get_ex(obj, "tsc-ratio", NULL) &&
	    (get_int(obj, "tsc-ratio", 1, INT64_MAX, &ratio) ||
	     get_int(obj, "tsc-frac-bits", 0, 63, &bits)))
		return -EBADMSG;
	v->has_clock = 1;
	v->tsc_offset = offset;
	v->tsc_ratio = (uint64_t)ratio;
	v->frac_bits = (uint32_t)bits;
	return 0;
}

static int read_vcpus(struct json_object *list, const char *index_key, struct vmp_qmp *q)
{
	size_t i, nr = json_object_array_length(list);
	int64_t index, tid;

	if (!nr || nr > VMP_QMP_VCPUS_MAX)
		return -EBADMSG;
	q->vcpus = calloc(nr, sizeof(*q->vcpus));
	if (!q->vcpus)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		struct json_object *obj = json_object_array_get_idx(list, i);

		if (!json_object_is_type(obj, json_type_object) ||
		    get_int(obj, index_key, 0, UINT32_MAX, &index) ||
		    get_int(obj, "thread-id", 1, INT32_MAX, &tid))
			return -EBADMSG;
		q->vcpus[i].index = (uint32_t)index;
		q->vcpus[i].tid = (uint32_t)tid;
		if (read_clock(obj, &q->vcpus[i]))
			return -EBADMSG;
		q->nr_vcpus++;
	}
	return 0;
}

static int read_ram(struct json_object *list, struct vmp_qmp *q)
{
	size_t i, nr = json_object_array_length(list);
	int64_t gpa, bytes, hva;

	if (nr > VMP_QMP_RAM_MAX)
		return -EBADMSG;
	q->ram = calloc(nr ? nr : 1, sizeof(*q->ram));
	if (!q->ram)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		struct json_object *obj = json_object_array_get_idx(list, i);

		if (!json_object_is_type(obj, json_type_object) ||
		    get_int(obj, "gpa", 0, INT64_MAX, &gpa) ||
		    get_int(obj, "size", 1, INT64_MAX, &bytes) ||
		    get_int(obj, "hva", 0, INT64_MAX, &hva))
			return -EBADMSG;
		q->ram[i] = (struct vmp_qmp_ram){ gpa, bytes, hva };
		q->nr_ram++;
	}
	return 0;
}

static int read_vmprof(struct json_object *ret, struct vmp_qmp *q)
{
	struct json_object *v;
	int err;

	if (!json_object_object_get_ex(ret, "vcpus", &v) ||
	    !json_object_is_type(v, json_type_array))
		return -EBADMSG;
	err = read_vcpus(v, "index", q);
	if (err)
		return err;
	if (json_object_object_get_ex(ret, "ram", &v)) {
		if (!json_object_is_type(v, json_type_array))
			return -EBADMSG;
		err = read_ram(v, q);
		if (err)
			return err;
	}
	if (json_object_object_get_ex(ret, "agent-port", &v)) {
		if (!json_object_is_type(v, json_type_object))
			return -EBADMSG;
		q->has_port = 1;
		q->guest_open = get_bool(v, "guest-open");
	}
	return 0;
}

int vmp_qmp_vmprof(const char *text, size_t len, struct vmp_qmp *q)
{
	struct json_object *root = NULL, *ret = NULL;
	struct vmp_qmp got = { 0 };
	int err;

	err = open_reply(text, len, json_type_object, &root, &ret);
	if (err)
		return err;
	err = read_vmprof(ret, &got);
	json_object_put(root);
	if (err)
		vmp_qmp_free(&got);
	else
		*q = got;
	return err;
}

int vmp_qmp_cpus_fast(const char *text, size_t len, struct vmp_qmp *q)
{
	struct json_object *root = NULL, *ret = NULL;
	struct vmp_qmp got = { 0 };
	int err;

	err = open_reply(text, len, json_type_array, &root, &ret);
	if (err)
		return err;
	err = read_vcpus(ret, "cpu-index", &got);
	json_object_put(root);
	if (err)
		vmp_qmp_free(&got);
	else
		*q = got;
	return err;
}

void vmp_qmp_free(struct vmp_qmp *q)
{
	free(q->vcpus);
	free(q->ram);
	memset(q, 0, sizeof(*q));
}
