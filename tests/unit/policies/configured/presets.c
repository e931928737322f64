#include "policies/hosts/presets_impl.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "policies/policies_tools.h"
#include "tests/unit/policies/configured/configured_test.h"

#define PRESETS 13

static int read_nothing(const char *path, char **ret_text, size_t *ret_len, void *arg,
			struct err *why)
{
	return -ENOENT;
}

/* On a machine where no tool is configured. */
static const struct configured_environment nothing = { .read = read_nothing };

/* It loads, and does what its own `expect` lines say, on its own. */
START_TEST(loads_and_keeps_its_word)
{
	const char *name = policy_preset_name((size_t)_i),
		   *preset = presets_find(name, strlen(name));
	struct policy *policy = policy_new();

	policy_set_environment(policy, &nothing);
	int r = policy_load_text(policy, name, preset);

	if (r == 0)
		r = policy_finish(policy);
	ck_assert_msg(r == 0, "%s", policy_errors(policy));
	ck_assert_msg(policy_rule_count(policy) > 0 || strstr(preset, "allow configured "),
		      "%s: says nothing", name);
	ck_assert_msg(policy_expect_count(policy) > 0, "%s: expects nothing", name);
	policy_free(policy);
}
END_TEST

/* Included, it adds its rules, and does not expect anything of the others. */
START_TEST(is_included)
{
	const char *name = policy_preset_name((size_t)_i);
	auto_free char *text = mem_printf("include preset %s\ndeny *\n", name);
	struct policy *alone = policy_new(), *policy = policy_new();

	policy_set_environment(alone, &nothing);
	policy_set_environment(policy, &nothing);
	ck_assert_int_eq(policy_load_text(alone, name, presets_find(name, strlen(name))), 0);
	ck_assert_int_eq(policy_load_text(policy, "p", text), 0);
	ck_assert_msg(policy_finish(policy) == 0, "%s", policy_errors(policy));
	ck_assert_uint_eq(policy_rule_count(policy), policy_rule_count(alone) + 1);
	ck_assert_uint_eq(policy_expect_count(policy), 0);
	policy_free(policy);
	policy_free(alone);
}
END_TEST

/* A rule without a reason helps nobody to take it out again. */
START_TEST(every_host_has_its_reason)
{
	const char *name = policy_preset_name((size_t)_i), *text = presets_find(name, strlen(name));
	struct lines lines = { .at = text, .left = strlen(text) };

	while (lines_next(&lines)) {
		auto_free char *line = mem_strndup(lines.text, lines.len);
		bool is_rule = strncmp(line, "allow ", 6) == 0 || strncmp(line, "deny ", 5) == 0;

		if (is_rule && !strstr(line, " configured "))
			ck_assert_msg(strstr(line, "  # "), "%s:%zu: %s", name, lines.number, line);
	}
}
END_TEST

/* No preset but the baseline may take anything away, and none but the tools' may leave what it
 * allows to a file. */
START_TEST(presets_keep_to_their_kind)
{
	const char *name = policy_preset_name((size_t)_i), *text = presets_find(name, strlen(name));
	bool is_baseline = strcmp(name, "baseline") == 0;
	enum configured_tool tool;

	ck_assert_int_eq(strstr(text, "\ndeny ") != NULL, is_baseline);
	ck_assert_int_eq(strstr(text, "\nallow ") != NULL, !is_baseline);
	ck_assert_int_eq(strstr(text, "\nallow configured ") != NULL,
			 configured_find(name, strlen(name), &tool));
	ck_assert_ptr_null(strstr(text, "\ndefault "));
}
END_TEST

START_TEST(names_in_order)
{
	for (size_t i = 0; i + 1 < PRESETS; i++)
		ck_assert_int_lt(strcmp(policy_preset_name(i), policy_preset_name(i + 1)), 0);
	ck_assert_ptr_null(policy_preset_name(PRESETS));
	ck_assert_ptr_null(presets_find("np", 2));
	ck_assert_ptr_null(presets_find("", 0));
	ck_assert_ptr_null(presets_find("../npm", 6));
}
END_TEST

TCase *presets_cases(void)
{
	TCase *tcase = tcase_create("presets");

	tcase_add_loop_test(tcase, is_included, 0, PRESETS);
	tcase_add_loop_test(tcase, loads_and_keeps_its_word, 0, PRESETS);
	tcase_add_loop_test(tcase, every_host_has_its_reason, 0, PRESETS);
	tcase_add_loop_test(tcase, presets_keep_to_their_kind, 0, PRESETS);
	tcase_add_test(tcase, names_in_order);
	return tcase;
}
