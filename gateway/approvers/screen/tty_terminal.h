/* tty_terminal: the terminal that shows the questions. Private to tty*.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct approver;
struct err;

/* Opens it again for itself if possible. -errno with @why: it cannot be used. */
int tty_terminal_open(struct approver *self, int fd, struct err *why);
void tty_terminal_close(struct approver *self);
/* Is the terminal closed? */
bool tty_terminal_is_hung_up(const struct approver *self);
/* Does another job have it? Writing would stop us, and its input is not for us. */
bool tty_terminal_is_elsewhere(const struct approver *self);
/* False: another gate asks on it now, as in a pipeline of two runs. Else none does until
 * tty_terminal_yield(). Always true in a window. */
bool tty_terminal_claim(const struct approver *self);
void tty_terminal_yield(const struct approver *self);
void tty_terminal_size(struct approver *self); /* into @look */
/* Saves the attributes and sets reading key by key without echo; or restores them. */
int tty_terminal_seize(struct approver *self);
void tty_terminal_restore(struct approver *self);
/* Writes what the terminal accepts now. 0; -EAGAIN: the rest has to wait; -EIO: it is closed. */
int tty_terminal_flush(struct approver *self);
/* Reads at most @size bytes of input; 0: none; -EIO: closed. */
ssize_t tty_terminal_read(struct approver *self, void *bytes, size_t size);
/* Makes the events for input and output on @fd: on_readable and on_writable. */
void tty_terminal_watch(struct approver *self);
void tty_terminal_unwatch(struct approver *self);
