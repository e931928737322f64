/* state: the gateway's own objects, shared by the files that work on them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/loop.h"
#include "gateway/grants/accounts.h"
#include "gateway/approvers/approver_impl.h"
#include "gateway/bounds.h"
#include "gateway/link/client.h"
#include "gateway/approvals/floods.h"
#include "gateway/gateway.h"
#include "gateway/approvals/recent.h"
#include "gateway/grants/grants.h"
#include "gateway/link/keys.h"
#include "gateway/execs/outcomes.h"
#include "gateway/approvals/question.h"
#include "gateway/execs/traffic.h"

struct journal;
struct lates;
struct known_destinations;
struct socket_owner;

/* A verdict whose record is being written. */
struct slot {
	struct waiter *waiter; /* NULL: withdrawn meanwhile */
	struct policy_verdict verdict;
};

/* One command attempt, as the gateway knows it. */
struct gateway_exec {
	struct key_node node; /* by id */
	int64_t question_ms;  /* how long its requests wait for an answer; 0: the common timeout */
	uint64_t session;     /* whose answers apply to it: sessions.h; 0: only the gateway's */
	char *command;
	bool is_aborted; /* a person answered abort; its owner is told from the loop */
	LIST_HEAD(party_exec_list, party) parties;
	unsigned int party_count, limits_reached; /* its open questions; BIT(enum policy_limit) */
	struct grant_list grants;
	char **argv;
	char **programs; /* that were found to ask; no duplicates */
	size_t program_count;
	struct policy_asker *asker; /* of argv; NULL: not known */
	struct socket_owner *who;   /* NULL: the asking programs cannot be found */
	struct lookup *lookup;      /* of its waiters' programs: owned by lookups.c; NULL: none */
	struct exec_ways *ways;     /* what its worker got, for the next one; NULL: nothing */
	struct traffic *trips;      /* of a guest, until its next worker counts on; NULL: none */
	uint16_t ports[2];          /* of the listeners: HTTP, SOCKS */
	struct flood_bucket flood;
	struct bundle *bundle;   /* also gets its unanswered questions; NULL: none */
	bool is_impatient;       /* denied at once while no approver is attached */
	unsigned int refused;    /* number of programs */
	struct outcome *outcome; /* NULL: nobody receives its events */
	LIST_ENTRY(gateway_exec) ended_entry;
};

struct approver_seat {
	const struct approver_ops *ops;
	struct approver *self;
};

struct gateway {
	struct loop *loop;
	struct gateway_config config; /* its text is copied, and freed here */
	struct journal *journal;
	struct approver_seat approvers[GATEWAY_APPROVERS_MAX];
	size_t approver_count;
	struct key_table execs, parties, approvals;
	LIST_HEAD(exec_list, gateway_exec) ended_execs; /* that still have open requests */
	struct key_table numbers;                       /* of the open questions */
	struct grants grants;
	struct loop_timer expiry; /* of grants */
	struct floods floods;
	struct graces graces, futile; /* of questions; of destinations refused at their address */
	struct lates *lates;          /* owned by late.c */
	struct known_destinations *seen;
	struct accounts accounts;
	struct traffic trips;
	struct egress *egress; /* NULL: not counted */
	struct {
		LIST_HEAD(repeats_list, repeats) list;
		struct loop_timer timer;
	} repeats;
	struct outcomes outcomes;
	struct proposals {
		struct gateway_client *client; /* NULL: no proposal yet */
		LIST_HEAD(proposal_list, gateway_proposal) open;
	} proposals;
	struct inquiries {
		size_t count;
		LIST_HEAD(review_list, gateway_review) open;
	} inquiries;
	TAILQ_HEAD(agent_question_list, gateway_agent_asked) agent_questions;
	size_t agent_question_count;
	struct approval_queue questions; /* oldest first */
	struct approval_queue news;
	struct approval *telling; /* being told to the approvers; NULL when freed meanwhile */
	unsigned int question_count, waiting;
	uint64_t last_number, last_serial, last_answer /* remembered */, last_ring, ring_number;
	struct question_walk *walks;
	struct waiter_queue queue;
	struct lookups {
		TAILQ_HEAD(lookup_queue, lookup) busy; /* the first is served next */
		struct loop_timer task;
		void (*on_known)(struct waiter *waiter);
	} lookups;
	struct persist {
		TAILQ_HEAD(keeping_changes, keeping_change) changes; /* of the policy's file */
		TAILQ_HEAD(keeping_waiting, gateway_kept) waiting;
		size_t count, waiting_count;
		struct keeping_change *running; /* NULL: none */
		struct aside *aside;            /* the process that makes it; NULL: none */
	} keeping;
	struct reviewing {           /* a new policy is being applied to what is open */
		struct waiter *next; /* in gw->live.open; NULL: all were reviewed */
		struct question_walk walk;
		struct loop_timer task;
	} reviewing;
	struct live {
		struct waiter_queue open;
		struct waiter_queue cutting; /* their clients are still to be told */
		struct waiter_queue cut;     /* told; their reports are due */
		struct loop_timer timer;
		uint64_t last_id;
		/* Called for a client that does not end what was cut. It may free the gateway. */
		void (*on_overdue)(struct gateway *gw, const struct gateway_client *client);
	} live;
	struct loop_timer turn;
	loop_fn take_turn;
	void (*let_go)(struct waiter *waiter);
	struct loop_timer patience; /* armed: an approver may still attach */
	struct slot batch[GATEWAY_BATCH];
	size_t batch_count;
	unsigned int limits_reached; /* BIT(enum policy_limit), reached by any command */
	bool must_count_approvers, has_aborted, wants_program /* of a rule */, may_let_go;
	LIST_HEAD(local_client_list, local_client) clients;
	LIST_HEAD(worker_list, worker) workers;
	uint64_t *ended; /* execs whose listeners are closed once their waiters have a verdict */
	size_t ended_count;
	struct finish {
		bool is_wanted, was_sent;
		struct loop_timer timer;
		loop_fn done, drained; /* NULL: nobody has asked for it */
		void *arg, *drained_arg;
	} finish;
};
