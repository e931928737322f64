/* Programs before a person: hooks, reviewers, and when they are not to be heard. */
#include "exec/orchestrator/questions/breaker.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/exec/orchestrator/rig.h"

#define EVERY_KIND (BIT(ORCHESTRATOR_KINDS) - 1)

static struct rig rig;
static struct orchestrator_decider deciders[3];

static void begin(enum orchestrator_mode mode, size_t count)
{
	rig_init(&rig, mode);
	for (size_t i = 0; i < ARRAY_SIZE(deciders); i++)
		deciders[i] = (struct orchestrator_decider){ .name = i == 0 ? "first" : "second",
							     .kinds = EVERY_KIND,
							     .timeout_ms = 1000 };
	rig.config.deciders = deciders;
	rig.config.decider_count = count;
	rig.config.may_unconfine = true;
}

#define DENIES ORCHESTRATOR_DECIDES_DENY
#define PASSES ORCHESTRATOR_PASS
#define ALLOWS ORCHESTRATOR_DECIDES_ALLOW

/* What a program's word is worth, by the question. "person": it goes on to one. */
static const struct {
	bool is_reviewer, is_one_shot, is_escalated, is_strict, may_unconfine;
	enum orchestrator_decision decision;
	const char *want;
} words[] = {
	{ 0, 0, 0, 0, 0, ALLOWS, "run" },
	{ 0, 0, 0, 0, 0, DENIES, "hook" },
	{ 0, 0, 0, 0, 0, PASSES, "person" },
	{ 0, 0, 0, 0, 0, 99, "hook" },
	{ 1, 0, 0, 0, 0, ALLOWS, "run" },
	{ 1, 0, 0, 0, 0, DENIES, "reviewer" },
	{ 1, 0, 0, 0, 0, PASSES, "person" },
	/* A one-shot is a person's to allow. */
	{ 0, 1, 0, 0, 0, ALLOWS, "person" },
	{ 0, 1, 0, 0, 0, DENIES, "hook" },
	{ 1, 1, 0, 0, 0, ALLOWS, "person" },
	{ 1, 1, 0, 0, 0, DENIES, "reviewer" },
	/* As is less confinement, unless it is said that this one may. */
	{ 0, 0, 1, 0, 0, ALLOWS, "person" },
	{ 0, 0, 1, 0, 1, ALLOWS, "run" },
	{ 1, 0, 1, 0, 0, ALLOWS, "person" },
	{ 1, 0, 1, 0, 1, ALLOWS, "run" },
	{ 0, 0, 1, 0, 0, DENIES, "hook" },
	/* In a strict session a hook allows nothing. */
	{ 0, 0, 0, 1, 0, ALLOWS, "person" },
	{ 0, 0, 0, 1, 0, DENIES, "hook" },
	{ 1, 0, 0, 1, 0, ALLOWS, "run" },
};
static const char *what_came(void)
{
	if (rig.exec_count > 0)
		return "run";
	if (rig.result_count == 0)
		return rig_asked(&rig)->decider == RIG_PERSON ? "person" : "program";
	switch ((int)rig.results[0].kind) {
	case ORCHESTRATOR_REJECTED_BY_HOOK:
		return "hook";
	case ORCHESTRATOR_REJECTED_BY_REVIEWER:
		return "reviewer";
	case ORCHESTRATOR_REJECTED_REVIEWER_LATE:
		return "late";
	default:
		return "other";
	}
}
START_TEST(word)
{
	begin(ORCHESTRATOR_UNTRUSTED, 1);
	deciders[0].is_reviewer = words[_i].is_reviewer;
	deciders[0].may_unconfine = words[_i].may_unconfine;
	rig.config.is_strict = words[_i].is_strict;
	rig_open(&rig);
	rig.request.is_one_shot = words[_i].is_one_shot;
	rig.request.confinement =
		words[_i].is_escalated ? ORCHESTRATOR_ESCALATED : ORCHESTRATOR_USUAL;
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig_asked(&rig)->decider, 0);
	ck_assert_int_eq(rig_decide(&rig, 0, words[_i].decision), 0);
	ck_assert_str_eq(what_came(), words[_i].want);
	/* guardian_bypasses_sandbox_for_explicit_escalation_on_first_attempt, and nothing else. */
	if (rig.exec_count == 1)
		ck_assert(rig.execs[0].is_confined == !words[_i].is_escalated);
	/* Each of whom it is put to has an id of its own. */
	if (rig.question_count == 2)
		ck_assert_str_ne(rig.questions[0].id, rig.questions[1].id);
	ck_assert_int_eq(rig_decide(&rig, 0, ALLOWS), -ENOENT);
	/* A person does not answer what was put to a program. */
	ck_assert_int_eq(rig_answer(&rig, 0, ORCHESTRATOR_ONCE), -ENOENT);
	ck_assert_str_eq(what_came(), words[_i].want);
	rig_done(&rig);
}
END_TEST

START_TEST(word_before_it_is_the_persons)
{
	begin(ORCHESTRATOR_UNTRUSTED, 1);
	rig_open(&rig);
	rig_exec(&rig, "cargo build");
	ck_assert_int_eq(rig_answer(&rig, 0, ORCHESTRATOR_ONCE), -ENOENT);
	ck_assert_uint_eq(rig.exec_count, 0);
	rig_done(&rig);
}
END_TEST

/* one_shot_hooks_allow_falls_through_and_deny_blocks_each_phase: decisions of the first question
 * and of the retry → persons asked, execs made. */
static const struct {
	enum orchestrator_decision first, retry;
	size_t persons, execs;
} phases[] = {
	{ ALLOWS, ALLOWS, 2, 2 },
	{ DENIES, DENIES, 0, 0 },
	{ ALLOWS, DENIES, 1, 1 },
	{ PASSES, PASSES, 2, 2 },
};
static size_t answer_person(void)
{
	if (rig.question_count == 0 || rig_asked(&rig)->decider != RIG_PERSON)
		return 0;
	return rig_answer(&rig, rig.question_count - 1, ORCHESTRATOR_ONCE) == 0;
}
START_TEST(phase)
{
	size_t persons;

	begin(ORCHESTRATOR_ON_FAILURE, 1);
	rig_open(&rig);
	rig.request.is_one_shot = true;
	rig_exec(&rig, "cargo build");
	rig_decide(&rig, rig.question_count - 1, phases[_i].first);
	persons = answer_person();
	if (rig.exec_count == 1) {
		rig_refuse(&rig, 0, "write /etc/x");
		rig_decide(&rig, rig.question_count - 1, phases[_i].retry);
		persons += answer_person();
	}
	ck_assert_uint_eq(persons, phases[_i].persons);
	ck_assert_uint_eq(rig.exec_count, phases[_i].execs);
	rig_done(&rig);
}
END_TEST

/* cacheable_approval_keeps_session_retry_and_hook_behavior: the hook's allow is for once. */
START_TEST(hook_is_not_remembered)
{
	begin(ORCHESTRATOR_UNTRUSTED, 1);
	rig_open(&rig);
	rig_exec(&rig, "cargo build");
	rig_decide(&rig, 0, ALLOWS);
	rig_refuse(&rig, 0, "write /etc/x");
	ck_assert_uint_eq(rig.question_count, 2);
	rig_decide(&rig, 1, ALLOWS);
	ck_assert_uint_eq(rig_asked(&rig)->decider, RIG_PERSON);
	rig_answer(&rig, 2, ORCHESTRATOR_ONCE);
	rig_exit(&rig, 1, 0);
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig.question_count, 4);
	/* What a person approved for the session is not put to a hook. */
	rig_decide(&rig, 3, PASSES);
	rig_answer(&rig, 4, ORCHESTRATOR_SESSION);
	rig_exit(&rig, 2, 0);
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig.question_count, 5);
	ck_assert_uint_eq(rig.exec_count, 4);
	rig_done(&rig);
}
END_TEST

START_TEST(in_order_and_by_kind)
{
	begin(ORCHESTRATOR_UNTRUSTED, 3);
	deciders[0].kinds = BIT(ORCHESTRATOR_PATCH);
	rig_open(&rig);
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig_asked(&rig)->decider, 1);
	rig_decide(&rig, 0, PASSES);
	ck_assert_uint_eq(rig_asked(&rig)->decider, 2);
	rig_decide(&rig, 1, PASSES);
	ck_assert_uint_eq(rig_asked(&rig)->decider, RIG_PERSON);
	rig_done(&rig);
}
END_TEST

/* A retry for nothing but a host is a network question, for those who want such. */
START_TEST(retry_by_kind)
{
	begin(ORCHESTRATOR_ON_REQUEST, 1);
	deciders[0].kinds = BIT(ORCHESTRATOR_NETWORK);
	rig_open(&rig);
	rig_exec(&rig, "cargo build");
	rig_refuse(&rig, 0, "net a.test");
	ck_assert_uint_eq(rig_asked(&rig)->decider, 0);
	rig_decide(&rig, 0, DENIES);
	ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_REJECTED_BY_HOOK);
	ck_assert_str_eq(rig_ended(&rig)->why, "the program says so");
	rig_done(&rig);
}
END_TEST

/* Silence denies; a reviewer's is told apart from its denial. */
START_TEST(silence)
{
	begin(ORCHESTRATOR_UNTRUSTED, 1);
	deciders[0].is_reviewer = _i % 2;
	rig.decide_error = _i < 2 ? 0 : -EPIPE;
	rig_open(&rig);
	rig_exec(&rig, "cargo build");
	loop_advance(rig.loop, 1000);
	ck_assert_str_eq(what_came(), _i % 2 ? "late" : "hook");
	ck_assert(strstr(rig_ended(&rig)->why, "first: "));
	ck_assert(rig.questions[0].is_retracted || _i >= 2);
	ck_assert_int_eq(rig_decide(&rig, 0, ALLOWS), -ENOENT);
	ck_assert_uint_eq(rig.exec_count, 0);
	rig_done(&rig);
}
END_TEST

/* One that said nothing might have denied: those behind it only deny, and a person is told. When
 * the person says nothing either, the reviewer's silence is what it is called. */
static const struct {
	enum orchestrator_decision first;
	enum orchestrator_decision second; /* of the reviewer behind it */
	const char *want, *in_the_end;
} silences[] = {
	{ ORCHESTRATOR_WAS_LATE, ALLOWS, "person", "other" },
	{ ORCHESTRATOR_HAS_FAILED, ALLOWS, "person", "other" },
	{ ORCHESTRATOR_WAS_LATE, DENIES, "reviewer", "reviewer" },
	{ PASSES, ORCHESTRATOR_WAS_LATE, "person", "late" },
	{ PASSES, ORCHESTRATOR_HAS_FAILED, "person", "other" },
	{ PASSES, ALLOWS, "run", "run" },
};
START_TEST(nothing_is_said)
{
	begin(ORCHESTRATOR_UNTRUSTED, 2);
	deciders[1].is_reviewer = true;
	rig_open(&rig);
	rig_exec(&rig, "cargo build");
	rig_decide(&rig, 0, silences[_i].first);
	rig_decide(&rig, 1, silences[_i].second);
	ck_assert_str_eq(what_came(), silences[_i].want);
	if (rig.result_count == 0 && rig.exec_count == 0)
		loop_advance(rig.loop, ORCHESTRATOR_QUESTION_MS);
	ck_assert_str_eq(what_came(), silences[_i].in_the_end);
	rig_done(&rig);
}
END_TEST

/* It is not a denial, and does not count as one of two. */
START_TEST(silence_is_not_counted)
{
	static const enum orchestrator_decision said[] = { DENIES, DENIES, ORCHESTRATOR_WAS_LATE,
							   DENIES };

	begin(ORCHESTRATOR_UNTRUSTED, 1);
	deciders[0].is_reviewer = true;
	rig_open(&rig);
	for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
		ck_assert(!orchestrator_is_breaker_open(rig.orchestrator, 0));
		rig_exec(&rig, "cargo build");
		rig_decide(&rig, rig.question_count - 1, said[i]);
		if (said[i] == ORCHESTRATOR_WAS_LATE)
			rig_answer(&rig, rig.question_count - 1, ORCHESTRATOR_DENY);
	}
	ck_assert(orchestrator_is_breaker_open(rig.orchestrator, 0));
	rig_done(&rig);
}
END_TEST

/* Three in a row: from then on persons are asked. */
START_TEST(breaker_hands_over)
{
	begin(ORCHESTRATOR_UNTRUSTED, 1);
	deciders[0].is_reviewer = true;
	rig_open(&rig);
	for (size_t i = 0; i < BREAKER_IN_A_ROW; i++) {
		ck_assert(!orchestrator_is_breaker_open(rig.orchestrator, 0));
		rig_exec(&rig, "cargo build");
		rig_decide(&rig, rig.question_count - 1, DENIES);
		ck_assert_int_eq(rig_ended(&rig)->kind, ORCHESTRATOR_REJECTED_BY_REVIEWER);
	}
	ck_assert(orchestrator_is_breaker_open(rig.orchestrator, 0));
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig_asked(&rig)->decider, RIG_PERSON);
	rig_answer(&rig, rig.question_count - 1, ORCHESTRATOR_ONCE);
	ck_assert_uint_eq(rig.exec_count, 1);
	ck_assert(orchestrator_is_breaker_open(rig.orchestrator, 0));
	rig_done(&rig);
}
END_TEST

/* d a denial, a an allow: after which of them is it open? 0: never. */
static const struct {
	const char *reviews;
	size_t opens;
} series[] = {
	{ "ddd", 3 },
	{ "ddaddadda", 0 },
	{ "adadadadadadadadadad", 20 }, /* the tenth */
	{ "adadadadadadadadada", 0 },
	{ "dadadadadadadadada" /* nine, and then 32 more */ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaad",
	  0 },
	{ "dadadadadadadadada"
	  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaad",
	  50 },
};
START_TEST(breaker_counts)
{
	struct breaker breaker = { 0 };
	size_t opens = 0;

	for (size_t i = 0; series[_i].reviews[i]; i++) {
		breaker_count(&breaker, series[_i].reviews[i] == 'd');
		if (breaker.is_open && opens == 0)
			opens = i + 1;
	}
	ck_assert_uint_eq(opens, series[_i].opens);
}
END_TEST

/* A strict session: what needs no question is reviewed, by reviewers and then a person. */
START_TEST(strict_reviews_all_that_runs)
{
	begin(ORCHESTRATOR_ON_REQUEST, 2);
	deciders[1].is_reviewer = true;
	rig.config.is_strict = true;
	rig_open(&rig);
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig.exec_count, 0);
	ck_assert_uint_eq(rig_asked(&rig)->decider, 1);
	static const enum orchestrator_decision decisions[] = { ALLOWS, DENIES, PASSES };

	rig_decide(&rig, 0, decisions[_i]);
	ck_assert_str_eq(what_came(), _i == 0 ? "run" : _i == 1 ? "reviewer" : "person");
	rig_done(&rig);
}
END_TEST

/* Nor does an answer for the session spare it the review; and the retry is one more. */
START_TEST(strict_reviews_what_is_remembered)
{
	begin(ORCHESTRATOR_UNTRUSTED, 1);
	deciders[0].is_reviewer = true;
	rig.config.is_strict = true;
	rig_open(&rig);
	rig_exec(&rig, "cargo build");
	rig_decide(&rig, 0, PASSES);
	rig_answer(&rig, 1, ORCHESTRATOR_SESSION);
	rig_refuse(&rig, 0, "write /etc/x");
	ck_assert_uint_eq(rig_asked(&rig)->decider, 0);
	rig_decide(&rig, 2, ALLOWS);
	ck_assert_uint_eq(rig_asked(&rig)->decider, RIG_PERSON);
	rig_answer(&rig, 3, ORCHESTRATOR_DENY);
	rig_exec(&rig, "cargo build");
	ck_assert_uint_eq(rig.question_count, 5);
	ck_assert_uint_eq(rig_asked(&rig)->decider, 0);
	rig_done(&rig);
}
END_TEST

TCase *deciders_cases(void)
{
	TCase *cases = tcase_create("deciders");

	tcase_add_loop_test(cases, word, 0, ARRAY_SIZE(words));
	tcase_add_test(cases, word_before_it_is_the_persons);
	tcase_add_loop_test(cases, phase, 0, ARRAY_SIZE(phases));
	tcase_add_test(cases, hook_is_not_remembered);
	tcase_add_test(cases, in_order_and_by_kind);
	tcase_add_test(cases, retry_by_kind);
	tcase_add_loop_test(cases, silence, 0, 4);
	tcase_add_loop_test(cases, nothing_is_said, 0, ARRAY_SIZE(silences));
	tcase_add_test(cases, silence_is_not_counted);
	tcase_add_test(cases, breaker_hands_over);
	tcase_add_loop_test(cases, breaker_counts, 0, ARRAY_SIZE(series));
	tcase_add_loop_test(cases, strict_reviews_all_that_runs, 0, 3);
	tcase_add_test(cases, strict_reviews_what_is_remembered);
	return cases;
}
