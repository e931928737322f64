#include "seccomp/filter.h"

#include <fcntl.h>

/* Calls that are allowed and reported to the gate, so that it can explain what the mounts refused,
 * and decide about programs before they run. Nothing here allows anything; the rules of
 * filter_command come first. */

#define CHANGES_FILES                                                                              \
	(O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY)) /* any bit of these */

#define TELL(call, kind)                                                                           \
	{                                                                                          \
		.name = #call, .told = (kind), .why = opens                                        \
	}
#define CHANGE(call)                                                                               \
	{                                                                                          \
		.name = #call, .told = SECCOMP_TOLD_CHANGE, .why = changes                         \
	}
#define MAKE(call)                                                                                 \
	{                                                                                          \
		.name = #call, .told = SECCOMP_TOLD_MAKE, .why = changes                           \
	}
#define CHANGE_NUMBER(call, nr)                                                                    \
	{                                                                                          \
		.name = #call, .number = (nr), .told = SECCOMP_TOLD_CHANGE, .why = changes         \
	}

static const char opens[] = "a hidden file may be opened for reading";
static const char changes[] = "most files are read-only in the view";
static const char ends[] =
	"the process that made a command fail shows whether a refusal was the cause";
static const char programs[] = "each program is decided on before it runs";

static const struct filter_rule rules[] = {
	{ .name = "open",
	  .args = { FILTER_ARG(1, FILTER_HAS, O_CREAT) },
	  .told = SECCOMP_TOLD_MAKE,
	  .why = changes },
	{ .name = "open",
	  .args = { FILTER_ARG(1, FILTER_HAS, CHANGES_FILES) },
	  .told = SECCOMP_TOLD_CHANGE,
	  .why = changes },
	TELL(open, SECCOMP_TOLD_READ),
	{ .name = "openat",
	  .args = { FILTER_ARG(2, FILTER_HAS, O_CREAT) },
	  .told = SECCOMP_TOLD_MAKE,
	  .why = changes },
	{ .name = "openat",
	  .args = { FILTER_ARG(2, FILTER_HAS, CHANGES_FILES) },
	  .told = SECCOMP_TOLD_CHANGE,
	  .why = changes },
	TELL(openat, SECCOMP_TOLD_READ),

	MAKE(creat),
	CHANGE(truncate),
	MAKE(mkdir),
	MAKE(mkdirat),
	CHANGE(rmdir),
	CHANGE(unlink),
	CHANGE(unlinkat),
	MAKE(rename),
	MAKE(renameat),
	MAKE(renameat2),
	MAKE(link),
	MAKE(linkat),
	MAKE(symlink),
	MAKE(symlinkat),
	MAKE(mknod),
	MAKE(mknodat),
	CHANGE(chmod),
	CHANGE(fchmodat),
	CHANGE_NUMBER(fchmodat2, 452),
	CHANGE(chown),
	CHANGE(lchown),
	CHANGE(fchownat),
	CHANGE(utime),
	CHANGE(utimes),
	{ .name = "utimensat", /* acts on a descriptor when there is no path */
	  .args = { FILTER_ARG(1, FILTER_NOT_IN, 0) },
	  .told = SECCOMP_TOLD_CHANGE,
	  .why = changes },
	CHANGE(futimesat),
	CHANGE(setxattr),
	CHANGE(lsetxattr),
	CHANGE(removexattr),
	CHANGE(lremovexattr),
	CHANGE_NUMBER(setxattrat, 463),
	CHANGE_NUMBER(removexattrat, 466),
	CHANGE_NUMBER(file_setattr, 469),

	{ .name = "execve", .told = SECCOMP_TOLD_PROGRAM, .why = programs },
	{ .name = "execveat", .told = SECCOMP_TOLD_PROGRAM, .why = programs },

	{ .name = "exit_group", .told = SECCOMP_TOLD_END, .why = ends },
};

const struct filter filter_told = {
	.name = "told",
	.default_error = 0,
	.rules = rules,
	.count = sizeof(rules) / sizeof(rules[0]),
};
