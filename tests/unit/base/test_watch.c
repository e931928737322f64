/* Whatever an editor, a shell or a package manager does to a file is noticed, once for each burst.
 * The clock is the test's, so no burst ends by itself. */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/watch.h"
#include "tests/unit/base/test_base.h"

#define POLLS (WATCH_POLL_MS + WATCH_QUIET_MS)

static struct {
	char folder[64];
	char *file, *drop, *deep; /* a file, a folder of files, a file whose folders are missing */
	struct loop *loop;
	struct watch *watch;
	unsigned int changes;
} it;

static void on_change(void *arg)
{
	it.changes++;
}

static void watch_all(int64_t since_us)
{
	char *paths[] = { it.file, it.drop, it.deep, NULL };

	watch_set(it.watch, paths, since_us);
}

static void write_file(const char *path, const char *text, int flags)
{
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

static void begin(bool may_notify)
{
	memset(&it, 0, sizeof(it));
	(void)snprintf(it.folder, sizeof(it.folder), "/tmp/test-watch-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(it.folder));
	it.file = mem_printf("%s/policy", it.folder);
	it.drop = mem_printf("%s/policy.d", it.folder);
	it.deep = mem_printf("%s/a/b/policy", it.folder);
	write_file(it.file, "old", 0);
	ck_assert_int_eq(mkdir(it.drop, 0700), 0);
	it.loop = loop_new_fake();
	it.watch = watch_new(it.loop, may_notify, on_change, NULL);
	watch_all(0);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	return remove(path);
}

static void end(void)
{
	watch_free(it.watch);
	loop_free(it.loop);
	ck_assert_int_eq(nftw(it.folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	free(it.file);
	free(it.drop);
	free(it.deep);
}

static void in_place(void)
{
	write_file(it.file, "new text", O_TRUNC);
}
static void by_rename(void)
{
	auto_free char *fresh = mem_printf("%s.new", it.file);

	write_file(fresh, "new", 0);
	ck_assert_int_eq(rename(fresh, it.file), 0);
}
/* The old one aside first, as some editors do. */
static void by_backup(void)
{
	auto_free char *backup = mem_printf("%s~", it.file);

	ck_assert_int_eq(rename(it.file, backup), 0);
	write_file(it.file, "newer", O_EXCL);
}
static void by_removal(void)
{
	ck_assert_int_eq(unlink(it.file), 0);
}
static void by_mode(void)
{
	ck_assert_int_eq(chmod(it.file, 0622), 0);
}
static void by_link(void)
{
	auto_free char *other = mem_printf("%s.other", it.file);

	write_file(other, "other", 0);
	ck_assert_int_eq(unlink(it.file), 0);
	ck_assert_int_eq(link(other, it.file), 0);
}
static void in_the_folder(void)
{
	auto_free char *path = mem_printf("%s/10-team.policy", it.drop);

	write_file(path, "version 1\n", 0);
}
static void folder_removed(void)
{
	ck_assert_int_eq(rmdir(it.drop), 0);
}

static const struct {
	void (*fn)(void);
	bool is_whole; /* it cannot be half of something */
} deeds[] = {
	{ in_place, true },       { by_rename, true },       { by_backup, false },
	{ by_removal, false },    { by_mode, true },         { by_link, false },
	{ in_the_folder, false }, { folder_removed, false },
};
#define DEEDS (int)(sizeof(deeds) / sizeof(deeds[0]))

START_TEST(every_way_to_change_a_file_is_seen)
{
	begin(true);
	loop_advance(it.loop, POLLS);
	ck_assert_uint_eq(it.changes, 0);
	deeds[_i].fn();
	loop_step(it.loop);
	ck_assert_uint_eq(it.changes, 0); /* it may go on */
	loop_advance(it.loop, WATCH_QUIET_MS);
	ck_assert_uint_eq(it.changes, deeds[_i].is_whole);
	loop_advance(it.loop, WATCH_SETTLE_MS);
	ck_assert_uint_eq(it.changes, 1);
	loop_advance(it.loop, POLLS);
	ck_assert_uint_eq(it.changes, 1);
	end();
}
END_TEST

START_TEST(and_by_looking)
{
	begin(false);
	loop_advance(it.loop, 3 * POLLS);
	ck_assert_uint_eq(it.changes, 0);
	deeds[_i].fn();
	loop_advance(it.loop, POLLS);
	ck_assert_uint_eq(it.changes, 1);
	loop_advance(it.loop, 3 * POLLS);
	ck_assert_uint_eq(it.changes, 1);
	end();
}
END_TEST

/* Its folders come one after the other, and each is watched from when it is there. */
START_TEST(a_file_that_comes_with_its_folders_is_seen)
{
	auto_free char *first = NULL, *second = NULL;

	begin(_i == 0);
	first = mem_printf("%s/a", it.folder);
	second = mem_printf("%s/a/b", it.folder);
	ck_assert_int_eq(mkdir(first, 0700), 0);
	loop_advance(it.loop, POLLS);
	if (_i == 0)
		ck_assert_uint_eq(it.changes, 1);
	watch_all(0);
	ck_assert_int_eq(mkdir(second, 0700), 0);
	loop_advance(it.loop, POLLS);
	watch_all(0);
	it.changes = 0;
	write_file(it.deep, "new", 0);
	loop_advance(it.loop, POLLS);
	ck_assert_uint_eq(it.changes, 1);
	end();
}
END_TEST

START_TEST(what_happens_beside_it_is_nothing)
{
	auto_free char *other = NULL;

	begin(_i == 0);
	other = mem_printf("%s/other", it.folder);
	write_file(other, "x", 0);
	write_file(other, "y", O_TRUNC);
	ck_assert_int_eq(unlink(other), 0);
	loop_advance(it.loop, POLLS);
	ck_assert_uint_eq(it.changes, 0);
	end();
}
END_TEST

START_TEST(a_burst_is_one_change_and_ends)
{
	begin(true);
	for (int at = 0; at < WATCH_BURST_MS - WATCH_QUIET_MS; at += WATCH_QUIET_MS / 2) {
		in_place();
		loop_step(it.loop);
		ck_assert_uint_eq(it.changes, 0);
		loop_advance(it.loop, WATCH_QUIET_MS / 2);
	}
	for (int at = 0; at < 4; at++) { /* also of one that goes on */
		in_place();
		loop_step(it.loop);
		loop_advance(it.loop, WATCH_QUIET_MS / 2);
	}
	ck_assert_uint_ge(it.changes, 1);
	loop_advance(it.loop, WATCH_QUIET_MS);
	ck_assert_uint_le(it.changes, 2);
	end();
}
END_TEST

/* Between reading and watching. */
START_TEST(what_changed_before_the_watch_counts)
{
	struct timespec now;
	int64_t now_us;

	begin(true);
	ck_assert_int_eq(clock_gettime(CLOCK_REALTIME, &now), 0);
	now_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
	if (_i == 0)
		in_place();
	else if (_i == 1)
		by_removal();
	watch_all(_i == 2 ? now_us + 60 * 1000000 : now_us);
	loop_advance(it.loop, WATCH_QUIET_MS);
	ck_assert_uint_eq(it.changes, _i < 2);
	end();
}
END_TEST

TCase *test_watch(void)
{
	TCase *tcase = tcase_create("watch");

	tcase_add_loop_test(tcase, every_way_to_change_a_file_is_seen, 0, DEEDS);
	tcase_add_loop_test(tcase, and_by_looking, 0, DEEDS);
	tcase_add_loop_test(tcase, a_file_that_comes_with_its_folders_is_seen, 0, 2);
	tcase_add_loop_test(tcase, what_happens_beside_it_is_nothing, 0, 2);
	tcase_add_test(tcase, a_burst_is_one_change_and_ends);
	tcase_add_loop_test(tcase, what_changed_before_the_watch_counts, 0, 3);
	return tcase;
}
