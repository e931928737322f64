/* tty_window: a window of tmux's, in place of the terminal. Private to tty*.c. */
#pragma once

#include <stdbool.h>

struct approver;

/* True: it is on its way, and @self->next follows. */
bool tty_window_open(struct approver *self);
void tty_window_came(int fd, void *arg);
void tty_window_close(struct approver *self);
