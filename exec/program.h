/* program: what an execve(2) inside is about to execute: the file, what a #! line makes of it, the
 * words; and whether that is what was executed in the end. */
#pragma once

#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/types.h>

#include "exec/exec.h"
#include "exec/inside.h"

struct plan;

#define PROGRAM_WORDS_MAX   16384
#define PROGRAM_BYTES_MAX   (256U << 10) /* of all words together; xargs(1) stops at half of it */
#define PROGRAM_SCRIPTS_MAX 5 /* interpreters that are scripts themselves; the kernel's */

/* All owned. */
struct program {
	int fd; /* O_PATH: holds the file, so that no other gets its number */
	uint64_t device, inode;
	int interpreter;        /* the last #! line's, O_PATH; -1: no script */
	char *path;             /* the file's own name inside */
	char *named;            /* as the kernel hands it to an interpreter */
	char *by_path;          /* the interpreter's own name inside, or NULL */
	struct exec_program by; /* the same, for those who judge */
	char *cwd;
	char **argv, *words; /* pointers into @words */
	size_t argc;
	char *line; /* what /proc/PID/cmdline will be */
	size_t line_len;
	pid_t process; /* of the task that asked */
};

enum program_flaw {
	PROGRAM_FINE,
	PROGRAM_FAILS,   /* as it would without us: not evidence */
	PROGRAM_REFUSED, /* may exist, and nobody could judge it */
};
/* Reads what @request is about to execute. Anything but FINE: *@ret_error (positive) is the answer,
 * and @ret->path what is known of it ("" or more). program_done() in every case. What it read
 * holds only if the request is still alive. */
enum program_flaw program_find(const struct plan *plan, const struct inside *inside,
			       const struct seccomp_notif *request, struct program *ret,
			       int *ret_error);
void program_done(struct program *program);

/* Has @process, which is stopped before its first instruction, become just that? */
bool program_is(const struct program *program, const struct inside *inside, pid_t process);
