/* claim: of the gates on one terminal, as in a pipeline of two runs, one at a time asks there, and
 * the others meanwhile pass on neither output nor keys. A command has a terminal of its own, and
 * cannot lock the user's. */
#pragma once

#include <stdbool.h>

/* Opens the terminal @fd again, so that O_NONBLOCK is set for us only, under its own name if it is
 * /dev/tty, which is one file for all terminals. -1 with errno. */
int claim_open(int fd);
/* For a question, or for one read or write: false: another gate asks, or, for a question, is just
 * passing something on. Always true for what claim_open() could not open under its own name: the
 * terminal of another user, after su(1). */
bool claim_take(int fd);
bool claim_share(int fd);
void claim_end(int fd);
