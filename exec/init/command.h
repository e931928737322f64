/* command: the command's process, from fork to its program. */
#pragma once

struct init;

/* Starts it: init->command is its pid then. What fails later is reported by that process itself. 0
 * or -errno. */
int command_start(struct init *init);
