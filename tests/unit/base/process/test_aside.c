#include "tests/unit/base/test_base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/process/aside.h"
#include "base/loop.h"

#define LIMIT_MS  1000
#define MAX_BYTES 200000

struct heard {
	struct aside *aside;
	int times, result, fd;
	size_t len;
	char first, last;
};

static void on_done(int result, const char *bytes, size_t len, void *arg)
{
	struct heard *heard = arg;

	heard->times++;
	heard->result = result;
	heard->len = len;
	heard->first = bytes[0];
	heard->last = len ? bytes[len - 1] : '\0';
	heard->fd = aside_take_fd(heard->aside);
	aside_free(heard->aside);
	heard->aside = NULL;
}

static void say_nothing(FILE *out, void *arg)
{
}

static void say(FILE *out, void *arg)
{
	const size_t *len = arg;

	for (size_t i = 0; i < *len; i++)
		(void)fputc(i == 0 ? 'a' : i + 1 == *len ? 'z' : '.', out);
}

static void get_stuck(FILE *out, void *arg)
{
	while (pause() < 0)
		;
}

static void die(FILE *out, void *arg)
{
	_exit(0);
}

static void make_file(FILE *out, void *arg)
{
	int *fd = arg;

	*fd = memfd_create("test", MFD_CLOEXEC);
	(void)fd_write_all(*fd, "word", 4);
	(void)fputs("answer", out);
}

static void start(struct loop *loop, struct heard *heard, aside_run_fn run, void *arg)
{
	const struct aside_config config = { .name = "test",
					     .run = run,
					     .run_arg = arg,
					     .run_fd = run == make_file ? arg : NULL,
					     .limit_ms = LIMIT_MS,
					     .max_bytes = MAX_BYTES,
					     .done = on_done,
					     .arg = heard };

	heard->aside = aside_start(loop, &config);
}

static void check_nobody_is_left(struct loop *loop)
{
	loop_free(loop);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
}

START_TEST(its_answer_is_whole)
{
	static const struct {
		size_t len;
		int want;
	} cases[] = { { 1, 0 },      { 65536, 0 },     { 65537, 0 },
		      { 131072, 0 }, { MAX_BYTES, 0 }, { MAX_BYTES + 1, -E2BIG } };
	struct loop *loop = loop_new_fake();
	struct heard heard = { 0 };
	size_t len = cases[_i].len;

	start(loop, &heard, say, &len);
	len = 7; /* it has a copy of what was there */
	while (heard.times == 0)
		loop_step(loop);
	ck_assert_int_eq(heard.result, cases[_i].want);
	if (cases[_i].want == 0) {
		ck_assert_uint_eq(heard.len, cases[_i].len);
		ck_assert_int_eq(heard.last, cases[_i].len == 1 ? 'a' : 'z');
		ck_assert_int_eq(heard.first, 'a');
	}
	check_nobody_is_left(loop);
	ck_assert_int_eq(heard.times, 1);
	ck_assert_int_eq(heard.fd, -1);
}
END_TEST

START_TEST(nothing_is_an_answer_and_death_is_none)
{
	static const struct {
		aside_run_fn run;
		int want;
	} cases[] = { { say_nothing, 0 }, { die, -EPIPE } };
	struct loop *loop = loop_new_fake();
	struct heard heard = { 0 };

	start(loop, &heard, cases[_i].run, NULL);
	while (heard.times == 0)
		loop_step(loop);
	ck_assert_int_eq(heard.result, cases[_i].want);
	ck_assert_uint_eq(heard.len, 0);
	check_nobody_is_left(loop);
}
END_TEST

START_TEST(a_descriptor_comes_with_it)
{
	struct loop *loop = loop_new_fake();
	struct heard heard = { 0 };
	char text[8] = "";
	int fd = -1;

	start(loop, &heard, make_file, &fd);
	while (heard.times == 0)
		loop_step(loop);
	ck_assert_int_eq(heard.result, 0);
	ck_assert_uint_eq(heard.len, 6);
	ck_assert_int_eq(pread(heard.fd, text, sizeof(text), 0), 4);
	ck_assert_str_eq(text, "word");
	(void)close(heard.fd);
	check_nobody_is_left(loop);
}
END_TEST

START_TEST(it_is_late_at_its_limit)
{
	struct loop *loop = loop_new_fake();
	struct heard heard = { 0 };

	start(loop, &heard, get_stuck, NULL);
	loop_advance(loop, LIMIT_MS - 1);
	ck_assert_int_eq(heard.times, 0);
	loop_advance(loop, 1);
	ck_assert_int_eq(heard.times, 1);
	ck_assert_int_eq(heard.result, -ETIMEDOUT);
	check_nobody_is_left(loop);
}
END_TEST

START_TEST(nothing_is_heard_of_one_that_was_freed)
{
	struct loop *loop = loop_new_fake();
	struct heard heard = { 0 };

	start(loop, &heard, get_stuck, NULL);
	aside_free(heard.aside);
	loop_advance(loop, 2 * LIMIT_MS);
	ck_assert_int_eq(heard.times, 0);
	check_nobody_is_left(loop);
}
END_TEST

TCase *test_aside(void)
{
	TCase *tcase = tcase_create("aside");

	tcase_set_timeout(tcase, 60); /* a process each */
	tcase_add_loop_test(tcase, its_answer_is_whole, 0, 6);
	tcase_add_loop_test(tcase, nothing_is_an_answer_and_death_is_none, 0, 2);
	tcase_add_test(tcase, a_descriptor_comes_with_it);
	tcase_add_test(tcase, it_is_late_at_its_limit);
	tcase_add_test(tcase, nothing_is_heard_of_one_that_was_freed);
	return tcase;
}
