/* logfile: the audit log that people read, and its head: opened, locked for a moment, continued. */
#pragma once

#include <stdbool.h>

#include "gateway/sinks/chain.h"

struct err;

/* Value; closed is { .fd = -1, .head_fd = -1 }. */
struct logfile {
	char *path;
	int fd, head_fd;
	struct chain chain; /* where it stands, while it is locked */
	bool is_locked;
	bool has_resumed; /* its last record was checked, once */
};

/* Makes what is missing; refuses what others may write, and what is damaged at first sight. Hashes
 * nothing. 0 or -errno with @why; close in every case. */
int logfile_open(struct logfile *self, const char *path, struct err *why);
void logfile_close(struct logfile *self);
/* Never waits: -EBUSY when another process has it. Locked, the chain is where the file ends.
 * -EBADMSG with @why: it is damaged, and nobody may continue it. */
int logfile_lock(struct logfile *self, struct err *why);
void logfile_unlock(struct logfile *self);
/* Appends @bytes, behind which the chain stands at @next; all of it with its head, or nothing. */
int logfile_append(struct logfile *self, const char *bytes, size_t len, const struct chain *next,
		   struct err *why);

/* Opens without following a link, and only what is ours: a file that others may write proves
 * nothing. The descriptor, or -errno with @why. */
int logfile_open_own(const char *path, int flags, struct err *why);
