/* execs: the commands that the gateway knows. */
#pragma once

#include "gateway/state.h"

/* Borrowed; NULL: it has not begun, or has ended. */
struct gateway_exec *execs_find(const struct gateway *gw, uint64_t id);
void execs_begin(struct gateway *gw, uint64_t id, const char *command);
/* Notes the ports of the exec's listeners, and how to find the programs that use them. Of @count
 * descriptors, those after the third are taken; returns how many are left. */
size_t execs_watch(struct gateway *gw, uint64_t id, const int *fds, size_t count);
/* Keeps copies of what its worker gets (execs_watch() returned @count), until it ends; once. */
int execs_keep_ways(struct gateway *gw, uint64_t id, const int *fds, size_t count);
/* Copies for another worker; none if nothing was kept. 0 or -errno. */
int execs_kept_ways(const struct gateway_exec *exec, int *ret_fds, size_t *ret_count);
void execs_forget_ways(struct gateway_exec *exec);
/* The exec's own copy; NULL: "", or there are too many programs. */
const char *execs_intern(struct gateway_exec *exec, const char *program);
/* Fills in facts.asker as far as it is known; borrowed until the next call for that exec. */
void execs_ask_who(struct waiter *waiter);
