/* pieces: the pieces of a command line while they are collected, in one block of a fixed size: no
 * command line makes it grow. A part that does not fit is noted as not understood. */
#pragma once

#include "policies/commands/commands.h"

#define PIECES_TEXT_MAX      (2 * COMMAND_SCRIPT_MAX)
#define PIECES_REDIRECTS_MAX 512

struct command_pieces {
	struct command_piece list[COMMAND_PIECES_MAX];
	size_t count;
	struct command_redirect redirects[PIECES_REDIRECTS_MAX];
	size_t redirect_count;
	const char *words[COMMAND_WORDS_MAX];
	unsigned char kinds[COMMAND_WORDS_MAX];
	size_t word_count;
	char text[PIECES_TEXT_MAX];
	size_t text_len;
	const char *why; /* the first part that was not understood */
	/* Adds the commands that a piece runs, if it is a launcher or a shell; called once for each
	 * added piece. */
	void (*open)(struct command_pieces *pieces, struct command_piece *piece);
};

/* The context of a command, which its pieces inherit. */
struct place {
	unsigned int flags, depth;
};
/* The words of a command that is not yet a piece. */
struct wording {
	const char *const *words;
	const unsigned char *kinds; /* NULL: all plain */
	size_t count;
};

/* Notes what was not understood; the first note stays. @why: static. */
void pieces_doubt(struct command_pieces *pieces, const char *why);
/* Room for the text of a word. NULL, after noting it: there is no room. */
char *pieces_text(struct command_pieces *pieces, size_t len);
void pieces_add_redirect(struct command_pieces *pieces, enum command_redirect_kind kind,
			 const char *target);
/* Adds a command, and the commands it runs. */
void pieces_add(struct command_pieces *pieces, const struct wording *wording,
		const struct place *place);
/* The last part of a path. */
const char *pieces_base(const char *path);
