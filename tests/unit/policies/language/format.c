#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "tests/unit/policies/policies_test.h"
#include "policies/policies_tools.h"

static const struct {
	const char *text, *want;
} layouts[] = {
	{ "", "" },
	{ "  allow \t A.Test  ", "allow a.test\n" },
	{ "allow a.test#\n", "allow a.test#\n" }, /* not readable: stays */
	{ "allow a.test # why\n\n\n# B\n", "allow a.test   # why\n\n\n# B\n" },
	{ "deny *.A.test  because  \"It's  OURS\"\n", "deny *.a.test because \"It's  OURS\"\n" },
	{ "allow **.A.test  except B.A.test\tC.a.TEST private\n",
	  "allow **.a.test except b.a.test c.a.test private\n" },
	{ "expect  ask  HTTPS://A.test\n", "expect ask https://a.test\n" },
	{ "answer allow  https://a.test:443   # by Ana\n",
	  "answer allow https://a.test:443   # by Ana\n" },
	{ "include  \"Team.policy\"\n", "include \"Team.policy\"\n" },
	{ "command allow Git.Sh\n", "command allow Git.Sh\n" },
	{ "expect  ask command Git.Sh except A.Test\n",
	  "expect ask command Git.Sh except A.Test\n" },
	{ "allow configured  npm except A.Test\n", "allow configured npm except a.test\n" },
};

START_TEST(layout)
{
	size_t len;
	auto_free char *once = policy_format(layouts[_i].text, strlen(layouts[_i].text), &len);
	auto_free char *twice = policy_format(once, len, &len);

	ck_assert_str_eq(once, layouts[_i].want);
	ck_assert_str_eq(twice, once);
}
END_TEST

static void never(const struct policy_change *change, void *arg)
{
	(void)arg;
	ck_abort_msg("%s", change->destination);
}

START_TEST(verdicts_stay)
{
	struct policies_test_random random = { .state = 31 };

	for (size_t round = 0; round < policies_test_rounds(10); round++) {
		struct obvious_policy rules;
		size_t len, count;

		obvious_make(&random, &rules);
		auto_free char *text = obvious_text(&rules);
		auto_free char *laid_out = policy_format(text, strlen(text), &len);
		struct policy *before = policies_test_load(text);
		struct policy *after = policies_test_load(laid_out);

		ck_assert_int_eq(policy_diff(before, after, 1, never, NULL, &count, NULL), 0);
		policy_free(before);
		policy_free(after);
	}
}
END_TEST

START_TEST(a_line_never_grows_too_long)
{
	char line[4097];
	size_t len;
	struct policy *policy = policy_new();

	memset(line, 'x', sizeof(line));
	memcpy(line, "allow a.test #", 14);
	line[4096] = '\0';
	auto_free char *laid_out = policy_format(line, 4096, &len);

	ck_assert_int_eq(policy_load_text(policy, "<test>", laid_out), 0);
	policy_free(policy);
}
END_TEST

static void write_file(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);

	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

START_TEST(files)
{
	char folder[] = "/tmp/format-test-XXXXXX", got[64] = "";
	struct stat status;
	bool has_changed = false;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	auto_free char *path = mem_printf("%s/p", folder), *link = mem_printf("%s/l", folder);

	write_file(path, "allow   a.test\n");
	ck_assert_int_eq(symlink("p", link), 0);
	ck_assert_int_eq(policy_format_file(path, true, &has_changed, NULL), 0);
	ck_assert(has_changed);
	ck_assert_int_lt(policy_format_file(link, false, &has_changed, NULL), 0);
	ck_assert_int_eq(policy_format_file(path, false, &has_changed, NULL), 0);
	ck_assert(has_changed);
	ck_assert_int_eq(policy_format_file(path, true, &has_changed, NULL), 0);
	ck_assert(!has_changed);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(read(fd, got, sizeof(got) - 1), 13);
	ck_assert_str_eq(got, "allow a.test\n");
	ck_assert_int_eq(fstat(fd, &status), 0);
	ck_assert_int_eq(status.st_mode & 0777, 0640);
	write_file(path, "alow   a.test\n"); /* nobody knows what it was to say */
	ck_assert_int_lt(policy_format_file(path, false, &has_changed, NULL), 0);
	/* The configuration of tools does not matter for the layout. */
	write_file(path, "include preset npm\ndeny configured   pip except configured npm\n");
	ck_assert_int_eq(policy_format_file(path, false, &has_changed, NULL), 0);
	ck_assert(has_changed);
	(void)unlink(link);
	(void)unlink(path);
	ck_assert_int_eq(rmdir(folder), 0); /* nothing else is left */
}
END_TEST

TCase *format_cases(void)
{
	TCase *tests = tcase_create("format");

	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, layout, 0, ARRAY_SIZE(layouts));
	tcase_add_test(tests, verdicts_stay);
	tcase_add_test(tests, a_line_never_grows_too_long);
	tcase_add_test(tests, files);
	return tests;
}
