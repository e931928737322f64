/* err: why something failed, in words for people, beside the -errno that programs read. */
#pragma once

#include <stdarg.h>

#define ERR_MAX_BYTES 1024

/* Plain value; { 0 } is "no error yet". Text is cut at ERR_MAX_BYTES, never overrun. */
struct err {
	char text[ERR_MAX_BYTES];
};

/* Writes the text and returns @code (a -errno), so that callers can `return err_set(...)`. @why may
 * be NULL. */
int err_set(struct err *why, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* As err_set(), with ": " and the system's words for @errnum (positive) appended; returns -@errnum.
 */
int err_errno(struct err *why, int errnum, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "TEXT: " in front of what is there: the caller knows what it was doing. Returns @code. */
int err_prefix(struct err *why, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
