#include "exec/sandbox/plan_make.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/sandbox/env.h"
#include "exec/exec_egress.h"
#include "exec/exec_made.h"
#include "exec/exec_plan.h"
#include "exec/sandbox/caches.h"
#include "exec/sandbox/files.h"
#include "exec/sandbox/mounts.h"
#include "exec/sandbox/plan.h"
#include "exec/view/seen.h"
#include "exec/view/view.h"
#include "exec/run/wire.h"

static const char *const stdio_names[] = { "stdin", "stdout", "stderr" };

/* The other end of a network socket may be anywhere. A Unix socket was made by the process that
 * started us, like a pipe; but it resolves names in the namespace it was created in, so only one
 * that is connected permanently is safe. */
static int check_socket(const struct plan *plan, int fd, const char *what, struct err *why)
{
	struct sockaddr_storage name = { 0 };
	socklen_t len = sizeof(name);
	int type = 0;

	if (getsockname(fd, (struct sockaddr *)&name, &len) < 0)
		return err_errno(why, errno, "%s", what);
	if (name.ss_family != AF_UNIX && !(plan->flags & WIRE_HOST_NETWORK))
		return err_set(why, -EPERM,
			       "%s is a network socket, by which the command could bypass the "
			       "gate; put a pipe there (| cat)",
			       what);
	if (name.ss_family != AF_UNIX)
		return 0;
	len = sizeof(type);
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0)
		return err_errno(why, errno, "%s", what);
	len = sizeof(name);
	if (type == SOCK_DGRAM || getpeername(fd, (struct sockaddr *)&name, &len) < 0)
		return err_set(
			why, -EPERM,
			"%s is a Unix socket that %s, so the command could connect it to the "
			"host's sockets; put a pipe there (| cat)",
			what, type == SOCK_DGRAM ? "is a datagram socket" : "is not connected");
	return 0;
}

/* A namespace, or the memory of a process outside. */
static bool is_of_process(int fd)
{
	char link[64], path[PATH_MAX];
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0 || fs.f_type == NSFS_MAGIC)
		return true;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	return n <= 0 || (fs.f_type == PROC_SUPER_MAGIC && strcmp(strrchr(path, '/'), "/mem") == 0);
}

static int check_file(struct plan *plan, int fd, const char *what, struct err *why)
{
	if (is_of_process(fd))
		return err_set(
			why, -EPERM,
			"%s is a namespace, or the memory of a process, by which the command "
			"could leave its sandbox; put a pipe there",
			what);
	plan->flags |= WIRE_HAS_FILES;
	return view_check_open_file(plan, fd, what, why);
}

/* Our own terminal becomes a pty that we relay; a terminal passed by the caller would not be
 * relayed. */
static int check_terminal(struct plan *plan, int at, bool is_ours, struct err *why)
{
	if (!is_ours)
		return err_set(why, -EINVAL, "%s is a terminal; ask for a pty instead",
			       stdio_names[at]);
	plan->flags |= (uint32_t)WIRE_TERMINAL_0 << at;
	return 0;
}

/* @fd: becomes descriptor @at of the command. */
static int check_descriptor(struct plan *plan, int at, int fd, bool is_ours, struct err *why)
{
	struct stat what;

	if (fstat(fd, &what) < 0)
		return err_errno(why, errno, "%s is not open; open it from /dev/null",
				 stdio_names[at]);
	if (plan->flags & WIRE_UNCONFINED) /* the command could open them itself */
		return isatty(fd) ? check_terminal(plan, at, is_ours, why) : 0;
	switch (what.st_mode & S_IFMT) {
	case S_IFREG:
		return check_file(plan, fd, stdio_names[at], why);
	case S_IFCHR:
		return isatty(fd) ? check_terminal(plan, at, is_ours, why) : 0;
	case S_IFIFO:
		return 0;
	case S_IFSOCK:
		return check_socket(plan, fd, stdio_names[at], why);
	case S_IFDIR:
		return err_set(why, -EISDIR,
			       "%s is a directory, through which the command would see files "
			       "outside its sandbox; put a pipe there",
			       stdio_names[at]);
	default:
		return err_set(why, -EPERM,
			       "%s is not a file, pipe, terminal or Unix socket; put a pipe there",
			       stdio_names[at]);
	}
}

int plan_make_check_stdio(struct plan *plan, const int *stdio, struct err *why)
{
	int r = 0;

	for (int at = 0; at < 3 && r == 0; at++)
		r = check_descriptor(plan, at, stdio ? stdio[at] : at, !stdio, why);
	return r;
}

static int check_stdio(struct plan *plan, const struct exec_plan_config *config, struct err *why)
{
	if (config->pty && config->stdio)
		return err_set(why, -EINVAL,
			       "a command takes either a pty or descriptors, not both");
	if (config->pty) {
		plan->flags |= WIRE_TERMINALS;
		return 0;
	}
	return plan_make_check_stdio(plan, config->stdio, why);
}

/* The socket is in a fresh directory of the command's own, never in a host directory that is
 * attached there. */
static bool has_door(const struct plan *plan)
{
	return !(plan->flags & WIRE_HOST_NETWORK) && paths_has(&plan->fresh, "/run") &&
	       !paths_holder(&plan->writable, EXEC_DOOR) &&
	       !paths_holder(&plan->readable, EXEC_DOOR);
}

static int set_program(struct plan *plan, const struct exec_program *program, struct err *why)
{
	if (program->path[0] != '/')
		return err_set(why, -EINVAL, "%s is not an absolute path; the program needs one",
			       program->path);
	plan->flags |= WIRE_HAS_PROGRAM;
	plan->program = mem_strdup(program->path);
	plan->device = program->device;
	plan->inode = program->inode;
	return 0;
}

struct plan *plan_make(const struct exec_plan_config *config, int *ret_errno, struct err *why)
{
	struct plan *plan = mem_new(sizeof(*plan));
	int r = config->argv && config->argv[0] ? 0 : err_set(why, -EINVAL, "the command is empty");

	plan->limits = config->limits ? *config->limits : (struct exec_limits){ 0 };
	if (!plan->limits.processes)
		plan->limits.processes = EXEC_PROCESSES;
	plan->uid = geteuid();
	plan->gid = getegid();
	if (r == 0)
		r = config->seen.bytes ? seen_read(&config->seen, plan, why)
				       : view_plan(plan, config, why);
	if (r == 0) {
		caches_plan(plan, config);
		r = mounts_check(plan, why);
	}
	if (r == 0)
		r = check_stdio(plan, config, why);
	if (r == 0 && config->program.path)
		r = set_program(plan, &config->program, why);
	if (r < 0) {
		plan_free(plan);
		*ret_errno = r;
		return NULL;
	}
	plan->argv = mem_copy_list(config->argv);
	const char *const *inherited = config->env ? config->env : (const char *const *)environ;

	plan->env = env_build(inherited, config->env_set, plan_env_kind(plan), plan->tmpdir);
	plan->env = env_add(plan->env, inherited, config->env_asked, plan_env_kind(plan));
	caches_env(plan, config);
	if (config->captures_udp && !(plan->flags & WIRE_HOST_NETWORK))
		plan->flags |= WIRE_CAPTURE_UDP;
	if (has_door(plan)) {
		plan->flags |= WIRE_DOOR;
		plan->env = env_set(plan->env, "SALLYPORT_SOCKET", EXEC_DOOR);
	}
	files_plan(plan);
	return plan;
}

void exec_look(const struct exec_plan_config *config, FILE *out)
{
	struct plan *plan = mem_new(sizeof(*plan));
	struct err why = { 0 };

	seen_write(out, plan, view_plan(plan, config, &why), &why);
	plan_free(plan);
}
