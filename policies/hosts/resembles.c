/* The domain that a host can be taken for because one letter differs. For prompts only, never for
 * decisions. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "policies/engine/policy_impl.h"
#include "policies/engine/rules_impl.h"

#define RESEMBLES_LABEL_MIN 5    /* shorter labels resemble too many others */
#define RESEMBLES_RULES_MAX 2000 /* of a policy, from its first rule: 2 ms */

/* Domains that programs of developers connect to, and that people type. */
static const char *const resembles_known[] = {
	"amazon.com",        "amazonaws.com",    "anthropic.com",
	"atlassian.com",     "bitbucket.org",    "chatgpt.com",
	"claude.ai",         "cloudflare.com",   "cloudfront.net",
	"crates.io",         "debian.org",       "digitalocean.com",
	"docker.com",        "docker.io",        "facebook.com",
	"fedoraproject.org", "github.com",       "githubusercontent.com",
	"gitlab.com",        "golang.org",       "google.com",
	"googleapis.com",    "gradle.org",       "heroku.com",
	"huggingface.co",    "jetbrains.com",    "jsdelivr.net",
	"kernel.org",        "kubernetes.io",    "linkedin.com",
	"microsoft.com",     "mozilla.org",      "netlify.com",
	"nodejs.org",        "npmjs.com",        "npmjs.org",
	"nuget.org",         "openai.com",       "packagist.org",
	"paypal.com",        "python.org",       "pythonhosted.org",
	"rubygems.org",      "rust-lang.org",    "sourceforge.net",
	"stackoverflow.com", "ubuntu.com",       "unpkg.com",
	"vercel.com",        "visualstudio.com", "windows.net",
	"yarnpkg.com",
};

/* The first label of the registrable domain, without its dot. */
struct resembles_label {
	const char *domain;
	size_t len;
};

static bool resembles_label(const char *host, struct resembles_label *ret)
{
	ret->domain = policy_host_domain(host);
	ret->len = ret->domain ? strcspn(ret->domain, ".") : 0;
	return ret->len >= RESEMBLES_LABEL_MIN && strncmp(ret->domain, "xn--", 4) != 0;
}

static bool resembles_is_digit(char letter)
{
	return letter >= '0' && letter <= '9';
}

/* Is the Damerau-Levenshtein distance of the two 1? Other numbers in a name ("cdn12", "cdn21") are
 * not counted: that is how hosts of one owner are named. */
static bool resembles_by_one(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t at = 0, less = a_len < b_len ? a_len : b_len;

	if (a_len > b_len + 1 || b_len > a_len + 1)
		return false;
	while (at < less && a[at] == b[at])
		at++;
	if (a_len != b_len)
		return a_len > b_len ? memcmp(a + at + 1, b + at, b_len - at) == 0
				     : memcmp(a + at, b + at + 1, a_len - at) == 0;
	if (at == a_len || (resembles_is_digit(a[at]) && resembles_is_digit(b[at])))
		return false;
	if (memcmp(a + at + 1, b + at + 1, a_len - at - 1) == 0)
		return true;
	return at + 1 < a_len && a[at] == b[at + 1] && a[at + 1] == b[at] &&
	       memcmp(a + at + 2, b + at + 2, a_len - at - 2) == 0;
}

/* Compares one @domain with @own. False: it is the same domain, so there is no warning. */
static bool resembles_look(const struct resembles_label *own, const char *host, const char **found)
{
	struct resembles_label other;

	if (!resembles_label(host, &other))
		return true;
	if (strcmp(own->domain, other.domain) == 0)
		return false;
	if (!*found && resembles_by_one(own->domain, own->len, other.domain, other.len))
		*found = other.domain;
	return true;
}

/* As resembles_look(), for the names that rules of @policy allow. @room keeps what is found. */
static bool resembles_rules(const struct resembles_label *own, const struct policy *policy,
			    const char **found, char room[POLICY_HOST_MAX])
{
	for (size_t i = 0; i < policy->rule_count && i < RESEMBLES_RULES_MAX; i++) {
		char host[POLICY_HOST_MAX];
		struct rule rule;
		const char *before = *found;

		rules_get_bare(policy, (uint32_t)i, &rule);
		if ((rule.action != RULE_ALLOW && rule.action != RULE_ANSWER_ALLOW) ||
		    rule.pattern.kind > PATTERN_TREE)
			continue;
		memcpy(host, rules_key(policy, &rule.pattern), rule.pattern.key_len);
		host[rule.pattern.key_len] = '\0';
		if (!resembles_look(own, host, found))
			return false;
		if (*found != before) {
			(void)snprintf(room, POLICY_HOST_MAX, "%s", *found);
			*found = room;
		}
	}
	return true;
}

bool policy_host_resembles(const struct policy *policy, const char *host,
			   struct policy_host_resembles *ret)
{
	struct resembles_label own;
	const char *found = NULL;

	if (!resembles_label(host, &own))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(resembles_known); i++) {
		if (!resembles_look(&own, resembles_known[i], &found))
			return false;
	}
	if (policy && !resembles_rules(&own, policy, &found, ret->domain))
		return false;
	if (!found)
		return false;
	if (found != ret->domain)
		(void)snprintf(ret->domain, sizeof(ret->domain), "%s", found);
	(void)snprintf(ret->text, sizeof(ret->text), "looks like %s, is %s", ret->domain,
		       own.domain);
	return true;
}
