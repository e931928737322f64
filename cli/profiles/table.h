/* table: the profiles. See profiles.h. */
#pragma once

#include <stddef.h>

enum profile_kind {
	PROFILE_POLICY, /* a line of policy */
	PROFILE_FOLDER, /* a folder that it writes; @more: the variable that names another place */
	PROFILE_COPY,   /* a file that is copied once; @more: to there */
	PROFILE_PASS,   /* a variable that is passed on, although it looks like a credential */
	PROFILE_SET,    /* a variable; @more: its value. Not if the caller has it. */
	PROFILE_WORD,   /* a word behind the name of the agent's program */
	PROFILE_NOTE,   /* what is said at the start */
	PROFILE_SETUP,  /* a line of `init --agent` */
	PROFILE_CONFIG  /* a file of the agent's; @more: what `init --agent` adds to it */
};
/* "~/" stands for the home directory in paths and values. */
struct profile_line {
	enum profile_kind kind;
	const char *text, *more;
};
struct profile {
	const char *name, *title, *program;
	const struct profile_line *lines;
	size_t count;
};
extern const struct profile table_profiles[];
extern const size_t table_profile_count;
