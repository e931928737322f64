/* gateway: verdict → grant or approval; one question for all who wait for one destination. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policies/policies.h"

struct bundle;
struct err;
struct loop;
struct gateway;
struct gateway_client;
struct gateway_embedded; /* gateway_agent.h */
struct gateway_helpers;
struct gateway_ticket;
struct gateway_web; /* gateway_tools.h */

/* Runs at most once, from the loop, never inside gateway_submit(). @verdict: borrowed; allow or
 * deny, never ask. */
typedef void (*gateway_verdict_fn)(const struct policy_verdict *verdict, void *arg);
/* May this request leave? Borrows @facts, keeps @arg. The ticket dies when @done denies it, when it
 * is withdrawn, or, allowed, when it is reported. */
#define GATEWAY_PLEA_MAX 301 /* bytes of facts.plea, and NUL; more is cut */
struct gateway_ticket *gateway_submit(struct gateway_client *client,
				      const struct policy_facts *facts, gateway_verdict_fn done,
				      void *arg);
/* @done will not run; NULL is fine. Why it left is said by gateway_report(). */
void gateway_withdraw(struct gateway_ticket *ticket);
/* What was allowed is so no longer: end it now and report it with @verdict's reason. At most once a
 * ticket that lives, from the loop; @arg: of gateway_submit(). */
typedef void (*gateway_cut_fn)(const struct policy_verdict *verdict, void *arg);
void gateway_client_on_cut(struct gateway_client *client, gateway_cut_fn on_cut);
/* The policy is another: @image, taken, is for policy_image_open(). Over a link only. */
typedef void (*gateway_image_fn)(int image, void *arg);
void gateway_client_on_image(struct gateway_client *client, gateway_image_fn on_image, void *arg);
/* Bytes that the verdict limits are moved by leases only: @may in all, never more when @is_over.
 * Whoever needs more, or will, asks: once at a time. @is_recall: no byte more, by @is_return. */
enum gateway_way { GATEWAY_UP, GATEWAY_DOWN, GATEWAY_WAYS };
struct gateway_lease {
	uint64_t may[GATEWAY_WAYS];
	bool is_over[GATEWAY_WAYS], is_recall;
};
struct gateway_spent {
	uint64_t bytes[GATEWAY_WAYS];
	bool needs[GATEWAY_WAYS], is_return;
};
typedef void (*gateway_lease_fn)(const struct gateway_lease *lease, void *arg);
void gateway_client_on_lease(struct gateway_client *client, gateway_lease_fn on_lease);
/* -EBADMSG: that cannot be, and nothing was done. */
int gateway_spend(struct gateway_ticket *ticket, const struct gateway_spent *spent);

/* What became of an allowed request, or a refusal after the verdict (private address, dial, server
 * name). Plain value. */
struct gateway_report {
	struct policy_facts facts;
	struct gateway_ticket *ticket; /* what it was allowed under, taken; NULL: none */
	struct policy_verdict verdict; /* action DENY: the gate refused it itself */
	enum policy_reason closed;     /* how it ended */
	char cause[128];               /* words for people, or "" */
	struct addr resolved;          /* dialled, or refused; family 0: none */
	uint64_t bytes_up, bytes_down;
	uint64_t duration_ms;
};
void gateway_report(struct gateway_client *client, const struct gateway_report *report);
void gateway_client_free(struct gateway_client *client);

/* In the same process (tests), or at the worker's end of a link. Both returned owned; @gw and @loop
 * are kept. */
struct gateway_client *gateway_client_new(struct gateway *gw);
/* The gateway opens an exec's way out: @fds (http listener, socks listener, channel to init) are
 * taken. Or ends it: @count 0. */
typedef void (*gateway_exec_fn)(uint64_t exec, int *fds, size_t count, void *arg);
/* The gateway died: close everything. At most once. */
typedef void (*gateway_gone_fn)(void *arg);
struct gateway_client *gateway_client_connect(struct loop *loop, int socket,
					      gateway_exec_fn on_exec, gateway_gone_fn on_gone,
					      void *arg);

/* Where the person sits: the terminal, and who to ask to keep still while a question is on it.
 * @hold stops the command's output and @release lets it go on; both may be NULL. */
struct gateway_terminal {
	int fd; /* kept, not owned */
	void (*hold)(void *arg);
	void (*release)(void *arg);
	void *arg;
};

struct gateway_config {
	const struct policy *policy; /* kept */
	const char *session;         /* borrowed, as all text here */
	const char *run;        /* this run's id: short, unguessable, names the control socket */
	const char *audit_path; /* the JSON-lines file */
	const char *audit_dir;  /* 0700, where no command sees it: the segments of that file */
	const char *cwd, *version, *digest; /* for the record of the start; may be NULL */
	const char *answers_path;           /* where "always" is written; NULL: it is refused */
	const char *seen_path;   /* what was allowed before, for warnings; NULL: not kept */
	const char *control_dir; /* 0700, for the control socket; NULL: none */
	const struct gateway_terminal *terminal; /* NULL: none. Kept. */
	struct bundle *bundle; /* where questions that nobody answered are noted; NULL: nowhere */
	const struct gateway_helpers *helpers;   /* gateway_tools.h; NULL: none. Kept. */
	struct gateway_web *web;                 /* NULL: no page. Kept, and written to. */
	const struct gateway_embedded *embedded; /* NULL: none. Kept. */
	int64_t prompt_timeout_ms;
	bool is_patient; /* hold questions for the deadline even while no approver is attached */
	void (*on_abort)(uint64_t exec, void *arg); /* a person answered abort: end the command */
	void (*on_worker_gone)(void *arg);          /* the way out is closed: end the run */
	void *arg;
};

/* Opens audit, control socket and terminal; cheap. Returned owned, or NULL with @why. */
struct gateway *gateway_new(struct loop *loop, const struct gateway_config *config,
			    struct err *why);
/* What the run ends with, for its last record. */
void gateway_ends_with(struct gateway *gw, int exit_status);
/* Denies all who wait (gate_closing; clients that live on tell it from the loop), writes the last
 * record, closes. Not from inside a verdict callback. */
void gateway_free(struct gateway *gw);

/* @exec is not 0. @command: the argv as one visible line. Records it. Requests of an exec that has
 * not begun, or has ended, are denied (exec_ended). Ending it denies its waiters and forgets its
 * grants. */
void gateway_exec_begin(struct gateway *gw, uint64_t exec, const char *command);
/* For `from`; right after the beginning. Copies. */
void gateway_exec_set_argv(struct gateway *gw, uint64_t exec, const char *const *argv);
void gateway_exec_end(struct gateway *gw, uint64_t exec, int exit_status);
/* Serves a worker at the other end of @socket (taken). */
int gateway_serve(struct gateway *gw, int socket);
/* Hands the listeners of @exec (taken) to the worker; a fourth is kept: whose is a socket? */
int gateway_open_way(struct gateway *gw, uint64_t exec, int *fds, size_t count);

/* From now on @policy decides (kept; the one before may be freed). What is open and denied by it is
 * cut; who waits is decided again; grants hold where it still asks. @files: what changed, for the
 * record; @digest: of all of it. From the loop. */
struct gateway_reload {
	const struct policy *policy; /* NULL: it has errors, and the one before stays */
	const char *digest, *files, *errors;
	int image;                 /* of policy_image_make(), borrowed: what the workers go by */
	int64_t prompt_timeout_ms; /* of questions to come; 0: as it was */
};
void gateway_reload(struct gateway *gw, const struct gateway_reload *reload);

/* Asks the workers to report what is still open and to end; @done runs once, from the loop, when
 * they have or after @wait_ms. Their going is then no failure: on_worker_gone does not run. */
void gateway_finish(struct gateway *gw, int64_t wait_ms, void (*done)(void *arg), void *arg);

enum gateway_scope { GATEWAY_ONCE, GATEWAY_EXEC, GATEWAY_SESSION, GATEWAY_ALWAYS };
/* "once", "exec", "session", "always"; "": none of them. */
const char *gateway_scope_name(enum gateway_scope scope);
