/* Rules for every program that answers for people, however it behaves: each question is sent once,
 * an answer belongs to its question, and only a valid answer allows. */
#include "tests/contract/contract.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "gateway/approvers/approver_impl.h"
#include "gateway/gateway_open.h"
#include "gateway/state.h"
#include "gateway/gateway_review.h"
#include "policies/policies_tools.h"

#define WAIT_ROUNDS      20000
#define LATE_MS          60000
#define ANSWER(id, word) "echo '{\"id\":\"'" id "'\",\"answer\":\"" word "\"}'"

/* A reviewer, which is asked twice: what it does the first time, with its id in $id; $last is that
 * of the question before. The second time it denies. */
static const struct {
	const char *does;
	bool is_silent; /* only time ends it */
	enum gateway_review_outcome want;
} behaviours[] = {
	{ ANSWER("$id", "allow"), false, GATEWAY_REVIEW_ALLOW },
	{ ANSWER("$id", "deny"), false, GATEWAY_REVIEW_DENY },
	{ ANSWER("$id", "abstain"), false, GATEWAY_REVIEW_NONE },
	{ "kill -9 $$", false, GATEWAY_REVIEW_FAILED },
	{ "exit 0", false, GATEWAY_REVIEW_FAILED },
	{ ":", true, GATEWAY_REVIEW_LATE },
	{ "exec sleep 4711", true, GATEWAY_REVIEW_LATE },
	{ "exec <&- ; sleep 4711", true, GATEWAY_REVIEW_LATE },
	{ "echo allow", true, GATEWAY_REVIEW_LATE },
	{ "printf '{\"id\":\"'$id'\",\"answer\":\"al'", true, GATEWAY_REVIEW_LATE },
	{ "head -c 100000 /dev/zero", false, GATEWAY_REVIEW_FAILED },
	{ ANSWER("$id", "ALLOW"), false, GATEWAY_REVIEW_FAILED },
	{ "echo '{\"id\":\"'$id'\",\"answer\":\"allow\",\"scope\":\"session\"}'", false,
	  GATEWAY_REVIEW_FAILED },
	{ "echo '{\"id\":\"'$id'\",\"answer\":\"allow\",\"answer\":\"allow\"}'", true,
	  GATEWAY_REVIEW_LATE },
	/* of a question that there is not, or not yet */
	{ ANSWER("review.4711", "allow"), true, GATEWAY_REVIEW_LATE },
	{ ANSWER("review.2", "allow"), true, GATEWAY_REVIEW_LATE },
	/* twice: the first counts, and the second is not the next one's */
	{ ANSWER("$id", "deny") ";" ANSWER("$id", "allow"), false, GATEWAY_REVIEW_DENY },
	{ ANSWER("$id", "abstain") ";" ANSWER("$id", "allow"), false, GATEWAY_REVIEW_NONE },
};

static struct {
	struct contract_place place;
	struct loop *loop;
	struct policy *policy;
	struct gateway *gw;
	char script[2048];
	const char *argv[4];
	struct gateway_reviewer reviewer;
	struct gateway_helpers helpers;
	size_t fds;
	unsigned int told;
	enum gateway_review_outcome outcome;
} stage;

static const char *const bare[] = { "PATH=/usr/bin:/bin", NULL };

static void settle(void)
{
	for (int i = 0; i < 50; i++)
		loop_step(stage.loop);
}

static void stage_open(const char *does, bool may_answer)
{
	struct err why = { 0 };

	memset(&stage, 0, sizeof(stage));
	stage.fds = contract_count_fds();
	contract_open(&stage.place);
	(void)snprintf(stage.script, sizeof(stage.script),
		       "n=0; [ -e %s/again ] && n=1; while read -r line; do "
		       "id=${line#*'\"id\":\"'}; id=${id%%%%\\\"*}; n=$((n+1)); : >%s/again; "
		       "if [ $n = 1 ]; then %s; else " ANSWER("$id", "deny") "; fi; done",
		       stage.place.dir, stage.place.dir, does);
	memcpy(stage.argv, (const char *[]){ "sh", "-c", stage.script, NULL }, sizeof(stage.argv));
	stage.reviewer = (struct gateway_reviewer){
		.program = { "/bin/sh", stage.argv, bare },
		.may_answer = may_answer,
		.digest = "00",
		.command = "the test",
		.kinds = POLICY_HELPS_EXEC,
	};
	stage.helpers.reviewer = &stage.reviewer;
	stage.place.config.helpers = &stage.helpers;
	stage.loop = loop_new_fake();
	stage.policy = policy_new();
	ck_assert_int_eq(policy_load_text(stage.policy, "<test>", "version 1\ndefault ask\n"), 0);
	ck_assert_int_eq(policy_finish(stage.policy), 0);
	stage.place.config.policy = stage.policy;
	stage.gw = gateway_open_with(stage.loop, &stage.place.config, approver_table, &why);
	ck_assert_msg(stage.gw != NULL, "%s", why.text);
	settle();
}

static void stage_close(void)
{
	gateway_free(stage.gw);
	settle();
	policy_free(stage.policy);
	loop_free(stage.loop);
	ck_assert_uint_eq(contract_count_fds(), stage.fds);
	contract_close(&stage.place);
}

static void on_done(const struct gateway_review_result *result, void *arg)
{
	stage.told++;
	stage.outcome = result->outcome;
}

static const struct gateway_review_request request = { .kind = POLICY_HELPS_EXEC };

static bool has_asked(void)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/again", stage.place.dir);
	return access(path, F_OK) == 0;
}

/* Until it was told, or, of one that says nothing, until it was asked and its time is over. */
static void wait_for_it(bool is_silent)
{
	for (int i = 0; i < WAIT_ROUNDS && stage.told == 0 && !(is_silent && has_asked()); i++) {
		settle();
		(void)poll(NULL, 0, 1);
	}
	/* What it says at once is there; an answer to something else changes nothing. */
	for (int i = 0; is_silent && i < 50; i++) {
		settle();
		(void)poll(NULL, 0, 1);
	}
	if (is_silent)
		loop_advance(stage.loop, LATE_MS);
	settle();
	ck_assert_uint_eq(stage.told, 1);
}

START_TEST(each_question_has_its_answer)
{
	stage_open(behaviours[_i].does, true);
	ck_assert_ptr_nonnull(gateway_review(stage.gw, &request, on_done, NULL, NULL));
	wait_for_it(behaviours[_i].is_silent);
	/* A malformed answer counts as an answer if it names its question, and as late if it does
	 * not. */
	ck_assert_int_eq(stage.outcome, behaviours[_i].want);
	stage.told = 0;
	ck_assert_ptr_nonnull(gateway_review(stage.gw, &request, on_done, NULL, NULL));
	for (int i = 0; i < WAIT_ROUNDS && stage.told == 0; i++) {
		settle();
		(void)poll(NULL, 0, 1);
		if (behaviours[_i].is_silent && i == 500)
			loop_advance(stage.loop, LATE_MS); /* it hangs on */
	}
	ck_assert_uint_eq(stage.told, 1);
	ck_assert_int_ne(stage.outcome, GATEWAY_REVIEW_ALLOW);
	ck_assert_uint_eq(stage.gw->inquiries.count, 0);
	stage_close();
}
END_TEST

/* Closed, withdrawn or compared whenever: nobody is told, and nothing is left. */
START_TEST(it_may_end_at_any_time)
{
	struct gateway_review *review;

	for (int when = 0; when < 6; when++) {
		stage_open(behaviours[_i].does, when < 3);
		review = when < 3 ? gateway_review(stage.gw, &request, on_done, NULL, NULL)
				  : gateway_review_watch(stage.gw, &request);
		ck_assert_ptr_nonnull(review);
		if (when % 3 > 0)
			loop_step(stage.loop);
		if (when == 1)
			gateway_review_withdraw(review);
		else if (when >= 4)
			gateway_review_compare(review, when == 4 ? POLICY_DENY : POLICY_ASK);
		settle();
		unsigned int told = stage.told;

		gateway_free(take(stage.gw));
		settle();
		ck_assert_uint_eq(stage.told, told);
		if (when > 0 && when != 2)
			ck_assert_uint_eq(stage.told, 0);
		stage_close();
	}
}
END_TEST

Suite *suite_review_contract(void)
{
	Suite *suite = suite_create("reviews");
	TCase *tcase = tcase_create("a program that speaks for people");

	tcase_add_loop_test(tcase, each_question_has_its_answer, 0, ARRAY_SIZE(behaviours));
	tcase_add_loop_test(tcase, it_may_end_at_any_time, 0, ARRAY_SIZE(behaviours));
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	return suite;
}
