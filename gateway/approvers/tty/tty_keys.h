/* tty_keys: handles keys while a question is open. Private to tty*.c. */
#pragma once

struct approver;

/* @key was typed into the open question, or the list. */
void tty_keys_press(struct approver *self, unsigned char key);
/* @key was typed after its question had been settled: Enter and Ctrl-C end this state, and are no
 * answers. */
void tty_keys_late(struct approver *self, unsigned char key);
