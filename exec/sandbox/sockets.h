/* sockets: finds the host's Unix sockets, so that they can be covered: a read-only mount does not
 * prevent connections, and a network namespace separates only abstract names. */
#pragma once

struct err;
struct paths;
struct plan;

/* Adds every socket of /proc/net/unix that is visible in the view of @plan (its lists of paths).
 * Sockets that daemons outside create later, in directories that the command can see, are not
 * covered. -errno: they could not be listed. */
int sockets_find(const struct plan *plan, struct paths *ret, struct err *why);
/* The same for @text in the format of /proc/net/unix. */
int sockets_parse(char *text, const struct plan *plan, struct paths *ret, struct err *why);
