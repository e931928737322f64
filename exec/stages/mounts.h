/* mounts: the plan's mounts, outer before inner. */
#pragma once

#include "exec/wire.h"

struct init;

/* What the host has at each of them, taken before anything covers it; -1: nothing is taken. */
struct mounts {
	int trees[WIRE_MOUNTS_MAX];
};

/* 0 or -errno; the descriptors are the process's, which ends when this fails. */
int mounts_copy(struct init *init, struct mounts *ret);
/* Makes them all, and closes what was taken. */
int mounts_make(struct init *init, struct mounts *mounts);
