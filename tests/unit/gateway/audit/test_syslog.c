/* The sink of --syslog, with a receiver of the test's own that is slow, gone or back again. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/audit/syslog/syslog.h"
#include "gateway/audit/syslog/syslog_text.h"
#include "gateway/gateway_syslog.h"

#define RECEIVE_MS 60000

static const struct policy_facts facts = {
	.dst = { .host = "a.test", .protocol = POLICY_HTTPS, .port = 443 },
	.way = POLICY_WAY_CONNECT,
};
static const struct policy_verdict denied = { .action = POLICY_DENY, .reason = POLICY_RULE_DENY };
static const struct sink_record record = {
	.event = SINK_DECISION,
	.wall_us = INT64_C(1700000000123456),
	.session = "nightly",
	.run = "7f3a",
	.exec = 1,
	.facts = &facts,
	.verdict = &denied,
	.reason = POLICY_RULE_DENY,
};

/* The receiver, and the sink that sends to it. */
static struct {
	struct gateway_syslog to;
	int listener, fd; /* of the receiver */
	struct loop *loop;
	struct sink *sink;
	char bytes[1 << 20];
	size_t len;
	uint64_t arrived, told, next; /* records; dropped ones; the number of the next message */
} stage;

static void stage_listen(int type)
{
	struct sockaddr_in *address = (struct sockaddr_in *)&stage.to.address;

	memset(&stage, 0, sizeof(stage));
	stage.to = (struct gateway_syslog){ .name = "here", .type = type };
	stage.to.address_len = sizeof(*address);
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	stage.listener = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(stage.listener, 0);
	ck_assert_int_eq(bind(stage.listener, (struct sockaddr *)address, sizeof(*address)), 0);
	ck_assert_int_eq(
		getsockname(stage.listener, (struct sockaddr *)address, &stage.to.address_len), 0);
	if (type == SOCK_STREAM)
		ck_assert_int_eq(listen(stage.listener, 4), 0);
	stage.fd = -1;
	stage.next = 1;
}

static void stage_open(void)
{
	const struct gateway_config config = { .syslog = &stage.to };

	stage.loop = loop_new();
	stage.sink = syslog_ops.open(&config, NULL);
	ck_assert_ptr_nonnull(stage.sink);
	syslog_ops.attach(stage.sink, stage.loop);
}

static void stage_accept(void)
{
	struct pollfd poller = { .fd = stage.listener, .events = POLLIN };

	for (int64_t until_ms = loop_clock_ms() + RECEIVE_MS; poll(&poller, 1, 10) == 0;) {
		ck_assert_int_lt(loop_clock_ms(), until_ms);
		loop_step(stage.loop);
	}
	stage.fd = accept4(stage.listener, NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ge(stage.fd, 0);
}

static void stage_put(const struct sink_record *one)
{
	ck_assert_int_eq(syslog_ops.write(stage.sink, one, NULL), 0);
	ck_assert_int_eq(syslog_ops.commit(stage.sink, NULL), 0);
	ck_assert_int_eq(syslog_ops.publish(stage.sink, false, NULL), 0);
}

static uint64_t number_after(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	ck_assert_msg(at != NULL, "%s lacks %s", text, name);
	return strtoull(at + strlen(name), NULL, 10);
}

static void stage_count(char *message)
{
	ck_assert_uint_eq(number_after(message, " [sallyport@32473 seq=\""), stage.next);
	stage.next++;
	if (strstr(message, " event=\"dropped\""))
		stage.told += number_after(message, " dropped=\"");
	else
		stage.arrived++;
}

/* Counts the whole messages of a connection. False: it is at its end. */
static bool stage_receive(void)
{
	ssize_t n = recv(stage.fd, stage.bytes + stage.len, sizeof(stage.bytes) - stage.len - 1,
			 MSG_DONTWAIT);

	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	stage.len += (size_t)n;
	char *at = stage.bytes, *end = at + stage.len;

	for (;;) {
		char *blank = memchr(at, ' ', (size_t)(end - at));
		uint64_t len;

		if (!blank)
			break;
		ck_assert_int_eq(text_to_u64(at, (size_t)(blank - at), 9999, &len), 0);
		if ((size_t)(end - blank - 1) < len)
			break;
		auto_free char *message = mem_strndup(blank + 1, len);

		stage_count(message);
		at = blank + 1 + len;
	}
	stage.len = (size_t)(end - at);
	memmove(stage.bytes, at, stage.len);
	return true;
}

static void stage_receive_until(uint64_t count)
{
	int64_t until_ms = loop_clock_ms() + RECEIVE_MS;

	while (stage.arrived + stage.told < count) {
		ck_assert_msg(loop_clock_ms() < until_ms, "%llu arrived, %llu were dropped",
			      (unsigned long long)stage.arrived, (unsigned long long)stage.told);
		loop_step(stage.loop);
		ck_assert(stage_receive());
	}
}

static void stage_close(void)
{
	syslog_ops.close(stage.sink);
	fd_close(stage.fd);
	fd_close(stage.listener);
	loop_free(stage.loop);
}

/* More than the queue and the kernel's buffers hold. */
START_TEST(a_slow_receiver_costs_records_that_are_counted)
{
	uint64_t put = 5 * SYSLOG_QUEUE_MAX;
	struct policy_verdict wide = denied;
	struct sink_record one = record;
	int64_t until_ms = loop_clock_ms() + RECEIVE_MS;

	memset(wide.rule, 'r', sizeof(wide.rule) - 1);
	one.verdict = &wide;
	one.command = one.program = one.cause = wide.rule;
	stage_listen(SOCK_STREAM);
	stage_open();
	stage_accept();
	for (uint64_t i = 0; i < put; i++) { /* nothing is received */
		stage_put(&one);
		loop_step(stage.loop);
	}
	while (stage.told == 0) { /* until a record has room, which tells it */
		ck_assert_int_lt(loop_clock_ms(), until_ms);
		loop_step(stage.loop);
		ck_assert(stage_receive());
		stage_put(&one);
		put++;
	}
	stage_receive_until(put);
	ck_assert_uint_eq(stage.arrived + stage.told, put);
	ck_assert_uint_gt(stage.told, SYSLOG_QUEUE_MAX);
	stage_put(&one); /* and goes on */
	stage_receive_until(put + 1);
	stage_close();
}
END_TEST

/* The message that was sent in part is sent again as a whole. */
START_TEST(a_receiver_that_comes_back_gets_the_rest)
{
	uint64_t before;

	stage_listen(SOCK_STREAM);
	stage_open();
	stage_accept();
	for (int i = 0; i < 100; i++)
		stage_put(&record);
	stage_receive_until(100);
	fd_close(fd_take(&stage.fd));
	stage.len = 0;
	loop_step(stage.loop);
	before = stage.arrived;
	for (int i = 0; i < 50; i++)
		stage_put(&record);
	stage_accept();
	stage_receive_until(before + 50);
	stage_close();
}
END_TEST

START_TEST(a_receiver_that_comes_late_gets_everything)
{
	stage_listen(SOCK_STREAM);
	fd_close(fd_take(&stage.listener)); /* it refuses */
	stage_open();
	for (int i = 0; i < 50; i++) {
		stage_put(&record);
		loop_step(stage.loop);
	}
	stage.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(stage.listener, 0);
	ck_assert_int_eq(
		setsockopt(stage.listener, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)), 0);
	ck_assert_int_eq(
		bind(stage.listener, (struct sockaddr *)&stage.to.address, stage.to.address_len),
		0);
	ck_assert_int_eq(listen(stage.listener, 4), 0);
	stage_accept();
	stage_receive_until(50);
	stage_close();
}
END_TEST

/* At the end, one that takes nothing gets a limited time, and one that is not there none. */
START_TEST(the_end_does_not_wait_for_a_receiver)
{
	stage_listen(SOCK_STREAM);
	stage_open();
	for (int i = 0; i < 2 * SYSLOG_QUEUE_MAX; i++)
		stage_put(&record);
	stage_close();
	stage_listen(SOCK_DGRAM);
	fd_close(fd_take(&stage.listener));
	stage_open();
	for (int i = 0; i < 100; i++)
		stage_put(&record);
	stage_close();
}
END_TEST

/* What another sink could not store did not take effect. */
START_TEST(denied_requests_are_forgotten_if_the_log_fails)
{
	struct sink_record awaited = record, other = record;

	stage_listen(SOCK_STREAM);
	stage_open();
	stage_accept();
	awaited.is_awaited = true;
	awaited.run = "awaited";
	other.run = "other";
	ck_assert_int_eq(syslog_ops.write(stage.sink, &awaited, NULL), 0);
	ck_assert_int_eq(syslog_ops.write(stage.sink, &other, NULL), 0);
	syslog_ops.forget(stage.sink);
	stage_put(&record);
	stage_receive_until(2);
	ck_assert_uint_eq(stage.arrived, 2);
	stage_put(&record);
	stage_receive_until(3);
	stage_close();
}
END_TEST

static const char head[] = "<84>1 2023-11-14T22:13:20.123456Z ";

static void expect_text(const struct sink_record *one, const char *part)
{
	struct syslog_text_origin origin;
	char text[SYSLOG_TEXT_MAX + 1];
	size_t at, len;

	syslog_text_origin(&origin);
	len = syslog_text_record(&origin, one, text, &at);
	ck_assert_uint_le(len + TEXT_DIGITS_MAX, SYSLOG_TEXT_MAX);
	text[len] = '\0';
	ck_assert_msg(strstr(text, part) != NULL, "%s lacks %s", text, part);
	ck_assert_msg(strncmp(text + at, "\" run=\"", 7) == 0 || !one->run, "%s", text + at);
	for (size_t i = 0; i < len; i++)
		ck_assert_msg(text[i] >= ' ' && text[i] <= '~', "byte %d", text[i]);
}

START_TEST(hostile_text_stays_in_its_place)
{
	static const char hostile[] = "a\"]b\\\n[c]\r\x1b[31m\xff\xc3\xa4\x7f";
	struct policy_verdict verdict = denied;
	struct policy_facts far = facts;
	struct sink_record one = record;
	const struct sink_record empty = { .event = SINK_CLOSED };

	expect_text(&one, head);
	expect_text(&one, " run=\"7f3a\" session=\"nightly\" exec=\"1\" event=\"decision\" "
			  "way=\"connect\" host=\"a.test\" protocol=\"https\" port=\"443\" "
			  "action=\"deny\" reason=\"rule_deny\"] decision: deny "
			  "https://a.test:443 (rule_deny)");
	one.program = hostile;
	expect_text(&one, " program=\"a\\\"\\]b\\\\\\\\x0a[c\\]\\\\x0d\\\\x1b[31m\\\\xff\\\\xc3"
			  "\\\\xa4\\\\x7f\"");
	(void)snprintf(far.dst.host, sizeof(far.dst.host), "%s", hostile);
	one.facts = &far;
	expect_text(&one, "] decision: deny https://a\"]b\\\\x0a[c]");
	memset(verdict.rule, '\xff', sizeof(verdict.rule) - 1); /* each is five bytes */
	one.verdict = &verdict;
	one.command = one.program = one.cause = verdict.rule;
	expect_text(&one, "\\\\xff...\"");
	expect_text(&one, "] decision");
	expect_text(&empty, "event=\"closed\"] closed:");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("syslog");
	TCase *tcase = tcase_create("syslog");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_slow_receiver_costs_records_that_are_counted);
	tcase_add_test(tcase, a_receiver_that_comes_back_gets_the_rest);
	tcase_add_test(tcase, a_receiver_that_comes_late_gets_everything);
	tcase_add_test(tcase, the_end_does_not_wait_for_a_receiver);
	tcase_add_test(tcase, denied_requests_are_forgotten_if_the_log_fails);
	tcase_add_test(tcase, hostile_text_stays_in_its_place);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
