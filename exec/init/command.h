/* command: starts the command's process, from fork to its program. */
#pragma once

struct init;

/* Sets init->command to the pid. Later failures are reported by that process itself. 0 or
 * -errno. */
int command_start(struct init *init);
