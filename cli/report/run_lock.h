/* run_lock: compares what a run reached with the file of --egress-lock, or writes that file. It
 * decides nothing: the policy does. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "cli/tally.h"
#include "cli/bundle_files.h"

struct gateway;
struct run_tell;

enum run_lock_mode { RUN_LOCK_NONE, RUN_LOCK_CHECK, RUN_LOCK_RECORD };

struct run_lock {
	enum run_lock_mode mode;
	const char *name;          /* of the file, as it was given */
	struct bundle_place place; /* where it is written */
	struct tally locked, reached;
	/* After run_lock_compare(), owned lists of text for people; @has_new: the run must fail. */
	char **news, **unused;
	bool has_new, is_compared;
};
#define RUN_LOCK_EMPTY ((struct run_lock){ .place.folder = -1 })

/* Reads the file (NULL: egress.lock; kept), or opens its folder, before the command can change
 * them. Returns an exit status, and prints what is wrong, as run_lock_write(). */
int run_lock_open(struct run_lock *lock, enum run_lock_mode mode, const char *file);
void run_lock_done(struct run_lock *lock);

/* At the end of the run. */
void run_lock_compare(struct run_lock *lock, const struct gateway *gw);
/* Writes the file if it is to be written, and the run ends with @status 0. */
int run_lock_write(const struct run_lock *lock, int status);
bool run_lock_has_any(const struct run_lock *lock); /* something to say */
void run_lock_say(const struct run_lock *lock, struct run_tell *tell);
json_t *run_lock_json(const struct run_lock *lock); /* NULL: nothing was compared */
