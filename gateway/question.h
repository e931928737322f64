/* question: who waits, and on what. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/loop.h"
#include "gateway/approvers/approver_impl.h"
#include "gateway/bounds.h"
#include "gateway/client.h"
#include "gateway/keys.h"
#include "gateway/who.h"

struct approval;
struct gateway;
struct gateway_exec;
struct holding;
struct lookup;
struct party;
struct pass;
struct slot;

/* What settled a question, shared by everyone who waited for it. */
struct decision {
	unsigned int refs;
	enum policy_action action;
	enum policy_reason reason;
	char by[GATEWAY_BY_MAX];
	char words[GATEWAY_WORDS_MAX]; /* visible text */
};

/* One request. It is in gw->queue (to be decided, or decided and to be told), in a party, in a slot
 * of the batch, or, allowed, in one of the queues of gw->live; or in none of them, while its
 * program is looked for. */
struct waiter {
	struct gateway_ticket ticket; /* first: see gateway/client.h */
	struct gateway *gw;
	struct policy_facts facts;
	struct party *party;       /* waits on its approval */
	struct decision *decision; /* what the question came to */
	struct slot *slot;
	int64_t since_ms;
	uint64_t session;    /* of one of no exec: as struct gateway_exec's */
	const char *program; /* that asks, the exec's copy; NULL: not known */
	struct who_file program_file;
	pid_t program_pid; /* of one that it runs in; 0: not known */
	bool was_looked_up;
	bool is_queued;          /* in gw->queue */
	struct lookup *lookup;   /* of the program, under way: gateway/lookups.c's */
	struct who_want want;    /* there */
	uint64_t grant;          /* the remembered answer that allowed it; 0: none */
	struct pass *pass;       /* allowed: gateway/live.c's */
	struct holding *holding; /* of a budget: gateway/leases.c's; NULL: none */
	TAILQ_ENTRY(waiter) entry;
};
TAILQ_HEAD(waiter_queue, waiter);

/* The waiters of one exec (or of none) on one approval: a crowd is moved as one, and an exec's end
 * finds its own. */
struct party {
	struct key_node node; /* by exec and destination */
	struct approval *approval;
	struct gateway_exec *exec; /* NULL: none */
	struct waiter_queue waiters;
	unsigned int count;
	struct loop_timer deadline; /* the exec's own, where it has one */
	TAILQ_ENTRY(party) entry;
	LIST_ENTRY(party) exec_entry;
};

/* One pending question and everyone waiting on it. It leaves every table before its waiters are
 * released, so whoever comes then asks afresh and a late answer finds nothing. */
struct approval {
	struct key_node node; /* by destination */
	struct gateway *gw;
	struct policy_destination dst;
	uint64_t number; /* the id shows it */
	uint64_t serial; /* of this time that it is asked */
	struct key_node by_number;
	char id[APPROVER_ID_MAX];
	char *rule, *because, *warning;
	char *plea;            /* of the first that proposed, visible; NULL: nobody did */
	char *program, *chain; /* of the first that asked, visible; "": not known */
	struct who_file program_file;
	bool is_private;
	unsigned int times; /* it was asked, with this */
	unsigned int risk;
	int64_t asked_ms, due_ms;
	struct loop_timer deadline;
	TAILQ_HEAD(party_list, party) parties;
	unsigned int waiting, party_count;
	bool was_asked;  /* the approvers know it */
	bool is_touched; /* a person is at it */
	bool has_news;   /* and are to be told */
	TAILQ_ENTRY(approval) entry;
	TAILQ_ENTRY(approval) news_entry;
};
TAILQ_HEAD(approval_queue, approval);

/* A walk over the open questions that may end under it. */
struct question_walk {
	struct approval *next;
	struct question_walk *outer;
};
