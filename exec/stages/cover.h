/* cover: mounts that hide what is below them. All return 0 or -errno. */
#pragma once

struct init;

/* Call them before the first cover and after the last one: they create and remove the files that
 * covers are clones of. */
int cover_begin(struct init *init);
int cover_end(struct init *init);

/* Covers the file or directory @at with something empty that cannot be opened. */
int cover_hide(int at);
/* Mounts @at on itself: a mount point cannot be renamed; its content stays the same. */
int cover_pin(int at);
int cover_keep(int at); /* the same, read-only */
/* Covers what the kernel shows about other processes and users. */
int cover_others(struct init *init);
/* Covers the sockets of the plan. */
int cover_sockets(struct init *init);
