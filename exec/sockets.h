/* sockets: where the host's Unix sockets lie, so that they can be covered: a read-only mount does
 * not keep anybody from connecting, and a network namespace holds only abstract names apart. */
#pragma once

struct err;
struct paths;
struct plan;

/* Adds every socket of /proc/net/unix that the view of @plan (its lists of paths) shows. Sockets
 * made later by daemons outside, in directories the command can see, are not covered. -errno: they
 * could not be listed. */
int sockets_find(const struct plan *plan, struct paths *ret, struct err *why);
/* The same for @text in the format of /proc/net/unix. */
int sockets_parse(char *text, const struct plan *plan, struct paths *ret, struct err *why);
