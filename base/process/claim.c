#include "base/process/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>

#include "base/fd.h"

#define MAJOR_SHARED 5 /* /dev/tty is 5:0 */
#define MAJOR_PTY    136

static int claim_open_path(const char *folder, unsigned int number)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "%s/%u", folder, number);
	return open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}

/* A sandbox has /dev/tty too, so a command could lock it. */
static bool claim_is_shared(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 || st.st_rdev == makedev(MAJOR_SHARED, 0);
}

int claim_open(int fd)
{
	unsigned int device;
	int again = claim_open_path("/proc/self/fd", (unsigned int)fd);

	if (again < 0 || !claim_is_shared(again) || ioctl(again, TIOCGDEV, &device) < 0 ||
	    major(device) != MAJOR_PTY)
		return again;
	int named = claim_open_path("/dev/pts", minor(device));

	/* In another mount namespace that name is another terminal's: not our controlling one. */
	if (named < 0 || tcgetsid(named) < 0) {
		fd_close(named);
		return again;
	}
	fd_close(again);
	return named;
}

bool claim_take(int fd)
{
	return claim_is_shared(fd) || flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

bool claim_share(int fd)
{
	return claim_is_shared(fd) || flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

void claim_end(int fd)
{
	if (!claim_is_shared(fd))
		(void)flock(fd, LOCK_UN); /* it may not be held */
}
