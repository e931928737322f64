#include "proxy/confine.h"

#include <errno.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "seccomp/seccomp_worker.h"

/* Bits that may be newer than the kernel headers. The numbers are ABI. */
#define FS_RIGHTS_1    UINT64_C(0x1fff) /* the first 13: execute to make_sym */
#define FS_REFER       (UINT64_C(1) << 13)
#define FS_TRUNCATE    (UINT64_C(1) << 14)
#define FS_IOCTL_DEV   (UINT64_C(1) << 15)
#define NET_BIND_TCP   (UINT64_C(1) << 0)
#define SCOPE_ABSTRACT (UINT64_C(1) << 0)
#define SCOPE_SIGNAL   (UINT64_C(1) << 1)

struct confine_ruleset {
	uint64_t fs, net, scope;
};

/* The rights that each ABI version added. The kernel refuses a ruleset with an unknown bit. */
static const struct {
	int abi;
	struct confine_ruleset adds;
} abis[] = {
	{ 1, { .fs = FS_RIGHTS_1 } },  { 2, { .fs = FS_REFER } },
	{ 3, { .fs = FS_TRUNCATE } },  { 4, { .net = NET_BIND_TCP } },
	{ 5, { .fs = FS_IOCTL_DEV } }, { 6, { .scope = SCOPE_ABSTRACT | SCOPE_SIGNAL } },
};

static int set_limits(struct err *why)
{
	struct rlimit files, core = { 0 };

	/* Each connection takes two descriptors; the usual soft limit of 1024 exists for programs
	 * that use select(2). */
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return err_errno(why, errno, "cannot read the limit on open files");
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		return err_errno(why, errno, "cannot raise the limit on open files");
	if (setrlimit(RLIMIT_CORE, &core) < 0)
		return err_errno(why, errno, "cannot forbid core dumps");
	return 0;
}

static int set_flags(struct err *why)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_errno(why, errno, "cannot clear the dumpable attribute");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_errno(why, errno, "cannot set no_new_privs");
	return 0;
}

/* A ruleset that handles every right and grants none. It is a second layer (the filter below has no
 * call that opens files), so a kernel without Landlock is not a failure; a kernel that has Landlock
 * and refuses is. */
static int close_files(struct err *why)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct confine_ruleset all = { 0 };

	if (abi <= 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(abis) && abis[i].abi <= abi; i++) {
		all.fs |= abis[i].adds.fs;
		all.net |= abis[i].adds.net;
		all.scope |= abis[i].adds.scope;
	}
	/* An older kernel accepts a longer struct whose tail is zero. */
	auto_close int ruleset = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
	if (ruleset < 0)
		return err_errno(why, errno, "cannot create a Landlock ruleset");
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return err_errno(why, errno, "cannot enforce the Landlock ruleset");
	return 0;
}

static int filter_calls(struct err *why)
{
	struct sock_fprog program = {
		.len = seccomp_worker_len,
		.filter = (struct sock_filter *)(uintptr_t)
			seccomp_worker, /* the kernel only reads it */
	};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return err_errno(why, errno, "cannot load the system call filter");
	return 0;
}

int confine_worker(struct err *why)
{
	int r = set_limits(why);

	if (r == 0)
		r = set_flags(why);
	if (r == 0)
		r = close_files(why);
	if (r == 0)
		r = filter_calls(why);
	return r;
}

#ifdef __SANITIZE_ADDRESS__
#define CONFINE_HAS_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CONFINE_HAS_ASAN
#endif
#endif
#ifdef CONFINE_HAS_ASAN
/* The leak checker uses ptrace from a thread of its own, which a confined process cannot start: it
 * would kill the program instead of reporting. The run-time calls this at exit; in unconfined
 * processes the checker runs. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0;
}
#endif
