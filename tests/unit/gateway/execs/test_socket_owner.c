#include "gateway/execs/socket_owner.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "tests/unit/gateway/fixture.h"

/* This process stands for pid 1 of a sandbox; what it forks, for the commands. */
static struct {
	struct socket_owner *who;
	int listener, accepted;
	int ready[2]; /* a child says that it is as it should be */
	uint16_t port, peer_port;
	pid_t child;
} stage;

static void stage_open(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(name);
	int sockets = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	ck_assert_int_ge(sockets, 0);
	stage.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(stage.listener, (struct sockaddr *)&name, sizeof(name)), 0);
	ck_assert_int_eq(listen(stage.listener, 1), 0);
	ck_assert_int_eq(getsockname(stage.listener, (struct sockaddr *)&name, &len), 0);
	stage.port = ntohs(name.sin_port);
	ck_assert_int_eq(pipe(stage.ready), 0);
	stage.who = socket_owner_new(getpid(), sockets);
}

static int child_connect(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET,
				    .sin_port = htons(stage.port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0)
		_exit(1);
	return fd;
}

static _Noreturn void child_stay(void)
{
	if (write(stage.ready[1], "", 1) != 1)
		_exit(1);
	for (;;)
		(void)pause();
}

/* Runs @act in a child, which dies with this process, and takes its connection. */
static void stage_run(void (*act)(void))
{
	struct sockaddr_in peer = { 0 };
	socklen_t len = sizeof(peer);
	char byte;

	stage.child = fork();
	ck_assert_int_ge(stage.child, 0);
	if (stage.child == 0) {
		(void)setpgid(0, 0);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		act();
		_exit(1);
	}
	stage.accepted = accept4(stage.listener, (struct sockaddr *)&peer, &len, SOCK_CLOEXEC);
	ck_assert_int_ge(stage.accepted, 0);
	stage.peer_port = ntohs(peer.sin_port);
	ck_assert_int_eq((int)read(stage.ready[0], &byte, 1), 1);
}

static void stage_close(void)
{
	if (stage.child > 0) {
		(void)kill(-stage.child, SIGKILL); /* its process group: it, and what it forked */
		(void)waitpid(stage.child, NULL, 0);
	}
	fd_close(stage.accepted);
	fd_close(stage.listener);
	fd_close(stage.ready[0]);
	fd_close(stage.ready[1]);
	socket_owner_free(stage.who);
}

/* In one go. */
static int find(uint16_t peer_port, struct socket_owner_found *ret)
{
	struct socket_owner_want want = { .peer_port = peer_port, .port = stage.port };
	struct socket_owner_scan *scan = socket_owner_scan_new(stage.who);
	int r;

	socket_owner_scan_add(scan, &want);
	while (socket_owner_scan_step(scan, UINT32_MAX))
		;
	ck_assert_ptr_eq(socket_owner_scan_take(scan, ret, &r), &want);
	ck_assert_ptr_null(socket_owner_scan_take(scan, ret, &(int){ 0 }));
	socket_owner_scan_free(scan);
	return r;
}

static const char *chain(pid_t pid)
{
	static char text[SOCKET_OWNER_CHAIN_MAX];

	socket_owner_chain(stage.who, pid, text);
	return text;
}

static void act_plain(void)
{
	(void)child_connect();
	child_stay();
}

START_TEST(the_program_is_found)
{
	char self[SOCKET_OWNER_PROGRAM_MAX] = "";
	struct socket_owner_found found;
	struct stat info;

	stage_open();
	stage_run(act_plain);
	ck_assert_int_eq(find(stage.peer_port, &found), 0);
	ck_assert_int_gt(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
	ck_assert_str_eq(found.program, self);
	ck_assert_int_eq(stat(self, &info), 0);
	ck_assert_uint_eq(found.file.inode, info.st_ino);
	ck_assert_int_eq(found.file.changed_s, info.st_ctim.tv_sec);
	ck_assert_int_eq(found.pid, stage.child);
	ck_assert_str_eq(chain(found.pid), "test-gateway");
	stage_close();
}
END_TEST

static void act_nested(void)
{
	(void)prctl(PR_SET_NAME, "out\x1b[2J", 0, 0, 0);
	if (fork() == 0) {
		(void)prctl(PR_SET_NAME, "inner", 0, 0, 0);
		(void)child_connect();
		child_stay();
	}
	for (;;)
		(void)pause();
}

START_TEST(the_chain_says_who_started_it_visibly)
{
	struct socket_owner_found found;

	stage_open();
	stage_run(act_nested);
	ck_assert_int_eq(find(stage.peer_port, &found), 0);
	ck_assert_str_eq(chain(found.pid), "out\\x1b[2J > inner");
	stage_close();
}
END_TEST

/* Any other process that holds the connection may be the one that asks. */
static void act_shared(void)
{
	int fd = child_connect();

	if (fork() == 0) {
		(void)dup2(fd, 9);
		(void)execl("/bin/sleep", "sleep", "1000", NULL);
		_exit(1);
	}
	while (usleep(1000) == 0) {
		char link[64] = "", path[64];
		pid_t other = 0;
		FILE *children = fopen("/proc/thread-self/children", "re");

		if (!children || fscanf(children, "%d", &other) != 1)
			_exit(1);
		(void)fclose(children);
		(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)other);
		if (readlink(path, link, sizeof(link) - 1) > 0 && strstr(link, "sleep"))
			child_stay();
	}
	_exit(1);
}

START_TEST(what_two_programs_hold_is_nobodys)
{
	struct socket_owner_found found;

	stage_open();
	stage_run(act_shared);
	ck_assert_int_eq(find(stage.peer_port, &found), 0);
	ck_assert_str_eq(found.program, "");
	stage_close();
}
END_TEST

static char copied[] = "/tmp/sallyport-who-XXXXXX";

/* A copy of a program, gone from its place. */
static void act_deleted(void)
{
	(void)dup2(child_connect(), 9);
	(void)dup2(stage.ready[1], 8);
	if (write(8, "", 1) == 1)
		(void)execl(copied, "sleep", "1000", NULL);
	_exit(1);
}

START_TEST(a_file_that_is_not_the_hosts_is_no_program)
{
	struct socket_owner_found found = { .program = "none yet" };
	auto_free char *bytes = NULL;
	size_t len;

	stage_open();
	int source = open("/bin/sleep", O_RDONLY | O_CLOEXEC), copy = mkstemp(copied);

	ck_assert_int_eq(fd_read_all(source, 1U << 26, &bytes, &len, NULL), 0);
	ck_assert_int_eq(fd_write_all(copy, bytes, len), 0);
	ck_assert_int_eq(fchmod(copy, 0700), 0);
	fd_close(source);
	fd_close(copy);
	stage_run(act_deleted);
	/* Its own name first, and none once the file is gone. */
	for (int i = 0; i < 5000 && strcmp(found.program, copied) != 0; i++) {
		ck_assert_int_eq(find(stage.peer_port, &found), 0);
		(void)usleep(1000);
	}
	ck_assert_str_eq(found.program, copied);
	ck_assert_int_eq(unlink(copied), 0);
	ck_assert_int_eq(find(stage.peer_port, &found), 0);
	ck_assert_str_eq(found.program, "");
	stage_close();
}
END_TEST

START_TEST(nobody_is_an_error)
{
	struct socket_owner_found found;

	stage_open();
	ck_assert_int_eq(find(1, &found), -ESRCH);
	stage_run(act_plain);
	(void)kill(stage.child, SIGKILL);
	(void)waitpid(stage.child, NULL, 0);
	stage.child = 0;
	ck_assert_int_eq(find(stage.peer_port, &found), -ESRCH);
	stage_close();
}
END_TEST

Suite *suite_who(void)
{
	Suite *suite = suite_create("who");
	TCase *tcase = tcase_create("who");

	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, the_program_is_found);
	tcase_add_test(tcase, the_chain_says_who_started_it_visibly);
	tcase_add_test(tcase, what_two_programs_hold_is_nobodys);
	tcase_add_test(tcase, a_file_that_is_not_the_hosts_is_no_program);
	tcase_add_test(tcase, nobody_is_an_error);
	suite_add_tcase(suite, tcase);
	return suite;
}
