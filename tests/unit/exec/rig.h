/* rig: runs a real command through process, with a directory of its own to work in and its output
 * caught. As root also as an ordinary user: every test that uses it is a loop test over RIG_USERS.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "exec/exec_process.h"

struct loop;

#define RIG_USERS                                                                                  \
	2 /* _i: 0 as the user of the tests; 1 as an ordinary user, if that is root                \
	   */

struct rig {
	struct loop *loop;
	struct exec_process *process;
	char dir[64];     /* the command's working directory, empty at first; or config.cwd */
	char outside[64]; /* another one, not writable for it */
	struct exec_plan_config config;
	int fds[EXEC_EGRESS_FDS];
	bool has_fds;
	int egress_result;
	void (*on_ready)(struct rig *rig); /* from the loop, with @fds there; may be NULL */
	void (*on_end)(struct rig *rig);   /* from exec's own callback; may be NULL */
	unsigned int egress_count, done_count;
	struct exec_process_result result;
	int saved[3]; /* our own 0–2 */
	int output;   /* read end of what the command's 1 and 2 are */
	char text[32768];
};

/* @user: _i. 0 is /dev/null, 1 and 2 a pipe. */
void rig_init(struct rig *rig, int user);
void rig_done(struct rig *rig);

/* Starts argv (NULL-terminated). False: refused, with @rig->text saying why. */
bool rig_start(struct rig *rig, const char *const *argv);
/* Runs the loop until the command is gone, and catches its output in rig->text. */
void rig_wait(struct rig *rig);
/* Both, for `sh -c SCRIPT`; returns what it printed. Fails the test when it is not started or
 * prints too much. */
const char *rig_sh(struct rig *rig, const char *script);
/* The same, and it must exit 0. */
const char *rig_ok(struct rig *rig, const char *script);

/* mkdir -p rig->dir/PATH or, with text, writes a file there (parents made). */
void rig_make(struct rig *rig, const char *path, const char *text);
/* What is in rig->dir/PATH now, or "" when it is not there; static storage. */
const char *rig_read(struct rig *rig, const char *path);
