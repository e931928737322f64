#include "tests/unit/gateway/fixture.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "gateway/approvers/programs/reviewer.h"
#include "gateway/approvers/table.h"
#include "gateway/gateway_open.h"
#include "gateway/gateway_review.h"
#include "gateway/approvals/inquiries.h"

#define HOOKS_MAX 3
#define WAIT_MS   20000

static const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };

static struct {
	struct gateway_hook hooks[HOOKS_MAX];
	const char *argv[HOOKS_MAX][4], *reviewer_argv[4];
	struct gateway_reviewer reviewer;
	struct gateway_helpers helpers;
	char kept[96]; /* where a hook writes what it was told */
	unsigned int told;
	enum gateway_review_outcome outcome;
	char by[128], reason[256];
} stage;

/* Shell scripts: the hooks, which are asked about commands and patches, and the reviewer, who gets
 * the id of each line as $id. NULL: none. */
static void open_with(const char *const scripts[HOOKS_MAX], const char *reviewer)
{
	static const struct approver_ops *const table[] = { &hooks_approver, &reviewer_approver,
							    NULL };
	static char loop_text[2048];
	struct err why = { 0 };

	memset(&stage, 0, sizeof(stage));
	fixture_prepare(NULL);
	for (int i = 0; i < HOOKS_MAX && scripts[i]; i++) {
		memcpy(stage.argv[i], (const char *[]){ "sh", "-c", scripts[i], NULL },
		       sizeof(stage.argv[i]));
		stage.hooks[i] = (struct gateway_hook){
			.program = { "/bin/sh", stage.argv[i], environment },
			.kinds = POLICY_HELPS_EXEC | POLICY_HELPS_PATCH,
			.timeout_ms = 5000,
		};
		stage.helpers.hook_count++;
	}
	stage.helpers.hooks = stage.hooks;
	if (reviewer) {
		(void)snprintf(loop_text, sizeof(loop_text),
			       "while read -r line; do id=${line#*'\"id\":\"'}; id=${id%%%%\\\"*}; "
			       "%s; done",
			       reviewer);
		memcpy(stage.reviewer_argv, (const char *[]){ "sh", "-c", loop_text, NULL },
		       sizeof(stage.reviewer_argv));
		stage.reviewer = (struct gateway_reviewer){
			.program = { "/bin/sh", stage.reviewer_argv, environment },
			.may_answer = true,
			.digest = "00",
			.command = "the test",
			.kinds = POLICY_HELPS_EXEC,
		};
		stage.helpers.reviewer = &stage.reviewer;
	}
	fixture.config.helpers = &stage.helpers;
	fixture.gw = gateway_open_with(fixture.loop, &fixture.config, table, &why);
	ck_assert_msg(fixture.gw != NULL, "%s", why.text);
	fixture.client = gateway_client_new(fixture.gw);
	gateway_exec_begin(fixture.gw, FIXTURE_EXEC, "npm ci");
}

static void on_done(const struct gateway_review_result *result, void *arg)
{
	stage.told++;
	stage.outcome = result->outcome;
	(void)snprintf(stage.by, sizeof(stage.by), "%s", result->by);
	(void)snprintf(stage.reason, sizeof(stage.reason), "%s", result->reason);
}

static struct gateway_review *ask(enum policy_helper_kind kind)
{
	static const char *const argv[] = { "rm", "-rf", "a b", NULL };
	const struct gateway_review_request request = {
		.kind = kind,
		.exec = FIXTURE_EXEC,
		.argv = argv,
		.cwd = "/srv/app",
		.confinement = "read-only",
		.justification = "it is in the way\n",
		.rule = "p:1: command ask rm",
	};

	stage.told = 0;
	return gateway_review(fixture.gw, &request, on_done, NULL, NULL);
}

/* Programs take their time, which the loop does not have. */
static void wait_until_told(void)
{
	for (int i = 0; i < WAIT_MS && stage.told == 0; i++) {
		fixture_settle();
		(void)poll(NULL, 0, 1);
	}
	ck_assert_uint_eq(stage.told, 1);
}

#define SAY(word)   "cat >/dev/null; echo '{\"answer\":\"" word "\",\"reason\":\"so be it\"}'"
#define ALLOW       SAY("allow")
#define DENY        SAY("deny")
#define PASS        SAY("pass")
#define CRASH       "kill -SEGV $$"
#define REPLY(word) "echo '{\"id\":\"'\"$id\"'\",\"answer\":\"" word "\",\"reason\":\"read it\"}'"

static const struct {
	const char *hooks[HOOKS_MAX], *reviewer;
	enum gateway_review_outcome want;
	const char *by, *reason;
} cases[] = {
	{ { NULL }, NULL, GATEWAY_REVIEW_NONE, "", "" },
	{ { ALLOW }, NULL, GATEWAY_REVIEW_ALLOW, "the hook sh", "so be it" },
	{ { DENY }, NULL, GATEWAY_REVIEW_DENY, "the hook sh", "so be it" },
	{ { PASS }, NULL, GATEWAY_REVIEW_NONE, "", "" },
	/* all of them are asked */
	{ { ALLOW, DENY }, NULL, GATEWAY_REVIEW_DENY, "the hook sh", "so be it" },
	{ { DENY, ALLOW }, NULL, GATEWAY_REVIEW_DENY, "the hook sh", "so be it" },
	{ { PASS, ALLOW, PASS }, NULL, GATEWAY_REVIEW_ALLOW, "the hook sh", "so be it" },
	/* one that failed might have denied */
	{ { ALLOW, CRASH }, NULL, GATEWAY_REVIEW_FAILED, "the hook sh", "it gave no answer" },
	{ { CRASH, ALLOW }, NULL, GATEWAY_REVIEW_FAILED, "the hook sh", "it gave no answer" },
	{ { CRASH, DENY }, NULL, GATEWAY_REVIEW_DENY, "the hook sh", "so be it" },
	/* an allow has to end well, a denial need not */
	{ { ALLOW "; exit 3" }, NULL, GATEWAY_REVIEW_FAILED, "the hook sh", NULL },
	{ { ALLOW "; kill -KILL $$" }, NULL, GATEWAY_REVIEW_FAILED, "the hook sh", NULL },
	{ { DENY "; exit 3" }, NULL, GATEWAY_REVIEW_DENY, "the hook sh", NULL },
	{ { "exec cat >/dev/null" }, NULL, GATEWAY_REVIEW_FAILED, "the hook sh", NULL },
	/* not an answer */
	{ { "echo allow" }, NULL, GATEWAY_REVIEW_FAILED, "the hook sh", NULL },
	{ { "echo '{\"answer\":\"Allow\"}'" }, NULL, GATEWAY_REVIEW_FAILED, "the hook sh", NULL },
	{ { "echo '{\"answer\":true}'" }, NULL, GATEWAY_REVIEW_FAILED, "the hook sh", NULL },
	{ { "echo '[\"allow\"]'" }, NULL, GATEWAY_REVIEW_FAILED, "the hook sh", NULL },
	{ { "echo '{\"answer\":\"allow\",\"scope\":\"session\"}'" },
	  NULL,
	  GATEWAY_REVIEW_FAILED,
	  "the hook sh",
	  NULL },
	{ { "echo '{\"answer\":\"allow\",\"answer\":\"allow\"}'" },
	  NULL,
	  GATEWAY_REVIEW_FAILED,
	  "the hook sh",
	  NULL },
	{ { "echo '{\"answer\":\"allow\",\"reason\":7}'" },
	  NULL,
	  GATEWAY_REVIEW_FAILED,
	  "the hook sh",
	  NULL },
	{ { "yes '{\"answer\":\"allow\"}' | head -c 100000" },
	  NULL,
	  GATEWAY_REVIEW_FAILED,
	  "the hook sh",
	  NULL },
	/* the reviewer is asked where no hook has a word */
	{ { NULL }, REPLY("allow"), GATEWAY_REVIEW_ALLOW, "the reviewer", "read it" },
	{ { NULL }, REPLY("deny"), GATEWAY_REVIEW_DENY, "the reviewer", "read it" },
	{ { NULL }, REPLY("abstain"), GATEWAY_REVIEW_NONE, "", "" },
	{ { NULL }, REPLY("perhaps"), GATEWAY_REVIEW_FAILED, "the reviewer", "" },
	{ { NULL }, "exit 1", GATEWAY_REVIEW_FAILED, "the reviewer", "" },
	{ { PASS }, REPLY("allow"), GATEWAY_REVIEW_ALLOW, "the reviewer", "read it" },
	{ { DENY }, REPLY("allow"), GATEWAY_REVIEW_DENY, "the hook sh", "so be it" },
	{ { ALLOW }, REPLY("deny"), GATEWAY_REVIEW_ALLOW, "the hook sh", "so be it" },
	{ { CRASH }, REPLY("allow"), GATEWAY_REVIEW_FAILED, "the hook sh", NULL },
	{ { CRASH }, REPLY("deny"), GATEWAY_REVIEW_DENY, "the reviewer", "read it" },
};

static const char *const reasons[] = {
	[GATEWAY_REVIEW_NONE] = "no_approver",     [GATEWAY_REVIEW_LATE] = "prompt_timeout",
	[GATEWAY_REVIEW_FAILED] = "approver_gone", [GATEWAY_REVIEW_ALLOW] = "granted_review",
	[GATEWAY_REVIEW_DENY] = "denied_review",
};

START_TEST(what_comes_of_it)
{
	open_with(cases[_i].hooks, cases[_i].reviewer);
	ck_assert_ptr_nonnull(ask(POLICY_HELPS_EXEC));
	ck_assert_uint_eq(stage.told, 0);
	wait_until_told();
	ck_assert_int_eq(stage.outcome, cases[_i].want);
	ck_assert_str_eq(stage.by, cases[_i].by);
	if (cases[_i].reason)
		ck_assert_str_eq(stage.reason, cases[_i].reason);
	ck_assert_uint_eq(fixture_count_records("reviewed", reasons[cases[_i].want]), 1);
	ck_assert_uint_eq(fixture.gw->inquiries.count, 0);
	fixture_close();
}
END_TEST

static const char *const silent[HOOKS_MAX] = { "cat >/dev/null; sleep 1000" };
static const char *const nobody[HOOKS_MAX] = { NULL };

START_TEST(late_is_not_denied)
{
	open_with(_i ? nobody : silent, _i ? "sleep 1000" : NULL);
	(void)ask(POLICY_HELPS_EXEC);
	fixture_settle();
	loop_advance(fixture.loop, 4999);
	fixture_settle();
	ck_assert_uint_eq(stage.told, 0);
	loop_advance(fixture.loop, 6000); /* the reviewer has 10 s */
	fixture_settle();
	ck_assert_uint_eq(stage.told, 1);
	ck_assert_int_eq(stage.outcome, GATEWAY_REVIEW_LATE);
	fixture_close();
}
END_TEST

START_TEST(an_outcome_is_awaited_no_longer_than_asked)
{
	const struct gateway_review_request request = { .kind = POLICY_HELPS_EXEC,
							.timeout_ms = 100 };

	open_with(_i ? nobody : silent, _i ? "sleep 1000" : NULL);
	ck_assert_ptr_nonnull(gateway_review(fixture.gw, &request, on_done, NULL, NULL));
	fixture_settle();
	loop_advance(fixture.loop, 101);
	fixture_settle();
	ck_assert_int_eq(stage.outcome, GATEWAY_REVIEW_LATE);
	fixture_close();
}
END_TEST

/* A program for other kinds is not asked. */
START_TEST(kinds_are_kept_apart)
{
	static const char *const deny[HOOKS_MAX] = { DENY };

	open_with(deny, REPLY("deny"));
	(void)ask(POLICY_HELPS_PERMISSIONS);
	fixture_settle();
	ck_assert_uint_eq(stage.told, 1);
	ck_assert_int_eq(stage.outcome, GATEWAY_REVIEW_NONE);
	(void)ask(POLICY_HELPS_PATCH);
	wait_until_told();
	ck_assert_int_eq(stage.outcome, GATEWAY_REVIEW_DENY);
	ck_assert_ptr_null(ask(POLICY_HELPS_NETWORK));
	ck_assert_ptr_null(ask((enum policy_helper_kind)3));
	/* And it is not asked about destinations: with nobody else they are denied at once. */
	struct fixture_request request = { 0 };

	fixture_ask(&request, "https://a.test:443", FIXTURE_EXEC);
	fixture_expect(&request, POLICY_DENY, POLICY_NO_APPROVER);
	fixture_close();
}
END_TEST

static void put_in_the_shadow(void)
{
	stage.reviewer.may_answer = false;
	((struct approver *)fixture.gw->approvers[0].self)->may_answer = false;
}

START_TEST(one_that_may_not_answer_is_not_asked)
{
	open_with(nobody, REPLY("allow"));
	put_in_the_shadow();
	(void)ask(POLICY_HELPS_EXEC);
	fixture_settle();
	ck_assert_int_eq(stage.outcome, GATEWAY_REVIEW_NONE);
	ck_assert_uint_eq(stage.told, 1);
	fixture_close();
}
END_TEST

/* Only those who are meant are asked. */
static const struct {
	enum gateway_review_by by;
	enum gateway_review_outcome want;
} whom[] = {
	{ GATEWAY_REVIEW_BY_ALL, GATEWAY_REVIEW_ALLOW },
	{ GATEWAY_REVIEW_BY_HOOKS, GATEWAY_REVIEW_NONE },
	{ GATEWAY_REVIEW_BY_REVIEWER, GATEWAY_REVIEW_ALLOW },
};
START_TEST(hooks_and_the_reviewer_are_asked_apart)
{
	static const char *const pass[HOOKS_MAX] = { PASS };
	const struct gateway_review_request request = { .kind = POLICY_HELPS_EXEC,
							.by = whom[_i].by };

	open_with(pass, REPLY("allow"));
	ck_assert_ptr_nonnull(gateway_review(fixture.gw, &request, on_done, NULL, NULL));
	wait_until_told();
	ck_assert_int_eq(stage.outcome, whom[_i].want);
	fixture_close();
}
END_TEST

/* What it says for itself, and what a person says: the person before it, or after. ABSTAIN and ASK
 * are silence, which is compared with nothing. */
static const struct {
	const char *reviewer;
	enum policy_action by_person;
	bool is_person_first;
	uint64_t agree_allow, agree_deny, allowed_denied, denied_allowed, abstained;
} watched[] = {
	{ REPLY("allow"), POLICY_ALLOW, false, 1, 0, 0, 0, 0 },
	{ REPLY("allow"), POLICY_DENY, false, 0, 0, 1, 0, 0 },
	{ REPLY("deny"), POLICY_DENY, false, 0, 1, 0, 0, 0 },
	{ REPLY("deny"), POLICY_ALLOW, true, 0, 0, 0, 1, 0 },
	{ REPLY("allow"), POLICY_ALLOW, true, 1, 0, 0, 0, 0 },
	{ REPLY("abstain"), POLICY_ALLOW, true, 0, 0, 0, 0, 1 },
	{ REPLY("allow"), POLICY_ASK, false, 0, 0, 0, 0, 0 },
	{ REPLY("allow"), POLICY_ASK, true, 0, 0, 0, 0, 0 },
};

static unsigned int questions_open(void)
{
	return ((struct approver *)fixture.gw->approvers[0].self)->question_count;
}

START_TEST(in_the_shadow_it_is_compared)
{
	const struct gateway_review_request request = { .kind = POLICY_HELPS_EXEC };
	struct gateway_review *watch;
	struct approver *reviewer;

	open_with(nobody, watched[_i].reviewer);
	ck_assert_ptr_null(gateway_review_watch(fixture.gw, &request)); /* it may answer */
	put_in_the_shadow();
	reviewer = fixture.gw->approvers[0].self;
	stage.reviewer.trust_dir = "/nowhere"; /* what is not saved yet is looked at below */
	watch = gateway_review_watch(fixture.gw, &request);
	ck_assert_ptr_nonnull(watch);
	ck_assert_ptr_null(gateway_review_watch(
		fixture.gw, &(struct gateway_review_request){ .kind = POLICY_HELPS_PATCH }));
	fixture_settle();
	if (watched[_i].is_person_first)
		gateway_review_compare(watch, watched[_i].by_person);
	for (int i = 0; i < WAIT_MS && reviewer->asked_count > 0; i++) {
		fixture_settle();
		(void)poll(NULL, 0, 1);
	}
	if (!watched[_i].is_person_first)
		gateway_review_compare(watch, watched[_i].by_person);
	fixture_settle();
	ck_assert_uint_eq(questions_open(), 0);
	ck_assert_uint_eq(fixture.gw->inquiries.count, 0);
	ck_assert_uint_eq(reviewer->unsaved.agree_allow, watched[_i].agree_allow);
	ck_assert_uint_eq(reviewer->unsaved.agree_deny, watched[_i].agree_deny);
	ck_assert_uint_eq(reviewer->unsaved.allowed_denied, watched[_i].allowed_denied);
	ck_assert_uint_eq(reviewer->unsaved.denied_allowed, watched[_i].denied_allowed);
	ck_assert_uint_eq(reviewer->unsaved.abstained, watched[_i].abstained);
	ck_assert_uint_eq(stage.told, 0);
	stage.reviewer.trust_dir = NULL;
	fixture_close();
}
END_TEST

/* Nobody says anything any more. */
START_TEST(what_is_watched_ends_with_the_gateway)
{
	const struct gateway_review_request request = { .kind = POLICY_HELPS_EXEC };

	open_with(nobody, "sleep 1000");
	put_in_the_shadow();
	ck_assert_ptr_nonnull(gateway_review_watch(fixture.gw, &request));
	gateway_review_withdraw(gateway_review_watch(fixture.gw, &request));
	gateway_review_compare(NULL, POLICY_ALLOW);
	fixture_settle();
	fixture_close();
}
END_TEST

/* An allow is for the one that was asked about, a denial may last. */
START_TEST(an_allow_is_not_kept)
{
	open_with(nobody,
		  _i ? "echo '{\"id\":\"'\"$id\"'\",\"answer\":\"deny\",\"negative_ttl_s\":60}'"
		     : "echo '{\"id\":\"'\"$id\"'\",\"answer\":\"allow\",\"ttl_s\":60}'");
	(void)ask(POLICY_HELPS_EXEC);
	wait_until_told();
	(void)ask(POLICY_HELPS_EXEC);
	wait_until_told();
	ck_assert_uint_eq(((struct approver *)fixture.gw->approvers[0].self)->last_sent,
			  _i ? 1 : 2);
	fixture_close();
}
END_TEST

START_TEST(the_breaker_hands_over_to_people)
{
	open_with(nobody, REPLY("deny"));
	for (int i = 0; i < REVIEWER_DENIALS_MAX; i++) {
		(void)ask(POLICY_HELPS_EXEC);
		wait_until_told();
		ck_assert_int_eq(stage.outcome, GATEWAY_REVIEW_DENY);
	}
	(void)ask(POLICY_HELPS_EXEC);
	fixture_settle();
	ck_assert_uint_eq(stage.told, 1);
	ck_assert_int_eq(stage.outcome, GATEWAY_REVIEW_NONE);
	loop_advance(fixture.loop, REVIEWER_OPEN_MS + 1);
	(void)ask(POLICY_HELPS_EXEC);
	wait_until_told();
	ck_assert_int_eq(stage.outcome, GATEWAY_REVIEW_DENY);
	fixture_close();
}
END_TEST

static json_t *told_to_hook(const char *const *argv, const char *justification)
{
	static char script[256];
	const char *const scripts[HOOKS_MAX] = { script };
	const struct gateway_review_request request = { .kind = POLICY_HELPS_EXEC,
							.argv = argv,
							.cwd = "/srv/\x1b[2Japp",
							.confinement = "read-only",
							.justification = justification };
	char path[] = "/tmp/test-hook-XXXXXX", text[1 << 16];
	auto_close int fd = mkstemp(path);

	(void)snprintf(script, sizeof(script), "cat >%s; echo '{\"answer\":\"pass\"}'", path);
	open_with(scripts, NULL);
	ck_assert_ptr_nonnull(gateway_review(fixture.gw, &request, on_done, NULL, NULL));
	wait_until_told();
	ck_assert_int_eq(stage.outcome, GATEWAY_REVIEW_NONE);
	ssize_t got = read(fd, text, sizeof(text));

	ck_assert_int_gt(got, 0);
	(void)unlink(path);
	fixture_close();
	return json_loadb(text, (size_t)got, JSON_REJECT_DUPLICATES, NULL);
}

static const char *member(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	ck_assert_ptr_nonnull(text);
	return text;
}

START_TEST(a_hook_is_told_what_it_is_about)
{
	static const char *const plain[] = { "rm", "-rf", "a b", NULL };
	static const char *const secret[] = { "curl", "--password", "hunter2", NULL };
	json_t *object = told_to_hook(plain, "it is in the way\n");

	ck_assert_str_eq(member(object, "kind"), "exec");
	ck_assert_str_eq(member(object, "command"), "rm -rf 'a b'");
	ck_assert_uint_eq(json_array_size(json_object_get(object, "argv")), 3);
	ck_assert_str_eq(json_string_value(json_array_get(json_object_get(object, "argv"), 2)),
			 "a b");
	ck_assert_str_eq(member(object, "cwd"), "/srv/\x1b[2Japp");
	ck_assert_str_eq(member(object, "confinement"), "read-only");
	ck_assert_str_eq(member(object, "rule"), "");
	ck_assert_int_eq(json_integer_value(json_object_get(object, "deadline_ms")), 5000);
	json_decref(object);
	object = told_to_hook(secret, "the password is --password hunter2");
	auto_free char *all = json_dumps(object, 0);

	ck_assert_ptr_null(strstr(all, "hunter2"));
	ck_assert_uint_eq(json_array_size(json_object_get(object, "argv")), 0);
	json_decref(object);
}
END_TEST

/* More at once than programs run. */
START_TEST(many_wait_for_their_turn)
{
	static const char *const allow[HOOKS_MAX] = { ALLOW };
	const struct gateway_review_request request = { .kind = POLICY_HELPS_PATCH };
	struct err why = { 0 };

	open_with(allow, NULL);
	for (int i = 0; i < 40; i++)
		ck_assert_ptr_nonnull(gateway_review(fixture.gw, &request, on_done, NULL, NULL));
	for (int i = 0; i < WAIT_MS && stage.told < 40; i++) {
		fixture_settle();
		(void)poll(NULL, 0, 1);
	}
	ck_assert_uint_eq(stage.told, 40);
	for (int i = 0; i < GATEWAY_REVIEWS_MAX; i++)
		ck_assert_ptr_nonnull(gateway_review(fixture.gw, &request, on_done, NULL, NULL));
	ck_assert_ptr_null(gateway_review(fixture.gw, &request, on_done, NULL, &why));
	ck_assert_str_ne(why.text, "");
	fixture_close(); /* with all of them open */
	ck_assert_uint_eq(stage.told, 40);
}
END_TEST

START_TEST(one_that_is_withdrawn_is_not_told)
{
	struct gateway_review *early, *hook, *queued;

	open_with(silent, "sleep 1000");
	early = ask(POLICY_HELPS_EXEC);
	gateway_review_withdraw(early);
	gateway_review_withdraw(NULL);
	hook = ask(POLICY_HELPS_EXEC);
	fixture_settle();
	gateway_review_withdraw(hook);
	stage.helpers.hook_count = 0;
	fixture_settle();
	fixture_close();
	ck_assert_uint_eq(stage.told, 0);
	open_with(nobody, "sleep 1000");
	hook = ask(POLICY_HELPS_EXEC);
	queued = ask(POLICY_HELPS_EXEC);
	fixture_settle();
	gateway_review_withdraw(hook);
	fixture_settle();
	gateway_review_withdraw(queued);
	fixture_settle();
	loop_advance(fixture.loop, 60000);
	fixture_settle();
	ck_assert_uint_eq(stage.told, 0);
	fixture_close();
}
END_TEST

Suite *suite_reviews(void)
{
	Suite *suite = suite_create("reviews");
	TCase *tcase = tcase_create("hooks and a reviewer");

	tcase_add_loop_test(tcase, what_comes_of_it, 0, ARRAY_SIZE(cases));
	tcase_add_loop_test(tcase, late_is_not_denied, 0, 2);
	tcase_add_loop_test(tcase, an_outcome_is_awaited_no_longer_than_asked, 0, 2);
	tcase_add_test(tcase, kinds_are_kept_apart);
	tcase_add_test(tcase, one_that_may_not_answer_is_not_asked);
	tcase_add_loop_test(tcase, hooks_and_the_reviewer_are_asked_apart, 0, ARRAY_SIZE(whom));
	tcase_add_loop_test(tcase, in_the_shadow_it_is_compared, 0, ARRAY_SIZE(watched));
	tcase_add_test(tcase, what_is_watched_ends_with_the_gateway);
	tcase_add_loop_test(tcase, an_allow_is_not_kept, 0, 2);
	tcase_add_test(tcase, the_breaker_hands_over_to_people);
	tcase_add_test(tcase, a_hook_is_told_what_it_is_about);
	tcase_add_test(tcase, many_wait_for_their_turn);
	tcase_add_test(tcase, one_that_is_withdrawn_is_not_told);
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	return suite;
}
