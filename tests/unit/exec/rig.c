#include "tests/unit/exec/rig.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"

#define NOBODY   65534
#define GUARD_MS 240000

static void become_user(void)
{
	if (geteuid() != 0)
		return;
	ck_assert_int_eq(setgroups(0, NULL), 0);
	ck_assert_int_eq(setresgid(NOBODY, NOBODY, NOBODY), 0);
	ck_assert_int_eq(setresuid(NOBODY, NOBODY, NOBODY), 0);
	/* Changing ids made us unreadable to ourselves under /proc, which a program started as this
	 * user is not. */
	ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 1), 0);
}

static void make_dir(char out[64])
{
	(void)snprintf(out, 64, "/var/tmp/sallyport-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(out));
}

void rig_init(struct rig *rig, int user)
{
	int pair[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);

	*rig = (struct rig){ .output = -1 };
	if (user > 0)
		become_user();
	make_dir(rig->dir);
	make_dir(rig->outside);
	rig->config.cwd = rig->dir;
	rig->loop = loop_new();
	ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
	ck_assert_int_eq(fd_set_nonblocking(pair[0], true), 0);
	for (int fd = 0; fd < 3; fd++) {
		rig->saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
		ck_assert_int_eq(dup2(fd == 0 ? null : pair[1], fd), fd);
	}
	close(pair[1]);
	close(null);
	rig->output = pair[0];
}

static int remove_entry(const char *path, const struct stat *what, int type, struct FTW *at)
{
	return remove(path);
}

void rig_done(struct rig *rig)
{
	exec_process_free(rig->process);
	loop_free(rig->loop);
	for (int fd = 0; fd < 3; fd++) {
		(void)dup2(rig->saved[fd], fd);
		fd_close(rig->saved[fd]);
	}
	for (int i = 0; rig->has_fds && i < EXEC_EGRESS_FDS; i++)
		fd_close(rig->fds[i]);
	fd_close(rig->output);
	(void)nftw(rig->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	(void)nftw(rig->outside, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static int on_egress(int *fds, size_t count, void *arg)
{
	struct rig *rig = arg;

	ck_assert_uint_eq(count, EXEC_EGRESS_FDS);
	rig->egress_count++;
	for (int i = 0; rig->has_fds && i < EXEC_EGRESS_FDS; i++)
		fd_close(rig->fds[i]); /* an earlier run's */
	memcpy(rig->fds, fds, sizeof(rig->fds));
	rig->has_fds = true;
	if (rig->on_ready)
		rig->on_ready(rig);
	return rig->egress_result;
}

static void on_done(const struct exec_process_result *result, void *arg)
{
	struct rig *rig = arg;

	rig->result = *result;
	rig->done_count++;
	if (rig->on_end)
		rig->on_end(rig);
	loop_stop(rig->loop);
}

bool rig_start(struct rig *rig, const char *const *argv)
{
	struct err why = { 0 };

	rig->config.argv = argv;
	rig->process = exec_process_start(rig->loop, &rig->config, on_egress, on_done, rig, &why);
	if (!rig->process)
		(void)snprintf(rig->text, sizeof(rig->text), "%s", why.text);
	return rig->process != NULL;
}

static void on_guard(void *arg)
{
	ck_abort_msg("the command did not end");
}

/* Everything printed so far. Our own copies of the writing end are 1 and 2, so the end of file
 * cannot be waited for. */
static void catch_output(struct rig *rig)
{
	size_t len = strlen(rig->text);
	ssize_t n;

	while ((n = read(rig->output, rig->text + len, sizeof(rig->text) - len - 1)) > 0)
		len += (size_t)n;
	rig->text[len] = '\0';
	ck_assert_uint_lt(len, sizeof(rig->text) - 1);
}

static void on_output(evutil_socket_t fd, short what, void *arg)
{
	catch_output(arg);
}

void rig_wait(struct rig *rig)
{
	struct loop_timer guard = { 0 };
	struct event readable;

	rig->text[0] = '\0';
	event_assign(&readable, loop_base(rig->loop), rig->output, EV_READ | EV_PERSIST, on_output,
		     rig);
	event_add(&readable, NULL);
	loop_timer_start(rig->loop, &guard, GUARD_MS, on_guard, NULL);
	loop_run(rig->loop);
	loop_timer_stop(&guard);
	event_del(&readable);
	catch_output(rig);
	ck_assert_uint_eq(rig->done_count, 1);
	exec_process_free(rig->process);
	rig->process = NULL;
	loop_step(rig->loop); /* nothing is left in it that could call again */
	ck_assert_uint_eq(rig->done_count, 1);
	rig->done_count = 0;
}

const char *rig_sh(struct rig *rig, const char *script)
{
	const char *const argv[] = { "sh", "-c", script, NULL };

	if (!rig_start(rig, argv))
		ck_abort_msg("not started: %s", rig->text);
	rig_wait(rig);
	return rig->text;
}

const char *rig_ok(struct rig *rig, const char *script)
{
	const char *text = rig_sh(rig, script);

	ck_assert_msg(rig->result.end == EXEC_PROCESS_EXITED && rig->result.status == 0,
		      "%s: end %d, status %d, why %s, printed: %s", script, rig->result.end,
		      rig->result.status, rig->result.why, text);
	return text;
}

void rig_make(struct rig *rig, const char *path, const char *text)
{
	auto_free char *full = mem_printf("%s/%s", rig->dir, path);

	for (char *slash = strchr(full + strlen(rig->dir) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		ck_assert(mkdir(full, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	if (!text) {
		ck_assert(mkdir(full, 0755) == 0 || errno == EEXIST);
		return;
	}
	auto_close int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

const char *rig_read(struct rig *rig, const char *path)
{
	static char text[4096];
	auto_free char *full = mem_printf("%s/%s", rig->dir, path);
	auto_close int fd = open(full, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = '\0';
	return text;
}
