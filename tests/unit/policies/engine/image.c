#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "policies/commands/commands.h"
#include "policies/configured/configured.h"
#include "policies/engine/image_impl.h"
#include "policies/language/configured_line_impl.h"
#include "policies/policies_image.h"
#include "policies/policies_load.h"
#include "tests/unit/policies/policies_test.h"
#include "policies/policies_tools.h"

#define ROUNDS   100
#define REQUESTS 24
#define SEALS    (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* The lines of `whole` that are no rules about destinations. */
#define OTHER_LINES 7

/* Everything a rule can be, narrow and wide. */
static const char whole[] = "version 1\n"
			    "default ask\n"
			    "prompt-timeout 5m\n"
			    "hide /etc/secret\n"
			    "program git /usr/bin/git\n"
			    "command deny git push because \"by a person\"\n"
			    "command allow git (status|log)\n"
			    "allow a.test\n"
			    "  allow   https://b.test:443   # spaces around\t \n"
			    "allow A.Upper.TEST.\n"
			    "allow b\xc3\xbc"
			    "cher.test\n"
			    "allow tcp://c.test:22,8000-8100 private\n"
			    "allow **.d.test:80,443,8443 except x.d.test *.y.d.test:8443\n"
			    "allow *.broad broad\n"
			    "allow * except 10.0.0.0/8\n"
			    "deny 203.0.113.0/24 because \"not \\\"there\\\"\"\n"
			    "deny [2001:db8::]/32\n"
			    "ask http://e.test:* for 1h\n"
			    "allow f.test upload 64k until 2100-01-01\n"
			    "answer allow https://g.test:443   # by ana on tty, 2026-11-20T20:13Z\n"
			    "answer deny h.test:443   # by ana on tty, 2026-11-20T20:13Z\n"
			    "deny deny\n"
			    "deny a.test:8080 because \"a second one for a.test\"";

static int make_image(struct policy *policy)
{
	struct err why = { 0 };
	int fd = policy_image_make(policy, &why);

	ck_assert_msg(fd >= 0, "%s", why.text);
	return fd;
}

static struct policy *open_image(int fd)
{
	struct policy *policy = NULL;
	struct err why = { 0 };

	ck_assert_msg(policy_image_open(fd, &policy, &why) == 0, "%s", why.text);
	return policy;
}

static void check_same(const struct policy *left, const struct policy *right,
		       const struct policy_facts *facts)
{
	struct policy_verdict one, two;

	memset(&one, 1, sizeof(one));
	memset(&two, 2, sizeof(two));
	policy_decide(left, facts, &one);
	policy_decide(right, facts, &two);
	ck_assert_int_eq(one.action, two.action);
	ck_assert_int_eq(one.reason, two.reason);
	ck_assert_int_eq(one.promise, two.promise);
	ck_assert_int_eq(one.may_private, two.may_private);
	ck_assert_uint_eq(one.number, two.number);
	ck_assert_str_eq(one.rule, two.rule);
	ck_assert_str_eq(one.because, two.because);
	ck_assert_str_eq(one.by, two.by);
}

static void check_rules(const struct policy *left, const struct policy *right,
			const struct policy_facts *facts)
{
	ck_assert_uint_eq(policy_rule_count(left), policy_rule_count(right));
	for (size_t i = 1; i <= policy_rule_count(left); i++) {
		struct policy_rule_look one, two;

		policy_rule_look(left, i, facts, &one);
		policy_rule_look(right, i, facts, &two);
		ck_assert_str_eq(one.rule, two.rule);
		ck_assert_str_eq(one.by, two.by);
		ck_assert_str_eq(one.when, two.when);
		ck_assert_str_eq(one.word, two.word);
		ck_assert_str_eq(one.not_enforced, two.not_enforced);
		ck_assert_int_eq(one.match, two.match);
		ck_assert_int_eq(one.layer, two.layer);
		ck_assert_int_eq(one.until, two.until);
	}
}

/* By the arrays, by the image in the process that made it, by the image in one that opened it, and
 * by the obvious evaluator. */
START_TEST(decides_as_the_obvious_evaluator)
{
	struct policies_test_random random = { .state = 99 + (uint32_t)_i };
	size_t seen[3] = { 0 };

	for (int round = 0; round < ROUNDS; round++) {
		struct obvious_policy rules;

		obvious_make_whole(&random, &rules);
		struct policy *arrays = obvious_load(&rules), *maker = obvious_load(&rules);
		auto_close int fd = make_image(maker);
		struct policy *opened = open_image(fd);

		for (int i = 0; i < REQUESTS; i++) {
			struct policy_facts facts;
			struct policy_verdict verdict;

			obvious_request(&random, &facts);
			facts.now = OBVIOUS_START + (policies_test_below(&random, 2) ? 10 : 4000);
			policy_decide(opened, &facts, &verdict);
			ck_assert_int_eq(verdict.action, obvious_decide(&rules, &facts));
			seen[verdict.action]++;
			check_same(arrays, maker, &facts);
			check_same(arrays, opened, &facts);
			if (i == 0)
				check_rules(arrays, opened, &facts);
		}
		policy_free(arrays);
		policy_free(maker);
		policy_free(opened);
	}
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
		ck_assert_uint_gt(seen[i], ROUNDS);
}
END_TEST

static const char *const requests[] = {
	"https://a.test",    "http://a.test:80",   "tcp://a.test:8080",     "https://a.upper.test",
	"tcp://c.test:8050", "https://x.d.test",   "https://z.d.test",      "tcp://y.d.test:8443",
	"http://q.broad:80", "https://nothing.at", "https://10.1.2.3",      "https://203.0.113.7",
	"https://f.test",    "http://e.test:99",   "https://g.test",        "https://h.test",
	"https://deny",      "https://localhost",  "https://[2001:db8::1]",
};

START_TEST(has_everything)
{
	struct policy *arrays = policies_test_load(whole), *maker = policies_test_load(whole);
	auto_close int fd = make_image(maker);
	struct policy *opened = open_image(fd);
	struct policy_facts facts;
	enum policy_action action;
	int64_t ms;

	policies_test_facts(requests[_i], &facts);
	policy_set_start(arrays, OBVIOUS_START);
	policy_set_start(maker, OBVIOUS_START);
	policy_set_start(opened, OBVIOUS_START);
	check_same(arrays, opened, &facts);
	check_same(arrays, maker, &facts);
	check_rules(arrays, opened, &facts);
	ck_assert(policy_get_default(opened, &action) && action == POLICY_ASK);
	ck_assert(policy_get_prompt_timeout(opened, &ms) && ms == 300000);
	ck_assert_str_eq(policy_get_path(opened, POLICY_PATH_HIDE, 0), "/etc/secret");
	policy_free(arrays);
	policy_free(opened);
	policy_free(maker);
}
END_TEST

static int find_nothing(const char *name, struct command_file *ret, void *arg)
{
	return -ENOENT;
}

/* Commands, and the files that `configured` lines are read from. */
START_TEST(commands_are_decided_by_it)
{
	static const struct {
		const char *argv[4];
		enum policy_action want;
	} cases[] = {
		{ { "git", "push" }, POLICY_DENY },
		{ { "/bin/true" }, POLICY_ASK },
	};
	static const struct command_world world = { .resolve = find_nothing };
	static const char *const named[] = { "https://registry.test", "https://b.test" };
	struct policy *maker = policies_test_load(whole);

	configured_line_restore(maker, "/a b");
	configured_line_restore(maker, "/c");
	configured_line_restore(maker, "https://registry.test:443");
	auto_close int fd = make_image(maker);
	struct policy *opened = open_image(fd);
	const struct policy *both[] = { maker, opened };

	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		struct command_verdict verdict;
		struct policy_rule_look look;
		enum policy_layer layer;

		for (size_t j = 0; j < ARRAY_SIZE(cases); j++)
			ck_assert_int_eq(policy_decide_command(both[i], &world, cases[j].argv,
							       &verdict, &layer),
					 cases[j].want);
		ck_assert_uint_eq(policy_command_count(both[i]), 3);
		policy_command_look(both[i], 2, &look);
		ck_assert_str_eq(look.rule,
				 "<test>:6: command deny git push because \"by a person\"");
		for (size_t j = 0; j < ARRAY_SIZE(named); j++) {
			struct policy_facts facts;

			policies_test_facts(named[j], &facts);
			ck_assert_int_eq(policy_is_configured(both[i], &facts.dst), j == 0);
		}
		ck_assert_str_eq(policy_configured_file(both[i], 0), "/a b");
		ck_assert_str_eq(policy_configured_file(both[i], 1), "/c");
		ck_assert_ptr_null(policy_configured_file(both[i], 2));
	}
	policy_free(maker);
	policy_free(opened);
}
END_TEST

/* Every line is shown as it stands in the file, however its rule is kept. */
START_TEST(lines_are_shown_as_written)
{
	struct policy *policy = policies_test_load(whole);
	struct policy_rule_look look;
	size_t number = 0;
	char want[POLICY_TEXT_MAX];

	for (const char *at = whole; *at;) {
		size_t len = strcspn(at, "\n");

		number++;
		if (number > OTHER_LINES && !memchr(at, '\\', len) && !memchr(at, '\xc3', len)) {
			size_t skip = strspn(at, " "), last = len;

			while (at[last - 1] == ' ' || at[last - 1] == '\t')
				last--;
			(void)snprintf(want, sizeof(want), "<test>:%zu: %.*s", number,
				       (int)(last - skip), at + skip);
			policy_rule_look(policy, number - OTHER_LINES, NULL, &look);
			ck_assert_str_eq(look.rule, want);
		}
		at += len + (at[len] == '\n');
	}
	ck_assert_uint_eq(number - OTHER_LINES, policy_rule_count(policy));
	policy_free(policy);
}
END_TEST

START_TEST(is_sealed)
{
	struct policy *policy = policies_test_load(whole);
	auto_close int fd = make_image(policy);

	ck_assert_int_eq(fcntl(fd, F_GET_SEALS) & SEALS, SEALS);
	ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, "x", 1, 0), -1);
	ck_assert_int_eq(ftruncate(fd, 0), -1);
	policy_free(policy);
}
END_TEST

START_TEST(nothing_is_added_to_it)
{
	struct policy *policy = policies_test_load(whole);
	auto_close int fd = make_image(policy);
	size_t rules = policy_rule_count(policy);
	struct policy_verdict verdict;
	struct err why = { 0 };

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(policy_image_make(policy, &why), -EINVAL);
	ck_assert_int_eq(policy_load_text(policy, "<more>", "allow more.test\n"), -EROFS);
	ck_assert_int_eq(policy_load(policy, "more.policy"), -EROFS);
	ck_assert_uint_eq(policy_rule_count(policy), rules);
	/* A caller that continues anyway has a policy with problems. */
	policies_test_decide(policy, "https://a.test", &verdict);
	ck_assert_int_eq(verdict.action, POLICY_DENY);
	policy_free(policy);
}
END_TEST

START_TEST(only_what_is_finished)
{
	struct policy *policy = policy_new();
	struct policy_verdict verdict;
	struct err why = { 0 };

	ck_assert_int_eq(policy_load_text(policy, "<test>", "default allow\ndeny a.test\n"), 0);
	ck_assert_int_eq(policy_image_make(policy, &why), -EINVAL);
	/* Not yet indexed: the denial would not be found. */
	policies_test_decide(policy, "https://b.test", &verdict);
	ck_assert_int_eq(verdict.action, POLICY_DENY);
	ck_assert_int_eq(policy_finish(policy), 0);
	policies_test_decide(policy, "https://b.test", &verdict);
	ck_assert_int_eq(verdict.action, POLICY_ALLOW);
	policies_test_decide(policy, "https://a.test", &verdict);
	ck_assert_int_eq(verdict.action, POLICY_DENY);
	policy_free(policy);
}
END_TEST

START_TEST(without_memory_nothing_changes)
{
	struct policy *policy = policies_test_load(whole);
	struct policy_verdict verdict;
	struct err why = { 0 };
	struct rlimit before, none;

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = before;
	none.rlim_cur = 64;
	(void)signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	int r = policy_image_make(policy, &why);

	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	ck_assert_int_eq(r, -EFBIG);
	policies_test_decide(policy, "https://a.test", &verdict);
	ck_assert_int_eq(verdict.action, POLICY_ALLOW);
	auto_close int fd = make_image(policy);

	ck_assert_int_ge(fd, 0);
	policy_free(policy);
}
END_TEST

/* What is left when an image is gone, as when it could not be sealed. */
START_TEST(without_its_image_it_denies)
{
	struct policy *policy = policies_test_load("default allow\nallow a.test\n");
	auto_close int fd = make_image(policy);
	struct policy_verdict verdict;

	ck_assert_int_ge(fd, 0);
	policies_test_decide(policy, "https://b.test", &verdict);
	ck_assert_int_eq(verdict.action, POLICY_ALLOW);
	image_detach(policy);
	policies_test_decide(policy, "https://b.test", &verdict);
	ck_assert_int_eq(verdict.action, POLICY_DENY);
	ck_assert_uint_eq(policy_rule_count(policy), 0);
	policy_free(policy);
}
END_TEST

/* A copy of the image of `whole`, owned. */
static unsigned char *copy_image(size_t *ret_len)
{
	struct policy *policy = policies_test_load(whole);
	auto_close int fd = make_image(policy);
	off_t len = lseek(fd, 0, SEEK_END);
	unsigned char *bytes = mem_new((size_t)len);

	ck_assert_int_gt(len, 0);
	ck_assert_int_eq(pread(fd, bytes, (size_t)len, 0), len);
	policy_free(policy);
	*ret_len = (size_t)len;
	return bytes;
}

static int open_bytes(const void *bytes, size_t len, int seals)
{
	auto_close int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct policy *policy = NULL;
	struct err why = { 0 };

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, bytes, len), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	int r = policy_image_open(fd, &policy, &why);

	ck_assert((r == 0) == (why.text[0] == '\0'));
	if (r == 0)
		policy_free(policy);
	return r;
}

START_TEST(damage_is_refused)
{
	size_t len;
	auto_free unsigned char *bytes = copy_image(&len);

	ck_assert_int_eq(open_bytes(bytes, len, SEALS), 0);
	for (size_t i = 0; i < len; i++) {
		bytes[i] ^= 0x10;
		int r = open_bytes(bytes, len, SEALS);

		ck_assert_msg(r == -EBADMSG || r == -EPROTO, "byte %zu: %d", i, r);
		bytes[i] ^= 0x10;
	}
	for (size_t cut = 0; cut < len; cut += 97)
		ck_assert_int_eq(open_bytes(bytes, cut, SEALS), -EBADMSG);
	ck_assert_int_eq(open_bytes(bytes, len, SEALS), 0);
}
END_TEST

static const int too_few_seals[] = {
	0,
	F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW,
	F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_WRITE,
	F_SEAL_SEAL | F_SEAL_GROW | F_SEAL_WRITE,
	F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE,
};

START_TEST(unsealed_is_refused)
{
	size_t len;
	auto_free unsigned char *bytes = copy_image(&len);
	struct policy *policy = NULL;
	struct err why = { 0 };
	int ends[2];

	ck_assert_int_eq(open_bytes(bytes, len, too_few_seals[_i]), -EPERM);
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(policy_image_open(ends[0], &policy, &why), -EPERM);
	(void)close(ends[0]);
	(void)close(ends[1]);
}
END_TEST

/* Somebody who can also write the sum: refused, or decided without reading outside. */
START_TEST(lies_are_survived)
{
	struct policies_test_random random = { .state = 5 + (uint32_t)_i };
	size_t len, refused = 0;
	auto_free unsigned char *good = copy_image(&len);
	auto_free unsigned char *bytes = mem_new(len);
	struct err why = { 0 };

	for (int round = 0; round < 1500; round++) {
		memcpy(bytes, good, len);
		for (unsigned int i = policies_test_below(&random, 3) + 1; i > 0; i--)
			bytes[policies_test_below(&random, (uint32_t)len)] =
				(unsigned char)policies_test_below(&random, 256);
		if (image_check(bytes, len, true, &why) < 0) {
			refused++;
			continue;
		}
		struct policy *policy = mem_new(sizeof(*policy));

		image_attach(policy, bytes);
		for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
			struct policy_verdict verdict;
			struct policy_rule_look look;

			policies_test_decide(policy, requests[i], &verdict);
			if (verdict.number > 0)
				policy_rule_look(policy, verdict.number, NULL, &look);
		}
		(void)image_restore(policy, NULL);
		policy_free(policy);
	}
	ck_assert_uint_gt(refused, 150);
}
END_TEST

START_TEST(a_host_costs_little)
{
	const size_t count = 20000;
	size_t room = count * 40, used = 0;
	auto_free char *text = mem_new(room);

	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, room - used,
					 "allow h%06zu.d%03zu.example.org\n", i, i % 997);
	struct policy *policy = policies_test_load(text);
	auto_close int fd = make_image(policy);

	ck_assert_int_le(lseek(fd, 0, SEEK_END), (off_t)(count * 64));
	policy_free(policy);
}
END_TEST

TCase *image_cases(void)
{
	TCase *cases = tcase_create("image");

	tcase_set_timeout(cases, 120);
	tcase_add_loop_test(cases, decides_as_the_obvious_evaluator, 0, 4);
	tcase_add_loop_test(cases, has_everything, 0, ARRAY_SIZE(requests));
	tcase_add_test(cases, commands_are_decided_by_it);
	tcase_add_test(cases, lines_are_shown_as_written);
	tcase_add_test(cases, is_sealed);
	tcase_add_test(cases, nothing_is_added_to_it);
	tcase_add_test(cases, only_what_is_finished);
	tcase_add_test(cases, without_memory_nothing_changes);
	tcase_add_test(cases, without_its_image_it_denies);
	tcase_add_test(cases, damage_is_refused);
	tcase_add_loop_test(cases, unsealed_is_refused, 0, ARRAY_SIZE(too_few_seals));
	tcase_add_loop_test(cases, lies_are_survived, 0, 3);
	tcase_add_test(cases, a_host_costs_little);
	return cases;
}
