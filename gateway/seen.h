/* seen: what people have allowed before, on this machine: domains, and what is more than a name
 * with http or https, each for itself. A hint for how much care a question asks for; it decides
 * nothing, so a file that is missing, old or damaged only makes more seem new. */
#pragma once

#include <stdbool.h>

#include "policies/policies.h"

struct loop;
struct seen;

/* @path is copied; NULL: nothing is kept. It is read when it is first needed. Keeps @loop. Returned
 * owned. */
struct seen *seen_new(struct loop *loop, const char *path);
/* Writes what is new. NULL is fine. */
void seen_free(struct seen *seen);

/* The very destination, or, for http and https to a name, its domain. */
bool seen_has(struct seen *seen, const struct policy_destination *dst);
bool seen_has_domain(struct seen *seen, const struct policy_destination *dst);
/* A person allowed it. Kept from the loop, soon. */
void seen_add(struct seen *seen, const struct policy_destination *dst);
