/* reserved: words of the shell's language, where a command could begin. */
#pragma once

/* A command may follow at once; or the words up to the next operator are no command. */
enum reserved { RESERVED_NOT, RESERVED_WORD, RESERVED_LINE };

enum reserved reserved_find(const char *word);
