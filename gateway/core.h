/* core: the gateway's own objects, shared by the files that work on them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/loop.h"
#include "gateway/accounts.h"
#include "gateway/approvers/approver_impl.h"
#include "gateway/bounds.h"
#include "gateway/client.h"
#include "gateway/floods.h"
#include "gateway/gateway.h"
#include "gateway/grace.h"
#include "gateway/grants.h"
#include "gateway/keys.h"
#include "gateway/late.h"
#include "gateway/outcomes.h"
#include "gateway/question.h"
#include "gateway/trips.h"

struct journal;
struct seen;
struct who;
struct worker;

/* A verdict whose record is being written. */
struct slot {
	struct waiter *waiter; /* NULL: withdrawn meanwhile */
	struct policy_verdict verdict;
};

/* One command attempt, as the gateway sees it. */
struct gateway_exec {
	struct key_node node; /* by id */
	int64_t question_ms;  /* how long one of its requests waits for an answer; 0: as all */
	uint64_t session;     /* whose answers count for it: sessions.h; 0: the gateway's alone */
	char *command;
	bool is_aborted; /* a person said so; its owner is told from the loop */
	LIST_HEAD(party_exec_list, party) parties;
	struct grant_list grants;
	char **argv;
	char **programs; /* that were found to ask; each once */
	size_t program_count;
	struct policy_asker *asker; /* of argv; NULL: not known */
	struct who *who;            /* NULL: not known who asks */
	struct lookup *lookup;      /* of its waiters' programs: lookups.c's; NULL: none yet */
	uint16_t ports[2];          /* of the listeners: HTTP, SOCKS */
	struct flood_bucket flood;
	struct bundle *bundle;   /* also for what nobody answers of it; NULL: none */
	bool is_impatient;       /* denied at once while nobody is there to answer */
	unsigned int refused;    /* programs */
	struct outcome *outcome; /* NULL: nobody wants to hear of it */
	LIST_ENTRY(gateway_exec) ended_entry;
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
	LIST_HEAD(exec_list, gateway_exec) ended_execs; /* whose requests are not all over */
	struct key_table numbers;                       /* of the open questions */
	struct grants grants;
	struct loop_timer expiry; /* of grants */
	struct floods floods;
	struct graces graces, futile; /* of questions; of what was refused at its address */
	struct lates lates;
	struct seen *seen;
	struct accounts accounts;
	struct trips trips;
	struct {
		LIST_HEAD(repeats_list, repeats) list;
		struct loop_timer timer;
	} repeats;
	struct outcomes outcomes;
	struct proposals {
		struct gateway_client *client; /* NULL: nothing was proposed yet */
		LIST_HEAD(proposal_list, gateway_proposal) open;
	} proposals;
	struct inquiries {
		size_t count;
		LIST_HEAD(review_list, gateway_review) open;
	} inquiries;
	struct approval_queue questions; /* oldest first */
	struct approval_queue news;
	struct approval *telling; /* whose news go out now; NULL when it died meanwhile */
	unsigned int question_count, waiting;
	uint64_t last_number, last_serial;
	uint64_t last_answer; /* that was remembered */
	struct question_walk *walks;
	struct waiter_queue queue;
	struct lookups {
		TAILQ_HEAD(lookup_queue, lookup) busy; /* the first is served next */
		struct loop_timer task;
	} lookups;
	struct reviewing {           /* what a new policy says of what is open */
		struct waiter *next; /* of gw->live.open; NULL: all were looked at */
		struct question_walk walk;
		struct loop_timer task;
	} reviewing;
	struct live {
		struct waiter_queue open;
		struct waiter_queue cutting; /* their clients are to be told that it is over */
		struct waiter_queue cut;     /* told; their reports are due */
		struct loop_timer timer;
		uint64_t last_id;
	} live;
	struct loop_timer turn;
	struct slot batch[GATEWAY_BATCH];
	size_t batch_count;
	bool must_count_approvers, has_aborted;
	bool wants_program; /* some rule asks which program it is */
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
