#include "tests/unit/exec/test_exec.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "exec/run/listener.h"
#include "tests/unit/exec/notify/caller.h"

static int answer(void *arg)
{
	const struct caller *caller = arg;

	return listener_is_waiting(caller->listener, caller->request) &&
			       listener_pass(caller->listener, caller->request) == 0
		       ? 0
		       : 1;
}

/* The kernel fails with EINTR if a signal comes while another task holds the listener's lock. The
 * task that was taken for dead then, or whose answer was lost, waited for ever. */
START_TEST(a_signal_loses_no_answer)
{
	struct caller caller, answering;
	int status = -1;

	caller_start(&caller, SYS_getppid, NULL, NULL);
	caller_receive(&caller);
	caller_start(&answering, SYS_ioctl, answer, &caller);
	for (int i = 0; i < 2; i++) {
		caller_receive(&answering);
		listener_refuse(answering.listener, answering.request, EINTR);
		caller_receive(&answering); /* again */
		ck_assert_int_eq(listener_pass(answering.listener, answering.request), 0);
	}
	ck_assert_int_eq(waitpid(answering.pid, &status, 0), answering.pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(waitpid(caller.pid, &status, 0), caller.pid);
	ck_assert_int_eq(status, 0);
	fd_close(answering.listener);
	fd_close(caller.listener);
}
END_TEST

TCase *test_listener(void)
{
	TCase *tcase = tcase_create("listener");

	tcase_add_test(tcase, a_signal_loses_no_answer);
	return tcase;
}
