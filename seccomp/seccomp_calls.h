/* seccomp_calls: which system calls of a command the supervisor is notified of, and what each call
 * does. */
#pragma once

#include <stdint.h>

/* In the data of the filter's return value: the kind, above the errno of a call that is refused
 * even without a supervisor. The process that loads the filter replaces the kinds it does not want
 * with that errno, or with "allowed". */
#define SECCOMP_TOLD_SHIFT 12
#define SECCOMP_TOLD_ERRNO 0xfffU

enum seccomp_told {
	SECCOMP_TOLD_NOTHING,
	SECCOMP_TOLD_DENIAL,  /* refused: the supervisor always answers with the rule's errno */
	SECCOMP_TOLD_CHANGE,  /* would change files */
	SECCOMP_TOLD_MAKE,    /* would create a name */
	SECCOMP_TOLD_READ,    /* opens something, perhaps only to read */
	SECCOMP_TOLD_PROGRAM, /* executes a program */
	SECCOMP_TOLD_END,     /* ends its process */
	SECCOMP_TOLD_ADDRESS, /* may name a Unix socket by its path; always reported */
};

struct seccomp_call {
	const char *name; /* "openat", static; "" when no rule reports the call */
	enum seccomp_told told;
	int error; /* for a denial */
};

/* Finds the rule for call @number with @args, as the kernel reported them. A call that no rule
 * reports is a denial with ENOSYS: fail closed. */
void seccomp_look_up(int number, const uint64_t args[6], struct seccomp_call *ret);
