/* A file that is replaced is the old one or the new one, whatever goes wrong. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/replace.h"
#include "tests/unit/base/test_base.h"

static char folder[64];
static int at;

static void setup(void)
{
	(void)snprintf(folder, sizeof(folder), "/tmp/sallyport-replace-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(at, 0);
}

static int remove_entry(const char *path, const struct stat *what, int type, struct FTW *ftw)
{
	return remove(path);
}

static void teardown(void)
{
	fd_close(at);
	ck_assert_int_eq(nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void holds(const char *name, const char *want)
{
	auto_close int fd = openat(at, name, O_RDONLY | O_CLOEXEC);
	auto_free char *text = NULL;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_read_all(fd, 1 << 20, &text, NULL, NULL), 0);
	ck_assert_str_eq(text, want);
}

static int put(const struct replace *what, const char *text)
{
	return replace_file(what, text, strlen(text));
}

START_TEST(a_file_is_replaced_with_its_mode)
{
	const struct replace what = { at, "file", ".file.new", 0640, true };
	struct stat status;

	ck_assert_int_eq(put(&what, "one"), 0);
	ck_assert_int_eq(put(&what, "two"), 0);
	holds("file", "two");
	ck_assert_int_eq(fstatat(at, "file", &status, 0), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0640);
	ck_assert_int_lt(faccessat(at, ".file.new", F_OK, 0), 0);
}
END_TEST

/* Also a name that a hostile writer made a link of: what it points to is not touched. */
START_TEST(what_a_killed_writer_left_is_no_obstacle)
{
	const struct replace what = { at, "file", ".file.new", 0600, false };

	ck_assert_int_eq(put(&(struct replace){ at, "other", ".x", 0600, false }, "stays"), 0);
	ck_assert_int_eq(symlinkat("other", at, ".file.new"), 0);
	ck_assert_int_eq(put(&what, "new"), 0);
	holds("file", "new");
	holds("other", "stays");
}
END_TEST

START_TEST(the_old_one_stays_when_the_disk_is_full)
{
	const struct replace what = { at, "file", ".file.new", 0600, true };
	const struct rlimit small = { 4, 4 };

	ck_assert_int_eq(put(&what, "old"), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	ck_assert_int_eq(put(&what, "longer than that"), -EFBIG);
	holds("file", "old");
	ck_assert_int_lt(faccessat(at, ".file.new", F_OK, 0), 0);
}
END_TEST

START_TEST(a_new_file_takes_no_place)
{
	const struct replace what = { at, "file", ".file.new", 0600, .is_new = true };

	ck_assert_int_eq(put(&what, "first"), 0);
	ck_assert_int_eq(put(&what, "second"), -EEXIST);
	holds("file", "first");
	ck_assert_int_lt(faccessat(at, ".file.new", F_OK, 0), 0);
}
END_TEST

START_TEST(a_lock_is_waited_for_and_no_longer)
{
	auto_close int other = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_eq(flock(other, LOCK_SH), 0);
	ck_assert_int_eq(replace_lock(at, LOCK_EX, 0), -EWOULDBLOCK);
	ck_assert_int_eq(replace_lock(at, LOCK_EX, 20), -EWOULDBLOCK);
	ck_assert_int_eq(replace_lock(at, LOCK_SH, 0), 0);
	ck_assert_int_eq(flock(other, LOCK_UN), 0);
	ck_assert_int_eq(replace_lock(at, LOCK_EX, 0), 0);
	ck_assert_int_eq(replace_lock(-1, LOCK_EX, 1000), -EBADF);
}
END_TEST

TCase *test_replace(void)
{
	TCase *tcase = tcase_create("replace");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_file_is_replaced_with_its_mode);
	tcase_add_test(tcase, what_a_killed_writer_left_is_no_obstacle);
	tcase_add_test(tcase, the_old_one_stays_when_the_disk_is_full);
	tcase_add_test(tcase, a_new_file_takes_no_place);
	tcase_add_test(tcase, a_lock_is_waited_for_and_no_longer);
	return tcase;
}
