#include "policies/commands/shell/variable_impl.h"

#include <string.h>

#include "base/mem.h"

/* These affect messages and colours only. A value with a slash may name a file to load, so it is
 * not harmless. */
static const char *const harmless[] = {
	"LANG",
	"LANGUAGE",
	"LC_ALL",
	"LC_CTYPE",
	"LC_COLLATE",
	"LC_MESSAGES",
	"LC_NUMERIC",
	"LC_TIME",
	"TZ",
	"TERM",
	"NO_COLOR",
	"FORCE_COLOR",
	"CLICOLOR",
	"CLICOLOR_FORCE",
	"CI",
	"COLUMNS",
	"LINES",
	"SOURCE_DATE_EPOCH",
	"RUST_BACKTRACE",
	"PYTHONUNBUFFERED",
	"PYTHONDONTWRITEBYTECODE",
	"DEBIAN_FRONTEND",
};

bool variable_is_assignment(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len && (text[at] == '_' || (text[at] >= 'a' && text[at] <= 'z') ||
			    (text[at] >= 'A' && text[at] <= 'Z') ||
			    (at > 0 && text[at] >= '0' && text[at] <= '9')))
		at++;
	if (at > 0 && at + 1 < len && text[at] == '+')
		at++;
	return at > 0 && at < len && text[at] == '=';
}

bool variable_is_harmless(const char *assignment)
{
	const char *equals = strchr(assignment, '=');
	size_t len = equals ? (size_t)(equals - assignment) : 0;

	if (!equals || strpbrk(equals, "/~"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++) {
		if (strlen(harmless[i]) == len && memcmp(harmless[i], assignment, len) == 0)
			return true;
	}
	return false;
}
