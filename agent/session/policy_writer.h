/* policy_writer: writes an answer to a question about a command into the user's policy, in a
 * separate process: another process may hold the file's lock, and the disk may be slow.
 * docs/decisions/0037. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct agent;
struct session;

/* An operation of an orchestrator, whose argument is the session: appends @lines, borrowed. Then
 * the orchestrator, if it still exists, is told whether @number is stored. 0, or -EAGAIN: too many
 * are being written. */
int policy_writer_append(uint64_t number, const char *const *lines, void *session);
/* Is an answer still being written? */
bool policy_writer_is_busy(const struct agent *agent);
/* Forgets all writes; each one is still done in full or not at all. */
void policy_writer_forget_all(struct agent *agent);
