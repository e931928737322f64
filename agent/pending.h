/* pending: the questions that the client has not answered yet, and the words for them in the
 * protocol. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "exec/orchestrator/orchestrator_ops.h"

struct agent;
struct err;
struct gateway_agent_asked;
struct gateway_review;
struct session;

struct pending {
	char *id;
	enum orchestrator_kind kind;
	struct session *session;      /* NULL: a question of the gateway */
	char *typed;                  /* what an allow must contain; NULL: nothing */
	char **warned;                /* the destinations for which it must; NULL: none */
	struct gateway_review *watch; /* the reviewer's own answer, to compare; NULL: none */
	struct gateway_agent_asked *elsewhere; /* at the other approvers; NULL: not */
	TAILQ_ENTRY(pending) entry;
};

/* Notes that @id was put to the client, by @session, or by the gateway if that is NULL. Borrowed.
 */
struct pending *pending_add(struct agent *agent, const char *id, enum orchestrator_kind kind,
			    struct session *session);
struct pending *pending_find(const struct agent *agent, const char *id); /* NULL: not open */
/* A person's answer, by the client or at another approver: as orchestrator_answer(). */
int pending_answer(struct pending *pending, const struct orchestrator_answer *answer,
		   struct err *why);
bool pending_is_approval(enum orchestrator_choice choice);
/* The other approvers do not show it any more: @how it ended, for people. */
void pending_retract(struct pending *pending, const char *how);
void pending_forget(struct agent *agent, struct pending *pending); /* NULL is fine */
void pending_forget_session(struct session *session);

/* Each list has the order of its enum; NULL-terminated. */
extern const char *const pending_kind_words[];   /* enum orchestrator_kind */
extern const char *const pending_choice_words[]; /* enum orchestrator_choice */
/* The words of @choices, BIT(enum orchestrator_choice), as the protocol has them: owned. */
json_t *pending_choices(unsigned int choices);

/* Does the question have a destination whose domain a person would have to type? */
bool pending_warns(const struct session *session, const struct orchestrator_question *question);
/* Adds "warning" and "confirmation" to @event, and notes what must be typed. */
void pending_add_warnings(struct pending *pending, json_t *event,
			  const struct orchestrator_question *question);
/* Adds the client's commands that wait for the question, by their numbers in "execs", and the ids
 * of their submissions in "ids". */
void pending_add_tasks(json_t *event, const struct session *session,
		       const struct orchestrator_question *question);
