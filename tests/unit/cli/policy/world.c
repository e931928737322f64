#include "cli/agent/command_world.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "tests/unit/cli/policy/world.h"

/* A folder with bin/tool, work/tool, work/plain, work/link -> ../outside, outside. */
static char dir[] = "/tmp/world-XXXXXX";

static char *at(const char *name)
{
	return mem_printf("%s/%s", dir, name);
}

static void put(const char *name, mode_t mode)
{
	auto_free char *path = at(name);
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);

	ck_assert_int_ge(fd, 0);
}

static void setup(void)
{
	auto_free char *bin = NULL, *work = NULL, *link = NULL, *fifo = NULL;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	bin = at("bin");
	work = at("work");
	link = at("work/link");
	fifo = at("work/fifo");
	ck_assert_int_eq(mkdir(bin, 0700), 0);
	ck_assert_int_eq(mkdir(work, 0700), 0);
	put("bin/tool", 0700);
	put("work/tool", 0700);
	put("work/plain", 0600);
	put("outside", 0600);
	ck_assert_int_eq(symlink("../outside", link), 0);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
}

static void teardown(void)
{
	static const char *const names[] = { "bin/tool",  "work/tool", "work/plain",
					     "work/link", "work/fifo", "outside",
					     "bin",       "work",      "" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *path = at(names[i]);

		ck_assert_int_eq(remove(path), 0);
	}
}

/* @path: with % for the folder. @want: the file it is, below the folder; NULL: -errno. */
static const struct {
	const char *path, *name, *want;
	int error;
} names[] = {
	{ "%/bin", "tool", "bin/tool", 0 },
	{ "%/none:%/bin", "tool", "bin/tool", 0 },
	{ "%/work:%/bin", "tool", "work/tool", 0 },
	{ "%/bin", "plain", NULL, -ENOENT },
	{ "%/work", "plain", NULL, -ENOENT }, /* not executable */
	{ "%/bin", "./tool", "work/tool", 0 },
	{ "%/bin", "../bin/tool", "bin/tool", 0 },
	{ "%/bin", "/", NULL, -EACCES },
	{ "%/bin", "", NULL, -ENOENT },
	{ NULL, "tool", NULL, -ENOENT },
	/* a relative entry is the working folder's to fill */
	{ ".:%/bin", "tool", NULL, -EPERM },
	{ ":%/bin", "tool", NULL, -EPERM },
	{ "bin:%/bin", "tool", NULL, -EPERM },
	{ "%/bin:", "none", NULL, -EPERM },
};

/* Each % of @text is the folder. Returned owned; NULL for NULL. */
static char *filled(const char *text)
{
	char *out = text ? mem_strdup("") : NULL;

	for (; text && *text; text++) {
		char one[2] = { *text, '\0' };
		char *longer = mem_printf("%s%s", out, *text == '%' ? dir : one);

		free(out);
		out = longer;
	}
	return out;
}

START_TEST(resolves)
{
	auto_free char *cwd = at("work"), *path = filled(names[_i].path);
	struct command_world_places places = { cwd, path, NULL };
	struct command_world world;
	struct command_file file = { 0 };

	command_world_init(&world, &places);
	int r = world.resolve(names[_i].name, &file, world.arg);

	ck_assert_msg(r == names[_i].error, "%d: %s", _i, strerror(-r));
	if (!names[_i].want)
		return;
	auto_free char *want = at(names[_i].want);
	struct stat status;

	ck_assert_int_eq(stat(want, &status), 0);
	ck_assert_uint_eq(file.inode, status.st_ino);
	ck_assert_uint_eq(file.device, status.st_dev);
}
END_TEST

static const struct {
	const char *path;
	bool want;
} writes[] = {
	{ "plain", true },       { "new", true },        { "%/work/new", true },
	{ "../outside", false }, { "%/outside", false }, { "link", false }, /* leads out */
	{ "fifo", false },                             /* another process has its other end */
	{ "none/x", false },                           /* no such folder */
	{ "../work/x", true },   { "%/workx", false }, /* beside, not below */
	{ ".", false },
};

START_TEST(may_write)
{
	auto_free char *cwd = at("work"), *path = filled(writes[_i].path);
	char *const writable[] = { cwd, NULL };
	struct command_world_places places = { cwd, NULL, writable };
	struct command_world world;

	command_world_init(&world, &places);
	ck_assert_msg(world.may_write(path, world.arg) == writes[_i].want, "%s", path);
	places.writable = NULL;
	ck_assert(!world.may_write(path, world.arg));
}
END_TEST

TCase *world_cases(void)
{
	TCase *cases = tcase_create("world");

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_loop_test(cases, resolves, 0, ARRAY_SIZE(names));
	tcase_add_loop_test(cases, may_write, 0, ARRAY_SIZE(writes));
	return cases;
}
