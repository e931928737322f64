/* err: why something failed, as text for people, beside the -errno that programs read. */
#pragma once

#define ERR_MAX_BYTES 1024

/* Plain value; { 0 } is "no error yet". Text is cut at ERR_MAX_BYTES, never overrun. */
struct err {
	char text[ERR_MAX_BYTES];
};

/* Writes the text and returns @code (a -errno), so that callers can `return err_set(...)`. @why may
 * be NULL. These are macros so that the compiler and the static checkers see the returned value. */
#define err_set(why, code, ...)                                                                    \
	({                                                                                         \
		__attribute__((unused)) const int err_code = (code);                               \
		err_write((why), __VA_ARGS__);                                                     \
		err_code;                                                                          \
	})

/* As err_set(), with ": " and strerror() of @errnum (positive) appended; returns -@errnum. */
#define err_errno(why, errnum, ...)                                                                \
	({                                                                                         \
		__attribute__((unused)) const int err_number = (errnum);                           \
		err_write_errno((why), err_number, __VA_ARGS__);                                   \
		-err_number;                                                                       \
	})

/* Puts "TEXT: " in front of the existing text: the caller knows which operation failed. Returns
 * @code. */
#define err_prefix(why, code, ...)                                                                 \
	({                                                                                         \
		__attribute__((unused)) const int err_code = (code);                               \
		err_write_prefix((why), __VA_ARGS__);                                              \
		err_code;                                                                          \
	})

void err_write(struct err *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
void err_write_errno(struct err *why, int errnum, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void err_write_prefix(struct err *why, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
