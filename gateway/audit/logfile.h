/* logfile: the audit log that people read, and its head: opens it, locks it for a moment,
 * appends. */
#pragma once

#include <stdbool.h>

#include "gateway/audit/chain.h"

struct err;

/* A value; closed is { .fd = -1, .head_fd = -1 }. */
struct logfile {
	char *path;
	int fd, head_fd;
	struct chain chain;        /* its position, while it is locked */
	char boot[CHAIN_BOOT_MAX]; /* the present one, for its head */
	bool is_locked;
	bool has_resumed; /* its last record was checked once */
};

/* Creates missing files; refuses files that others may write to, and those that are obviously
 * damaged. Computes no hashes. 0 or -errno with @why; close it in every case. */
int logfile_open(struct logfile *self, const char *path, struct err *why);
void logfile_close(struct logfile *self);
/* Closes it and opens the same path. */
int logfile_reopen(struct logfile *self, struct err *why);
/* Does @path still name the file of @fd? Also true if it names none. */
bool logfile_is_current(int fd, const char *path);
/* Never waits: -EBUSY if another process has it. Opens the path again if it names another file now.
 * While it is locked, @chain is at the end of the file. -EBADMSG with @why: it is damaged, and must
 * not be continued. */
int logfile_lock(struct logfile *self, struct err *why);
void logfile_unlock(struct logfile *self);
/* Appends @bytes, after which the chain is at @next: everything including the head, or nothing. */
int logfile_append(struct logfile *self, const char *bytes, size_t len, const struct chain *next,
		   struct err *why);

/* Says that it, or its newest records, which are kept in @dir (NULL: in itself), cannot be written.
 * Returns @r. */
int logfile_unwritten(const struct logfile *self, const char *dir, int r, struct err *why);

/* Opens without following links, and only our own files: a file that others may write to proves
 * nothing. The descriptor, or -errno with @why. */
int logfile_open_own(const char *path, int flags, struct err *why);
