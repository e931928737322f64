/* cover: mounts that hide what is below them. All return 0 or -errno. */
#pragma once

struct init;

/* Before the first cover, and after the last one: makes and removes what covers are copies of. */
int cover_begin(struct init *init);
int cover_end(struct init *init);

/* Something empty over what @at names, a file or a directory, that nobody may open. */
int cover_hide(int at);
/* Mounts what @at names on itself: a mount point cannot be renamed; its own content stays. */
int cover_pin(int at);
/* The plan's. */
int cover_sockets(struct init *init);
