/* filter: the system call filters as tables. The programs embed what the generator prints from them
 * (see meson.build); told.c finds in them which rule a notification matched. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "seccomp/seccomp_calls.h"

#define FILTER_VALUES_MAX 16
#define FILTER_ARGS_MAX   2

/* Every test compares the low 32 bits only, because that is what the kernel reads of an int. A
 * 64-bit comparison would miss AF_VSOCK | 1 << 32 (the class of CVE-2019-10063). */
enum filter_test {
	FILTER_ANY,    /* not tested; ends the list */
	FILTER_IN,     /* equals one of the values */
	FILTER_NOT_IN, /* equals none of them */
	FILTER_HAS,    /* has any bit of the first value set */
	FILTER_LACKS,  /* has no bit of the first value set */
};

struct filter_arg {
	unsigned int index;
	enum filter_test test;
	uint32_t values[FILTER_VALUES_MAX];
	size_t count;
};

/* The rule matches when all its arguments match. @error 0 allows the call; otherwise the call fails
 * with that errno. */
struct filter_rule {
	const char *name;
	int error;
	struct filter_arg args[FILTER_ARGS_MAX];
	const char *why;
	int number;             /* for a name unknown to libseccomp; 0: it knows the name */
	int sanitize_only;      /* only the sanitizers' run-time needs it */
	enum seccomp_told told; /* what the supervisor is told, when this call is reported */
};

struct filter {
	const char *name;
	int default_error; /* for calls that no rule matches: 0 allows, otherwise the errno */
	const struct filter_rule *rules;
	size_t count;
	int tells; /* rules with a @told kind notify the supervisor */
};

extern const struct filter filter_command;
extern const struct filter filter_worker;
/* Calls that are allowed, after the supervisor was notified. Only used together with
 * filter_command, and in front of it. */
extern const struct filter filter_told;

#define FILTER_VALUES(...)                                                                         \
	.values = { __VA_ARGS__ }, .count = sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)
#define FILTER_ARG(at, how, ...)                                                                   \
	{                                                                                          \
		.index = (at), .test = (how), FILTER_VALUES(__VA_ARGS__)                           \
	}
