/* added: commands that are added to the run's own, in the same sandbox: each takes the same steps,
 * from its fork to its program, and has descriptors, a plan and perhaps a pty of its own. */
#pragma once

#include <stdint.h>

struct init;
struct wire_message;

/* Keeps 0–2 free for added commands. 0 or -errno. */
int added_reserve(void);
/* Starts the command of @message, a WIRE_INTO: @fds, taken, are a plan and its 0–2. What fails is
 * reported, and then its end. 0; -errno: that message is malformed. */
int added_start(struct init *init, const struct wire_message *message, const int *fds, int count);
/* Process @pid has ended, and may be that of an added command. */
void added_ended(struct init *init, long pid, int status);
/* The process of command @into, 0: the run's own. 0: there is none. */
long added_command(struct init *init, uint64_t into);
