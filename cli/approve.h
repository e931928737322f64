/* approve: the client's end of sallyport-approver(7). Private to approve*.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#define APPROVE_RUN_MAX        64
#define APPROVE_ID_MAX         64
#define APPROVE_LINE_MAX_BYTES (4U << 20) /* of one line a gate sends; more than it may queue */
#define APPROVE_WAIT_MS        5000       /* for a gate to answer a request */
#define APPROVE_CONFIRM_MAX    256
#define APPROVE_TEXT_MAX       1024 /* longer than any that a gate says */
#define APPROVE_WORDS_MAX      256  /* a gate keeps no more */
#define APPROVE_DURATION_MAX   32

struct err;
struct evbuffer;

/* The control directory, ours and closed to others: a descriptor, or -errno with @why. */
int approve_dir_open(struct err *why);
/* The runs that have a socket there; @session: that of the session only, NULL: all. *@ret_runs:
 * returned owned, NULL-terminated. -ENOENT: there is no such session. */
int approve_dir_runs(int dir_fd, const char *session, char ***ret_runs, struct err *why);
/* The exit status for what approve_dir_open() or approve_dir_runs() returned; says it. */
int approve_dir_fail(int r, const struct err *why);
/* Is @what, of @run, of that session (NULL: of any)? An exit status; says no. */
int approve_dir_check(int dir_fd, const char *session, const char *run, const char *what);
/* A socket connected to the gate of @run, which is ours, or -errno: -ECONNREFUSED when the run is
 * dead (its socket is removed then), -ENOENT, -EAGAIN when it is busy and @may_wait is false. */
int approve_dir_connect(int dir_fd, const char *run, bool may_wait, struct err *why);

/* One connection on which requests are made and waited for. */
struct approve_link {
	int fd;
	struct evbuffer *in;
	json_int_t last_id;
};
/* Connects and reads the greeting. -ECONNREFUSED and -ENOENT: the run is over. */
int approve_link_open(int dir_fd, const char *run, struct approve_link *ret, struct err *why);
void approve_link_done(struct approve_link *link);
/* Takes @request, sends it, waits; *@ret_reply: returned owned. */
int approve_link_request(struct approve_link *link, json_t *request, json_t **ret_reply,
			 struct err *why);
/* The greeting is one we understand. */
/* Adds the open questions to @all, page by page. */
int approve_link_questions(struct approve_link *link, json_t *all, struct err *why);
int approve_link_check_greeting(const json_t *greeting, struct err *why);

/* "RUN-NUMBER". */
bool approve_input_is_id(const char *id);
bool approve_input_is_run(const char *run);
/* May @id be a question of @run? An id holds the run, or its first letters. */
bool approve_input_is_of(const char *id, const char *run);

/* What somebody wants done, by options or as a typed line. */
struct approve_width {
	bool is_domain, is_every_port, is_program;
	char duration[APPROVE_DURATION_MAX];      /* "": not said */
	json_int_t upload, download, connections; /* 0: not said */
};
struct approve_answer {
	const char *op;                /* "allow", "deny", "abort" */
	const char *scope;             /* "once"…; NULL: not said */
	char words[APPROVE_WORDS_MAX]; /* to whoever asked; "": none */
	struct approve_width width;
	char id[APPROVE_ID_MAX];
	bool is_person; /* who has to type the domain of a question that warns */
	char confirm[APPROVE_CONFIRM_MAX];
	/* What it was shown to be: where the gate would store something else, it stores nothing.
	 * "": it was not shown. */
	char text[APPROVE_TEXT_MAX];
};
/* "y ID [DOMAIN]", "allow ID [SCOPE] [DOMAIN]", each with the options of `approve allow` or `deny`,
 * or "{"op":…}" as a gate takes it, without a request id. -EINVAL with @why. */
int approve_input_parse(const char *line, struct approve_answer *ret, struct err *why);
/* "once" to "always" as one static text, or NULL. */
const char *approve_input_scope(const char *text);
/* Returned owned. */
json_t *approve_input_request(const struct approve_answer *answer);

/* @text with everything that could move a cursor escaped; what is visible already stays. Returned
 * owned. */
char *approve_text_shown(const char *text);
/* A member's text, or "". Borrowed. */
const char *approve_text_member(const json_t *object, const char *name);
/* "https://a.test:443". Returned owned. */
char *approve_text_destination(const json_t *question);
void approve_text_question(FILE *stream, const json_t *question);
/* "sallyport approve allow 7f3a-1 --domain --confirm example.org": what to type when @typed has to
 * be confirmed. Returned owned. */
char *approve_text_command(const struct approve_answer *answer, const char *typed);
/* "allowed for session". Returned owned. */
char *approve_text_answer(const struct approve_answer *answer);

/* Holds "watchers/PID" locked, so that gates know of us before we have found them. A descriptor, or
 * -errno. */
int approve_lock_take(int dir_fd, struct err *why);
void approve_lock_drop(int dir_fd, int lock_fd);

struct approve_options {
	bool is_help, is_json, is_plain;
	const char *scope, *words, *confirm, *session; /* NULL: not given */
	struct approve_width width;
};
/* What an answer takes. */
#define APPROVE_TAKES_ABORT " words "
#define APPROVE_TAKES_DENY  APPROVE_TAKES_ABORT "domain all-ports program for "
#define APPROVE_TAKES_ALLOW APPROVE_TAKES_DENY "upload download connections confirm "
#define APPROVE_TAKES_SCOPE " scope "
/* @takes: " help json ", the names of the options that are known. Leaves optind at the first word.
 * -EINVAL with @why. */
int approve_options_parse(int argc, char **argv, const char *takes, struct approve_options *ret,
			  struct err *why);
/* What they say of an answer, into @ret. */
void approve_options_answer(const struct approve_options *options, struct approve_answer *ret);
/* The same for a command line: 0, or the exit status of a usage error, which it says. */
int approve_options_read(int argc, char **argv, const char *takes, const char *name,
			 struct approve_options *ret);
/* Prints the help of a subcommand, "": of all. 0 or -1. */
int approve_help(const char *name);

/* `sallyport approve grants`, `revoke`, `undo`, `live` and `cut`; return the exit status. */
int approve_ledger_grants(int argc, char **argv);
int approve_ledger_revoke(int argc, char **argv);
int approve_ledger_undo(int argc, char **argv);
int approve_ledger_live(int argc, char **argv);
int approve_ledger_cut(int argc, char **argv);

/* `sallyport approve watch`; returns the exit status. */
int approve_watch(int dir_fd, const struct approve_options *options);

/* `sallyport approve reviewer`; returns the exit status. */
int approve_reviewer(int argc, char **argv);
/* `sallyport approve popup SOCKET`, which tmux runs for a gate; returns the exit status. */
int approve_popup(int argc, char **argv);
