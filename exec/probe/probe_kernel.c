#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <string.h>

#include "exec/init/sys.h"
#include "exec/probe/probe_impl.h"
#include "exec/run/wire.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#endif

long probe_kernel_io_uring(const struct probe_setting *setting)
{
	struct io_uring_params params;

	memset(&params, 0, sizeof(params));
	return probe_close(sys(io_uring_setup, 1, &params));
}

/* The gate's process number, unless a process of the sandbox may have the same: numbers are given
 * in ascending order, and this process has the highest. */
static long gate_of(const struct probe_setting *setting)
{
	const char *digits = probe_bait(setting, WIRE_BAIT_GATE);
	long pid = digits ? probe_number(digits) : 0;

	return pid > sys(getpid) ? pid : PROBE_SKIP(EXEC_TRY_SAME_PID);
}

long probe_kernel_signals(const struct probe_setting *setting)
{
	long pid = gate_of(setting);

	return pid < 0 ? pid : probe_refused(sys(kill, pid, 0), -ESRCH, -ESRCH);
}

static long read_link(const char *path)
{
	char target[8];

	return sys(readlinkat, AT_FDCWD, path, target, sizeof(target));
}

long probe_kernel_processes(const struct probe_setting *setting)
{
	char path[64];
	long pid = gate_of(setting);

	if (pid < 0)
		return pid;
	probe_name(path, sizeof(path), "/proc/", pid, "/exe");
	return read_link(path);
}

long probe_kernel_init(const struct probe_setting *setting)
{
	return read_link("/proc/1/exe");
}

long probe_kernel_descriptors(const struct probe_setting *setting)
{
	long process = sys(pidfd_open, 1, 0);

	if (process < 0)
		return process;
	long r = probe_close(sys(pidfd_getfd, process, 0, 0));

	(void)sys(close, process);
	return r;
}

/* The first two have no arguments that would do something, so any other error shows that the call
 * is possible. */
long probe_kernel_namespaces(const struct probe_setting *setting)
{
	long r = probe_refused(sys(clone3, NULL, 0), -ENOSYS, -EPERM);

	if (r < 0)
		r = probe_refused(sys(setns, -1, 0), -EPERM, -ENOSYS);
	return r < 0 ? sys(unshare, CLONE_NEWUSER) : r;
}

long probe_kernel_keyrings(const struct probe_setting *setting)
{
	long r = sys(keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0);

	return probe_refused(r, -EPERM, -ENOSYS);
}

long probe_kernel_perf(const struct probe_setting *setting)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_SOFTWARE;
	attr.size = PERF_ATTR_SIZE_VER0;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	return probe_close(sys(perf_event_open, &attr, 0, -1, -1, 0));
}

long probe_kernel_bpf(const struct probe_setting *setting)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = 4;
	attr.value_size = 4;
	attr.max_entries = 1;
	return probe_close(sys(bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
}

long probe_kernel_userfaultfd(const struct probe_setting *setting)
{
	return probe_close(sys(userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
}

long probe_kernel_mounts(const struct probe_setting *setting)
{
	long r = probe_close(sys(open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE | O_CLOEXEC));

	return r < 0 ? probe_close(sys(fsopen, "tmpfs", 0)) : r;
}

long probe_kernel_set_user_id(const struct probe_setting *setting)
{
	long fd = sys(memfd_create, "sallyport-probe", 0);

	if (fd < 0)
		return fd;
	long r = sys(fchmod, fd, 04700);

	(void)sys(close, fd);
	return r;
}

/* The kernel reads the byte to type last, so a call without one shows that it would type. */
long probe_kernel_terminal(const struct probe_setting *setting)
{
	long r = sys(ioctl, 0, TIOCSTI, NULL);

	return r == -EFAULT ? PROBE_OPEN : r;
}
