#include "policies/policies_credentials.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

/* A name consists of words between underscores and other separators. The tables: words that mean a
 * credential anywhere in the name; words that mean one at the end; and words that make it a path, a
 * location or a setting. To withhold another variable, add a line. */
static const char *const anywhere[] = {
	"token", "secret", "secrets", "password", "passwd", "passphrase", "apikey", "privatekey",
};
static const char *const last[] = {
	"pass",     "pwd",     "auth",          "pat",     "credential", "credentials",
	"cookie",   "sshpass", "cred",          "creds",   "pw",         "bindpw",
	"passcode", "jwt",     "authorization", "webhook", "mnemonic",   "phrase",
};
static const char *const settings[] = { "file",    "path", "dir",     "url",   "uri",    "endpoint",
					"type",    "name", "timeout", "sock",  "socket", "expires",
					"program", "ttl",  "command", "store", "length" };
/* Keys that give no access. */
static const char *const open_keys[] = { "public",  "cache",   "sort",   "partition",
					 "primary", "foreign", "layout", "hot" };
/* Encodings of a key. */
static const char *const forms[] = { "base64", "b64", "json", "data", "pem", "hex", "id" };

/* Every variable that begins with AWS_ counts, except these. */
static const char *const aws_settings[] = {
	"AWS_REGION",
	"AWS_DEFAULT_REGION",
	"AWS_PROFILE",
	"AWS_DEFAULT_PROFILE",
	"AWS_PAGER",
	"AWS_DEFAULT_OUTPUT",
	"AWS_CA_BUNDLE",
	"AWS_CONFIG_FILE",
	"AWS_SHARED_CREDENTIALS_FILE",
	"AWS_SDK_LOAD_CONFIG",
	"AWS_EC2_METADATA_DISABLED",
	"AWS_MAX_ATTEMPTS",
	"AWS_RETRY_MODE",
	"AWS_ENDPOINT_URL",
};
/* Beginnings of names whose words do not say it: sessions of password stores, and GitLab's. */
static const char *const beginnings[] = { "OP_SESSION", "BW_SESSION", "CI_JOB_JWT" };
/* Names whose words are misleading. */
static const char *const harmless[] = { "PWD", "OLDPWD", "SSH_AUTH_SOCK" };

/* Prefixes of values that make tokens recognisable. */
static const char *const values[] = {
	"ghp_",     "gho_",  "ghu_",       "ghs_",    "github_pat_", "glpat-",     "sk-",
	"sk_live_", "xoxb-", "xoxp-",      "npm_",    "pypi-",       "hvs.",       "AKIA",
	"ASIA",     "AIza",  "eyJhbGciOi", "Bearer ", "Basic ",      "-----BEGIN",
};
static const char *const connections[] = {
	"password=", "pwd=", "accountkey=", "accesskey=", "sharedaccesskey=", "passwd="
};

/* Parts of a value: a header for git or curl, an address that is a secret itself, a login of a
 * database, JSON. */
static const char *const parts[] = {
	"authorization:",
	"hooks.slack.com/services/",
	"discord.com/api/webhooks/",
	"@tcp(",
	"@unix(",
	"\"password\"",
	"\"private_key\"",
};

#define WORDS_MAX 16

struct word {
	const char *text;
	size_t len;
};

static size_t split(const char *name, size_t len, struct word words[WORDS_MAX])
{
	size_t count = 0;

	for (size_t at = 0; at < len;) {
		size_t n = 0;

		while (at + n < len && isalnum((unsigned char)name[at + n]))
			n++;
		if (n > 0 && count == WORDS_MAX) { /* the last words matter most */
			memmove(words, words + 1, (WORDS_MAX - 1) * sizeof(*words));
			count--;
		}
		if (n > 0)
			words[count++] = (struct word){ name + at, n };
		at += n > 0 ? n : 1;
	}
	return count;
}

static bool is_word(const struct word *word, const char *text)
{
	return strlen(text) == word->len && strncasecmp(word->text, text, word->len) == 0;
}

static bool is_one_of(const struct word *word, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_word(word, list[i]))
			return true;
	return false;
}
#define IS_ONE_OF(word, list) is_one_of(word, list, ARRAY_SIZE(list))

static bool ends_as_one(const struct word *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(anywhere); i++) {
		size_t len = strlen(anywhere[i]);

		if (word->len >= len &&
		    strncasecmp(word->text + word->len - len, anywhere[i], len) == 0)
			return true;
	}
	return false;
}

/* Is it a key that gives access: API_KEY, SIGNING_KEYS, KEY_BASE64; not KEYBOARD, KEY or
 * PUBLIC_KEY? */
static bool is_key(const struct word *words, size_t count)
{
	size_t at = count;

	if (count > 1 && IS_ONE_OF(&words[count - 1], forms))
		at--;
	if (at < 2 || !(is_word(&words[at - 1], "key") || is_word(&words[at - 1], "keys")))
		return false;
	for (size_t i = 0; i < at - 1; i++)
		if (IS_ONE_OF(&words[i], open_keys))
			return false;
	return at == count || !is_word(&words[count - 1], "id") ||
	       is_word(&words[at - 2], "access");
}

static bool is_exactly(const char *entry, size_t len, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(list[i]) == len && strncmp(entry, list[i], len) == 0)
			return true;
	return false;
}

static bool name_says(const char *name, size_t len)
{
	struct word words[WORDS_MAX];
	size_t count = split(name, len, words);

	if (is_exactly(name, len, harmless, ARRAY_SIZE(harmless)))
		return false;
	if (strncmp(name, "AWS_", 4) == 0)
		return !is_exactly(name, len, aws_settings, ARRAY_SIZE(aws_settings));
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	if (count == 0 || IS_ONE_OF(&words[count - 1], settings))
		return false;
	for (size_t i = 0; i < count; i++)
		if (ends_as_one(&words[i]))
			return true;
	if (IS_ONE_OF(&words[count - 1], last) || is_key(words, count))
		return true;
	return count > 1 && is_word(&words[count - 2], "auth") &&
	       is_word(&words[count - 1], "config");
}

/* Is it a switch or a path? Other rules decide whether the file itself is readable. */
static bool value_is_harmless(const char *value)
{
	static const char *const switches[] = { "",    "0",  "1",  "true", "false",
						"yes", "no", "on", "off" };

	for (size_t i = 0; i < ARRAY_SIZE(switches); i++)
		if (strcasecmp(value, switches[i]) == 0)
			return true;
	return (value[0] == '/' || strncmp(value, "./", 2) == 0 || strncmp(value, "~/", 2) == 0) &&
	       !strpbrk(value, " +=");
}

/* Does it contain scheme://user:password@host, or scheme://token@host with http? */
static bool has_userinfo(const char *value)
{
	for (const char *at = value; (at = strstr(at, "://")) != NULL; at += 3) {
		size_t len = strcspn(at + 3, "/?# ");
		const char *end = memrchr(at + 3, '@', len);
		bool is_http = at - value >= 4 && (strncasecmp(at - 4, "http", 4) == 0 ||
						   strncasecmp(at - 4, "ttps", 4) == 0);

		if (end && end > at + 3 && (is_http || memchr(at + 3, ':', (size_t)(end - at - 3))))
			return true;
	}
	return false;
}

static bool value_says(const char *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (strncmp(value, values[i], strlen(values[i])) == 0)
			return strlen(value) > strlen(values[i]) + 8;
	for (size_t i = 0; i < ARRAY_SIZE(connections); i++)
		if (strchr(value, ';') && strcasestr(value, connections[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strcasestr(value, parts[i]))
			return true;
	return has_userinfo(value);
}

bool policy_credentials_has(const char *entry)
{
	size_t len = strcspn(entry, "=");
	const char *value = entry[len] == '=' ? entry + len + 1 : "";

	return (name_says(entry, len) && !value_is_harmless(value)) || value_says(value);
}
