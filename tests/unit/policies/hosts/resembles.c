#include <string.h>

#include "base/mem.h"
#include "tests/unit/policies/policies_test.h"

/* @domain: what @host is warned to be like; "": nothing. */
static const struct {
	const char *host, *domain;
} hosts[] = {
	{ "gihtub.com", "github.com" },     /* two letters in the wrong order */
	{ "g1thub.com", "github.com" },     /* another letter */
	{ "githubb.com", "github.com" },    /* one more */
	{ "xgithub.com", "github.com" },    /* one more, in front */
	{ "gthub.com", "github.com" },      /* one less */
	{ "githu.com", "github.com" },      /* one less, at the end */
	{ "api.gihtub.com", "github.com" }, /* below it */
	{ "gihtub.net", "github.com" },     /* another ending makes it no better */
	{ "githbu.co.uk", "github.com" },
	{ "opena1.com", "openai.com" },
	{ "npmjss.org", "npmjs.com" },
	{ "exampel-corp.test", "example-corp.test" }, /* which the policy allows */
	{ "packages.bulid-host.test", "build-host.test" },
	{ "lastinq.test", "lasting.test" }, /* which an answer for always allows */
	/* The table and the policy themselves, and what belongs to their domains. */
	{ "github.com", "" },
	{ "api.github.com", "" },
	{ "github.io", "" },
	{ "example-corp.test", "" },
	{ "other.build-host.test", "" },
	{ "gitlabs.test", "" }, /* the policy allows it */
	{ "www.gitlabs.test", "" },
	/* Two letters, short labels, other labels, numbers, addresses. */
	{ "gihtbu.com", "" },
	{ "githubbb.com", "" },
	{ "tihguh.com", "" },
	{ "npms.io", "" },
	{ "gihtub.example.org", "" },
	{ "cdn21.test", "" },
	{ "cdn13.test", "" },
	{ "cdn123.test", "cdn12.test" },
	{ "denyed.test", "" }, /* a rule denies denied.test */
	{ "10.0.0.1", "" },
	{ "configured", "" },
	{ "xn--gthub-n2e.com", "" }, /* policy_host_warning() is about that */
};

START_TEST(one_letter_is_warned_of)
{
	struct policy *policy =
		policies_test_load("allow https://example-corp.test\n"
				   "allow https://packages.build-host.test:8443 upload 1k\n"
				   "allow https://**.gitlabs.test\nallow 10.0.0.0/8 private\n"
				   "allow *.cdn12.test\ndeny denied.test\nask *\n"
				   "answer allow https://lasting.test:443 # ana, 2026-01-01\n");
	struct policy_host_resembles other = { .domain = "" };
	const char *host = hosts[_i].host, *want = hosts[_i].domain;

	ck_assert_int_eq(policy_host_resembles(policy, host, &other), want[0] != '\0');
	if (want[0]) {
		auto_free char *text =
			mem_printf("looks like %s, is %s", want, policy_host_domain(host));

		ck_assert_str_eq(other.domain, want);
		ck_assert_str_eq(other.text, text);
	}
	/* Without a policy only the table counts. */
	ck_assert_int_eq(policy_host_resembles(NULL, host, &other),
			 strstr(want, ".com") != NULL || strcmp(host, "gitlabs.test") == 0 ||
				 strcmp(host, "www.gitlabs.test") == 0);
	policy_free(policy);
}
END_TEST

TCase *resembles_cases(void)
{
	TCase *tests = tcase_create("resembles");

	tcase_add_loop_test(tests, one_letter_is_warned_of, 0, ARRAY_SIZE(hosts));
	return tests;
}
