/* question: the questions, and the requests that wait on them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/loop.h"
#include "gateway/approvers/approver_impl.h"
#include "gateway/bounds.h"
#include "gateway/link/client.h"
#include "gateway/link/keys.h"
#include "gateway/execs/socket_owner.h"

struct approval;
struct gateway;
struct gateway_exec;
struct holding;
struct lookup;
struct party;
struct pass;
struct slot;

/* What settled a question, shared by all its waiters. */
struct decision {
	unsigned int refs;
	enum policy_action action;
	enum policy_reason reason;
	char by[GATEWAY_BY_MAX];
	char words[GATEWAY_WORDS_MAX]; /* visible text */
};

/* One request. It is in gw->queue (to be decided, or decided and to be told), in a party, in a slot
 * of the batch, or, allowed, in one of the queues of gw->live; while its program is looked up it is
 * in none of them. */
struct waiter {
	struct gateway_ticket ticket; /* first: see gateway/link/client.h */
	struct gateway *gw;
	struct policy_facts facts;
	struct party *party;       /* that it waits in; NULL: it waits on no question */
	struct decision *decision; /* that settled its question; NULL: none */
	struct slot *slot;
	int64_t since_ms;
	uint64_t session;    /* without an exec: as in struct gateway_exec */
	const char *program; /* that asks; the exec owns the text; NULL: not known */
	struct socket_owner_file program_file;
	pid_t program_pid; /* a process that runs the program; 0: not known */
	bool was_looked_up;
	bool is_queued;        /* in gw->queue */
	bool is_looked_for;    /* something waits for @lookup */
	struct lookup *lookup; /* the running lookup of the program: gateway/execs/lookups.c */
	struct socket_owner_want want; /* what that lookup searches for */
	uint64_t grant;                /* the remembered answer that allowed it; 0: none */
	struct pass *pass;             /* while allowed: owned by gateway/grants/live_requests.c */
	struct holding *holding; /* of a budget: owned by gateway/grants/leases.c; NULL: none */
	TAILQ_ENTRY(waiter) entry;
};
TAILQ_HEAD(waiter_queue, waiter);

/* The waiters of one exec (or of none) in one question: they are moved together, and the end of an
 * exec finds its waiters. */
struct party {
	struct key_node node; /* by exec and destination */
	struct approval *approval;
	struct gateway_exec *exec; /* NULL: none */
	struct waiter_queue waiters;
	unsigned int count;
	struct loop_timer deadline; /* set if the exec has a timeout of its own */
	TAILQ_ENTRY(party) entry;
	LIST_ENTRY(party) exec_entry;
};

/* One pending question with its waiters. It is removed from every table before its waiters are
 * released, so a later request asks a new question and a late answer finds no question. */
struct approval {
	struct key_node node; /* by destination */
	struct gateway *gw;
	struct policy_destination dst;
	uint64_t number; /* part of the id */
	uint64_t serial; /* new each time it is asked */
	struct key_node by_number;
	char id[APPROVER_ID_MAX];
	char *rule, *because, *warning;
	char *plea;            /* of the first proposal, visible text; NULL: none */
	char *program, *chain; /* of the first request, visible text; "": not known */
	struct socket_owner_file program_file;
	bool is_private;
	unsigned int times; /* how often it was asked, this time included */
	unsigned int risk;
	int64_t asked_ms, due_ms;
	struct loop_timer deadline;
	TAILQ_HEAD(party_list, party) parties;
	unsigned int waiting, party_count;
	bool was_asked;      /* the approvers know it */
	bool is_touched;     /* a person is answering it */
	bool has_news;       /* the approvers are to be told */
	struct decision end; /* if a review leaves nobody waiting; with @how, its text */
	char *how;
	TAILQ_ENTRY(approval) entry;
	TAILQ_ENTRY(approval) news_entry;
};
TAILQ_HEAD(approval_queue, approval);

/* A walk over the open questions during which any of them may end. */
struct question_walk {
	struct approval *next;
	struct question_walk *outer;
};
