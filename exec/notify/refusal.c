#include "exec/notify/refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"

#define SMALL_FILE_MAX   64
#define MOUNTS_MAX_BYTES (1U << 20)

/* Reads the start of a small file; false: it cannot be read, for example because an older kernel
 * does not have that setting. */
static bool read_small(const char *path, char out[SMALL_FILE_MAX])
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, SMALL_FILE_MAX - 1);

	out[n < 0 ? 0 : n] = '\0';
	return n > 0;
}

static bool file_says(const char *path, const char *value)
{
	char text[SMALL_FILE_MAX];

	return read_small(path, text) && strncmp(text, value, strlen(value)) == 0 &&
	       (text[strlen(value)] == '\n' || text[strlen(value)] == '\0');
}

static char *read_file(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = NULL;

	if (fd >= 0 && fd_read_all(fd, MOUNTS_MAX_BYTES, &text, NULL, NULL) < 0)
		text = NULL;
	return text;
}

/* Is a container's system call filter applied to us? */
static bool is_filtered(void)
{
	auto_free char *status = read_file("/proc/self/status");

	return status && strstr(status, "\nSeccomp:\t2");
}

/* Our root directory is not a mount, which only chroot(2) causes; the kernel then refuses to create
 * user namespaces. */
static bool is_chrooted(void)
{
	auto_free char *mounts = read_file("/proc/self/mountinfo");
	bool has_root = !mounts || mounts[0] == '\0';

	/* "36 35 98:0 /mnt1 /mnt2 …": the fifth field is the mount point. */
	for (char *line = mounts; line && *line && !has_root;) {
		char *end = strchr(line, '\n'), *at = line;

		for (int i = 0; i < 4 && at; i++) {
			at = strchr(at, ' ');
			at = at ? at + 1 : NULL;
		}
		has_root = at && at[0] == '/' && at[1] == ' ';
		line = end ? end + 1 : NULL;
	}
	return !has_root;
}

/* @has_them: the namespaces exist, and a step in them was refused. */
static const char *remedy_of_eperm(bool has_them)
{
	if (file_says("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"))
		return "AppArmor restricts user namespaces on this machine: copy sallyport's "
		       "profile, share/sallyport/apparmor.d/sallyport, to /etc/apparmor.d and load "
		       "it with `apparmor_parser -r` (`./dev install` does both), or set "
		       "kernel.apparmor_restrict_unprivileged_userns=0 with sysctl";
	if (file_says("/proc/sys/kernel/unprivileged_userns_clone", "0"))
		return "user namespaces are switched off for ordinary users; switch them on with "
		       "sysctl kernel.unprivileged_userns_clone=1";
	if (is_chrooted())
		return "this process runs in a chroot, where the kernel refuses user namespaces; "
		       "use a container with a root mount of its own instead";
	if (is_filtered())
		return "the container's system call filter refuses namespaces; start the container "
		       "with a filter that allows them (for Docker: --security-opt "
		       "seccomp=unconfined --security-opt systempaths=unconfined)";
	if (has_them)
		return "another sandbox is around this process (Landlock, as in some coding "
		       "agents), or a security module refuses it; start sallyport outside of that "
		       "sandbox";
	return "the kernel refuses user namespaces here; check the security modules and the "
	       "settings of the container";
}

static const struct {
	const char *path, *name;
} limits[] = {
	{ "/proc/sys/user/max_user_namespaces", "user.max_user_namespaces" },
	{ "/proc/sys/user/max_net_namespaces", "user.max_net_namespaces" },
	{ "/proc/sys/user/max_mnt_namespaces", "user.max_mnt_namespaces" },
	{ "/proc/sys/user/max_pid_namespaces", "user.max_pid_namespaces" },
	{ "/proc/sys/user/max_ipc_namespaces", "user.max_ipc_namespaces" },
	{ "/proc/sys/user/max_uts_namespaces", "user.max_uts_namespaces" },
	{ "/proc/sys/user/max_cgroup_namespaces", "user.max_cgroup_namespaces" },
};

static const char *remedy_of_enospc(char *out, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		if (file_says(limits[i].path, "0")) {
			(void)snprintf(out, size, "the limit is 0; raise it with sysctl %s=10000",
				       limits[i].name);
			return out;
		}
	return "too many namespaces exist; end some, or raise user.max_*_namespaces with sysctl";
}

static const char *remedy_of(int error, bool has_them, char *out, size_t size)
{
	switch (error) {
	case EPERM:
	case EACCES:
		return remedy_of_eperm(has_them);
	case ENOSPC:
		return remedy_of_enospc(out, size);
	case ENOSYS:
		return is_filtered() ? remedy_of_eperm(has_them)
				     : "the kernel is too old; Linux 5.12 or newer is needed";
	case EINVAL:
		return "this kernel was built without one of these namespaces; use a kernel with "
		       "all of them";
	case EUSERS:
		return "namespaces are nested too deep; start sallyport in fewer nested containers";
	case EAGAIN:
		return "the limit on processes is reached; raise it (ulimit -u)";
	default:
		return "nothing was run";
	}
}

int refusal_of_clone(struct err *why, int error)
{
	char text[160];

	return err_set(why, -error,
		       "cannot make the sandbox: clone of user, network, mount, pid, ipc, uts and "
		       "cgroup namespaces failed: %s; %s",
		       strerror(error), remedy_of(error, false, text, sizeof(text)));
}

int refusal_of_launch(struct err *why, const char *step, int error)
{
	char text[160];

	if (strcmp(step, "execveat") == 0 && (error == EACCES || error == EPERM))
		return err_set(why, -error,
			       "cannot make the sandbox: starting its first process from a memory "
			       "file failed: %s; %s",
			       strerror(error),
			       "a security module forbids programs without a file; allow them for "
			       "sallyport");
	return err_set(why, -error,
		       "cannot make the sandbox: its first process failed at %s: %s; %s", step,
		       strerror(error), remedy_of(error, true, text, sizeof(text)));
}

static const char *const steps[WIRE_STEPS] = {
	[WIRE_STEP_PLAN] = "reading the plan",
	[WIRE_STEP_IDS] = "mapping user and group ids",
	[WIRE_STEP_PARENT] = "asking the kernel to end it with the gate",
	[WIRE_STEP_LOOPBACK] = "bringing up its loopback",
	[WIRE_STEP_LISTENERS] = "opening the gate's ports",
	[WIRE_STEP_NAMESPACES] = "leaving the host's namespaces",
	[WIRE_STEP_VIEW] = "making the file system read-only",
	[WIRE_STEP_ROOT] = "making an empty root",
	[WIRE_STEP_FRESH] = "mounting a fresh directory",
	[WIRE_STEP_DOOR] = "binding the command's socket to the gate",
	[WIRE_STEP_FILES] = "writing a file for the command",
	[WIRE_STEP_DEVICES] = "making /dev",
	[WIRE_STEP_WRITABLE] = "attaching a writable directory",
	[WIRE_STEP_PROC] = "mounting /proc",
	[WIRE_STEP_PROTECT] = "protecting a path",
	[WIRE_STEP_WATCH] = "watching a protected path",
	[WIRE_STEP_CWD] = "entering the working directory",
	[WIRE_STEP_PTY] = "making the command's terminal",
	[WIRE_STEP_GO] = "waiting for the gate",
	[WIRE_STEP_WALL] = "starting the thread that checks its sockets",
	[WIRE_STEP_CAPS] = "dropping capabilities",
	[WIRE_STEP_FORK] = "starting the command's process",
	[WIRE_STEP_LANDLOCK] = "restricting it with Landlock",
	[WIRE_STEP_SECCOMP] = "loading the system call filter",
	[WIRE_STEP_PROBE] = "probing it",
	[WIRE_STEP_LIMITS] = "limiting the command's resources",
	[WIRE_STEP_EXEC] = "executing the command",
};

static const char *advice_for(enum wire_step step, int error, char *out, size_t size)
{
	if (step == WIRE_STEP_SECCOMP && error == EINVAL)
		return "; this kernel cannot report system calls, and without that the command "
		       "could reach the host's Unix sockets; use Linux 5.6 or newer";
	if (step == WIRE_STEP_SECCOMP && error == EBUSY)
		return "; another process (a container's manager) receives the reports of system "
		       "calls, and the kernel allows one receiver only; without them the command "
		       "could reach the host's Unix sockets";
	if (step == WIRE_STEP_LANDLOCK && (error == ENOSYS || error == EOPNOTSUPP))
		return "; this kernel has no Landlock, and without it the command could open the "
		       "file on stdin, stdout or stderr again for writing; use a pipe";
	if (step == WIRE_STEP_WRITABLE && (error == EACCES || error == ENOENT))
		return "; the sandbox has only the rights of this user";
	if (step == WIRE_STEP_WATCH && error == ESTALE)
		return "; another program replaced or created it repeatedly meanwhile: run the "
		       "command again when it does not";
	if (step == WIRE_STEP_NAMESPACES && error == EROFS)
		return "; a container makes parts of /proc read-only; start it with --security-opt "
		       "systempaths=unconfined (Docker) or --security-opt unmask=ALL (Podman)";
	if (step == WIRE_STEP_PTY && error == ENOSPC)
		return "; all terminals are in use: end some of the processes that have them";
	if (step == WIRE_STEP_CWD || step == WIRE_STEP_PROTECT || step == WIRE_STEP_WRITABLE)
		return "";
	if (error != EPERM && error != EACCES && error != ENOSPC && error != ENOSYS)
		return "";
	char text[160];

	(void)snprintf(out, size, "; %s", remedy_of(error, true, text, sizeof(text)));
	return out;
}

int refusal_of_step(struct err *why, const struct wire_message *message)
{
	const char *what = message->step < WIRE_STEPS ? steps[message->step] : NULL;
	int error = message->value > 0 && message->value < 4096 ? message->value : EPROTO;
	char advice[320], detail[160];

	(void)text_visible(detail, sizeof(detail), message->detail,
			   strnlen(message->detail, sizeof(message->detail)));
	return err_set(why, -error, "cannot make the sandbox: %s failed%s%s: %s%s",
		       what ? what : "an unknown step", detail[0] ? ": " : "", detail,
		       strerror(error),
		       what ? advice_for(message->step, error, advice, sizeof(advice)) : "");
}

int refusal_of_other(struct err *why, const char *program)
{
	auto_free char *shown = text_visible_dup(program);

	(void)err_set(why, 0, "%.200s was not executed: the file was replaced after the decision",
		      shown);
	return 126;
}

int refusal_of_exec(struct err *why, const char *program, int error)
{
	auto_free char *shown = text_visible_dup(program);
	bool is_missing = error == ENOENT || error == ENOTDIR;

	if (error == ENOEXEC)
		(void)err_set(why, 0,
			      "%.200s is neither a program nor a script with a #! line; name its "
			      "interpreter",
			      shown);
	else if (is_missing)
		(void)err_set(why, 0, "%.200s was not found", shown);
	else
		(void)err_errno(why, error > 0 ? error : EPROTO, "%.200s cannot be executed",
				shown);
	return is_missing ? 127 : 126;
}
