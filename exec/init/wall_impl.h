/* wall: what its parts share, to add a call that it makes. It has one thread, so there are no
 * locks; results are values or -errno, as of system calls. */
#pragma once

#include <linux/capability.h>
#include <linux/limits.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>

#define WALL_DATA_MAX    (256U << 10) /* sent at once per message */
#define WALL_CONTROL_MAX (16U << 10)
#define WALL_PARTS_MAX   1024 /* UIO_MAXIOV */
#define WALL_PASSED_MAX  253  /* SCM_MAX_FD */
/* Descriptors in flight are counted per user, over all of its programs; most users may have 1024.
 * Beyond this limit, and at most one more message, the command cannot add any. */
#define WALL_FLIGHT_MAX 256
#define WALL_PARKED_MAX 128 /* calls that block at once; more get ENOBUFS */
#define WALL_GRANTS_MAX 64
#define WALL_KNOWN_MAX  64

/* One to copy descriptors of tasks that are not dumpable; the others, only for a moment, to ask
 * what a socket is bound to, and to send with the credentials of another process. */
#define WALL_CAPS_USED (1ULL << CAP_SYS_PTRACE)
#define WALL_CAP_BOUND (1ULL << CAP_NET_ADMIN)
#define WALL_CAP_AS    (1ULL << CAP_SYS_ADMIN)
#define WALL_CAPS      (WALL_CAPS_USED | WALL_CAP_BOUND | WALL_CAP_AS)

/* The result of a call that would block, and has to be repeated later. */
#define WALL_PARK (-4000L)

struct wall_call {
	uint64_t id;
	int task, number;
	uint64_t args[6];
	int pidfd, fd;   /* copies; -1: not copied yet */
	int type;        /* of the socket */
	int process;     /* of the task; 0: not looked up yet */
	size_t index;    /* sendmmsg: the current message */
	uint64_t done;   /* bytes of that message already sent */
	int64_t due_ms;  /* the socket's own time limit; 0: none */
	int64_t next_ms; /* time of the next attempt; 0: when poll(2) reports it */
	bool is_refused; /* by the wall, not by the kernel */
};

/* A file that one of the command's own sockets is bound to. bind(2) makes a new file each time, so
 * no other socket is ever bound to this one; and while it is open, no other gets its number. */
struct wall_known {
	uint64_t device, inode;
	int fd; /* of the file; 0: the entry is free */
};

/* Sockets of the command's network namespace that are bound to an inode with these numbers; only
 * the lower half of the inode number is compared. */
#define WALL_FOUND_MAX 16
struct wall_found {
	uint64_t inode;
	uint32_t device; /* as in sock_diag(7) */
	size_t count;
	uint32_t list[WALL_FOUND_MAX]; /* their numbers in sockfs */
};

/* A socket that the command may reach although it is not its own. */
struct wall_grant {
	const char *path; /* NULL: by identity only */
	uint64_t device, inode;
};

struct wall {
	struct init *init;
	int listener, diag;
	int forward; /* to the gate, for calls that the wall does not answer; -1: no reports */
	/* The command is an added one, without reports; it has a network namespace of its own. */
	bool is_added, has_network;
	bool is_scoped;              /* Landlock blocks abstract sockets of others */
	bool is_flagged;             /* pidfd_open() supports PIDFD_THREAD */
	uint64_t cookie;             /* of that namespace */
	uint32_t sequence;           /* of requests on @diag */
	int spare_task, spare_pidfd; /* of the task that called last; -1: none */
	int spare_process;           /* as wall_call.process */
	size_t grant_count, parked_count, passed_count;
	struct wall_grant grants[WALL_GRANTS_MAX];
	struct wall_known known[WALL_KNOWN_MAX];
	size_t known_next; /* the entry to replace next */
	struct wall_call parked[WALL_PARKED_MAX];
	struct iovec parts[WALL_PARTS_MAX];
	int passed[WALL_PASSED_MAX];
	char path[PATH_MAX]; /* of the refused socket */
	_Alignas(16) char control[WALL_CONTROL_MAX + CMSG_SPACE(sizeof(struct ucred))];
	_Alignas(16) char data[WALL_DATA_MAX]; /* a message, or text from the kernel */
};

struct wall_aim {                     /* the destination of an address */
	struct sockaddr_storage name; /* passed to the kernel */
	uint32_t len;
	int at; /* the file it names, O_PATH; -1: not in the file system */
};

/* wall_task: the task that made a call. */
int wall_task_pidfd(struct wall *wall, struct wall_call *call);
int wall_task_open(struct wall *wall, struct wall_call *call); /* its pidfd, and the socket */
void wall_task_close(struct wall *wall, struct wall_call *call);
long wall_task_fd(const struct wall_call *call, int fd); /* a copy, owned, or -errno */
long wall_task_read(const struct wall_call *call, uint64_t from, void *to, size_t len);
long wall_task_write(const struct wall_call *call, uint64_t to, const void *from, size_t len);
/* An ioctl(2) on the listener, repeated if a signal ends it early. */
long wall_task_ask(const struct wall *wall, unsigned long what, const void *arg);
bool wall_task_is_waiting(const struct wall *wall, const struct wall_call *call);
/* A signal is pending for the task, which would have interrupted the call. */
bool wall_task_is_interrupted(struct wall *wall, const struct wall_call *call);
int wall_task_process(struct wall *wall, struct wall_call *call); /* its thread group; 0: unknown */
/* Has @caps in effect besides WALL_CAPS_USED from here on; 0: no others. False: it cannot. */
bool wall_task_caps(uint64_t caps);
int wall_task_option(int fd, int option); /* SO_DOMAIN, SO_TYPE; or -errno */
/* Builds "/proc/NUMBER/" and @rest. */
void wall_task_name(char *text, const char *before, int number, const char *rest);

/* wall_name: resolves the address @from of @len bytes. 0 or -errno. Then call wall_name_done(). */
long wall_name_aim(struct wall *wall, struct wall_call *call, const void *from, size_t len,
		   struct wall_aim *ret);
void wall_name_done(struct wall_aim *aim);

/* wall_diag: the kernel's data on sockets of the namespace. 0 or -errno. */
int wall_diag_list(struct wall *wall, int type, struct wall_found *found);

/* wall_own: may the command reach the socket @at? 0; -EACCES: it is not the command's;
 * -ECONNREFUSED: no process has it. */
int wall_own_judge(struct wall *wall, int at, const struct stat *what, int type);
int wall_own_init(struct wall *wall);
/* wall_absent: does @call create a hidden path (wall->path), or a name in a read-only folder? */
bool wall_absent_is_made(struct wall *wall, const struct wall_call *call);
bool wall_absent_is_read_only(const struct wall_call *call);

/* One attempt to make the call: its result, or WALL_PARK. */
long wall_connect_turn(struct wall *wall, struct wall_call *call);
long wall_send_turn(struct wall *wall, struct wall_call *call);

/* wall_parked: takes @call. False: too many are parked. */
bool wall_parked_add(struct wall *wall, const struct wall_call *call);
/* Waits until the listener is readable, and repeats the parked calls meanwhile. */
void wall_parked_wait(struct wall *wall);

/* Answers the call and closes its descriptors. */
void wall_finish(struct wall *wall, struct wall_call *call, long result);
int64_t wall_parked_now_ms(void);
