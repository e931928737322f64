/* test_approver_screen: a terminal with a test behind it, and the approver that asks on it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tests/unit/gateway/approvers/test_approver.h"
#include "gateway/approvers/tty/tty_hold.h"
#include "gateway/approvers/tty/tty_list.h"
#include "gateway/approvers/tty/tty_prompt.h"
#include "gateway/approvers/tty/tty_self.h"

#define SCREEN_FENCE "\x1b[5n"
#define SCREEN_READY "\x1b[0n"

/* The values that a test reads. */
struct screen {
	struct gateway gw;
	struct gateway_terminal terminal;
	struct termios before;
	int master, slave, mark_fd;
	unsigned int held, released;
	char dir[64]; /* where windows are waited for; "": the questions come to the terminal itself
		       */
	int pane[2];  /* what is behind the window: its master and slave */
	int link;     /* of the last window */
	unsigned int windows;
	char text[65536]; /* all that was written before the last screen_look() */
};
extern struct screen screen;

/* Fixture: an approver on a terminal of 80 columns, which is put back at the end. */
void screen_setup(void);
void screen_teardown(void);
/* The same in windows of tmux: each question comes to a terminal that is handed over for it, by the
 * socket that tmux is told of. Nothing comes to the terminal behind it. */
void screen_setup_in_window(void);
/* Opens the window that is waited for, if one is. */
void screen_come(void);

/* What was written since the last look. */
const char *screen_look(void);
void screen_type(const char *text); /* key by key */
void screen_type_at_once(const char *text);
/* The question is on the screen, the terminal answers the fence, the guard passes. */
void screen_until_open(void);
/* The terminal's attributes are what they were. */
bool screen_is_restored(void);
