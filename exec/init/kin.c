#include "exec/init/kin.h"

#include "exec/init/init.h"
#include "exec/init/sys.h"

#include <errno.h>
#include <linux/prctl.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>

#define ROUND_NS   (5 * 1000 * 1000L)
#define ROUNDS_MAX 600 /* 3 s */

/* init has one thread. The list is exact only if no process starts or ends meanwhile, so it is read
 * again until it is empty. */
static const char children[] = "/proc/thread-self/children";

int kin_adopt(struct init *init)
{
	long r = sys(prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);

	if (r < 0)
		return (int)r;
	(void)sys(prctl, PR_SET_NAME, "sallyport-init", 0, 0, 0); /* for ps(1) only */
	init->detail = children;
	r = sys(openat, AT_FDCWD, children, O_RDONLY | O_CLOEXEC);
	if (r < 0)
		return (int)r;
	(void)sys(close, r);
	init->detail = "";
	return 0;
}

static void kill_children(void)
{
	long fd = sys(openat, AT_FDCWD, children, O_RDONLY | O_CLOEXEC);
	char bytes[512];
	long pid = 0, n;

	/* "12 345 6 " */
	while (fd >= 0 && (n = sys(read, fd, bytes, sizeof(bytes))) > 0)
		for (long i = 0; i < n; i++) {
			bool is_digit = bytes[i] >= '0' && bytes[i] <= '9';

			if (!is_digit && pid > 1)
				(void)sys(
					kill, pid,
					SIGKILL); /* not reaped yet, so the pid is still its own */
			pid = is_digit ? pid * 10 + (bytes[i] - '0') : 0;
		}
	if (fd >= 0)
		(void)sys(close, fd);
}

void kin_end(void)
{
	for (int i = 0; i < ROUNDS_MAX; i++) {
		struct timespec pause = { .tv_nsec = ROUND_NS };
		int status;
		long pid;

		kill_children(); /* their children become ours */
		do
			pid = sys(wait4, -1, &status, __WALL | WNOHANG, NULL);
		while (pid > 0 || pid == -EINTR);
		if (pid == -ECHILD)
			return;
		(void)sys(nanosleep, &pause, NULL);
	}
}
