#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/rpc/fields.h"
#include "base/err.h"
#include "tests/unit/agent/test_agent.h"

struct into {
	const char *text;
	bool flag;
	int64_t number;
	const char **words;
	const json_t *object;
	int choice;
};
static const char *const colours[] = { "red", "green", NULL };
static const struct fields_entry table[] = {
	{ "text", FIELDS_TEXT, offsetof(struct into, text), 4, true, NULL },
	{ "flag", FIELDS_FLAG, offsetof(struct into, flag), 0, false, NULL },
	{ "number", FIELDS_NUMBER, offsetof(struct into, number), 9, false, NULL },
	{ "words", FIELDS_WORDS, offsetof(struct into, words), 2, false, NULL },
	{ "object", FIELDS_OBJECT, offsetof(struct into, object), 0, false, NULL },
	{ "choice", FIELDS_CHOICE, offsetof(struct into, choice), 0, false, colours },
	{ 0 },
};

static int read_json(const char *line, bool is_strict, struct into *into, struct err *why)
{
	json_t *object = json_loads(line, 0, NULL);

	ck_assert_ptr_nonnull(object);
	int r = fields_read(object, table, is_strict, into, why);

	fields_forget(table, into);
	json_decref(object);
	return r;
}

static const struct {
	const char *line;
	bool is_strict;
	int want;
	const char *says; /* in the error */
} lines[] = {
	{ "{\"text\":\"four\"}", true, 0, "" },
	{ "{\"text\":\"fives\"}", true, -EINVAL, "longer than 4" },
	{ "{}", true, -EINVAL, "\"text\" is missing" },
	{ "{\"text\":null}", true, -EINVAL, "\"text\" is missing" },
	{ "{\"text\":7}", true, -EINVAL, "must be text" },
	{ "{\"text\":\"\",\"flag\":1}", true, -EINVAL, "true or false" },
	{ "{\"text\":\"\",\"flag\":null}", true, 0, "" },
	{ "{\"text\":\"\",\"number\":9}", true, 0, "" },
	{ "{\"text\":\"\",\"number\":10}", true, -EINVAL, "0 to 9" },
	{ "{\"text\":\"\",\"number\":-1}", true, -EINVAL, "0 to 9" },
	{ "{\"text\":\"\",\"number\":1.5}", true, -EINVAL, "0 to 9" },
	{ "{\"text\":\"\",\"words\":[]}", true, 0, "" },
	{ "{\"text\":\"\",\"words\":[\"a\",\"b\"]}", true, 0, "" },
	{ "{\"text\":\"\",\"words\":[\"a\",\"b\",\"c\"]}", true, -EINVAL, "at most 2" },
	{ "{\"text\":\"\",\"words\":[\"a\",2]}", true, -EINVAL, "list of texts" },
	{ "{\"text\":\"\",\"words\":\"a\"}", true, -EINVAL, "list" },
	{ "{\"text\":\"\",\"object\":[]}", true, -EINVAL, "object" },
	{ "{\"text\":\"\",\"choice\":\"green\"}", true, 0, "" },
	{ "{\"text\":\"\",\"choice\":\"blue\"}", true, -EINVAL, "one of red, green" },
	{ "{\"text\":\"\",\"choice\":1}", true, -EINVAL, "one of" },
	{ "{\"text\":\"\",\"more\":1}", true, -EINVAL, "\"more\" is unknown" },
	{ "{\"text\":\"\",\"more\":1}", false, 0, "" },
};

START_TEST(what_may_stand_there)
{
	struct into into = { 0 };
	struct err why = { 0 };

	ck_assert_int_eq(read_json(lines[_i].line, lines[_i].is_strict, &into, &why),
			 lines[_i].want);
	ck_assert_msg(strstr(why.text, lines[_i].says), "%s: %s", lines[_i].line, why.text);
}
END_TEST

START_TEST(what_is_not_there_stays)
{
	static const char line[] = "{\"text\":\"a\",\"words\":[\"x\",\"y\"],\"choice\":\"red\"}";
	struct into into = { .flag = true, .number = 5, .choice = 1 };
	json_t *object = json_loads(line, 0, NULL);

	ck_assert_int_eq(fields_read(object, table, true, &into, NULL), 0);
	ck_assert(into.flag && into.number == 5 && into.choice == 0 && !into.object);
	ck_assert_str_eq(into.words[1], "y");
	ck_assert_ptr_null(into.words[2]);
	fields_forget(table, &into);
	ck_assert_ptr_null(into.words);
	json_decref(object);
}
END_TEST

TCase *test_fields(void)
{
	TCase *tcase = tcase_create("fields");

	tcase_add_loop_test(tcase, what_may_stand_there, 0, sizeof(lines) / sizeof(lines[0]));
	tcase_add_test(tcase, what_is_not_there_stays);
	return tcase;
}
