#include "tests/unit/gateway/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/frame.h"
#include "base/mem.h"
#include "gateway/link/link_impl.h"

#define GARBAGE_ROUNDS 400

/* A stranger's end of a link, driven by hand. */
static int stranger = -1;

static void send_frame(const struct frame *frame)
{
	uint8_t wire[sizeof(frame->type) + FRAME_MAX_BYTES];

	memcpy(wire, &frame->type, sizeof(frame->type));
	memcpy(wire + sizeof(frame->type), frame->bytes, frame->len);
	/* The other end may have hung up: that is what is looked for. */
	(void)!send(stranger, wire, sizeof(frame->type) + frame->len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void serve_stranger(bool says_hello)
{
	struct frame frame;
	int pair[2];

	fd_close(stranger);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	stranger = pair[1];
	ck_assert_int_eq(gateway_serve(fixture.gw, pair[0], 0, -1), 0);
	if (!says_hello)
		return;
	link_codec_put_hello(&frame);
	send_frame(&frame);
}

static void put_submit(struct frame *frame, uint64_t id)
{
	static const struct policy_field fields[] = { { "k", "v" }, { "l", "" } };
	static const struct policy_request request = { "GET", "/a", "q", fields, 2, false };
	struct policy_facts facts = fixture_facts("https://a.test:443", FIXTURE_EXEC);

	if (id % 2 == 0) {
		facts.request = &request;
		facts.peer = (struct addr){ AF_INET, { 192, 0, 2, 7 } };
	}
	link_codec_put_submit(frame, id, &facts);
}

static void bad_empty(struct frame *frame)
{
	frame_begin(frame, LINK_SUBMIT);
}
static void bad_type(struct frame *frame)
{
	frame_begin(frame, 99);
}
static void bad_direction(struct frame *frame)
{
	const struct policy_verdict verdict = { .action = POLICY_ALLOW };

	link_codec_put_verdict(frame, 1, &verdict);
}
static void bad_second_hello(struct frame *frame)
{
	link_codec_put_hello(frame);
}
static void bad_tail(struct frame *frame)
{
	put_submit(frame, 1);
	frame_put_u8(frame, 0);
}
static void bad_id_zero(struct frame *frame)
{
	put_submit(frame, 0);
}
static void bad_unasked_finish(struct frame *frame)
{
	link_codec_put_number(frame, LINK_FINISH, 0);
}
static void bad_future_withdrawal(struct frame *frame)
{
	link_codec_put_number(frame, LINK_WITHDRAW, 5);
}

static void put_host(struct frame *frame, const char *host, uint16_t port, uint8_t carries,
		     uint8_t way)
{
	frame_begin(frame, LINK_SUBMIT);
	frame_put_u64(frame, 1);
	frame_put_u64(frame, FIXTURE_EXEC);
	frame_put_u8(frame, carries);
	frame_put_u8(frame, way);
	frame_put_u16(frame, port);
	frame_put_text(frame, host);
}
/* What is known of a request: unknown bits, more fields than there may be, a path too long.
 */
static void put_request(struct frame *frame, uint8_t bits)
{
	put_submit(frame, 1);
	frame->len--; /* "nothing is known" */
	frame_put_u8(frame, bits);
}
static void bad_request_bits(struct frame *frame)
{
	put_request(frame, 0x20);
}
static void bad_request_fields(struct frame *frame)
{
	put_request(frame, 0x08);
	frame_put_u8(frame, 129);
	for (int i = 0; i < 2 * 129; i++)
		frame_put_text(frame, "x");
}
static void bad_request_path(struct frame *frame)
{
	char path[POLICY_PATH_MAX + 1];

	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	put_request(frame, 0x02);
	frame_put_text(frame, path);
}
/* What a person would read is what would be granted: only the canonical form passes. */
static void bad_upper_case(struct frame *frame)
{
	put_host(frame, "A.test", 443, POLICY_HTTPS, POLICY_WAY_CONNECT);
}
static void bad_dot(struct frame *frame)
{
	put_host(frame, "a.test.", 443, POLICY_HTTPS, POLICY_WAY_CONNECT);
}
static void bad_escape(struct frame *frame)
{
	put_host(frame, "a\x1b[2J.test", 443, POLICY_HTTPS, POLICY_WAY_CONNECT);
}
static void bad_number_host(struct frame *frame)
{
	put_host(frame, "0x7f.1", 443, POLICY_HTTPS, POLICY_WAY_CONNECT);
}
static void bad_no_host(struct frame *frame)
{
	put_host(frame, "", 0, POLICY_HTTPS, POLICY_WAY_CONNECT);
}
static void bad_port(struct frame *frame)
{
	put_host(frame, "a.test", 0, POLICY_HTTPS, POLICY_WAY_CONNECT);
}
static void bad_protocol(struct frame *frame)
{
	put_host(frame, "a.test", 443, 200, POLICY_WAY_CONNECT);
}
static void bad_way(struct frame *frame)
{
	put_host(frame, "a.test", 443, POLICY_HTTPS, 200);
}
static void bad_long_host(struct frame *frame)
{
	char host[1000];

	memset(host, 'a', sizeof(host) - 1);
	host[sizeof(host) - 1] = '\0';
	put_host(frame, host, 443, POLICY_HTTPS, POLICY_WAY_CONNECT);
}
static void bad_report_action(struct frame *frame)
{
	struct gateway_report report = { .verdict = { .action = POLICY_ASK } };

	link_codec_put_report(frame, 0, &report);
}
static void bad_report_reason(struct frame *frame)
{
	struct gateway_report report = { .closed = (enum policy_reason)5000 };

	link_codec_put_report(frame, 0, &report);
}
static void bad_report_address(struct frame *frame)
{
	struct gateway_report report = { .resolved = { .family = AF_INET, .bytes = { [9] = 1 } } };

	link_codec_put_report(frame, 0, &report);
}

/* A ticket that nobody has. */
static void bad_report_ticket(struct frame *frame)
{
	struct gateway_report report = { .verdict = { .action = POLICY_ALLOW } };

	link_codec_put_report(frame, 7, &report);
}
/* It is the gateway that cuts. */
static void bad_cut(struct frame *frame)
{
	link_codec_put_cut(frame, 1, &(struct policy_verdict){ .reason = POLICY_DENIED_SINCE });
}

/* Of a ticket that nobody has; and it is the gateway that gives. */
static void bad_spent(struct frame *frame)
{
	link_codec_put_spent(frame, 7, &(struct gateway_spent){ 0 });
}
static void bad_lease(struct frame *frame)
{
	link_codec_put_lease(frame, 1, &(struct gateway_lease){ .may = { 1, 1 } });
}

/* It is the gateway that tells. */
static void bad_note(struct frame *frame)
{
	link_codec_put_note(frame, FIXTURE_EXEC, "python3: connect");
}

static void (*const bad_frames[])(struct frame *) = {
	bad_request_bits,
	bad_request_fields,
	bad_request_path,
	bad_report_ticket,
	bad_cut,
	bad_spent,
	bad_lease,
	bad_note,
	bad_empty,
	bad_type,
	bad_direction,
	bad_second_hello,
	bad_tail,
	bad_id_zero,
	bad_upper_case,
	bad_dot,
	bad_escape,
	bad_number_host,
	bad_no_host,
	bad_port,
	bad_protocol,
	bad_way,
	bad_long_host,
	bad_report_action,
	bad_report_reason,
	bad_report_address,
	bad_unasked_finish,
	bad_future_withdrawal,
};

START_TEST(a_frame_that_is_none_cuts_the_link)
{
	struct frame frame;

	fixture_open(NULL);
	serve_stranger(true);
	fixture_settle();
	ck_assert_uint_eq(fixture.workers_gone, 0);
	bad_frames[_i](&frame);
	send_frame(&frame);
	fixture_settle();
	ck_assert_uint_eq(fixture.workers_gone, 1);
	ck_assert_uint_eq(fixture.approver.asked, 0);
	fd_close(stranger);
	fixture_close();
}
END_TEST

/* It would end what it has no verdict for. */
START_TEST(a_report_of_what_is_undecided_cuts_the_link)
{
	struct gateway_report report = { .verdict = { .action = POLICY_ALLOW } };
	struct frame frame;

	fixture_open(NULL);
	serve_stranger(true);
	put_submit(&frame, 1);
	send_frame(&frame);
	fixture_settle();
	ck_assert_uint_eq(fixture.approver.asked, 1);
	link_codec_put_report(&frame, 1, &report);
	send_frame(&frame);
	fixture_settle();
	ck_assert_uint_eq(fixture.workers_gone, 1);
	ck_assert_uint_eq(fixture.approver.retracted, 1);
	fd_close(stranger);
	fixture_close();
}
END_TEST

START_TEST(a_good_frame_does_not)
{
	struct frame frame;

	fixture_open(NULL);
	serve_stranger(true);
	put_submit(&frame, 1);
	send_frame(&frame);
	fixture_settle();
	ck_assert_uint_eq(fixture.workers_gone, 0);
	ck_assert_uint_eq(fixture.approver.asked, 1);
	/* Ids rise. */
	send_frame(&frame);
	fixture_settle();
	ck_assert_uint_eq(fixture.workers_gone, 1);
	ck_assert_uint_eq(fixture.approver.retracted, 1);
	fd_close(stranger);
	fixture_close();
}
END_TEST

START_TEST(no_hello_no_service)
{
	struct frame frame;

	fixture_open(NULL);
	serve_stranger(false);
	if (_i == 0) {
		put_submit(&frame, 1);
	} else { /* another version */
		frame_begin(&frame, LINK_HELLO);
		frame_put_u32(&frame, LINK_VERSION + 1);
		frame_put_u32(&frame, POLICY_REASON_COUNT);
	}
	send_frame(&frame);
	fixture_settle();
	ck_assert_uint_eq(fixture.workers_gone, 1);
	ck_assert_uint_eq(fixture.approver.asked, 0);
	fd_close(stranger);
	fixture_close();
}
END_TEST

START_TEST(descriptors_from_a_worker_cut_the_link)
{
	struct frame frame;
	uint8_t wire[64];

	fixture_open(NULL);
	serve_stranger(true);
	put_submit(&frame, 1);
	memcpy(wire, &frame.type, sizeof(frame.type));
	memcpy(wire + sizeof(frame.type), frame.bytes, frame.len);
	ck_assert_int_eq(fd_send(stranger, wire, sizeof(frame.type) + frame.len, &stranger, 1), 0);
	fixture_settle();
	ck_assert_uint_eq(fixture.workers_gone, 1);
	fd_close(stranger);
	fixture_close();
}
END_TEST

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Nearly valid frames, and random ones. Nothing may crash, and the state of the connected workers
 * stays consistent. */
static void make_garbage(struct frame *frame, uint32_t *state)
{
	struct gateway_report report = { .cause = "cause" };
	const struct policy_verdict verdict = { .action = POLICY_ALLOW, .rule = "r", .by = "b" };
	const struct policy_verdict over = { .reason = POLICY_DENIED_SINCE, .rule = "r" };
	const struct gateway_spent spent = { .needs = { true, true } };
	const struct gateway_lease lease = { .may = { 9, 9 } };
	uint32_t kind = random_next(state) % 10;

	if (kind == 0)
		put_submit(frame, random_next(state) % 8);
	else if (kind == 1)
		link_codec_put_report(frame, random_next(state) % 8, &report);
	else if (kind == 2)
		link_codec_put_number(frame, LINK_WITHDRAW, random_next(state) % 8);
	else if (kind == 3)
		link_codec_put_verdict(frame, random_next(state) % 8, &verdict);
	else if (kind == 4)
		link_codec_put_cut(frame, random_next(state) % 8, &over);
	else if (kind == 5)
		link_codec_put_spent(frame, random_next(state) % 8, &spent);
	else if (kind == 6)
		link_codec_put_lease(frame, random_next(state) % 8, &lease);
	else if (kind == 7)
		link_codec_put_note(frame, random_next(state) % 8, "python3: connect");
	else
		frame_begin(frame, (uint16_t)(random_next(state) % 15));
	for (uint32_t i = random_next(state) % 4; kind < 8 && i > 0 && frame->len > 0; i--)
		frame->bytes[random_next(state) % frame->len] = (uint8_t)random_next(state);
	for (uint32_t i = random_next(state) % 40; kind >= 8 && i > 0; i--)
		frame_put_u8(frame, (uint8_t)random_next(state));
	if (random_next(state) % 4 == 0 && frame->len > 0)
		frame->len = random_next(state) % frame->len;
}

/* One line in the log for each link that is cut. */
static void be_quiet(void)
{
	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
}

START_TEST(garbage_to_the_gateway_never_crashes)
{
	uint32_t state = 1;
	struct frame frame;

	be_quiet();
	fixture_open(NULL);
	serve_stranger(true);
	for (int i = 0; i < GARBAGE_ROUNDS; i++) {
		unsigned int gone = fixture.workers_gone;

		make_garbage(&frame, &state);
		send_frame(&frame);
		for (int step = 0; step < 4; step++)
			loop_step(fixture.loop);
		if (fixture.workers_gone != gone)
			serve_stranger(true);
	}
	ck_assert_uint_gt(fixture.workers_gone, 50);
	fd_close(stranger);
	fixture_close();
}
END_TEST

static unsigned int gone;

static void on_exec(uint64_t exec, int *fds, size_t count, void *arg)
{
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
}

static void on_gone(void *arg)
{
	gone++;
}

START_TEST(garbage_to_the_worker_never_crashes)
{
	const struct policy_facts facts = fixture_facts("https://a.test:443", FIXTURE_EXEC);
	uint32_t state = 7;
	unsigned int gone_ever = 0;
	struct loop *loop = loop_new_fake();

	be_quiet();
	for (int i = 0; i < GARBAGE_ROUNDS; i++) {
		struct fixture_request request = { 0 };
		struct gateway_client *client;
		struct frame frame;
		int pair[2];

		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
		stranger = pair[1];
		gone = 0;
		client = gateway_client_connect(loop, pair[0], on_exec, on_gone, NULL);
		request.ticket = gateway_submit(client, &facts, fixture_on_verdict, &request);
		link_codec_put_hello(&frame);
		send_frame(&frame);
		for (int n = 0; n < 4; n++) {
			make_garbage(&frame, &state);
			send_frame(&frame);
		}
		for (int step = 0; step < 8; step++)
			loop_step(loop);
		if (gone) /* the waiting requests were denied, or a frame allowed them */
			ck_assert_uint_eq(request.told, 1);
		gone_ever += gone;
		gateway_client_free(client);
		fd_close(stranger);
	}
	ck_assert_uint_gt(gone_ever, 50);
	loop_free(loop);
}
END_TEST

START_TEST(a_verdict_frame_is_small)
{
	const struct policy_verdict verdict = { .action = POLICY_ALLOW,
						.reason = POLICY_DEFAULT_ALLOW };
	struct policy_verdict again;
	struct frame frame;
	uint64_t id;

	link_codec_put_verdict(&frame, UINT64_MAX, &verdict);
	ck_assert_uint_lt(frame.len, 20);
	memset(&again, 0x5a, sizeof(again));
	ck_assert_int_eq(link_codec_get_verdict(&frame, &id, &again), 0);
	ck_assert_uint_eq(id, UINT64_MAX);
	ck_assert_str_eq(again.rule, "");
	ck_assert_int_eq(again.reason, POLICY_DEFAULT_ALLOW);
}
END_TEST

START_TEST(a_long_note_is_cut)
{
	char longer[2 * GATEWAY_NOTE_MAX], text[GATEWAY_NOTE_MAX];
	struct frame frame;
	uint64_t exec;

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	link_codec_put_note(&frame, 7, longer);
	ck_assert_int_eq(link_codec_get_note(&frame, &exec, text), 0);
	ck_assert_uint_eq(exec, 7);
	ck_assert_uint_eq(strlen(text), sizeof(text) - 1);
	link_codec_put_note(&frame, 7, "short");
	frame_put_u8(&frame, 0);
	ck_assert_int_eq(link_codec_get_note(&frame, &exec, text), -EBADMSG);
}
END_TEST

Suite *suite_link_frames(void)
{
	Suite *suite = suite_create("link frames");
	TCase *tcase = tcase_create("frames");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, a_frame_that_is_none_cuts_the_link, 0,
			    sizeof(bad_frames) / sizeof(bad_frames[0]));
	tcase_add_test(tcase, a_report_of_what_is_undecided_cuts_the_link);
	tcase_add_test(tcase, a_good_frame_does_not);
	tcase_add_loop_test(tcase, no_hello_no_service, 0, 2);
	tcase_add_test(tcase, descriptors_from_a_worker_cut_the_link);
	tcase_add_test(tcase, garbage_to_the_gateway_never_crashes);
	tcase_add_test(tcase, garbage_to_the_worker_never_crashes);
	tcase_add_test(tcase, a_verdict_frame_is_small);
	tcase_add_test(tcase, a_long_note_is_cut);
	suite_add_tcase(suite, tcase);
	return suite;
}
