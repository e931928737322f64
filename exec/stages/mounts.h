/* mounts: creates the plan's mounts, outer before inner. */
#pragma once

#include "exec/run/wire.h"

struct init;

/* Clones of the host's files at these paths, made before anything covers them; -1: no clone. */
struct mounts {
	int trees[WIRE_MOUNTS_MAX];
};

/* 0 or -errno; the descriptors belong to the process, which ends if this fails. */
int mounts_copy(struct init *init, struct mounts *ret);
/* Creates all mounts, and closes the clones. */
int mounts_make(struct init *init, struct mounts *mounts);
/* Makes the covers again at paths that are not mounts any more. 0 or -errno. */
int mounts_cover(struct init *init);
