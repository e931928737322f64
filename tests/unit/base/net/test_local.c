/* Sockets with a name in a folder, and the kernel's data about a connection. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/net/diag.h"
#include "base/net/local.h"
#include "tests/unit/base/test_base.h"

static char folder[64];
static int at;

static void setup(void)
{
	(void)snprintf(folder, sizeof(folder), "/tmp/sallyport-local-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(at, 0);
}

static void teardown(void)
{
	(void)unlinkat(at, "name", 0); /* some tests leave it */
	fd_close(at);
	ck_assert_int_eq(rmdir(folder), 0);
}

START_TEST(who_connects_is_accepted)
{
	auto_close int listener = local_listen(at, "name", SOCK_SEQPACKET, 4, true);
	struct stat status;

	ck_assert_int_ge(listener, 0);
	ck_assert_int_eq(fstatat(at, "name", &status, AT_SYMLINK_NOFOLLOW), 0);
	ck_assert_uint_eq(status.st_mode & 0777, 0600);
	for (int limit_ms = 0; limit_ms <= 5000; limit_ms += 5000) {
		auto_close int client = local_connect(at, "name", SOCK_SEQPACKET, limit_ms);
		auto_close int server = accept(listener, NULL, NULL);
		struct timeval limit = { 0 };
		socklen_t len = sizeof(limit);

		ck_assert_int_ge(client, 0);
		ck_assert_int_ge(server, 0);
		ck_assert_int_eq(getsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, &len), 0);
		ck_assert_int_eq(limit.tv_sec, limit_ms / 1000);
		ck_assert_int_eq((fcntl(client, F_GETFL) & O_NONBLOCK) != 0, limit_ms == 0);
	}
}
END_TEST

START_TEST(a_dead_ones_name_refuses_and_can_be_replaced)
{
	int dead = local_listen(at, "name", SOCK_STREAM, 4, true);

	ck_assert_int_eq(local_connect(at, "none", SOCK_STREAM, 0), -ENOENT);
	ck_assert_int_ge(dead, 0);
	fd_close(dead);
	ck_assert_int_eq(local_connect(at, "name", SOCK_STREAM, 0), -ECONNREFUSED);
	ck_assert_int_eq(local_listen(at, "name", SOCK_STREAM, 4, true), -EEXIST);
	auto_close int fresh = local_listen(at, "name", SOCK_STREAM, 4, false);
	auto_close int client = local_connect(at, "name", SOCK_STREAM, 0);

	ck_assert_int_ge(fresh, 0);
	ck_assert_int_ge(client, 0);
}
END_TEST

START_TEST(a_name_that_is_too_long_is_no_other_name)
{
	char name[NAME_MAX];

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	ck_assert_int_eq(local_connect(at, name, SOCK_STREAM, 0), -ENAMETOOLONG);
	auto_close int listener = local_listen(at, name, SOCK_STREAM, 4, true);

	ck_assert_int_ge(listener, 0); /* the name comes by rename(2) */
	ck_assert_int_eq(unlinkat(at, name, 0), 0);
}
END_TEST

static int connected_pair(struct sockaddr_in *client_name, struct sockaddr_in *server_name,
			  int *ret_server)
{
	auto_close int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*server_name);

	*server_name = (struct sockaddr_in){ .sin_family = AF_INET,
					     .sin_addr = { htonl(INADDR_LOOPBACK) } };
	ck_assert_int_eq(bind(listener, (struct sockaddr *)server_name, len), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)server_name, &len), 0);
	ck_assert_int_eq(connect(client, (struct sockaddr *)server_name, len), 0);
	ck_assert_int_eq(getsockname(client, (struct sockaddr *)client_name, &len), 0);
	*ret_server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	return client;
}

static int asked(int netlink, const struct sockaddr_in *theirs, const struct sockaddr_in *ours,
		 struct inet_diag_msg *ret)
{
	return diag_tcp(netlink, (const struct sockaddr *)theirs, (const struct sockaddr *)ours,
			ret);
}

START_TEST(the_kernel_says_whose_an_end_is)
{
	struct sockaddr_in theirs = { 0 }, ours = { 0 };
	auto_close int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	auto_close int server = -1;
	int client = connected_pair(&theirs, &ours, &server);
	struct inet_diag_msg found;
	struct stat status;

	ck_assert_int_ge(netlink, 0);
	ck_assert_int_eq(asked(netlink, &theirs, &ours, &found), 0);
	ck_assert_int_eq(fstat(client, &status), 0);
	ck_assert_uint_eq(found.idiag_inode, status.st_ino);
	ck_assert_uint_eq(found.idiag_uid, geteuid());
	ours.sin_port = htons((uint16_t)(ntohs(ours.sin_port) ^ 1));
	ck_assert_int_eq(asked(netlink, &theirs, &ours, &found), -ESRCH);
	fd_close(client);
}
END_TEST

TCase *test_local(void)
{
	TCase *tcase = tcase_create("local");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, who_connects_is_accepted);
	tcase_add_test(tcase, a_dead_ones_name_refuses_and_can_be_replaced);
	tcase_add_test(tcase, a_name_that_is_too_long_is_no_other_name);
	tcase_add_test(tcase, the_kernel_says_whose_an_end_is);
	return tcase;
}
