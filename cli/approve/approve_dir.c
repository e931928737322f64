#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/net/local.h"
#include "cli/approve/approve.h"
#include "cli/cli.h"
#include "cli/session/session_place.h"
#include "cli/session/session_wire.h"
#include "gateway/gateway_tools.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIR_RUNS_MAX 1024 /* entries that are read */

int approve_dir_open(struct err *why)
{
	auto_free char *path = gateway_control_dir(why);
	struct stat st;

	if (!path)
		return -EACCES;

	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_errno(why, errno, "cannot open %s", path);
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		return err_set(why, -EPERM,
			       "%s must be your own folder, closed to all others (mode 0700)",
			       path);
	return fd_take(&fd);
}

/* "RUN.sock" -> RUN. Owned; NULL: not a name of this form. A hidden one is not listening yet. */
static char *dir_run_of(const char *name)
{
	size_t len = strlen(name);

	if (name[0] == '.' || len <= 5 || len - 5 >= APPROVE_RUN_MAX ||
	    strcmp(name + len - 5, APPROVE_SUFFIX) != 0)
		return NULL;
	return mem_strndup(name, len - 5);
}

static int runs_of_session(const char *session, char ***ret_runs, struct err *why)
{
	struct session_state state;
	int r = session_place_find(session, &state, why);

	if (r == -ENOENT)
		return err_set(why, r, "there is no session %s", session);
	if (r < 0)
		return r;
	*ret_runs = mem_new_array(2, sizeof(**ret_runs));
	(*ret_runs)[0] = mem_strdup(state.id);
	return 0;
}

int approve_dir_fail(int r, const struct err *why)
{
	return cli_fail(r == -ENOENT ? CLI_DENIED : CLI_ERROR, "%s", why->text);
}

int approve_dir_check(int dir_fd, const char *session, const char *run, const char *what)
{
	auto_free_list char **runs = NULL;
	struct err why = { 0 };
	int r = session ? approve_dir_runs(dir_fd, session, &runs, &why) : 0;

	if (r < 0)
		return approve_dir_fail(r, &why);
	return !session || strcmp(runs[0], run) == 0
		       ? CLI_OK
		       : cli_fail(CLI_DENIED, "%s does not belong to session %s", what, session);
}

int approve_dir_runs(int dir_fd, const char *session, char ***ret_runs, struct err *why)
{
	if (session)
		return runs_of_session(session, ret_runs, why);
	auto_free_list char **runs = mem_new_array(DIR_RUNS_MAX + 1, sizeof(*runs));
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	size_t count = 0;

	if (!dir) {
		fd_close(fd);
		return err_errno(why, errno, "cannot read the control directory");
	}
	while (count < DIR_RUNS_MAX && (entry = readdir(dir))) {
		runs[count] = dir_run_of(entry->d_name);
		if (runs[count])
			count++;
	}
	(void)closedir(dir); /* was only read */
	*ret_runs = take(runs);
	return 0;
}

char **cli_run_ids(void)
{
	auto_close int fd = approve_dir_open(NULL);
	char **runs = NULL;

	return fd >= 0 && approve_dir_runs(fd, NULL, &runs, NULL) == 0 ? runs : NULL;
}

/* Other users cannot make a socket in this directory, but the process that listens must be ours as
 * well. */
static int dir_check_server(int dir_fd, const char *name, int fd, struct err *why)
{
	struct stat st;
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_errno(why, errno, "cannot read the attributes of %s", name);
	if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return err_set(why, -EPERM, "%s is not your own socket", name);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.uid != geteuid())
		return err_set(why, -EPERM, "another user serves %s", name);
	return 0;
}

/* Nobody listens at @name: the run has ended, and was killed if its sockets are still there. */
static void dir_forget(int dir_fd, const char *run, const char *name)
{
	auto_free char *other = mem_printf("%s" APPROVE_INTO_SUFFIX, run);

	(void)unlinkat(dir_fd, name, 0);
	if (strcmp(name + strlen(run), APPROVE_SUFFIX) == 0)
		(void)unlinkat(dir_fd, other, 0); /* often it is not there */
}

int approve_dir_connect_to(int dir_fd, const char *run, const char *suffix, int type, int limit_ms,
			   struct err *why)
{
	auto_free char *name = mem_printf("%s%s", run, suffix);
	auto_close int fd = local_connect(dir_fd, name, type, limit_ms);

	if (fd == -ECONNREFUSED)
		dir_forget(dir_fd, run, name);
	if (fd < 0)
		return err_errno(why, -fd, "cannot reach run %s", run);
	int r = dir_check_server(dir_fd, name, fd, why);
	return r < 0 ? r : fd_take(&fd);
}

int approve_dir_connect(int dir_fd, const char *run, int limit_ms, struct err *why)
{
	return approve_dir_connect_to(dir_fd, run, APPROVE_SUFFIX, SOCK_STREAM, limit_ms, why);
}
