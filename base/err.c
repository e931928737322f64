#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void err_write(struct err *why, const char *format, ...)
{
	va_list args;

	if (!why)
		return;
	va_start(args, format);
	(void)vsnprintf(why->text, sizeof(why->text), format, args); /* truncation is fine */
	va_end(args);
}

/* Appends ": " and @rest to the text, as far as there is room. */
static void __attribute__((format(printf, 2, 0)))
err_join(struct err *why, const char *format, va_list args, const char *rest)
{
	int len = vsnprintf(why->text, sizeof(why->text), format, args);

	if (len >= 0 && (size_t)len < sizeof(why->text))
		(void)snprintf(why->text + len, sizeof(why->text) - (size_t)len, ": %s", rest);
}

void err_write_errno(struct err *why, int errnum, const char *format, ...)
{
	va_list args;

	if (!why)
		return;
	va_start(args, format);
	err_join(why, format, args, strerror(errnum));
	va_end(args);
}

void err_write_prefix(struct err *why, const char *format, ...)
{
	char rest[ERR_MAX_BYTES];
	va_list args;

	if (!why)
		return;
	memcpy(rest, why->text, sizeof(rest));
	va_start(args, format);
	err_join(why, format, args, rest);
	va_end(args);
}
