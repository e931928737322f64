/* worker: what the gateway keeps for each of its workers. For this folder. */
#pragma once

#include "gateway/gateway_guests.h"
#include "gateway/link/held.h"
#include "gateway/link/keys.h"
#include "gateway/state.h"

struct ring;

/* A worker's request that has no verdict yet, or was allowed and is not reported. */
struct asked {
	struct key_node node; /* by the worker's id */
	struct worker *worker;
	struct gateway_ticket *ticket;
	bool is_allowed;
	uint64_t number; /* of journal_await(): what it allows is let go then */
};

struct worker {
	struct gateway *gw;
	struct frame_link *link;
	struct gateway_client *client;
	struct key_table asked;
	struct held_list held;
	uint64_t last_id, last_let_go; /* of the requests that it sent; that it has decided */
	struct ring *ring;             /* where it writes those; NULL: it decides nothing */
	uint64_t told_ring;            /* the number that it heard, or hears next */
	bool has_tried_ring;
	struct loop_timer breaking; /* of the link: the ring is malformed */
	bool has_said_hello, must_finish, was_told_to_finish;
	uint64_t exec;                 /* the only exec that it serves; 0: all */
	unsigned int number;           /* the owner's, if it serves all */
	struct traffic *trips;         /* of one exec; NULL: the gateway's own counts */
	gateway_guest_gone_fn on_gone; /* for one exec; NULL: the owner does not want a call */
	void *arg;
	LIST_ENTRY(worker) entry;
};

/* A frame that it wrote into the ring. 0, or -EBADMSG. */
int link_server_entry(struct worker *worker, struct frame *frame);
/* Closes the link of a worker that sent something malformed, and tells the owner. */
void link_server_break(struct worker *worker);
