/* reserved: reserved words of the shell at the position of a command. */
#pragma once

/* WORD: a command may follow at once. LINE: the words up to the next operator are not a command. */
enum reserved { RESERVED_NOT, RESERVED_WORD, RESERVED_LINE };

enum reserved reserved_find(const char *word);
