#include "tests/unit/exec/test_exec.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "tests/unit/exec/person.h"

START_TEST(the_command_has_a_terminal_of_its_own)
{
	struct person person;

	person_sit_down(&person, _i);
	ck_assert_str_eq(person_watch(&person,
				      "tty; stty size; test -t 0 && test -t 1 && test -t 2 && "
				      "echo to-tty >/dev/tty; "
				      "test /dev/console -ef /dev/pts/0 && echo console; exit 7"),
			 "/dev/pts/0\r\n33 99\r\nto-tty\r\nconsole\r\n");
	ck_assert_int_eq(person.rig.result.end, EXEC_PROCESS_EXITED);
	ck_assert_int_eq(person.rig.result.status, 7);
	person_stand_up(&person);
}
END_TEST

START_TEST(only_terminals_are_replaced)
{
	struct person person;
	int pair[2];
	char text[64] = "";

	person_sit_down(&person, _i);
	ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
	ck_assert_int_eq(dup2(pair[1], STDOUT_FILENO), STDOUT_FILENO);
	ck_assert_str_eq(
		person_watch(&person,
			     "test -t 0 && test ! -t 1 && test -t 2 && echo pipe; echo screen >&2"),
		"screen\r\n");
	ck_assert_int_eq(read(pair[0], text, sizeof(text) - 1), 5);
	ck_assert_str_eq(text, "pipe\n"); /* untouched by any terminal's line ends */
	close(pair[0]);
	close(pair[1]);
	person_stand_up(&person);
}
END_TEST

static const struct {
	const char *script, *await, *keys;
	enum exec_process_end end;
	int status;
	const char *seen;
} sessions[] = {
	{ "read line; echo got:$line", NULL, "word\n", EXEC_PROCESS_EXITED, 0, "got:word" },
	{ "echo up; exec sleep 1000", "up", "\3", EXEC_PROCESS_SIGNALLED, SIGINT, "^C" },
	{ "echo up; exec sleep 1000", "up", "\34", EXEC_PROCESS_SIGNALLED, SIGQUIT, "^\\" },
	{ "echo up; cat; echo end:$?", "up", "a\n\4", EXEC_PROCESS_EXITED, 0, "end:0" },
	{ "stty raw -echo; echo up; head -c 3 | od -An -tx1", "up", "\3\32\r", EXEC_PROCESS_EXITED,
	  0, "03 1a 0d" },
};

START_TEST(keys_reach_the_command)
{
	struct person person;

	person_sit_down(&person, _i % RIG_USERS);
	person.await = sessions[_i / RIG_USERS].await;
	person.keys = sessions[_i / RIG_USERS].keys;
	if (!person.await) /* typed before it starts: still there when it reads */
		ck_assert_int_eq(write(person.screen, person.keys, strlen(person.keys)),
				 (ssize_t)strlen(person.keys));
	person_watch(&person, sessions[_i / RIG_USERS].script);
	ck_assert_int_eq(person.rig.result.end, sessions[_i / RIG_USERS].end);
	ck_assert_int_eq(person.rig.result.status, sessions[_i / RIG_USERS].status);
	ck_assert_msg(strstr(person.text, sessions[_i / RIG_USERS].seen), "%s", person.text);
	person_stand_up(&person);
}
END_TEST

static void resize(struct person *person)
{
	struct winsize size = { .ws_row = 11, .ws_col = 44 };

	ck_assert_int_eq(ioctl(person->screen, TIOCSWINSZ, &size), 0);
}

START_TEST(a_new_size_reaches_the_command)
{
	struct person person;

	person_sit_down(&person, _i);
	person.await = "up";
	person.then = resize;
	person_watch(&person,
		     "trap 'stty size; exit 5' WINCH; echo up; while :; do sleep 0.01; done");
	ck_assert_int_eq(person.rig.result.status, 5);
	ck_assert_ptr_nonnull(strstr(person.text, "11 44"));
	person_stand_up(&person);
}
END_TEST

static bool same_modes(const struct termios *left, const struct termios *right)
{
	return left->c_iflag == right->c_iflag && left->c_oflag == right->c_oflag &&
	       left->c_cflag == right->c_cflag && left->c_lflag == right->c_lflag;
}

static const char *const endings[] = {
	"exit 0",
	"kill -9 $$",
	"stty raw -echo; exit 3",
	"printf '\\033[?1049h\\033]0;'; exit 0",
};

START_TEST(the_terminal_is_left_as_it_was)
{
	struct termios before, after;
	struct person person;

	person_sit_down(&person, _i % RIG_USERS);
	ck_assert_int_eq(tcgetattr(0, &before), 0);
	person_watch(&person, endings[_i / RIG_USERS]);
	ck_assert_int_eq(tcgetattr(0, &after), 0);
	ck_assert(same_modes(&before, &after));
	person_stand_up(&person);
}
END_TEST

static void check_raw_and_free(struct person *person)
{
	struct termios now;

	ck_assert_int_eq(tcgetattr(0, &now), 0);
	ck_assert_uint_eq(now.c_lflag & (ICANON | ECHO | ISIG), 0);
	loop_stop(person->rig.loop);
}

START_TEST(freeing_restores_it_too)
{
	struct termios before, after;
	struct person person;

	person_sit_down(&person, _i);
	ck_assert_int_eq(tcgetattr(0, &before), 0);
	person.await = "up";
	person.then = check_raw_and_free;
	ck_assert(rig_start(&person.rig,
			    (const char *const[]){ "sh", "-c", "echo up; exec sleep 1000", NULL }));
	loop_run(person.rig.loop);
	exec_process_free(person.rig.process);
	person.rig.process = NULL;
	ck_assert_int_eq(tcgetattr(0, &after), 0);
	ck_assert(same_modes(&before, &after));
	person_stand_up(&person);
}
END_TEST

START_TEST(all_output_comes_before_the_end)
{
	struct person person;
	const char *at;

	person_sit_down(&person, _i);
	person_watch(&person, "seq 1 8000; printf END");
	ck_assert_msg(strcmp(person.text + person.len - 3, "END") == 0, "%s",
		      person.text + person.len - 20);
	at = person.text;
	for (int i = 1; i <= 8000; i++) {
		auto_free char *line = mem_printf("%d\r\n", i);

		ck_assert_int_eq(strncmp(at, line, strlen(line)), 0);
		at += strlen(line);
	}
	person_stand_up(&person);
}
END_TEST

/* The gate as a shell's job: it stops when its command stops, and continues it when it is
 * continued. */
START_TEST(the_job_stops_with_its_command)
{
	struct termios before, stopped;
	struct person person;
	int status;

	person_sit_down(&person, _i);
	ck_assert(signal(SIGTTOU, SIG_IGN) != SIG_ERR); /* as a shell has it */
	ck_assert_int_eq(tcgetattr(0, &before), 0);
	event_del(&person.seen);
	pid_t job = fork();

	ck_assert_int_ge(job, 0);
	if (job == 0) {
		(void)setpgid(0, 0);
		(void)tcsetpgrp(0, getpid());
		(void)signal(SIGTTOU, SIG_DFL);
		event_reinit(loop_base(person.rig.loop));
		rig_start(&person.rig,
			  (const char *const[]){ "sh", "-c", "kill -STOP $$; exit 3", NULL });
		loop_run(person.rig.loop);
		_exit(person.rig.result.status);
	}
	ck_assert_int_eq(waitpid(job, &status, WUNTRACED), job);
	ck_assert(WIFSTOPPED(status));
	ck_assert_int_eq(WSTOPSIG(status), SIGTSTP);
	ck_assert_int_eq(tcgetattr(0, &stopped), 0);
	ck_assert(same_modes(&before, &stopped)); /* the shell has its terminal back */
	ck_assert_int_eq(kill(-job, SIGCONT), 0);
	ck_assert_int_eq(waitpid(job, &status, 0), job);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 3);
	ck_assert_int_eq(tcsetpgrp(0, getpgrp()), 0);
	event_add(&person.seen, NULL);
	person_stand_up(&person);
}
END_TEST

TCase *test_pty(void)
{
	TCase *tcase = tcase_create("pty");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, the_command_has_a_terminal_of_its_own, 0, RIG_USERS);
	tcase_add_loop_test(tcase, only_terminals_are_replaced, 0, RIG_USERS);
	tcase_add_loop_test(tcase, keys_reach_the_command, 0,
			    (int)ARRAY_SIZE(sessions) * RIG_USERS);
	tcase_add_loop_test(tcase, a_new_size_reaches_the_command, 0, RIG_USERS);
	tcase_add_loop_test(tcase, the_terminal_is_left_as_it_was, 0,
			    (int)ARRAY_SIZE(endings) * RIG_USERS);
	tcase_add_loop_test(tcase, freeing_restores_it_too, 0, RIG_USERS);
	tcase_add_loop_test(tcase, all_output_comes_before_the_end, 0, RIG_USERS);
	tcase_add_loop_test(tcase, the_job_stops_with_its_command, 0, RIG_USERS);
	return tcase;
}
