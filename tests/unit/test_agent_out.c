// SPDX-License-Identifier: GPL-2.0-only
/* test_agent_out.c - the agent's outgoing queue: room, order, restart, what waits for others, credit, a port that takes little. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>

#include "guest-agent/daemon/out.c"

struct fixture {
	struct vmp_out out;
	struct vmp_frame_decoder in;
	int pipe[2];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(vmp_out_init(&f->out), 0);
	vmp_frame_decoder_init(&f->in);
	assert_int_equal(pipe2(f->pipe, O_NONBLOCK | O_CLOEXEC), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	vmp_out_deinit(&f->out);
	close(f->pipe[0]);
	close(f->pipe[1]);
	free(f);
	return 0;
}

static int put(struct vmp_out *out, unsigned int type, size_t len, int fill)
{
	static uint8_t data[VMPROF_FRAME_MAX + 1];
	struct iovec iov[2] = { { data, len / 2 }, { data, len - len / 2 } };

	memset(data, fill, sizeof(data));
	return vmp_out_put(out, type, iov, 2);
}

/* Move what the pipe has into the decoder, then give the next frame. */
static int next(struct fixture *f, struct vmprof_frame *frame, const uint8_t **payload)
{
	size_t room;
	ssize_t n;
	void *to;

	while (!vmp_frame_next(&f->in, frame, (const void **)payload)) {
		to = vmp_frame_space(&f->in, &room);
		n = read(f->pipe[0], to, room);
		if (n <= 0)
			return 0;
		vmp_frame_fed(&f->in, (size_t)n);
	}
	return 1;
}

static void test_order(void **state)
{
	struct fixture *f = *state;
	struct vmprof_frame frame;
	const uint8_t *payload;

	assert_int_equal(put(&f->out, VMPROF_MSG_HELLO, 100, 'a'), 0);
	assert_int_equal(put(&f->out, VMPROF_MSG_MAP, 101, 'b'), 0);
	assert_int_equal(vmp_out_flush(&f->out, f->pipe[1], 0), 0);
	assert_int_equal(vmp_out_pending(&f->out), 0);

	assert_int_equal(next(f, &frame, &payload), 1);
	assert_int_equal(frame.type, VMPROF_MSG_HELLO);
	assert_int_equal(frame.seq, 0);
	assert_int_equal(next(f, &frame, &payload), 1);
	assert_int_equal(frame.len, 101);
	assert_int_equal(frame.seq, 1);
	assert_int_equal(payload[100], 'b');
	assert_int_equal(next(f, &frame, &payload), 0);
}

static void test_bounded(void **state)
{
	struct fixture *f = *state;
	size_t n = 0;

	assert_int_equal(put(&f->out, VMPROF_MSG_MAP, VMPROF_FRAME_MAX + 1, 0), -EMSGSIZE);
	while (vmp_out_has_room(&f->out, VMPROF_FRAME_MAX)) {
		assert_int_equal(put(&f->out, VMPROF_MSG_MAP, VMPROF_FRAME_MAX, 0), 0);
		n++;
	}
	assert_int_equal(n, VMP_OUT_BYTES / VMP_FRAME_BYTES_MAX);
	assert_int_equal(put(&f->out, VMPROF_MSG_MAP, VMPROF_FRAME_MAX, 0), -ENOBUFS);
	assert_int_equal(vmp_out_pending(&f->out), n * VMP_FRAME_BYTES_MAX);
}

/* A port that takes a bit at a time loses and doubles nothing. */
static void test_slow_port(void **state)
{
	struct fixture *f = *state;
	struct vmprof_frame frame;
	const uint8_t *payload;
	uint32_t sent = 0, seen = 0;
	int ret;

	while (seen < 300) {
		while (sent < 300 && !put(&f->out, VMPROF_MSG_MAP, 20000 + sent % 7, (int)sent))
			sent++;
		ret = vmp_out_flush(&f->out, f->pipe[1], 0);
		assert_true(ret == 0 || ret == 1);
		assert_int_equal(next(f, &frame, &payload), 1);
		assert_int_equal(frame.seq, seen);
		assert_int_equal(frame.len, 20000 + seen % 7);
		assert_int_equal(payload[frame.len - 1], seen & 0xff);
		seen++;
	}
	assert_int_equal(f->in.stats.bad_bytes, 0);
	assert_int_equal(f->in.stats.seq_gaps, 0);
}

/* HOST_HELLO in mid-frame: the frame that is partly out stays whole, the others go. */
static void test_restart(void **state)
{
	struct fixture *f = *state;
	struct vmprof_frame frame;
	const uint8_t *payload;
	int i;

	for (i = 0; i < 6; i++)
		assert_int_equal(put(&f->out, VMPROF_MSG_MAP, 50000, 'x'), 0);
	assert_int_equal(vmp_out_flush(&f->out, f->pipe[1], 0), 1);
	vmp_out_add_credit(&f->out, 5);
	vmp_out_restart(&f->out);
	assert_int_equal(f->out.credit, 0);
	assert_int_equal(put(&f->out, VMPROF_MSG_HELLO, 60, 'h'), 0);

	for (i = 0; i < 6; i++) {
		while (!next(f, &frame, &payload))
			assert_true(vmp_out_flush(&f->out, f->pipe[1], 0) >= 0);
		if (frame.type == VMPROF_MSG_HELLO)
			break;
	}
	assert_in_range(i, 1, 2);	/* a pipe takes 64 KiB */
	assert_int_equal(frame.seq, 0);
	assert_int_equal(f->in.stats.bad_bytes, 0);
	assert_int_equal(vmp_out_pending(&f->out), 0);
}

static int put_later(struct vmp_out *out, size_t len)
{
	static uint8_t data[VMPROF_FRAME_MAX];
	struct iovec iov = { data, len };

	return vmp_out_put_later(out, VMPROF_MSG_MAP, &iov, 1);
}

/* Bytes that come out of the pipe */
static size_t came(const struct fixture *f)
{
	static uint8_t data[1 << 16];
	ssize_t n = read(f->pipe[0], data, sizeof(data));

	return n > 0 ? (size_t)n : 0;
}

/* Frames that can wait do so until the last write is a while ago; one that cannot takes them along */
static void test_hold(void **state)
{
	struct fixture *f = *state;
	struct vmprof_frame frame;
	const uint8_t *payload;

	assert_int_equal(vmp_out_wait_ms(&f->out, 1000), -1);
	assert_int_equal(put_later(&f->out, 100), 0);
	assert_int_equal(vmp_out_wait_ms(&f->out, 1000), 0);
	assert_int_equal(vmp_out_flush(&f->out, f->pipe[1], 1000), 0);
	assert_int_equal(came(f), sizeof(frame) + 100);
	assert_int_equal(put_later(&f->out, 100), 0);
	assert_int_equal(vmp_out_wait_ms(&f->out, 1000), VMP_OUT_HOLD_MS);
	assert_int_equal(put_later(&f->out, 100), 0);
	assert_int_equal(vmp_out_flush(&f->out, f->pipe[1], 1099), 0);
	assert_int_equal(came(f), 0);
	assert_int_equal(vmp_out_wait_ms(&f->out, 1099), 1);
	assert_int_equal(vmp_out_wait_ms(&f->out, 1100), 0);
	assert_int_equal(vmp_out_flush(&f->out, f->pipe[1], 1100), 0);
	assert_int_equal(came(f), 2 * (sizeof(frame) + 100));
	assert_int_equal(vmp_out_wait_ms(&f->out, 1100), -1);

	assert_int_equal(put_later(&f->out, 100), 0);
	assert_int_equal(put(&f->out, VMPROF_MSG_DONE, sizeof(struct vmprof_token), 'd'), 0);
	assert_int_equal(put_later(&f->out, 200), 0);
	assert_int_equal(vmp_out_wait_ms(&f->out, 2000), 0);
	assert_int_equal(vmp_out_flush(&f->out, f->pipe[1], 2000), 0);
	assert_int_equal(next(f, &frame, &payload), 1);
	assert_int_equal(frame.len, 100);
	assert_int_equal(next(f, &frame, &payload), 1);
	assert_int_equal(frame.type, VMPROF_MSG_DONE);
	assert_int_equal(next(f, &frame, &payload), 1);
	assert_int_equal(frame.len, 200);

	/* what waits behind a DONE that is out waits again; at the end nothing does */
	assert_int_equal(put_later(&f->out, 100), 0);
	assert_int_equal(vmp_out_flush(&f->out, f->pipe[1], 2001), 0);
	assert_int_equal(came(f), 0);
	assert_int_equal(vmp_out_flush(&f->out, f->pipe[1], UINT64_MAX), 0);
	assert_int_equal(came(f), sizeof(frame) + 100);
}

/* As much as one write takes does not wait; and where the port takes none there is nothing to wait for but the port. */
static void test_hold_much(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(put_later(&f->out, 100), 0);
	assert_int_equal(vmp_out_flush(&f->out, f->pipe[1], 1000), 0);
	assert_true(came(f) > 0);
	assert_int_equal(put_later(&f->out, 20000), 0);
	assert_int_equal(vmp_out_flush(&f->out, f->pipe[1], 1000), 0);
	assert_int_equal(came(f), 0);
	assert_int_equal(put_later(&f->out, 20000), 0);
	assert_int_equal(vmp_out_wait_ms(&f->out, 1000), 0);
	assert_int_equal(vmp_out_flush(&f->out, f->pipe[1], 1000), 0);
	assert_int_equal(came(f), WRITE_MAX);
	assert_int_equal(vmp_out_wait_ms(&f->out, 1001), VMP_OUT_HOLD_MS - 1);
	assert_int_equal(vmp_out_flush(&f->out, f->pipe[1], 1000 + VMP_OUT_HOLD_MS), 0);
	assert_int_equal(came(f), 2 * (sizeof(struct vmprof_frame) + 20000) - WRITE_MAX);

	while (vmp_out_has_room(&f->out, 50000))
		assert_int_equal(put_later(&f->out, 50000), 0);
	assert_int_equal(vmp_out_flush(&f->out, f->pipe[1], 1000), 1);
	assert_int_equal(vmp_out_wait_ms(&f->out, 5000), -1);
	assert_true(came(f) > 0);
	assert_int_equal(vmp_out_flush(&f->out, f->pipe[1], 1000), 1);
}

static void test_credit(void **state)
{
	struct fixture *f = *state;
	uint8_t data[100] = { 0 };
	struct iovec iov = { data, sizeof(data) };

	assert_int_equal(vmp_out_bulk_room(&f->out), 0);
	assert_int_equal(vmp_out_put_bulk(&f->out, VMPROF_MSG_KSYMS, &iov, 1), -ENOBUFS);
	vmp_out_add_credit(&f->out, 150);
	assert_int_equal(vmp_out_bulk_room(&f->out), 150);
	assert_int_equal(vmp_out_put_bulk(&f->out, VMPROF_MSG_KSYMS, &iov, 1), 0);
	assert_int_equal(vmp_out_bulk_room(&f->out), 50);
	assert_int_equal(vmp_out_put_bulk(&f->out, VMPROF_MSG_KSYMS, &iov, 1), -ENOBUFS);
	assert_int_equal(f->out.credit, 50);

	vmp_out_add_credit(&f->out, UINT64_MAX);
	assert_true(f->out.credit == UINT64_MAX);
	assert_int_equal(vmp_out_bulk_room(&f->out), VMP_OUT_BULK_PAYLOAD);

	/* events that wait keep bulk out */
	assert_int_equal(put(&f->out, VMPROF_MSG_EXIT, VMP_OUT_BULK_BELOW, 0), 0);
	assert_int_equal(vmp_out_bulk_room(&f->out), 0);
	assert_int_equal(vmp_out_put_bulk(&f->out, VMPROF_MSG_KSYMS, &iov, 1), -ENOBUFS);
}

static void test_broken_port(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(put(&f->out, VMPROF_MSG_MAP, 100, 0), 0);
	assert_int_equal(vmp_out_flush(&f->out, f->pipe[0], 0), -EBADF);
	vmp_out_clear(&f->out);
	assert_int_equal(vmp_out_pending(&f->out), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slow_port, setup, teardown),
		cmocka_unit_test_setup_teardown(test_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hold, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hold_much, setup, teardown),
		cmocka_unit_test_setup_teardown(test_credit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_broken_port, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
