/* plan: everything that will be done for one command, decided before anything is done. It is
 * immutable once built, can be printed, and is sent to init unchanged. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "exec/sandbox/env.h"
#include "exec/exec_limits.h"
#include "exec/sandbox/paths.h"

struct plan {
	char **argv, **env;       /* owned */
	char **files;             /* pairs of path and text, owned */
	char *cwd;                /* canonical, owned */
	char *tmpdir;             /* $TMPDIR, if it is the host's; owned; NULL: /tmp */
	uint32_t uid, gid, flags; /* enum wire_flag */
	bool has_fresh_tmp;       /* the first of @fresh is /tmp */
	bool is_look;             /* as in the config */
	/* Readable: what is visible inside a hidden, fresh or empty directory. Missing: paths that
	 * were named and do not exist. */
	struct paths fresh, writable, readable, pins, hidden, read_only, sockets, missing;
	struct paths absent;    /* hidden, and do not exist */
	struct paths instead;   /* pairs of one of @files and the host's file that it replaces */
	struct paths caches;    /* over which folders of the gate's own are mounted, */
	struct paths cached;    /* and pairs of them and these folders */
	const char *cache_root; /* as in the config, borrowed while the plan is made */
	struct paths covered,
		folders;           /* mounts that must stay; folders of the names on their paths */
	struct paths open_sockets; /* are not covered */
	struct paths granted;      /* the same for the wall: an enum wire_grant and the path */
	struct paths links;        /* of an empty root: pairs of path and target */
	struct paths baits;        /* for the probe: an enum wire_bait and text */
	struct paths warnings;     /* text for people, not paths */
	struct paths git_links;    /* of @read_only: in folders of git's own */
	size_t named;              /* what git configurations have cost, see view_named.h */
	char *program;             /* owned; NULL: argv[0] is looked up */
	uint64_t device, inode;
	struct exec_limits limits; /* as configured; processes is always set */
	bool has_group;            /* which limits memory: init need not measure it */
};

void plan_free(struct plan *plan); /* frees what it owns as well; NULL is fine */

enum env_kind plan_env_kind(const struct plan *plan);
