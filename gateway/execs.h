/* execs: the commands the gateway knows, and what ends with each. */
#pragma once

#include "gateway/core.h"

/* Borrowed; NULL: not begun, or ended. */
struct gateway_exec *execs_find(const struct gateway *gw, uint64_t id);
void execs_begin(struct gateway *gw, uint64_t id, const char *command);
/* What the exec was started with, for `from`. Copied. */
void execs_set_argv(struct gateway *gw, uint64_t id, const char *const *argv);
/* The exec's way out: notes its ports and who is behind them. Of @count descriptors those past the
 * first three are taken; returns how many are left. */
size_t execs_watch(struct gateway *gw, uint64_t id, const int *fds, size_t count);
/* The exec's own copy; NULL: "", or it has run too many programs. */
const char *execs_intern(struct gateway_exec *exec, const char *program);
/* Once for each request, and only where a rule or a grant asks which program it is: true: it is
 * being looked for, as lookups_start(), and nothing is decided by its program before that is over.
 */
bool execs_look_up(struct waiter *waiter);
/* Fills in facts.asker, as far as it is known; borrowed until the next call for that exec. */
void execs_ask_who(struct waiter *waiter);
/* Denies its waiters and forgets its grants. */
void execs_end(struct gateway *gw, uint64_t id, int exit_status);
/* Frees the ended ones whose requests are all over. */
void execs_forget_ended(struct gateway *gw);
/* Tells the owner of every exec that a person aborted. From the loop. */
void execs_tell_aborted(struct gateway *gw);
/* Drops them all, without a record each. */
void execs_free_all(struct gateway *gw);
