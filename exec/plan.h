/* plan: what will be done for one command, decided before anything is done. Immutable once built,
 * printable, and sent to init as it stands. */
#pragma once

#include <stdint.h>

#include "exec/paths.h"

struct err;
struct exec_plan_config;

struct plan {
	char **argv, **env;       /* owned */
	char **files;             /* pairs of path and text, owned */
	char *cwd;                /* canonical, owned */
	uint32_t uid, gid, flags; /* enum wire_flag */
	struct paths fresh, writable, pins, hidden, read_only, sockets;
};

/* Returned owned; NULL with @why and *@ret_errno (negative): what was asked cannot be done safely.
 * Looks at what will be 0–2 and at the file system; changes nothing. */
struct plan *plan_new(const struct exec_plan_config *config, int *ret_errno, struct err *why);
void plan_free(struct plan *plan);

/* The wire form in a sealed memfd, returned owned; -errno with @why. */
int plan_seal(const struct plan *plan, struct err *why);
