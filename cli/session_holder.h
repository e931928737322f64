/* session_holder: the process that holds a session. Private to session*.c. */
#pragma once

#include <sys/queue.h>

#include "base/loop.h"
#include "cli/gate.h"
#include "cli/session.h"

#define SESSION_GUESTS_MAX 512   /* connections */
#define SESSION_TALK_MS    60000 /* for a connection to say what it wants */
#define SESSION_FINISH_MS  2000  /* for a run's worker to report what was open */
#define SESSION_ENDING_MS  5000  /* for all runs to end */

struct session_start {
	struct run_options options; /* of the gate */
	char **words;               /* that they point into, owned */
	const char *name;           /* NULL: none was given */
	int64_t idle_ms;            /* without a run in it; then it ends */
	bool is_foreground, is_if_needed;
};
/* An exit status + 1 when it should end at once, as run_options_parse(). */
int session_options_parse(struct session_start *start, int argc, char **argv);
void session_options_free(struct session_start *start);

struct session_guest;
struct session_holder {
	struct session_start *start;
	struct session_place place;
	struct gate gate;
	int lock_fd, listen_fd;
	bool is_given; /* the socket is somebody else's to remove */
	struct event *accepting;
	struct event signals[2];
	bool has_signals;
	struct loop_timer idle, ending, backoff, sweep;
	LIST_HEAD(session_guest_list, session_guest) guests;
	unsigned int guest_count;
	uint64_t last_exec;
	int64_t since_s;
	bool is_ending;
};

/* Holds the session until it ends. @ready: a pipe to whoever waits for it to begin, taken; -1:
 * none. An exit status; says what is wrong. */
int session_holder_run(struct session_start *start, struct session_place *place, int ready);

/* session_guest.c: one connection. Takes @socket. */
void session_guest_admit(struct session_holder *holder, int socket);
/* A person aborted its command. */
void session_guest_abort(const struct session_holder *holder, uint64_t exec);
/* Every run is told to end, and gets nothing more. */
void session_guest_end_all(struct session_holder *holder);
void session_guest_free_all(struct session_holder *holder);
/* Runs that have begun and are not over. */
unsigned int session_guest_runs(const struct session_holder *holder);

/* For guests: a run began, or something of it is over. */
void session_holder_changed(struct session_holder *holder);
/* What a run has to know, as @exec; free it. -errno: it may not join, for reasons that @why says.
 */
int session_holder_terms(struct session_holder *holder, uint64_t exec, struct session_terms *ret,
			 struct err *why);
/* What the commands of a new run may write is looked at when the policy changes. */
void session_holder_add_writable(struct session_holder *holder, char *const *writable);
void session_holder_state(const struct session_holder *holder, struct session_state *ret);
/* Denies what waits, ends the runs, and then itself. */
void session_holder_stop(struct session_holder *holder);
