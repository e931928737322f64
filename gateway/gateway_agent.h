/* gateway_agent: for a program that has the gateway in its own process and talks to the person:
 * questions as calls, the effect of the network on each command, and additional destinations for
 * one command (docs/decisions/0026). */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "gateway/gateway.h"
#include "gateway/gateway_approver.h"
#include "gateway/gateway_kept.h"

enum gateway_exec_event_kind {
	GATEWAY_EXEC_DENIED,  /* one destination, for one reason; @times since its last event */
	GATEWAY_EXEC_ALLOWED, /* one destination, for the first time */
	GATEWAY_EXEC_WAITING, /* it has @questions open; stop its timeout while not 0 */
	GATEWAY_EXEC_ENDED,   /* by gateway_exec_end(): no event for this exec follows */
};
/* The source of a denial. */
enum gateway_whose {
	GATEWAY_BY_NOBODY,  /* no answer: no approver, timeout, too many questions, exit */
	GATEWAY_BY_POLICY,  /* rule, kept answer, default, guarded address, limit */
	GATEWAY_BY_PERSON,  /* an approver, the program of struct gateway_embedded included */
	GATEWAY_BY_REVIEW,  /* a reviewer, in place of the person */
	GATEWAY_BY_NETWORK, /* allowed, but the name, the dial or the transfer failed */
};
/* Borrowed for the call; text is never NULL. Fields that do not apply to the kind are 0 or "". */
struct gateway_exec_event {
	enum gateway_exec_event_kind kind;
	const struct policy_destination
		*dst; /* its host may be "": refused before it named one; NULL: none */
	enum policy_reason reason;
	enum gateway_whose whose;
	const char *rule, *because,
		*by;       /* as in the verdict: `because` includes a person's words */
	const char *cause; /* of a refusal after the verdict */
	unsigned int times;
	pid_t pid; /* DENIED: of a process that asked; 0: not known, or several */
	unsigned int questions;
	uint64_t dropped; /* all events of this exec that were dropped: no room */
};
/* Events kept for one exec between two rounds of the loop: further ones are dropped and counted. A
 * person's denials have the same room again. WAITING and ENDED are never dropped. Destinations of
 * one exec whose first allow is reported: */
#define GATEWAY_EXEC_EVENTS_MAX  32
#define GATEWAY_EXEC_ALLOWED_MAX 128

/* As gateway_exec_begin(), for a command without a sandbox; its record says so. */
void gateway_exec_begin_unconfined(struct gateway *gw, uint64_t exec, const char *command);

/* Callbacks of the program; each may be NULL. They run from the loop, never inside a call of the
 * program's own. Arguments are borrowed for the call. Each may call the gateway, but not free it.
 * None runs after the gateway is freed. */
struct gateway_embedded {
	/* A new question. Setting it makes the program one of the approvers. */
	void (*on_question)(const struct approver_question *question, void *arg);
	/* For a question that was told: the number of waiting requests changed. */
	void (*on_update)(const struct approver_question *question, void *arg);
	/* For a question that was told: it ended, here or elsewhere. Its id may be asked again
	 * later. */
	void (*on_retract)(const struct approver_end *end, void *arg);
	void (*on_exec_event)(uint64_t exec, const struct gateway_exec_event *event, void *arg);
	void *arg;
};

/* Answers question @id. @typed: what the person has typed; an allow of a question whose @risk is
 * not 0 needs its @typed there, letter for letter; else NULL. @ret_text: what was granted, in the
 * policy's language; may be NULL. 0; -ENOENT: finished or unknown, and nothing was done; -EACCES:
 * not typed; -EINVAL, -ENOTSUP: no such answer; -EINPROGRESS: see gateway_kept.h; another -errno:
 * `always` could not be written, and nothing was granted. */
int gateway_embedded_answer(struct gateway *gw, const char *id,
			    const struct approver_answer *answer, const char *typed,
			    char ret_text[APPROVER_KEY_MAX], struct err *why);
/* Says whether a person is present at the program; at first one is. With no approver left,
 * questions are denied. */
void gateway_embedded_attach(struct gateway *gw, bool is_attached);

/* An additional destination for one command, granted before or while it runs. It is valid where
 * policy asks, until the command ends: it does not override a denial, `only` or a default of deny,
 * and counts among the remembered answers. */
struct gateway_exec_grant {
	const char *destination;     /* exactly one: "https://a.test:443"; no port: 443 */
	const char *by, *words;      /* who granted it; "" or NULL: no words */
	struct approver_width width; /* not is_program */
	bool may_private;            /* the destination may be a private address */
	bool is_for_session; /* for every command of its session, also after this one ends */
};
/* Recorded as `granted`. @ret_text: what was granted; may be NULL. 0; -ENOENT: no such exec;
 * -EACCES: policy denies it, or it is a private address and @may_private is not set; -EINVAL: no
 * such destination or width; -ENOSPC: too many are remembered. */
int gateway_grant_exec(struct gateway *gw, uint64_t exec, const struct gateway_exec_grant *grant,
		       char ret_text[APPROVER_KEY_MAX], struct err *why);

/* The program's own sessions, with its own numbers other than 0: an answer "for the session"
 * applies only to the sessions whose requests waited for it. A request without one belongs to
 * the gateway's own session, 0. */
/* @exec belongs to @session, and its requests wait @question_ms for an answer (0: the common
 * timeout); call it before its first request. -ENOENT. */
int gateway_exec_join(struct gateway *gw, uint64_t exec, uint64_t session, int64_t question_ms);
/* None of its commands runs any more: its remembered answers are forgotten. */
void gateway_session_end(struct gateway *gw, uint64_t session);
/* Borrowed for the call. */
struct gateway_grant {
	uint64_t id; /* rises; never used again */
	enum policy_action action;
	enum gateway_scope scope; /* not once */
	uint64_t exec;            /* of GATEWAY_EXEC */
	const char *text, *by;    /* "https://example.org:443 for 1h" */
	int64_t until_s;          /* 0: no time limit of its own */
};
typedef void (*gateway_grant_fn)(const struct gateway_grant *grant, void *arg);
/* The remembered answers that count for @session, and those of its commands, oldest first. @each
 * must not call back. */
void gateway_session_grants(const struct gateway *gw, uint64_t session, gateway_grant_fn each,
			    void *arg);
/* Forgets one and cuts the connections that it allows. -ENOENT; -EPERM: it is for always or for
 * all sessions, or a denial by another approver than @by. */
int gateway_session_revoke(struct gateway *gw, uint64_t session, uint64_t id, const char *by,
			   struct err *why);

/* A program that a command was not allowed to execute. Text may be NULL. */
struct gateway_refused {
	const char *path;    /* the path of the file; "": it has none */
	const char *command; /* the argv as one visible line */
	enum policy_reason reason;
	const char *rule, *because, *by;
};
/* Records it as `program`; after GATEWAY_REFUSED_MAX for one exec nothing more is recorded. */
#define GATEWAY_REFUSED_MAX 1000
void gateway_exec_refused(struct gateway *gw, uint64_t exec, const struct gateway_refused *refused);

struct gateway_proposal;
/* Asks about one exact destination without a connection: key, question and verdict are the same as
 * for a connection, but nothing is dialled. @exec: the exec it is for, or 0. @reason: the
 * requester's own words, which may lie; shown as such, cut at GATEWAY_PLEA_MAX. @done runs once,
 * from the loop, and ends the proposal; it does not run if the proposal is withdrawn or the gateway
 * freed before. NULL with @why: no such exec or destination, or no reason. */
struct gateway_proposal *gateway_propose(struct gateway *gw, uint64_t exec, const char *destination,
					 const char *reason, gateway_verdict_fn done, void *arg,
					 struct err *why);
/* Assigns a proposal without an exec to @session; call it at once. */
void gateway_proposal_join(struct gateway_proposal *proposal, uint64_t session);
void gateway_proposal_withdraw(struct gateway_proposal *proposal); /* NULL is fine */
