/* gateway_agent: for a program that holds the gateway in its own process and speaks for whoever
 * sits in front of it: questions as calls, what the network did to each command, and what one
 * command may reach besides (docs/decisions/0130). */
#pragma once

#include <stdint.h>

#include "gateway/gateway.h"
#include "gateway/gateway_approver.h"

enum gateway_exec_event_kind {
	GATEWAY_EXEC_DENIED,  /* one destination, for one reason; @times since it was told last */
	GATEWAY_EXEC_ALLOWED, /* one destination, for the first time */
	GATEWAY_EXEC_WAITING, /* @questions that it waits on: its clock stands still while they are
				 not 0 */
	GATEWAY_EXEC_ENDED,   /* gateway_exec_end() was called: nothing comes for this exec any more
			       */
};
/* Who said no. */
enum gateway_whose {
	GATEWAY_BY_NOBODY,  /* nobody could, or would, answer: no approver, too late, too many, the
			       gate closes */
	GATEWAY_BY_POLICY,  /* a rule, a kept answer, the default, an address that is guarded, a
			       limit */
	GATEWAY_BY_PERSON,  /* whoever answered, the program of struct gateway_embedded included */
	GATEWAY_BY_REVIEW,  /* a reviewer, for the person it stands in for */
	GATEWAY_BY_NETWORK, /* it was allowed, and could not be carried: the name, the dial, the
			       bytes */
};
/* Borrowed for the call; text is never NULL. What does not belong to the kind is 0 or "". */
struct gateway_exec_event {
	enum gateway_exec_event_kind kind;
	const struct policy_destination
		*dst; /* its host may be "": refused before it named one; NULL: none */
	enum policy_reason reason;
	enum gateway_whose whose;
	const char *rule, *because,
		*by;       /* as in the verdict: `because` has a person's words, too */
	const char *cause; /* of a refusal after the verdict */
	unsigned int times;
	unsigned int questions;
	uint64_t dropped; /* events of this exec that there was no room for, in all */
};
/* Kept for one exec between two rounds of the loop: past them events are dropped and counted. A
 * person's denial has as much room again. WAITING and ENDED are never dropped. Destinations whose
 * first allow is told, of one exec: */
#define GATEWAY_EXEC_EVENTS_MAX  32
#define GATEWAY_EXEC_ALLOWED_MAX 128

/* As gateway_exec_begin(), of a command with nothing around it, which its record says. */
void gateway_exec_begin_unconfined(struct gateway *gw, uint64_t exec, const char *command);

/* What the program is told; each may be NULL. From the loop, never inside one of its own calls.
 * What is borrowed is so for the call. Each may call the gateway, but not free it. Nothing comes
 * any more once the gateway is freed. */
struct gateway_embedded {
	/* With it the program is an approver, one among the others. A new question. */
	void (*on_question)(const struct approver_question *question, void *arg);
	/* Of one that was told: more or fewer wait. */
	void (*on_update)(const struct approver_question *question, void *arg);
	/* Of one that was told: it is finished, here or elsewhere. Its id may be asked again later.
	 */
	void (*on_retract)(const struct approver_end *end, void *arg);
	void (*on_exec_event)(uint64_t exec, const struct gateway_exec_event *event, void *arg);
	void *arg;
};

/* Answers question @id. @typed: what the person has typed; an allow of a question whose @risk is
 * not 0 needs its @typed there, letter for letter; else NULL. @ret_text: what was granted, in the
 * policy's language; may be NULL. 0; -ENOENT: finished or unknown, and nothing was done; -EACCES:
 * not typed; -EINVAL, -ENOTSUP: no such answer; another -errno: `always` could not be written, and
 * nothing was granted. */
int gateway_embedded_answer(struct gateway *gw, const char *id,
			    const struct approver_answer *answer, const char *typed,
			    char ret_text[APPROVER_KEY_MAX], struct err *why);
/* Nobody is in front of the program (any more), or somebody is again, as at first. With no approver
 * left questions are denied. */
void gateway_embedded_attach(struct gateway *gw, bool is_attached);
/* Calls @each for every exec that waits on question @id; 0: none of the execs. -ENOENT. @each must
 * not call back. */
int gateway_embedded_waiting(struct gateway *gw, const char *id,
			     void (*each)(uint64_t exec, unsigned int connections, void *arg),
			     void *arg);

/* What one command may reach besides, said before or while it runs. It holds where policy asks,
 * until the command ends: it beats neither a denial nor `only` nor a default of deny, and counts
 * among the remembered answers. */
struct gateway_exec_grant {
	const char *destination;     /* one exact one: "https://a.test:443"; no port: 443 */
	const char *by, *words;      /* who said so; "" or NULL: no words */
	struct approver_width width; /* not is_program */
	bool may_private;            /* the destination may be a private address */
	bool is_for_session; /* for every command of its session, and longer than this one lives */
};
/* Recorded as `granted`. @ret_text: what was granted; may be NULL. 0; -ENOENT: no such exec;
 * -EACCES: policy denies it, or it is a private address and that was not said; -EINVAL: no such
 * destination or width; -ENOSPC: too many are remembered. */
int gateway_grant_exec(struct gateway *gw, uint64_t exec, const struct gateway_exec_grant *grant,
		       char ret_text[APPROVER_KEY_MAX], struct err *why);

/* Sessions of the program's own, by numbers of its own that are not 0: an answer "for the session"
 * counts for those sessions alone whose requests waited for it. What is of none is the gateway's.
 */
/* @exec is of @session, and its requests wait @question_ms for an answer (0: as long as all);
 * before it asks for anything. -ENOENT. */
int gateway_exec_join(struct gateway *gw, uint64_t exec, uint64_t session, int64_t question_ms);
/* Nothing of it runs any more: what was remembered for it is forgotten. */
void gateway_session_end(struct gateway *gw, uint64_t session);
/* Borrowed for the call. */
struct gateway_grant {
	uint64_t id; /* rises; never used again */
	enum policy_action action;
	enum gateway_scope scope; /* not once */
	uint64_t exec;            /* of GATEWAY_EXEC */
	const char *text, *by;    /* "https://example.org:443 for 1h" */
	int64_t until_s;          /* 0: no end of its own */
};
typedef void (*gateway_grant_fn)(const struct gateway_grant *grant, void *arg);
/* The remembered answers that count for @session, and those of its commands, oldest first. @each
 * must not call back. */
void gateway_session_grants(const struct gateway *gw, uint64_t session, gateway_grant_fn each,
			    void *arg);
/* Forgets one and cuts what lives by it. -ENOENT; -EPERM: it is for always or for all, or a denial
 * by somebody else than @by. */
int gateway_session_revoke(struct gateway *gw, uint64_t session, uint64_t id, const char *by,
			   struct err *why);

/* A program that a command was not let execute. Text may be NULL. */
struct gateway_refused {
	const char *path;    /* the file that it is; "": it has none */
	const char *command; /* the argv as one visible line */
	enum policy_reason reason;
	const char *rule, *because, *by;
};
/* Records it as `program`; past GATEWAY_REFUSED_MAX of one exec nothing more. */
#define GATEWAY_REFUSED_MAX 1000
void gateway_exec_refused(struct gateway *gw, uint64_t exec, const struct gateway_refused *refused);

struct gateway_proposal;
/* Asks about one exact destination that no connection waits for: the same key, question and verdict
 * as for a connection, which nothing is dialled for. @exec: for whom, or 0. @reason: the asker's
 * own words, which may lie; shown as such, cut at GATEWAY_PLEA_MAX. @done runs once, from the loop,
 * and the proposal is dead; not if it is withdrawn, or the gateway freed, before. NULL with @why:
 * no such exec or destination, or no reason. */
struct gateway_proposal *gateway_propose(struct gateway *gw, uint64_t exec, const char *destination,
					 const char *reason, gateway_verdict_fn done, void *arg,
					 struct err *why);
/* One of no exec is of @session; at once. */
void gateway_proposal_join(struct gateway_proposal *proposal, uint64_t session);
void gateway_proposal_withdraw(struct gateway_proposal *proposal); /* NULL is fine */
