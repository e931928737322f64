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

/* A folder that only our user may write to. */
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
	/* Another process may have created something there first. */
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &info) < 0) {
		(void)err_errno(why, errno, "%s is not a folder that belongs to you", path);
		return NULL;
	}
	if (info.st_uid != geteuid()) {
		(void)err_set(why, -EPERM, "%s belongs to another user; remove it", path);
		return NULL;
	}
	if ((info.st_mode & 077) != 0) {
		(void)err_set(why, -EPERM, "other users can open %s; run chmod 700 on it", path);
		return NULL;
	}
	return take(path);
}
