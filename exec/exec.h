/* exec: runs one command in namespaces of its own, with one way out: the listeners it hands to its
 * egress. Sees neither proxy nor gateway. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct exec;
struct exec_sandbox;
struct loop;

/* Where the injected variables point, inside the namespace. Above the ephemeral range
 * (32768–60999), so that no server the command starts meets them. */
#define EXEC_HTTP_PORT  61128
#define EXEC_SOCKS_PORT 61080

/* The same way out as by EXEC_HTTP_PORT, for programs that would rather have a path:
 * $SALLYPORT_SOCKET, inside. */
#define EXEC_DOOR_DIR "/run/sallyport"
#define EXEC_DOOR     EXEC_DOOR_DIR "/socket"

/* Descriptors an exec hands out, in this order. */
enum exec_egress_fd {
	EXEC_HTTP_LISTENER,
	EXEC_SOCKS_LISTENER,
	EXEC_INNER,
	EXEC_SOCKETS, /* tells whose a socket inside is: NETLINK_SOCK_DIAG, see sock_diag(7) */
	EXEC_EGRESS_FDS
};

/* A program by what it is, not by its name: another file in its place is not executed, but
 * EXEC_NOT_STARTED with 126. docs/decisions/0142. */
struct exec_program {
	const char *path; /* absolute; NULL: argv[0] is looked up, in PATH when it is a bare name */
	uint64_t device, inode;
	const struct exec_program *interpreter; /* on_program: of a #! script; else NULL */
};
struct exec_size {
	uint16_t rows, columns;
};

/* What was refused to the command, from what refused it: never from words in its output. */
enum exec_refused {
	EXEC_REFUSED_WRITE,   /* a path that it may not change */
	EXEC_REFUSED_READ,    /* a path that it may not see */
	EXEC_REFUSED_SOCKET,  /* a Unix socket of the host */
	EXEC_REFUSED_CALL,    /* a system call */
	EXEC_REFUSED_PROGRAM, /* a program, by on_program */
	EXEC_REFUSED_NETWORK  /* an address outside, past the gate: the path is "ADDRESS:PORT" */
};
struct exec_evidence {
	enum exec_refused what;
	int pid;          /* inside */
	int error;        /* what the command got: errno */
	const char *call; /* "openat" */
	const char *path; /* absolute, or ""; see NETWORK */
};
/* From the loop; @evidence is borrowed. At most EXEC_EVIDENCE_MAX different ones are told; what was
 * refused is counted on in exec_result. What the host would refuse without a sandbox is none. */
#define EXEC_EVIDENCE_MAX 256
typedef void (*exec_evidence_fn)(const struct exec_evidence *evidence, void *arg);
/* Something inside is about to execute @program, a file that is held open until the answer, with
 * @argv. Answer with exec_program_answer(), once, at once or later; nothing goes on meanwhile. */
typedef void (*exec_program_fn)(uint64_t id, const struct exec_program *program,
				const char *const *argv, const char *cwd, void *arg);
/* @master, taken: the other end of the command's pty. */
typedef void (*exec_pty_fn)(int master, void *arg);

/* Paths are absolute. What is hidden or read-only must exist wherever the command could make it,
 * must not lie behind a symbolic link the command could turn, and must not hold a writable
 * directory: else nothing is started. When it is replaced, renamed or removed outside meanwhile the
 * command is killed: the kernel drops mounts on what is replaced. */
struct exec_plan_config {
	const char *const *argv;      /* NULL-terminated, at least one */
	const char *const *env;       /* what it inherits; NULL: our own environment */
	const char *const *env_set;   /* "NAME=VALUE", or "NAME" (as in @env); may be NULL */
	const char *const *env_asked; /* on top of it, but the way out stays; may be NULL */
	const char *cwd;             /* writable, unless it belongs to the system ("/", /proc…) */
	const char *const *writable; /* --write DIR…, NULL-terminated; may be NULL */
	const char *const *hidden;   /* paths that nothing inside can see (state, control socket) */
	const char *const *read_only; /* paths inside writable ones that stay read-only (policy and
					 audit files) */
	bool has_terminal; /* one of 0–2 is a terminal. Those that are become a pty of the
			      command's own, whatever is said here */

	/* What follows may all be zero. */
	const struct exec_sandbox
		*sandbox; /* borrowed; NULL: all may be read, @cwd and @writable be written.
			     Else @writable is not looked at, and the rest holds if confined */
	const struct policy_protection *protection; /* borrowed; NULL: nothing by default */
	struct exec_program program;
	const int *stdio;            /* three descriptors in place of our 0–2, borrowed */
	const struct exec_size *pty; /* 0–2 are one pty, whose master goes to: */
	exec_pty_fn on_pty;
	exec_evidence_fn on_refused; /* costs a round trip for what is opened for writing, */
	bool tells_reads;    /* and for all that is opened: where some paths may not be read */
	bool tells_programs; /* of EXEC_REFUSED_PROGRAM and nothing else, which costs nothing */
	exec_program_fn on_program; /* for every execve inside */
};

enum exec_end { EXEC_EXITED, EXEC_SIGNALLED, EXEC_NOT_STARTED, EXEC_KILLED };

/* Of all that ran; all 0: not known, as of a sandbox that was killed. */
struct exec_usage {
	int64_t user_us, system_us;
	uint64_t max_rss_bytes; /* of the largest process */
};
struct exec_result {
	enum exec_end end;
	int status; /* exit code; signal; for NOT_STARTED 127 (not found), 126 (not executable) or
		       125 (no sandbox) */
	char why[512];    /* NOT_STARTED, KILLED: words for people */
	uint64_t refused; /* on_refused: how often something was, those not told included */
	struct exec_usage usage;
};

/* @fds (EXEC_EGRESS_FDS of them) are taken. Runs once, before the command starts. Not 0: the
 * command is not started. With a sandbox on the host's network it never runs: there is no way out
 * of ours. */
typedef int (*exec_egress_fn)(int *fds, size_t count, void *arg);
/* Runs once, from the loop, when nothing of the command is left. */
typedef void (*exec_done_fn)(const struct exec_result *result, void *arg);

/* Starts it: one clone of everything, so from the process's only thread. 0–2 are the command's, and
 * are looked at first: a directory, a network socket or a closed one there is refused. Borrows
 * @config, keeps @loop and @arg. NULL with @why (which says what the kernel refused and what to do
 * about it): nothing runs. What is refused later comes as EXEC_NOT_STARTED, 125. */
struct exec *exec_start(struct loop *loop, const struct exec_plan_config *config,
			exec_egress_fn egress, exec_done_fn done, void *arg, struct err *why);
/* Kills the whole sandbox; @done runs later, with EXEC_KILLED and @why. */
void exec_kill(struct exec *exec, const char *why);
/* To the command's process group (SIGINT, SIGTERM, SIGHUP… that reached us). */
void exec_signal(struct exec *exec, int signal);
void exec_free(struct exec *exec); /* kills what is left, waits for it */
/* After @done the kernel may still be taking the sandbox down, and exec_free() would wait for that:
 * @gone runs once, from the loop, when it would not. False: it would not now. */
bool exec_when_gone(struct exec *exec, void (*gone)(void *arg));
/* -ENOENT: no such question any more. @is_allowed: what was asked about runs, or nothing does. */
int exec_program_answer(struct exec *exec, uint64_t id, bool is_allowed);

/* The terminal while a question is open: stop relaying output and input, and go on. Nothing is
 * lost. No pty: no effect. */
void exec_hold_terminal(struct exec *exec);
void exec_release_terminal(struct exec *exec);

/* Prints the plan, one line a step: `sallyport run --dry-run` and the tests read it. Returned
 * owned. */
char *exec_plan_text(const struct exec_plan_config *config);
