#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"

static enum log_level log_level_now = LOG_LEVEL_WARN;

void log_set_level(enum log_level level)
{
	log_level_now = level;
}

enum log_level log_get_level(void)
{
	return log_level_now;
}

void log_write(enum log_level level, const char *format, ...)
{
	static const char *const names[] = { "error", "warning", "info", "debug" };
	char words[2048], shown[4096], line[4200];
	int saved = errno;
	va_list args;
	int len;

	if (level > log_level_now)
		return;
	va_start(args, format);
	len = vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	if (len < 0)
		return;
	if ((size_t)len >= sizeof(words))
		len = sizeof(words) - 1;
	(void)text_visible(shown, sizeof(shown), words, (size_t)len);
	len = snprintf(line, sizeof(line), "sallyport: %s: %s\n", names[level], shown);
	if (len > 0)
		(void)!write(STDERR_FILENO, line, (size_t)len); /* nowhere left to complain to */
	errno = saved;
}
