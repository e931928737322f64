/* exec_sandbox: what one command may touch of the file system and the network. A value: made once,
 * never changed; what widens it makes another, so that it can travel with a request, be compared,
 * and be part of a key. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct exec_sandbox;

/* In the order of their strength: of two entries for one path the lower wins. */
enum exec_access { EXEC_DENY, EXEC_READ, EXEC_WRITE };
enum exec_files {
	EXEC_FILES_RESTRICTED, /* by entries: the most specific path wins; none: nothing */
	EXEC_FILES_EXTERNAL,   /* somebody else confines them: all that we could touch */
	EXEC_FILES_FULL        /* nobody confines them */
};
enum exec_network {
	EXEC_NETWORK_RESTRICTED, /* a network of its own, out of which only the gate leads */
	EXEC_NETWORK_ENABLED     /* the host's */
};

/* Of files alone: what a sandbox's own, private places hold is nobody's but the command's. Those
 * are /tmp, /run and /var/run, empty at first and gone afterwards, unless an entry names them or
 * all around them may be written: what is said of reading "/" does not reach into them. */
struct exec_entry {
	const char *path; /* absolute, without "..". A directory means all in it */
	enum exec_access access;
};

#define EXEC_ENTRIES_MAX 128

/* The modes people name, and the split form. */
enum exec_mode {
	EXEC_MODE_READ_ONLY,
	EXEC_MODE_WORKSPACE_WRITE,
	EXEC_MODE_EXTERNAL,
	EXEC_MODE_FULL_ACCESS,
	EXEC_MODE_SPLIT
};
struct exec_sandbox_config {
	enum exec_mode mode;
	enum exec_network network; /* FULL_ACCESS is always ENABLED */
	const char *cwd; /* WORKSPACE_WRITE: writable; READ_ONLY: seen below /tmp, too. Absolute */
	const char *const
		*writable; /* WORKSPACE_WRITE: more of them, NULL-terminated; may be NULL */
	bool has_no_tmp, has_no_tmpdir; /* WORKSPACE_WRITE: the host's /tmp, its $TMPDIR, stay out
					   of it */
	const char *tmpdir;             /* $TMPDIR, absolute; NULL: not set */
	/* SPLIT; other modes: more, which only take away: denials, and EXEC_READ where it could be
	 * written, and nowhere else. Of two for one path the lower access counts, here and among
	 * the mode's own. */
	const struct exec_entry *entries;
	size_t entry_count;
};

/* Returned owned, or NULL with @why: it contradicts itself. Looks at no file. */
struct exec_sandbox *exec_sandbox_new(const struct exec_sandbox_config *config, struct err *why);
struct exec_sandbox *exec_sandbox_copy(const struct exec_sandbox *sandbox); /* owned */
void exec_sandbox_free(struct exec_sandbox *sandbox);

enum exec_mode exec_sandbox_mode(const struct exec_sandbox *sandbox);
enum exec_files exec_sandbox_files(const struct exec_sandbox *sandbox);
enum exec_network exec_sandbox_network(const struct exec_sandbox *sandbox);
/* Borrowed, sorted by path, each path once. */
const struct exec_entry *exec_sandbox_entries(const struct exec_sandbox *sandbox,
					      size_t *ret_count);
bool exec_sandbox_has_denials(const struct exec_sandbox *sandbox);
/* May all of the disk be written? Then only the network can be confined. */
bool exec_sandbox_writes_all(const struct exec_sandbox *sandbox);
/* No namespace, no filter: nothing but an own process group that ends with the command. */
bool exec_sandbox_is_unconfined(const struct exec_sandbox *sandbox);
/* What may be done with the host's @path (absolute). */
enum exec_access exec_sandbox_access(const struct exec_sandbox *sandbox, const char *path);
/* By an entry, which no widening opens, and not only because none names it. */
bool exec_sandbox_is_denied(const struct exec_sandbox *sandbox, const char *path);

/* The same with @path, and nothing else, opened as far as @access (what is said of paths inside it
 * stays): returned owned, its mode SPLIT when it is wider. NULL with @why: an entry denies it,
 * which nothing opens. */
struct exec_sandbox *exec_sandbox_widen(const struct exec_sandbox *sandbox, const char *path,
					enum exec_access access, struct err *why);
/* The same with the host's socket @path, which is covered otherwise. As exec_sandbox_widen(). */
struct exec_sandbox *exec_sandbox_add_socket(const struct exec_sandbox *sandbox, const char *path,
					     struct err *why);
const char *const *exec_sandbox_sockets(const struct exec_sandbox *sandbox); /* borrowed */
/* Nothing confines it: the last choice, and never of one that has denials: NULL with @why. */
struct exec_sandbox *exec_sandbox_unconfined(const struct exec_sandbox *sandbox, struct err *why);

/* In what they allow: the mode's name does not count. */
bool exec_sandbox_equal(const struct exec_sandbox *a, const struct exec_sandbox *b);
/* Does @wide allow all of the host that @narrow allows? */
bool exec_sandbox_covers(const struct exec_sandbox *wide, const struct exec_sandbox *narrow);
/* For people, one line an entry; and one line that is the same for equal ones only, for keys. Both
 * returned owned. */
char *exec_sandbox_text(const struct exec_sandbox *sandbox);
char *exec_sandbox_key(const struct exec_sandbox *sandbox);
/* "read-only", "workspace-write", "external", "danger-full-access", "split"; false: no such. */
bool exec_mode_parse(const char *word, enum exec_mode *ret);
const char *exec_mode_name(enum exec_mode mode);
