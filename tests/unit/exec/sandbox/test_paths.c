#include "tests/unit/exec/test_exec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/sandbox/paths.h"

static const struct {
	const char *path, *directory;
	bool want;
} within[] = {
	{ "/a", "/a", true },    { "/a/b", "/a", true }, { "/ab", "/a", false },
	{ "/a", "/a/b", false }, { "/a", "/", true },    { "/", "/", true },
	{ "/", "/a", false },
};

START_TEST(knows_what_is_within)
{
	ck_assert_int_eq(paths_is_within(within[_i].path, within[_i].directory), within[_i].want);
}
END_TEST

START_TEST(finds_the_innermost_holder)
{
	struct paths paths = { 0 };

	ck_assert_ptr_null(paths_holder(&paths, "/a"));
	paths_add(&paths, "/a/b");
	paths_add(&paths, "/a");
	ck_assert_str_eq(paths_holder(&paths, "/a/b/c"), "/a/b");
	ck_assert_str_eq(paths_holder(&paths, "/a/c"), "/a");
	ck_assert_ptr_null(paths_holder(&paths, "/c"));
	paths_sort(&paths);
	ck_assert_str_eq(paths.list[0], "/a");
	ck_assert(paths_has(&paths, "/a/b"));
	ck_assert(!paths_has(&paths, "/a/b/c"));
	paths_done(&paths);
}
END_TEST

/* In a directory with: real/deep, link -> real, absolute -> DIR/real, loop -> loop, up -> ../,
 * file. */
static const struct {
	const char *path, *want; /* both after the directory */
	int code;
} resolved[] = {
	{ "", "", 0 },
	{ "/real/deep", "/real/deep", 0 },
	{ "//real/./deep/", "/real/deep", 0 },
	{ "/real/../real", "/real", 0 },
	{ "/link/deep", "/real/deep", 0 },
	{ "/link/..", "", 0 }, /* of the target, as the kernel has it */
	{ "/absolute/deep", "/real/deep", 0 },
	{ "/absent", "/absent", -ENOENT },
	{ "/absent/x/y", "/absent/x/y", -ENOENT },
	{ "/link/absent", "/real/absent", -ENOENT },
	{ "/loop", NULL, -ELOOP },
	{ "/file/x", NULL, -ENOTDIR },
};

static void make_tree(char out[64])
{
	(void)snprintf(out, 64, "/var/tmp/sallyport-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(out));
	ck_assert_int_eq(chdir(out), 0);
	ck_assert_int_eq(mkdir("real", 0755), 0);
	ck_assert_int_eq(mkdir("real/deep", 0755), 0);
	ck_assert_int_eq(symlink("real", "link"), 0);
	auto_free char *absolute = mem_printf("%s/real", out);

	ck_assert_int_eq(symlink(absolute, "absolute"), 0);
	ck_assert_int_eq(symlink("loop", "loop"), 0);
	FILE *file = fopen("file", "w");

	ck_assert_ptr_nonnull(file);
	(void)fclose(file);
}

static void remove_tree(const char *dir)
{
	static const char *const entries[] = { "file", "loop",      "absolute",
					       "link", "real/deep", "real" };

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		ck_assert_int_eq(remove(entries[i]), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}

START_TEST(resolves)
{
	char dir[64];
	char *found = NULL;
	struct err why = { 0 };

	make_tree(dir);
	auto_free char *path = mem_printf("%s%s", dir, resolved[_i].path);

	ck_assert_int_eq(paths_resolve(path, NULL, &found, &why), resolved[_i].code);
	if (resolved[_i].want) {
		auto_free char *want = mem_printf("%s%s", dir, resolved[_i].want);

		ck_assert_str_eq(found, want);
	} else {
		ck_assert_ptr_null(found);
	}
	free(found);
	remove_tree(dir);
}
END_TEST

START_TEST(refuses_a_link_the_command_could_turn)
{
	struct paths writable = { 0 };
	char dir[64];
	char *found = NULL;
	struct err why = { 0 };

	make_tree(dir);
	paths_add(&writable, dir);
	auto_free char *direct = mem_printf("%s/real/deep", dir);
	auto_free char *by_link = mem_printf("%s/link/deep", dir);

	ck_assert_int_eq(paths_resolve(direct, &writable, &found, &why), 0);
	free(found);
	ck_assert_int_eq(paths_resolve(by_link, &writable, &found, &why), -ELOOP);
	ck_assert_ptr_nonnull(strstr(why.text, "symbolic link"));
	paths_done(&writable);
	remove_tree(dir);
}
END_TEST

START_TEST(refuses_what_is_no_absolute_path)
{
	struct err why = { 0 };
	char *found = NULL;
	auto_free char *large = mem_new(5001);

	memset(large, '/', 5000);
	ck_assert_int_eq(paths_resolve("a/b", NULL, &found, &why), -EINVAL);
	ck_assert_int_eq(paths_resolve("", NULL, &found, &why), -EINVAL);
	ck_assert_int_eq(paths_resolve(large, NULL, &found, &why), -ENAMETOOLONG);
	memset(large + 1, 'x', 3000); /* one component past NAME_MAX */
	large[3001] = '\0';
	ck_assert_int_eq(paths_resolve(large, NULL, &found, &why), -ENAMETOOLONG);
	ck_assert_ptr_null(found);
}
END_TEST

TCase *test_paths(void)
{
	TCase *tcase = tcase_create("paths");

	tcase_add_loop_test(tcase, knows_what_is_within, 0, ARRAY_SIZE(within));
	tcase_add_test(tcase, finds_the_innermost_holder);
	tcase_add_loop_test(tcase, resolves, 0, ARRAY_SIZE(resolved));
	tcase_add_test(tcase, refuses_a_link_the_command_could_turn);
	tcase_add_test(tcase, refuses_what_is_no_absolute_path);
	return tcase;
}
