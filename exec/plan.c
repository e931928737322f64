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
#include "exec/env.h"
#include "exec/exec.h"
#include "exec/files.h"
#include "exec/memfd.h"
#include "exec/view.h"
#include "exec/wire.h"

static const char *const stdio_names[] = { "stdin", "stdout", "stderr" };

/* A socket's other end may be anywhere; one of the Unix kind was made by whoever started us, as a
 * pipe would be. */
static int check_socket(int fd, struct err *why)
{
	struct sockaddr_storage name = { 0 };
	socklen_t len = sizeof(name);

	if (getsockname(fd, (struct sockaddr *)&name, &len) < 0)
		return err_errno(why, errno, "%s", stdio_names[fd]);
	if (name.ss_family != AF_UNIX)
		return err_set(
			why, -EPERM,
			"%s is a network socket, a way out past the gate; put a pipe there (| cat)",
			stdio_names[fd]);
	return 0;
}

static int check_stdio(struct plan *plan, int fd, struct err *why)
{
	struct stat what;

	if (fstat(fd, &what) < 0)
		return err_errno(why, errno, "%s is not open; use /dev/null", stdio_names[fd]);
	switch (what.st_mode & S_IFMT) {
	case S_IFREG:
		plan->flags |= WIRE_HAS_FILES;
		return view_check_open_file(plan, fd, stdio_names[fd], why);
	case S_IFCHR:
		plan->flags |= isatty(fd) ? (uint32_t)WIRE_TERMINAL_0 << fd : 0;
		return 0;
	case S_IFIFO:
		return 0;
	case S_IFSOCK:
		return check_socket(fd, why);
	case S_IFDIR:
		return err_set(why, -EISDIR,
			       "%s is a directory: through it the command would see files outside "
			       "its view",
			       stdio_names[fd]);
	default:
		return err_set(why, -EPERM, "%s is no file, pipe, terminal or Unix socket",
			       stdio_names[fd]);
	}
}

static char **copy_list(const char *const *list)
{
	size_t n = 0;

	while (list[n])
		n++;
	char **copy = mem_new_array(n + 1, sizeof(*copy));

	for (size_t i = 0; i < n; i++)
		copy[i] = mem_strdup(list[i]);
	return copy;
}

struct plan *plan_new(const struct exec_plan_config *config, int *ret_errno, struct err *why)
{
	struct plan *plan = mem_new(sizeof(*plan));
	int r = config->argv && config->argv[0] ? 0 : err_set(why, -EINVAL, "no command");

	plan->uid = geteuid();
	plan->gid = getegid();
	if (r == 0)
		r = view_plan(plan, config, why);
	for (int fd = 0; fd < 3 && r == 0; fd++)
		r = check_stdio(plan, fd, why);
	if (r < 0) {
		plan_free(plan);
		*ret_errno = r;
		return NULL;
	}
	plan->argv = copy_list(config->argv);
	plan->env = env_build((const char *const *)environ, config->env_set);
	if (paths_has(&plan->fresh, "/run")) {
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
	paths_done(&plan->pins);
	paths_done(&plan->hidden);
	paths_done(&plan->read_only);
	paths_done(&plan->sockets);
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
	char *const *const lists[WIRE_LISTS] = {
		[WIRE_ARGV] = plan->argv,
		[WIRE_ENV] = plan->env,
		[WIRE_FILES] = plan->files,
		[WIRE_FRESH] = plan->fresh.list,
		[WIRE_WRITABLE] = plan->writable.list,
		[WIRE_PINS] = plan->pins.list,
		[WIRE_HIDDEN] = plan->hidden.list,
		[WIRE_READ_ONLY] = plan->read_only.list,
		[WIRE_SOCKETS] = plan->sockets.list,
	};
	struct wire_plan head = {
		.magic = WIRE_MAGIC,
		.uid = plan->uid,
		.gid = plan->gid,
		.flags = plan->flags,
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
