/* filter: the syscall filters as tables. The programs embed what the generator prints of them (see
 * meson.build); told.c looks up in them what a call that was told of is. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "seccomp/seccomp_calls.h"

#define FILTER_VALUES_MAX 16
#define FILTER_ARGS_MAX   2

/* All tests look at the low 32 bits only: that is what the kernel reads of an int, so a 64-bit
 * comparison would miss AF_VSOCK | 1 << 32 (the class of CVE-2019-10063). */
enum filter_test {
	FILTER_ANY,    /* not looked at; ends the list */
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

/* The rule matches when all its arguments do. @error 0 lets the call through, else it fails with
 * that errno. */
struct filter_rule {
	const char *name;
	int error;
	struct filter_arg args[FILTER_ARGS_MAX];
	const char *why;
	int number;        /* for a name libseccomp is too old to know; 0: it knows it */
	int sanitize_only; /* needed by the sanitizers' run-time only */
	enum seccomp_told
		told; /* what the supervisor is told of it, where it is told of anything */
};

struct filter {
	const char *name;
	int default_error; /* what no rule matches: 0 passes, else fails with that errno */
	const struct filter_rule *rules;
	size_t count;
	int tells; /* rules that say what is told of them tell it */
};

extern const struct filter filter_command;
extern const struct filter filter_worker;
/* Calls that are let through, and told of first: only together with filter_command, before it. */
extern const struct filter filter_told;

#define FILTER_VALUES(...)                                                                         \
	.values = { __VA_ARGS__ }, .count = sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)
#define FILTER_ARG(at, how, ...)                                                                   \
	{                                                                                          \
		.index = (at), .test = (how), FILTER_VALUES(__VA_ARGS__)                           \
	}
