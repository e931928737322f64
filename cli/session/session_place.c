#include "cli/session/session_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/net/local.h"
#include "base/text.h"
#include "cli/approve/approve.h"
#include "cli/given.h"
#include "cli/session/session_wire.h"
#include "gateway/gateway_guests.h"

/* The socket and the lock of a session are in the folder of control sockets, which other users
 * cannot open and no sandbox can see. */

#define PLACE_BACKLOG   128
#define PLACE_NAMES_MAX 1024 /* entries that are read */
#define PLACE_ENDING    ".session"

bool session_place_is_name(const char *name)
{
	static const char safe[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

	return name[0] != '\0' && name[0] != '.' && name[0] != '-' &&
	       strlen(name) <= SESSION_NAME_MAX && name[strspn(name, safe)] == '\0';
}

int session_place_open(const char *name, struct session_place *ret, struct err *why)
{
	*ret = SESSION_NOWHERE;
	ret->dir_fd = approve_dir_open(why);
	if (ret->dir_fd < 0)
		return ret->dir_fd;
	ret->dir = gateway_control_dir(why);
	ret->name = mem_strdup(name);
	return ret->dir ? 0 : -EACCES;
}

void session_place_done(struct session_place *place)
{
	fd_close(place->dir_fd);
	free(place->dir);
	free(place->name);
	*place = SESSION_NOWHERE;
}

static char *socket_name(const struct session_place *place)
{
	return mem_printf("%s" PLACE_ENDING, place->name);
}

/* "NAME.session" → NAME. Owned; NULL: not a name of this form. */
static char *name_of(const char *file)
{
	size_t len = strlen(file), ending = strlen(PLACE_ENDING);

	if (len <= ending || strcmp(file + len - ending, PLACE_ENDING) != 0)
		return NULL;
	auto_free char *name = mem_strndup(file, len - ending);

	return session_place_is_name(name) ? take(name) : NULL;
}

static int by_name(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

int session_place_list(const struct session_place *place, char ***ret_names, struct err *why)
{
	auto_free_list char **names = mem_new_array(PLACE_NAMES_MAX + 1, sizeof(*names));
	int fd = openat(place->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	size_t count = 0;

	if (!dir) {
		fd_close(fd);
		return err_errno(why, errno, "cannot read %s", place->dir);
	}
	while (count < PLACE_NAMES_MAX && (entry = readdir(dir))) {
		names[count] = name_of(entry->d_name);
		if (names[count])
			count++;
	}
	(void)closedir(dir); /* was only read */
	qsort(names, count, sizeof(*names), by_name);
	*ret_names = take(names);
	return 0;
}

static int open_lock(const struct session_place *place, int flags)
{
	auto_free char *name = mem_printf("%s.lock", place->name);
	int fd = openat(place->dir_fd, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

/* A record lock, not flock(): a look at the lock must not take it for a moment. The file stays: a
 * process that removed it could remove the file of the next holder. */
int session_place_lock(const struct session_place *place, struct err *why)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	auto_close int fd = open_lock(place, O_RDWR | O_CREAT);
	char pid[16];

	if (fd < 0)
		return err_errno(why, -fd, "cannot open the lock of session %s", place->name);
	if (fcntl(fd, F_OFD_SETLK, &all) < 0)
		return errno == EAGAIN || errno == EACCES
			       ? err_set(why, -EBUSY, "session %s exists already", place->name)
			       : err_errno(why, errno, "cannot lock session %s", place->name);
	int len = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());

	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)len, 0) != len)
		return err_errno(why, errno, "cannot write the lock of session %s", place->name);
	return fd_take(&fd);
}

pid_t session_place_holder(const struct session_place *place)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	auto_close int fd = open_lock(place, O_RDWR);
	char text[16] = "";
	uint64_t pid;

	if (fd < 0 || fcntl(fd, F_OFD_GETLK, &all) < 0 || all.l_type == F_UNLCK)
		return 0;
	ssize_t got = pread(fd, text, sizeof(text) - 1, 0);
	size_t len = got > 0 ? strcspn(text, "\n") : 0;

	return text_to_u64(text, len, INT32_MAX, &pid) < 0 ? 1 : (pid_t)pid;
}

int session_place_bind(const struct session_place *place, struct err *why)
{
	auto_free char *name = socket_name(place);
	int fd = local_listen(place->dir_fd, name, SOCK_SEQPACKET, PLACE_BACKLOG, false);

	return fd < 0 ? err_errno(why, -fd, "cannot create the session's socket at %s/%s",
				  place->dir, name)
		      : fd;
}

void session_place_unbind(const struct session_place *place)
{
	auto_free char *name = socket_name(place);

	(void)unlinkat(place->dir_fd, name, 0); /* it may have been removed already */
}

int session_place_given(const struct session_place *place, int *ret, struct err *why)
{
	auto_free char *name = socket_name(place);
	auto_free char *path = mem_printf("%s/%s", place->dir, name);
	struct sockaddr_un address = { 0 };
	socklen_t len = sizeof(address) - 1, size = sizeof(int);
	size_t given = given_count();
	int type = 0, is_listening = 0;

	*ret = -1;
	if (given == 0)
		return 0;
	if (given != 1)
		return err_set(why, -EINVAL,
			       "more than one socket was handed over (LISTEN_FDS); hand over one");
	if (getsockopt(GIVEN_FD, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_SEQPACKET ||
	    getsockopt(GIVEN_FD, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) < 0 ||
	    !is_listening || getsockname(GIVEN_FD, (struct sockaddr *)&address, &len) < 0)
		return err_set(
			why, -EINVAL,
			"the socket that was handed over is not a listening SOCK_SEQPACKET socket");
	/* In any other folder a sandbox might see the socket. */
	if (address.sun_family != AF_UNIX || strcmp(address.sun_path, path) != 0)
		return err_set(why, -EINVAL, "the socket that was handed over is not at %s", path);
	if (fcntl(GIVEN_FD, F_SETFD, FD_CLOEXEC) < 0 || fd_set_nonblocking(GIVEN_FD, true) < 0)
		return err_errno(why, errno, "the socket that was handed over cannot be used");
	*ret = GIVEN_FD;
	return 0;
}

static int greet(int fd, struct err *why)
{
	struct frame frame;
	int fds[FD_PASS_MAX];
	size_t count = 0;

	session_wire_hello(&frame);
	if (frame_link_send_on(fd, &frame, NULL, 0) < 0)
		return err_set(why, -EPIPE, "the session closed the connection");
	int r = session_wire_expect(fd, SESSION_HELLO, &frame, fds, &count, why);

	if (r < 0)
		return r;
	fd_close_all(fds, count);
	return session_wire_check_hello(&frame, why);
}

int session_place_connect(const struct session_place *place, struct err *why)
{
	auto_free char *name = socket_name(place);
	auto_close int fd = local_connect(place->dir_fd, name, SOCK_SEQPACKET, SESSION_WAIT_MS);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (fd == -ENOENT || fd == -ECONNREFUSED)
		return err_set(why, -ENOENT, "there is no session %s", place->name);
	if (fd < 0)
		return err_errno(why, -fd, "cannot reach session %s", place->name);
	/* Other users cannot make a socket in this folder, but the process that listens must be
	 * ours, too. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.uid != geteuid())
		return err_set(why, -EPERM, "another user holds session %s", place->name);
	int r = greet(fd, why);

	return r < 0 ? r : fd_take(&fd);
}

int session_place_look(const struct session_place *place, struct session_state *ret,
		       struct err *why)
{
	int fds[FD_PASS_MAX];
	size_t count = 0;
	struct frame frame;

	if (session_place_holder(place) == 0)
		return -ENOENT;
	auto_close int fd = session_place_connect(place, why);

	if (fd < 0)
		return fd;
	if (session_wire_say(fd, SESSION_LOOK) < 0)
		return err_set(why, -EPIPE, "session %s closed the connection", place->name);
	int r = session_wire_expect(fd, SESSION_STATE, &frame, fds, &count, why);

	for (size_t i = 0; r == 0 && i < count; i++)
		fd_close(fds[i]);
	if (r == 0 && session_wire_get_state(&frame, ret) < 0)
		r = err_set(why, -EBADMSG, "session %s sent a malformed description", place->name);
	return r < 0 ? err_prefix(why, r, "session %s", place->name) : 0;
}

int session_place_find(const char *name, struct session_state *ret, struct err *why)
{
	struct session_place place;

	if (!session_place_is_name(name))
		return -ENOENT;
	int r = session_place_open(name, &place, why);

	if (r == 0)
		r = session_place_look(&place, ret, why);
	session_place_done(&place);
	return r;
}
