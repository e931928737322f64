/* gateway_guests: a gateway that serves the runs of other processes, each with one exec and its own
 * worker (docs/decisions/0025). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/gateway.h"

struct bundle;
struct gateway_trip;

/* The worker's link has ended, on either side; until the exec ends, another worker may be served.
 * @trips: the destinations of all workers of the exec, borrowed for the call. @is_hostile: it broke
 * the protocol of its link. From the loop, once for each worker. */
typedef void (*gateway_guest_gone_fn)(const struct gateway_trip *trips, size_t count,
				      const struct gateway_trip *others, bool is_hostile,
				      void *arg);
struct gateway_guest {
	uint64_t exec; /* has begun */
	int image;     /* of the policy in force, borrowed: for the worker from now on */
	gateway_guest_gone_fn on_gone;
	void *arg; /* kept */
};
/* As gateway_serve(), for the worker of one exec: a frame of it about another exec is malformed,
 * and it never gets the listeners of another. -EINVAL: there is no such exec, or it has a worker;
 * or another -errno. */
int gateway_guest_serve(struct gateway *gw, const struct gateway_guest *guest, int socket);
/* Asks it to report what is still open and to end, after gateway_exec_end(): @on_gone follows. */
void gateway_guest_finish(struct gateway *gw, uint64_t exec);
/* Closes its link; @on_gone does not run. An exec without a worker is fine. */
void gateway_guest_drop(struct gateway *gw, uint64_t exec);

/* Right after its beginning: unanswered questions of @exec are also recorded in @bundle (kept until
 * the exec ends; NULL: nowhere), and @is_impatient denies them at once while no approver is
 * attached, even where other requests wait for one. */
void gateway_guest_unattended(struct gateway *gw, uint64_t exec, struct bundle *bundle,
			      bool is_impatient);

/* The numbers of open questions and of remembered answers. */
void gateway_count(struct gateway *gw, unsigned int *ret_questions, unsigned int *ret_grants);
