#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/stages/stages.h"

#include <linux/keyctl.h>
#include <linux/utsname.h>
#include <stdbool.h>
#include <stddef.h>

/* A name that resolves everywhere, to the sandbox's own loopback: Java, hostname -f and others look
 * the host's own name up. No dot: no library derives a search domain from it. */
static const char host_name[] = "localhost";
static const char limit_path[] = "/proc/sys/user/max_user_namespaces";
/* Counted up through the user namespaces, of the 128 that a user has: some are left to the user's
 * other programs. */
static const char watches_path[] = "/proc/sys/user/max_inotify_instances";
static const char processes_path[] = "/proc/sys/kernel/pid_max";

static int limit_set(const char *path, const char *text, size_t len)
{
	long fd = sys(openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return (int)fd;
	long r = sys(write, fd, text, len);

	(void)sys(close, fd);
	return r < 0 ? (int)r : 0;
}

/* Before Linux 6.14 the file is the machine's. */
static bool has_own_pids(void)
{
	struct new_utsname name;
	unsigned int numbers[2] = { 0 };
	const char *at = name.release;

	if (sys(uname, &name) < 0)
		return false;
	for (int i = 0; i < 2; i++, at += *at == '.') {
		for (; *at >= '0' && *at <= '9'; at++)
			numbers[i] = numbers[i] * 10 + (unsigned int)(*at - '0');
	}
	return numbers[0] > 6 || (numbers[0] == 6 && numbers[1] >= 14);
}

int namespaces_close(struct init *init)
{
	long r = sys(sethostname, host_name, sizeof(host_name) - 1);

	if (r < 0)
		return (int)r;
	/* The second lock against namespaces in namespaces; the first is the system call filter. It
	 * counts in our own user namespace, and raising it again needs CAP_SYS_RESOURCE there,
	 * which nobody has once we have dropped it. */
	init->detail = limit_path;
	r = limit_set(limit_path, "0", 1);
	if (r < 0)
		return (int)r;
	(void)limit_set(watches_path, "64", 2); /* a kernel without inotify has none */
	init->detail = processes_path;
	r = has_own_pids() ? limit_set(processes_path, WIRE_PROCESSES_TEXT,
				       sizeof(WIRE_PROCESSES_TEXT) - 1)
			   : 0;
	if (r < 0)
		return (int)r;
	init->detail = "";
	/* Without a session keyring of its own the command would hold the caller's. The filter
	 * denies every call that could use it, so a kernel without keys, or a user at its quota of
	 * keyrings, is no reason to refuse. */
	(void)sys(keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	return 0;
}
