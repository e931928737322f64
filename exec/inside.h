/* inside: what the gate sees of the sandbox's tasks: their memory, and files by the names they have
 * inside. What it reads may change at once: whoever decides by it must look again. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The command's file system. All of its processes have one root: chroot(2) and the like are
 * refused. */
struct inside {
	int root;              /* O_PATH; -1: not opened yet */
	char prefix[PATH_MAX]; /* where it is in our own; "" when that is / */
};

/* By any task in it. Nothing when it is open already. 0 or -errno. */
int inside_enter(struct inside *inside, pid_t task);
void inside_leave(struct inside *inside);

/* Bytes of @task's memory at @address: all @len of them (0) or -errno. */
int inside_read(pid_t task, uint64_t address, void *bytes, size_t len);
/* The string at @address with its NUL; -ENAMETOOLONG when that is more than @size bytes. Its length
 * or -errno. */
ssize_t inside_read_string(pid_t task, uint64_t address, char *text, size_t size);

/* @name as @task would open it, absolute, links not followed: relative to its working directory or
 * @directory (AT_FDCWD: the former). 0 or -errno. */
int inside_absolute(const struct inside *inside, pid_t task, int directory, const char *name,
		    char path[PATH_MAX]);
/* What absolute @path is inside, O_PATH, returned owned, or -errno. Links stay inside; links of the
 * kernel's own (/proc/PID/exe) are not followed. */
int inside_open(const struct inside *inside, const char *path, bool follows);
/* What our own /proc says of a path in there, as it is inside. 0 or -errno. */
int inside_cut(const struct inside *inside, char path[PATH_MAX]);
/* What @task has as descriptor @number, returned owned, or -EBADF. */
int inside_descriptor(pid_t task, int number);
/* The last number behind @word ("\nTgid:") in the status of @task, or -ESRCH. */
pid_t inside_number(pid_t task, const char *word);
/* The thread of @process whose number inside is @inner, or -ESRCH. */
pid_t inside_thread(pid_t process, pid_t inner);
/* The name @fd has inside now, every link resolved. 0 or -errno. */
int inside_name(const struct inside *inside, int fd, char path[PATH_MAX]);
