/* gateway_guests: a gateway that serves the runs of other processes, each with one exec and a
 * worker of its own (docs/decisions/0120). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/gateway.h"

struct bundle;
struct gateway_trip;

/* The worker's link has ended, whoever ended it: what went where under it, borrowed for the call.
 * Once, from the loop. */
typedef void (*gateway_guest_gone_fn)(const struct gateway_trip *trips, size_t count,
				      const struct gateway_trip *others, void *arg);
struct gateway_guest {
	uint64_t exec; /* has begun */
	int image;     /* of the policy in force, borrowed: what the worker goes by from now on */
	gateway_guest_gone_fn on_gone;
	void *arg; /* kept */
};
/* As gateway_serve(), for the worker of one exec: what it says of another is no frame, and it never
 * gets another's way out. -EINVAL: there is no such exec, or it has a worker. */
int gateway_guest_serve(struct gateway *gw, const struct gateway_guest *guest, int socket);
/* Asks it to report what is still open and to end, behind gateway_exec_end(): @on_gone follows. */
void gateway_guest_finish(struct gateway *gw, uint64_t exec);
/* Cuts it off; @on_gone does not run. None is fine. */
void gateway_guest_drop(struct gateway *gw, uint64_t exec);

/* Right after its beginning: what nobody answers of @exec is noted in @bundle as well (kept until
 * the exec ends; NULL: nowhere), and @is_impatient denies it at once while nobody is there to
 * answer, even where others wait for somebody. */
void gateway_guest_unattended(struct gateway *gw, uint64_t exec, struct bundle *bundle,
			      bool is_impatient);

/* Questions that are open, and answers that are remembered. */
void gateway_count(struct gateway *gw, unsigned int *ret_questions, unsigned int *ret_grants);
