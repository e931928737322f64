/* approve: the client side of sallyport-approver(7). Private to approve*.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#define APPROVE_RUN_MAX        64
#define APPROVE_ID_MAX         64
#define APPROVE_LINE_MAX_BYTES (4U << 20) /* of a line from a gate; its queue has less */
#define APPROVE_WAIT_MS        5000       /* for a gate to reply to a request */
#define APPROVE_CONFIRM_MAX    256
#define APPROVE_TEXT_MAX       1024 /* longer than any text of a gate */
#define APPROVE_WORDS_MAX      256  /* a gate keeps no more */
#define APPROVE_DURATION_MAX   32

struct err;
struct evbuffer;
struct options;

/* The control directory, ours and closed to others: a descriptor, or -errno with @why. */
int approve_dir_open(struct err *why);
/* The runs that have a socket there; @session: only the run of that session, NULL: all. *@ret_runs:
 * returned owned, NULL-terminated. -ENOENT: there is no such session. */
int approve_dir_runs(int dir_fd, const char *session, char ***ret_runs, struct err *why);
/* The exit status for an error of approve_dir_open() or approve_dir_runs(); prints the error. */
int approve_dir_fail(int r, const struct err *why);
/* Does @what, of @run, belong to that session (NULL: any)? Returns an exit status and prints the
 * error. */
int approve_dir_check(int dir_fd, const char *session, const char *run, const char *what);
/* A socket connected to the gate of @run, which must be a process of ours, or -errno: -ECONNREFUSED
 * if the run has ended (its socket is removed then), -ENOENT, -EAGAIN if it is busy. @limit_ms: see
 * local_connect(). */
int approve_dir_connect(int dir_fd, const char *run, int limit_ms, struct err *why);
/* The sockets of a run are RUN.sock, and beside it RUN.into, which takes commands. */
#define APPROVE_SUFFIX      ".sock"
#define APPROVE_INTO_SUFFIX ".into"
/* The same for the socket of that run, of @type, with this @suffix. @limit_ms: see local_connect().
 */
int approve_dir_connect_to(int dir_fd, const char *run, const char *suffix, int type, int limit_ms,
			   struct err *why);

/* One connection for requests, each of which waits for its reply. */
struct approve_link {
	int fd;
	const char *run; /* borrowed */
	struct evbuffer *in;
	json_int_t last_id;
};
/* Connects and reads the greeting. @limit_ms: for each message of the gate. -ECONNREFUSED and
 * -ENOENT: the run has ended. */
int approve_link_open(int dir_fd, const char *run, int limit_ms, struct approve_link *ret,
		      struct err *why);
void approve_link_done(struct approve_link *link);
/* Takes @request, sends it, waits; *@ret_reply: returned owned. */
int approve_link_request(struct approve_link *link, json_t *request, json_t **ret_reply,
			 struct err *why);
/* Adds the open questions to @all, page by page. */
int approve_link_questions(struct approve_link *link, json_t *all, struct err *why);

/* "RUN-NUMBER". */
bool approve_input_is_id(const char *id);
bool approve_input_is_run(const char *run);
/* May @id be a question of @run? An id contains the run, or its first letters. */
bool approve_input_is_of(const char *id, const char *run);

/* An answer, from options or a typed line. */
struct approve_width {
	bool is_domain, is_every_port, is_program;
	char duration[APPROVE_DURATION_MAX];      /* "": not given */
	json_int_t upload, download, connections; /* 0: not given */
};
struct approve_answer {
	const char *op;                /* "allow", "deny", "abort" */
	const char *scope;             /* "once"…; NULL: not given */
	char words[APPROVE_WORDS_MAX]; /* to the requester; "": none */
	struct approve_width width;
	char id[APPROVE_ID_MAX];
	bool is_person; /* must type the domain of a question with a warning */
	char confirm[APPROVE_CONFIRM_MAX];
	/* The text that the person was shown: the gate stores nothing if it would store something
	 * else. "": nothing was shown. */
	char text[APPROVE_TEXT_MAX];
};
/* "y ID [DOMAIN]", "allow ID [SCOPE] [DOMAIN]", each with the options of `approve allow` or `deny`,
 * or "{"op":…}" as a gate takes it, without a request id. -EINVAL with @why. */
int approve_input_parse(const char *line, struct approve_answer *ret, struct err *why);
/* "once" to "always" as a static string, or NULL. */
const char *approve_input_scope(const char *text);
/* Returned owned. */
json_t *approve_input_request(const struct approve_answer *answer);

/* A string member, or "". Borrowed. */
const char *approve_text_member(const json_t *object, const char *name);
/* "https://a.test:443". Returned owned. */
char *approve_text_destination(const json_t *question);
void approve_text_question(FILE *stream, const json_t *question);
/* "sallyport approve allow 7f3a-1 --domain --confirm example.org": the command to run if @typed
 * must be confirmed. Returned owned. */
char *approve_text_command(const struct approve_answer *answer, const char *typed);
/* "allowed for session". Returned owned. */
char *approve_text_answer(const struct approve_answer *answer);

/* Holds "watchers/PID" locked, so that gates see that a watcher exists before it has connected. A
 * descriptor, or -errno. */
int approve_lock_take(int dir_fd, struct err *why);
void approve_lock_drop(int dir_fd, int lock_fd);

/* Reads the options of an answer into @ret. -EINVAL with @why. */
int approve_options_answer(const struct options *options, struct approve_answer *ret,
			   struct err *why);
/* -EINVAL with @why: there is an option for an answer that is remembered, and @scope (NULL: not
 * given) is that of one that is not. */
int approve_options_scope(const struct options *options, const char *scope, struct err *why);

/* `sallyport approve watch`; returns the exit status. */
int approve_watch(int dir_fd, const struct options *options);
