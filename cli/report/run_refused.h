/* run_refused: what the sandbox refused the command, as lines that say what to do about it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "exec/exec_told.h"

/* The command chooses what is refused to it, so a person reads at most this many lines. */
#define RUN_REFUSED_MAX 6

/* Initial value: { 0 }. */
struct run_refused {
	struct run_refused_item {
		enum exec_refused what;
		bool is_minor; /* shown only if the command failed */
		char *key, *line;
	} items[RUN_REFUSED_MAX]; /* owned */
	size_t count, more;       /* kept; refused besides */
};

/* Borrows @evidence. @home: the user's, or NULL. */
void run_refused_add(struct run_refused *refused, const struct exec_evidence *evidence,
		     const char *home);
/* The lines, printable, without a newline; NULL after the last. Programs look up users and hosts at
 * sockets that they can do without: without @has_failed these are skipped. */
const char *run_refused_line(const struct run_refused *refused, bool has_failed, size_t index);
json_t *run_refused_json(const struct run_refused *refused, bool has_failed);
void run_refused_done(struct run_refused *refused);
