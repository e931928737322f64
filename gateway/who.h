/* who: which program inside a sandbox holds the other end of a connection, and who started it. The
 * kernel is asked, never the program; what it says may be over by the time it is read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#define WHO_PROGRAM_MAX   1024
#define WHO_CHAIN_MAX     256
#define WHO_PROCESSES_MAX 4096  /* looked at in one scan */
#define WHO_THREADS_MAX   16384 /* of theirs */
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
	struct who_file file; /* of @program */
	pid_t pid;            /* of one that holds it */
};

/* @init: pid 1 of the sandbox, as seen from here. @sockets: a NETLINK_SOCK_DIAG socket of its
 * network namespace, taken. Returned owned. */
struct who *who_new(pid_t init, int sockets);
void who_free(struct who *who);
/* The names from below init down to @pid: "npm > sh > node"; visible text. What does not fit is
 * left out at the front. "": it has ended. */
void who_chain(const struct who *who, pid_t pid, char out[WHO_CHAIN_MAX]);

/* One connection whose program is looked for. Embedded in its owner. */
struct who_want {
	uint16_t peer_port, port; /* from which to which, both on 127.0.0.1 inside */
	uint32_t inode;           /* 0: not known (yet) */
	pid_t pid;                /* the first that was found to hold it; 0: none */
	struct who_file runs;     /* there */
	bool is_mixed;            /* programs hold it that are not the same */
	struct who_wants *home;   /* the scan's */
	TAILQ_ENTRY(who_want) entry;
	LIST_ENTRY(who_want) same;
};
TAILQ_HEAD(who_wants, who_want);

/* One pass over /proc, which finds the programs of many connections, a piece at a time: how much
 * there is to read is the command's choice, how much is read before the loop goes on is not.
 * Everything that the command runs is looked at, for whoever is left out may hold it too: where
 * that is too much, nothing is known. */
struct who_scan;
struct who_scan *who_scan_new(const struct who *who); /* keeps @who; returned owned */
void who_scan_free(struct who_scan *scan);            /* those that are in it are in nothing then */
/* Before its first step. @want has its ports; kept until it is taken or removed. */
void who_scan_add(struct who_scan *scan, struct who_want *want);
void who_scan_remove(struct who_scan *scan, struct who_want *want);
/* Reads about @work names of /proc. True: there is more to read. */
bool who_scan_step(struct who_scan *scan, unsigned int work);
/* The next that it has to do with, or NULL. *@ret_r: 0, and who it is; -ESRCH: nobody holds it (any
 * more), or there was too much to look at. A scan that has more to read finds nobody. */
struct who_want *who_scan_take(struct who_scan *scan, struct who_found *ret, int *ret_r);
