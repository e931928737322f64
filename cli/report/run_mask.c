#include "cli/report/run_mask.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "policies/policies_credentials.h"

#define MASK "***"

extern char **environ;

/* In place, because the mask is shorter. */
static void mask(char *text, const char *value, size_t len)
{
	for (size_t rest = strlen(text); rest >= len; text++, rest--) {
		if (strncasecmp(text, value, len) != 0)
			continue;
		memcpy(text, MASK, strlen(MASK));
		memmove(text + strlen(MASK), text + len, rest - len + 1);
		rest -= len - 1;
	}
}

/* The lines of a value, such as a key, are printed one by one. */
static void mask_lines(char *text, const char *value)
{
	while (*value) {
		size_t len = strcspn(value, "\r\n");

		if (len >= RUN_MASK_MIN)
			mask(text, value, len);
		value += len;
		value += strspn(value, "\r\n");
	}
}

char *run_mask(const char *text)
{
	char *masked = mem_strdup(text);

	for (char *const *entry = environ; entry && *entry; entry++) {
		const char *equals = strchr(*entry, '=');

		if (equals && policy_credentials_has(*entry))
			mask_lines(masked, equals + 1);
	}
	return masked;
}
