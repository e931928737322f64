#include "policies/language/flaw_impl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int flaw_set(struct flaw *flaw, size_t at, const char *instead, const char *format, ...)
{
	va_list args;

	if (!flaw)
		return -EBADMSG;
	flaw->at = at;
	va_start(args, format);
	(void)vsnprintf(flaw->words, sizeof(flaw->words), format, args);
	va_end(args);
	(void)snprintf(flaw->instead, sizeof(flaw->instead), "%s", instead ? instead : "");
	return -EBADMSG;
}
