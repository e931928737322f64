#include "tests/unit/exec/test_exec.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "tests/unit/exec/rig.h"

/* What is asked, over directories made in the working directory (% in what follows): a/b/c, policy
 * (a file), and link -> a. */
static const struct {
	const char *hidden, *read_only, *writable;
	const char *lines;  /* those with writable, pinned, hidden and read-only below %, sorted as
			       printed */
	const char *theirs; /* where other commands may write */
	const char *cwd;    /* NULL: % */
} views[] = {
	{ NULL, NULL, NULL, "writable   %\n" },
	{ "%/a", NULL, NULL, "writable   %\nhidden     %/a\n" },
	{ "%/a/b/c", NULL, NULL,
	  "writable   %\npinned     %/a\npinned     %/a/b\nhidden     %/a/b/c\n" },
	{ NULL, "%/a/b", NULL, "writable   %\npinned     %/a\nread-only  %/a/b\n" },
	{ NULL, "%/policy", NULL, "writable   %\nread-only  %/policy\n" },
	{ "%/a", "%/a/b", NULL, "writable   %\nhidden     %/a\n" }, /* hidden covers it */
	{ "/usr/bin", "/usr/lib", NULL,
	  "writable   %\nhidden     /usr/bin\n" },      /* read-only already */
	{ "/tmp/x", "/run/x", NULL, "writable   %\n" }, /* empty inside */
	{ NULL, "/usr/absent", NULL, "writable   %\n" },
	/* not there: it stays so */
	{ "/usr/absent", NULL, NULL, "writable   %\nabsent     /usr/absent\n" },
	{ "%/absent", NULL, NULL, "writable   %\nabsent     %/absent\n" },
	{ "%/a/b/absent/x", NULL, NULL,
	  "writable   %\npinned     %/a\npinned     %/a/b\nabsent     %/a/b/absent/x\n" },
	{ "/tmp/absent", NULL, NULL, "writable   %\n" },
	{ NULL, NULL, "%/a", "writable   %\nwritable   %/a\n" },
	{ "%/a/b/c", NULL, "%/a/b",
	  "writable   %\nwritable   %/a/b\npinned     %/a\nhidden     %/a/b/c\n" },
	{ NULL, NULL, "%/link",
	  "writable   %\nwritable   %/a\n" }, /* the person's own choice, made now */
	{ NULL, NULL, "%/a", "writable   %\nwritable   %/a\n", .theirs = "%" },
	{ NULL, NULL, "%/link", "writable   %\nwritable   %/a\n", .theirs = "%/a" },
	/* refused */
	{ NULL, NULL, "%/link", "refused    %/link: a symbolic link", .theirs = "%" },
	{ NULL, NULL, "%/link/b", "refused    %/link/b: a symbolic link", .theirs = "/" },
	{ NULL, NULL, NULL, "refused    %/link/b: a symbolic link", .theirs = "%",
	  .cwd = "%/link/b" },
	{ NULL, "%/absent/x", NULL,
	  "refused    %/absent/x does not exist, and the command could create it" },
	{ "%", NULL, NULL,
	  "refused    the command cannot use %: the gate keeps its own files in %" },
	{ "/var/tmp", NULL, NULL, "refused    the command cannot use %" },
	{ "%/a", NULL, "%/a/b", "refused    the command cannot use %/a/b" },
	{ NULL, "%/a", "%/a/b", "refused    the command cannot use %/a/b" },
	{ "%/link/b", NULL, NULL,
	  "refused    %/link/b: a symbolic link" }, /* prefixed: see below */
	{ NULL, NULL, "/", "refused    / cannot be writable" },
	{ NULL, NULL, "/proc", "refused    /proc cannot be writable" },
	{ NULL, NULL, "/sys/fs", "refused    /sys/fs cannot be writable" },
	{ NULL, NULL, "/dev", "refused    /dev cannot be writable" },
	{ NULL, NULL, "/run", "refused    /run cannot be writable" },
	{ NULL, NULL, "%/policy", "writable   %\nwritable   %/policy\n" },
	{ NULL, NULL, "%/absent", "refused    " },
	{ NULL, NULL, "relative", "refused    " },
};

static char *fill_in(const char *text, const char *dir)
{
	char *out = mem_new(4096);
	size_t len = 0;

	for (; text && *text && len < 3000; text++)
		if (*text == '%')
			len += (size_t)snprintf(out + len, 64, "%s", dir);
		else
			out[len++] = *text;
	return out;
}

/* The lines about writable, pinned, hidden and absent paths, and read-only ones but "/". */
static char *lines_about_files(const char *text)
{
	static const char *const words[] = { "writable   ", "pinned     ", "hidden     ",
					     "read-only  ", "absent     ", "refused    " };
	char *out = mem_new(strlen(text) + 1);

	while (*text) {
		size_t len = strcspn(text, "\n") + 1;

		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			if (strncmp(text, words[i], 11) == 0 &&
			    strncmp(text, "read-only  /\n", 13) != 0)
				strncat(out, text, len);
		text += len;
	}
	return out;
}

START_TEST(plans_the_view)
{
	struct rig rig;

	rig_init(&rig, 0);
	rig_make(&rig, "a/b/c", NULL);
	rig_make(&rig, "policy", "x");
	auto_free char *link = mem_printf("%s/link", rig.dir);
	auto_free char *hidden = fill_in(views[_i].hidden, rig.dir);
	auto_free char *read_only = fill_in(views[_i].read_only, rig.dir);
	auto_free char *writable = fill_in(views[_i].writable, rig.dir);
	auto_free char *want = fill_in(views[_i].lines, rig.dir);
	auto_free char *theirs = fill_in(views[_i].theirs, rig.dir);
	auto_free char *cwd = fill_in(views[_i].cwd, rig.dir);

	ck_assert_int_eq(symlink("a", link), 0);
	rig.config.argv = (const char *const[]){ "true", NULL };
	rig.config.hidden = (const char *const[]){ views[_i].hidden ? hidden : NULL, NULL };
	rig.config.read_only =
		(const char *const[]){ views[_i].read_only ? read_only : NULL, NULL };
	rig.config.writable = (const char *const[]){ views[_i].writable ? writable : NULL, NULL };
	rig.config.theirs = (const char *const[]){ views[_i].theirs ? theirs : NULL, NULL };
	if (views[_i].cwd)
		rig.config.cwd = cwd;
	auto_free char *text = exec_plan_text(&rig.config, NULL);
	auto_free char *lines = lines_about_files(text);

	if (strncmp(want, "refused", 7) == 0) {
		ck_assert_msg(strncmp(lines, "refused    ", 11) == 0 && strstr(lines, want + 11),
			      "%s", lines);
		ck_assert(!rig_start(&rig, rig.config.argv)); /* and it is */
	} else {
		ck_assert_str_eq(lines, want);
	}
	rig_done(&rig);
}
END_TEST

START_TEST(prints_the_plan)
{
	static const char *const wanted[] = {
		"command    sh -c 'echo \\\\x1b'\n",
		"namespaces user net mount pid ipc uts cgroup\n",
		"proxy      http 127.0.0.1:61128\n",
		"proxy      socks5h 127.0.0.1:61080\n",
		"read-only  /\n",
		"fresh      /tmp\n",
		"fresh      /proc\n",
		"env        HTTP_PROXY=http://127.0.0.1:61128\n",
		"env        SALLYPORT_ACTIVE=1\n",
		"filters    Landlock, seccomp\n",
	};
	struct rig rig;

	rig_init(&rig, 0);
	rig.config.argv = (const char *const[]){ "sh", "-c", "echo \\x1b", NULL };
	auto_free char *text = exec_plan_text(&rig.config, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		ck_assert_msg(strstr(text, wanted[i]), "%s is not in %s", wanted[i], text);
	rig_done(&rig);
}
END_TEST

/* What may stand on 0–2. */
enum thing {
	CLOSED,
	DIRECTORY,
	INET,
	INET_CONNECTED,
	NETLINK,
	EPOLL,
	PROTECTED,
	MEMORY,
	NAMESPACE,
	OF_MACHINE,
	UNIX,
	PIPE,
	REGULAR,
	DEVICE
};

static const struct {
	enum thing thing;
	const char *why; /* NULL: it may */
} things[] = {
	{ CLOSED, "is not open" },
	{ DIRECTORY, "is a directory" },
	{ INET, "network socket" },
	{ INET_CONNECTED, "network socket" },
	{ NETLINK, "network socket" },
	{ EPOLL, "is not a file" },
	{ PROTECTED, "which the gate protects" },
	{ MEMORY, "the memory of a process" },
	{ NAMESPACE, "is a namespace" },
	{ OF_MACHINE, NULL },
	{ UNIX, NULL },
	{ PIPE, NULL },
	{ REGULAR, NULL },
	{ DEVICE, NULL },
};

static int make_thing(struct rig *rig, enum thing thing)
{
	auto_free char *path = mem_printf("%s/file", rig->dir);
	int pair[2] = { -1, -1 };

	rig_make(rig, "file", "x");
	switch (thing) {
	case CLOSED:
		return -1;
	case DIRECTORY:
		return open(rig->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	case INET:
	case INET_CONNECTED:
		return socket(thing == INET ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	case NETLINK:
		return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
	case EPOLL:
		return epoll_create1(EPOLL_CLOEXEC);
	case PROTECTED:
	case REGULAR:
		return open(path, O_RDONLY | O_CLOEXEC);
	case MEMORY:
		return open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	case NAMESPACE:
		return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	case OF_MACHINE:
		return open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	case UNIX:
		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
		break;
	case PIPE:
		ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
		break;
	case DEVICE:
	default:
		return open("/dev/zero", O_RDWR | O_CLOEXEC);
	}
	fd_close(pair[1]);
	return pair[0];
}

START_TEST(looks_at_what_is_inherited)
{
	static const char *const names[] = { "stdin", "stdout", "stderr" };
	int at = _i / 3, on = _i % 3;
	auto_free char *path = NULL;
	struct rig rig;

	rig_init(&rig, 0);
	path = mem_printf("%s/file", rig.dir);
	const char *const protected[] = { path, NULL };
	auto_close int fd = make_thing(&rig, things[at].thing);

	if (things[at].thing == PROTECTED)
		rig.config.read_only = protected;
	auto_close int before = fcntl(on, F_DUPFD_CLOEXEC, 10);

	if (fd < 0)
		close(on);
	else
		ck_assert_int_eq(dup2(fd, on), on);
	bool is_started = rig_start(&rig, (const char *const[]){ "true", NULL });

	ck_assert_int_eq(dup2(before, on), on);
	ck_assert_int_eq(is_started, things[at].why == NULL);
	if (!is_started) {
		ck_assert_msg(strstr(rig.text, things[at].why), "%s", rig.text);
		ck_assert_msg(strstr(rig.text, names[on]) == rig.text, "%s", rig.text);
	}
	rig_done(&rig);
}
END_TEST

TCase *test_plan(void)
{
	TCase *tcase = tcase_create("plan");

	tcase_add_loop_test(tcase, plans_the_view, 0, ARRAY_SIZE(views));
	tcase_add_test(tcase, prints_the_plan);
	tcase_add_loop_test(tcase, looks_at_what_is_inherited, 0, (int)ARRAY_SIZE(things) * 3);
	return tcase;
}
