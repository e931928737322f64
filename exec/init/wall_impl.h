/* wall: what its parts share, to add a call that it makes. One thread, so nothing is locked;
 * results are values or -errno, as of system calls. */
#pragma once

#include <linux/limits.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>

#define WALL_DATA_MAX    (256U << 10) /* of one message in one go */
#define WALL_CONTROL_MAX (16U << 10)
#define WALL_PARTS_MAX   1024 /* UIO_MAXIOV */
#define WALL_PASSED_MAX  253  /* SCM_MAX_FD */
#define WALL_PARKED_MAX  128  /* calls that block at a time; more get ENOBUFS */
#define WALL_GRANTS_MAX  64

/* A call that has to be made again later: it would block. */
#define WALL_PARK (-4000L)

struct wall_call {
	uint64_t id;
	int task, number;
	uint64_t args[6];
	int pidfd, fd;   /* copies; -1: not yet */
	int type;        /* of the socket */
	size_t index;    /* sendmmsg: the message */
	uint64_t done;   /* bytes of it that are sent */
	int64_t due_ms;  /* the socket's own time limit; 0: none */
	int64_t next_ms; /* when it is tried again; 0: when poll(2) says so */
	bool is_refused; /* by the wall, not by the kernel */
};

/* A socket the command may reach though it is not its own. */
struct wall_grant {
	const char *path; /* NULL: by identity only */
	uint64_t device, inode;
};

struct wall {
	struct init *init;
	int listener, diag;
	int forward;       /* to the gate, for what is not the wall's; -1: nobody is told */
	bool has_network;  /* the command has a network namespace of its own */
	bool is_scoped;    /* Landlock keeps abstract sockets of others away */
	bool is_flagged;   /* pidfd_open() takes PIDFD_THREAD */
	uint64_t cookie;   /* of that namespace */
	uint32_t sequence; /* of requests on @diag */
	size_t grant_count, parked_count, passed_count;
	struct wall_grant grants[WALL_GRANTS_MAX];
	struct wall_call parked[WALL_PARKED_MAX];
	struct iovec parts[WALL_PARTS_MAX];
	int passed[WALL_PASSED_MAX];
	char path[PATH_MAX]; /* of what was refused */
	_Alignas(16) char given[WALL_CONTROL_MAX], control[WALL_CONTROL_MAX];
	_Alignas(16) char data[WALL_DATA_MAX]; /* a message, or what the kernel says in many words
						*/
};

/* Where a name leads. */
struct wall_aim {
	struct sockaddr_storage name; /* to hand to the kernel */
	uint32_t len;
	int at; /* what it names, O_PATH; -1: nothing of the file system */
};

/* wall_task: whoever made a call. */
int wall_task_pidfd(struct wall *wall, const struct wall_call *call);
int wall_task_open(struct wall *wall, struct wall_call *call); /* its pidfd, and the socket */
void wall_task_close(struct wall_call *call);
long wall_task_fd(const struct wall_call *call, int fd); /* a copy, owned, or -errno */
long wall_task_read(const struct wall_call *call, uint64_t from, void *to, size_t len);
long wall_task_write(const struct wall_call *call, uint64_t to, const void *from, size_t len);
bool wall_task_is_waiting(const struct wall *wall, const struct wall_call *call);
/* A signal waits for it, for which the kernel would have interrupted the call. */
bool wall_task_is_interrupted(struct wall *wall, const struct wall_call *call);
int wall_task_process(struct wall *wall, const struct wall_call *call); /* its thread group */
int wall_task_option(int fd, int option); /* SO_DOMAIN, SO_TYPE; or -errno */
/* "/proc/NUMBER/" and @rest. */
void wall_task_name(char *text, const char *before, int number, const char *rest);

/* wall_name: the name @from, @len bytes of it. 0 or -errno. Then wall_name_done(). */
long wall_name_aim(struct wall *wall, struct wall_call *call, const void *from, size_t len,
		   struct wall_aim *ret);
void wall_name_done(struct wall_aim *aim);

/* wall_own: may the command reach @at, a socket? 0, -EACCES: it is somebody else's, -ECONNREFUSED:
 * nobody has it. */
int wall_own_judge(struct wall *wall, int at, const struct stat *what, int type);
int wall_own_init(struct wall *wall);

/* A turn at the call: its result, or WALL_PARK. */
long wall_connect_turn(struct wall *wall, struct wall_call *call);
long wall_send_turn(struct wall *wall, struct wall_call *call);

/* wall_parked: takes @call. False: there is no room. */
bool wall_parked_add(struct wall *wall, const struct wall_call *call);
/* Until the listener has something to read; meanwhile those that are parked get their turns. */
void wall_parked_wait(struct wall *wall);

/* Answers it and closes what it holds. */
void wall_finish(struct wall *wall, struct wall_call *call, long result);
int64_t wall_parked_now_ms(void);
