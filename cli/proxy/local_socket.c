#include "cli/proxy/local_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/net/local.h"
#include "cli/cli.h"

#define BACKLOG    1024
#define CONNECT_MS 1000

/* The folder of @path; *@ret_name points into @path. A descriptor or -errno. */
static int open_folder(const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	auto_free char *folder = slash && slash > path ? mem_strndup(path, (size_t)(slash - path))
						       : mem_strdup(slash ? "/" : ".");
	int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	*ret_name = slash ? slash + 1 : path;
	return fd < 0 ? -errno : fd;
}

/* A user who may write there may put another socket into its place. */
static bool is_folder_safe(int folder)
{
	struct stat found;

	return fstat(folder, &found) == 0 && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
	       (found.st_uid == geteuid() || found.st_uid == 0);
}

/* -EADDRINUSE: a process listens there. -EEXIST: it is no socket. */
static int check_free(int folder, const char *name, bool *ret_is_new)
{
	struct stat found;

	*ret_is_new = fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) < 0;
	if (*ret_is_new)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(found.st_mode))
		return -EEXIST;
	auto_close int fd = local_connect(folder, name, SOCK_STREAM, CONNECT_MS);

	return fd == -ECONNREFUSED ? 0 : -EADDRINUSE;
}

static int listen_in(int folder, const char *name, bool is_shared, struct local_socket *ret)
{
	bool is_new;
	struct stat made;
	int r = check_free(folder, name, &is_new);

	if (r < 0)
		return r;
	auto_close int fd = local_listen(folder, name, SOCK_STREAM, BACKLOG, is_new);

	if (fd < 0)
		return fd;
	if ((is_shared && fchmodat(folder, name, 0666, 0) < 0) ||
	    fstatat(folder, name, &made, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	ret->device = made.st_dev;
	ret->inode = made.st_ino;
	return fd_take(&fd);
}

int local_socket_open(struct local_sockets *sockets, const char *path, bool is_shared, int *ret)
{
	struct local_socket made = { 0 };
	const char *name;
	auto_close int folder = open_folder(path, &name);

	if (folder < 0 || name[0] == '\0')
		return cli_fail(CLI_NO_SANDBOX, "cannot listen at %s: %s", path,
				folder < 0 ? strerror(-folder) : "it names no file");
	if (!is_folder_safe(folder))
		return cli_fail(
			CLI_NO_SANDBOX,
			"cannot listen at %s: other users may write in its folder, and could "
			"replace the socket",
			path);
	int fd = listen_in(folder, name, is_shared, &made);

	if (fd < 0)
		return cli_fail(CLI_NO_SANDBOX, "cannot listen at %s: %s", path, strerror(-fd));
	made.path = mem_strdup(path);
	sockets->all[sockets->count++] = made;
	*ret = fd;
	return CLI_OK;
}

void local_socket_remove(struct local_sockets *sockets)
{
	for (size_t i = 0; i < sockets->count; i++) {
		struct local_socket *made = &sockets->all[i];
		struct stat found;

		/* A daemon that was started meanwhile may have put its own there. */
		if (lstat(made->path, &found) == 0 && found.st_dev == made->device &&
		    found.st_ino == made->inode)
			(void)unlink(
				made->path); /* it is of no use, and replaced at the next start */
		free(made->path);
	}
	sockets->count = 0;
}
