/* core: the gateway's own objects, shared by the files that work on them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/loop.h"
#include "gateway/accounts.h"
#include "gateway/approvers/approver_impl.h"
#include "gateway/client.h"
#include "gateway/gateway.h"
#include "gateway/grants.h"
#include "gateway/keys.h"
#include "gateway/trips.h"

struct approval;
struct holding;
struct journal;
struct party;
struct pass;
struct who;
struct worker;

#define GATEWAY_QUESTIONS_MAX   256   /* open at once */
#define GATEWAY_WAITERS_MAX     20000 /* on one question */
#define GATEWAY_WAITING_MAX     40000 /* on all questions together */
#define GATEWAY_APPROVERS_MAX   8
#define GATEWAY_BATCH           16  /* verdicts between two writes of the audit log */
#define GATEWAY_TURN_MAX        512 /* verdicts before the loop serves others */
#define GATEWAY_BY_MAX          64  /* of struct policy_verdict */
#define GATEWAY_WORDS_MAX       256 /* of a person, to whoever asked */
#define GATEWAY_DEFAULT_TIMEOUT (5 * 60 * INT64_C(1000))

/* What settled a question, shared by everyone who waited for it. */
struct decision {
	unsigned int refs;
	enum policy_action action;
	enum policy_reason reason;
	char by[GATEWAY_BY_MAX];
	char words[GATEWAY_WORDS_MAX]; /* visible text */
};

/* One request. It is in gw->queue (to be decided, or decided and to be told), in a party, in a slot
 * of the batch, or, allowed, in one of the queues of gw->live. */
struct waiter {
	struct gateway_ticket ticket; /* first: see gateway/client.h */
	struct gateway *gw;
	struct policy_facts facts;
	struct party *party;       /* waits on its approval */
	struct decision *decision; /* what the question came to */
	struct slot *slot;
	int64_t since_ms;
	const char *program; /* that asks, the exec's copy; NULL: not known */
	bool was_looked_up;
	struct pass *pass;       /* allowed: gateway/live.c's */
	struct holding *holding; /* of a budget: gateway/leases.c's; NULL: none */
	TAILQ_ENTRY(waiter) entry;
};
TAILQ_HEAD(waiter_queue, waiter);

/* A verdict whose record is being written. */
struct slot {
	struct waiter *waiter; /* NULL: withdrawn meanwhile */
	struct policy_verdict verdict;
};

/* One command attempt, as the gateway sees it. */
struct gateway_exec {
	struct key_node node; /* by id */
	char *command;
	bool is_aborted; /* a person said so; its owner is told from the loop */
	LIST_HEAD(party_exec_list, party) parties;
	struct grant_list grants;
	char **argv;
	char **programs; /* that were found to ask; each once */
	size_t program_count;
	struct policy_asker *asker; /* of argv; NULL: not known */
	struct who *who;            /* NULL: not known who asks */
	uint16_t ports[2];          /* of the listeners: HTTP, SOCKS */
};

/* The waiters of one exec (or of none) on one approval: a crowd is moved as one, and an exec's end
 * finds its own. */
struct party {
	struct key_node node; /* by exec and destination */
	struct approval *approval;
	struct gateway_exec *exec; /* NULL: none */
	struct waiter_queue waiters;
	unsigned int count;
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
	struct key_node by_number;
	char id[APPROVER_ID_MAX];
	char *rule, *because;
	char *plea;            /* of the first that proposed, visible; NULL: nobody did */
	char *program, *chain; /* of the first that asked, visible; "": not known */
	bool is_private;
	int64_t asked_ms, due_ms;
	struct loop_timer deadline;
	TAILQ_HEAD(party_list, party) parties;
	unsigned int waiting, party_count;
	bool was_asked, has_news; /* the approvers know it; and are to be told */
	TAILQ_ENTRY(approval) entry;
	TAILQ_ENTRY(approval) news_entry;
};
TAILQ_HEAD(approval_queue, approval);

/* A walk over the open questions that may end under it. */
struct question_walk {
	struct approval *next;
	struct question_walk *outer;
};

struct approver_seat {
	const struct approver_ops *ops;
	struct approver *self;
};

struct gateway {
	struct loop *loop;
	struct gateway_config config; /* its text is ours */
	struct journal *journal;
	struct approver_seat approvers[GATEWAY_APPROVERS_MAX];
	size_t approver_count;
	struct key_table execs, parties, approvals;
	struct key_table numbers; /* of the open questions */
	struct grants grants;
	struct accounts accounts;
	struct trips trips;
	struct approval_queue questions; /* oldest first */
	struct approval_queue news;
	struct approval *telling; /* whose news go out now; NULL when it died meanwhile */
	unsigned int question_count, waiting;
	uint64_t last_number;
	uint64_t last_answer; /* that was remembered */
	struct question_walk *walks;
	struct waiter_queue queue;
	struct live {
		struct waiter_queue open;
		struct waiter_queue cutting; /* their clients are to be told that it is over */
		struct waiter_queue cut;     /* told; their reports are due */
		struct loop_timer timer;
	} live;
	struct loop_timer turn;
	struct slot batch[GATEWAY_BATCH];
	size_t batch_count;
	bool must_count_approvers, has_aborted;
	LIST_HEAD(local_client_list, local_client) clients;
	LIST_HEAD(worker_list, worker) workers;
	uint64_t *ended; /* execs whose way out closes once their waiters are told */
	size_t ended_count;
	struct finish {
		bool is_wanted, was_sent;
		struct loop_timer timer;
		loop_fn done;
		void *arg;
	} finish;
};

/* gateway.c: as gateway_new(), with a table of approvers of the caller's; for tests. */
struct gateway *gateway_new_with(struct loop *loop, const struct gateway_config *config,
				 const struct approver_ops *const *table, struct err *why);
