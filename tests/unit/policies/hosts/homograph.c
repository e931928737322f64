#include <string.h>

#include "base/mem.h"
#include "tests/unit/policies/policies_test.h"

/* @host as somebody writes it; @text "": nothing to warn of. */
static const struct {
	const char *host, *scripts, *looks_like;
	bool is_mixed;
	const char *text;
} hosts[] = {
	{ "google.test", "", "", false, "" },
	{ "rnicrosoft.test", "", "", false, "" }, /* ASCII is what it is */
	{ "10.0.0.1", "", "", false, "" },
	{ "[2001:db8::1]", "", "", false, "" },
	/* One Cyrillic letter in a Latin name. */
	{ "аpple.test", "Cyrillic and Latin", "apple.test", true,
	  "international name (Cyrillic and Latin mixed): looks like apple.test, is "
	  "xn--pple-43d.test" },
	{ "gіthub.test", "Latin and Cyrillic", "github.test", true,
	  "international name (Latin and Cyrillic mixed): looks like github.test, is "
	  "xn--gthub-n2e.test" },
	{ "gооgle.test", "Latin and Cyrillic", "google.test", true, NULL },
	{ "xn--pypl-53dc.a.test", "Latin and Cyrillic", "paypal.a.test", true, NULL },
	{ "micrоsоft.test", "Latin and Cyrillic", "microsoft.test", true, NULL },
	/* Cyrillic from end to end: nothing is mixed. */
	{ "аррӏе.test", "Cyrillic", "apple.test", false,
	  "international name (Cyrillic letters): looks like apple.test, is xn--80ak6aa92e.test" },
	{ "ѕсоре.test", "Cyrillic", "scope.test", false, NULL },
	{ "сахар.test", "Cyrillic", "caxap.test", false, NULL },
	{ "ραγραι.test", "Greek", "paypai.test", false, NULL },
	{ "ᎳᎳ.test", "Cherokee", "ww.test", false, NULL },
	/* Mixed, and like nothing. */
	{ "abcж.test", "Latin and Cyrillic", "", true,
	  "international name (Latin and Cyrillic mixed), is xn--abc-xdd.test" },
	{ "日本語ж.test", "Han and Cyrillic", "", true, NULL },
	/* Names as people have them. */
	{ "müller.test", "Latin", "muller.test", false,
	  "international name (Latin letters): looks like muller.test, is xn--mller-kva.test" },
	{ "ñandú.test", "Latin", "nandu.test", false, NULL },
	{ "faß.test", "Latin", "", false,
	  "international name (Latin letters), is xn--fa-hia.test" },
	{ "παράδειγμα.test", "Greek", "", false, NULL },
	{ "пример.испытание", "Cyrillic", "", false, NULL },
	{ "日本語.test", "Han", "", false,
	  "international name (Han letters), is xn--wgv71a119e.test" },
	{ "日本語abc.test", "Han and Latin", "", false, NULL },
	{ "한국abc.test", "Hangul and Latin", "", false, NULL },
	/* Each label by itself: a Latin label below a Cyrillic one is nothing mixed. */
	{ "mail.сахар.test", "Cyrillic", "mail.caxap.test", false, NULL },
};

START_TEST(warns_of)
{
	struct policy_destination dst;
	struct policy_host_warning warning;

	ck_assert_int_eq(
		policy_destination_set(&dst, hosts[_i].host, strlen(hosts[_i].host), 443, NULL), 0);
	bool is_warned = policy_host_warning(dst.host, &warning);

	ck_assert_int_eq(is_warned, hosts[_i].scripts[0] != '\0');
	ck_assert_int_eq(warning.is_punycode, is_warned);
	ck_assert_str_eq(warning.scripts, hosts[_i].scripts);
	ck_assert_str_eq(warning.looks_like, hosts[_i].looks_like);
	ck_assert_int_eq(warning.is_mixed, hosts[_i].is_mixed);
	if (hosts[_i].text)
		ck_assert_str_eq(warning.text, hosts[_i].text);
	if (is_warned && strncmp(hosts[_i].host, "xn--", 4) != 0)
		ck_assert_str_eq(warning.unicode, hosts[_i].host);
	for (const char *at = warning.text; *at; at++)
		ck_assert(*at >= ' ' && *at < 0x7f);
}
END_TEST

START_TEST(what_cannot_be_decoded_is_said)
{
	struct policy_host_warning warning;

	ck_assert(policy_host_warning("xn--99999999.test", &warning));
	ck_assert_str_eq(warning.looks_like, "");
	ck_assert_str_eq(warning.unicode, "");
	ck_assert_str_eq(warning.text, "its letters cannot be decoded: is xn--99999999.test");
}
END_TEST

TCase *homograph_cases(void)
{
	TCase *tests = tcase_create("homograph");

	tcase_add_loop_test(tests, warns_of, 0, ARRAY_SIZE(hosts));
	tcase_add_test(tests, what_cannot_be_decoded_is_said);
	return tests;
}
