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
#include "tests/unit/exec/rig.h"

/* The test is the person at the terminal: it holds the master of a pty whose slave is the
 * controlling terminal of this process, as a shell's child would have it. What the terminal is sent
 * is caught as it comes. */
struct person {
	struct rig rig;
	int screen; /* the master */
	struct event seen;
	char text[65536];
	size_t len;
	const char *await, *keys; /* once @await is on the screen, @keys are typed */
	void (*then)(struct person *person);
};

static void look(struct person *person)
{
	ssize_t n;

	while ((n = read(person->screen, person->text + person->len,
			 sizeof(person->text) - person->len - 1)) > 0)
		person->len += (size_t)n;
	person->text[person->len] = '\0';
	ck_assert_uint_lt(person->len, sizeof(person->text) - 1);
}

static void on_seen(evutil_socket_t fd, short what, void *arg)
{
	struct person *person = arg;

	look(person);
	if (!person->await || !strstr(person->text, person->await))
		return;
	person->await = NULL;
	if (person->keys)
		ck_assert_int_eq(write(person->screen, person->keys, strlen(person->keys)),
				 (ssize_t)strlen(person->keys));
	if (person->then)
		person->then(person);
}

/* In a process of its own from here to stand_up(), since the test's leads a process group and can
 * make no session. */
static void sit_down(struct person *person, int user)
{
	struct winsize size = { .ws_row = 33, .ws_col = 99 };
	pid_t pid = check_fork();

	if (pid != 0)
		check_waitpid_and_exit(pid);
	memset(person, 0, sizeof(*person));
	ck_assert_int_ge(setsid(), 0);
	ck_assert(signal(SIGHUP, SIG_IGN) != SIG_ERR); /* standing up hangs the terminal up */
	rig_init(&person->rig, user);
	person->screen = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	ck_assert_int_ge(person->screen, 0);
	ck_assert_int_eq(unlockpt(person->screen), 0);
	ck_assert_int_eq(ioctl(person->screen, TIOCSWINSZ, &size), 0);
	auto_close int slave =
		open(ptsname(person->screen), O_RDWR | O_CLOEXEC); /* becomes the controlling one */

	ck_assert_int_ge(slave, 0);
	for (int fd = 0; fd < 3; fd++)
		ck_assert_int_eq(dup2(slave, fd), fd);
	person->rig.config.has_terminal = true;
	event_assign(&person->seen, loop_base(person->rig.loop), person->screen,
		     EV_READ | EV_PERSIST, on_seen, person);
	event_add(&person->seen, NULL);
}

static void stand_up(struct person *person)
{
	event_del(&person->seen);
	exec_free(person->rig.exec);
	person->rig.exec = NULL;
	rig_done(&person->rig);
	close(person->screen);
	check_waitpid_and_exit(0);
}

/* Runs it to its end; what the terminal was sent is in person->text. */
static const char *watch(struct person *person, const char *script)
{
	rig_sh(&person->rig, script);
	look(person);
	return person->text;
}

START_TEST(the_command_has_a_terminal_of_its_own)
{
	struct person person;

	sit_down(&person, _i);
	ck_assert_str_eq(watch(&person, "tty; stty size; test -t 0 && test -t 1 && test -t 2 && "
					"echo to-tty >/dev/tty; "
					"test /dev/console -ef /dev/pts/0 && echo console; exit 7"),
			 "/dev/pts/0\r\n33 99\r\nto-tty\r\nconsole\r\n");
	ck_assert_int_eq(person.rig.result.end, EXEC_EXITED);
	ck_assert_int_eq(person.rig.result.status, 7);
	stand_up(&person);
}
END_TEST

START_TEST(only_terminals_are_replaced)
{
	struct person person;
	int pair[2];
	char text[64] = "";

	sit_down(&person, _i);
	ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
	ck_assert_int_eq(dup2(pair[1], STDOUT_FILENO), STDOUT_FILENO);
	ck_assert_str_eq(
		watch(&person,
		      "test -t 0 && test ! -t 1 && test -t 2 && echo pipe; echo screen >&2"),
		"screen\r\n");
	ck_assert_int_eq(read(pair[0], text, sizeof(text) - 1), 5);
	ck_assert_str_eq(text, "pipe\n"); /* untouched by any terminal's line ends */
	close(pair[0]);
	close(pair[1]);
	stand_up(&person);
}
END_TEST

static const struct {
	const char *script, *await, *keys;
	enum exec_end end;
	int status;
	const char *seen;
} sessions[] = {
	{ "read line; echo got:$line", NULL, "word\n", EXEC_EXITED, 0, "got:word" },
	{ "echo up; exec sleep 1000", "up", "\3", EXEC_SIGNALLED, SIGINT, "^C" },
	{ "echo up; exec sleep 1000", "up", "\34", EXEC_SIGNALLED, SIGQUIT, "^\\" },
	{ "echo up; cat; echo end:$?", "up", "a\n\4", EXEC_EXITED, 0, "end:0" },
	{ "stty raw -echo; echo up; head -c 3 | od -An -tx1", "up", "\3\32\r", EXEC_EXITED, 0,
	  "03 1a 0d" },
};

START_TEST(keys_reach_the_command)
{
	struct person person;

	sit_down(&person, _i % RIG_USERS);
	person.await = sessions[_i / RIG_USERS].await;
	person.keys = sessions[_i / RIG_USERS].keys;
	if (!person.await) /* typed before it starts: still there when it reads */
		ck_assert_int_eq(write(person.screen, person.keys, strlen(person.keys)),
				 (ssize_t)strlen(person.keys));
	watch(&person, sessions[_i / RIG_USERS].script);
	ck_assert_int_eq(person.rig.result.end, sessions[_i / RIG_USERS].end);
	ck_assert_int_eq(person.rig.result.status, sessions[_i / RIG_USERS].status);
	ck_assert_msg(strstr(person.text, sessions[_i / RIG_USERS].seen), "%s", person.text);
	stand_up(&person);
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

	sit_down(&person, _i);
	person.await = "up";
	person.then = resize;
	watch(&person, "trap 'stty size; exit 5' WINCH; echo up; while :; do sleep 0.01; done");
	ck_assert_int_eq(person.rig.result.status, 5);
	ck_assert_ptr_nonnull(strstr(person.text, "11 44"));
	stand_up(&person);
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

	sit_down(&person, _i % RIG_USERS);
	ck_assert_int_eq(tcgetattr(0, &before), 0);
	watch(&person, endings[_i / RIG_USERS]);
	ck_assert_int_eq(tcgetattr(0, &after), 0);
	ck_assert(same_modes(&before, &after));
	stand_up(&person);
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

	sit_down(&person, _i);
	ck_assert_int_eq(tcgetattr(0, &before), 0);
	person.await = "up";
	person.then = check_raw_and_free;
	ck_assert(rig_start(&person.rig,
			    (const char *const[]){ "sh", "-c", "echo up; exec sleep 1000", NULL }));
	loop_run(person.rig.loop);
	exec_free(person.rig.exec);
	person.rig.exec = NULL;
	ck_assert_int_eq(tcgetattr(0, &after), 0);
	ck_assert(same_modes(&before, &after));
	stand_up(&person);
}
END_TEST

START_TEST(all_output_comes_before_the_end)
{
	struct person person;
	const char *at;

	sit_down(&person, _i);
	watch(&person, "seq 1 8000; printf END");
	ck_assert_msg(strcmp(person.text + person.len - 3, "END") == 0, "%s",
		      person.text + person.len - 20);
	at = person.text;
	for (int i = 1; i <= 8000; i++) {
		auto_free char *line = mem_printf("%d\r\n", i);

		ck_assert_int_eq(strncmp(at, line, strlen(line)), 0);
		at += strlen(line);
	}
	stand_up(&person);
}
END_TEST

/* A question: nothing may reach the screen while it is open, and nothing may be lost or doubled. */
static struct loop_timer pause_timer;
static size_t held_at;

static void on_pause_over(void *arg)
{
	struct person *person = arg;

	look(person);
	/* Not one byte of the command's since the hold. */
	ck_assert_uint_eq(person->len, held_at);
	exec_release_terminal(person->rig.exec);
	exec_release_terminal(person->rig.exec);
}

static void hold(struct person *person)
{
	exec_hold_terminal(person->rig.exec);
	exec_hold_terminal(person->rig.exec);
	look(person);
	held_at = person->len;
	loop_timer_start(person->rig.loop, &pause_timer, 200, on_pause_over, person);
}

START_TEST(a_hold_stops_output_and_loses_nothing)
{
	struct person person;
	int next = 1;

	sit_down(&person, _i);
	person.await = "50\r\n";
	person.then = hold;
	watch(&person, "i=1; while [ $i -le 3000 ]; do echo $i; i=$((i+1)); done");
	ck_assert_uint_gt(held_at, 0);
	/* The hold takes the colours off, wherever it came; else only the numbers, in order. */
	char *reset = strstr(person.text, "\x1b[0m");

	ck_assert_ptr_nonnull(reset);
	memmove(reset, reset + 4, strlen(reset + 4) + 1);
	for (const char *at = person.text; *at;) {
		auto_free char *line = mem_printf("%d\r\n", next);

		ck_assert_msg(strncmp(at, line, strlen(line)) == 0, "after %d: %.40s", next - 1,
			      at);
		at += strlen(line);
		next++;
	}
	ck_assert_int_eq(next, 3001);
	stand_up(&person);
}
END_TEST

START_TEST(a_hold_leaves_a_full_screen_program_in_peace)
{
	struct person person;

	sit_down(&person, _i);
	person.await = "drawn";
	person.then = hold;
	watch(&person, "printf '\\033[?1049h\\033[?1000h\\033[?25ldrawn'; trap 'printf again; exit "
		       "0' WINCH; while :; do sleep 0.01; done");
	/* Out of its modes, back into them, and it was told to draw again. */
	ck_assert_str_eq(person.text, "\x1b[?1049h\x1b[?1000h\x1b[?25ldrawn"
				      "\x1b[?25h\x1b[?1000l\x1b[?1049l\x1b[0m"
				      "\x1b[?25l\x1b[?1000h\x1b[?1049hagain");
	stand_up(&person);
}
END_TEST

static void press(struct person *person)
{
	hold(person);
	ck_assert_int_eq(write(person->screen, "y", 1),
			 1); /* the answer to the question, for whoever asked */
}

START_TEST(keys_typed_during_a_hold_are_not_the_commands)
{
	struct person person;

	sit_down(&person, _i);
	person.await = "up";
	person.then = press;
	watch(&person,
	      "stty raw -echo; echo up; sleep 0.15; timeout 0.1 head -c 1 | od -An -c; echo done");
	ck_assert_ptr_null(strstr(person.text, "y"));
	stand_up(&person);
}
END_TEST

START_TEST(the_end_does_not_wait_for_a_question)
{
	struct person person;

	sit_down(&person, _i);
	person.await = "up";
	person.then = hold;
	ck_assert(rig_start(
		&person.rig,
		(const char *const[]){ "sh", "-c", "echo up; sleep 0.05; echo last", NULL }));
	rig_wait(&person.rig);
	loop_timer_stop(&pause_timer);
	look(&person);
	ck_assert_ptr_nonnull(strstr(person.text, "last"));
	stand_up(&person);
}
END_TEST

/* The gate as a shell's job: it stops when its command stops, and continues it when it is
 * continued. */
START_TEST(the_job_stops_with_its_command)
{
	struct termios before, stopped;
	struct person person;
	int status;

	sit_down(&person, _i);
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
	stand_up(&person);
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
	tcase_add_loop_test(tcase, a_hold_stops_output_and_loses_nothing, 0, RIG_USERS);
	tcase_add_loop_test(tcase, a_hold_leaves_a_full_screen_program_in_peace, 0, RIG_USERS);
	tcase_add_loop_test(tcase, keys_typed_during_a_hold_are_not_the_commands, 0, RIG_USERS);
	tcase_add_loop_test(tcase, the_end_does_not_wait_for_a_question, 0, RIG_USERS);
	tcase_add_loop_test(tcase, the_job_stops_with_its_command, 0, RIG_USERS);
	return tcase;
}
