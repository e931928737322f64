/* Conditions on the HTTP request: an allow matches only what every server reads in the same way; a
 * denial matches if any server may read the request so. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "policies/policies_request.h"
#include "tests/unit/policies/policies_test.h"

/* "METHOD TARGET|name: value|name: value" */
static struct policy_request *request_of(const char *text)
{
	char room[POLICY_PATH_MAX + POLICY_QUERY_MAX];
	auto_free char *own = mem_strdup(text);
	struct policy_field fields[8] = { { 0 } };
	struct policy_request request = { .fields = fields };
	char *rest = own, *line = strsep(&rest, "|"), *target = strchr(line, ' ');

	*target++ = '\0';
	request.method = line;
	policy_request_set_target(&request, target, strlen(target), room);
	while ((line = strsep(&rest, "|"))) {
		char *value = strstr(line, ": ");

		*value = '\0';
		request.has_override |= policy_request_is_override(line, strlen(line));
		fields[request.field_count].name = line;
		fields[request.field_count++].value = value + 2;
	}
	return policy_request_copy(&request, mem_new(policy_request_size(&request)));
}

static enum policy_action decide(const char *rule, const char *destination,
				 const struct policy_request *request, enum policy_reason *ret)
{
	struct policy *policy = policies_test_load(rule);
	struct policy_facts facts;
	struct policy_verdict verdict;

	policies_test_facts(destination, &facts);
	facts.request = request;
	policy_decide(policy, &facts, &verdict);
	policy_free(policy);
	if (ret)
		*ret = verdict.reason;
	return verdict.action;
}

/* Of `allow … CLAUSE` under default deny: is it allowed? Of `deny … CLAUSE` under default allow: is
 * it denied? */
static const struct {
	const char *clause, *request;
	bool allows, denies;
} cases[] = {
	{ "method GET", "GET /", true, true },
	{ "method GET HEAD", "HEAD /", true, true },
	{ "method GET", "POST /", false, false },
	{ "method GET", "get /", false, true }, /* some servers do not mind */
	{ "method GET", "GETX /", false, false },
	{ "method GET", "GET /|x-http-method-override: DELETE", false, true },
	{ "method GET", "GET /|X-Method-Override: x", false, true },
	{ "method GET", "GET /|x-other: x", true, true },

	{ "path /a", "GET /a", true, true },
	{ "path /a", "GET /a?q=1", true, true },
	{ "path /a", "GET /a/", false, false },
	{ "path /a", "GET /b", false, false },
	{ "path /a /b", "GET /b", true, true },
	{ "path /", "GET /", true, true },
	{ "path /", "OPTIONS *", false, false },
	{ "path /a", "GET /A", false, true },
	{ "path /a/*", "GET /a/x", true, true },
	{ "path /a/*", "GET /a/", true, true },
	{ "path /a/*", "GET /a/x/y", false, false },
	{ "path /a/**", "GET /a/x/y", true, true },
	{ "path /a/**", "GET /ab", false, false },
	{ "path /a/**/z", "GET /a/x/y/z", true, true },
	{ "path /a/**/z", "GET /a/x/y/zz", false, false },
	{ "path /*/b/*", "GET /a/b/c", true, true },
	{ "path /*/b/*", "GET /a/a/b/c", false, false },
	{ "path /**/b*/c", "GET /b1/x/b2/c", true, true },
	/* Where servers read in two ways, an allow is not met and a denial is. */
	{ "path /a/**", "GET /a/../b", false, true },
	{ "path /a/**", "GET /a/./b", false, true },
	{ "path /a/**", "GET /a/..", false, true },
	{ "path /a/**", "GET /a/%2e%2e/b", false, true },
	{ "path /a/**", "GET /a/.%2E/b", false, true },
	{ "path /a/**", "GET /a/..;/b", false, true },
	{ "path /a/**", "GET /a/..%2fb", false, true },
	{ "path /a/**", "GET /a%2fb", false, true },
	{ "path /a/**", "GET /a%5cb", false, true },
	{ "path /a/**", "GET /a/..\\b", false, true },
	{ "path /a/**", "GET /a/%252e%252e/b", false, true },
	{ "path /a/**", "GET /a/%00", false, true },
	{ "path /a/**", "GET /a/%0a", false, true },
	{ "path /a/**", "GET /a/%zz", false, true },
	{ "path /a/**", "GET /a/%2", false, true },
	{ "path /a/**", "GET /a/%3b/b", false, true },
	{ "path /a/**", "GET /a/...", true, true }, /* a name like any other */
	{ "path /a/**", "GET /a/.b", true, true },
	{ "path /admin", "GET /%61dmin", false, true },
	{ "path /admin", "GET //admin", false, true },
	{ "path /admin", "GET /admin;x=1", false, true },
	{ "path /admin", "GET /;x/admin", false, true },
	{ "path /admin/**", "GET /public//admin", false, false },
	{ "path /*/b", "GET //b", false, true },
	{ "path /a%20b", "GET /a%20b", true, true },
	{ "path /a%20b", "GET /%61%20b", false, true },
	{ "path /a", "GET /a|x-original-url: /b", false, true },
	{ "path /a", "GET /b|x-rewrite-url: /a", false, true },

	{ "query page q=*", "GET /?page=2&q=x", true, true },
	{ "query page q=*", "GET /?q=", true, true },
	{ "query page q=*", "GET /?page", true, true },
	{ "query page q=*", "GET /?page=2&other=1", false, true },
	{ "query page q=*", "GET /?other=1", false, false },
	{ "query page q=*", "GET /", false, false },
	{ "query q=a*", "GET /?q=b", false, false },
	{ "query q=a*", "GET /?q=%61b", false, true },
	{ "query q=a*", "GET /?%71=ab", false, true },
	{ "query q=a", "GET /?q=a;x=1", false, true },
	{ "query q=a", "GET /?x=1;q=a", false, true },
	{ "query q=a", "GET /?q=b&q=a", false, true },
	{ "query q=a", "GET /?q=%", false, true },
	{ "query q=a+b", "GET /?q=a+b", false, true },
	{ "query q", "GET /?Q=1", false, true },

	{ "header accept", "GET /|Accept: x", true, true },
	{ "header accept", "GET /|accepts: x", false, false },
	{ "header \"accept: text/*\"", "GET /|accept: text/html", true, true },
	{ "header \"accept: text/*\"", "GET /|accept: image/png", false, false },
	{ "header \"accept: text/*\"", "GET /|accept: TEXT/html", false, true },
	{ "header \"accept: text/*\"", "GET /|accept: text/a|Accept: image/b", false, true },
	{ "header \"accept: text/*\" x-key", "GET /|x-key: 1", true, true },
	{ "header accept", "GET /", false, false },
	/* Read as that field by an application that gets variables: more than one reading. */
	{ "header x-key", "GET /|x_key: 1", false, true },
	{ "header \"x-key: a\"", "GET /|x-key: a|X_Key: b", false, true },
	{ "header x_key", "GET /|x_key: 1", true, true },

	{ "method GET path /a", "GET /a", true, true },
	{ "method GET path /a", "GET /b", false, false },
	{ "method GET path /a", "POST /a", false, false },
};

START_TEST(condition)
{
	struct policy_request *request = request_of(cases[_i].request);
	auto_free char *allow = mem_printf("default deny\nallow a.test %s\n", cases[_i].clause);
	auto_free char *deny = mem_printf("default allow\ndeny a.test %s\n", cases[_i].clause);
	auto_free char *ask = mem_printf("default allow\nask a.test %s\n", cases[_i].clause);

	ck_assert_msg((decide(allow, "http://a.test:80", request, NULL) == POLICY_ALLOW) ==
			      cases[_i].allows,
		      "allow %s: %s", cases[_i].clause, cases[_i].request);
	ck_assert_msg((decide(deny, "http://a.test:80", request, NULL) == POLICY_DENY) ==
			      cases[_i].denies,
		      "deny %s: %s", cases[_i].clause, cases[_i].request);
	ck_assert_int_eq(decide(ask, "http://a.test:80", request, NULL),
			 cases[_i].denies ? POLICY_ASK : POLICY_ALLOW);
	free(request);
}
END_TEST

/* In a tunnel nothing is known. */
START_TEST(what_is_not_known)
{
	enum policy_reason reason;
	struct policy_request partly = { .method = "GET" };

	ck_assert_int_eq(decide("default deny\nallow a.test method GET", "https://a.test:443", NULL,
				&reason),
			 POLICY_DENY);
	ck_assert_int_eq(reason, POLICY_NOT_ENFORCED);
	ck_assert_int_eq(decide("default allow\ndeny a.test method POST", "https://a.test:443",
				NULL, &reason),
			 POLICY_DENY);
	ck_assert_int_eq(reason, POLICY_RULE_DENY);
	ck_assert_int_eq(
		decide("default allow\nask a.test method POST", "https://a.test:443", NULL, NULL),
		POLICY_ASK);
	/* One condition that is not met is enough to know. */
	ck_assert_int_eq(decide("default deny\nallow a.test method POST path /x",
				"http://a.test:80", &partly, &reason),
			 POLICY_DENY);
	ck_assert_int_eq(reason, POLICY_DEFAULT_DENY);
	ck_assert_int_eq(decide("default deny\nallow a.test method GET path /x", "http://a.test:80",
				&partly, &reason),
			 POLICY_DENY);
	ck_assert_int_eq(reason, POLICY_NOT_ENFORCED);
	ck_assert_int_eq(decide("default allow\ndeny a.test method GET path /x", "http://a.test:80",
				&partly, NULL),
			 POLICY_DENY);
	ck_assert_int_eq(decide("default allow\ndeny a.test method PUT path /x", "http://a.test:80",
				&partly, NULL),
			 POLICY_ALLOW);
}
END_TEST

/* A rule without a condition, and strength, are as ever. */
START_TEST(beside_other_rules)
{
	struct policy_request *get = request_of("GET /"), *post = request_of("POST /");
	static const char rules[] = "default deny\nallow a.test\nask a.test method POST\n"
				    "deny a.test method DELETE\n";

	ck_assert_int_eq(decide(rules, "http://a.test:80", get, NULL), POLICY_ALLOW);
	ck_assert_int_eq(decide(rules, "http://a.test:80", post, NULL), POLICY_ASK);
	ck_assert_int_eq(decide(rules, "https://a.test:443", NULL, NULL), POLICY_DENY);
	/* Any bytes were allowed, and some of them would be denied. */
	ck_assert_int_eq(decide("default deny\nallow tcp://a.test:80\ndeny a.test:80 method PUT",
				"http://a.test:80", get, NULL),
			 POLICY_ALLOW);
	free(get);
	free(post);
}
END_TEST

/* An exception by address takes only its own rule away, and a condition stays met. */
START_TEST(addresses_are_looked_at_without_it)
{
	struct policy *policy = policies_test_load("default deny\n"
						   "allow *:80 method GET except 192.0.2.0/24\n"
						   "allow *:80 method POST\n");
	struct policy_request *request = request_of("GET /");
	struct policy_facts facts;
	struct policy_verdict verdict, late;
	struct addr near = { AF_INET, { 192, 0, 2, 1 } }, far = { AF_INET, { 203, 1, 113, 1 } };

	policies_test_facts("http://a.test:80", &facts);
	facts.request = request;
	policy_decide(policy, &facts, &verdict);
	ck_assert_int_eq(verdict.action, POLICY_ALLOW);
	policy_decide_address(policy, &facts.dst, &verdict, &far, &late);
	ck_assert_int_eq(late.action, POLICY_ALLOW);
	policy_decide_address(policy, &facts.dst, &verdict, &near, &late);
	ck_assert_int_eq(late.action, POLICY_DENY);
	free(request);
	policy_free(policy);
}
END_TEST

START_TEST(what_is_too_long_is_not_known)
{
	struct policy_request request = { 0 };
	char room[POLICY_PATH_MAX + POLICY_QUERY_MAX], target[2 * POLICY_PATH_MAX];

	memset(target, 'a', sizeof(target));
	target[0] = '/';
	policy_request_set_target(&request, target, POLICY_PATH_MAX, room);
	ck_assert_ptr_null(request.path);
	ck_assert_str_eq(request.query, "");
	request = (struct policy_request){ 0 };
	policy_request_set_target(&request, target, POLICY_PATH_MAX - 1, room);
	ck_assert_uint_eq(strlen(request.path), POLICY_PATH_MAX - 1);
	request = (struct policy_request){ 0 };
	target[1] = '?';
	policy_request_set_target(&request, target, POLICY_QUERY_MAX + 2, room);
	ck_assert_str_eq(request.path, "/");
	ck_assert_ptr_null(request.query);
	request = (struct policy_request){ 0 };
	policy_request_set_target(&request, "", 0, room);
	ck_assert_str_eq(request.path, "/");
	request = (struct policy_request){ 0 };
	policy_request_set_target(&request, "/\0a", 3, room);
	ck_assert_ptr_null(request.path);
}
END_TEST

START_TEST(parts_that_rules_look_at)
{
	static const struct {
		const char *rules;
		unsigned int parts;
	} wants[] = {
		{ "allow a.test", 0 },
		{ "allow a.test for 1h", 0 },
		{ "allow a.test method GET", POLICY_PART_METHOD },
		{ "deny a.test path /x", POLICY_PART_TARGET },
		{ "deny a.test query x", POLICY_PART_TARGET },
		{ "ask a.test header x", POLICY_PART_FIELDS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(wants); i++) {
		struct policy *policy = policies_test_load(wants[i].rules);

		ck_assert_uint_eq(policy_request_parts(policy), wants[i].parts);
		policy_free(policy);
	}
}
END_TEST

TCase *request_cases(void)
{
	TCase *tcase = tcase_create("request");

	tcase_add_loop_test(tcase, condition, 0, ARRAY_SIZE(cases));
	tcase_add_test(tcase, what_is_not_known);
	tcase_add_test(tcase, beside_other_rules);
	tcase_add_test(tcase, addresses_are_looked_at_without_it);
	tcase_add_test(tcase, what_is_too_long_is_not_known);
	tcase_add_test(tcase, parts_that_rules_look_at);
	return tcase;
}
