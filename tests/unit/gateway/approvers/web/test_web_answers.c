#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "tests/unit/gateway/approvers/web/test_web.h"

#define ALLOW "\"question\":\"q-1\",\"action\":\"allow\",\"text\":\"https://a.test:443\""
#define DENY  "{\"question\":\"q-1\",\"action\":\"deny\",\"scope\":\"session\""

static int post(const char *path, const char *body)
{
	struct visitor visitor;
	int status = stage_post(&visitor, path, "%s", body);

	visitor_close(&visitor);
	return status;
}

static const struct {
	const char *body;
	int status;
	bool is_risky;
} answers[] = {
	{ "{" ALLOW "}", 200, false },
	{ "{" ALLOW ",\"scope\":\"session\"}", 200, false },
	{ "{" ALLOW ",\"typed\":\"\"}", 200, false },
	{ "{\"question\":\"q-1\",\"action\":\"deny\"}", 200, true },
	{ "{\"question\":\"q-1\",\"action\":\"abort\"}", 200, true },
	{ "{\"question\":\"q-1\",\"action\":\"deny\",\"words\":\"not today\"}", 200, false },
	/* the domain of what is risky is typed, or it is not allowed */
	{ "{" ALLOW "}", 409, true },
	{ "{" ALLOW ",\"typed\":\"\"}", 409, true },
	{ "{" ALLOW ",\"typed\":\"a.tes\"}", 409, true },
	{ "{" ALLOW ",\"typed\":\"b.test\"}", 409, true },
	{ "{" ALLOW ",\"typed\":\"a.test\"}", 200, true },
	{ "{" ALLOW ",\"typed\":\"A.Test\"}", 200, true },
	/* what is granted is what was shown */
	{ "{\"question\":\"q-1\",\"action\":\"allow\"}", 409, false },
	{ "{\"question\":\"q-1\",\"action\":\"allow\",\"text\":\"https://b.test:443\"}", 409,
	  false },
	{ "{\"question\":\"q-1\",\"action\":\"allow\",\"text\":\"\"}", 409, false },
	{ DENY ",\"text\":\"https://a.test:443\"}", 200, true },
	{ DENY ",\"text\":\"https://b.test:443\"}", 409, false },
	{ DENY ",\"text\":\"\"}", 409, false },
	{ DENY "}", 409, false },
	{ "{\"question\":\"q-1\",\"action\":\"deny\",\"text\":\"https://b.test:443\"}", 409,
	  false },
	{ DENY ",\"text\":\"https://a.test:443\",\"width\":{\"upload\":1}}", 409, false },
	/* no such question, no such answer */
	{ "{\"question\":\"q-2\",\"action\":\"allow\",\"text\":\"https://a.test:443\"}", 409,
	  false },
	{ "{\"question\":\"q-2\",\"action\":\"deny\"}", 409, false },
	{ "{\"question\":\"\",\"action\":\"deny\"}", 409, false },
	{ "{\"action\":\"deny\"}", 400, false },
	{ "{\"question\":\"q-1\"}", 400, false },
	{ "{\"question\":1,\"action\":\"deny\"}", 400, false },
	{ "{\"question\":\"q-1\",\"action\":\"ask\"}", 400, false },
	{ "{\"question\":\"q-1\",\"action\":true}", 400, false },
	{ "{\"question\":\"q-1\",\"action\":\"deny\",\"scope\":\"for ever\"}", 400, false },
	{ "{\"question\":\"q-1\",\"action\":\"deny\",\"scope\":1}", 400, false },
	{ "{\"question\":\"q-1\",\"action\":\"deny\",\"more\":1}", 400, false },
	{ "{\"question\":\"q-1\",\"action\":\"deny\",\"action\":\"allow\"}", 400, false },
	{ "{" ALLOW ",\"width\":1}", 400, false },
	{ "{" ALLOW ",\"width\":{\"domain\":1}}", 400, false },
	{ "{" ALLOW ",\"width\":{\"domains\":true}}", 400, false },
	{ "{" ALLOW ",\"width\":{\"for_s\":0}}", 400, false },
	{ "{" ALLOW ",\"width\":{\"for_s\":-1}}", 400, false },
	{ "{" ALLOW ",\"width\":{\"for_s\":1.5}}", 400, false },
	{ "{" ALLOW ",\"width\":{\"for_s\":999999999999}}", 400, false },
	{ "{" ALLOW ",\"width\":{\"connections\":4294967296}}", 400, false },
	{ "{" ALLOW ",\"width\":{\"upload\":99999999999999999999}}", 400, false },
	{ "{" ALLOW ",\"width\":{\"domain\":true}}", 409, false }, /* once has no width */
	{ "[]", 400, false },
	{ "null", 400, false },
	{ "", 400, false },
	{ "{} {}", 400, false },
};

START_TEST(answer)
{
	stage_ask("q-1", "a.test")->risk = answers[_i].is_risky ? APPROVER_LISTED : 0;
	ck_assert_int_eq(post("/api/answer", answers[_i].body), answers[_i].status);
	ck_assert_uint_eq(stage.answer_count, answers[_i].status == 200);
}
END_TEST

/* What has to be typed depends on the answer, too: the gate decides it. */
static const struct {
	unsigned int risk;
	enum policy_protocol protocol;
	const char *more;
	bool must_type;
} real[] = {
	{ APPROVER_FIRST_SEEN, POLICY_HTTPS, "", false },
	{ APPROVER_FIRST_SEEN, POLICY_HTTPS, ",\"scope\":\"always\"", false },
	{ APPROVER_RAW_TCP, POLICY_TCP, ",\"scope\":\"session\"", false },
	{ 0, POLICY_TCP, ",\"scope\":\"always\"", true },
	{ 0, POLICY_HTTPS, ",\"scope\":\"session\",\"width\":{\"domain\":true}", false },
	{ 0, POLICY_HTTPS, ",\"scope\":\"always\",\"width\":{\"domain\":true}", true },
	{ 0, POLICY_HTTPS, ",\"scope\":\"always\",\"width\":{\"every_port\":true}", true },
	{ 0, POLICY_HTTPS, ",\"scope\":\"always\",\"width\":{\"for_s\":3600}", false },
	{ APPROVER_LOOKALIKE, POLICY_HTTPS, "", true },
	{ APPROVER_LITERAL, POLICY_HTTPS, "", true },
};

START_TEST(real_risk_is_typed)
{
	struct approver_question *question = stage_ask("q-1", "a.test");
	auto_free char *body = mem_printf("{" ALLOW "%s}", real[_i].more);
	auto_free char *typed =
		mem_printf("%.*s,\"typed\":\"a.test\"}", (int)strlen(body) - 1, body);

	question->risk = real[_i].risk;
	question->dst.protocol = real[_i].protocol;
	ck_assert_int_eq(post("/api/answer", body), real[_i].must_type ? 409 : 200);
	if (real[_i].must_type)
		ck_assert_int_eq(post("/api/answer", typed), 200);
}
END_TEST

START_TEST(answer_arrives_whole)
{
	const struct approver_width *width = &stage.answer.width;

	stage_ask("q-1", "a.test");
	ck_assert_int_eq(
		post("/api/answer",
		     "{" ALLOW ",\"typed\":\"a.test\",\"scope\":\"always\",\"words\":\"fine\","
		     "\"width\":{\"domain\":true,"
		     "\"every_port\":true,\"program\":false,\"for_s\":3600,\"upload\":65536,"
		     "\"download\":1,\"connections\":3}}"),
		200);
	ck_assert_int_eq(stage.answer.action, POLICY_ALLOW);
	ck_assert_int_eq(stage.answer.scope, GATEWAY_ALWAYS);
	ck_assert(!stage.answer.is_abort);
	ck_assert_str_eq(stage.words, "fine");
	ck_assert_ptr_nonnull(strstr(stage.by, " on web"));
	ck_assert(width->is_domain && width->is_every_port && !width->is_program);
	ck_assert_int_eq(width->for_s, 3600);
	ck_assert_uint_eq(width->upload_max, 65536);
	ck_assert_uint_eq(width->download_max, 1);
	ck_assert_uint_eq(width->connections_max, 3);
}
END_TEST

START_TEST(abort_is_a_denial)
{
	stage_ask("q-1", "a.test");
	ck_assert_int_eq(post("/api/answer", "{\"question\":\"q-1\",\"action\":\"abort\"}"), 200);
	ck_assert_int_eq(stage.answer.action, POLICY_DENY);
	ck_assert_int_eq(stage.answer.scope, GATEWAY_ONCE);
	ck_assert(stage.answer.is_abort);
}
END_TEST

START_TEST(second_answer_comes_late)
{
	stage_ask("q-1", "a.test");
	ck_assert_int_eq(post("/api/answer", "{" ALLOW "}"), 200);
	ck_assert_int_eq(post("/api/answer", "{" ALLOW "}"), 409);
	ck_assert_int_eq(post("/api/answer", "{\"question\":\"q-1\",\"action\":\"deny\"}"), 409);
	ck_assert_uint_eq(stage.answer_count, 1);
}
END_TEST

START_TEST(what_the_gateway_refuses_is_said)
{
	struct visitor visitor;

	stage_ask("q-1", "a.test");
	stage.next_result = -EIO;
	ck_assert_int_eq(stage_post(&visitor, "/api/answer", "{%s}", ALLOW), 500);
	ck_assert_ptr_nonnull(strstr(visitor.text, "the disk is full"));
	visitor_close(&visitor);
	ck_assert_uint_eq(stage.question_count, 1);
}
END_TEST

START_TEST(text_is_the_gateways)
{
	struct visitor visitor;

	stage_ask("q-1", "a.test");
	stage.text = "https://**.a.test for 1h";
	ck_assert_int_eq(
		stage_post(&visitor, "/api/text",
			   "{\"question\":\"q-1\",\"action\":\"allow\",\"scope\":\"session\"}"),
		200);
	ck_assert_ptr_nonnull(strstr(visitor.text, "{\"text\":\"https://**.a.test for 1h\"}"));
	visitor_close(&visitor);
	ck_assert_uint_eq(stage.answer_count, 0);
	ck_assert_uint_eq(stage.question_count, 1);
	ck_assert_int_eq(post("/api/text", "{" ALLOW "}"), 400); /* has no text itself */
}
END_TEST

static const struct {
	const char *path, *body;
	int status, result;
	uint64_t revoked, cut;
} takings[] = {
	{ "/api/revoke", "{\"grant\":2}", 200, 0, 2, 0 },
	{ "/api/revoke", "{\"grant\":2}", 409, -ENOENT, 0, 0 },
	{ "/api/revoke", "{\"grant\":2}", 500, -EROFS, 0, 0 },
	{ "/api/revoke", "{\"grant\":0}", 400, 0, 0, 0 },
	{ "/api/revoke", "{\"grant\":-2}", 400, 0, 0, 0 },
	{ "/api/revoke", "{\"grant\":\"2\"}", 400, 0, 0, 0 },
	{ "/api/revoke", "{\"grant\":2,\"all\":true}", 400, 0, 0, 0 },
	{ "/api/revoke", "{\"live\":2}", 400, 0, 0, 0 },
	{ "/api/revoke", "{}", 400, 0, 0, 0 },
	{ "/api/undo", "{\"answer\":3}", 200, 0, 3, 0 },
	/* another one is the last by now, or it was not said which */
	{ "/api/undo", "{\"answer\":2}", 409, 0, 0, 0 },
	{ "/api/undo", "{}", 400, 0, 0, 0 },
	{ "/api/undo", "{\"grant\":2}", 400, 0, 0, 0 },
	{ "/api/undo", "{\"answer\":3}", 500, -EROFS, 0, 0 },
	{ "/api/cut", "{\"live\":1}", 200, 0, 0, 1 },
	{ "/api/cut", "{\"live\":9}", 409, 0, 0, 0 },
	{ "/api/cut", "{\"live\":0}", 400, 0, 0, 0 },
	{ "/api/cut", "{\"grant\":1}", 400, 0, 0, 0 },
};

START_TEST(taking_back)
{
	struct visitor visitor;

	stage.next_result = takings[_i].result;
	stage.grant_count = 3;
	stage.live_count = 2;
	ck_assert_int_eq(stage_post(&visitor, takings[_i].path, "%s", takings[_i].body),
			 takings[_i].status);
	ck_assert_uint_eq(stage.revoked, takings[_i].revoked);
	ck_assert_uint_eq(stage.cut, takings[_i].cut);
	if (takings[_i].revoked != 0)
		ck_assert_ptr_nonnull(strstr(visitor.text, "\"cut\":2,\"up\":10,\"down\":20}"));
	visitor_close(&visitor);
}
END_TEST

static const struct {
	const char *body;
	int status;
} proposals[] = {
	{ "{\"to\":\"https://a.test:443\",\"exec\":1}", 200 },
	{ "{\"to\":\"https://a.test:443\",\"exec\":0}", 200 },
	{ "{\"to\":\"https://a.test:443\",\"exec\":2}", 409 }, /* it has ended */
	{ "{\"to\":\"nothing\",\"exec\":1}", 409 },
	{ "{\"to\":\"https://a.test:443\",\"exec\":-1}", 400 },
	{ "{\"to\":\"https://a.test:443\",\"exec\":\"1\"}", 400 },
	{ "{\"to\":\"https://a.test:443\"}", 400 },
	{ "{\"to\":1,\"exec\":1}", 400 },
	{ "{\"to\":\"https://a.test:443\",\"exec\":1,\"scope\":\"always\"}", 400 },
};

START_TEST(denial_is_asked_again)
{
	ck_assert_int_eq(post("/api/propose", proposals[_i].body), proposals[_i].status);
	ck_assert_uint_eq(stage.question_count, proposals[_i].status == 200);
	ck_assert_uint_eq(stage.answer_count, 0); /* nothing is allowed by it */
}
END_TEST

START_TEST(questions_of_a_page_have_a_limit)
{
	stage.approver->proposals = WEB_PROPOSALS_MAX - 1;
	ck_assert_int_eq(post("/api/propose", proposals[0].body), 200);
	ck_assert_int_eq(post("/api/propose", proposals[0].body), 409);
	ck_assert_uint_eq(stage.question_count, 1);
}
END_TEST

START_TEST(somebody_is_at_it)
{
	stage_ask("q-1", "a.test");
	ck_assert_int_eq(post("/api/touch", "{\"question\":\"q-2\"}"), 409);
	ck_assert_int_eq(post("/api/touch", "{\"question\":1}"), 400);
	ck_assert_int_eq(post("/api/touch", "{\"question\":\"q-1\",\"scope\":\"once\"}"), 400);
	ck_assert_int_eq(post("/api/touch", "{}"), 400);
	ck_assert_str_eq(stage.touched, "");
	ck_assert_int_eq(post("/api/touch", "{\"question\":\"q-1\"}"), 200);
	ck_assert_str_eq(stage.touched, "q-1");
	ck_assert_uint_eq(stage.answer_count, 0);
}
END_TEST

Suite *suite_web_answers(void)
{
	Suite *suite = suite_create("web-answers");
	TCase *tcase = tcase_create("answers");

	tcase_add_checked_fixture(tcase, stage_open, stage_close);
	tcase_add_loop_test(tcase, answer, 0, ARRAY_SIZE(answers));
	tcase_add_loop_test(tcase, real_risk_is_typed, 0, (int)ARRAY_SIZE(real));
	tcase_add_test(tcase, answer_arrives_whole);
	tcase_add_test(tcase, abort_is_a_denial);
	tcase_add_test(tcase, second_answer_comes_late);
	tcase_add_test(tcase, what_the_gateway_refuses_is_said);
	tcase_add_test(tcase, text_is_the_gateways);
	tcase_add_loop_test(tcase, denial_is_asked_again, 0, ARRAY_SIZE(proposals));
	tcase_add_test(tcase, questions_of_a_page_have_a_limit);
	tcase_add_test(tcase, somebody_is_at_it);
	tcase_add_loop_test(tcase, taking_back, 0, ARRAY_SIZE(takings));
	suite_add_tcase(suite, tcase);
	return suite;
}
