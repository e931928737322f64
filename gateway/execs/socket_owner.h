/* socket_owner: finds the program inside a sandbox that holds the other end of a connection, and
 * its parents. It asks the kernel, never the program; the result may be outdated when it is read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "base/addr.h"

#define SOCKET_OWNER_PROGRAM_MAX   1024
#define SOCKET_OWNER_CHAIN_MAX     256
#define SOCKET_OWNER_PROCESSES_MAX 4096  /* examined in one scan */
#define SOCKET_OWNER_THREADS_MAX   16384 /* of these processes */
#define SOCKET_OWNER_FILES_MAX     65536 /* open descriptors of these processes */

struct socket_owner;

/* The identity of a program's file: a file that was replaced or written to is another one. Zeroed:
 * not known. */
struct socket_owner_file {
	uint64_t device, inode;
	int64_t changed_s, changed_ns; /* st_ctim, which no process can set back */
};
static inline bool socket_owner_file_equal(const struct socket_owner_file *a,
					   const struct socket_owner_file *b)
{
	return a->device == b->device && a->inode == b->inode && a->changed_s == b->changed_s &&
	       a->changed_ns == b->changed_ns;
}

/* Its text form, to be read elsewhere: "" if it is not known. */
#define SOCKET_OWNER_FILE_TEXT_MAX 96
void socket_owner_file_text(const struct socket_owner_file *file,
			    char out[SOCKET_OWNER_FILE_TEXT_MAX]);
/* 0, or -EINVAL. */
int socket_owner_file_read(const char *text, struct socket_owner_file *ret);

struct socket_owner_found {
	/* The executable, if this path leads to the same file on the host; "": different programs
	 * hold the connection, or it is not a file of the host. */
	char program[SOCKET_OWNER_PROGRAM_MAX];
	struct socket_owner_file file; /* of @program */
	pid_t pid;                     /* of a process that holds it */
};

/* @init: pid 1 of the sandbox, as seen from here. @sockets: a NETLINK_SOCK_DIAG socket in its
 * network namespace, taken. Returned owned. */
struct socket_owner *socket_owner_new(pid_t init, int sockets);
void socket_owner_free(struct socket_owner *who);
/* The names of the processes from below init to @pid: "npm > sh > node"; visible text. What does
 * not fit is left out at the beginning. "": it has ended. */
void socket_owner_chain(const struct socket_owner *who, pid_t pid,
			char out[SOCKET_OWNER_CHAIN_MAX]);

/* One connection whose program is searched. Embedded in its owner. */
struct socket_owner_want {
	uint16_t peer_port, port; /* source and destination */
	struct addr reached;      /* captured: the destination (inside_net.h); family 0: both are on
				     127.0.0.1 in the sandbox */
	uint32_t inode;           /* 0: not known (yet) */
	pid_t pid;                /* the first process found to hold it; 0: none */
	struct socket_owner_file runs;   /* the file that it runs */
	bool is_mixed;                   /* processes with different programs hold it */
	struct socket_owner_wants *home; /* the list of the scan that it is in */
	TAILQ_ENTRY(socket_owner_want) entry;
	LIST_ENTRY(socket_owner_want) same;
};
TAILQ_HEAD(socket_owner_wants, socket_owner_want);

/* One pass over /proc, which finds the programs of many connections in small parts: the command
 * chooses how much there is to read, but not how much is read in one turn of the loop. All
 * processes of the command are examined, because each may hold the connection; if there are too
 * many, the program counts as not known. */
struct socket_owner_scan;
struct socket_owner_scan *socket_owner_scan_new(
	const struct socket_owner *who);                     /* keeps @who; returned owned */
void socket_owner_scan_free(struct socket_owner_scan *scan); /* its wants are then in no scan */
/* Call it before the first step. @want has its ports; it is kept until it is taken or removed. */
void socket_owner_scan_add(struct socket_owner_scan *scan, struct socket_owner_want *want);
void socket_owner_scan_remove(struct socket_owner_scan *scan, struct socket_owner_want *want);
/* Reads about @work names of /proc. True: there is more to read. */
bool socket_owner_scan_step(struct socket_owner_scan *scan, unsigned int work);
/* The next want with a result, or NULL. *@ret_r: 0, and @ret; -ESRCH: no process holds it (any
 * more), or there was too much to read. A scan with more to read finds none. */
struct socket_owner_want *socket_owner_scan_take(struct socket_owner_scan *scan,
						 struct socket_owner_found *ret, int *ret_r);
