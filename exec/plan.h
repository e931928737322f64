/* plan: what will be done for one command, decided before anything is done. Immutable once built,
 * printable, and sent to init as it stands. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "exec/env.h"
#include "exec/paths.h"

struct err;
struct exec_plan_config;

struct plan {
	char **argv, **env;       /* owned */
	char **files;             /* pairs of path and text, owned */
	char *cwd;                /* canonical, owned */
	char *tmpdir;             /* $TMPDIR, when it is the host's; owned; NULL: /tmp */
	uint32_t uid, gid, flags; /* enum wire_flag */
	bool has_fresh_tmp;       /* the first of @fresh is /tmp */
	/* Readable is what is shown in something hidden,
	 * fresh or empty; missing what was named and is not there. */
	struct paths fresh, writable, readable, pins, hidden, read_only, sockets, missing;
	struct paths covered,
		folders;           /* what must stay covered; where names on the way to it are */
	struct paths open_sockets; /* not to be covered */
	struct paths granted;      /* the same for the wall: an enum wire_grant and the path */
	struct paths links;        /* of an empty root: pairs of path and target */
	struct paths warnings;     /* no paths: words for people */
	char *program;             /* owned; NULL: argv[0] is looked up */
	uint64_t device, inode;
};

/* Returned owned; NULL with @why and *@ret_errno (negative): what was asked cannot be done safely.
 * Looks at what will be 0–2 and at the file system; changes nothing. */
struct plan *plan_new(const struct exec_plan_config *config, int *ret_errno, struct err *why);
void plan_free(struct plan *plan);

enum env_kind plan_env_kind(const struct plan *plan);

/* The wire form in a sealed memfd, returned owned; -errno with @why. */
int plan_seal(const struct plan *plan, struct err *why);
