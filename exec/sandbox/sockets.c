#include "exec/sandbox/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "exec/exec_sandbox.h"
#include "exec/sandbox/mounts.h"
#include "exec/sandbox/paths.h"
#include "exec/sandbox/plan.h"

#define TEXT_MAX  (8U << 20)
#define COUNT_MAX 1024 /* a cover costs about 20 µs */

/* "Num RefCount Protocol Flags Type St Inode Path": the path follows the seventh column, and may
 * contain spaces. Abstract names begin with '@'; unnamed sockets have no eighth column. */
static const char *path_of(const char *line)
{
	for (int column = 0; column < 7; column++) {
		line += strspn(line, " ");
		line += strcspn(line, " ");
	}
	if (*line == ' ')
		line++;
	return *line == '/' ? line : NULL;
}

static bool is_visible(const struct plan *plan, const char *path)
{
	struct stat what;

	/* In another mount namespace the path may be a socket, and here a plain file. */
	if (lstat(path, &what) < 0 || !S_ISSOCK(what.st_mode))
		return false;
	if (paths_is_within(path, "/dev") || paths_is_within(path, "/proc"))
		return paths_holder(&plan->writable, path) || paths_holder(&plan->readable, path);
	return mounts_access(plan, path) != EXEC_DENY;
}

int sockets_parse(char *text, const struct plan *plan, struct paths *ret, struct err *why)
{
	char *rest = text;
	char *line;

	while ((line = strsep(&rest, "\n")) != NULL) {
		const char *given = path_of(line);
		char *path = NULL;

		/* It is gone, or we cannot reach it: then the command cannot, either. */
		if (!given || paths_resolve(given, NULL, &path, NULL) < 0) {
			free(path);
			continue;
		}
		if (is_visible(plan, path) && !paths_has(ret, path))
			paths_add(ret, path);
		free(path);
		if (ret->count > COUNT_MAX)
			return err_set(why, -E2BIG,
				       "more than %d Unix sockets of the host are in directories "
				       "that the command can see, and they cannot all be hidden; "
				       "let the command see fewer directories",
				       COUNT_MAX);
	}
	return 0;
}

int sockets_find(const struct plan *plan, struct paths *ret, struct err *why)
{
	auto_close int fd = open("/proc/net/unix", O_RDONLY | O_CLOEXEC);
	auto_free char *text = NULL;

	if (fd < 0)
		return err_errno(why, errno, "cannot list the host's Unix sockets: /proc/net/unix");
	int r = fd_read_all(fd, TEXT_MAX, &text, NULL, why);

	return r < 0 ? err_prefix(why, r, "/proc/net/unix") : sockets_parse(text, plan, ret, why);
}
