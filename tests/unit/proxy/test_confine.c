#include "tests/unit/proxy/dial_test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "proxy/confine.h"
#include "proxy/upstream/dial.h"

/* A child that waits until its end of the returned pipe closes. */
static pid_t start_child(bool is_confined, int *ret_hold)
{
	int ready[2], hold[2];
	char byte;

	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(hold, O_CLOEXEC), 0);
	pid_t child = fork();

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		struct err why;
		fd_close(hold[1]);
		if (is_confined && confine_worker(&why) < 0)
			_exit(1);
		_exit(write(ready[1], "r", 1) == 1 && read(hold[0], &byte, 1) == 0 ? 0 : 1);
	}
	fd_close(ready[1]);
	fd_close(hold[0]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	fd_close(ready[0]);
	*ret_hold = hold[1];
	return child;
}

static void end_child(pid_t child, int hold)
{
	int status = -1;

	fd_close(hold);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}

START_TEST(limits_are_set)
{
	struct rlimit files, core;
	int hold;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = 256;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	pid_t child = start_child(true, &hold);

	ck_assert_int_eq(prlimit(child, RLIMIT_NOFILE, NULL, &files), 0);
	ck_assert_uint_eq(files.rlim_cur, files.rlim_max);
	ck_assert_int_eq(prlimit(child, RLIMIT_CORE, NULL, &core), 0);
	ck_assert_uint_eq(core.rlim_max, 0);
	end_child(child, hold);
}
END_TEST

/* Another process of the same user: may it look into the worker? Into an ordinary child it may. */
START_TEST(nobody_looks_inside)
{
	int hold;

	if (geteuid() == 0) {
		ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
		ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
	}
	pid_t child = start_child(_i == 1, &hold);
	long r = ptrace(PTRACE_SEIZE, child, NULL, NULL);

	ck_assert_int_eq(r < 0 ? errno : 0, _i == 1 ? EPERM : 0);
	if (r == 0) {
		ck_assert_int_eq(kill(child, SIGKILL), 0);
		fd_close(hold);
		ck_assert_int_eq(waitpid(child, NULL, 0), child);
		return;
	}
	end_child(child, hold);
}
END_TEST

struct stray {
	struct sockaddr_un listener;
	socklen_t len;
	int socket;
};

static int reach_out(void *arg)
{
	struct stray *stray = arg;

	return connect(stray->socket, (struct sockaddr *)&stray->listener, stray->len) < 0 ? errno
											   : 0;
}

/* The filter cannot see where connect() leads, so a Unix socket left over from before would reach
 * the host's services with abstract names; Landlock forbids it where it can (ABI 6). This also
 * shows that its ruleset is in force. */
START_TEST(a_stray_socket_reaches_nobody)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct stray stray = { .listener.sun_family = AF_UNIX, .len = sizeof(sa_family_t) };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* An empty name makes the kernel choose an abstract one. */
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&stray.listener, stray.len), 0);
	ck_assert_int_eq(listen(listener, 5), 0);
	stray.len = sizeof(stray.listener);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&stray.listener, &stray.len), 0);
	stray.socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(dial_test_confined(reach_out, &stray), abi >= 6 ? EPERM : 0);
	fd_close(stray.socket);
	stray.socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(reach_out(&stray), 0);
	fd_close(stray.socket);
	fd_close(listener);
}
END_TEST

START_TEST(abort_still_ends_it)
{
	pid_t child = fork();
	int status = 0;

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		(void)confine_worker(NULL);
		abort();
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGABRT);
}
END_TEST

struct outcome {
	int runs;
	struct dial_result result;
};

static void on_done(struct dial_result *result, void *arg)
{
	struct outcome *outcome = arg;

	outcome->runs++;
	outcome->result = *result;
}

/* A worker, made before it is confined. */
struct worker {
	struct dial_test test;
	struct policy *policy;
	struct dialer *dialer;
	struct policy_destination dst;
	int listener;
};

/* Its day: a name is resolved (over UDP, then TCP), dialled, accepted and used. 0, or the step that
 * failed. */
static int work(void *arg)
{
	struct worker *worker = arg;
	struct policy_verdict verdict = { .action = POLICY_ALLOW,
					  .reason = POLICY_RULE_ALLOW,
					  .promise = POLICY_TCP,
					  .may_private = true };
	struct outcome outcome = { .result.fd = -1 };
	char byte = 0;

	dial_start(worker->dialer, 0, &worker->dst, &verdict, true, on_done, &outcome);
	for (int i = 0; i < 100000 && outcome.runs == 0; i++)
		loop_step(worker->test.loop);
	if (outcome.result.fd < 0)
		return 1;
	int server = accept4(worker->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (server < 0)
		return 2;
	if (send(outcome.result.fd, "x", 1, MSG_NOSIGNAL) != 1)
		return 3;
	if (recv(server, &byte, 1, 0) != 1 || byte != 'x')
		return 4;
	if (shutdown(server, SHUT_WR) < 0 || recv(outcome.result.fd, &byte, 1, 0) != 0)
		return 5;
	/* more than the allocator has at hand, and back */
	for (size_t i = 0; i < 64; i++) {
		char *block = mem_new(i << 16 | 1);
		memset(block, 1, i << 16 | 1);
		free(block);
	}
	if (fprintf(stderr, "%s", "") < 0)
		return 6;
	fd_close(outcome.result.fd);
	fd_close(server);
	dialer_free(worker->dialer);
	policy_free(worker->policy);
	dial_test_done(&worker->test);
	return 0;
}

START_TEST(the_work_goes_on)
{
	static const struct dns_name zone[] = {
		{ .name = "large.test", .v4 = "127.0.0.1", .is_truncated = true },
	};
	struct worker worker;
	uint16_t port = 0;

	worker.listener = dial_test_listen("127.0.0.1", &port, 5);
	dial_test_init(&worker.test, zone, ARRAY_SIZE(zone), NULL, 0);
	worker.policy = policy_new();
	worker.dialer = dialer_new(worker.test.loop, worker.test.resolver, worker.policy);
	ck_assert_int_eq(
		policy_destination_set(&worker.dst, "large.test", strlen("large.test"), port, NULL),
		0);
	ck_assert_int_eq(dial_test_confined(work, &worker), 0);
	fd_close(worker.listener);
	dialer_free(worker.dialer);
	policy_free(worker.policy);
	dial_test_done(&worker.test);
}
END_TEST

TCase *test_confine(void)
{
	TCase *tcase = tcase_create("confine");

	tcase_add_test(tcase, limits_are_set);
	tcase_add_loop_test(tcase, nobody_looks_inside, 0, 2);
	tcase_add_test(tcase, a_stray_socket_reaches_nobody);
	tcase_add_test(tcase, abort_still_ends_it);
	tcase_add_test(tcase, the_work_goes_on);
	return tcase;
}
