/* seccomp_calls: what the supervisor of a command's system calls is told of, and what it is about.
 */
#pragma once

#include <stdint.h>

/* In the data of the filter's answer: the kind above the errno of a call that is refused whether or
 * not somebody is told. Whoever loads the filter turns the kinds it does not want into that errno,
 * or into "allowed". */
#define SECCOMP_TOLD_SHIFT 12
#define SECCOMP_TOLD_ERRNO 0xfffU

enum seccomp_told {
	SECCOMP_TOLD_NOTHING,
	SECCOMP_TOLD_DENIAL,  /* refused: the supervisor answers with the rule's errno, always */
	SECCOMP_TOLD_CHANGE,  /* would change files */
	SECCOMP_TOLD_READ,    /* opens something, perhaps only to read */
	SECCOMP_TOLD_PROGRAM, /* executes a program */
	SECCOMP_TOLD_ADDRESS, /* may name a socket by its path: told whatever is wished */
};

struct seccomp_call {
	const char *name; /* "openat", static; "" when no rule tells of it */
	enum seccomp_told told;
	int error; /* of a denial */
};

/* Call @number with @args, as the kernel told of it. A call that no rule tells of is a denial with
 * ENOSYS: fail closed. */
void seccomp_look_up(int number, const uint64_t args[6], struct seccomp_call *ret);
