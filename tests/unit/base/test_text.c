#include "tests/unit/base/test_base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

static const struct {
	const char *in, *want;
	size_t len, size;
} shown[] = {
	{ "plain", "plain", 5, 32 },
	{ "a\x1b[2Jb", "a\\x1b[2Jb", 6, 32 },
	{ "back\\slash", "back\\\\slash", 10, 32 },
	{ "nul\0end", "nul\\x00end", 7, 32 },
	{ "\xc2\x9b", "\\xc2\\x9b", 2, 32 },
	{ "abcdefgh", "abcd...", 8, 8 },
	{ "abcdefg", "abcdefg", 7, 8 },
	{ "abc\x01", "abc...", 4, 7 },
	{ "abc", "..", 3, 3 },
};

START_TEST(shows_every_byte)
{
	char out[64];

	(void)text_visible(out, shown[_i].size, shown[_i].in, shown[_i].len);
	ck_assert_str_eq(out, shown[_i].want);
}
END_TEST

static const struct {
	const char *text;
	int want;
	int64_t ms;
} durations[] = {
	{ "5", 0, 5000 },      { "250ms", 0, 250 },  { "2m", 0, 120000 },
	{ "1d", 0, 86400000 }, { "", -EINVAL, 0 },   { "m", -EINVAL, 0 },
	{ "-1s", -EINVAL, 0 }, { "1w", -EINVAL, 0 }, { "99999999999999999999", -ERANGE, 0 },
	{ "1 s", -EINVAL, 0 },
};

START_TEST(reads_durations)
{
	int64_t ms = -1;

	ck_assert_int_eq(text_to_duration_ms(durations[_i].text, &ms), durations[_i].want);
	if (durations[_i].want == 0)
		ck_assert_int_eq(ms, durations[_i].ms);
}
END_TEST

static const struct {
	const char *text;
	int want;
	uint64_t bytes;
} sizes[] = {
	{ "1", 0, 1 },           { "64k", 0, 65536 },   { "3m", 0, 3145728 },
	{ "4g", 0, 4294967296 }, { "5g", -ERANGE, 0 },  { "4294967297", -ERANGE, 0 },
	{ "", -EINVAL, 0 },      { "k", -EINVAL, 0 },   { "0", -EINVAL, 0 },
	{ "0k", -EINVAL, 0 },    { "1t", -EINVAL, 0 },  { "1K", -EINVAL, 0 },
	{ "-1", -EINVAL, 0 },    { "1kk", -EINVAL, 0 },
};

START_TEST(reads_sizes)
{
	uint64_t bytes = 0;

	ck_assert_int_eq(text_to_size(sizes[_i].text, strlen(sizes[_i].text), 4294967296, &bytes),
			 sizes[_i].want);
	ck_assert_uint_eq(bytes, sizes[_i].bytes);
}
END_TEST

static const struct {
	uint64_t value;
	size_t width;
	const char *want;
} digits[] = {
	{ 0, 1, "0" },
	{ 7, 4, "0007" },
	{ 12345, 2, "12345" },
	{ UINT64_MAX, 1, "18446744073709551615" },
	{ 0, TEXT_DIGITS_MAX, "00000000000000000000" },
};

START_TEST(writes_digits)
{
	char text[TEXT_DIGITS_MAX];
	size_t len = text_from_u64(text, digits[_i].value, digits[_i].width);

	ck_assert_uint_eq(len, strlen(digits[_i].want));
	ck_assert_mem_eq(text, digits[_i].want, len);
}
END_TEST

START_TEST(command_lines_are_quoted)
{
	const char *argv[] = { "sh", "-c", "echo 'hi' \x1b", "", NULL };
	auto_free char *line = text_command_line(argv, 200);
	auto_free char *cut = text_command_line(argv, 10);

	ck_assert_str_eq(line, "sh -c 'echo '\\\\''hi'\\\\'' \\x1b' ''");
	ck_assert_uint_le(strlen(cut), 14);
	ck_assert_ptr_nonnull(strstr(cut, "..."));
}
END_TEST

START_TEST(secrets_are_whole)
{
	ck_assert(text_is_secret("open", "open", 4));
	ck_assert(!text_is_secret("open", "opem", 4));
	ck_assert(!text_is_secret("open", "nope", 4));
	ck_assert(!text_is_secret("open", "open sesame", 11));
	ck_assert(!text_is_secret("open", "open", 3));
	ck_assert(!text_is_secret("open", "", 0));
}
END_TEST

START_TEST(lists_grow_and_are_copied)
{
	char **list = NULL;

	ck_assert_uint_eq(mem_count_list(list), 0);
	mem_append_list(&list, mem_strdup("a"));
	mem_append_list(&list, mem_strdup("b"));
	auto_free_list char **copy = mem_copy_list((const char *const *)list);
	auto_free_list char **none = mem_copy_list(NULL);

	mem_free_list(list);
	ck_assert_uint_eq(mem_count_list(copy), 2);
	ck_assert_str_eq(copy[0], "a");
	ck_assert_str_eq(copy[1], "b");
	ck_assert_ptr_null(none[0]);
}
END_TEST

START_TEST(errors_are_cut_not_overrun)
{
	struct err why = { 0 };
	char big[4000];

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	ck_assert_int_eq(err_set(&why, -EINVAL, "%s", big), -EINVAL);
	ck_assert_uint_eq(strlen(why.text), ERR_MAX_BYTES - 1);
	ck_assert_int_eq(err_errno(&why, ENOENT, "cannot open %s", "f"), -ENOENT);
	ck_assert_str_eq(why.text, "cannot open f: No such file or directory");
	ck_assert_int_eq(err_prefix(&why, -ENOENT, "policy"), -ENOENT);
	ck_assert_str_eq(why.text, "policy: cannot open f: No such file or directory");
	ck_assert_int_eq(err_set(NULL, -EPERM, "nobody listens"), -EPERM);
}
END_TEST

TCase *test_text(void)
{
	TCase *tcase = tcase_create("text");

	tcase_add_loop_test(tcase, shows_every_byte, 0, ARRAY_SIZE(shown));
	tcase_add_loop_test(tcase, reads_durations, 0, ARRAY_SIZE(durations));
	tcase_add_loop_test(tcase, reads_sizes, 0, ARRAY_SIZE(sizes));
	tcase_add_loop_test(tcase, writes_digits, 0, ARRAY_SIZE(digits));
	tcase_add_test(tcase, command_lines_are_quoted);
	tcase_add_test(tcase, secrets_are_whole);
	tcase_add_test(tcase, lists_grow_and_are_copied);
	tcase_add_test(tcase, errors_are_cut_not_overrun);
	return tcase;
}
