/* exec_plan: which command is run, and with which rights: for exec_process_start() and
 * exec_plan_text(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/exec_made.h"
#include "exec/exec_told.h"

struct err;
struct exec_limits;
struct exec_sandbox;
struct policy_protection;

struct exec_size {
	uint16_t rows, columns;
};

/* @master, taken: the other end of the command's pty. */
typedef void (*exec_pty_fn)(int master, void *arg);
/* 0, or -errno with @why to start nothing. */
typedef int (*exec_planned_fn)(void *arg, struct err *why);

/* A folder of the gate's own that the command can write, mounted over @path. If @path does not
 * exist, it has to be below EXEC_CACHES, and the tool is told of it by @entry, "NAME=VALUE". Left
 * out where the command may write anyway or may not read, and where the plan needs something
 * inside. */
struct exec_cache {
	const char *source, *path;
	const char *entry; /* set unless the command has the variable; NULL: none */
	bool is_appended;  /* @entry is more options, and not the whole value */
};

/* Paths are absolute. A hidden or read-only path must exist if the command could create it, must
 * not be reached through a symbolic link that the command could change, and must not contain a
 * writable directory: else nothing is started. When such a path is replaced, renamed or removed
 * from outside, the command is killed, because the kernel drops mounts on what is replaced. */
struct exec_plan_config {
	const char *const *argv;    /* NULL-terminated, at least one */
	const char *const *env;     /* the inherited environment; NULL: our own */
	const char *const *env_set; /* "NAME=VALUE", or "NAME" (as in @env); may be NULL */
	const char *const
		*env_asked; /* applied after it, but not to the gate's variables; may be NULL */
	const char *cwd;    /* writable, unless it belongs to the system ("/", /proc…) */
	const char *const *writable;  /* --write DIR…, NULL-terminated; may be NULL */
	const char *const *hidden;    /* paths that are invisible inside (state, control socket) */
	const char *const *read_only; /* paths inside writable ones that stay read-only (policy and
					 audit files) */

	/* All fields below may be zero. */
	bool is_look;          /* nothing will be started, so nothing is created for it */
	struct exec_seen seen; /* bytes NULL: exec_process_start() looks itself */
	const struct exec_limits *limits; /* borrowed, as is @sockets */
	const struct exec_cache *caches;  /* @cache_count of them, borrowed */
	size_t cache_count;
	const char *cache_root;     /* resolved: in a hidden path, and holds the caches of all
				       projects; their files have no other names, because a command
				       cannot link across mounts. NULL: none */
	const char *const *sockets; /* host sockets that it may reach, besides those of @sandbox */
	/* Borrowed; NULL: all may be read, @cwd and @writable may be written. Else @writable is
	 * ignored, and the rest applies if the command is confined. */
	const struct exec_sandbox *sandbox;
	/* Folders where other commands could write: no link in them leads to what this one may
	 * write, or to what @sandbox opens. May be NULL. */
	const char *const *theirs;
	/* What a person named to be read, or denied, may lie behind such a link. */
	bool follows_theirs;
	const struct policy_protection *protection; /* borrowed; NULL: no default protection */
	struct exec_program program;
	const int *stdio;            /* three descriptors to use as 0–2, borrowed */
	const struct exec_size *pty; /* 0–2 are one pty, whose master is passed to: */
	exec_pty_fn on_pty;
	exec_evidence_fn on_refused; /* costs a round trip per file opened for writing, */
	bool tells_reads;            /* and per file opened at all: if some paths may not be read */
	bool tells_briefly;          /* reports only what costs little: names that cannot be created
					because their folder is read-only, connects past the gate,
					and programs */
	exec_program_fn on_program;  /* for every execve inside */
	/* Called with exec_process_start()'s @arg when the plan holds, before anything starts. */
	exec_planned_fn on_planned;    /* may be NULL */
	void (*on_started)(void *arg); /* the same: its program runs; may be NULL */
	/* If the command is confined, its sandbox is probed before its program is executed, and
	 * only if every way out is refused. */
	exec_probed_fn on_probed;
	bool captures_udp; /* datagrams of programs without the gate's variables are handed to it */
	const char *control; /* path of the control socket, for the probe; may be NULL */
};

/* The plan as text, one line per step, for `sallyport run --dry-run`. Returned owned. If nothing
 * would be started, it says why, and *@ret_is_refused is true; NULL is fine. */
char *exec_plan_text(const struct exec_plan_config *config, bool *ret_is_refused);
