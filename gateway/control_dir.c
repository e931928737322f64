#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "gateway/gateway.h"
#include "gateway/gateway_tools.h"

/* A folder that only we may write into. */
static bool is_own_folder(const char *path)
{
	struct stat info;

	return path && path[0] == '/' && stat(path, &info) == 0 && S_ISDIR(info.st_mode) &&
	       info.st_uid == geteuid() && (info.st_mode & 022) == 0;
}

static char *choose_path(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (is_own_folder(runtime))
		return mem_printf("%s/sallyport", runtime);
	if (geteuid() == 0)
		return mem_strdup("/run/sallyport");
	return mem_printf("/tmp/sallyport-%u", (unsigned int)geteuid());
}

char *gateway_control_dir(struct err *why)
{
	auto_free char *path = choose_path();
	struct stat info;

	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		(void)err_errno(why, errno, "cannot make %s", path); /* the caller gets NULL */
		return NULL;
	}
	/* Whoever came first may have put anything there. */
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &info) < 0) {
		(void)err_errno(why, errno, "%s has to be a folder of yours and is not", path);
		return NULL;
	}
	if (info.st_uid != geteuid()) {
		(void)err_set(why, -EPERM, "%s belongs to somebody else: remove it", path);
		return NULL;
	}
	if ((info.st_mode & 077) != 0) {
		(void)err_set(why, -EPERM, "%s is open to others: chmod 700 it", path);
		return NULL;
	}
	return take(path);
}
