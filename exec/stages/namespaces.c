#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/stages/stages.h"

#include <linux/keyctl.h>

static const char host_name[] =
	"sallyport"; /* no dot: no library derives a search domain from it */
static const char limit_path[] = "/proc/sys/user/max_user_namespaces";

int namespaces_close(struct init *init)
{
	long r = sys(sethostname, host_name, sizeof(host_name) - 1);

	if (r < 0)
		return (int)r;
	/* The second lock against namespaces in namespaces; the first is the system call filter. It
	 * counts in our own user namespace, and raising it again needs CAP_SYS_RESOURCE there,
	 * which nobody has once we have dropped it. */
	init->detail = limit_path;
	long fd = sys(openat, AT_FDCWD, limit_path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return (int)fd;
	r = sys(write, fd, "0", 1);
	(void)sys(close, fd);
	if (r < 0)
		return (int)r;
	init->detail = "";
	/* Without a session keyring of its own the command would hold the caller's. The filter
	 * denies every call that could use it, so a kernel without keys, or a user at its quota of
	 * keyrings, is no reason to refuse. */
	(void)sys(keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	return 0;
}
