#include "base/err.h"

#include <stdio.h>
#include <string.h>

int err_set(struct err *why, int code, const char *format, ...)
{
	va_list args;

	if (!why)
		return code;
	va_start(args, format);
	(void)vsnprintf(why->text, sizeof(why->text), format, args); /* cut is fine */
	va_end(args);
	return code;
}

int err_errno(struct err *why, int errnum, const char *format, ...)
{
	va_list args;
	int len;

	if (!why)
		return -errnum;
	va_start(args, format);
	len = vsnprintf(why->text, sizeof(why->text), format, args);
	va_end(args);
	if (len >= 0 && (size_t)len < sizeof(why->text))
		(void)snprintf(why->text + len, sizeof(why->text) - (size_t)len, ": %s",
			       strerror(errnum));
	return -errnum;
}

int err_prefix(struct err *why, int code, const char *format, ...)
{
	char rest[ERR_MAX_BYTES];
	va_list args;
	int len;

	if (!why)
		return code;
	memcpy(rest, why->text, sizeof(rest));
	va_start(args, format);
	len = vsnprintf(why->text, sizeof(why->text), format, args);
	va_end(args);
	if (len >= 0 && (size_t)len < sizeof(why->text))
		(void)snprintf(why->text + len, sizeof(why->text) - (size_t)len, ": %s", rest);
	return code;
}
