#include "tests/unit/base/test_base.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

/* A pipe that nobody reads in the place of our standard error. */
static int stage_full(int *ret_saved)
{
	static const char bytes[PIPE_BUF];
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	ck_assert_int_eq(fd_set_nonblocking(ends[1], true), 0);
	while (write(ends[1], bytes, sizeof(bytes)) > 0)
		;
	ck_assert_int_eq(fd_set_nonblocking(ends[1], false), 0);
	*ret_saved = dup(STDERR_FILENO);
	ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	fd_close(ends[1]);
	return ends[0];
}

/* A write that waits would never come back. */
START_TEST(a_reader_that_has_stopped_holds_up_nothing)
{
	static char text[1 << 20];
	int saved, reader = stage_full(&saved);

	log_error("one");
	log_error("two");
	log_text("three\nfour\n", strlen("three\nfour\n"));
	ck_assert_int_eq(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK, 0); /* it is the caller's */
	ck_assert_int_eq(fd_set_nonblocking(reader, true), 0);
	while (read(reader, text, sizeof(text)) > 0)
		;
	log_error("five");
	ck_assert_int_eq(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	ssize_t n = read(reader, text, sizeof(text) - 1);

	ck_assert_int_gt((int)n, 0);
	text[n] = '\0';
	ck_assert_str_eq(
		text,
		"sallyport: warning: 4 messages were dropped because standard error was full\n"
		"sallyport: error: five\n");
	fd_close(saved);
	fd_close(reader);
}
END_TEST

TCase *test_log(void)
{
	TCase *tcase = tcase_create("log");

	tcase_add_test(tcase, a_reader_that_has_stopped_holds_up_nothing);
	return tcase;
}
