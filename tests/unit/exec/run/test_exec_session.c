#include "tests/unit/exec/test_exec.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/mem.h"
#include "tests/unit/exec/run/exec_rig.h"

static void type(struct exec_rig *rig, const char *text)
{
	ck_assert_int_eq(exec_write(rig->exec, text, strlen(text)), (ssize_t)strlen(text));
}

START_TEST(a_terminal_of_its_own)
{
	struct exec_rig rig;

	exec_rig_init(&rig, _i);
	rig.config.io = EXEC_IO_PTY;
	exec_rig_run(&rig,
		     "test -t 0 && test -t 1 && test -t 2 && tty; stty size; echo x >/dev/tty; "
		     "echo err >&2; exit 4");
	ck_assert_str_eq(rig.live[EXEC_STDOUT].bytes, "/dev/pts/0\r\n24 80\r\nx\r\nerr\r\n");
	ck_assert_ptr_null(rig.live[EXEC_STDERR].bytes);
	ck_assert_int_eq(rig.result.end, EXEC_EXITED);
	ck_assert_int_eq(rig.result.code, 4);
	ck_assert_int_eq(rig.rig.text[0], '\0');
	exec_rig_done(&rig);
}
END_TEST

/* What is typed, and what comes of it: echo, Ctrl-C, Ctrl-\, Ctrl-D, raw. */
static const struct {
	const char *script, *keys, *seen;
	enum exec_end end;
	int code;
} keys[] = {
	{ "echo up; read line; echo got:$line", "word\n", "word\r\ngot:word", EXEC_EXITED, 0 },
	{ "echo up; exec sleep 1000", "\3", "^C", EXEC_SIGNALLED, 130 },
	{ "echo up; exec sleep 1000", "\34", "^\\", EXEC_SIGNALLED, 131 },
	{ "echo up; cat; echo end:$?", "a\n\4", "end:0", EXEC_EXITED, 0 },
	{ "trap 'echo caught; exit 6' INT; echo up; while :; do sleep 0.01; done", "\3", "caught",
	  EXEC_EXITED, 6 },
	{ "stty raw -echo; echo up; head -c 3 | od -An -tx1", "\3\32\r", "03 1a 0d", EXEC_EXITED,
	  0 },
};

START_TEST(keys_reach_the_command)
{
	size_t at = (size_t)_i / RIG_USERS;
	struct exec_rig rig;

	exec_rig_init(&rig, _i % RIG_USERS);
	rig.config.io = EXEC_IO_PTY;
	exec_rig_start(&rig, keys[at].script);
	exec_rig_await(&rig, "up");
	type(&rig, keys[at].keys);
	exec_rig_wait(&rig);
	ck_assert_msg(strstr(rig.live[EXEC_STDOUT].bytes, keys[at].seen), "%s",
		      rig.live[EXEC_STDOUT].bytes);
	ck_assert_int_eq(rig.result.end, keys[at].end);
	ck_assert_int_eq(rig.result.code, keys[at].code);
	exec_rig_done(&rig);
}
END_TEST

START_TEST(a_new_size_reaches_the_command)
{
	const struct exec_size before = { .rows = 10, .columns = 20 };
	const struct exec_size after = { .rows = 11, .columns = 44 };
	struct exec_rig rig;

	exec_rig_init(&rig, _i);
	rig.config.io = EXEC_IO_PTY;
	rig.config.size = (struct exec_size){ .rows = 5, .columns = 6 };
	exec_rig_new(&rig);
	ck_assert_int_eq(exec_resize(rig.exec, before), 0); /* before there is one */
	exec_rig_go(&rig, "trap 'stty size; exit 5' WINCH; stty size; echo up; while :; do sleep "
			  "0.01; done");
	exec_rig_await(&rig, "10 20\r\nup");
	ck_assert_int_eq(exec_resize(rig.exec, after), 0);
	exec_rig_wait(&rig);
	ck_assert_int_eq(rig.result.code, 5);
	ck_assert_ptr_nonnull(strstr(rig.live[EXEC_STDOUT].bytes, "11 44"));
	exec_rig_done(&rig);
}
END_TEST

START_TEST(a_pipe_has_no_size)
{
	struct exec_rig rig;

	exec_rig_init(&rig, _i);
	exec_rig_new(&rig);
	ck_assert_int_eq(exec_resize(rig.exec, (struct exec_size){ 1, 1 }), -ENOTTY);
	exec_rig_done(&rig);
}
END_TEST

/* In a job of a shell's: what is in the background dies with it. */
START_TEST(nothing_in_the_background_outlives_it)
{
	static const char *const scripts[] = {
		"sleep 1000 & (trap '' HUP TERM; setsid sleep 1000) & echo up; exit 2",
		"yes & setsid yes & sleep 0.05; exit 2", /* pipes and buffers are full */
	};
	struct exec_rig rig;

	exec_rig_init(&rig, _i % RIG_USERS);
	rig.config.io = _i / RIG_USERS % 2 ? EXEC_IO_PTY : EXEC_IO_PIPES;
	exec_rig_run(&rig, scripts[_i / RIG_USERS / 2]);
	ck_assert_int_eq(rig.result.code, 2);
	ck_assert(!rig.result.is_cut);
	exec_rig_done(&rig);
}
END_TEST

/* Input through a pipe: echoed by cat, ended by us. */
START_TEST(input_ends_with_its_end)
{
	struct exec_rig rig;
	static const char *const texts[] = { "", "text\n", "no newline" };
	const char *text = texts[_i / RIG_USERS % 3];

	exec_rig_init(&rig, _i % RIG_USERS);
	if (_i / RIG_USERS / 3)
		rig.config.io = EXEC_IO_PTY;
	rig.config.has_input = true;
	exec_rig_new(&rig);
	/* Before the start all the same: it waits. */
	if (*text)
		type(&rig, text);
	exec_close_input(rig.exec);
	ck_assert_int_eq(exec_write(rig.exec, "x", 1), -EPIPE);
	exec_rig_go(&rig, "cat >file; echo code:$?");
	exec_rig_wait(&rig);
	ck_assert_ptr_nonnull(strstr(rig.live[EXEC_STDOUT].bytes, "code:0"));
	ck_assert_str_eq(rig_read(&rig.rig, "file"), text);
	exec_rig_done(&rig);
}
END_TEST

START_TEST(input_has_a_limit)
{
	struct exec_rig rig;
	auto_free char *bytes = mem_new(1 << 20);
	size_t total = 0;

	exec_rig_init(&rig, _i);
	rig.config.has_input = true;
	rig.config.input_max = 100000;
	exec_rig_start(&rig, "read line; wc -c");
	/* Nobody reads: what the pipe takes and what may wait, and no more. */
	for (int i = 0; i < 100; i++) {
		ssize_t n = exec_write(rig.exec, bytes, 1 << 20);

		ck_assert(n > 0 || n == -EAGAIN);
		total += n > 0 ? (size_t)n : 0;
		loop_step(rig.rig.loop);
	}
	ck_assert_uint_le(total, 100000 + 65536);
	ck_assert_uint_ge(total, 100000);
	ck_assert_int_eq(exec_write(rig.exec, bytes, 1), -EAGAIN);
	exec_rig_done(&rig);
}
END_TEST

START_TEST(room_for_input_is_told)
{
	struct exec_rig rig;
	auto_free char *bytes = mem_new(300000);
	size_t sent = 0;

	exec_rig_init(&rig, _i);
	rig.config.has_input = true;
	rig.config.input_max = 1000;
	memset(bytes, 'x', 300000);
	exec_rig_start(&rig, "wc -c");
	while (sent < 300000) {
		unsigned int before = rig.rooms_seen;
		ssize_t n = exec_write(rig.exec, bytes + sent, 300000 - sent);

		ck_assert_int_gt(n, 0);
		sent += (size_t)n;
		while (sent < 300000 && rig.rooms_seen == before)
			exec_rig_turn(&rig);
	}
	exec_close_input(rig.exec);
	exec_rig_wait(&rig);
	ck_assert_str_eq(rig.live[EXEC_STDOUT].bytes, "300000\n");
	exec_rig_done(&rig);
}
END_TEST

START_TEST(input_nobody_reads_is_an_error)
{
	struct exec_rig rig;

	exec_rig_init(&rig, _i % RIG_USERS);
	rig.config.has_input = _i / RIG_USERS == 0;
	exec_rig_start(&rig, "exec <&-; echo up; exec sleep 1000");
	exec_rig_await(&rig, "up");
	for (ssize_t n = 1; n > 0;) {
		n = exec_write(rig.exec, "x", 1);
		ck_assert(n == 1 || n == -EPIPE);
		loop_step(rig.rig.loop);
	}
	exec_rig_done(&rig);
}
END_TEST

/* Polls. */

START_TEST(a_poll_has_what_came_since_the_last)
{
	struct exec_rig rig;

	exec_rig_init(&rig, _i);
	rig.config.has_input = true;
	rig.config.unread_max = 1000;
	exec_rig_start(&rig, "echo 1; read a; echo 2; read a; echo 3; exit 8");
	exec_rig_await(&rig, "1");
	ck_assert_str_eq(exec_rig_poll(&rig, 0, 0), "1\n");
	ck_assert_ptr_null(rig.poll.result);
	ck_assert_str_eq(exec_rig_poll(&rig, 0, 0), ""); /* nothing new, and no wait */
	type(&rig, "\n");
	ck_assert_str_eq(exec_rig_poll(&rig, 60000, 2), "2\n"); /* so many bytes are an answer */
	type(&rig, "\n");
	ck_assert_str_eq(exec_rig_poll(&rig, 60000, 0), "3\n"); /* and the end is */
	ck_assert_ptr_nonnull(rig.poll.result);
	ck_assert_int_eq(rig.poll.result->code, 8);
	ck_assert_str_eq(exec_rig_poll(&rig, 60000, 0), ""); /* again, for who asks again */
	ck_assert_ptr_nonnull(rig.poll.result);
	exec_rig_done(&rig);
}
END_TEST

START_TEST(a_poll_gives_way_after_its_time)
{
	struct exec_rig rig;

	exec_rig_init(&rig, _i);
	rig.config.unread_max = 1000;
	exec_rig_start(&rig, "echo up; exec sleep 1000");
	exec_rig_await(&rig, "up");
	ck_assert_str_eq(exec_rig_poll(&rig, 50, 0), "up\n");
	ck_assert_ptr_null(rig.poll.result);
	ck_assert(!rig.has_ended);
	exec_rig_done(&rig);
}
END_TEST

/* The last piece says that it is the last, and not before. */
START_TEST(a_poll_has_a_limit)
{
	struct exec_rig rig;

	exec_rig_init(&rig, _i);
	rig.config.unread_max = 1000;
	exec_rig_run(&rig, "printf 123456789");
	ck_assert_str_eq(exec_rig_poll(&rig, 0, 4), "1234");
	ck_assert_ptr_null(rig.poll.result);
	ck_assert_str_eq(exec_rig_poll(&rig, 60000, 4), "5678");
	ck_assert_ptr_null(rig.poll.result);
	ck_assert_str_eq(exec_rig_poll(&rig, 60000, 4), "9");
	ck_assert_ptr_nonnull(rig.poll.result);
	exec_rig_done(&rig);
}
END_TEST

/* Without back-pressure the newest stay; with it none goes. */
START_TEST(unread_output_has_a_limit)
{
	bool has_window = _i / RIG_USERS;
	struct exec_rig rig;
	uint64_t total = 0, dropped = 0;

	exec_rig_init(&rig, _i % RIG_USERS);
	rig.config.unread_max = 1000;
	rig.config.window = has_window ? 1000 : 0;
	exec_rig_start(&rig, "head -c 200000 /dev/zero; printf end");
	if (!has_window)
		exec_rig_wait(&rig);
	do {
		exec_rig_poll(&rig, 60000, 0);
		total += rig.poll.len;
		dropped += rig.poll.dropped;
		ck_assert_uint_le(has_window ? 1000 : rig.poll.len, 1000);
	} while (!rig.poll.result);
	ck_assert_uint_eq(total + dropped, 200003);
	ck_assert_uint_eq(total, has_window ? 200003 : 1000);
	ck_assert_mem_eq(rig.polled.bytes + rig.polled.len - 3, "end", 3);
	exec_rig_done(&rig);
}
END_TEST

static void on_no_poll(struct exec *exec, const struct exec_poll *poll, void *arg)
{
	ck_abort_msg("it was withdrawn");
}

START_TEST(one_poll_at_a_time)
{
	struct exec_rig rig;

	exec_rig_init(&rig, _i);
	exec_rig_new(&rig);
	ck_assert_int_eq(exec_poll(rig.exec, 0, 0, on_no_poll, NULL), -EINVAL);
	exec_free(rig.exec);
	rig.config.unread_max = 1000;
	exec_rig_start(&rig, "echo 1");
	ck_assert_int_eq(exec_poll(rig.exec, 60000, 0, on_no_poll, NULL), 0);
	ck_assert_int_eq(exec_poll(rig.exec, 60000, 0, on_no_poll, NULL), -EBUSY);
	exec_poll_withdraw(rig.exec);
	exec_rig_wait(&rig);
	ck_assert_str_eq(exec_rig_poll(&rig, 0, 0), "1\n"); /* nothing went with it */
	exec_rig_done(&rig);
}
END_TEST

/* The wait of a poll stands still with the clock. */
START_TEST(a_question_stops_a_poll)
{
	struct exec_rig rig;

	exec_rig_init(&rig, _i);
	rig.config.unread_max = 1000;
	exec_rig_start(&rig, "echo up; sleep 0.3; echo later; exec sleep 1000");
	exec_rig_await(&rig, "up");
	exec_pause_clock(rig.exec);
	ck_assert_str_eq(exec_rig_poll(&rig, 100, 9), "up\nlater\n"); /* by its size */
	exec_resume_clock(rig.exec);
	ck_assert_str_eq(exec_rig_poll(&rig, 50, 9), ""); /* by its time */
	exec_rig_done(&rig);
}
END_TEST

TCase *test_exec_session(void)
{
	TCase *tcase = tcase_create("exec_session");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, a_terminal_of_its_own, 0, RIG_USERS);
	tcase_add_loop_test(tcase, keys_reach_the_command, 0, (int)ARRAY_SIZE(keys) * RIG_USERS);
	tcase_add_loop_test(tcase, a_new_size_reaches_the_command, 0, RIG_USERS);
	tcase_add_loop_test(tcase, a_pipe_has_no_size, 0, 1);
	tcase_add_loop_test(tcase, nothing_in_the_background_outlives_it, 0, 4 * RIG_USERS);
	tcase_add_loop_test(tcase, input_ends_with_its_end, 0, 6 * RIG_USERS);
	tcase_add_loop_test(tcase, input_has_a_limit, 0, RIG_USERS);
	tcase_add_loop_test(tcase, room_for_input_is_told, 0, RIG_USERS);
	tcase_add_loop_test(tcase, input_nobody_reads_is_an_error, 0, 2 * RIG_USERS);
	tcase_add_loop_test(tcase, a_poll_has_what_came_since_the_last, 0, RIG_USERS);
	tcase_add_loop_test(tcase, a_poll_gives_way_after_its_time, 0, RIG_USERS);
	tcase_add_loop_test(tcase, a_poll_has_a_limit, 0, RIG_USERS);
	tcase_add_loop_test(tcase, unread_output_has_a_limit, 0, 2 * RIG_USERS);
	tcase_add_loop_test(tcase, one_poll_at_a_time, 0, RIG_USERS);
	tcase_add_loop_test(tcase, a_question_stops_a_poll, 0, RIG_USERS);
	return tcase;
}
