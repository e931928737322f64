/* session_holder: the process of a session. Private to session*.c. */
#pragma once

#include <sys/queue.h>

#include "base/loop.h"
#include "base/net/listener.h"
#include "cli/gate/gate.h"
#include "cli/run/run_options.h"
#include "cli/session/session_place.h"

struct session_terms;

#define SESSION_GUESTS_MAX 512   /* connections */
#define SESSION_TALK_MS    60000 /* for a connection to send its request */
#define SESSION_FINISH_MS  2000  /* for a run's worker to report open requests */
#define SESSION_ENDING_MS  5000  /* for all runs to end */

struct session_start {
	struct run_options options; /* the options of the gate */
	char **words;               /* policy names that were made absolute, owned; NULL: none */
	const char *name;           /* NULL: none was given */
	int64_t idle_ms;            /* time without a run after which the session ends */
	bool is_foreground, is_if_needed;
};
/* As run_options_take(). */
int session_options_take(struct session_start *start, const struct options *given);
void session_options_free(struct session_start *start);

struct session_guest;
struct session_holder {
	struct session_start *start;
	struct session_place place;
	struct gate gate;
	int lock_fd, listen_fd;
	bool is_given; /* the socket was passed to us and is not ours to remove */
	struct listener listener;
	bool has_listened;
	struct event signals[2];
	bool has_signals;
	struct loop_timer idle, ending, sweep;
	LIST_HEAD(session_guest_list, session_guest) guests;
	unsigned int guest_count;
	uint64_t last_exec;
	int64_t since_s;
	bool is_ending;
};

/* Holds the session until it ends. @ready: a pipe to the process that waits for the start, taken;
 * -1: none. Returns an exit status and prints what is wrong. */
int session_holder_run(struct session_start *start, struct session_place *place, int ready);

/* session_guest.c: serves one connection. Takes @socket. */
void session_guest_admit(struct session_holder *holder, int socket);
/* A person aborted the guest's command. */
void session_guest_abort(const struct session_holder *holder, uint64_t exec);
/* Tells every run to end; nothing more is sent to it. */
void session_guest_end_all(struct session_holder *holder);
void session_guest_free_all(struct session_holder *holder);
/* The number of runs that have begun and are not over. */
unsigned int session_guest_runs(const struct session_holder *holder);

/* For guests: a run has begun, or a part of it is over. */
void session_holder_changed(struct session_holder *holder);
/* What a run must know, as @exec; the caller frees it. -errno: the run may not join; @why says why.
 */
int session_holder_terms(struct session_holder *holder, uint64_t exec, struct session_terms *ret,
			 struct err *why);
/* Adds the paths that a new run's commands may write; they are considered when the policy changes.
 */
void session_holder_add_writable(struct session_holder *holder, char *const *writable);
void session_holder_state(const struct session_holder *holder, struct session_state *ret);
/* Denies waiting requests, ends the runs, and then the session. */
void session_holder_stop(struct session_holder *holder);
