#include "tests/hostile/hostile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define MODE          0644

static void try_create(const char *folder)
{
	char path[PATH_MAX], what[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/sallyport-hostile", folder);
	snprintf(what, sizeof(what), "creating %s", path);
	hostile_try(what, open(path, O_CREAT | O_WRONLY, MODE));
	hostile_try(what, mkdir(path, 0755));
	hostile_try(what, symlink("/", path));
	hostile_try(what, mkfifo(path, MODE));
	hostile_try(what, mknod(path, S_IFREG | MODE, 0));
	hostile_try(what, link("/proc/self/exe", path));
	hostile_try(what, open(folder, O_TMPFILE | O_WRONLY, MODE));
}

/* @args: more folders, which the command's user owns. */
static void write_outside(char **args)
{
	static const char *const folders[] = {
		"/",
		"/etc",
		"/usr",
		"/usr/bin",
		"/usr/local",
		"/var",
		"/var/lib",
		"/root",
		"/home",
		"/opt",
		"/srv",
		"/boot",
		"/mnt",
		"/sys",
		"/proc",
		"/dev/..",
		"/tmp/../etc",
		"/proc/self/root/etc",
		"/proc/1/root/etc",
	};

	for (size_t i = 0; i < LENGTH(folders); i++)
		try_create(folders[i]);
	for (; args[0] != NULL; args++)
		try_create(args[0]);
}

/* By calls that libraries do not know yet: setxattrat, removexattrat, file_setattr. */
static void try_attributes(const char *path)
{
	struct {
		uint64_t value;
		uint32_t size, flags;
	} set = { (uintptr_t) "x", 1, 0 };
	char attributes[24] = "";

	hostile_try("setxattrat",
		    syscall(463, AT_FDCWD, path, 0, "user.hostile", &set, sizeof(set)));
	hostile_try("removexattrat", syscall(466, AT_FDCWD, path, 0, "user.outside"));
	hostile_try("file_setattr",
		    syscall(469, AT_FDCWD, path, attributes, sizeof(attributes), 0));
}

static void try_change(const char *path)
{
	static const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	char other[PATH_MAX];

	snprintf(other, sizeof(other), "%s.moved", path);
	hostile_try("opening it for writing", open(path, O_WRONLY));
	hostile_try("opening it for appending", open(path, O_WRONLY | O_APPEND));
	hostile_try("opening it for both", open(path, O_RDWR));
	hostile_try("opening it to truncate", open(path, O_RDONLY | O_TRUNC));
	hostile_try("truncate", truncate(path, 0));
	hostile_try("chmod", chmod(path, 0777));
	hostile_try("chown", chown(path, getuid(), getgid()));
	hostile_try("utimensat", utimensat(AT_FDCWD, path, times, 0));
	hostile_try("setxattr", setxattr(path, "user.hostile", "x", 1, 0));
	try_attributes(path);
	hostile_try("unlink", unlink(path));
	hostile_try("rename", rename(path, other));
	hostile_try("link beside it", link(path, other));
	hostile_try("a file on top of it", symlink("x", path));

	int fd = open(path, O_RDONLY);

	if (fd >= 0) {
		hostile_try("fchmod", fchmod(fd, 0777));
		hostile_try("futimens", futimens(fd, times));
		hostile_try("ftruncate", ftruncate(fd, 0));
		snprintf(other, sizeof(other), "/proc/self/fd/%d", fd);
		hostile_try("opening it again for writing", open(other, O_WRONLY));
		hostile_try("chmod through /proc", chmod(other, 0777));
		close(fd);
	}
}

/* @args: files of the command's user in the read-only tree, and those that policy or audit are in.
 */
static void change(char **args)
{
	for (; args[0] != NULL; args++) {
		char into[64];

		try_change(args[0]);
		/* In the working directory, where a link would make it writable. */
		snprintf(into, sizeof(into), "stolen-%ld", (long)getpid());
		hostile_try("a hard link into a writable directory", link(args[0], into));
		hostile_try("a move into a writable directory", rename(args[0], into));
	}
}

static void try_move(const char *from, const char *to, unsigned int flags, const char *what)
{
	long r = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags);

	if (r == 0)
		(void)syscall(SYS_renameat2, AT_FDCWD, to, AT_FDCWD, from, flags);
	hostile_try(what, r);
}

/* D: a protected file is no use if its folder can be moved away and another put in its place.
 * @args: protected files below writable folders. */
static void parent_rename(char **args)
{
	for (; args[0] != NULL; args++) {
		char folder[PATH_MAX], moved[PATH_MAX + 8], *parent;

		if (strlen(args[0]) >= sizeof(folder))
			hostile_escaped("a path is too long to try");
		memcpy(folder, args[0], strlen(args[0]) + 1);
		/* Every folder above it, up to where nothing is writable. */
		for (parent = dirname(folder); strcmp(parent, "/") != 0; parent = dirname(parent)) {
			snprintf(moved, sizeof(moved), "%s.moved", parent);
			try_move(parent, moved, 0, "moving the folder above a protected file");
			if (mkdir(moved, 0755) == 0) {
				try_move(parent, moved, 2,
					 "exchanging the folder above a protected file");
				(void)rmdir(moved);
			}
			hostile_try("removing the folder above a protected file", rmdir(parent));
		}
		try_change(args[0]);
	}
}

/* A01, K19. @args: paths that must be out of sight. */
static void hidden(char **args)
{
	char byte;

	for (; args[0] != NULL; args++) {
		int fd = open(args[0], O_RDONLY);
		struct stat status;

		if (fd >= 0) {
			DIR *folder = fdopendir(fd);
			size_t entries = 0;

			while (folder != NULL && readdir(folder) != NULL)
				entries++;
			if (entries > 2 || (folder == NULL && read(fd, &byte, 1) > 0))
				hostile_escaped("%s can be read", args[0]);
			if (folder != NULL)
				closedir(folder);
		}
		hostile_held();
		hostile_try(args[0], open(args[0], O_WRONLY));
		hostile_try(args[0], chmod(args[0], 0777));
		hostile_try(args[0], unlink(args[0]));
		hostile_try(args[0], rename(args[0], "/tmp/x"));
		if (stat(args[0], &status) == 0 && S_ISDIR(status.st_mode))
			try_create(args[0]);
	}
}

static void try_read(const char *what, int folder, const char *path)
{
	int fd = openat(folder, path, O_RDONLY);
	char byte;

	if (fd >= 0 && read(fd, &byte, 1) > 0)
		hostile_escaped("%s can be read by way of %s", path, what);
	if (fd >= 0)
		close(fd);
	hostile_held();
}

/* By another name: through links, descriptors and /proc. */
static void try_other_names(const char *path)
{
	char folder[PATH_MAX], name[PATH_MAX], by_proc[PATH_MAX + 64];

	snprintf(folder, sizeof(folder), "%s", path);
	snprintf(name, sizeof(name), "%s", basename(folder));
	snprintf(folder, sizeof(folder), "%s", path);

	int above = open(dirname(folder), O_PATH | O_DIRECTORY);
	int at = open(path, O_PATH);

	try_read("its folder's descriptor", above, name);
	if (symlink(path, "by-link") == 0)
		try_read("a symbolic link", AT_FDCWD, "by-link");
	snprintf(by_proc, sizeof(by_proc), "/proc/self/root%s", path);
	try_read("/proc/self/root", AT_FDCWD, by_proc);
	snprintf(by_proc, sizeof(by_proc), "/proc/self/fd/%d/%s", above, name);
	try_read("a descriptor in /proc", AT_FDCWD, by_proc);
	snprintf(by_proc, sizeof(by_proc), "/proc/self/fd/%d", at);
	try_read("its own descriptor in /proc", AT_FDCWD, by_proc);
	hostile_try("a hard link", link(path, "by-hard-link"));
	hostile_try("a hard link by descriptor",
		    linkat(at, "", AT_FDCWD, "by-hard-link", AT_EMPTY_PATH));
	hostile_try("a hard link by /proc",
		    linkat(AT_FDCWD, by_proc, AT_FDCWD, "by-hard-link", AT_SYMLINK_FOLLOW));
	if (at >= 0)
		close(at);
	if (above >= 0)
		close(above);
	(void)unlink("by-link");
}

/* By getxattr and getxattrat: there is one outside. */
static void try_read_attribute(const char *path)
{
	char byte[8];
	struct {
		uint64_t value;
		uint32_t size, flags;
	} get = { (uintptr_t)byte, sizeof(byte), 0 };

	hostile_try("reading its attribute", getxattr(path, "user.outside", byte, sizeof(byte)));
	hostile_try("getxattrat",
		    syscall(464, AT_FDCWD, path, 0, "user.outside", &get, sizeof(get)));
}

/* @args: denied paths, where the folder they are in may be writable. */
static void denied(char **args)
{
	for (; args[0] != NULL; args++) {
		char other[] = "put-in-its-place";
		int fd = open(other, O_CREAT | O_WRONLY, MODE);

		try_read("its name", AT_FDCWD, args[0]);
		try_other_names(args[0]);
		try_read_attribute(args[0]);
		try_attributes(args[0]);
		hostile_try("writing", open(args[0], O_WRONLY));
		hostile_try("truncating", truncate(args[0], 0));
		hostile_try("opening it up", chmod(args[0], 0777));
		hostile_try("removing it", unlink(args[0]));
		hostile_try("removing it as a folder", rmdir(args[0]));
		hostile_try("moving it", rename(args[0], "moved"));
		if (fd >= 0) { /* this folder may be written */
			hostile_try("moving a file over it", rename(other, args[0]));
			try_move(other, args[0], 2, "exchanging it with a file");
			close(fd);
		}
		hostile_try("a link in its place", symlink(other, args[0]));
		hostile_try("a folder in its place", mkdir(args[0], 0755));
		hostile_try("something inside of it", open(args[0], O_TMPFILE | O_WRONLY, MODE));
		(void)unlink(other);
	}
}

/* Files of the host in directories that are fresh inside. @args: their paths. */
static void absent(char **args)
{
	struct stat status;

	for (; args[0] != NULL; args++)
		hostile_try(args[0], lstat(args[0], &status));
}

static int try_kernel_file(const char *path, const struct stat *status, int kind, struct FTW *place)
{
	/* Pressure triggers use memory of the process that opens them. The processes below /proc
	 * are ours, and read-init's. */
	if (kind == FTW_D && strncmp(path, "/proc/", 6) == 0 && path[6] >= '0' && path[6] <= '9')
		return FTW_SKIP_SUBTREE;
	if (strncmp(path, "/proc/pressure", 14) == 0 || strstr(path, ".pressure") != NULL)
		return FTW_CONTINUE;
	if (kind != FTW_F)
		return FTW_CONTINUE;

	int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0)
		hostile_escaped("%s can be opened for writing", path);
	hostile_held();
	return FTW_CONTINUE;
}

/* D: as root outside, a plain write to /proc/sys is let through without capabilities. Opened, not
 * written. */
static void kernel_files(char **args)
{
	static const char *const trees[] = { "/proc", "/sys" };
	static const char *const hidden_files[] = { "/proc/keys", "/proc/key-users",
						    "/proc/timer_list", "/sys/kernel/debug",
						    "/sys/kernel/tracing" };

	for (size_t i = 0; i < LENGTH(hidden_files); i++)
		hostile_try(hidden_files[i], open(hidden_files[i], O_RDONLY));
	for (size_t i = 0; i < LENGTH(trees); i++)
		(void)nftw(trees[i], try_kernel_file, 64, FTW_PHYS | FTW_ACTIONRETVAL);
}

/* A pseudo terminal that this program did not open belongs to another one. */
static void try_terminals(void)
{
	char path[64];

	for (int i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "/dev/pts/%d", i);
		hostile_try(path, open(path, O_RDWR | O_NOCTTY));
	}
}

/* The device that a node opens is not in any mount. @args: nodes of the host outside /dev. */
static void devices(char **args)
{
	static const char *const wanted[] = {
		".",    "..",  "null", "zero", "full",  "random", "urandom", "tty",    "console",
		"ptmx", "pts", "shm",  "fd",   "stdin", "stdout", "stderr",  "mqueue", "core",
	};
	DIR *folder = opendir("/dev");

	for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
		bool is_wanted = false;

		for (size_t i = 0; i < LENGTH(wanted); i++)
			is_wanted = is_wanted || strcmp(entry->d_name, wanted[i]) == 0;
		if (!is_wanted)
			hostile_escaped("there is /dev/%s", entry->d_name);
		hostile_held();
	}
	if (folder != NULL)
		closedir(folder);
	try_terminals();
	for (; args[0] != NULL; args++)
		hostile_try(args[0], open(args[0], O_RDONLY | O_NONBLOCK));
	/* kmsg, the first disk, the network tunnel */
	static const unsigned int numbers[][2] = { { 1, 11 }, { 8, 0 }, { 10, 200 }, { 1, 1 } };

	for (size_t i = 0; i < LENGTH(numbers); i++) {
		(void)unlink("node");
		if (mknod("node", S_IFCHR | 0666, makedev(numbers[i][0], numbers[i][1])) == 0)
			hostile_try("a device node of our own", open("node", O_RDONLY));
		else
			hostile_held();
	}
}

/* A read-only mount does not keep anybody from writing into a FIFO: its reader is another process.
 * @args: FIFOs outside. */
static void fifos(char **args)
{
	for (; args[0] != NULL; args++) {
		hostile_try("writing into a FIFO outside", open(args[0], O_WRONLY | O_NONBLOCK));
		hostile_try("both ends of a FIFO outside", open(args[0], O_RDWR | O_NONBLOCK));
	}
}

static void try_reopen(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	hostile_try("opening it again to write", open(path, O_WRONLY));
	hostile_try("opening it again to append", open(path, O_WRONLY | O_APPEND));
	hostile_try("opening it again to truncate", open(path, O_RDONLY | O_TRUNC));
	hostile_try("truncating it by its number", truncate(path, 0));
	hostile_try("linking it into reach",
		    linkat(AT_FDCWD, path, AT_FDCWD, "stolen", AT_SYMLINK_FOLLOW));
	hostile_try("linking it without a path", linkat(fd, "", AT_FDCWD, "stolen", AT_EMPTY_PATH));
}

/* D, K07: a descriptor carries the host's writable mount, however it was opened. stdin: a file
 * outside, opened to read. */
static void stdin_again(char **args)
{
	struct stat status;

	if (fstat(STDIN_FILENO, &status) < 0 || !S_ISREG(status.st_mode))
		hostile_held(); /* a pipe stands in for it */
	else
		try_reopen(STDIN_FILENO);
	hostile_try("/dev/stdin", open("/dev/stdin", O_WRONLY | O_APPEND));
	hostile_try("above stdin", openat(STDIN_FILENO, "..", O_RDONLY));
}

/* The same with stdout: a file outside, opened to append. What is in it must stay. */
static void stdout_again(char **args)
{
	hostile_speak_on_stderr();
	hostile_try("opening it again to read", open("/proc/self/fd/1", O_RDWR));
	hostile_try("opening it again to truncate", open("/proc/self/fd/1", O_WRONLY | O_TRUNC));
	hostile_try("truncating it by its number", truncate("/proc/self/fd/1", 0));
	hostile_try("linking it into reach",
		    linkat(AT_FDCWD, "/proc/self/fd/1", AT_FDCWD, "stolen", AT_SYMLINK_FOLLOW));
}

const struct hostile_case hostile_files[] = {
	{ "write-outside", write_outside },
	{ "change", change },
	{ "parent-rename", parent_rename },
	{ "hidden", hidden },
	{ "denied", denied },
	{ "absent", absent },
	{ "kernel-files", kernel_files },
	{ "devices", devices },
	{ "fifos", fifos },
	{ "stdin-again", stdin_again },
	{ "stdout-again", stdout_again },
	{ 0 },
};
