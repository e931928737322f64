#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cli/policy/policy_layers.h"
#include "cli/view/trust_store.h"
#include "policies/policies_tools.h"
#include "tests/unit/cli/policy/world.h"

/* A folder with state/, managed/, repo/.git, repo/a/b and a user's file. */
struct stage {
	char dir[32];
};

static char *at(const struct stage *stage, const char *name)
{
	return mem_printf("%s/%s", stage->dir, name);
}

static void put(const struct stage *stage, const char *name, const char *text)
{
	auto_free char *path = at(stage, name);
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

static void stage_make(struct stage *stage)
{
	static const char *const folders[] = {
		"state",  "managed",  "repo", "repo/.git",       "repo/.sallyport",
		"repo/a", "repo/a/b", "bare", "bare/.sallyport", "bare/c",
	};

	(void)snprintf(stage->dir, sizeof(stage->dir), "/tmp/layers-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(stage->dir));
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		auto_free char *path = at(stage, folders[i]);

		ck_assert_int_eq(mkdir(path, 0700), 0);
	}
}

static void stage_remove(const struct stage *stage)
{
	static const char *const names[] = {
		"user",
		"managed/a.policy",
		"repo/.sallyport/policy",
		"state/trusted",
		"repo/a/b",
		"repo/a",
		"repo/.sallyport",
		"repo/.git",
		"repo",
		"bare/c",
		"bare/.sallyport/policy",
		"bare/.sallyport",
		"bare",
		"managed",
		"state",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *path = at(stage, names[i]);

		(void)remove(path);
	}
	ck_assert_int_eq(rmdir(stage->dir), 0);
}

static enum policy_reason ask(const struct stage *stage, const char *host, bool *ret_is_changed)
{
	auto_free char *managed = at(stage, "managed"), *user = at(stage, "user"),
		       *cwd = at(stage, "repo/a/b"), *state = at(stage, "state");
	struct policy_layers layers = {
		.managed = managed, .user = user, .cwd = cwd, .state = state
	};
	struct policy *policy = policy_new();
	struct policy_facts facts = { 0 };
	struct policy_verdict verdict;

	ck_assert_msg(policy_layers_load(policy, &layers), "%s", policy_errors(policy));
	ck_assert_int_eq(policy_finish(policy), 0);
	ck_assert_int_eq(policy_destination_parse(host, &facts.dst, NULL), 0);
	facts.carries = facts.dst.protocol;
	policy_decide(policy, &facts, &verdict);
	if (ret_is_changed)
		*ret_is_changed = strstr(policy_notes(policy), "changed since it was trusted");
	policy_free(policy);
	return verdict.reason;
}

START_TEST(trust)
{
	struct stage stage;
	bool is_changed;
	struct stat status;

	stage_make(&stage);
	put(&stage, "repo/.sallyport/policy", "allow a.test\n");
	auto_free char *project = at(&stage, "repo/.sallyport/policy"),
		       *state = at(&stage, "state"), *store = at(&stage, "state/trusted"),
		       *other = at(&stage, "user");

	ck_assert_int_eq(ask(&stage, "a.test", &is_changed), POLICY_DEFAULT_DENY);
	ck_assert(!is_changed);
	ck_assert_int_eq(trust_store_add(state, project, NULL), 0);
	ck_assert_int_eq(stat(store, &status), 0);
	ck_assert_int_eq(status.st_mode & 0777, 0600);
	ck_assert_int_eq(ask(&stage, "a.test", &is_changed), POLICY_RULE_ALLOW);
	ck_assert(!is_changed);

	put(&stage, "repo/.sallyport/policy", "allow a.test\nallow b.test\n");
	ck_assert_int_eq(ask(&stage, "a.test", &is_changed), POLICY_DEFAULT_DENY);
	ck_assert(is_changed);
	put(&stage, "user", "deny c.test\n");
	ck_assert_int_eq(trust_store_add(state, other, NULL), 0);
	ck_assert_int_eq(trust_store_add(state, project, NULL), 0);
	ck_assert_int_eq(stat(store, &status), 0);
	ck_assert_int_eq(status.st_size, (off_t)(2 * (64 + 3) + strlen(project) + strlen(other)));
	ck_assert_int_eq(ask(&stage, "b.test", &is_changed), POLICY_RULE_ALLOW);
	ck_assert_int_eq(ask(&stage, "c.test", &is_changed), POLICY_RULE_DENY);

	/* A list that others could have read or written says nothing. */
	ck_assert_int_eq(chmod(store, 0644), 0);
	ck_assert_int_eq(ask(&stage, "a.test", NULL), POLICY_DEFAULT_DENY);
	ck_assert_int_eq(trust_store_add(state, project, NULL), -EPERM);
	stage_remove(&stage);
}
END_TEST

START_TEST(all_layers_at_once)
{
	struct stage stage;

	stage_make(&stage);
	put(&stage, "managed/a.policy", "only **.test\n");
	put(&stage, "user", "allow *\n");
	put(&stage, "repo/.sallyport/policy", "deny b.test\n");
	ck_assert_int_eq(ask(&stage, "a.test", NULL), POLICY_RULE_ALLOW);
	ck_assert_int_eq(ask(&stage, "b.test", NULL), POLICY_RULE_DENY);
	ck_assert_int_eq(ask(&stage, "example.org", NULL), POLICY_OUTSIDE_ONLY);
	stage_remove(&stage);
}
END_TEST

static void check_projects(const struct stage *stage, const char *cwd, const char *first,
			   const char *second)
{
	auto_free char *path = at(stage, cwd), *want = first ? at(stage, first) : NULL,
		       *want_next = second ? at(stage, second) : NULL;
	auto_free_list char **list = policy_layers_projects(path);

	ck_assert_pstr_eq(list[0], want);
	if (want)
		ck_assert_pstr_eq(list[1], want_next);
}

/* Above a repository, and above a missing folder, nothing is searched. */
START_TEST(the_projects_of_a_folder)
{
	struct stage stage;
	auto_free_list char **none = policy_layers_projects("/");

	stage_make(&stage);
	put(&stage, "repo/.sallyport/policy", "");
	put(&stage, "bare/.sallyport/policy", "");
	check_projects(&stage, "repo/a/b", "repo/.sallyport/policy", NULL);
	check_projects(&stage, "repo", "repo/.sallyport/policy", NULL);
	check_projects(&stage, "bare", "bare/.sallyport/policy", NULL);
	check_projects(&stage, "bare/c", NULL, NULL);
	ck_assert_ptr_null(none[0]);
	stage_remove(&stage);
}
END_TEST

/* A nearer file adds to one above it, and takes nothing away. */
START_TEST(two_projects)
{
	static const char *const names[] = { "repo/a/.sallyport/policy", "repo/a/.sallyport" };
	struct stage stage;

	stage_make(&stage);
	auto_free char *folder = at(&stage, names[1]), *file = at(&stage, names[0]);

	ck_assert_int_eq(mkdir(folder, 0700), 0);
	put(&stage, "user", "allow *\n");
	put(&stage, "repo/.sallyport/policy", "deny b.test\n");
	put(&stage, names[0], "deny c.test\n");
	check_projects(&stage, "repo/a/b", names[0], "repo/.sallyport/policy");
	ck_assert_int_eq(ask(&stage, "a.test", NULL), POLICY_RULE_ALLOW);
	ck_assert_int_eq(ask(&stage, "b.test", NULL), POLICY_RULE_DENY);
	ck_assert_int_eq(ask(&stage, "c.test", NULL), POLICY_RULE_DENY);
	ck_assert_int_eq(unlink(file), 0);
	ck_assert_int_eq(rmdir(folder), 0);
	stage_remove(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("layers");
	TCase *cases = tcase_create("layers");

	tcase_add_test(cases, trust);
	tcase_add_test(cases, all_layers_at_once);
	tcase_add_test(cases, the_projects_of_a_folder);
	tcase_add_test(cases, two_projects);
	suite_add_tcase(suite, cases);
	suite_add_tcase(suite, world_cases());

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);

	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
