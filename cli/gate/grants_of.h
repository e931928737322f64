/* grants_of: --grants-of: copies the grants that another gate of this user holds for its session
 * into a new gate. */
#pragma once

struct gateway;

struct grants_of {
	const char *name; /* as given: the name of a session, or of a run */
	char *run, *text; /* owned */
};
/* Requests the grants from that gate. Like grants_of_put(), returns an exit status and prints what
 * is wrong. Must be freed in every case. */
int grants_of_ask(const char *name, struct grants_of *ret);
/* Adds the grants to @gw, and prints which were left out. */
int grants_of_put(const struct grants_of *ours, struct gateway *gw);
void grants_of_free(struct grants_of *ours);
