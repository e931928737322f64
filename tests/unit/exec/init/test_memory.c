#include "tests/unit/exec/test_exec.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "exec/init/memory.h"

#define MIB (1024 * 1024)

/* Processes that use 900 MiB together, on machines that have more or less available. */
static const struct {
	const char *available; /* of /proc/meminfo */
	uint64_t all, left;
	bool is_over;
} measures[] = {
	{ "4000000 kB", 1000, 0, false },
	{ "4000000 kB", 800, 0, true }, /* a limit of the policy */
	/* The default: only if the machine is short of memory. */
	{ "4000000 kB", 800, 2000, false },
	{ "2048001 kB", 800, 2000, false },
	{ "2047999 kB", 800, 2000, true },
	{ "1000 kB", 800, 2000, true },
	{ "1000 kB", 1000, 2000, false },
};

static void put(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_msg(fd >= 0 && fd_write_all(fd, text, strlen(text)) == 0, "%s", path);
}

/* A /proc of two processes, in a mount namespace of its own, which this process may make. */
static void make_proc(const char *available)
{
	char text[256];
	auto_free char *users = mem_printf("0 %u 1", (unsigned int)getuid());
	auto_free char *groups = mem_printf("0 %u 1", (unsigned int)getgid());

	ck_assert_int_eq(unshare(CLONE_NEWUSER | CLONE_NEWNS), 0);
	put("/proc/self/uid_map", users);
	put("/proc/self/setgroups", "deny");
	put("/proc/self/gid_map", groups);
	ck_assert_int_eq(mount("proc", "/proc", "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(mkdir("/proc/1", 0700) | mkdir("/proc/23", 0700), 0);
	ck_assert_int_eq(symlink("1", "/proc/self"), 0);
	put("/proc/1/status", "Name:\tinit\nVmRSS:\t9999999 kB\nRssAnon:\t  102400 kB\n");
	put("/proc/23/status", "VmSwap:\t307200 kB\nRssShmem:\t204800 kB\nRssAnon:\t307200 kB\n");
	(void)snprintf(text, sizeof(text),
		       "MemTotal: 8000000 kB\nMemFree: 1 kB\nMemAvailable: %s\n", available);
	put("/proc/meminfo", text);
}

static int measure(size_t i)
{
	const struct wire_limits limits = { .memory_all = measures[i].all * MIB,
					    .memory_left = measures[i].left * MIB };
	char *mounts[] = { NULL };
	struct memory memory;
	bool is_over = false;

	make_proc(measures[i].available);
	memory_begin(&memory, &limits);
	ck_assert_int_ge((int)memory.proc, 0);
	memory.due_ms = 0;
	while (!is_over && memory.due_ms == 0) /* until the round has ended */
		is_over = memory_is_over(&memory, &limits, mounts);
	return is_over == measures[i].is_over ? 0 : 1;
}

START_TEST(the_default_counts_only_on_a_short_machine)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(measure((size_t)_i));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

TCase *test_memory(void)
{
	TCase *tcase = tcase_create("memory");

	tcase_add_loop_test(tcase, the_default_counts_only_on_a_short_machine, 0,
			    ARRAY_SIZE(measures));
	return tcase;
}
