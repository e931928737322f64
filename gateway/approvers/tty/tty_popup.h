/* tty_popup: opens a window inside tmux, with a terminal of its own. tmux runs `sallyport approve
 * popup SOCKET` in it, which passes that terminal to us, and ends when we close the connection.
 * Private to tty*.c. */
#pragma once

#include <stdbool.h>

#define TTY_POPUP_MS 2000 /* for the window to open and send its terminal */

struct gateway_config;
struct loop;
struct tty_popup;

/* Runs once, from the loop: a terminal (taken), or -errno: no window could be opened. */
typedef void (*tty_popup_fn)(int fd, void *arg);

/* For the terminal @fd. Returned owned, or NULL: it is no pane of tmux, according to the
 * environment. Keeps @loop, borrows @config. */
struct tty_popup *tty_popup_new(struct loop *loop, const struct gateway_config *config, int fd,
				tty_popup_fn done, void *arg);
void tty_popup_free(struct tty_popup *popup); /* closes it */
/* False: not possible, and @done does not run. */
bool tty_popup_open(struct tty_popup *popup);
/* Closes the window; @done does not run. */
void tty_popup_close(struct tty_popup *popup);
