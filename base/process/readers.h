/* readers: who reads the pipe that a command writes to. In `sallyport run … | tee log` it is a
 * process of our session, which writes to our terminal what the command says. */
#pragma once

#include <stdbool.h>

/* Does another process of our session read the pipe @fd? True if it cannot be told, or they have
 * too many descriptors. */
bool readers_are_here(int fd);
