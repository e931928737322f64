#include "tests/unit/policies/configured/configured_test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

static void heard_append(char *text, size_t size, const char *left, const char *right)
{
	size_t len = strlen(text);
	int n = snprintf(text + len, size - len, "%s%s%s\n", left, right[0] ? " " : "", right);

	ck_assert_msg(n > 0 && (size_t)n < size - len, "more than the test has room for");
}

void heard_found(const char *destination, const char *where, void *arg)
{
	struct heard *heard = arg;

	heard_append(heard->found, sizeof(heard->found), destination, where);
}

void heard_note(const char *text, void *arg)
{
	struct heard *heard = arg;

	heard_append(heard->notes, sizeof(heard->notes), text, "");
}

static const char *case_variable(const char *name, void *arg)
{
	const struct configured_case *c = arg;

	for (size_t i = 0; i < ARRAY_SIZE(c->variables) && c->variables[i].name; i++) {
		if (strcmp(c->variables[i].name, name) == 0)
			return c->variables[i].value;
	}
	return NULL;
}

static int case_read(const char *path, char **ret_text, size_t *ret_len, void *arg, struct err *why)
{
	const struct configured_case *c = arg;

	for (size_t i = 0; i < ARRAY_SIZE(c->files) && c->files[i].path; i++) {
		if (strcmp(c->files[i].path, path) != 0)
			continue;
		*ret_text = mem_strdup(c->files[i].text);
		*ret_len = strlen(*ret_text);
		return 0;
	}
	return -ENOENT;
}

static int case_ask(const char *const *argv, char **ret_output, void *arg, struct err *why)
{
	const struct configured_case *c = arg;

	ck_assert_str_eq(argv[0], c->tool == CONFIGURED_PIP     ? "python3"
				  : c->tool == CONFIGURED_CARGO ? "sh"
								: configured_name(c->tool));
	if (!c->answer)
		return err_set(why, -ENOENT, "it is not installed");
	*ret_output = mem_strdup(c->answer);
	return 0;
}

void configured_test_case(const struct configured_case *c)
{
	struct configured_environment env = {
		.home = CASE_HOME,
		.cwd = CASE_CWD,
		.is_project_trusted = c->is_project_trusted,
		.variable = case_variable,
		.tells_all = true,
		.ask = case_ask,
		.read = case_read,
		.arg = (void *)(uintptr_t)c,
	};
	struct heard heard = { 0 };
	struct configured_hearer hearer = { heard_found, heard_note, &heard };
	struct err why = { 0 };
	int r = configured_read(c->tool, &env, &hearer, &why);

	ck_assert_msg(!strstr(heard.found, CASE_SECRET) && !strstr(heard.notes, CASE_SECRET) &&
			      !strstr(why.text, CASE_SECRET),
		      "%s: a secret is shown", c->name);
	if (!c->want) {
		ck_assert_msg(r < 0, "%s: no error, but:\n%s", c->name, heard.found);
		ck_assert_msg(!heard.found[0] && !heard.notes[0], "%s: an error, yet %s%s", c->name,
			      heard.found, heard.notes);
		ck_assert_msg(strstr(why.text, c->says) != NULL, "%s: %s", c->name, why.text);
		return;
	}
	ck_assert_msg(r == 0, "%s: %s", c->name, why.text);
	ck_assert_msg(strcmp(heard.found, c->want) == 0, "%s: wanted\n%sgot\n%s", c->name, c->want,
		      heard.found);
	if (c->says)
		ck_assert_msg(strstr(heard.notes, c->says) != NULL, "%s: noted:\n%s", c->name,
			      heard.notes);
	else
		ck_assert_msg(!heard.notes[0], "%s: noted:\n%s", c->name, heard.notes);
}
