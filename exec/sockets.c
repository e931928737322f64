#include "exec/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "exec/exec_sandbox.h"
#include "exec/mounts.h"
#include "exec/paths.h"
#include "exec/plan.h"

#define TEXT_MAX  (8U << 20)
#define COUNT_MAX 1024 /* covers cost about 20 µs each */

/* "Num RefCount Protocol Flags Type St Inode Path": the path is what follows the seventh column,
 * and may hold spaces. Abstract names begin with '@'; unnamed sockets have no eighth column. */
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

	/* In another mount namespace the same path may be somebody's socket, and a plain file here.
	 */
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

		/* Gone, or not ours to reach: then it is not the command's either. */
		if (!given || paths_resolve(given, NULL, &path, NULL) < 0) {
			free(path);
			continue;
		}
		if (is_visible(plan, path) && !paths_has(ret, path))
			paths_add(ret, path);
		free(path);
		if (ret->count > COUNT_MAX)
			return err_set(
				why, -E2BIG,
				"more than %d Unix sockets of the host lie in directories that the "
				"command can see; they cannot all be covered",
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
