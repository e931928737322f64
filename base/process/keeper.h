/* keeper: a small process that restores a terminal when the process that changed it dies without
 * doing so. It holds the terminal and no other descriptor of ours. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <termios.h>

#define KEEPER_TEXT_MAX 512

/* { .socket = -1 } means no process; then all functions do nothing. */
struct keeper {
	int socket;
	pid_t pid;
};

/* Forks it, for the terminal @fd. Call from a process with one thread. 0 or -errno: then there is
 * no keeper, and a caller that cannot do without one must report it. */
int keeper_start(struct keeper *keeper, int fd);
/* If we die, restore @modes and print @text (may be NULL) on the terminal; @modes NULL: restore
 * nothing. The terminal is restored only while the caller's process group is in the foreground:
 * otherwise another program has set it up since. */
void keeper_owe(const struct keeper *keeper, const struct termios *modes, const char *text);
/* Ends the process; does not change the terminal. */
void keeper_end(struct keeper *keeper);
