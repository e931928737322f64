#include "tests/unit/exec/test_exec.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "exec/notify/inside.h"
#include "tests/unit/exec/notify/caller.h"

START_TEST(the_root_of_one_that_waits_is_kept)
{
	struct inside inside = { .root = -1 };
	struct caller caller;

	caller_start(&caller, SYS_getppid, NULL, NULL);
	caller_receive(&caller);
	ck_assert_int_eq(inside_enter(&inside, caller.pid, caller.listener, caller.request), 0);
	ck_assert_int_ge(inside.root, 0);
	caller_kill(&caller);
	/* It is the same for all. */
	ck_assert_int_eq(inside_enter(&inside, getpid(), caller.listener, caller.request), 0);
	fd_close(inside.root);
	fd_close(caller.listener);
}
END_TEST

/* This process stands for one outside that has got the pid of the caller. */
START_TEST(the_root_of_a_reused_pid_is_not_kept)
{
	struct inside inside = { .root = -1 };
	struct caller caller;

	caller_start(&caller, SYS_getppid, NULL, NULL);
	caller_receive(&caller);
	caller_kill(&caller);
	ck_assert_int_eq(inside_enter(&inside, getpid(), caller.listener, caller.request), -ESRCH);
	ck_assert_int_eq(inside.root, -1);
	fd_close(caller.listener);
}
END_TEST

TCase *test_inside(void)
{
	TCase *tcase = tcase_create("inside");

	tcase_add_test(tcase, the_root_of_one_that_waits_is_kept);
	tcase_add_test(tcase, the_root_of_a_reused_pid_is_not_kept);
	return tcase;
}
