/* exec_sandbox: what one command may access in the file system and the network. It is an immutable
 * value: widening makes a new one. So it can be part of a request or of a key, and be compared. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct exec_sandbox;

/* From the weakest to the strongest: of two entries for one path the weaker wins. */
enum exec_access { EXEC_DENY, EXEC_READ, EXEC_WRITE };
enum exec_files {
	EXEC_FILES_RESTRICTED, /* by entries: the most specific path wins; no entry: no access */
	EXEC_FILES_EXTERNAL,   /* confined by another program: as much as we may access */
	EXEC_FILES_FULL        /* not confined */
};
enum exec_network {
	EXEC_NETWORK_RESTRICTED, /* its own network, with connections through the gate only */
	EXEC_NETWORK_ENABLED     /* the host's */
};

/* Applies to the host's files only. /tmp, /run and /var/run are private to the command, empty at
 * the start and deleted at the end, unless an entry names them or the directory around them is
 * writable: an entry that makes "/" readable does not apply inside them. */
struct exec_entry {
	const char *path; /* absolute, without "..". A directory includes all in it */
	enum exec_access access;
};

#define EXEC_ENTRIES_MAX 128

/* The modes that a user names, and the split form. */
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
	const char
		*cwd; /* WORKSPACE_WRITE: writable; READ_ONLY: visible even below /tmp. Absolute */
	const char *const
		*writable; /* WORKSPACE_WRITE: additional ones, NULL-terminated; may be NULL */
	bool has_no_tmp,
		has_no_tmpdir; /* WORKSPACE_WRITE: the host's /tmp, its $TMPDIR, are left out */
	const char *tmpdir;    /* $TMPDIR, absolute; NULL: not set */
	/* SPLIT. In other modes they can only take access away: denials, and EXEC_READ where the
	 * mode would allow writing, and nowhere else. Of two for one path the weaker access counts,
	 * also against the mode's own entries. */
	const struct exec_entry *entries;
	size_t entry_count;
};

/* Returned owned, or NULL with @why: the settings contradict each other. Reads no file. */
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
/* Is the whole disk writable? Then only the network can be confined. */
bool exec_sandbox_writes_all(const struct exec_sandbox *sandbox);
/* It has no namespace and no filter, only its own process group, which ends with the command. */
bool exec_sandbox_is_unconfined(const struct exec_sandbox *sandbox);
/* The access to @path (absolute) of the host. */
enum exec_access exec_sandbox_access(const struct exec_sandbox *sandbox, const char *path);
/* True if an entry denies it, which no widening changes; false if it is only not listed. */
bool exec_sandbox_is_denied(const struct exec_sandbox *sandbox, const char *path);

/* A copy in which @path, and nothing else, has @access (entries for paths inside it stay): returned
 * owned; its mode is SPLIT if it is wider. NULL with @why: an entry denies the path, which no
 * widening changes. */
struct exec_sandbox *exec_sandbox_widen(const struct exec_sandbox *sandbox, const char *path,
					enum exec_access access, struct err *why);
/* A copy that may reach the host's socket @path, which is covered otherwise. As
 * exec_sandbox_widen(). */
struct exec_sandbox *exec_sandbox_add_socket(const struct exec_sandbox *sandbox, const char *path,
					     struct err *why);
const char *const *exec_sandbox_sockets(const struct exec_sandbox *sandbox); /* borrowed */
/* A copy that confines nothing, for use as a last resort. NULL with @why for a sandbox that has
 * denials. */
struct exec_sandbox *exec_sandbox_unconfined(const struct exec_sandbox *sandbox, struct err *why);

/* Does @wide allow everything on the host that @narrow allows? */
bool exec_sandbox_covers(const struct exec_sandbox *wide, const struct exec_sandbox *narrow);
/* A text for people, one line per entry; and one line for keys, which is the same only for
 * sandboxes that allow the same, whatever the name of the mode. Both returned owned. */
char *exec_sandbox_text(const struct exec_sandbox *sandbox);
char *exec_sandbox_key(const struct exec_sandbox *sandbox);
/* "read-only", "workspace-write", "external", "danger-full-access", "split"; false: unknown
 * word. */
bool exec_mode_parse(const char *word, enum exec_mode *ret);
const char *exec_mode_name(enum exec_mode mode);
