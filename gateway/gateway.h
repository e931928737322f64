/* gateway: turns verdicts into grants or questions; requests for one destination share one. */
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
struct gateway_metrics; /* gateway_metrics.h */
struct gateway_ticket;
struct gateway_web; /* gateway_tools.h */

/* Runs at most once, from the loop, never inside gateway_submit(). @verdict: borrowed; allow or
 * deny, never ask. */
typedef void (*gateway_verdict_fn)(const struct policy_verdict *verdict, void *arg);
/* Decides whether the request may leave. Borrows @facts, keeps @arg. The ticket ends when @done
 * denies it, when it is withdrawn, or, if it was allowed, when it is reported. */
#define GATEWAY_PLEA_MAX 301 /* bytes of facts.plea, and NUL; more is cut */
struct gateway_ticket *gateway_submit(struct gateway_client *client,
				      const struct policy_facts *facts, gateway_verdict_fn done,
				      void *arg);
/* @done will not run; NULL is fine. Give the reason with gateway_report(). */
void gateway_withdraw(struct gateway_ticket *ticket);
/* An allow was revoked: end the connection and report it with @verdict's reason. Runs at most once
 * per open ticket, from the loop; @arg: of gateway_submit(). */
typedef void (*gateway_cut_fn)(const struct policy_verdict *verdict, void *arg);
void gateway_client_on_cut(struct gateway_client *client, gateway_cut_fn on_cut);
/* The policy changed: @image, taken, is for policy_image_open(). Over a link only. */
typedef void (*gateway_image_fn)(int image, void *arg);
void gateway_client_on_image(struct gateway_client *client, gateway_image_fn on_image, void *arg);
/* Byte limits of a verdict are given out as leases: @may in total, final when @is_over. A client
 * has at most one request for more. @is_recall: stop, and return the rest with @is_return. */
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
/* -EBADMSG: the numbers are impossible, and nothing was done. */
int gateway_spend(struct gateway_ticket *ticket, const struct gateway_spent *spent);

/* The result of an allowed request, or a refusal after the verdict (private address, dial, server
 * name). Plain value. */
struct gateway_report {
	struct policy_facts facts;
	struct gateway_ticket *ticket; /* that allowed it, taken; NULL: none */
	struct policy_verdict verdict; /* action DENY: the gate itself refused it */
	enum policy_reason closed;     /* how it ended */
	char cause[128];               /* text for people, or "" */
	struct addr resolved;          /* dialled, or refused; family 0: not resolved */
	bool is_resolved_upstream;     /* by an upstream proxy: the address is not known */
	uint64_t bytes_up, bytes_down, duration_ms;
	uint32_t dns_ms, dial_ms; /* for its name and its connection, rounded up; 0: not done */
};
void gateway_report(struct gateway_client *client, const struct gateway_report *report);
void gateway_client_free(struct gateway_client *client);

/* In the same process (tests), or at the worker's end of a link. Owned; keep @gw, @loop. */
struct gateway_client *gateway_client_new(struct gateway *gw);
/* The gateway opens the listeners of an exec: @fds (HTTP, SOCKS, channel to init) are taken.
 * @count 0 closes them. */
typedef void (*gateway_exec_fn)(uint64_t exec, int *fds, size_t count, void *arg);
typedef void (*gateway_gone_fn)(void *arg); /* it died: close everything. At most once. */
struct gateway_client *gateway_client_connect(struct loop *loop, int socket,
					      gateway_exec_fn on_exec, gateway_gone_fn on_gone,
					      void *arg);

/* The person's terminal. @hold pauses the command's output, @release resumes it; may be NULL. */
struct gateway_terminal {
	int fd; /* kept, not owned */
	void (*hold)(void *arg);
	void (*release)(void *arg);
	void *arg;
};

struct gateway_config {
	const struct policy *policy; /* kept */
	const char *session;         /* borrowed, as all text here */
	const char *run;        /* this run's id: short, unguessable; names the control socket */
	const char *audit_path; /* the JSON-lines file */
	const char *audit_dir, *key_dir;    /* 0700, hidden: its segments; the key, or NULL */
	const char *cwd, *version, *digest; /* for the record of the start; may be NULL */
	const char *answers_path;           /* where "always" is written; NULL: refused */
	bool keeps_aside, observes, counts_egress; /* another process; never ask; by program */
	const char *seen_path;          /* what was allowed before, for warnings; NULL: not kept */
	const char *control_dir, *tmux; /* 0700, for the control socket; the program. NULL: none */
	const struct gateway_terminal *terminal; /* NULL: none. Kept. */
	struct bundle *bundle; /* records unanswered questions; NULL: not recorded */
	const struct gateway_helpers *helpers;      /* gateway_tools.h; NULL: none. Kept. */
	struct gateway_web *web;                    /* NULL: no page. Kept, and written to. */
	struct gateway_metrics *metrics;            /* NULL: none. Written to. */
	const struct gateway_embedded *embedded;    /* NULL: none. Kept. */
	int64_t prompt_timeout_ms, patience_ms;     /* the second: to attach; < 0: no limit */
	const struct gateway_syslog *syslog;        /* gateway_syslog.h; NULL: nowhere. Copied. */
	void (*on_abort)(uint64_t exec, void *arg); /* a person answered abort: end the command */
	void (*on_worker_gone)(unsigned int worker, bool is_hostile, void *arg);
	void *arg;
};

/* Opens audit, control socket and terminal; cheap. Returned owned, or NULL with @why. */
struct gateway *gateway_new(struct loop *loop, const struct gateway_config *config,
			    struct err *why);
void gateway_ends_with(struct gateway *gw, int exit_status); /* for the run's last record */
/* Denies all waiting requests (gate_closing; a client that outlives the gateway learns it from the
 * loop), writes the last record, closes. Not from inside a verdict callback. */
void gateway_free(struct gateway *gw);

/* @exec is not 0. @command: the argv as one visible line. Records it. Requests of an exec that has
 * not begun, or has ended, are denied (exec_ended). The end denies its waiters and forgets its
 * grants. */
void gateway_exec_begin(struct gateway *gw, uint64_t exec, const char *command);
/* For `from`; call it right after the beginning. Copies @argv. */
void gateway_exec_set_argv(struct gateway *gw, uint64_t exec, const char *const *argv);
void gateway_exec_end(struct gateway *gw, uint64_t exec, int exit_status);
/* Sends @image (borrowed; -1: none) and the execs' listeners to a worker at @socket (taken). */
int gateway_serve(struct gateway *gw, int socket, unsigned int worker, int image);
/* Gives the worker the listeners of @exec (taken); keeps a fourth, to find a socket's program. */
int gateway_open_way(struct gateway *gw, uint64_t exec, int *fds, size_t count);

/* Replaces the policy by @policy (kept; the old one may be freed). Open requests that it denies are
 * cut, waiting ones are decided again; grants stay valid where it still asks. @files: what changed,
 * for the record; @digest: of all files. From the loop. */
struct gateway_reload {
	const struct policy *policy; /* NULL: it has errors, and the old policy stays */
	const char *digest, *files, *errors;
	int image;                 /* of policy_image_make(), borrowed: for the workers */
	int64_t prompt_timeout_ms; /* of new questions; 0: unchanged */
};
void gateway_reload(struct gateway *gw, const struct gateway_reload *reload);

/* Asks the workers to report what is open and to end; @done runs once, from the loop, when all have
 * ended or after @wait_ms. Their end is then no failure: on_worker_gone does not run. */
void gateway_finish(struct gateway *gw, int64_t wait_ms, void (*done)(void *arg), void *arg);

enum gateway_scope { GATEWAY_ONCE, GATEWAY_EXEC, GATEWAY_SESSION, GATEWAY_ALWAYS };
/* "once", "exec", "session", "always"; "": an unknown value. */
const char *gateway_scope_name(enum gateway_scope scope);
