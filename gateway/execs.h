/* execs: the commands the gateway knows, and what ends with each. */
#pragma once

#include "gateway/core.h"

/* Borrowed; NULL: not begun, or ended. */
struct gateway_exec *execs_find(const struct gateway *gw, uint64_t id);
void execs_begin(struct gateway *gw, uint64_t id, const char *command);
/* Denies its waiters and forgets its grants. */
void execs_end(struct gateway *gw, uint64_t id, int exit_status);
/* Tells the owner of every exec that a person aborted. From the loop. */
void execs_tell_aborted(struct gateway *gw);
/* Drops them all, without a record each. */
void execs_free_all(struct gateway *gw);
