#include "tests/unit/base/test_base.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/frame.h"
#include "base/loop.h"

struct heard {
	unsigned int frames, closed;
	size_t fds;
	uint32_t last;
};

static void on_frame(struct frame *frame, int *fds, size_t count, void *arg)
{
	struct heard *heard = arg;

	heard->frames++;
	heard->fds += count;
	heard->last = frame_get_u32(frame);
	ck_assert(frame_is_whole(frame) || frame->len == FRAME_MAX_BYTES);
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
}

static void on_closed(void *arg)
{
	((struct heard *)arg)->closed++;
}

START_TEST(reads_what_was_written)
{
	static struct frame frame;
	char text[8], small[3];

	frame_begin(&frame, 7);
	frame_put_u8(&frame, 1);
	frame_put_u64(&frame, 1ULL << 40);
	frame_put_text(&frame, "hello");
	frame_put_text(&frame, NULL);
	ck_assert_uint_eq(frame_get_u8(&frame), 1);
	ck_assert_uint_eq(frame_get_u64(&frame), 1ULL << 40);
	frame_get_text(&frame, text, sizeof(text));
	ck_assert_str_eq(text, "hello");
	ck_assert(!frame_is_whole(&frame));
	frame_get_text(&frame, small, sizeof(small));
	ck_assert_str_eq(small, "");
	ck_assert(frame_is_whole(&frame));
	ck_assert_uint_eq(frame_get_u16(&frame), 0);
	ck_assert(frame.is_bad);
}
END_TEST

START_TEST(refuses_text_that_does_not_fit)
{
	static struct frame frame;
	char small[4];

	frame_begin(&frame, 1);
	frame_put_text(&frame, "toolong");
	frame_get_text(&frame, small, sizeof(small));
	ck_assert(frame.is_bad);
	ck_assert_str_eq(small, "");

	frame_begin(&frame, 1);
	frame_put_bytes(&frame, "a\0b", 3);
	frame_get_text(&frame, small, sizeof(small));
	ck_assert(frame.is_bad);
}
END_TEST

START_TEST(link_keeps_order_and_passes_descriptors)
{
	static struct frame frame;
	struct heard heard = { 0 }, other = { 0 };
	struct loop *loop = loop_new_fake();
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	struct frame_link *left = frame_link_new(loop, pair[0], on_frame, on_closed, &heard);
	struct frame_link *right = frame_link_new(loop, pair[1], on_frame, on_closed, &other);

	for (uint32_t i = 1; i <= 5000; i++) { /* more than the kernel takes at once */
		int fd = i % 100 == 0 ? dup(0) : -1;

		frame_begin(&frame, 1);
		frame_put_u32(&frame, i);
		ck_assert_int_eq(frame_link_send(left, &frame, &fd, fd >= 0), 0);
	}
	for (int i = 0; i < 1000 && other.frames < 5000; i++)
		loop_step(loop);
	ck_assert_uint_eq(other.frames, 5000);
	ck_assert_uint_eq(other.last, 5000);
	ck_assert_uint_eq(other.fds, 50);
	frame_link_free(left);
	loop_step(loop);
	loop_step(loop);
	ck_assert_uint_eq(other.closed, 1);
	frame_begin(&frame, 1);
	ck_assert_int_eq(frame_link_send(right, &frame, NULL, 0), -EPIPE);
	frame_link_free(right);
	loop_free(loop);
}
END_TEST

/* The frames of a turn arrive in order whatever they hold, also those that were sent just before
 * the link is freed. */
START_TEST(link_sends_what_a_turn_has_left)
{
	static struct frame frame;
	struct heard heard = { 0 }, other = { 0 };
	struct loop *loop = loop_new_fake();
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	struct frame_link *left = frame_link_new(loop, pair[0], on_frame, on_closed, &heard);
	struct frame_link *right = frame_link_new(loop, pair[1], on_frame, on_closed, &other);

	frame_begin(&frame, 1);
	frame_put_u32(&frame, 1);
	frame_link_send_later(left, &frame);
	loop_step(loop);
	ck_assert_uint_eq(other.frames, 0);
	loop_advance(loop, 10);
	ck_assert_uint_eq(other.last, 1);
	for (uint32_t i = 2; i <= 200; i++) {
		frame_begin(&frame, 1);
		frame_put_u32(&frame, i);
		if (i % 50 == 0) /* only the last of a batch is long */
			frame.len = FRAME_MAX_BYTES;
		if (i % 3 == 0)
			frame_link_send_later(left, &frame);
		else
			ck_assert_int_eq(frame_link_send(left, &frame, NULL, 0), 0);
	}
	frame_link_free(left);
	loop_advance(loop, 10);
	ck_assert_uint_eq(other.frames, 200);
	ck_assert_uint_eq(other.last, 200);
	ck_assert_uint_eq(other.closed, 1);
	frame_link_free(right);
	loop_free(loop);
}
END_TEST

START_TEST(link_that_does_not_keep_up_is_closed)
{
	static struct frame frame;
	struct heard heard = { 0 };
	struct loop *loop = loop_new_fake();
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	struct frame_link *left = frame_link_new(loop, pair[0], on_frame, on_closed, &heard);

	frame_begin(&frame, 1);
	frame_put_u32(&frame, 1);
	for (int i = 0; i < FRAME_QUEUE_MAX + 2000; i++)
		(void)frame_link_send(left, &frame, NULL, 0);
	ck_assert_uint_eq(heard.closed, 0); /* never from inside the call */
	loop_step(loop);
	ck_assert_uint_eq(heard.closed, 1);
	frame_link_free(left);
	close(pair[1]);
	loop_free(loop);
}
END_TEST

TCase *test_frame(void)
{
	TCase *tcase = tcase_create("frame");

	tcase_add_test(tcase, reads_what_was_written);
	tcase_add_test(tcase, refuses_text_that_does_not_fit);
	tcase_add_test(tcase, link_keeps_order_and_passes_descriptors);
	tcase_add_test(tcase, link_sends_what_a_turn_has_left);
	tcase_add_test(tcase, link_that_does_not_keep_up_is_closed);
	return tcase;
}
