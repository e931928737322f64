#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

static enum log_level log_level_now = LOG_LEVEL_WARN;
static unsigned int log_lost; /* messages dropped and not reported yet */

void log_set_level(enum log_level level)
{
	log_level_now = level;
}

enum log_level log_get_level(void)
{
	return log_level_now;
}

/* The reader of our standard error may have stopped, and the loop must not wait for it: a message
 * that has no room is dropped and counted. We must not make the descriptor non-blocking, because
 * the caller shares its file description. A writable pipe takes PIPE_BUF bytes at once. */
static bool log_has_room(void)
{
	struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&out, 1, 0) != 0;
}

static void log_put(const char *text, size_t len)
{
	char lost[128];
	int n;

	if (!log_has_room()) {
		log_lost++;
		return;
	}
	if (log_lost > 0) {
		n = snprintf(lost, sizeof(lost),
			     "sallyport: warning: %u messages were dropped because standard error "
			     "was full\n",
			     log_lost);
		log_lost = 0;
		(void)!write(STDERR_FILENO, lost,
			     (size_t)n); /* a failure cannot be reported anywhere */
		if (!log_has_room()) {
			log_lost++;
			return;
		}
	}
	(void)!write(STDERR_FILENO, text, len < PIPE_BUF ? len : PIPE_BUF); /* as above */
}

void log_text(const char *text, size_t len)
{
	bool is_tty = isatty(STDERR_FILENO) == 1;
	char line[PIPE_BUF];

	while (len > 0) {
		const char *stop = memchr(text, '\n', len);
		size_t whole = stop ? (size_t)(stop - text) : len;
		size_t shown = whole < sizeof(line) - 2 ? whole : sizeof(line) - 2;
		size_t used = shown;

		memcpy(line, text, shown);
		if (stop && is_tty)
			line[used++] = '\r';
		if (stop)
			line[used++] = '\n';
		log_put(line, used);
		whole += stop ? 1 : 0;
		text += whole;
		len -= whole;
	}
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
		log_put(line, (size_t)len < sizeof(line) ? (size_t)len : sizeof(line) - 1);
	errno = saved;
}
