/* inside: how the gate reads the sandbox's tasks: their memory, and files by the names that they
 * have inside. What it reads may change at any time: code that decides by it must check again. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The command's file system. All of its processes have the same root, because chroot(2) and similar
 * calls are refused. */
struct inside {
	int root;              /* O_PATH; -1: not opened yet */
	char prefix[PATH_MAX]; /* its path in our own file system; "" if that is / */
};

/* Opens the root of @task, which must be inside and wait in the call @id of @listener; does nothing
 * if it is open already. 0, or -errno; -ESRCH: it does not wait any more, so its pid may be another
 * process's. */
int inside_enter(struct inside *inside, pid_t task, int listener, uint64_t id);

/* Reads @task's memory at @address: all @len bytes (0) or -errno. */
int inside_read(pid_t task, uint64_t address, void *bytes, size_t len);
/* Reads the string at @address with its NUL. Its length or -errno; -ENAMETOOLONG if it needs more
 * than @size bytes. */
ssize_t inside_read_string(pid_t task, uint64_t address, char *text, size_t size);

/* @name as @task would open it, absolute, without following links: relative to @directory, or to
 * its working directory (AT_FDCWD). 0 or -errno. */
int inside_absolute(const struct inside *inside, pid_t task, int directory, const char *name,
		    char path[PATH_MAX]);
/* Opens absolute @path as it is inside, O_PATH; returned owned, or -errno. Links are resolved
 * inside; the kernel's own links (/proc/PID/exe) are not followed. */
int inside_open(const struct inside *inside, const char *path, bool follows);
/* Converts a path of the sandbox that our own /proc shows into its path inside. 0 or -errno. */
int inside_cut(const struct inside *inside, char path[PATH_MAX]);
/* A copy of @task's descriptor @number, returned owned, or -EBADF. */
int inside_descriptor(pid_t task, int number);
/* The last number after @word ("\nTgid:") in the status of @task, or -ESRCH. */
pid_t inside_number(pid_t task, const char *word);
/* The name of the file that @task executes, without its folder; "": not known. */
void inside_program(pid_t task, char *name, size_t size);
/* The thread of @process whose pid inside is @inner, or -ESRCH. */
pid_t inside_thread(pid_t process, pid_t inner);
/* The current path of @fd inside, with every link resolved. 0 or -errno. */
int inside_name(const struct inside *inside, int fd, char path[PATH_MAX]);
