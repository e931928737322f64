/* keeper: a small process that puts a terminal back when the one that has changed it dies without
 * doing so itself. It holds the terminal and nothing else of ours. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <termios.h>

#define KEEPER_TEXT_MAX 512

/* { .socket = -1 } is none, for which all of these do nothing. */
struct keeper {
	int socket;
	pid_t pid;
};

/* Forks it, for the terminal @fd. From a process with one thread. 0 or -errno: then there is none,
 * and whoever cannot do without has to say so. */
int keeper_start(struct keeper *keeper, int fd);
/* From now on the terminal is owed @modes and @text (may be NULL); or nothing, when @modes is NULL.
 * It gets them only while the caller's process group is the one in front: else somebody else has
 * set it up since. */
void keeper_owe(const struct keeper *keeper, const struct termios *modes, const char *text);
/* Ends it; the terminal is left as it is. */
void keeper_end(struct keeper *keeper);
