/* What the shipped presets say about a host, read from their text. For prompts only, never for
 * decisions. */
#include <string.h>

#include "base/mem.h"
#include "policies/hosts/presets_impl.h"
#include "policies/policies_tools.h"

#define LISTED_BASELINE "baseline"

/* Does @pattern match @host: "**.example.org:*", "https://a.example.org", "1.1.1.1:*",
 * "[2620:fe::fe]:*"? */
static bool listed_is(const char *pattern, size_t len, const char *host)
{
	const char *mark = memmem(pattern, len, "://", 3), *end = pattern + len;
	size_t host_len = strlen(host);
	bool is_tree;

	if (mark)
		pattern = mark + 3;
	is_tree = end - pattern > 3 && memcmp(pattern, "**.", 3) == 0;
	pattern += is_tree ? 3 : 0;
	if (pattern < end && *pattern == '[') {
		const char *close = memchr(pattern, ']', (size_t)(end - pattern));

		pattern++;
		end = close ? close : end;
	} else {
		const char *colon = memchr(pattern, ':', (size_t)(end - pattern));

		end = colon ? colon : end;
	}
	len = (size_t)(end - pattern);
	if (len == 0 || host_len < len || memcmp(host + host_len - len, pattern, len) != 0)
		return false;
	return host_len == len || (is_tree && host[host_len - len - 1] == '.');
}

/* Does @text have a line "@word PATTERN ..." for @host? */
static bool listed_in(const char *text, const char *word, const char *host)
{
	size_t word_len = strlen(word);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, word, word_len) != 0 || line[word_len] != ' ')
			continue;
		const char *pattern = line + word_len + strspn(line + word_len, " ");

		size_t len = strcspn(pattern, " \n");

		/* `configured npm` is not a host: the tool's own configuration names it. */
		if (pattern[len] == ' ' && strncmp(pattern, "configured", len) == 0)
			continue;
		if (listed_is(pattern, len, host))
			return true;
	}
	return false;
}

bool policy_host_is_listed(const char *host)
{
	const char *text = presets_find(LISTED_BASELINE, strlen(LISTED_BASELINE));

	return text && listed_in(text, "deny", host);
}

bool policy_host_is_known(const char *host)
{
	const char *name;

	for (size_t i = 0; (name = policy_preset_name(i)); i++) {
		if (listed_in(presets_find(name, strlen(name)), "allow", host))
			return true;
	}
	return false;
}
