/* log: lines for the operator on stderr. Every byte is encoded (text_visible), so a hostile name
 * cannot forge a line. Libraries do not log failures, they return them; cli, gateway and proxy
 * entry points log once. Nothing here waits: what standard error has no room for is left out, and
 * how much that was is said later. */
#pragma once

#include <stddef.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* The one global: what is printed. Starts at LOG_LEVEL_WARN. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);

void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Lines that are visible text already, as they are; on a terminal, which may be raw, with CR LF. */
void log_text(const char *text, size_t len);

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)                                                                             \
	do {                                                                                       \
		if (log_get_level() >= LOG_LEVEL_DEBUG)                                            \
			log_write(LOG_LEVEL_DEBUG, __VA_ARGS__);                                   \
	} while (0)
