#include "tests/unit/exec/test_exec.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "exec/init/read.h"
#include "exec/stages/watch.h"

/* A folder in which `key` is to stay absent; its parent is watched too. */
static struct {
	char base[64], top[80], key[96];
	char *folders[3], *absent[2], *none[1];
	struct wire_plan head;
	struct read_plan plan;
	struct watch watch;
} stage;

static void stage_open(void)
{
	const char *detail;

	(void)snprintf(stage.base, sizeof(stage.base), "/tmp/sallyport-watch-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(stage.base));
	(void)snprintf(stage.top, sizeof(stage.top), "%s/top", stage.base);
	(void)snprintf(stage.key, sizeof(stage.key), "%s/key", stage.top);
	ck_assert_int_eq(mkdir(stage.top, 0700), 0);
	stage.folders[0] = stage.base;
	stage.folders[1] = stage.top;
	stage.absent[0] = stage.key;
	stage.head.counts[WIRE_FOLDERS] = 2;
	stage.head.counts[WIRE_ABSENT] = 1;
	stage.plan.head = &stage.head;
	for (size_t i = 0; i < ARRAY_SIZE(stage.plan.lists); i++)
		stage.plan.lists[i] = stage.none;
	stage.plan.lists[WIRE_FOLDERS] = stage.folders;
	stage.plan.lists[WIRE_ABSENT] = stage.absent;
	stage.watch = (struct watch){ .mounts = -1, .inotify = -1 };
	(void)signal(SIGIO, SIG_IGN); /* dnotify's: the test looks by itself */
	ck_assert_int_eq(watch_begin(&stage.watch, &stage.plan, &detail), 0);
	ck_assert_ptr_null(watch_find_made(&stage.watch, &stage.plan));
}

static void stage_close(void)
{
	for (int fd = WATCH_FD; fd < stage.watch.end; fd++)
		fd_close(fd);
	(void)unlink(stage.key);
	(void)rmdir(stage.top);
	(void)rmdir(stage.base);
}

static void make_key(void)
{
	int fd = open(stage.key, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	fd_close(fd);
}

static bool has_news(void)
{
	struct pollfd inotify = { .fd = stage.watch.inotify, .events = POLLIN };

	return poll(&inotify, 1, 0) == 1;
}

START_TEST(a_created_file_is_found)
{
	stage_open();
	make_key();
	ck_assert_str_eq(watch_find_made(&stage.watch, &stage.plan), stage.key);
	stage_close();
}
END_TEST

/* Another folder has the name of one that is watched: it is watched from the next look on. */
START_TEST(a_folder_made_again_is_watched)
{
	char events[4096];

	stage_open();
	ck_assert_int_eq(rmdir(stage.top), 0);
	ck_assert_ptr_null(watch_find_made(&stage.watch, &stage.plan));
	ck_assert_int_eq(mkdir(stage.top, 0700), 0);
	ck_assert_ptr_null(watch_find_made(&stage.watch, &stage.plan));
	ck_assert_int_ge(stage.watch.inotify, 0);
	while (has_news())
		ck_assert_int_gt((int)read(stage.watch.inotify, events, sizeof(events)), 0);
	make_key();
	ck_assert(has_news());
	ck_assert_str_eq(watch_find_made(&stage.watch, &stage.plan), stage.key);
	stage_close();
}
END_TEST

TCase *test_watch(void)
{
	TCase *tcase = tcase_create("watch");

	tcase_add_test(tcase, a_created_file_is_found);
	tcase_add_test(tcase, a_folder_made_again_is_watched);
	return tcase;
}
