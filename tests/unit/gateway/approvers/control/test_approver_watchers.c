#include "tests/unit/gateway/approvers/test_approver.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "gateway/approvers/control/control.h"

static struct gateway gw;
static char file[128];

static void setup(void)
{
	auto_free char *dir = NULL;

	gw = (struct gateway){ .dir = "/tmp/test-approver-XXXXXX" };
	ck_assert_ptr_nonnull(mkdtemp(gw.dir));
	dir = mem_printf("%s/watchers", gw.dir);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	(void)snprintf(file, sizeof(file), "%s/watchers/%d", gw.dir, (int)getpid());
	gw.config.control_dir = gw.dir;
	fake_open(&gw, &control_approver);
}

static void teardown(void)
{
	auto_free char *dir = mem_printf("%s/watchers", gw.dir);

	fake_close(&gw);
	(void)unlink(file); /* not every test makes it */
	ck_assert_int_eq(rmdir(dir), 0);
	ck_assert_int_eq(rmdir(gw.dir), 0);
}

static int watcher_lock(void)
{
	int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	return fd;
}

static int watcher_connect(void)
{
	static const char line[] = "{\"id\":1,\"op\":\"watch\"}\n";
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/7f3a.sock", gw.dir);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_gt(send(fd, line, sizeof(line) - 1, 0), 0);
	fake_settle(&gw);
	return fd;
}

static bool is_attached(void)
{
	return gw.ops->is_attached(gw.approver);
}

START_TEST(file_without_lock_is_nobody)
{
	fd_close(watcher_lock());
	ck_assert(!is_attached());
}
END_TEST

START_TEST(other_names_are_nobody)
{
	auto_free char *name = mem_printf("%s/watchers/%dx", gw.dir, (int)getpid());

	(void)snprintf(file, sizeof(file), "%s", name);
	int fd = watcher_lock();
	ck_assert(!is_attached());
	fd_close(fd);
}
END_TEST

START_TEST(live_watcher_is_waited_for)
{
	int fd = watcher_lock();

	ck_assert(is_attached());
	fake_ask(&gw, "7f3a-1", "a.test");
	loop_advance(gw.loop, CONTROL_GRACE_MS - 1);
	ck_assert(is_attached());
	ck_assert_uint_eq(gw.changed_count, 0);

	int link = watcher_connect();
	ck_assert_uint_eq(gw.changed_count, 1);
	loop_advance(gw.loop, 10 * CONTROL_GRACE_MS);
	ck_assert(is_attached());
	ck_assert_uint_eq(gw.changed_count, 1);
	fd_close(link);
	fd_close(fd);
}
END_TEST

START_TEST(grace_ends)
{
	int fd = watcher_lock();

	fake_ask(&gw, "7f3a-1", "a.test");
	loop_advance(gw.loop, CONTROL_GRACE_MS);
	ck_assert_uint_eq(gw.changed_count, 1);
	ck_assert(!is_attached());
	fake_ask(&gw, "7f3a-2", "b.test"); /* and is not begun again by the next question */
	ck_assert(!is_attached());

	int link = watcher_connect();
	ck_assert(is_attached());
	fd_close(link);
	fd_close(fd);
}
END_TEST

START_TEST(watcher_dies_in_the_grace)
{
	int fd = watcher_lock();

	fake_ask(&gw, "7f3a-1", "a.test");
	fd_close(fd);
	ck_assert(!is_attached());
	loop_advance(gw.loop, CONTROL_GRACE_MS);
	ck_assert_uint_eq(gw.changed_count, 1);
}
END_TEST

/* It holds its file still, but it hung up: it is not waited for again. */
START_TEST(watcher_that_left)
{
	int fd = watcher_lock();
	int link = watcher_connect();

	fake_ask(&gw, "7f3a-1", "a.test");
	fd_close(link);
	fake_settle(&gw);
	ck_assert(!is_attached());
	ck_assert_uint_eq(gw.changed_count, 2);

	link = watcher_connect();
	ck_assert(is_attached());
	fd_close(link);
	fd_close(fd);
}
END_TEST

Suite *suite_control_watchers(void)
{
	Suite *suite = suite_create("watchers");
	TCase *tcase = tcase_create("watchers");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, file_without_lock_is_nobody);
	tcase_add_test(tcase, other_names_are_nobody);
	tcase_add_test(tcase, live_watcher_is_waited_for);
	tcase_add_test(tcase, grace_ends);
	tcase_add_test(tcase, watcher_dies_in_the_grace);
	tcase_add_test(tcase, watcher_that_left);
	suite_add_tcase(suite, tcase);
	return suite;
}
