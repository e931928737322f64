/* command_pieces: the pieces while they are gathered. One block of a fixed size: nothing a command
 * line says makes it grow; what does not fit is not understood. */
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
	const char *why; /* the first thing that was not understood */
};

/* Where a command stands: what its pieces inherit. */
struct place {
	unsigned int flags, depth;
};
/* The words of a command that is not a piece yet. */
struct wording {
	const char *const *words;
	const unsigned char *kinds; /* NULL: all plain */
	size_t count;
};

/* Notes what was not understood; the first stays. @why: static. */
void command_pieces_doubt(struct command_pieces *pieces, const char *why);
/* Room for text of a word. NULL when there is none, which is noted. */
char *command_pieces_text(struct command_pieces *pieces, size_t len);
void command_pieces_add_redirect(struct command_pieces *pieces, enum command_redirect_kind kind,
				 const char *target);
/* Adds a command, and what it runs if it is a launcher or a shell. */
void command_pieces_add(struct command_pieces *pieces, const struct wording *wording,
			const struct place *place);
/* The last part of a path. */
const char *command_pieces_base(const char *path);
