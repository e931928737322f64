/* Answers that are kept with clauses, and taken out again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "policies/policies_tools.h"
#include "tests/unit/policies/policies_test.h"

static char folder[64], path[80];

static void enter(void)
{
	(void)umask(022);
	(void)snprintf(folder, sizeof(folder), "/tmp/test-answers.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/policy", folder);
}

static void leave(void)
{
	(void)unlink(path);
	ck_assert_int_eq(rmdir(folder), 0);
}

static void check_file(const char *want)
{
	char text[4096] = "";
	FILE *file = fopen(path, "r");

	ck_assert_int_eq(file != NULL, want != NULL);
	if (!file)
		return;
	(void)!fread(text, 1, sizeof(text) - 1, file);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_str_eq(text, want);
}

static const struct {
	const char *text, *provenance;
	bool is_answer;
} texts[] = {
	{ "https://**.example.org:443", "by ana", true },
	{ "tcp://[2001:db8::1]:*", "by ana", true },
	{ "https://a.test:443 upload 64k connections 4", "by ana", true },
	{ "https://a.test:443 for 1h", "by ana, 2026-11-20T20:13:05Z", true },
	{ "https://a.test:443 for 1h", "by ana", false }, /* from when? */
	{ "https://**.github.io:443", "by ana", false },
	{ "https://*.a.*:443", "by ana", false },
	{ "https://a.test:443\nallow *", "by ana", false },
	{ "https://a.test:443 # allow", "by ana", false },
	{ "https://a.test:443 for ever", "by ana, 2026-11-20T20:13:05Z", false },
	{ "", "by ana", false },
};

START_TEST(only_what_reads_back_is_kept)
{
	auto_free char *want = mem_printf("version 1\nanswer allow %s   # %s\n", texts[_i].text,
					  texts[_i].provenance);
	struct err why = { 0 };

	ck_assert_int_eq(policy_answer_append_text(path, POLICY_ALLOW, texts[_i].text,
						   texts[_i].provenance, &why),
			 texts[_i].is_answer ? 0 : -EINVAL);
	ck_assert_int_eq(why.text[0] == '\0', texts[_i].is_answer);
	check_file(texts[_i].is_answer ? want : NULL);
}
END_TEST

START_TEST(a_duration_begins_anew)
{
	ck_assert_int_eq(policy_answer_append_text(path, POLICY_ALLOW, "https://a.test:443 for 1h",
						   "by ana, 2026-11-20T20:13:05Z", NULL),
			 0);
	ck_assert_int_eq(policy_answer_append_text(path, POLICY_DENY, "https://a.test:443 for 1h",
						   "by ana, 2026-11-20T20:13:06Z", NULL),
			 0);
	ck_assert_int_eq(policy_answer_append_text(path, POLICY_ALLOW, "https://a.test:443 for 1h",
						   "by bob, 2026-11-20T22:00:00Z", NULL),
			 0);
	check_file("version 1\n"
		   "answer deny https://a.test:443 for 1h   # by ana, 2026-11-20T20:13:06Z\n"
		   "answer allow https://a.test:443 for 1h   # by bob, 2026-11-20T22:00:00Z\n");
}
END_TEST

START_TEST(exactly_that_answer_is_taken_out)
{
	static const char kept[] = "version 1\n"
				   "allow https://a.test:443\n"
				   "answer  allow\thttps://a.test:443 # by ana\n"
				   "answer allow https://a.test:443 upload 1k   # by ana\n"
				   "answer deny https://a.test:443   # by ana\n"
				   "answer allow https://a.test:443   # by bob";
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(kept, file), 0);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(policy_answer_remove(path, POLICY_ALLOW, "https://b.test:443", NULL),
			 -ENOENT);
	check_file(kept);
	ck_assert_int_eq(policy_answer_remove(path, POLICY_ALLOW, "https://a.test:443", NULL), 0);
	check_file("version 1\n"
		   "allow https://a.test:443\n"
		   "answer allow https://a.test:443 upload 1k   # by ana\n"
		   "answer deny https://a.test:443   # by ana\n");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(policy_answer_remove(path, POLICY_ALLOW, "https://a.test:443", NULL),
			 -ENOENT);
}
END_TEST

TCase *answers_text_cases(void)
{
	TCase *tcase = tcase_create("answers with clauses");

	tcase_add_checked_fixture(tcase, enter, leave);
	tcase_add_loop_test(tcase, only_what_reads_back_is_kept, 0, ARRAY_SIZE(texts));
	tcase_add_test(tcase, a_duration_begins_anew);
	tcase_add_test(tcase, exactly_that_answer_is_taken_out);
	return tcase;
}
