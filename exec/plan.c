#include "exec/plan.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/memfd.h"
#include "exec/env.h"
#include "exec/exec.h"
#include "exec/files.h"
#include "exec/mounts.h"
#include "exec/view.h"
#include "exec/wire.h"

static const char *const stdio_names[] = { "stdin", "stdout", "stderr" };

/* A socket's other end may be anywhere; one of the Unix kind was made by whoever started us, as a
 * pipe would be. But it looks names up where it was made: only one that is connected for good is
 * left with nothing to look up. */
static int check_socket(const struct plan *plan, int fd, const char *what, struct err *why)
{
	struct sockaddr_storage name = { 0 };
	socklen_t len = sizeof(name);
	int type = 0;

	if (getsockname(fd, (struct sockaddr *)&name, &len) < 0)
		return err_errno(why, errno, "%s", what);
	if (name.ss_family != AF_UNIX && !(plan->flags & WIRE_HOST_NETWORK))
		return err_set(
			why, -EPERM,
			"%s is a network socket, a way out past the gate; put a pipe there (| cat)",
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
			what, type == SOCK_DGRAM ? "is of the datagram kind" : "is not connected");
	return 0;
}

/* Ours becomes a pty that we relay; a terminal that somebody hands us would be relayed by nobody.
 */
static int check_terminal(struct plan *plan, int at, bool is_ours, struct err *why)
{
	if (!is_ours)
		return err_set(why, -EINVAL, "%s is a terminal: ask for a pty instead",
			       stdio_names[at]);
	plan->flags |= (uint32_t)WIRE_TERMINAL_0 << at;
	return 0;
}

/* @fd: what the command gets as its @at. */
static int check_descriptor(struct plan *plan, int at, int fd, bool is_ours, struct err *why)
{
	struct stat what;

	if (fstat(fd, &what) < 0)
		return err_errno(why, errno, "%s is not open; use /dev/null", stdio_names[at]);
	if (plan->flags & WIRE_UNCONFINED) /* it could open them itself */
		return isatty(fd) ? check_terminal(plan, at, is_ours, why) : 0;
	switch (what.st_mode & S_IFMT) {
	case S_IFREG:
		plan->flags |= WIRE_HAS_FILES;
		return view_check_open_file(plan, fd, stdio_names[at], why);
	case S_IFCHR:
		return isatty(fd) ? check_terminal(plan, at, is_ours, why) : 0;
	case S_IFIFO:
		return 0;
	case S_IFSOCK:
		return check_socket(plan, fd, stdio_names[at], why);
	case S_IFDIR:
		return err_set(why, -EISDIR,
			       "%s is a directory: through it the command would see files outside "
			       "its view",
			       stdio_names[at]);
	default:
		return err_set(why, -EPERM, "%s is no file, pipe, terminal or Unix socket",
			       stdio_names[at]);
	}
}

static int check_stdio(struct plan *plan, const struct exec_plan_config *config, struct err *why)
{
	int r = 0;

	if (config->pty && config->stdio)
		return err_set(why, -EINVAL, "a pty and descriptors: one of them");
	if (config->pty) {
		plan->flags |= WIRE_TERMINALS;
		return 0;
	}
	for (int at = 0; at < 3 && r == 0; at++)
		r = check_descriptor(plan, at, config->stdio ? config->stdio[at] : at,
				     !config->stdio, why);
	return r;
}

enum env_kind plan_env_kind(const struct plan *plan)
{
	return plan->flags & WIRE_UNCONFINED     ? ENV_UNCONFINED
	       : plan->flags & WIRE_HOST_NETWORK ? ENV_HOST_NETWORK
						 : ENV_GATE;
}

/* In a directory of the command's own, and never in one of the host's that is attached there. */
static bool has_door(const struct plan *plan)
{
	return !(plan->flags & WIRE_HOST_NETWORK) && paths_has(&plan->fresh, "/run") &&
	       !paths_holder(&plan->writable, EXEC_DOOR) &&
	       !paths_holder(&plan->readable, EXEC_DOOR);
}

static int set_program(struct plan *plan, const struct exec_program *program, struct err *why)
{
	if (program->path[0] != '/')
		return err_set(why, -EINVAL, "%s: the program's path must be absolute",
			       program->path);
	plan->flags |= WIRE_HAS_PROGRAM;
	plan->program = mem_strdup(program->path);
	plan->device = program->device;
	plan->inode = program->inode;
	return 0;
}

struct plan *plan_new(const struct exec_plan_config *config, int *ret_errno, struct err *why)
{
	struct plan *plan = mem_new(sizeof(*plan));
	int r = config->argv && config->argv[0] ? 0 : err_set(why, -EINVAL, "no command");

	plan->uid = geteuid();
	plan->gid = getegid();
	if (r == 0)
		r = view_plan(plan, config, why);
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
	if (has_door(plan)) {
		plan->flags |= WIRE_DOOR;
		plan->env = env_set(plan->env, "SALLYPORT_SOCKET", EXEC_DOOR);
	}
	files_plan(plan);
	return plan;
}

void plan_free(struct plan *plan)
{
	if (!plan)
		return;
	mem_free_list(plan->argv);
	mem_free_list(plan->env);
	mem_free_list(plan->files);
	free(plan->cwd);
	paths_done(&plan->fresh);
	paths_done(&plan->writable);
	paths_done(&plan->readable);
	paths_done(&plan->pins);
	paths_done(&plan->hidden);
	paths_done(&plan->read_only);
	paths_done(&plan->sockets);
	paths_done(&plan->covered);
	paths_done(&plan->folders);
	paths_done(&plan->missing);
	paths_done(&plan->open_sockets);
	paths_done(&plan->granted);
	paths_done(&plan->links);
	paths_done(&plan->warnings);
	free(plan->program);
	free(plan->tmpdir);
	free(plan);
}

struct image {
	char *bytes;
	size_t len, room;
};

/* 0 or -E2BIG; the limit is init's. */
static int append(struct image *image, const void *bytes, size_t len)
{
	if (len > WIRE_PLAN_MAX - image->len)
		return -E2BIG;
	if (image->len + len > image->room) {
		image->room = image->len + len + image->room + 16384;
		image->bytes = mem_grow(image->bytes, image->room, 1);
	}
	memcpy(image->bytes + image->len, bytes, len);
	image->len += len;
	return 0;
}

static int append_list(struct image *image, char *const *list, uint32_t *ret_count)
{
	int r = 0;

	for (*ret_count = 0; list && list[*ret_count] && r == 0; (*ret_count)++)
		r = append(image, list[*ret_count], strlen(list[*ret_count]) + 1);
	return r;
}

int plan_seal(const struct plan *plan, struct err *why)
{
	char *const program[] = { plan->program, NULL };
	auto_free_list char **mounts = mounts_list(plan);
	char *const *const lists[WIRE_LISTS] = {
		[WIRE_ARGV] = plan->argv,
		[WIRE_ENV] = plan->env,
		[WIRE_FILES] = plan->files,
		[WIRE_PROGRAM] = program,
		[WIRE_MOUNTS] = mounts,
		[WIRE_LINKS] = plan->links.list,
		[WIRE_GRANTED] = plan->granted.list,
		[WIRE_SOCKETS] = plan->sockets.list,
		[WIRE_COVERED] = plan->covered.list,
		[WIRE_FOLDERS] = plan->folders.list,
	};
	struct wire_plan head = {
		.magic = WIRE_MAGIC,
		.uid = plan->uid,
		.gid = plan->gid,
		.flags = plan->flags,
		.device = plan->device,
		.inode = plan->inode,
	};
	struct image image = { 0 };
	int r = append(&image, &head, sizeof(head));

	if (r == 0)
		r = append(&image, plan->cwd, strlen(plan->cwd) + 1);
	for (int i = 0; i < WIRE_LISTS && r == 0; i++)
		r = append_list(&image, lists[i], &head.counts[i]);
	auto_free char *bytes = image.bytes;

	if (r < 0)
		return err_set(why, r,
			       "the command line and its environment are longer than %u MiB",
			       WIRE_PLAN_MAX >> 20);
	head.bytes = (uint32_t)image.len;
	memcpy(bytes, &head, sizeof(head));
	return memfd_sealed("sallyport-plan", MEMFD_DATA, bytes, image.len, why);
}
