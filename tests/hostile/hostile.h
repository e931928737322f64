/* hostile: functions that the escapes share. Each case tries to break out of the sandbox in one
 * way; the first that succeeds ends the program. */
#pragma once

#include <stdbool.h>

struct hostile_case {
	const char *name;
	/* @args: the rest of the command line, NULL-terminated. Returns when everything was tried
	 * and nothing worked. */
	void (*run)(char **args);
};

/* To add a hostile case: a function and a line of the table in the file of its subject
 * (tests/hostile/kernel.c for system calls), and a line in tests/sandbox/escapes.py that says how
 * it is run. */
extern const struct hostile_case hostile_files[], hostile_kernel[], hostile_network[],
	hostile_process[], hostile_unix[];

/* Prints "ESCAPED: …" and ends with 1. */
_Noreturn void hostile_escaped(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* This kernel or machine does not have what the case needs: "skipped: …", 77. */
_Noreturn void hostile_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Counts an attempt that failed, as it should. */
void hostile_held(void);
/* @result of a system call that must not work: below 0 is held, anything else an escape. */
void hostile_try(const char *what, long result);
/* The same, and the reason must be @error: a call that fails for another one may work with better
 * arguments. */
void hostile_try_error(const char *what, long result, int error);
/* The verdict goes to stderr from here on: for cases that attack their stdout. */
void hostile_speak_on_stderr(void);
/* Runs @fn in a child and returns its raw wait status. */
int hostile_in_child(void (*fn)(void *arg), void *arg);
