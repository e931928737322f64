#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "exec/init/sys.h"
#include "exec/probe/probe_impl.h"
#include "exec/run/wire.h"

/* -EAGAIN and -EPROTOTYPE come from the socket itself: it can be reached. */
static long connect_unix(const struct sockaddr_un *name, size_t len)
{
	long fd = sys(socket, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return fd;
	long r = sys(connect, fd, name, len);

	(void)sys(close, fd);
	return r == -EAGAIN || r == -EPROTOTYPE || r == -EINPROGRESS ? PROBE_OPEN : r;
}

/* @at: 1 leaves the NUL before an abstract name. */
static long connect_name(const char *text, size_t at)
{
	struct sockaddr_un name;
	size_t len = sys_length(text);

	memset(&name, 0, sizeof(name));
	name.sun_family = AF_UNIX;
	if (at + len >= sizeof(name.sun_path))
		return PROBE_SKIP(EXEC_TRY_NOTHING);
	memcpy(name.sun_path + at, text, len);
	return connect_unix(&name,
			    offsetof(struct sockaddr_un, sun_path) + at + len + (at == 0 ? 1 : 0));
}

long probe_files_abstract(const struct probe_setting *setting)
{
	const char *name = probe_bait(setting, WIRE_BAIT_ABSTRACT);

	if ((setting->flags & WIRE_HOST_NETWORK) != 0 && !setting->is_scoped)
		return PROBE_SKIP(EXEC_TRY_KERNEL);
	return name ? connect_name(name, 1) : PROBE_SKIP(EXEC_TRY_NOTHING);
}

long probe_files_unix(const struct probe_setting *setting)
{
	long result = PROBE_SKIP(EXEC_TRY_NOTHING);

	for (int i = 0; i < PROBE_PATHS_MAX && setting->sockets[i]; i++) {
		long r = connect_name(setting->sockets[i], 0);

		if (r >= 0)
			return r;
		result = r > PROBE_SKIP_FROM ? r : result;
	}
	return result;
}

long probe_files_control(const struct probe_setting *setting)
{
	const char *path = probe_bait(setting, WIRE_BAIT_CONTROL);

	return path ? connect_name(path, 0) : PROBE_SKIP(EXEC_TRY_NOTHING);
}

/* The kernel starts what this file names, outside, whenever a program crashes. */
long probe_files_settings(const struct probe_setting *setting)
{
	return probe_close(
		sys(openat, AT_FDCWD, "/proc/sys/kernel/core_pattern", O_WRONLY | O_CLOEXEC));
}

static long make_in(const char *folder)
{
	char name[64];
	long at = sys(openat, AT_FDCWD, folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (at < 0)
		return at;
	probe_name(name, sizeof(name), ".sallyport-probe-", sys(getpid), "");
	long r = sys(mkdirat, at, name, 0700);

	if (r >= 0)
		(void)sys(unlinkat, at, name, AT_REMOVEDIR);
	(void)sys(close, at);
	return r == -EEXIST ? PROBE_OPEN : r;
}

long probe_files_outside(const struct probe_setting *setting)
{
	const char *folder = probe_bait(setting, WIRE_BAIT_FOLDER);

	if ((setting->flags & WIRE_OPEN) != 0)
		return PROBE_SKIP(EXEC_TRY_FILES);
	return folder ? make_in(folder) : PROBE_SKIP(EXEC_TRY_NOTHING);
}

/* What a protected link leads to has a mount of its own, or may be written. */
static long open_to_write(const char *path)
{
	long r = probe_close(
		sys(openat, AT_FDCWD, path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));

	if (r == -ELOOP)
		return PROBE_SKIP(EXEC_TRY_NOTHING);
	return r == -EISDIR ? make_in(path) : r;
}

static long open_to_read(const char *path)
{
	return probe_close(sys(openat, AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

/* Tries the first mounts of these kinds. */
static long try_mounts(const struct probe_setting *setting, char kind, char other,
		       long (*attempt)(const char *path))
{
	long result = PROBE_SKIP(EXEC_TRY_NOTHING);
	int count = 0;

	for (char *const *mount = setting->mounts; *mount && count < PROBE_PATHS_MAX; mount++) {
		if ((*mount)[0] != kind && (*mount)[0] != other)
			continue;
		count++;
		long r = attempt(*mount + 1);

		if (r >= 0)
			return r;
		result = r > PROBE_SKIP_FROM ? r : result;
	}
	return result;
}

long probe_files_protected(const struct probe_setting *setting)
{
	return try_mounts(setting, WIRE_KEEP, WIRE_KEEP, open_to_write);
}

long probe_files_hidden(const struct probe_setting *setting)
{
	return try_mounts(setting, WIRE_HIDE, WIRE_HIDE_AROUND, open_to_read);
}
