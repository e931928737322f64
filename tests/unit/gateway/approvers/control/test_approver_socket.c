#include "tests/unit/gateway/approvers/control/test_approver_wire.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"

/* As a payload would: our uid, our socket, other namespaces. */
static void connect_from_elsewhere(int flags)
{
	char byte;

	if (unshare(flags) < 0)
		_exit(2);
	int fd = wire_connect();
	if (fd < 0)
		_exit(3);
	_exit(read(fd, &byte, 1) == 0 ? 0 : 1);
}

static const int elsewhere[] = { CLONE_NEWUSER, CLONE_NEWNET, CLONE_NEWUSER | CLONE_NEWNET };

START_TEST(peer_in_other_namespace)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		connect_from_elsewhere(elsewhere[_i]);
	while (waitpid(pid, &status, WNOHANG) == 0)
		loop_step(wire.gw.loop);
	ck_assert(WIFEXITED(status));
	if (WEXITSTATUS(status) == 2) {
		(void)printf("SKIP peer_in_other_namespace: namespaces cannot be made here\n");
		return;
	}
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

/* A pid namespace holds children, so the one that connects is a grandchild. */
START_TEST(peer_in_other_pid_namespace)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
			_exit(2);
		pid_t inner = fork();
		if (inner == 0)
			connect_from_elsewhere(0);
		_exit(waitpid(inner, &status, 0) == inner && status == 0 ? 0 : 1);
	}
	while (waitpid(pid, &status, WNOHANG) == 0)
		loop_step(wire.gw.loop);
	ck_assert(WIFEXITED(status));
	if (WEXITSTATUS(status) == 2) {
		(void)printf("SKIP peer_in_other_pid_namespace: namespaces cannot be made here\n");
		return;
	}
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

/* The process that connected is gone: nobody can say whose the number is now. */
START_TEST(peer_that_died)
{
	char byte;
	int pair[2], status;
	pid_t pid;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	pid = fork();
	if (pid == 0) {
		int fd = wire_connect();

		(void)fd_send(pair[1], "x", 1, &fd, 1);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);

	int fds[FD_PASS_MAX];
	size_t count = 0;
	ck_assert_int_eq(fd_recv(pair[0], &byte, 1, fds, &count), 1);
	ck_assert_uint_eq(count, 1);
	ck_assert_str_eq(wire_line(fds[0]), "closed");
	fd_close(fds[0]);
	fd_close(pair[0]);
	fd_close(pair[1]);
}
END_TEST

static const struct {
	const char *run;
	mode_t mode;
	int want;
} bad_opens[] = {
	{ "ok", 0750, -EPERM },
	{ "ok", 0701, -EPERM },
	{ "", 0700, -EINVAL },
	{ "../x", 0700, -EINVAL },
	{ "a/b", 0700, -EINVAL },
	{ ".x", 0700, -EINVAL },
	{ "a-b", 0700, -EINVAL },
	{ "7f3a", 0700, -EEXIST },
	{ "12345678901234567", 0700, -EINVAL },
};

START_TEST(open_is_refused)
{
	struct gateway_config config = wire.gw.config;
	struct err why = { 0 };

	config.run = bad_opens[_i].run;
	ck_assert_int_eq(chmod(wire.gw.dir, bad_opens[_i].mode), 0);
	ck_assert_ptr_null(control_approver.open(&wire.gw, wire.gw.loop, &config, &why));
	ck_assert_str_ne(why.text, "");
	ck_assert_int_eq(chmod(wire.gw.dir, 0700), 0);
	/* and the one that is there answers still */
	ck_assert_ptr_nonnull(
		strstr(wire_ask(wire.client, "{\"id\":1,\"op\":\"list\"}\n"), "\"ok\":true"));
}
END_TEST

START_TEST(not_wanted_is_no_error)
{
	struct gateway_config config = { .run = "ok" };
	struct err why = { 0 };

	ck_assert_ptr_null(control_approver.open(&wire.gw, wire.gw.loop, &config, &why));
	ck_assert_str_eq(why.text, "");
}
END_TEST

START_TEST(socket_is_private)
{
	auto_free char *path = mem_printf("%s/7f3a.sock", wire.gw.dir);
	struct stat st;

	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert(S_ISSOCK(st.st_mode));
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
}
END_TEST

Suite *suite_control_socket(void)
{
	Suite *suite = suite_create("control-socket");
	TCase *tcase = tcase_create("control-socket");

	tcase_add_checked_fixture(tcase, wire_setup, wire_teardown);
	tcase_add_loop_test(tcase, peer_in_other_namespace, 0, (int)ARRAY_SIZE(elsewhere));
	tcase_add_test(tcase, peer_in_other_pid_namespace);
	tcase_add_test(tcase, peer_that_died);
	tcase_add_loop_test(tcase, open_is_refused, 0, (int)ARRAY_SIZE(bad_opens));
	tcase_add_test(tcase, not_wanted_is_no_error);
	tcase_add_test(tcase, socket_is_private);
	suite_add_tcase(suite, tcase);
	return suite;
}
