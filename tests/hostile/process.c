#include "tests/hostile/hostile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const char *const init_parts[] = {
	"mem",
	"environ",
	"maps",
	"smaps",
	"auxv",
	"stack",
	"syscall",
	"pagemap",
	"exe",
	"root",
	"cwd",
	"fd",
	"fdinfo",
	"ns/net",
	"ns/user",
	"map_files",
	"io",
	"timers",
	"root/etc/passwd",
	"cwd/.",
	"fd/0",
	"fd/3",
	"task/1/mem",
	"task/1/environ",
};

/* K13, K25: the sandbox's init has our ids, and is still not ours to look into. */
static void read_init(char **args)
{
	char path[64], byte;
	struct iovec local = { .iov_base = &byte, .iov_len = 1 },
		     remote = { .iov_base = &byte, .iov_len = 1 };

	for (size_t i = 0; i < LENGTH(init_parts); i++) {
		snprintf(path, sizeof(path), "/proc/1/%s", init_parts[i]);

		int fd = open(path, O_RDONLY);

		/* Some can be opened and then say no, or say nothing. */
		if (fd >= 0) {
			hostile_try(path, read(fd, &byte, 1) > 0 ? 0 : -1);
			close(fd);
		} else {
			hostile_held();
		}
		hostile_try(path, open(path, O_WRONLY));
	}
	hostile_try("readlink of init's program", readlink("/proc/1/exe", path, sizeof(path)));
	hostile_try("readlink of init's namespace", readlink("/proc/1/ns/net", path, sizeof(path)));
	hostile_try_error("process_vm_readv of init",
			  syscall(SYS_process_vm_readv, 1, &local, 1, &remote, 1, 0), EPERM);
	hostile_try_error("process_vm_writev of init",
			  syscall(SYS_process_vm_writev, 1, &local, 1, &remote, 1, 0), EPERM);
	hostile_try_error("kcmp with init", syscall(SYS_kcmp, 1, getpid(), 0, 0, 0), EPERM);
}

/* K13 */
static void trace_init(char **args)
{
	int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);

	hostile_try_error("attaching to init", ptrace(PTRACE_ATTACH, 1, 0, 0), EPERM);
	hostile_try_error("seizing init", ptrace(PTRACE_SEIZE, 1, 0, 0), EPERM);
	for (int fd = 0; fd < 8; fd++)
		hostile_try_error("taking a descriptor of init",
				  syscall(SYS_pidfd_getfd, pidfd, fd, 0), EPERM);
}

/* F: init ignores signals without a handler from every process inside. */
static void kill_init(char **args)
{
	static const int signals[] = { SIGKILL, SIGSTOP, SIGTERM, SIGSEGV, SIGABRT, SIGINT,
				       SIGHUP,  SIGQUIT, SIGUSR1, SIGCHLD, SIGCONT, SIGTSTP };
	int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);

	for (size_t i = 0; i < LENGTH(signals); i++) {
		(void)kill(1, signals[i]);
		(void)syscall(SYS_tgkill, 1, 1, signals[i]);
		(void)syscall(SYS_pidfd_send_signal, pidfd, signals[i], NULL, 0);
	}
	/* Init's end would be ours; give it the time. */
	usleep(200 * 1000);
	/* Stopped, it would not bury this one. */
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	hostile_try("init has ended", waitpid(pid, NULL, 0) == pid && getppid() == 1 ? -1 : 0);
}

static void try_scheduling(const char *what, int id)
{
	const struct sched_param param = { 0 };
	/* struct sched_attr: SCHED_BATCH, nice 19. */
	const uint32_t attr[12] = { sizeof(attr), SCHED_BATCH, 0, 0, 19 };
	cpu_set_t cpus;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	hostile_try_error(what, sched_setscheduler(id, SCHED_IDLE, &param), EPERM);
	hostile_try_error(what, syscall(SYS_sched_setattr, id, attr, 0), EPERM);
	hostile_try_error(what, sched_setaffinity(id, sizeof(cpus), &cpus), EPERM);
	hostile_try_error(what, setpriority(PRIO_PROCESS, (id_t)id, 19), EPERM);
	hostile_try_error(what, syscall(SYS_ioprio_set, 1, id, 3 << 13), EPERM);
}

/* F: init watches the covers, and has the command's ids. If it were slow, a cover that is lost
 * could be read for long; its limits hold for what it sends in the command's place. */
static void slow_init(char **args)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };
	DIR *threads = opendir("/proc/1/task");
	struct dirent *at;

	while (threads && (at = readdir(threads)) != NULL) {
		int id = (int)strtol(at->d_name, NULL, 10);

		if (id <= 0)
			continue;
		try_scheduling("a slower thread of init", id);
		hostile_try_error("limits of init", prlimit(id, RLIMIT_NOFILE, &limit, NULL),
				  EPERM);
		hostile_try_error("limits of init, with high bits",
				  syscall(SYS_prlimit64, id | 1L << 32, RLIMIT_NOFILE, &limit, 0),
				  EPERM);
	}
	(void)setpriority(PRIO_USER, 0, 19);
	(void)setpriority(PRIO_PGRP, getpgid(1), 19);
	errno = 0;
	if (getpriority(PRIO_PROCESS, 1) > 0 || errno != 0)
		hostile_escaped("init has become slower");
}

/* F: a stop of a traced child must not be taken for its end. The exit status is what is looked
 * at: 5. */
static void trace_me(char **args)
{
	if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
		_exit(5);
	/* Stops in front of a tracer; does nothing otherwise. */
	raise(SIGWINCH);
	_exit(5);
}

/* K01, K13. @args: pids outside. */
static void outside_processes(char **args)
{
	DIR *proc = opendir("/proc");
	size_t count = 0;

	for (struct dirent *entry; proc != NULL && (entry = readdir(proc)) != NULL;) {
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
			count++;
	}
	if (proc != NULL)
		closedir(proc);
	if (count > 2)
		hostile_escaped("%zu processes can be seen, not init and this one", count);
	for (; args[0] != NULL; args++) {
		pid_t pid = (pid_t)strtol(args[0], NULL, 10);
		char path[64];

		if (pid == getpid() || pid == 1)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/status", pid);
		hostile_try(path, open(path, O_RDONLY));
		hostile_try("a signal to a process outside", kill(pid, 0));
		hostile_try("a handle on a process outside", syscall(SYS_pidfd_open, pid, 0));
		hostile_try("tracing a process outside", ptrace(PTRACE_SEIZE, pid, 0, 0));
	}
	hostile_try("a signal to the group of init's parent",
		    kill(0, 0) == 0 && getpgrp() == 0 ? 0 : -1);
}

/* K07: whatever the caller had open. */
static void inherited(char **args)
{
	char path[64], target[256];

	for (int fd = 3; fd < 4096; fd++) {
		if (fcntl(fd, F_GETFD) < 0) {
			hostile_held();
			continue;
		}
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);

		ssize_t len = readlink(path, target, sizeof(target) - 1);

		target[len > 0 ? len : 0] = '\0';
		hostile_escaped("descriptor %d is open: %s", fd, target);
	}
}

/* H, K14, K15: nothing left and no way back. */
static void capabilities(char **args)
{
	static const char *const empty[] = { "CapInh:\t", "CapPrm:\t", "CapEff:\t", "CapBnd:\t",
					     "CapAmb:\t" };
	const struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
	char line[256];
	FILE *status = fopen("/proc/self/status", "re");
	unsigned int seen = 0;

	while (status != NULL && fgets(line, sizeof(line), status) != NULL) {
		for (size_t i = 0; i < LENGTH(empty); i++) {
			if (strncmp(line, empty[i], 8) != 0)
				continue;
			if (strcmp(line + 8, "0000000000000000\n") != 0)
				hostile_escaped("%s", line);
			seen++;
		}
		if (strcmp(line, "NoNewPrivs:\t1\n") == 0 || strcmp(line, "Seccomp:\t2\n") == 0)
			seen++;
	}
	if (status != NULL)
		fclose(status);
	if (seen != 7)
		hostile_escaped("%u of 7 lines of /proc/self/status are as they must be", seen);
	if (prctl(PR_GET_SECUREBITS) !=
	    (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
	     SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
	     SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED | SECBIT_KEEP_CAPS_LOCKED))
		hostile_escaped("the securebits are %x", (unsigned int)prctl(PR_GET_SECUREBITS));
	data[0].permitted = data[0].effective = 1U << CAP_NET_ADMIN;
	hostile_try("taking a capability", syscall(SYS_capset, &head, data));
	hostile_try("new privileges", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
	hostile_try("other securebits", prctl(PR_SET_SECUREBITS, 0, 0, 0, 0));
	hostile_try("an ambient capability",
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_RAW, 0, 0));
}

/* What a set-uid copy of this program finds out about itself: nothing must be more than it was. */
static void privileges(char **args)
{
	const uid_t was = (uid_t)strtoul(args[0] != NULL ? args[0] : "0", NULL, 10);
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (geteuid() != was)
		hostile_escaped("the effective uid is %u", geteuid());
	if (syscall(SYS_capget, &head, data) < 0 ||
	    (data[0].effective | data[0].permitted | data[1].effective | data[1].permitted) != 0)
		hostile_escaped("there are capabilities: %x", data[0].permitted);
	hostile_held();
}

/* K15. @args: programs that are set-uid, set-gid or carry capabilities: copies of this one. */
static void set_uid(char **args)
{
	char uid[16];

	snprintf(uid, sizeof(uid), "%u", geteuid());
	for (; args[0] != NULL; args++) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0) {
			execl(args[0], args[0], "privileges", uid, NULL);
			_exit(errno == EACCES || errno == EPERM ? 0 : 3);
		}
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != 0)
			hostile_escaped("%s ended with status %x", args[0], (unsigned int)status);
		hostile_held();
	}
}

/* K15: ids that are not mapped cannot be had. */
static void other_ids(char **args)
{
	static const gid_t groups[] = { 0, 1, 27 };
	const uid_t ids[] = { 0, 1, 1000, 65534 };

	for (size_t i = 0; i < LENGTH(ids); i++) {
		if (ids[i] == getuid())
			continue;
		hostile_try("another uid", setresuid(ids[i], ids[i], ids[i]));
		hostile_try("another effective uid", seteuid(ids[i]));
		if (ids[i] != getgid())
			hostile_try("another gid", setresgid(ids[i], ids[i], ids[i]));
	}
	hostile_try("other groups", syscall(SYS_setgroups, LENGTH(groups), groups));
	hostile_try("no groups", syscall(SYS_setgroups, 0, NULL));
	hostile_try("another uid map",
		    open("/proc/self/uid_map", O_WRONLY) >= 0 &&
				    write(open("/proc/self/uid_map", O_WRONLY), "0 0 1", 5) > 0
			    ? 0
			    : -1);
}

/* K18: typing into the terminal of the program that started us. The kernel reads 32 bits of the
 * request. */
static void terminal(char **args)
{
	static const unsigned long requests[] = { TIOCSTI, 0x541C /* TIOCLINUX */,
						  0x5423 /* TIOCSETD */ };
	const char paste[] = "\3x";
	int fds[] = { 0, 1, 2, open("/dev/tty", O_RDWR | O_NOCTTY),
		      open("/dev/console", O_RDWR | O_NOCTTY) };

	hostile_speak_on_stderr();
	for (size_t i = 0; i < LENGTH(fds); i++) {
		for (size_t k = 0; k < LENGTH(requests); k++) {
			hostile_try_error("an ioctl on the terminal",
					  syscall(SYS_ioctl, fds[i], requests[k], paste), EPERM);
			hostile_try_error(
				"an ioctl with high bits",
				syscall(SYS_ioctl, fds[i], requests[k] | 1UL << 32, paste), EPERM);
		}
	}
}

/* K18: the terminal of the user who started us is not available if none of 0-2 was it. */
static void no_terminal(char **args)
{
	hostile_try("/dev/tty", open("/dev/tty", O_RDWR | O_NOCTTY));
	hostile_try("a terminal's group", tcgetpgrp(0));
	for (int fd = 0; fd < 3; fd++) {
		hostile_try("a standard descriptor is a terminal", isatty(fd) ? 0 : -1);
		hostile_try("taking a terminal", ioctl(fd, TIOCSCTTY, 1));
	}
}

/* K20. @args: how long, and a word that is found in its command line. Ends at once; what it leaves
 * behind does not. */
static void daemon_stays(char **args)
{
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			setsid();
			(void)signal(SIGHUP, SIG_IGN);
			(void)signal(SIGTERM, SIG_IGN);
			for (unsigned int left = (unsigned int)strtoul(
				     args[0] != NULL ? args[0] : "30", NULL, 10);
			     left > 0;)
				left = sleep(left);
			_exit(0);
		}
		_exit(0);
	}
	hostile_held();
}

/* K25. @args: names that must not be set, and values that must not be anywhere. */
static void environment(char **args)
{
	extern char **environ;

	for (; args[0] != NULL; args++) {
		for (char **at = environ; *at != NULL; at++) {
			size_t len = strlen(args[0]);

			if (strncmp(*at, args[0], len) == 0 && (*at)[len] == '=')
				hostile_escaped("%s is set", *at);
		}
		hostile_held();
	}
}

/* K27. A lease on a file that may only be read blocks a program that writes it outside. */
static void leases(char **args)
{
	int fd = open("lease", O_RDONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		hostile_skip("no file of our own");
	hostile_try_error("F_SETLEASE F_RDLCK", fcntl(fd, F_SETLEASE, F_RDLCK), EINVAL);
	hostile_try_error("F_SETLEASE F_WRLCK", fcntl(fd, F_SETLEASE, F_WRLCK), EINVAL);
	hostile_try_error("F_NOTIFY", fcntl(fd, F_NOTIFY, DN_CREATE), EINVAL);
	(void)unlink("lease");
	close(fd);
}

#define PROCESSES_MAX 8192
#define WATCHES_MAX   64
#define TERMINALS_MAX 256

/* Timers that signal nobody count like queued signals: at most a quarter of what the user has,
 * @user. */
static void limit_timers(const char *user)
{
	struct sigevent none = { .sigev_notify = SIGEV_NONE };
	unsigned long most = strtoul(user, NULL, 10) / 4, count = 0;
	timer_t timer;

	while (count <= most && timer_create(CLOCK_MONOTONIC, &none, &timer) == 0)
		count++;
	if (count > most)
		hostile_escaped("%lu timers of %s", count, user);
	hostile_held();
}

/* With the limit 0 the kernel would start the host's handler; 1 starts none. A hard limit of 0
 * cannot be raised to it. */
static void limit_core(void)
{
	struct rlimit core;

	if (getrlimit(RLIMIT_CORE, &core) < 0 || core.rlim_max > 1 ||
	    core.rlim_cur != core.rlim_max)
		hostile_escaped("core dumps of %llu bytes", (unsigned long long)core.rlim_max);
	core.rlim_max = 1 << 20;
	hostile_try("larger core dumps", setrlimit(RLIMIT_CORE, &core));
}

static void limit_terminals(void)
{
	unsigned int count = 0;

	while (count <= TERMINALS_MAX && open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC) >= 0)
		count++;
	if (count == 0 || count > TERMINALS_MAX)
		hostile_escaped("%u terminals", count);
	close_range(3, ~0U, 0);
	hostile_held();
}

/* What one command may take of what all of the user's programs share. @args: the user's limit of
 * queued signals; "own-pids", where processes are limited. Ends by itself. */
static void limits(char **args)
{
	static const char *const memory[] = { "/tmp", "/dev/shm", "/run" };
	unsigned int watches = 0;
	struct sysinfo machine;
	struct statvfs fs;

	while (watches <= WATCHES_MAX && inotify_init1(IN_CLOEXEC) >= 0)
		watches++;
	if (watches > WATCHES_MAX)
		hostile_escaped("%u inotify instances", watches);
	hostile_held();
	limit_timers(args[0]);
	limit_terminals();
	if (sysinfo(&machine) < 0)
		hostile_skip("sysinfo");
	for (size_t i = 0; i < LENGTH(memory); i++) {
		uint64_t all = (uint64_t)machine.totalram * machine.mem_unit;

		if (statvfs(memory[i], &fs) == 0 && (uint64_t)fs.f_blocks * fs.f_frsize > all / 3)
			hostile_escaped("%s may take more than a third of the memory", memory[i]);
		hostile_held();
	}
	FILE *file = fopen("/proc/sys/kernel/pid_max", "re");
	unsigned long most = 0;
	struct rlimit own;

	if (file == NULL || fscanf(file, "%lu", &most) != 1)
		hostile_skip("pid_max");
	(void)fclose(file);
	/* Root is not counted by the one, and before Linux 6.14 the other is the machine's. */
	if (getrlimit(RLIMIT_NPROC, &own) < 0 || own.rlim_max > PROCESSES_MAX)
		hostile_escaped("any number of processes");
	if (strcmp(args[1], "own-pids") == 0 && most > PROCESSES_MAX)
		hostile_escaped("%lu process ids", most);
	hostile_try("more processes", open("/proc/sys/kernel/pid_max", O_WRONLY));
	own.rlim_max = PROCESSES_MAX + 1;
	hostile_try("a higher limit", setrlimit(RLIMIT_NPROC, &own));
	limit_core();
}

const struct hostile_case hostile_process[] = {
	{ "leases", leases },           { "limits", limits },
	{ "read-init", read_init },     { "trace-init", trace_init },
	{ "kill-init", kill_init },     { "slow-init", slow_init },
	{ "trace-me", trace_me },       { "outside-processes", outside_processes },
	{ "inherited", inherited },     { "capabilities", capabilities },
	{ "privileges", privileges },   { "set-uid", set_uid },
	{ "other-ids", other_ids },     { "terminal", terminal },
	{ "no-terminal", no_terminal }, { "daemon-stays", daemon_stays },
	{ "environment", environment }, { 0 },
};
