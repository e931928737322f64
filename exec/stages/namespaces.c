#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/stages/stages.h"

#include <linux/keyctl.h>
#include <linux/utsname.h>
#include <stdbool.h>
#include <stddef.h>

/* A name that always resolves, to the sandbox's own loopback: Java, hostname -f and others look up
 * the host's own name. It has no dot, so that no library derives a search domain from it. */
static const char host_name[] = "localhost";
static const char limit_path[] = "/proc/sys/user/max_user_namespaces";
/* The limit is also counted in the parent user namespaces, where a user has 128: leave some to the
 * user's other programs. */
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

/* Before Linux 6.14 pid_max applies to the whole machine. */
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
	const char *processes = init->plan.head->limits.texts[WIRE_PID_MAX];
	long r = sys(sethostname, host_name, sizeof(host_name) - 1);

	if (r < 0)
		return (int)r;
	/* A second protection against nested namespaces; the first one is the system call filter.
	 * The limit applies in our own user namespace, and raising it again needs CAP_SYS_RESOURCE
	 * there, which no process has once we have dropped it. */
	init->detail = limit_path;
	r = limit_set(limit_path, "0", 1);
	if (r < 0)
		return (int)r;
	(void)limit_set(watches_path, "64", 2); /* a kernel without inotify has no such file */
	init->detail = processes_path;
	r = has_own_pids() ? limit_set(processes_path, processes, sys_length(processes)) : 0;
	if (r < 0)
		return (int)r;
	init->detail = "";
	/* Without a session keyring of its own the command would have the caller's. The filter
	 * denies every call that could use it, so a kernel without keys, or a user who has reached
	 * the quota of keyrings, is not a reason to refuse. */
	(void)sys(keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	return 0;
}
