/* who: which program inside a sandbox holds the other end of a connection, and who started it. The
 * kernel is asked, never the program; what it says may be over by the time it is read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WHO_PROGRAM_MAX   1024
#define WHO_CHAIN_MAX     256
#define WHO_PROCESSES_MAX 4096  /* looked at in one search */
#define WHO_FILES_MAX     65536 /* descriptors of theirs */

struct who;

/* A program's file as it is: replaced, or written to, it is another. Zeroed: not known. */
struct who_file {
	uint64_t device, inode;
	int64_t changed_s, changed_ns; /* st_ctim, which nobody can set back */
};
static inline bool who_file_equal(const struct who_file *a, const struct who_file *b)
{
	return a->device == b->device && a->inode == b->inode && a->changed_s == b->changed_s &&
	       a->changed_ns == b->changed_ns;
}

/* As text, to be read again elsewhere: "" of one that is not known. */
#define WHO_FILE_TEXT_MAX 96
void who_file_text(const struct who_file *file, char out[WHO_FILE_TEXT_MAX]);
/* 0, or -EINVAL. */
int who_file_read(const char *text, struct who_file *ret);

struct who_found {
	/* The executable, where the host has the very same file under this path; "": several
	 * programs hold the connection, or it is no file of the host's. */
	char program[WHO_PROGRAM_MAX];
	struct who_file file;      /* of @program */
	char chain[WHO_CHAIN_MAX]; /* names, outermost first: "npm > sh > node"; visible text */
	pid_t pid;                 /* of one that holds it */
};

/* @init: pid 1 of the sandbox, as seen from here. @sockets: a NETLINK_SOCK_DIAG socket of its
 * network namespace, taken. Returned owned. */
struct who *who_new(pid_t init, int sockets);
void who_free(struct who *who);
/* Who is connected from @peer_port to @port, both on 127.0.0.1 inside. 0; -ESRCH: nobody (any
 * more), or too many processes to look at all of them; another -errno: the kernel does not say.
 * Reads /proc: under a millisecond for the dozens of processes of a usual command. */
int who_find(const struct who *who, uint16_t peer_port, uint16_t port, struct who_found *ret);
