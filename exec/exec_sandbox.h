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

struct exec_entry {
	const char *path; /* absolute */
	enum exec_access access;
};

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
	const char *cwd;           /* WORKSPACE_WRITE: writable. Absolute */
	const char *const
		*writable; /* WORKSPACE_WRITE: more of them, NULL-terminated; may be NULL */
	bool has_no_tmp, has_no_tmpdir; /* WORKSPACE_WRITE: /tmp, $TMPDIR stay out of it: what the
					   command sees there is its own, empty, and goes away */
	const char *tmpdir;             /* $TMPDIR, absolute; NULL: not set */
	const struct exec_entry
		*entries; /* SPLIT; other modes: more, of which only denials count */
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
/* What the entries say of @path (absolute). */
enum exec_access exec_sandbox_access(const struct exec_sandbox *sandbox, const char *path);

/* The same with @path, and nothing else, opened as far as @access: returned owned. NULL with @why:
 * an entry denies it, which nothing opens. */
struct exec_sandbox *exec_sandbox_widen(const struct exec_sandbox *sandbox, const char *path,
					enum exec_access access, struct err *why);
/* The same with the host's socket @path, which is covered otherwise. As exec_sandbox_widen(). */
struct exec_sandbox *exec_sandbox_add_socket(const struct exec_sandbox *sandbox, const char *path,
					     struct err *why);
const char *const *exec_sandbox_sockets(const struct exec_sandbox *sandbox); /* borrowed */
/* Nothing confines it: the last choice, and never of one that has denials: NULL with @why. */
struct exec_sandbox *exec_sandbox_unconfined(const struct exec_sandbox *sandbox, struct err *why);

bool exec_sandbox_equal(const struct exec_sandbox *a, const struct exec_sandbox *b);
/* Does @wide allow all that @narrow allows? */
bool exec_sandbox_covers(const struct exec_sandbox *wide, const struct exec_sandbox *narrow);
/* For people, one line an entry; and one line that is the same for equal ones only, for keys. Both
 * returned owned. */
char *exec_sandbox_text(const struct exec_sandbox *sandbox);
char *exec_sandbox_key(const struct exec_sandbox *sandbox);
/* "read-only", "workspace-write", "external", "danger-full-access", "split"; false: no such. */
bool exec_mode_parse(const char *word, enum exec_mode *ret);
const char *exec_mode_name(enum exec_mode mode);
