/* Requests and answers as files: counted, written, signed, read, agreed on. */
#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crypto/base64.h"
#include "base/err.h"
#include "base/mem.h"
#include "gateway/bundle/bundle.h"
#include "policies/policies_tools.h"
#include "tests/unit/gateway/fixture.h"

#define NOW    1800000000
#define UNTIL  (NOW + 7 * 86400)
#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct bundle_request request_to(const char *destination)
{
	struct bundle_request request = { .count = 1, .runs = 1, .first_s = NOW, .last_s = NOW };

	ck_assert_int_eq(policy_destination_parse(destination, &request.dst, NULL), 0);
	return request;
}

static void note(struct bundle *bundle, const char *destination, const char *command)
{
	struct bundle_request request = request_to(destination);

	request.commands[0] = command;
	bundle_note(bundle, &request);
}

static char *file_of(const struct bundle *bundle, const struct sign_key *key)
{
	char *text = NULL;

	ck_assert_int_eq(bundle_file_write(bundle, key, &text, NULL), 0);
	return text;
}

static struct bundle *read_back(const char *text)
{
	struct bundle *bundle = NULL;
	uint8_t signer[SIGN_KEY_BYTES];
	char digest[65];
	struct err why = { 0 };

	ck_assert_msg(bundle_file_read(text, strlen(text), &bundle, signer, digest, &why) == 0,
		      "%s", why.text);
	return bundle;
}

START_TEST(one_destination_is_one_line)
{
	struct bundle *bundle = bundle_new();

	for (int i = 0; i < 50; i++)
		note(bundle, "a.test", i % 2 ? "npm ci" : "npm test");
	note(bundle, "tcp://a.test:22", "git");
	ck_assert_uint_eq(bundle_count(bundle), 2);
	const struct bundle_request *look = bundle_look(bundle, 0);

	ck_assert_str_eq(look->dst.host, "a.test");
	ck_assert_uint_eq(look->dst.port, 443);
	ck_assert_uint_eq(look->count, 50);
	ck_assert_str_eq(look->commands[0], "npm test");
	ck_assert_str_eq(look->commands[1], "npm ci");
	ck_assert_ptr_null(look->commands[2]);
	ck_assert_str_eq(look->rule, "");
	bundle_free(bundle);
}
END_TEST

START_TEST(commands_and_times_are_kept_as_far_as_they_go)
{
	struct bundle *bundle = bundle_new();
	struct bundle_request request = request_to("a.test");
	char command[16];

	for (int i = 0; i < 12; i++) {
		(void)snprintf(command, sizeof(command), "cmd %d", i);
		request.commands[0] = command;
		request.first_s = NOW - i;
		request.last_s = NOW + i;
		request.program = i == 3 ? "/bin/c\033url" : "";
		bundle_note(bundle, &request);
	}
	const struct bundle_request *look = bundle_look(bundle, 0);

	ck_assert_str_eq(look->commands[BUNDLE_COMMANDS_MAX - 1], "cmd 7");
	ck_assert_int_eq(look->first_s, NOW - 11);
	ck_assert_int_eq(look->last_s, NOW + 11);
	ck_assert_str_eq(look->program, "/bin/c\\x1burl");
	bundle_free(bundle);
}
END_TEST

START_TEST(past_the_limit_they_are_counted_together)
{
	struct bundle *bundle = bundle_new();
	char destination[32];

	for (int i = 0; i < BUNDLE_KEYS_MAX + 5; i++) {
		(void)snprintf(destination, sizeof(destination), "h%d.test", i);
		note(bundle, destination, "x");
	}
	note(bundle, "h3.test", "x");
	ck_assert_uint_eq(bundle_count(bundle), BUNDLE_KEYS_MAX);
	ck_assert_uint_eq(bundle_others(bundle), 5);
	bundle_free(bundle);
}
END_TEST

START_TEST(what_is_written_is_read_back)
{
	struct bundle *bundle = bundle_new();
	struct bundle_request request = request_to("a.test");
	struct bundle_source source = { "7f3a", "ci", NOW, { 1, 2 } };
	struct sign_key key;

	ck_assert_int_eq(sign_key_make(&key, NULL), 0);
	request.rule = "policy:3: ask a.test";
	request.because = "new";
	request.plea = "to fetch \"it\"";
	request.chain = "sh > curl";
	request.commands[0] = "curl a\\x1b";
	bundle_note(bundle, &request);
	bundle_add_source(bundle, &source);
	auto_free char *text = file_of(bundle, &key);
	struct bundle *again = read_back(text);
	auto_free char *second = file_of(again, &key);

	ck_assert_str_eq(text, second);
	ck_assert_str_eq(bundle_look(again, 0)->commands[0], "curl a\\x1b");
	ck_assert_uint_eq(bundle_runs(again), 1);
	bundle_free(bundle);
	bundle_free(again);
}
END_TEST

/* Fifty runs that ask for one host. */
START_TEST(merged_they_are_one_line)
{
	struct bundle *all = bundle_new();
	struct sign_key key;

	ck_assert_int_eq(sign_key_make(&key, NULL), 0);
	for (int i = 0; i < 300; i++) {
		struct bundle *one = bundle_new();
		char run[8];
		struct bundle_source source = { run, "ci", NOW, { 0 } };

		(void)snprintf(run, sizeof(run), "%d", i);
		note(one, "a.test", "npm ci");
		note(one, i == 7 ? "b.test" : "a.test", "npm ci");
		bundle_add_source(one, &source);
		bundle_merge(all, one);
		bundle_free(one);
	}
	ck_assert_uint_eq(bundle_count(all), 2);
	ck_assert_uint_eq(bundle_look(all, 0)->count, 599);
	ck_assert_uint_eq(bundle_runs(all), 300);
	auto_free char *text = file_of(all, &key);
	struct bundle *again = read_back(text);

	ck_assert_uint_eq(bundle_runs(again), 300);
	bundle_free(all);
	bundle_free(again);
}
END_TEST

START_TEST(no_byte_of_a_bundle_can_be_changed)
{
	struct bundle *bundle = bundle_new(), *again = NULL;
	uint8_t signer[SIGN_KEY_BYTES];
	struct sign_key key;
	char digest[65];

	ck_assert_int_eq(sign_key_make(&key, NULL), 0);
	note(bundle, "a.test", "npm ci");
	auto_free char *text = file_of(bundle, &key);
	size_t len = strlen(text) - 1; /* the line break is nobody's */

	for (size_t i = 0; i < len; i++) {
		text[i] ^= 1;
		ck_assert_int_eq(bundle_file_read(text, len, &again, signer, digest, NULL),
				 -EBADMSG);
		text[i] ^= 1;
		ck_assert_int_eq(bundle_file_read(text, i, &again, signer, digest, NULL), -EBADMSG);
	}
	bundle_free(bundle);
}
END_TEST

/* --- answers --- */

/* Two approvers and somebody else. */
static struct sign_key ana, ben, eve;

static struct policy *policy_with(unsigned int needed)
{
	char first[SIGN_PUBLIC_TEXT_MAX], second[SIGN_PUBLIC_TEXT_MAX];

	ck_assert_int_eq(sign_key_make(&ana, NULL), 0);
	ck_assert_int_eq(sign_key_make(&ben, NULL), 0);
	ck_assert_int_eq(sign_key_make(&eve, NULL), 0);
	auto_free char *text = mem_printf(
		"default ask\napprover ana %s\napprover ben %s\napprovers-needed %u\n",
		sign_public_text(ana.public, first), sign_public_text(ben.public, second), needed);
	struct policy *policy = policy_new();

	ck_assert_msg(policy_load_text(policy, "<test>", text) == 0, "%s", policy_errors(policy));
	return policy;
}

static char *sign_text(const char *text, const struct sign_key *key)
{
	uint8_t signature[SIGN_BYTES];
	size_t len;
	auto_free char *message = bundle_answers_message(text, &len);

	ck_assert_int_eq(sign_bytes(key, message, len, signature, NULL), 0);
	return bundle_answers_file(text, signature, sizeof(signature), false);
}

/* @lines: "+a.test -b.test". */
static char *answers_by(const struct sign_key *key, const char *lines, int64_t from, int64_t until)
{
	struct bundle_answer answers[8];
	auto_free char *copy = mem_strdup(lines);
	size_t count = 0;

	for (char *rest = copy, *word; (word = strsep(&rest, " ")) && *word; count++) {
		answers[count].action = *word == '+' ? POLICY_ALLOW : POLICY_DENY;
		ck_assert_int_eq(policy_destination_parse(word + 1, &answers[count].dst, NULL), 0);
	}
	auto_free char *text =
		bundle_answers_text(answers, count, DIGEST, from, until, key->public);

	return sign_text(text, key);
}

static int add(struct bundle_answers *answers, const struct policy *policy, const char *file)
{
	return bundle_answers_add(answers, policy, file, strlen(file), NOW, NULL);
}

/* The answers of approvers: "ana:+a.test ben:-a.test"; the result, as lines without line ends. */
static const struct {
	unsigned int needed;
	const char *ana, *ben;
	const char *want; /* "allow https://a.test:443 by ana;" */
	size_t lacking;
} agreements[] = {
	{ 1, "+a.test", NULL, "allow https://a.test:443 by ana;", 0 },
	{ 1, "-a.test", NULL, "deny https://a.test:443 by ana;", 0 },
	{ 1, "+a.test +b.test:80", NULL,
	  "allow http://b.test:80 by ana;allow https://a.test:443 by ana;", 0 },
	{ 1, "+a.test", "+a.test", "allow https://a.test:443 by ana and ben;", 0 },
	{ 1, "+a.test", "-a.test",
	  "deny https://a.test:443 by ben;allow https://a.test:443 by ana;", 0 },
	{ 2, "+a.test", NULL, "", 1 },
	{ 2, "+a.test +a.test", NULL, "", 1 },
	{ 2, "+a.test", "+b.test", "", 2 },
	{ 2, "+a.test", "+tcp://a.test:22", "", 2 },
	{ 2, "+a.test", "+a.test", "allow https://a.test:443 by ana and ben;", 0 },
	{ 2, "-a.test", NULL, "deny https://a.test:443 by ana;", 0 },
	{ 2, "+a.test", "-a.test", "deny https://a.test:443 by ben;", 1 },
	{ 3, "+a.test", "+a.test", "", 1 },
	{ 1, "", NULL, "", 0 },
};

static char *lines_of(struct bundle_answers *answers, const struct policy *policy, size_t *lacking)
{
	char *text = NULL, shown[512] = "";

	ck_assert_int_eq(bundle_answers_policy(answers, policy, &text, lacking), 0);
	for (char *rest = text, *line; (line = strsep(&rest, "\n")) && *line;) {
		char action[8], dst[64], by[64];

		ck_assert_int_eq(
			sscanf(line, "answer %7s %63s until %*s # by %63[^;]", action, dst, by), 3);
		*strstr(by, " by bundle") = '\0';
		size_t len = strlen(shown);

		(void)snprintf(shown + len, sizeof(shown) - len, "%s %s by %s;", action, dst, by);
	}
	free(text);
	return mem_strdup(shown);
}

START_TEST(as_many_as_are_needed_have_to_agree)
{
	struct policy *policy = policy_with(agreements[_i].needed);
	struct bundle_answers *answers = bundle_answers_new();
	auto_free char *first = answers_by(&ana, agreements[_i].ana, NOW, UNTIL);
	size_t lacking = 99;

	ck_assert_int_eq(add(answers, policy, first), 0);
	ck_assert_int_eq(add(answers, policy, first), 0); /* twice is once */
	if (agreements[_i].ben) {
		auto_free char *second = answers_by(&ben, agreements[_i].ben, NOW, UNTIL + 5);

		ck_assert_int_eq(add(answers, policy, second), 0);
	}
	auto_free char *lines = lines_of(answers, policy, &lacking);

	ck_assert_str_eq(lines, agreements[_i].want);
	ck_assert_uint_eq(lacking, agreements[_i].lacking);
	bundle_answers_free(answers);
	policy_free(policy);
}
END_TEST

/* The policy engine reads the lines: deny beats allow, they end when the file does, and only what
 * is asked is settled by them. */
START_TEST(the_lines_are_answers)
{
	static const struct {
		const char *destination;
		int64_t now;
		enum policy_reason want;
	} requests[] = {
		{ "a.test", NOW, POLICY_ANSWER_ALLOW },
		{ "a.test", UNTIL - 1, POLICY_ANSWER_ALLOW },
		{ "a.test", UNTIL, POLICY_ASKED },
		{ "b.test", NOW, POLICY_ANSWER_DENY },
		{ "c.test", NOW, POLICY_RULE_DENY },
		{ "a.test:80", NOW, POLICY_ASKED },
		{ "x.a.test", NOW, POLICY_ASKED },
	};
	struct policy *policy = policy_with(1);
	struct bundle_answers *answers = bundle_answers_new();
	auto_free char *first = answers_by(&ana, "+a.test +b.test +c.test", NOW, UNTIL);
	auto_free char *second = answers_by(&ben, "-b.test", NOW, UNTIL);
	auto_free char *text = NULL;
	size_t lacking;

	ck_assert_int_eq(add(answers, policy, first), 0);
	ck_assert_int_eq(add(answers, policy, second), 0);
	ck_assert_int_eq(bundle_answers_policy(answers, policy, &text, &lacking), 0);
	ck_assert_int_eq(policy_load_text(policy, "<rules>", "deny c.test"), 0);
	ck_assert_int_eq(policy_load_text(policy, "<answers>", text), 0);
	ck_assert_int_eq(policy_finish(policy), 0);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		struct policy_facts facts = { .now = requests[i].now };
		struct policy_verdict verdict;

		ck_assert_int_eq(
			policy_destination_parse(requests[i].destination, &facts.dst, NULL), 0);
		facts.carries = facts.dst.protocol;
		policy_decide(policy, &facts, &verdict);
		ck_assert_msg(verdict.reason == requests[i].want, "%zu: %s", i,
			      policy_reason_code(verdict.reason));
		if (i == 0)
			ck_assert_str_eq(verdict.by, "ana by bundle");
	}
	bundle_answers_free(answers);
	policy_free(policy);
}
END_TEST

START_TEST(the_shortest_end_of_those_who_agree_counts)
{
	struct policy *policy = policy_with(2);
	struct bundle_answers *answers = bundle_answers_new();
	auto_free char *first = answers_by(&ana, "+a.test", NOW, NOW + 3600);
	auto_free char *second = answers_by(&ben, "+a.test", NOW, UNTIL);
	auto_free char *text = NULL;
	size_t lacking;

	ck_assert_int_eq(add(answers, policy, first), 0);
	ck_assert_int_eq(add(answers, policy, second), 0);
	ck_assert_int_eq(bundle_answers_policy(answers, policy, &text, &lacking), 0);
	ck_assert_msg(strstr(text, "until 2027-01-15T09:00:00Z ") != NULL, "%s", text);
	bundle_answers_free(answers);
	policy_free(policy);
}
END_TEST

START_TEST(who_may_not_answer_answers_nothing)
{
	struct policy *policy = policy_with(1);
	struct bundle_answers *answers = bundle_answers_new();
	auto_free char *by_eve = answers_by(&eve, "+a.test", NOW, UNTIL);
	auto_free char *over = answers_by(&ana, "+a.test", NOW - 7200, NOW);
	auto_free char *early = answers_by(&ana, "+a.test", NOW + 2 * 86400, NOW + 3 * 86400);
	auto_free char *endless = answers_by(&ana, "+a.test", NOW, NOW + INT64_C(400) * 86400);
	struct bundle_answer answer = { .action = POLICY_ALLOW };

	ck_assert_int_eq(policy_destination_parse("a.test", &answer.dst, NULL), 0);
	/* it names ana, and is signed by eve */
	auto_free char *text = bundle_answers_text(&answer, 1, DIGEST, NOW, UNTIL, ana.public);
	auto_free char *forged = sign_text(text, &eve);
	size_t lacking;

	ck_assert_int_eq(add(answers, policy, by_eve), -EPERM);
	ck_assert_int_eq(add(answers, policy, over), -ETIME);
	ck_assert_int_eq(add(answers, policy, early), -EBADMSG);
	ck_assert_int_eq(add(answers, policy, endless), -EBADMSG);
	ck_assert_int_eq(add(answers, policy, forged), -EBADMSG);
	auto_free char *lines = lines_of(answers, policy, &lacking);

	ck_assert_str_eq(lines, "");
	bundle_answers_free(answers);
	policy_free(policy);
}
END_TEST

START_TEST(no_byte_of_an_answer_can_be_changed)
{
	struct policy *policy = policy_with(1);
	struct bundle_answers *answers = bundle_answers_new();
	auto_free char *file = answers_by(&ana, "+a.test -b.test", NOW, UNTIL);
	size_t len = strlen(file) - 1, lacking;

	for (size_t i = 0; i < len; i++) {
		file[i] ^= 1;
		ck_assert_int_lt(bundle_answers_add(answers, policy, file, len, NOW, NULL), 0);
		file[i] ^= 1;
		ck_assert_int_lt(bundle_answers_add(answers, policy, file, i, NOW, NULL), 0);
	}
	auto_free char *lines = lines_of(answers, policy, &lacking);

	ck_assert_str_eq(lines, "");
	bundle_answers_free(answers);
	policy_free(policy);
}
END_TEST

/* Signed as it should be, and still no answer: one member replaced, added (NULL: taken out). */
static const struct {
	const char *name, *value;
} oddities[] = {
	{ "format", "\"sallyport-bundle\"" },
	{ "version", "2" },
	{ "version", "1.0" },
	{ "extra", "1" },
	{ "bundle", NULL },
	{ "bundle", "\"0123\"" },
	{ "until", "\"never\"" },
	{ "until", "-1" },
	{ "from", NULL },
	{ "answers", "{}" },
	{ "answers", "[1]" },
	{ "answers", "[\"ask https://a.test:443\"]" },
	{ "answers", "[\"allow a.test\"]" },
	{ "answers", "[\"allow https://a.test\"]" },
	{ "answers", "[\"allow https://A.test:443\"]" },
	{ "answers", "[\"allow https://*.test:443\"]" },
	{ "answers", "[\"allow https://a.test:443 \"]" },
	{ "answers", "[\"allow  https://a.test:443\"]" },
	{ "answers", "[\"allow https://a.test:443 private\"]" },
	{ "answers", "[\"allow https://a.test:443\\nallow https://b.test:443\"]" },
	{ "answers", "[\"allow https://a.test:443\\u0000\"]" },
	{ "answers", "[\"allow https://a.test:443\", \"allow *\"]" },
};

START_TEST(what_is_odd_is_refused_though_it_is_signed)
{
	struct policy *policy = policy_with(1);
	struct bundle_answers *answers = bundle_answers_new();
	struct bundle_answer answer = { .action = POLICY_ALLOW };
	size_t lacking;

	ck_assert_int_eq(policy_destination_parse("a.test", &answer.dst, NULL), 0);
	auto_free char *text = bundle_answers_text(&answer, 1, DIGEST, NOW, UNTIL, ana.public);
	json_t *object = json_loads(text, 0, NULL);

	if (oddities[_i].value)
		json_object_set_new(
			object, oddities[_i].name,
			json_loads(oddities[_i].value, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL));
	else
		json_object_del(object, oddities[_i].name);
	auto_free char *odd = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
	auto_free char *file = sign_text(odd, &ana);

	json_decref(object);
	ck_assert_int_eq(add(answers, policy, file), -EBADMSG);
	auto_free char *lines = lines_of(answers, policy, &lacking);

	ck_assert_str_eq(lines, "");
	bundle_answers_free(answers);
	policy_free(policy);
}
END_TEST

START_TEST(a_bundle_is_no_answer)
{
	struct policy *policy = policy_with(1);
	struct bundle_answers *answers = bundle_answers_new();
	struct bundle *bundle = bundle_new();

	note(bundle, "a.test", "x");
	auto_free char *file = file_of(bundle, &ana);

	ck_assert_int_eq(add(answers, policy, file), -EBADMSG);
	bundle_free(bundle);
	bundle_answers_free(answers);
	policy_free(policy);
}
END_TEST

Suite *suite_bundle(void)
{
	Suite *suite = suite_create("bundle");
	TCase *requests = tcase_create("requests"), *replies = tcase_create("answers");

	tcase_add_test(requests, one_destination_is_one_line);
	tcase_add_test(requests, commands_and_times_are_kept_as_far_as_they_go);
	tcase_add_test(requests, past_the_limit_they_are_counted_together);
	tcase_add_test(requests, what_is_written_is_read_back);
	tcase_add_test(requests, merged_they_are_one_line);
	tcase_add_test(requests, no_byte_of_a_bundle_can_be_changed);
	tcase_add_loop_test(replies, as_many_as_are_needed_have_to_agree, 0,
			    ARRAY_SIZE(agreements));
	tcase_add_test(replies, the_lines_are_answers);
	tcase_add_test(replies, the_shortest_end_of_those_who_agree_counts);
	tcase_add_test(replies, who_may_not_answer_answers_nothing);
	tcase_add_test(replies, no_byte_of_an_answer_can_be_changed);
	tcase_add_loop_test(replies, what_is_odd_is_refused_though_it_is_signed, 0,
			    ARRAY_SIZE(oddities));
	tcase_add_test(replies, a_bundle_is_no_answer);
	suite_add_tcase(suite, requests);
	suite_add_tcase(suite, replies);
	return suite;
}
