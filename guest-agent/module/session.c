// SPDX-License-Identifier: GPL-2.0-only
/*
 * session.c - tracing from open to close of the device: one at a time.
 *
 * control serialises start, stop and snapshot; reading serialises readers and
 * is never held together with it.  The snapshot runs in a worker, since the
 * one who asked for it is also the one who has to read it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include "session.h"

#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/workqueue.h>

#include "events.h"
#include "known.h"
#include "lost.h"
#include "probes.h"
#include "snapshot.h"
#include "tasks.h"

atomic64_t vmpg_lost_count[VMPROF_GLOST_NR];

static struct {
	struct mutex control;
	struct mutex reading;
	bool open;
	bool tracing;
	bool cancel;			/* of the snapshot */
	u64 token;
	struct vmpg_ring ring;
	struct work_struct snapshot;
	struct workqueue_struct *wq;
} session = {
	.control = __MUTEX_INITIALIZER(session.control),
	.reading = __MUTEX_INITIALIZER(session.reading),
};

static void snapshot_work(struct work_struct *work)
{
	int ret = vmpg_snapshot_take(&session.ring, session.token, &session.cancel);

	if (ret && ret != -ECANCELED)
		pr_warn("a snapshot of the processes failed: error %d\n", ret);
}

int vmpg_session_module_init(void)
{
	INIT_WORK(&session.snapshot, snapshot_work);
	session.wq = alloc_workqueue("vmprof_guest", WQ_UNBOUND, 1);
	return session.wq ? 0 : -ENOMEM;
}

void vmpg_session_module_exit(void)
{
	destroy_workqueue(session.wq);
}

int vmpg_session_open(u32 ring_bytes)
{
	int ret, i;

	mutex_lock(&session.control);
	ret = -EBUSY;
	if (session.open)
		goto out_unlock;
	ret = vmpg_ring_init(&session.ring, ring_bytes);
	if (ret)
		goto out_unlock;
	ret = vmpg_events_init(&session.ring);
	if (ret)
		goto out_ring;
	vmpg_known_forget();
	for (i = 0; i < VMPROF_GLOST_NR; i++)
		atomic64_set(&vmpg_lost_count[i], 0);
	session.open = true;
	mutex_unlock(&session.control);
	return 0;
out_ring:
	vmpg_ring_free(&session.ring);
out_unlock:
	mutex_unlock(&session.control);
	return ret;
}

static void stop_locked(void)
{
	if (!session.tracing)
		return;
	WRITE_ONCE(session.cancel, true);
	wake_up_all(&session.ring.room);
	cancel_work_sync(&session.snapshot);
	vmpg_probes_stop();
	vmpg_tasks_stop();
	session.tracing = false;
	atomic64_add(vmpg_probes_missed(), &vmpg_lost_count[VMPROF_GLOST_MISSED]);
}

void vmpg_session_close(void)
{
	mutex_lock(&session.control);
	stop_locked();
	vmpg_events_exit();
	vmpg_ring_free(&session.ring);
	session.open = false;
	mutex_unlock(&session.control);
}

int vmpg_session_start(void)
{
	int ret = 0;

	mutex_lock(&session.control);
	if (!session.tracing) {
		WRITE_ONCE(session.cancel, false);
		ret = vmpg_probes_start();
		session.tracing = !ret;
		if (!ret)
			vmpg_tasks_start(&session.ring);
	}
	mutex_unlock(&session.control);
	return ret;
}

void vmpg_session_stop(void)
{
	mutex_lock(&session.control);
	stop_locked();
	mutex_unlock(&session.control);
}

int vmpg_session_snapshot(u64 token)
{
	int ret = -EINVAL;

	mutex_lock(&session.control);
	if (session.tracing) {
		ret = -EBUSY;
		if (!work_busy(&session.snapshot)) {
			session.token = token;
			queue_work(session.wq, &session.snapshot);
			ret = 0;
		}
	}
	mutex_unlock(&session.control);
	return ret;
}

void vmpg_session_lost(struct vmpg_lost *lost)
{
	int i;

	mutex_lock(&session.control);
	for (i = 0; i < VMPROF_GLOST_NR; i++)
		lost->count[i] = atomic64_read(&vmpg_lost_count[i]);
	if (session.tracing)
		lost->count[VMPROF_GLOST_MISSED] += vmpg_probes_missed();
	mutex_unlock(&session.control);
}

struct vmpg_ring *vmpg_session_ring(void)
{
	return &session.ring;
}

int vmpg_session_lock(void)
{
	return mutex_lock_interruptible(&session.reading);
}

void vmpg_session_unlock(void)
{
	mutex_unlock(&session.reading);
}
