#include "tests/unit/exec/test_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "tests/unit/exec/rig.h"

/* Descriptors that a caller hands over in place of our own. */

static void read_text(int fd, char *text, size_t size)
{
	ssize_t n = read(fd, text, size - 1);

	text[n < 0 ? 0 : n] = '\0';
}

/* In every order, also where they are ours: none is written over before it is copied. */
START_TEST(given_descriptors_are_the_commands)
{
	static const int orders[][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					 { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
	const int *order = orders[_i / RIG_USERS];
	int in[2], out[2], err[2];
	char text[64];
	struct rig rig;

	rig_init(&rig, _i % RIG_USERS);
	ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(err, O_CLOEXEC), 0);
	/* What the command is to have as its 0–2 are our 0–2, in another order. */
	ck_assert_int_eq(dup2(in[0], order[0]), order[0]);
	ck_assert_int_eq(dup2(out[1], order[1]), order[1]);
	ck_assert_int_eq(dup2(err[1], order[2]), order[2]);
	ck_assert_int_eq(write(in[1], "word\n", 5), 5);
	rig.config.stdio = order;
	const char *const argv[] = { "sh", "-c", "read a; echo out:$a; echo err:$a >&2", NULL };

	ck_assert_msg(rig_start(&rig, argv), "%s", rig.text);
	rig_wait(&rig);
	read_text(out[0], text, sizeof(text));
	ck_assert_str_eq(text, "out:word\n");
	read_text(err[0], text, sizeof(text));
	ck_assert_str_eq(text, "err:word\n");
	for (int i = 0; i < 2; i++) {
		close(in[i]);
		close(out[i]);
		close(err[i]);
	}
	rig_done(&rig);
}
END_TEST

/* As in a daemon: the numbers are free for whatever is opened next, and that is not written over.
 */
START_TEST(our_own_may_be_closed)
{
	static const char *const argv[] = { "sh", "-c", "echo out; echo err >&2", NULL };
	int pair[2], null;
	char text[64];
	struct rig rig;

	rig_init(&rig, _i);
	ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const int stdio[3] = { null, pair[1], pair[1] };

	rig.config.stdio = stdio;
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	bool has_started = rig_start(&rig, argv);

	rig_wait(&rig);
	for (int fd = 0; fd < 3; fd++)
		ck_assert_int_eq(dup2(rig.saved[fd], fd), fd);
	ck_assert(has_started);
	read_text(pair[0], text, sizeof(text));
	ck_assert_str_eq(text, "out\nerr\n");
	close(pair[0]);
	close(pair[1]);
	close(null);
	rig_done(&rig);
}
END_TEST

static int far_end; /* stays open: a terminal without its other end does not work */

static int open_terminal(void)
{
	far_end = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	ck_assert_int_eq(grantpt(far_end), 0);
	ck_assert_int_eq(unlockpt(far_end), 0);
	return open(ptsname(far_end), O_RDWR | O_NOCTTY | O_CLOEXEC);
}

static int open_what(char what)
{
	switch (what) {
	case 'd':
		return open("/", O_RDONLY | O_CLOEXEC);
	case 's':
		return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	case 't':
		return open_terminal();
	default:
		return -1;
	}
}

static const struct {
	char what;
	const char *why;
} refused[] = {
	{ 'd', "directory" },
	{ 's', "network socket" },
	{ 't', "ask for a pty" },
	{ '-', "not open" },
};

START_TEST(a_given_descriptor_is_no_way_out)
{
	int at = _i % 3;
	size_t which = (size_t)_i / 3;
	struct rig rig;

	rig_init(&rig, 0);
	auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int stdio[3] = { null, null, null };

	stdio[at] = open_what(refused[which].what);
	rig.config.stdio = stdio;
	ck_assert(!rig_start(&rig, (const char *const[]){ "true", NULL }));
	ck_assert_msg(strstr(rig.text, refused[which].why), "%s", rig.text);
	fd_close(stdio[at]);
	rig_done(&rig);
}
END_TEST

static void on_pty(int master, void *arg)
{
	ck_abort_msg("nothing was started");
}

START_TEST(a_pty_is_for_somebody_and_alone)
{
	static const struct exec_size size = { .rows = 3, .columns = 4 };
	const int stdio[3] = { 0, 1, 2 };
	struct rig rig;

	rig_init(&rig, 0);
	rig.config.pty = &size;
	ck_assert(!rig_start(&rig, (const char *const[]){ "true", NULL }));
	rig.config.on_pty = on_pty;
	rig.config.stdio = stdio;
	ck_assert(!rig_start(&rig, (const char *const[]){ "true", NULL }));
	rig_done(&rig);
}
END_TEST

TCase *test_stdio(void)
{
	TCase *tcase = tcase_create("stdio");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, given_descriptors_are_the_commands, 0, 6 * RIG_USERS);
	tcase_add_loop_test(tcase, our_own_may_be_closed, 0, RIG_USERS);
	tcase_add_loop_test(tcase, a_given_descriptor_is_no_way_out, 0,
			    3 * (int)ARRAY_SIZE(refused));
	tcase_add_test(tcase, a_pty_is_for_somebody_and_alone);
	return tcase;
}
