/* Conditions, which are compared as they are written, and budgets: what diff says of them, each
 * example asked for again; and no random request finds what it did not. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/policies_request.h"
#include "policies/policies_tools.h"
#include "tests/unit/policies/policies_test.h"

#define ROUNDS   12
#define REQUESTS 400
#define SEEN_MAX 400

struct policy_parts {
	struct policy *sides[2];
	char text[8192];
	size_t count, lines;
	struct {
		enum policy_action before, after;
		uint16_t port;
	} list[SEEN_MAX];
};

static bool has_same_limits(const struct policy_limits *left, const struct policy_limits *right)
{
	return left->upload == right->upload && left->download == right->download &&
	       left->connections == right->connections && left->rate_count == right->rate_count &&
	       left->rate_s == right->rate_s;
}

static bool is_same(const struct policy_verdict *left, const struct policy_verdict *right)
{
	return left->action == right->action && left->promise == right->promise &&
	       has_same_limits(&left->limits, &right->limits);
}

/* Both sides have to decide the example as it is said. */
static void note(const struct policy_change *change, void *arg)
{
	struct policy_parts *seen = arg;
	struct policy_verdict verdicts[2];
	size_t used = strlen(seen->text);

	if (change->rule[0]) {
		(void)snprintf(seen->text + used, sizeof(seen->text) - used, "%s %s\n",
			       change->what, change->rule);
		seen->count++;
		seen->lines++;
		return;
	}
	(void)snprintf(seen->text + used, sizeof(seen->text) - used, "%s %s%s%s [%s]\n",
		       change->what, change->destination, change->resolved[0] ? " at " : "",
		       change->resolved, change->limits[0]);
	if (seen->count < SEEN_MAX) {
		seen->list[seen->count].before = change->before;
		seen->list[seen->count].after = change->after;
		seen->list[seen->count].port = change->facts->dst.port;
	}
	seen->count++;
	if (change->resolved[0])
		return;
	for (size_t side = 0; side < 2; side++)
		policy_decide(seen->sides[side], change->facts, &verdicts[side]);
	ck_assert_msg(verdicts[0].action == change->before && verdicts[1].action == change->after,
		      "%s", seen->text);
	if (strcmp(change->what, "limits counted in another way") != 0)
		ck_assert_msg(!is_same(&verdicts[0], &verdicts[1]), "%s", seen->text);
}

#define ON80 "default deny\nallow http://a.test"
#define T22  "default deny\nallow tcp://a.test:22"

static const struct {
	const char *before, *after, *want;
} cases[] = {
	/* The same lines are the same, in whatever order. */
	{ ON80 " method GET\n", ON80 " method GET\n", "" },
	{ ON80 " method GET\nallow http://a.test path /a\n",
	  ON80 " path /a\nallow http://a.test method GET\n", "" },
	{ ON80 " method GET\n", ON80 " method GET HEAD\n",
	  "only in the first <test>:3: allow http://a.test method GET\n"
	  "only in the second <test>:3: allow http://a.test method GET HEAD\n" },
	/* Of what no condition is needed for is decided, too. */
	{ ON80 "\n", ON80 " path /v1/**\n",
	  "only in the first <test>:3: allow http://a.test\n"
	  "only in the second <test>:3: allow http://a.test path /v1/**\n"
	  "newly denied http://a.test:80 []\n" },
	/* A rule without a condition that meets one somewhere: what it comes to is not known. */
	{ "default ask\ndeny http://a.test path /x\n",
	  "default ask\ndeny http://a.test path /x\nallow http://*.test\n",
	  "only in the second <test>:4: allow http://*.test\n"
	  "newly allowed http://*.a.test:80 []\n"
	  "newly allowed http://*.test:80 except **.a.test []\n" },
	/* One for other hosts is compared by what it does alone. */
	{ ON80 " method GET\n", ON80 " method GET\nallow tcp://b.test:22\n",
	  "newly allowed tcp://b.test:22 []\n" },
	/* from and by */
	{ T22 " from \"pip install\"\n", T22 " from \"pip install\"\n", "" },
	{ T22 " by /bin/a\n", T22 " by /bin/b\n",
	  "only in the first <test>:3: allow tcp://a.test:22 by /bin/a\n"
	  "only in the second <test>:3: allow tcp://a.test:22 by /bin/b\n" },
	/* What holds where no rule does counts beside conditions, also where it shows nowhere else.
	 */
	{ "default ask\ndeny * path /x\n", "default deny\ndeny * path /x\n",
	  "only in the first default ask\nonly in the second default deny\n"
	  "newly denied tcp://*:1-79,81-442,444-65535 except **.localhost []\n"
	  "newly denied tcp://0.0.0.0/0:1-79,81-442,444-65535 []\n"
	  "newly denied tcp://[::]/0:1-79,81-442,444-65535 []\n" },
	{ "default ask\ndeny * path /x\n", "default ask\ndeny * path /x\napprovals never\n",
	  "only in the second <test>:4: approvals never\n"
	  "newly denied tcp://*:1-79,81-442,444-65535 except **.localhost []\n"
	  "newly denied tcp://0.0.0.0/0:1-79,81-442,444-65535 []\n"
	  "newly denied tcp://[::]/0:1-79,81-442,444-65535 []\n" },
	/* budgets */
	{ T22 " upload 1k\n", T22 " upload 1024\n", "" },
	{ T22 " upload 1k\n", T22 " upload 2k\n", "wider limits tcp://a.test:22 [upload 1024]\n" },
	{ T22 " download 2k\n", T22 " download 1k\n",
	  "narrower limits tcp://a.test:22 [download 2048]\n" },
	{ T22 " connections 2\n", T22 "\n", "wider limits tcp://a.test:22 [connections 2]\n" },
	{ T22 " rate 60/m\n", T22 " rate 1/s\n", "other limits tcp://a.test:22 [rate 60/60s]\n" },
	{ T22 " rate 60/m\n", T22 " rate 70/m\n", "wider limits tcp://a.test:22 [rate 60/60s]\n" },
	{ T22 " upload 1k\n", T22 " upload 2k connections 1\n",
	  "other limits tcp://a.test:22 [upload 1024]\n" },
	{ T22 "\n", T22 " upload 1k\nallow tcp://a.test:22\n", "" },
	{ "default deny\nask tcp://a.test:22\n", "default deny\nask tcp://a.test:22 upload 1k\n",
	  "narrower limits tcp://a.test:22 []\n" },
	/* An account for each, or one for both. */
	{ T22 " upload 1k\nallow tcp://b.test:22 upload 1k\n",
	  T22 " upload 1k\nallow tcp://b.test:22 upload 1024\n", "" },
	{ T22 " upload 1k\nallow tcp://*.a.test:22 upload 1k\n",
	  "default deny\nallow tcp://**.a.test:22 upload 1k\n",
	  "limits counted in another way tcp://*.a.test:22 [upload 1024]\n" },
};

static struct policy *load(const char *text)
{
	auto_free char *whole = mem_printf("version 1\n%s", text);

	return policies_test_load(whole);
}

static int compare(struct policy_parts *seen, struct err *why)
{
	size_t count = 0;
	int r = policy_diff(seen->sides[0], seen->sides[1], SIZE_MAX, note, seen, &count, why);

	if (r >= 0)
		ck_assert_uint_eq(count, seen->count);
	return r;
}

START_TEST(says_what_changed)
{
	struct policy_parts seen = { .sides = { load(cases[_i].before), load(cases[_i].after) } };
	struct policy_parts back = { .sides = { seen.sides[1], seen.sides[0] } };
	struct err why = { 0 };
	bool differs = !cases[_i].want || cases[_i].want[0];

	ck_assert_msg(compare(&seen, &why) == differs, "%s\n%s", why.text, seen.text);
	ck_assert_msg(compare(&back, &why) == differs, "%s\n%s", why.text, back.text);
	if (cases[_i].want)
		ck_assert_str_eq(seen.text, cases[_i].want);
	policy_free(seen.sides[0]);
	policy_free(seen.sides[1]);
}
END_TEST

static const char *pick(struct policies_test_random *random, const char *const *list, size_t count)
{
	return list[policies_test_below(random, (uint32_t)count)];
}
#define PICK(random, list) pick((random), (list), ARRAY_SIZE(list))

/* Pieces put together at random, behind @begin. Returned owned. */
static char *make_text(struct policies_test_random *random, const char *begin,
		       const char *const *pieces, size_t count)
{
	char *out = mem_strdup(begin);

	for (uint32_t i = policies_test_below(random, 5); i > 0; i--) {
		auto_free char *before = out;

		out = mem_printf("%s%s", before, pick(random, pieces, count));
	}
	return out;
}

static char *make_condition(struct policies_test_random *random)
{
	static const char *const methods[] = { "GET", "GET PUT", "PUT", "DELETE" };
	static const char *const path[] = { "a", "b", "/", "*", "**", "%61", "A", "x/", "a;" };
	static const char *const query[] = { "a", "b", "=", "*", "%61", "B", "1" };
	static const char *const headers[] = { "x",         "\"x: a*\"", "\"x: *b\" y",
					       "\"Y: ab\"", "\"x: A\"",  "x-original-url" };
	static const char *const from[] = { "pip", "pip install", "/opt/pip install", "npm ci",
					    "pip install x" };
	static const char *const by[] = { "/bin/a", "/bin/b" };

	switch (policies_test_below(random, 8)) {
	case 0:
		return mem_printf(" method %s", PICK(random, methods));
	case 1:
	case 2: {
		auto_free char *glob = make_text(random, "/", path, ARRAY_SIZE(path));
		auto_free char *other = make_text(random, "/", path, ARRAY_SIZE(path));

		return mem_printf(" path %s %s", glob, other);
	}
	case 3: {
		auto_free char *glob = make_text(random, policies_test_below(random, 2) ? "a" : "*",
						 query, ARRAY_SIZE(query));

		return mem_printf(" query %s", glob);
	}
	case 4:
		return mem_printf(" header %s", PICK(random, headers));
	case 5:
		return mem_printf(" from \"%s\"", PICK(random, from));
	case 6:
		return mem_printf(" by %s", PICK(random, by));
	default:
		return mem_strdup("");
	}
}

static char *make_rule(struct policies_test_random *random)
{
	static const char *const actions[] = { "allow", "allow",        "deny",
					       "ask",   "answer allow", "answer deny" };
	static const char *const hosts[] = { "http://a.test", "a.test", "*", "http://*.a.test" };
	static const char *const budgets[] = { "", "", "", " upload 1k", " rate 6/m" };
	const char *action = PICK(random, actions);
	auto_free char *one = make_condition(random), *two = make_condition(random);
	bool is_two = two[0] && (!one[0] || one[1] != two[1]);

	return mem_printf("%s %s%s%s%s\n", action, PICK(random, hosts), one, is_two ? two : "",
			  strstr(action, "deny") ? "" : PICK(random, budgets));
}

/* A policy, and the same with one rule more or another one. */
static void make_pair(struct policies_test_random *random, char *ret[2])
{
	static const char *const defaults[] = { "default deny\n", "default ask\n",
						"default allow\n" };
	uint32_t count = 1 + policies_test_below(random, 4);
	uint32_t changed = policies_test_below(random, count + 1);
	bool is_kept = policies_test_below(random, 3) == 0;

	ret[0] = mem_strdup(PICK(random, defaults));
	ret[1] = mem_strdup(ret[0]);
	for (uint32_t i = 0; i <= count; i++) {
		auto_free char *rule = make_rule(random), *other = make_rule(random);
		auto_free char *left = ret[0], *right = ret[1];
		bool is_twice = i == changed && policies_test_below(random, 4) == 0;

		ret[0] = mem_printf("%s%s", left, i == changed && is_kept ? "" : rule);
		ret[1] = mem_printf("%s%s", right, i == changed && !is_kept ? other : rule);
		if (is_twice) { /* nothing has changed */
			free(ret[0]);
			free(ret[1]);
			ret[0] = mem_printf("%s%s", left, rule);
			ret[1] = mem_printf("%s%s%s", right, rule, rule);
		}
	}
}

/* A request and an asker, with the room for them. */
struct sample {
	struct policy_facts facts;
	struct policy_request request;
	struct policy_field fields[3];
	char *path, *query;
	const char *argv[5];
	struct policy_asker *asker;
};

static void make_asker(struct policies_test_random *random, struct sample *sample)
{
	static const char *const lines[][5] = {
		{ "pip" },
		{ "pip", "install" },
		{ "/opt/pip", "install" },
		{ "/usr/bin/pip", "install", "x" },
		{ "npm", "ci" },
		{ "cc" },
		{ "sh", "-c", "pip install; npm ci" },
		{ "sh", "-c", "pip install x; pip install y" },
		{ "sh", "-c", "npm ci; $x" },
		{ "sh", "-c", "echo $x" },
		{ "env", "pip", "install" },
	};
	static const char *const programs[] = { "/bin/a", "/bin/b", "/bin/c", "" };
	uint32_t line = policies_test_below(random, ARRAY_SIZE(lines) + 1);

	if (line == ARRAY_SIZE(lines))
		return;
	memcpy(sample->argv, lines[line], sizeof(lines[line]));
	sample->asker = policy_asker_new(sample->argv);
	policy_asker_set_program(sample->asker, PICK(random, programs));
	sample->facts.asker = sample->asker;
}

static void make_request(struct policies_test_random *random, struct sample *sample)
{
	static const char *const methods[] = { "GET", "PUT", "get", "POST", "DELETE", NULL };
	static const char *const path[] = { "a",   "b",   "/",  "A", "%61", "x/", ";a",
					    "%2e", "../", "//", "%", ".",   "%20" };
	static const char *const query[] = { "a", "b",   "=", "&", ";", "%61", "+",
					     "%", "%00", "B", "1", "a", "b" };
	static const char *const names[] = { "x", "X", "y", "z", "x-original-url" };
	static const char *const values[] = { "a", "ab", "b", "A", "", "%61" };
	struct policy_request *request = &sample->request;

	request->method = PICK(random, methods);
	sample->path = make_text(random, policies_test_below(random, 12) ? "/" : "*", path,
				 ARRAY_SIZE(path));
	sample->query = make_text(random, policies_test_below(random, 2) ? "a" : "", query,
				  ARRAY_SIZE(query));
	request->path = policies_test_below(random, 12) ? sample->path : NULL;
	request->query = policies_test_below(random, 12) ? sample->query : NULL;
	request->has_override = policies_test_below(random, 12) == 0;
	request->fields = policies_test_below(random, 12) ? sample->fields : NULL;
	request->field_count = policies_test_below(random, ARRAY_SIZE(sample->fields) + 1);
	for (size_t i = 0; i < request->field_count; i++) {
		sample->fields[i] =
			(struct policy_field){ PICK(random, names), PICK(random, values) };
		request->has_override |= policy_request_is_override(sample->fields[i].name,
								    strlen(sample->fields[i].name));
	}
	sample->facts.request = request;
}

static void make_sample(struct policies_test_random *random, struct sample *sample)
{
	static const char *const destinations[] = { "http://a.test", "http://b.a.test",
						    "https://a.test", "tcp://a.test:80",
						    "http+a.test:8000" };

	memset(sample, 0, sizeof(*sample));
	policies_test_facts(PICK(random, destinations), &sample->facts);
	make_asker(random, sample);
	/* What promises tcp is a tunnel, and nothing is seen in it. */
	if (sample->facts.carries != POLICY_TCP && policies_test_below(random, 8) != 0)
		make_request(random, sample);
}

static void free_sample(struct sample *sample)
{
	free(sample->path);
	free(sample->query);
	policy_asker_free(sample->asker);
}

static bool is_told(const struct policy_parts *seen, const struct policy_facts *facts,
		    const struct policy_verdict verdicts[2])
{
	for (size_t i = 0; i < seen->count && i < SEEN_MAX; i++) {
		if (seen->list[i].before == verdicts[0].action &&
		    seen->list[i].after == verdicts[1].action)
			return true;
	}
	return seen->count > SEEN_MAX || seen->lines > 0;
}

/* Where diff finds nothing no request does; what a request finds, diff has told. */
START_TEST(no_sample_finds_more)
{
	struct policies_test_random random = { .state = 7919 + 31 * (uint32_t)_i };
	size_t same = 0;

	for (int round = 0; round < ROUNDS; round++) {
		char *texts[2];

		make_pair(&random, texts);
		struct policy_parts seen = { .sides = { load(texts[0]), load(texts[1]) } };
		struct err why = { 0 };
		int r = compare(&seen, &why);

		ck_assert_msg(r >= 0, "%s\n%s\n%s", why.text, texts[0], texts[1]);
		same += r == 0;
		for (int i = 0; i < REQUESTS; i++) {
			struct policy_verdict verdicts[2];
			struct sample sample;

			make_sample(&random, &sample);
			for (size_t side = 0; side < 2; side++)
				policy_decide(seen.sides[side], &sample.facts, &verdicts[side]);
			ck_assert_msg(is_same(&verdicts[0], &verdicts[1]) ||
					      is_told(&seen, &sample.facts, verdicts),
				      "before:\n%s\nafter:\n%s\n%s %s?%s\n%s", texts[0], texts[1],
				      sample.request.method, sample.path, sample.query, seen.text);
			free_sample(&sample);
		}
		for (size_t side = 0; side < 2; side++) {
			policy_free(seen.sides[side]);
			free(texts[side]);
		}
	}
	ck_assert_uint_gt(same, 0);
	ck_assert_uint_lt(same, ROUNDS);
}
END_TEST

TCase *diff_requests_cases(void)
{
	TCase *tests = tcase_create("diff-requests");

	tcase_set_timeout(tests, 180);
	tcase_add_loop_test(tests, says_what_changed, 0, ARRAY_SIZE(cases));
	tcase_add_loop_test(tests, no_sample_finds_more, 0, (int)policies_test_rounds(16));
	return tests;
}
