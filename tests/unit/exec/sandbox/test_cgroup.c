#include "tests/unit/exec/test_exec.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "exec/sandbox/cgroup.h"

/* Folders that look like those of the kernel, but for the files that it makes in a new one: so
 * nothing can be limited there, and nothing may be left. What the kernel does is in tests/sandbox.
 */
static char root[64];

static void put(const char *path, const char *text)
{
	auto_free char *all = mem_printf("%s%s", root, path);
	auto_close int fd = open(all, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

static void make(const char *path)
{
	auto_free char *all = mem_printf("%s%s", root, path);

	ck_assert_int_eq(mkdir(all, 0700), 0);
}

static bool is_there(const char *path)
{
	auto_free char *all = mem_printf("%s%s", root, path);

	return access(all, F_OK) == 0;
}

static size_t count(const char *path)
{
	auto_free char *all = mem_printf("%s%s", root, path);
	DIR *directory = opendir(all);
	size_t found = 0;

	ck_assert_ptr_nonnull(directory);
	for (const struct dirent *entry; (entry = readdir(directory));)
		found += strncmp(entry->d_name, "sallyport-", 10) == 0;
	(void)closedir(directory);
	return found;
}

static void begin(const char *handed)
{
	(void)snprintf(root, sizeof(root), "%s", "/tmp/test-cgroup-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	make("/a");
	make("/a/b");
	put("/a/cgroup.subtree_control", handed);
	put("/a/cgroup.procs", "");
	put("/a/b/cgroup.subtree_control", "\n");
	put("/a/b/cgroup.procs", "");
}

static void end(void)
{
	auto_free char *command = mem_printf("rm -r %s", root);

	ck_assert_int_eq(system(command), 0);
}

static pid_t dead_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	return pid;
}

static const struct {
	const char *handed;
	bool is_used; /* then what is dead there is removed */
} groups[] = {
	{ "cpu memory pids\n", true },
	{ "pids", true },
	{ "cpu io\n", false },
	{ "memory_recursiveprot pidsx\n", false },
	{ "", false },
};

START_TEST(the_dead_are_removed_where_controllers_are_handed_down)
{
	begin(groups[_i].handed);
	auto_free char *dead = mem_printf("/a/sallyport-%d-1", (int)dead_process());
	auto_free char *alive = mem_printf("/a/sallyport-%d-999999", (int)getpid());

	make(dead);
	make(alive);
	make("/a/sallyport-1-1");
	make("/a/sallyport-x");
	make("/a/other");
	ck_assert_ptr_null(cgroup_new_at(root, "/a/b", &(struct exec_limits){ 0 }));
	ck_assert(is_there(dead) == !groups[_i].is_used);
	ck_assert(is_there(alive) && is_there("/a/sallyport-1-1") && is_there("/a/sallyport-x") &&
		  is_there("/a/other"));
	ck_assert_uint_eq(count("/a"), groups[_i].is_used ? 3 : 4);
	ck_assert_uint_eq(count("/a/b"), 0);
	end();
}
END_TEST

START_TEST(none_is_none)
{
	const struct exec_limits limits = { 0 };

	ck_assert_ptr_null(cgroup_new_at("/nowhere", "/a", &limits));
	ck_assert_ptr_null(cgroup_new_at("/proc", "", &limits));
	ck_assert_int_eq(cgroup_fd(NULL), -1);
	ck_assert(!cgroup_holds_memory(NULL));
	ck_assert_uint_eq(cgroup_reached(NULL), 0);
	cgroup_free(NULL);
}
END_TEST

TCase *test_cgroup(void)
{
	TCase *tcase = tcase_create("cgroup");

	tcase_add_loop_test(tcase, the_dead_are_removed_where_controllers_are_handed_down, 0,
			    ARRAY_SIZE(groups));
	tcase_add_test(tcase, none_is_none);
	return tcase;
}
