#include "tests/unit/policies/configured/configured_test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define TEN "xxxxxxxxxx"

struct shown {
	char text[1024];
};

static int show(struct shown *shown, const char *const *keys, size_t depth, const char *text,
		size_t len, size_t line)
{
	for (size_t i = 0; i < depth; i++) {
		size_t at = strlen(shown->text);

		(void)snprintf(shown->text + at, sizeof(shown->text) - at, "%s%s", i ? "/" : "",
			       keys[i]);
	}
	size_t at = strlen(shown->text);

	(void)snprintf(shown->text + at, sizeof(shown->text) - at, "=%.*s@%zu;", (int)len, text,
		       line);
	return 0;
}

static int show_element(const struct xml_element *e, void *arg)
{
	return e->len > 0 ? show(arg, e->names, e->depth, e->text, e->len, e->line) : 0;
}

static const struct {
	const char *text;
	const char *want;
	size_t line;
} xmls[] = {
	{ "<a>x</a>", "a=x@1;" },
	{ "\xef\xbb\xbf<?xml version='1.0'?>\n<a b=\"1>\" c='2'>\n <d> x </d><e/></a>\n",
	  "a/d=x@3;" },
	{ "<a>&lt;&amp;&gt;&quot;&apos;</a>", "a=<&>\"'@1;" },
	{ "<a><!-- <b>x</b> --><c><![CDATA[<&>]]></c></a>", "a/c=<&>@1;" },
	{ "", NULL, 1 },
	{ "text", NULL, 1 },
	{ "<a>", NULL, 1 },
	{ "<a></b>", NULL, 1 },
	{ "</a>", NULL, 1 },
	{ "<a/><b/>", NULL, 1 },
	{ "<a>\n&nbsp;</a>", NULL, 2 },
	{ "<a>&#65;&#x42;</a>", "a=AB@1;" },
	{ "<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe4\xe4\xe4</a>",
	  "a=\u00e4\u00e4\u00e4@1;" },
	{ "<a>\n x<b>y</b>z\n</a>", "a/b=y@2;a=xz@1;" },
	{ "<a>\xff</a>", NULL, 1 },
	{ "<?xml version='1.0' encoding='none'?><a/>", NULL, 1 },
	{ "<a>&#0;</a>", NULL, 1 },
	{ "<a b='1' b='2'/>", NULL, 1 },
	{ "<a b='&c;'/>", NULL, 1 },
	{ "<a/>x", NULL, 1 },
	{ "<a>&", NULL, 1 },
	{ "<!DOCTYPE a><a/>", NULL, 1 },
	{ "<!DOCTYPE a [<!ENTITY b 'xx'>\n<!ENTITY c '&b;&b;'>]><a>&c;</a>", NULL, 1 },
	{ "\n<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", NULL, 2 },
	{ "<!DOCTYPE a [<!ENTITY % b SYSTEM 'file:///etc/passwd'> %b;]><a/>", NULL, 1 },
	{ "<a><!-- x</a>", NULL, 1 },
	{ "<a b></a>", NULL, 1 },
	{ "<a b=1></a>", NULL, 1 },
	{ "<a b='1></a>", NULL, 1 },
	{ "<a", NULL, 1 },
	{ "<a><b></a></b>", NULL, 1 },
	{ "< a/>", NULL, 1 },
	{ "<" TEN TEN TEN TEN TEN TEN TEN "/>", NULL, 1 },
	{ "<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><"
	  "a>"
	  "<a><a><a>",
	  NULL, 1 },
};

START_TEST(xml_documents)
{
	struct shown shown = { 0 };
	struct err why = { 0 };
	size_t line = 0;
	int r = xml_read(xmls[_i].text, strlen(xmls[_i].text), show_element, &shown, &line, &why);

	if (xmls[_i].want) {
		ck_assert_msg(r == 0, "%s: %s", xmls[_i].text, why.text);
		ck_assert_str_eq(shown.text, xmls[_i].want);
		return;
	}
	ck_assert_msg(r == -EBADMSG, "%s: taken", xmls[_i].text);
	ck_assert_uint_eq(line, xmls[_i].line);
	ck_assert(why.text[0]);
}
END_TEST

static const struct {
	const char *url;
	const char *want; /* NULL: refused; "": names no host */
} urls[] = {
	{ "https://a.test", "https://a.test:443" },
	{ "HTTPS://A.Test/x", "https://a.test:443" },
	{ "http://a.test:8080/x?y#z", "http://a.test:8080" },
	{ "http://a.test?x", "http://a.test:80" },
	{ "https://a.test:/", "https://a.test:443" },
	{ "https://u:p@a.test:1/", "https://a.test:1" },
	{ "https://[2001:DB8::1]:8443/", "https://[2001:db8::1]:8443" },
	{ "https://10.0.0.1/", "https://10.0.0.1:443" },
	{ "https://a.test/u@b.test", "https://a.test:443" },
	{ "ssh://git@a.test/x", "tcp://a.test:22" },
	{ "git://a.test/x", "tcp://a.test:9418" },
	{ "file:///x", "" },
	{ "ftp://a.test/", "" },
	{ "", NULL },
	{ "a.test", NULL },
	{ "https://", NULL },
	{ "https:///x", NULL },
	{ "https://@/", NULL },
	{ "https://:443/", NULL },
	{ "https://a@b@c.test/", NULL }, /* which one is the host depends on who reads it */
	{ "https://a.test\\@b.test/", NULL },
	{ "https://a b.test/", NULL },
	{ "https://a.test\t/", NULL },
	{ "https://*/", NULL },
	{ "https://**.a.test/", NULL },
	{ "https://a.test,b.test/", NULL },
	{ "https://a.test:0/", NULL },
	{ "https://a.test:65536/", NULL },
	{ "https://a.test:1-65535/", NULL }, /* a range, in a policy */
	{ "https://a.test:*/", NULL },
	{ "https://-a.test/", NULL },
	{ "https://.a.test/", NULL },
	{ "https://a%2etest/", NULL },
	{ "https://\xc3\xa4.test/", NULL },
	{ "https://[::1/", NULL },
	{ "https://[::1%25eth0]/", NULL },
	{ "https://[a.test]/", NULL },
	{ "https://::1/", NULL },
};

START_TEST(url_hosts)
{
	char text[URL_DESTINATION_MAX] = "";
	struct err why = { 0 };
	struct url url = { 0 };
	int r = url_parse(urls[_i].url, strlen(urls[_i].url), &url, &why);

	if (!urls[_i].want) {
		ck_assert_msg(r == -EBADMSG, "%s: taken as %s", urls[_i].url, url.host);
		return;
	}
	ck_assert_msg(r == 0, "%s: %s", urls[_i].url, why.text);
	if (url.scheme != URL_ELSE)
		(void)url_destination(&url, text);
	ck_assert_str_eq(text, urls[_i].want);
}
END_TEST

START_TEST(tool_names)
{
	enum configured_tool tool;

	for (unsigned int i = 0; i < CONFIGURED_TOOLS; i++) {
		const char *name = configured_name((enum configured_tool)i);

		ck_assert(configured_find(name, strlen(name), &tool));
		ck_assert_uint_eq(tool, i);
	}
	ck_assert(!configured_find("np", 2, &tool));
	ck_assert(!configured_find("npmx", 4, &tool));
	ck_assert(!configured_find("", 0, &tool));
}
END_TEST

TCase *formats_cases(void)
{
	TCase *tcase = tcase_create("formats");

	tcase_add_loop_test(tcase, xml_documents, 0, ARRAY_SIZE(xmls));
	tcase_add_loop_test(tcase, url_hosts, 0, ARRAY_SIZE(urls));
	tcase_add_test(tcase, tool_names);
	return tcase;
}
