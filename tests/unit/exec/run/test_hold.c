#include "tests/unit/exec/test_exec.h"

#include <string.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/mem.h"
#include "tests/unit/exec/person.h"

/* A question: nothing may reach the screen while it is open, and nothing may be lost or doubled. */
static struct loop_timer pause_timer;
static size_t held_at;
static bool has_looked; /* the pause was over before the command was */

static void on_pause_over(void *arg)
{
	struct person *person = arg;

	person_look(person);
	/* Not one byte of the command's since the hold. */
	ck_assert_uint_eq(person->len, held_at);
	has_looked = true;
	exec_process_release_terminal(person->rig.process);
	exec_process_release_terminal(person->rig.process);
}

static void hold(struct person *person)
{
	exec_process_hold_terminal(person->rig.process);
	exec_process_hold_terminal(person->rig.process);
	person_look(person);
	held_at = person->len;
	loop_timer_start(person->rig.loop, &pause_timer, 200, on_pause_over, person);
}

START_TEST(a_hold_stops_output_and_loses_nothing)
{
	struct person person;
	int next = 1;

	person_sit_down(&person, _i);
	person.await = "50\r\n";
	person.then = hold;
	person_watch(&person, "i=1; while [ $i -le 3000 ]; do echo $i; i=$((i+1)); done");
	ck_assert(has_looked);
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
	person_stand_up(&person);
}
END_TEST

START_TEST(a_hold_leaves_a_full_screen_program_in_peace)
{
	struct person person;

	person_sit_down(&person, _i);
	person.await = "drawn";
	person.then = hold;
	person_watch(&person,
		     "printf '\\033[?1049h\\033[?1000h\\033[?25ldrawn'; trap 'printf again; exit "
		     "0' WINCH; while :; do sleep 0.01; done");
	ck_assert(has_looked);
	/* Out of its modes, back into them, and it was told to draw again. */
	ck_assert_str_eq(person.text, "\x1b[?1049h\x1b[?1000h\x1b[?25ldrawn"
				      "\x1b"
				      "7\x1b[?25h\x1b[?1000l\x1b[0m\x1b[H\x1b[2J"
				      "\x1b[0m\x1b[2J\x1b"
				      "8\x1b[?25l\x1b[?1000hagain");
	person_stand_up(&person);
}
END_TEST

/* The gate reads the answer from the terminal: it must arrive there, and the next key goes to the
 * command again. */
static void on_answered(void *arg)
{
	struct person *person = arg;
	char key = 0;

	ck_assert_int_eq(read(STDIN_FILENO, &key, 1), 1);
	ck_assert_int_eq(key, 'y');
	has_looked = true;
	exec_process_release_terminal(person->rig.process);
	ck_assert_int_eq(write(person->screen, "z", 1), 1);
}

static void press(struct person *person)
{
	exec_process_hold_terminal(person->rig.process);
	ck_assert_int_eq(write(person->screen, "y", 1), 1);
	loop_timer_start(person->rig.loop, &pause_timer, 100, on_answered, person);
}

START_TEST(keys_typed_during_a_hold_are_not_the_commands)
{
	struct person person;

	person_sit_down(&person, _i);
	person.await = "up";
	person.then = press;
	person_watch(&person, "stty raw -echo; echo up; exec head -c 1");
	ck_assert(has_looked);
	ck_assert_str_eq(person.text, "up\n\x1b[0mz");
	person_stand_up(&person);
}
END_TEST

START_TEST(the_end_does_not_wait_for_a_question)
{
	struct person person;

	person_sit_down(&person, _i);
	person.await = "up";
	person.then = hold;
	ck_assert(rig_start(
		&person.rig,
		(const char *const[]){ "sh", "-c", "echo up; sleep 0.05; echo last", NULL }));
	rig_wait(&person.rig);
	loop_timer_stop(&pause_timer);
	person_look(&person);
	ck_assert_ptr_nonnull(strstr(person.text, "last"));
	person_stand_up(&person);
}
END_TEST

TCase *test_hold(void)
{
	TCase *tcase = tcase_create("hold");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, a_hold_stops_output_and_loses_nothing, 0, RIG_USERS);
	tcase_add_loop_test(tcase, a_hold_leaves_a_full_screen_program_in_peace, 0, RIG_USERS);
	tcase_add_loop_test(tcase, keys_typed_during_a_hold_are_not_the_commands, 0, RIG_USERS);
	tcase_add_loop_test(tcase, the_end_does_not_wait_for_a_question, 0, RIG_USERS);
	return tcase;
}
