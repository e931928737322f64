/* log: lines for the operator on stderr. Every byte is encoded (text_visible), so a hostile name
 * cannot forge a line. Libraries return failures and do not log them; the entry points of cli,
 * gateway and proxy log once. Logging never blocks: when standard error is full, lines are dropped
 * and their number is reported later. */
#pragma once

#include <stddef.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* The only global variable: which levels are printed. Starts at LOG_LEVEL_WARN. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);

void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints lines that are visible text already, unchanged; on a terminal, which may be raw, with CR
 * LF. */
void log_text(const char *text, size_t len);

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)                                                                             \
	do {                                                                                       \
		if (log_get_level() >= LOG_LEVEL_DEBUG)                                            \
			log_write(LOG_LEVEL_DEBUG, __VA_ARGS__);                                   \
	} while (0)
