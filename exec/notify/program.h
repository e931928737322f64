/* program: what an execve(2) inside is about to execute: the file, the interpreter of a #! line,
 * and the words; and whether that was executed in the end. */
#pragma once

#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/types.h>

#include "exec/exec_told.h"
#include "exec/notify/inside.h"

struct plan;

#define PROGRAM_WORDS_MAX   16384
#define PROGRAM_BYTES_MAX   (256U << 10) /* of all words together; xargs(1) uses half of it */
#define PROGRAM_SCRIPTS_MAX 5 /* nested interpreters that are scripts; the kernel's limit */

/* All owned. */
struct program {
	int fd; /* O_PATH: keeps the file open, so that its inode number is not reused */
	uint64_t device, inode;
	int interpreter;        /* of the last #! line, O_PATH; -1: not a script */
	char *path;             /* the file's path inside */
	char *named;            /* the name that the kernel passes to an interpreter */
	char *by_path;          /* the interpreter's path inside, or NULL */
	struct exec_program by; /* the same, for the judgement */
	char *cwd;
	char **argv, *words; /* pointers into @words */
	size_t argc, words_len;
	char *line; /* the expected content of /proc/PID/cmdline */
	size_t line_len;
	pid_t process; /* of the task that asked */
};

enum program_flaw {
	PROGRAM_FINE,
	PROGRAM_FAILS,   /* fails without us as well: not evidence */
	PROGRAM_REFUSED, /* may exist, but could not be judged */
};
/* Finds out what @request is about to execute. If the result is not FINE, *@ret_error (positive) is
 * the answer, and @ret->path is what is known of the path, perhaps "". Call program_done() in every
 * case. What was read is valid only if the request is still alive afterwards. */
enum program_flaw program_find(const struct plan *plan, const struct inside *inside,
			       const struct seccomp_notif *request, struct program *ret,
			       int *ret_error);
void program_done(struct program *program);

/* Does @process, which is stopped before its first instruction, run exactly that program? */
bool program_is(const struct program *program, const struct inside *inside, pid_t process);
