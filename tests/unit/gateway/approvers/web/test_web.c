#include "tests/unit/gateway/approvers/web/test_web.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "gateway/approvers/table.h"
#include "gateway/audit/sink_impl.h"

static unsigned int count_of(const char *text, const char *what)
{
	unsigned int count = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		count++;
	}
	return count;
}

/* What was said since the last time. */
static const char *news(struct visitor *visitor)
{
	size_t from = visitor->len;

	loop_advance(stage.loop, WEB_FLUSH_MS);
	visitor_read(visitor);
	return visitor->text + from;
}

START_TEST(is_waited_for_until_it_was_there)
{
	struct visitor first, second;

	ck_assert(stage_is_attached());
	loop_advance(stage.loop, 3600 * 1000);
	ck_assert(stage_is_attached());
	ck_assert_uint_eq(stage.changed_count, 0);

	stage_watch(&first);
	ck_assert_uint_eq(stage.changed_count, 1);
	stage_watch(&second);
	visitor_close(&first);
	loop_advance(stage.loop, 10 * WEB_GRACE_MS);
	ck_assert(stage_is_attached());
	ck_assert_uint_eq(stage.changed_count, 1);
	visitor_close(&second);
}
END_TEST

START_TEST(last_page_that_leaves_is_told)
{
	struct visitor visitor;

	stage_watch(&visitor);
	visitor_close(&visitor);
	loop_advance(stage.loop, WEB_GRACE_MS - 1);
	ck_assert(stage_is_attached());
	ck_assert_uint_eq(stage.changed_count, 1);
	loop_advance(stage.loop, 1);
	ck_assert(!stage_is_attached());
	ck_assert_uint_eq(stage.changed_count, 2);

	stage_watch(&visitor); /* and comes back */
	ck_assert(stage_is_attached());
	ck_assert_uint_eq(stage.changed_count, 3);
	visitor_close(&visitor);
}
END_TEST

START_TEST(page_that_is_loaded_again_was_never_gone)
{
	struct visitor visitor;

	stage_watch(&visitor);
	visitor_close(&visitor);
	loop_advance(stage.loop, WEB_GRACE_MS - 1);
	stage_watch(&visitor);
	loop_advance(stage.loop, 10 * WEB_GRACE_MS);
	ck_assert(stage_is_attached());
	visitor_close(&visitor);
}
END_TEST

/* A page that only loads, or asks for one thing, is not somebody who is there. */
START_TEST(requests_are_not_attendance)
{
	struct visitor visitor;

	stage_watch(&visitor);
	visitor_close(&visitor);
	loop_advance(stage.loop, WEB_GRACE_MS);
	ck_assert_int_eq(
		stage_post(&visitor, "/api/text", "{\"question\":\"q-1\",\"action\":\"allow\"}"),
		409);
	ck_assert(!stage_is_attached());
	visitor_close(&visitor);
}
END_TEST

START_TEST(questions_come_change_and_go)
{
	struct visitor visitor;
	const char *text;

	stage_watch(&visitor);
	ck_assert_ptr_nonnull(strstr(visitor.text, "event: hello\ndata: {\"run\":\"7f3a\""));
	ck_assert_ptr_nonnull(
		strstr(visitor.text, "event: questions\ndata: {\"list\":[],\"count\":0}\n\n"));
	struct approver_question *question = stage_ask("q-1", "a.test");

	text = news(&visitor);
	ck_assert_ptr_nonnull(strstr(text, "\"id\":\"q-1\",\"to\":\"https://a.test:443\""));
	ck_assert_ptr_nonnull(strstr(text, "\"waiting\":1,"));
	question->waiting = 7;
	web_approver.changed(stage.approver, question);
	ck_assert_ptr_nonnull(strstr(news(&visitor), "\"waiting\":7,"));
	stage_retract("q-1", "allowed once by ana on tty");
	text = news(&visitor);
	ck_assert_ptr_nonnull(strstr(text, "{\"list\":[],\"count\":0}"));
	ck_assert_ptr_nonnull(strstr(text, "\"event\":\"settled\""));
	ck_assert_ptr_nonnull(strstr(text, "\"id\":\"q-1\""));
	ck_assert_ptr_nonnull(strstr(text, "\"how\":\"allowed once by ana on tty\""));
	ck_assert_str_eq(news(&visitor), ""); /* nothing happened: nothing is said */
	visitor_close(&visitor);
}
END_TEST

START_TEST(late_page_is_told_all)
{
	struct visitor visitor;

	for (int i = 0; i < 250; i++) {
		auto_free char *id = mem_printf("q-%d", i);

		stage_ask(id, "a.test");
	}
	stage.live_count = stage.grant_count = 130;
	stage_watch(&visitor);
	ck_assert_uint_eq(count_of(visitor.text, "\"id\":\"q-"), WEB_SHOWN_MAX);
	ck_assert_ptr_nonnull(strstr(visitor.text, "\"count\":250}"));
	ck_assert_uint_eq(count_of(visitor.text, "https://live.test:443"), WEB_SHOWN_MAX);
	ck_assert_uint_eq(count_of(visitor.text, "\"text\":\"https://granted.test:443\""),
			  WEB_SHOWN_MAX + 1); /* and the last answer, wherever it stands */
	ck_assert_uint_eq(count_of(visitor.text, "\"count\":130"), 2);
	visitor_close(&visitor);
}
END_TEST

static void hear(enum sink_event event, enum policy_action action, uint16_t port)
{
	const struct policy_facts facts = {
		.dst = { .host = "heard.test", .protocol = POLICY_TCP, .port = port }
	};
	const struct policy_verdict verdict = { .action = action, .reason = POLICY_RULE_DENY };
	const struct sink_record record = { .event = event,
					    .wall_us = 1700000000000000,
					    .facts = &facts,
					    .verdict = &verdict,
					    .reason = POLICY_RULE_DENY,
					    .bytes_up = UINT64_MAX };

	web_approver.heard(stage.approver, &record);
}

START_TEST(records_are_told_once)
{
	struct visitor visitor;
	const char *text;

	hear(SINK_DECISION, POLICY_DENY, 1);
	stage_watch(&visitor);
	ck_assert_uint_eq(count_of(visitor.text, "tcp://heard.test:1\""), 2); /* and as a denial */
	hear(SINK_DECISION, POLICY_ALLOW, 2);
	text = news(&visitor);
	ck_assert_uint_eq(count_of(text, "tcp://heard.test:2\""), 1);
	ck_assert_ptr_null(strstr(text, "heard.test:1\""));
	visitor_close(&visitor);
}
END_TEST

START_TEST(records_have_their_names)
{
	struct visitor visitor;

	for (int event = SINK_START; event < SINK_EVENT_COUNT; event++)
		hear((enum sink_event)event, POLICY_ALLOW, 1);
	stage_watch(&visitor);
	ck_assert_ptr_nonnull(strstr(visitor.text, "\"event\":\"policy_reloaded\""));
	ck_assert_ptr_nonnull(strstr(visitor.text, "\"event\":\"gap\""));
	ck_assert_ptr_null(strstr(visitor.text, "\"event\":\"other\""));
	visitor_close(&visitor);
}
END_TEST

START_TEST(rings_keep_the_newest)
{
	struct visitor visitor;

	for (int i = 1; i <= 5 * WEB_SEEN_EVENTS; i++)
		hear(SINK_DECISION, POLICY_DENY, (uint16_t)i);
	stage_watch(&visitor);
	ck_assert_uint_eq(count_of(visitor.text, "tcp://heard.test:"),
			  WEB_SEEN_EVENTS + WEB_SEEN_DENIALS);
	ck_assert_uint_eq(count_of(visitor.text, "tcp://heard.test:2500\""), 2);
	ck_assert_uint_eq(count_of(visitor.text, "tcp://heard.test:2000\""), 0);
	visitor_close(&visitor);
}
END_TEST

/* Bytes that would begin another event, or are no text at all. */
START_TEST(vile_text_stays_in_its_line)
{
	static const char vile[] = "\r\n\ndata: x\n\nevent: y\n</script>\xff\xe2\x80\xae\x1b[2J";
	struct visitor visitor;
	const struct sink_record record = { .event = SINK_EXEC_START,
					    .command = vile,
					    .cause = vile };

	stage.because = vile;
	stage.live_count = stage.grant_count = 1;
	stage_ask("q-1", "a.test");
	web_approver.heard(stage.approver, &record);
	stage_watch(&visitor);
	ck_assert_ptr_null(strstr(visitor.text, "\nevent: y"));
	ck_assert_ptr_null(strstr(visitor.text, "\ndata: x"));
	for (const char *at = visitor.text; *at != '\0'; at++)
		ck_assert(((unsigned char)*at >= ' ' && (unsigned char)*at < 0x7f) || *at == '\n' ||
			  *at == '\r');
	visitor_close(&visitor);
}
END_TEST

START_TEST(every_record_can_be_shown)
{
	struct visitor visitor;

	for (int event = 0; event < SINK_EVENT_COUNT; event++)
		web_approver.heard(stage.approver,
				   &(struct sink_record){ .event = (enum sink_event)event });
	web_approver.heard(stage.approver, &(struct sink_record){ .event = (enum sink_event)1000 });
	stage_watch(&visitor);
	ck_assert_uint_eq(count_of(visitor.text, "\"n\":"), SINK_EVENT_COUNT + 1);
	visitor_close(&visitor);
}
END_TEST

/* It gets no more than it takes, and then nothing. */
START_TEST(stream_that_does_not_read_is_cut)
{
	struct visitor visitor, other;

	for (int i = 0; i < 300; i++) {
		auto_free char *id = mem_printf("q-%d", i);

		stage_ask(id, "a.test");
		stage.questions[i].rule = "a long line of a policy, a long line of a policy, a "
					  "long line of a policy, a long line of a policy";
	}
	stage_watch(&other);
	stage_watch(&visitor);
	for (int i = 0; i < 400 && stage.approver->stream_count == 2; i++) {
		stage.questions[0].waiting++;
		web_approver.changed(stage.approver, &stage.questions[0]);
		loop_advance(stage.loop, WEB_FLUSH_MS);
		visitor_read(&other);
		other.len = 0;
	}
	ck_assert_uint_eq(stage.approver->stream_count, 1);
	ck_assert(!other.is_over);
	ck_assert(stage_is_attached());
	visitor_close(&visitor);
	visitor_close(&other);
}
END_TEST

START_TEST(stream_is_told_that_we_live)
{
	struct visitor visitor;

	stage_watch(&visitor);
	loop_advance(stage.loop, WEB_PING_MS);
	visitor_read(&visitor);
	ck_assert_ptr_nonnull(strstr(visitor.text, "\n: still here\n\n"));
	visitor_close(&visitor);
}
END_TEST

START_TEST(stream_has_nothing_to_say)
{
	struct visitor visitor;

	stage_watch(&visitor);
	visitor_send(&visitor, "x", 1);
	visitor_read(&visitor);
	ck_assert(visitor.is_over);
	ck_assert_uint_eq(stage.approver->stream_count, 0);
	visitor_close(&visitor);
}
END_TEST

START_TEST(sixteen_pages_and_no_more)
{
	auto_free char *fields = stage_fields();
	auto_free char *request = mem_printf("GET /api/events HTTP/1.1\r\n%s\r\n", fields);
	struct visitor visitors[WEB_STREAMS_MAX], late;

	for (size_t i = 0; i < WEB_STREAMS_MAX; i++)
		stage_watch(&visitors[i]);
	ck_assert_int_eq(visitor_ask(&late, request), 503);
	visitor_close(&late);
	stage_ask("q-1", "a.test"); /* and they can answer */
	ck_assert_int_eq(
		stage_post(&late, "/api/answer", "{\"question\":\"q-1\",\"action\":\"deny\"}"),
		200);
	visitor_close(&late);
	visitor_close(&visitors[0]);
	stage_watch(&visitors[0]);
	for (size_t i = 0; i < WEB_STREAMS_MAX; i++)
		visitor_close(&visitors[i]);
}
END_TEST

START_TEST(connections_have_a_limit_and_an_end)
{
	struct visitor idle[SERVED_MAX], late;

	for (size_t i = 0; i < SERVED_MAX; i++)
		visitor_open(&idle[i]);
	visitor_open(&late);
	visitor_read(&late);
	ck_assert(late.is_over);
	visitor_close(&late);
	loop_advance(stage.loop, SERVED_REQUEST_MS);
	stage_watch(&late); /* there is room again */
	visitor_close(&late);
	for (size_t i = 0; i < SERVED_MAX; i++)
		visitor_close(&idle[i]);
}
END_TEST

START_TEST(closing_with_pages_open)
{
	struct visitor visitors[3];

	stage_ask("q-1", "a.test");
	for (size_t i = 0; i < ARRAY_SIZE(visitors); i++)
		stage_watch(&visitors[i]);
	hear(SINK_END, POLICY_DENY, 9);
	stage_close();
	stage_open();
	for (size_t i = 0; i < ARRAY_SIZE(visitors); i++) {
		visitor_read(&visitors[i]);
		ck_assert(visitors[i].is_over);
		ck_assert_ptr_nonnull(strstr(visitors[i].text, "tcp://heard.test:9\""));
		ck_assert_ptr_nonnull(strstr(visitors[i].text, "\n\nevent: over\ndata: {}\n\n"));
	}
	for (size_t i = 0; i < ARRAY_SIZE(visitors); i++)
		visitor_close(&visitors[i]);
}
END_TEST

START_TEST(port_that_is_taken)
{
	struct gateway_web web = { .port = stage.web.port };
	const struct gateway_config config = { .run = "7f3b", .web = &web };
	struct err why = { 0 };

	ck_assert_ptr_null(web_approver.open(&stage, stage.loop, &config, &why));
	ck_assert_ptr_nonnull(strstr(why.text, "cannot serve the page on port"));
	ck_assert_ptr_null(web.url);
}
END_TEST

Suite *suite_web(void)
{
	Suite *suite = suite_create("web");
	TCase *tcase = tcase_create("page");

	tcase_add_checked_fixture(tcase, stage_open, stage_close);
	tcase_add_test(tcase, is_waited_for_until_it_was_there);
	tcase_add_test(tcase, last_page_that_leaves_is_told);
	tcase_add_test(tcase, page_that_is_loaded_again_was_never_gone);
	tcase_add_test(tcase, requests_are_not_attendance);
	tcase_add_test(tcase, questions_come_change_and_go);
	tcase_add_test(tcase, late_page_is_told_all);
	tcase_add_test(tcase, records_are_told_once);
	tcase_add_test(tcase, records_have_their_names);
	tcase_add_test(tcase, rings_keep_the_newest);
	tcase_add_test(tcase, vile_text_stays_in_its_line);
	tcase_add_test(tcase, every_record_can_be_shown);
	tcase_add_test(tcase, stream_that_does_not_read_is_cut);
	tcase_add_test(tcase, stream_is_told_that_we_live);
	tcase_add_test(tcase, stream_has_nothing_to_say);
	tcase_add_test(tcase, sixteen_pages_and_no_more);
	tcase_add_test(tcase, connections_have_a_limit_and_an_end);
	tcase_add_test(tcase, closing_with_pages_open);
	tcase_add_test(tcase, port_that_is_taken);
	suite_add_tcase(suite, tcase);
	return suite;
}
