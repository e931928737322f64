#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "tests/unit/policies/policies_test.h"
#include "policies/policies_tools.h"

static void load(struct policy *policy, const char *name, const char *text, enum policy_layer layer)
{
	if (!text)
		return;
	int r = policy_load_text_layer(policy, name, text, layer);

	ck_assert_msg(r == 0, "%s", policy_errors(policy));
}

static void put(const char *dir, const char *name, const char *text)
{
	auto_free char *path = mem_printf("%s/%s", dir, name);
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

static void remove_dir(const char *dir, const char *const *names)
{
	for (; *names; names++) {
		auto_free char *path = mem_printf("%s/%s", dir, *names);

		(void)unlink(path);
	}
	ck_assert_int_eq(rmdir(dir), 0);
}

START_TEST(folder)
{
	static const char *const names[] = { "b.policy", "a.policy", "c.txt", ".d.policy", NULL };
	char dir[] = "/tmp/layers-XXXXXX";
	struct policy *policy = policy_new();
	struct policy_rule_look look;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	put(dir, "b.policy", "allow b.test\n");
	put(dir, "a.policy", "only *\n");
	put(dir, "c.txt", "nonsense\n");
	put(dir, ".d.policy", "nonsense\n");
	ck_assert_int_eq(policy_load_folder(policy, dir, POLICY_MANAGED), 0);
	ck_assert_int_eq(policy_load_folder(policy, "/nowhere/at/all", POLICY_MANAGED), 0);
	ck_assert_int_eq(policy_finish(policy), 0);
	ck_assert_uint_eq(policy_rule_count(policy), 2);
	policy_rule_look(policy, 1, NULL, &look);
	ck_assert_str_eq(look.word, "only");
	ck_assert_int_eq(look.layer, POLICY_MANAGED);
	policy_free(policy);
	remove_dir(dir, names);
}
END_TEST

static int trust_by_text(const char *path, const void *bytes, size_t len, void *arg)
{
	const char *trusted = arg;

	ck_assert_int_eq(path[0], '/');
	if (len == strlen(trusted) && memcmp(bytes, trusted, len) == 0)
		return POLICY_TRUSTED_NOW;
	return strstr(path, "changed") ? POLICY_CHANGED : POLICY_UNTRUSTED;
}

static enum policy_reason decide_project(const char *path, const char *trusted, char **ret_notes)
{
	struct policy *policy = policy_new();
	struct policy_verdict verdict;

	policy_set_trust(policy, trust_by_text, (void *)(uintptr_t)trusted);
	ck_assert_int_eq(policy_load_layer(policy, path, POLICY_PROJECT), 0);
	ck_assert_int_eq(policy_finish(policy), 0);
	policies_test_decide(policy, "a.test", &verdict);
	*ret_notes = mem_strdup(policy_notes(policy));
	policy_free(policy);
	return verdict.reason;
}

/* Trust is in the bytes: not in the name, and not in what they include. */
START_TEST(trust_by_digest)
{
	static const char *const names[] = { "policy", "changed", "outer", "inner", NULL };
	char dir[] = "/tmp/layers-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(dir));
	put(dir, "policy", "allow a.test\n");
	put(dir, "changed", "allow a.test\nallow b.test\n");
	put(dir, "outer", "include \"inner\"\n");
	put(dir, "inner", "allow a.test # inner\n");
	auto_free char *policy = mem_printf("%s/policy", dir),
		       *changed = mem_printf("%s/changed", dir),
		       *outer = mem_printf("%s/outer", dir);
	auto_free char *one = NULL, *two = NULL, *three = NULL, *four = NULL;

	ck_assert_int_eq(decide_project(policy, "allow a.test\n", &one), POLICY_RULE_ALLOW);
	ck_assert_str_eq(one, "");
	ck_assert_int_eq(decide_project(policy, "other", &two), POLICY_DEFAULT_DENY);
	ck_assert_ptr_nonnull(strstr(two, "1 line of this project's file does not count"));
	ck_assert_int_eq(decide_project(changed, "allow a.test\n", &three), POLICY_DEFAULT_DENY);
	ck_assert_ptr_nonnull(strstr(three, "changed since it was trusted"));
	ck_assert_int_eq(decide_project(outer, "include \"inner\"\n", &four), POLICY_DEFAULT_DENY);
	remove_dir(dir, names);
}
END_TEST

/* The same file by two ways in counts as the stronger. */
START_TEST(a_file_in_two_layers)
{
	static const char *const names[] = { "policy", NULL };
	char dir[] = "/tmp/layers-XXXXXX";
	struct policy *policy = policy_new();
	struct policy_verdict verdict;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	put(dir, "policy", "default allow\ndeny b.test\nallow a.test\n");
	auto_free char *path = mem_printf("%s/policy", dir);

	ck_assert_int_eq(policy_load_layer(policy, path, POLICY_PROJECT), 0);
	ck_assert_int_eq(policy_load(policy, path), 0);
	ck_assert_int_eq(policy_finish(policy), 0);
	policies_test_decide(policy, "a.test", &verdict);
	ck_assert_int_eq(verdict.reason, POLICY_RULE_ALLOW);
	policy_free(policy);
	remove_dir(dir, names);
}
END_TEST

/* Every rule that matches, in order, with what keeps it from counting. */
START_TEST(looks)
{
	struct policy *policy = policy_new();
	struct policy_facts facts;
	struct policy_rule_look look;
	static const struct {
		const char *word;
		enum policy_match match;
	} want[] = {
		{ "allow", POLICY_MATCHES },
		{ "allow", POLICY_MATCH_NO },
		{ "allow", POLICY_MATCH_EXPIRED },
		{ "ask", POLICY_MATCHES },
		{ "allow", POLICY_MATCH_NOT_ENFORCED },
		{ "answer allow", POLICY_MATCHES },
		{ "allow", POLICY_MATCH_UNTRUSTED },
	};

	load(policy, "<user>",
	     "allow a.test\nallow b.test\nallow *.test for 1s\nask *:*\nallow a.test by "
	     "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"
	     "answer allow a.test # by ana on tty, 2026-11-20T20:13Z, run 7f3a\n",
	     POLICY_USER);
	load(policy, "<project>", "allow a.test\n", POLICY_PROJECT);
	ck_assert_int_eq(policy_finish(policy), 0);
	policy_set_start(policy, 1000);
	policies_test_facts("a.test", &facts);
	facts.now = 2000;
	ck_assert_uint_eq(policy_rule_count(policy), ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		policy_rule_look(policy, i + 1, &facts, &look);
		ck_assert_str_eq(look.word, want[i].word);
		ck_assert_msg(look.match == want[i].match, "%s: %d", look.rule, (int)look.match);
		ck_assert_int_eq(look.is_answer, i == 5);
		ck_assert_str_eq(look.by, i == 5 ? "ana on tty" : "");
		ck_assert_str_eq(look.when, i == 5 ? "2026-11-20T20:13Z" : "");
		ck_assert_str_eq(look.not_enforced, i == 4 ? "by" : "");
		ck_assert_int_eq(look.until, i == 2 ? 1001 : 0);
	}
	policy_free(policy);
}
END_TEST

TCase *layer_files_cases(void)
{
	TCase *cases = tcase_create("layer files");

	tcase_add_test(cases, folder);
	tcase_add_test(cases, trust_by_digest);
	tcase_add_test(cases, a_file_in_two_layers);
	tcase_add_test(cases, looks);
	return cases;
}
