#include <errno.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/page/page.h"
#include "tests/unit/base/test_base.h"

#define OTHER_UID 61234

/* Both ends of a connection on loopback. */
static struct {
	int ours, theirs;
} ends;

static int connected_as(const struct sockaddr_in *address, uid_t uid)
{
	int fd;

	/* The socket belongs to its creator. */
	if (uid != geteuid())
		ck_assert_int_eq(seteuid(uid), 0);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(fd, (const struct sockaddr *)address, sizeof(*address)), 0);
	if (geteuid() != getuid())
		ck_assert_int_eq(seteuid(getuid()), 0);
	return fd;
}

static void connect_as(uid_t uid)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &len), 0);
	ends.theirs = connected_as(&address, uid);
	ends.ours = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ge(ends.ours, 0);
	fd_close(listener);
}

/* A kernel without sock_diag: the table in /proc is read. */
static void without_diag(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	ck_assert_int_eq(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPROTONOSUPPORT), SCMP_SYS(socket),
					  1, SCMP_A0(SCMP_CMP_EQ, AF_NETLINK)),
			 0);
	ck_assert_int_eq(seccomp_load(filter), 0);
	seccomp_release(filter);
	ck_assert_int_lt(socket(AF_NETLINK, SOCK_RAW, 4), 0);
}

static void done(void)
{
	fd_close(ends.ours);
	fd_close(ends.theirs);
}

START_TEST(our_own_end)
{
	if (_i)
		without_diag();
	connect_as(geteuid());
	ck_assert(page_peer_is_ours(ends.ours));
	ck_assert(page_peer_is_ours(ends.theirs)); /* it is symmetrical */
	done();
}
END_TEST

START_TEST(end_of_another)
{
	if (geteuid() != 0)
		return; /* only root can be somebody else */
	connect_as(OTHER_UID);
	if (_i)
		without_diag();
	ck_assert(!page_peer_is_ours(ends.ours));
	done();
}
END_TEST

/* Both tables write root for one that was closed. */
START_TEST(end_that_was_closed)
{
	connect_as(geteuid());
	if (_i)
		without_diag();
	fd_close(ends.theirs);
	ends.theirs = -1;
	ck_assert(!page_peer_is_ours(ends.ours));
	done();
}
END_TEST

START_TEST(no_connection_at_all)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert(!page_peer_is_ours(fd));
	ck_assert(!page_peer_is_ours(-1));
	fd_close(fd);
}
END_TEST

TCase *test_page_peer(void)
{
	TCase *tcase = tcase_create("page peer");

	tcase_add_loop_test(tcase, our_own_end, 0, 2);
	tcase_add_loop_test(tcase, end_of_another, 0, 2);
	tcase_add_loop_test(tcase, end_that_was_closed, 0, 2);
	tcase_add_test(tcase, no_connection_at_all);
	return tcase;
}
