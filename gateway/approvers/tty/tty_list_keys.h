/* tty_list_keys: handles keys in the list. Private to tty*.c. */
#pragma once

struct approver;

void tty_list_keys_press(struct approver *self, unsigned char key);
void tty_list_keys_move(struct approver *self, int by);
