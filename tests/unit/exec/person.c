#include "tests/unit/exec/person.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"

void person_look(struct person *person)
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

	person_look(person);
	if (!person->await || !strstr(person->text, person->await))
		return;
	person->await = NULL;
	if (person->keys)
		ck_assert_int_eq(write(person->screen, person->keys, strlen(person->keys)),
				 (ssize_t)strlen(person->keys));
	if (person->then)
		person->then(person);
}

void person_sit_down(struct person *person, int user)
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
	event_assign(&person->seen, loop_base(person->rig.loop), person->screen,
		     EV_READ | EV_PERSIST, on_seen, person);
	event_add(&person->seen, NULL);
}

void person_stand_up(struct person *person)
{
	event_del(&person->seen);
	exec_process_free(person->rig.process);
	person->rig.process = NULL;
	rig_done(&person->rig);
	close(person->screen);
	check_waitpid_and_exit(0);
}

/* Runs it to its end; what the terminal was sent is in person->text. */
const char *person_watch(struct person *person, const char *script)
{
	rig_sh(&person->rig, script);
	person_look(person);
	return person->text;
}
