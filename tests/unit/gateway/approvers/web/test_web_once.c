/* Answers by a link that is good for one question. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/remote/answer_link.h"
#include "tests/unit/gateway/approvers/web/test_web.h"

#define FAR  "gate.example.org"
#define NEAR NULL /* 127.0.0.1 and the port */

static int64_t now_s(void)
{
	return loop_wall_us(stage.loop) / 1000000;
}

static char *link_for(const char *id, int64_t seconds)
{
	char *link = mem_new(ANSWER_LINK_MAX);

	ck_assert_int_eq(answer_link_make(stage.web.link_key, id, now_s() + seconds, link), 0);
	return link;
}

/* As somebody elsewhere would: no cookie, no key. */
static int ask_as(const char *host, const char *origin, const char *path, const char *body,
		  struct visitor *visitor)
{
	auto_free char *own = mem_printf("127.0.0.1:%u", stage.web.port);
	auto_free char *own_origin = mem_printf("http://%s", own);
	auto_free char *request = mem_printf(
		"POST %s HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nSec-Fetch-Site: same-origin\r\n"
		"Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		path, host ? host : own, origin ? origin : own_origin, strlen(body), body);

	return visitor_ask(visitor, request);
}

static int post_as(const char *host, const char *origin, const char *path, const char *body)
{
	struct visitor visitor;
	int status = ask_as(host, origin, path, body, &visitor);

	visitor_close(&visitor);
	return status;
}

static int answer_far(const char *link, const char *more)
{
	auto_free char *body = mem_printf("{\"link\":\"%s\",%s}", link, more);

	return post_as(FAR, "https://" FAR, "/api/once/answer", body);
}

#define ALLOW "\"action\":\"allow\",\"text\":\"https://a.test:443\""

START_TEST(a_link_shows_its_question_and_answers_it_once)
{
	struct visitor visitor;

	stage_ask("7f3a-1", "a.test");
	stage_ask("7f3a-2", "b.test");
	auto_free char *link = link_for("7f3a-1", 60);
	auto_free char *look = mem_printf("{\"link\":\"%s\"}", link);

	ck_assert_int_eq(ask_as(FAR, "https://" FAR, "/api/once/look", look, &visitor), 200);
	ck_assert_ptr_nonnull(strstr(visitor.text, "\"host\":\"a.test\""));
	ck_assert_ptr_null(strstr(visitor.text, "b.test"));
	ck_assert_ptr_nonnull(strstr(visitor.text, "\"text\":\"https://a.test:443\""));
	visitor_close(&visitor);
	ck_assert_int_eq(answer_far(link, ALLOW), 200);
	ck_assert_str_eq(stage.by, "an answer link");
	ck_assert_int_eq(stage.answer.scope, GATEWAY_ONCE);
	/* The same question again, as it may come within the grace: not by this link. */
	stage_ask("7f3a-1", "a.test");
	ck_assert_int_eq(answer_far(link, ALLOW), 410);
	ck_assert_int_eq(post_as(FAR, "https://" FAR, "/api/once/look", look), 410);
	ck_assert_uint_eq(stage.answer_count, 1);
}
END_TEST

START_TEST(a_link_is_over_with_its_time)
{
	stage_ask("7f3a-1", "a.test");
	auto_free char *over = link_for("7f3a-1", 0), *link = link_for("7f3a-1", 60);

	ck_assert_int_eq(answer_far(over, ALLOW), 410);
	stage_retract("7f3a-1", "it gave no answer");
	ck_assert_int_eq(answer_far(link, ALLOW), 409);
	ck_assert_uint_eq(stage.answer_count, 0);
}
END_TEST

/* Every byte of it counts. */
START_TEST(a_forged_link_opens_nothing)
{
	stage_ask("7f3a-1", "a.test");
	auto_free char *link = link_for("7f3a-1", 60);

	for (size_t i = 0; link[i] != '\0'; i++) {
		char was = link[i];

		link[i] = was == '1' ? '2' : '1';
		ck_assert_int_eq(answer_far(link, ALLOW), 401);
		link[i] = was;
	}
	static const char *const bad[] = { "",          ".",       "..",         "7f3a-1",
					   "7f3a-1.9.", "x.1.2.3", "7f3a-1.+9.0" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(answer_far(bad[i], ALLOW), 401);
	auto_free char *longer = mem_printf("%s0", link), *spaced = mem_printf("%s ", link);

	ck_assert_int_eq(answer_far(longer, ALLOW), 401);
	ck_assert_int_eq(answer_far(spaced, ALLOW), 401);
	ck_assert_uint_eq(stage.answer_count, 0);
}
END_TEST

static const struct {
	const char *more;
	int status;
	bool is_risky;
} bodies[] = {
	{ ALLOW, 200, false },
	{ "\"action\":\"deny\"", 200, true },
	{ "\"action\":\"deny\",\"words\":\"not now\"", 200, false },
	{ "\"action\":\"allow\"", 409, false },
	{ "\"action\":\"allow\",\"text\":\"https://b.test:443\"", 409, false },
	{ ALLOW, 409, true },
	{ ALLOW ",\"typed\":\"a.test\"", 200, true },
	/* never wider, never longer */
	{ ALLOW ",\"scope\":\"session\"", 400, false },
	{ ALLOW ",\"scope\":\"once\"", 400, false },
	{ ALLOW ",\"width\":{}", 400, false },
	{ ALLOW ",\"question\":\"7f3a-2\"", 400, false },
	{ ALLOW ",\"more\":1", 400, false },
	{ "\"action\":true", 400, false },
};

START_TEST(a_link_cannot_say_more)
{
	stage_ask("7f3a-1", "a.test")->risk = bodies[_i].is_risky ? APPROVER_LISTED : 0;
	stage_ask("7f3a-2", "b.test");
	auto_free char *link = link_for("7f3a-1", 60);

	ck_assert_int_eq(answer_far(link, bodies[_i].more), bodies[_i].status);
	ck_assert_uint_eq(stage.answer_count, bodies[_i].status == 200);
}
END_TEST

/* From elsewhere only the links' own page and requests. */
static const struct {
	const char *host, *origin, *path;
	int status;
} ways[] = {
	{ FAR, "https://" FAR, "/api/once/look", 200 },
	{ NEAR, "https://" FAR, "/api/once/look", 200 }, /* the relay names what it dials */
	{ NEAR, NULL, "/api/once/look", 200 },
	{ FAR, "http://" FAR, "/api/once/look", 200 }, /* it is what was asked for */
	{ FAR, "https://evil.test", "/api/once/look", 403 },
	{ NEAR, "https://evil.test", "/api/once/look", 403 },
	{ "evil.test", "https://evil.test", "/api/once/look", 421 },
	{ "evil.test", "https://" FAR, "/api/once/look", 421 },
	{ FAR, "https://" FAR, "/api/enter", 421 },
	{ FAR, "https://" FAR, "/api/answer", 421 },
	{ FAR, "https://" FAR, "/api/undo", 421 },
	{ NEAR, "https://" FAR, "/api/answer", 403 },
};

START_TEST(only_links_are_good_from_elsewhere)
{
	stage_ask("7f3a-1", "a.test");
	auto_free char *link = link_for("7f3a-1", 60);
	auto_free char *look = mem_printf("{\"link\":\"%s\"}", link);

	ck_assert_int_eq(post_as(ways[_i].host, ways[_i].origin, ways[_i].path, look),
			 ways[_i].status);
	ck_assert_uint_eq(stage.answer_count, 0);
}
END_TEST

static const struct {
	const char *path;
	int status;
} pages[] = {
	{ "/once.html", 200 }, { "/once.js", 200 },    { "/dom.js", 200 }, { "/app.css", 200 },
	{ "/shown.js", 200 },  { "/refused.js", 200 }, { "/", 421 },       { "/app.js", 421 },
	{ "/stream.js", 421 }, { "/api/events", 421 },
};

START_TEST(only_the_links_page_is_seen_from_elsewhere)
{
	struct visitor visitor;
	auto_free char *request =
		mem_printf("GET %s HTTP/1.1\r\nHost: " FAR "\r\n\r\n", pages[_i].path);

	ck_assert_int_eq(visitor_ask(&visitor, request), pages[_i].status);
	visitor_close(&visitor);
}
END_TEST

/* So many are used that the next could be one of them: it is refused. */
START_TEST(used_links_are_remembered_while_they_are_good)
{
	for (unsigned int i = 0; i <= WEB_USED_MAX; i++) {
		char id[16];

		(void)snprintf(id, sizeof(id), "7f3a-%u", i);
		stage_ask(id, "a.test");
		auto_free char *link = link_for(id, 60);

		ck_assert_int_eq(answer_far(link, ALLOW), i < WEB_USED_MAX ? 200 : 410);
	}
	stage_ask("7f3a-999", "a.test");
	loop_advance(stage.loop, 61000);
	auto_free char *later = link_for("7f3a-999", 60);

	ck_assert_int_eq(answer_far(later, ALLOW), 200);
}
END_TEST

Suite *suite_web_once(void)
{
	Suite *suite = suite_create("web-once");
	TCase *tcase = tcase_create("links");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, stage_open, stage_close);
	tcase_add_test(tcase, a_link_shows_its_question_and_answers_it_once);
	tcase_add_test(tcase, a_link_is_over_with_its_time);
	tcase_add_test(tcase, a_forged_link_opens_nothing);
	tcase_add_loop_test(tcase, a_link_cannot_say_more, 0, ARRAY_SIZE(bodies));
	tcase_add_loop_test(tcase, only_links_are_good_from_elsewhere, 0, ARRAY_SIZE(ways));
	tcase_add_loop_test(tcase, only_the_links_page_is_seen_from_elsewhere, 0,
			    ARRAY_SIZE(pages));
	tcase_add_test(tcase, used_links_are_remembered_while_they_are_good);
	suite_add_tcase(suite, tcase);
	return suite;
}
