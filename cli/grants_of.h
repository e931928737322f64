/* grants_of: --grants-of: what another gate of this user remembers for its session, for a gate that
 * is being made. */
#pragma once

struct gateway;

struct grants_of {
	const char *name; /* as it was given: a session, or a run */
	char *run, *text; /* owned */
};
/* Asks that gate. An exit status; says what is wrong, as both here. Free in every case. */
int grants_of_ask(const char *name, struct grants_of *ret);
/* Puts it into @gw, and says what was left out. */
int grants_of_put(const struct grants_of *ours, struct gateway *gw);
void grants_of_free(struct grants_of *ours);
