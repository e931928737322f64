#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/toml.h"
#include "tests/unit/base/test_base.h"

#define FIFTY "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

struct shown {
	char text[1024];
};

/* "key/#=text@line;", ':' for what is no string. */
static int show_value(const struct toml_value *value, void *arg)
{
	struct shown *shown = arg;

	for (size_t i = 0; i < value->depth; i++) {
		size_t at = strlen(shown->text);

		(void)snprintf(shown->text + at, sizeof(shown->text) - at, "%s%s", i ? "/" : "",
			       value->keys[i] ? value->keys[i] : "#");
	}
	size_t at = strlen(shown->text);

	(void)snprintf(shown->text + at, sizeof(shown->text) - at, "%c%.*s@%zu;",
		       value->is_string ? '=' : ':', (int)value->len, value->text, value->line);
	return 0;
}

static const struct {
	const char *text;
	const char *want; /* NULL: refused */
	size_t line;      /* where */
} tomls[] = {
	{ "", "" },
	{ "a = \"x\"\nb.c = 'y'", "a=x@1;b/c=y@2;" },
	{ "[t.u]\na=\"x\"\r\n[v] # why\nb = \"#\"\n", "t/u/a=x@2;v/b=#@4;" },
	{ "[[l]]\na='1'\n[[l]]\na='2'\n", "l/#/a=1@2;l/#/a=2@4;" },
	{ "a = [ 'x', [\n'y', # z\n], ]\n", "a/#=x@1;a/#/#=y@2;" },
	{ "a = { b = 'x', c.d = \"y\" }\n", "a/b=x@1;a/c/d=y@1;" },
	{ "a = 1_000\nb = -1.5e3\nc = true\nd = 2020-01-01T00:00:00Z\ne='x'\n",
	  "a:1_000@1;b:-1.5e3@2;c:true@3;d:2020-01-01T00:00:00Z@4;e=x@5;" },
	{ "a = \"\"\"\nx\\\n   y\"\"\"\nb = '''p\nq'''\n", "a=xy@1;b=p\nq@4;" },
	{ "a = \"\\u0041\\U0001F600\\t\"", "a=A\xf0\x9f\x98\x80\t@1;" },
	{ "a = \"\\u0000\"", NULL, 1 }, /* NUL would end the text */
	{ "a = \"\\ud800\"", NULL, 1 }, /* half a character */
	{ "a = \"\\q\"", NULL, 1 },
	{ "\na = \"x", NULL, 2 },
	{ "a = \"x\ny\"", NULL, 1 },
	{ "a = 'x' y", NULL, 1 },
	{ "a = ", NULL, 1 },
	{ "a", NULL, 1 },
	{ "= 'x'", NULL, 1 },
	{ "[a\nb='x'", NULL, 1 },
	{ "[[a]\n", NULL, 1 },
	{ "a = [ 'x' 'y' ]", NULL, 1 },
	{ "a = { b = 'x'\n}", NULL, 1 },
	{ "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p='x'", "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p=x@1;" },
	{ "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q='x'", NULL, 1 },
	{ "a=[[[[[[[[[[[[[[['x']]]]]]]]]]]]]]]", "a/#/#/#/#/#/#/#/#/#/#/#/#/#/#/#=x@1;" },
	{ "a=[[[[[[[[[[[[[[[['x']]]]]]]]]]]]]]]]", NULL, 1 },
	{ FIFTY FIFTY FIFTY FIFTY FIFTY "xxxxxx = 1", FIFTY FIFTY FIFTY FIFTY FIFTY "xxxxxx:1@1;" },
	{ FIFTY FIFTY FIFTY FIFTY FIFTY "xxxxxxx = 1", NULL, 1 },
};

START_TEST(reads_documents)
{
	struct shown shown = { 0 };
	struct err why = { 0 };
	size_t line = 0;
	int r = toml_read(tomls[_i].text, strlen(tomls[_i].text), show_value, &shown, &line, &why);

	if (tomls[_i].want) {
		ck_assert_msg(r == 0, "%s: %s", tomls[_i].text, why.text);
		ck_assert_str_eq(shown.text, tomls[_i].want);
		return;
	}
	ck_assert_msg(r == -EBADMSG, "%s: taken", tomls[_i].text);
	ck_assert_uint_eq(line, tomls[_i].line);
	ck_assert(why.text[0]);
}
END_TEST

static int stop(const struct toml_value *value, void *arg)
{
	return value->line == 2 ? -ENOSPC : 0;
}

START_TEST(stops_where_it_is_told)
{
	struct err why = { 0 };
	size_t line = 0;

	ck_assert_int_eq(toml_read("a=1\nb=2\nc=3\n", 12, stop, NULL, &line, &why), -ENOSPC);
	ck_assert_uint_eq(line, 2);
	ck_assert_str_eq(why.text, "");
}
END_TEST

TCase *test_toml(void)
{
	TCase *tcase = tcase_create("toml");

	tcase_add_loop_test(tcase, reads_documents, 0, ARRAY_SIZE(tomls));
	tcase_add_test(tcase, stops_where_it_is_told);
	return tcase;
}
