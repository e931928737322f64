/* known_destinations: what people have allowed before on this machine: domains, and each
 * destination that is not http or https to a name. It only decides which warnings a question has,
 * never a verdict, so a missing, old or damaged file only causes more warnings. */
#pragma once

#include <stdbool.h>

#include "policies/policies.h"

struct loop;
struct known_destinations;

/* @path is copied; NULL: nothing is kept. The file is read on first use. Keeps @loop. Returned
 * owned. */
struct known_destinations *known_destinations_new(struct loop *loop, const char *path);
/* Writes new entries. NULL is fine. */
void known_destinations_free(struct known_destinations *seen);

/* Looks for the exact destination or, for http and https to a name, for its domain. */
bool known_destinations_has(struct known_destinations *seen, const struct policy_destination *dst);
bool known_destinations_has_domain(struct known_destinations *seen,
				   const struct policy_destination *dst);
/* A person allowed @dst. It is written soon, from the loop. */
void known_destinations_add(struct known_destinations *seen, const struct policy_destination *dst);
