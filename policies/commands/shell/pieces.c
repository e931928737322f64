#include "policies/commands/shell/pieces_impl.h"

#include <string.h>

static const char too_long[] = "it is too long";

void pieces_doubt(struct command_pieces *pieces, const char *why)
{
	if (!pieces->why)
		pieces->why = why;
}

/* The text is already in place; this keeps it. */
char *pieces_text(struct command_pieces *pieces, size_t len)
{
	char *text = pieces->text + pieces->text_len;

	if (len >= PIECES_TEXT_MAX - pieces->text_len) {
		pieces_doubt(pieces, too_long);
		return NULL;
	}
	text[len] = '\0';
	pieces->text_len += len + 1;
	return text;
}

void pieces_add_redirect(struct command_pieces *pieces, enum command_redirect_kind kind,
			 const char *target)
{
	if (pieces->redirect_count == PIECES_REDIRECTS_MAX) {
		pieces_doubt(pieces, "it has too many redirections");
		return;
	}
	pieces->redirects[pieces->redirect_count++] =
		(struct command_redirect){ pieces->count, kind, target };
}

const char *pieces_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static struct command_piece *pieces_append(struct command_pieces *pieces,
					   const struct wording *wording, const struct place *place)
{
	if (pieces->count == COMMAND_PIECES_MAX ||
	    wording->count >= COMMAND_WORDS_MAX - pieces->word_count) {
		pieces_doubt(pieces, too_long);
		return NULL;
	}
	const char **words = pieces->words + pieces->word_count;
	unsigned char *kinds = pieces->kinds + pieces->word_count;

	for (size_t i = 0; i < wording->count; i++) {
		words[i] = wording->words[i];
		kinds[i] = wording->kinds ? wording->kinds[i] : COMMAND_WORD_PLAIN;
	}
	pieces->word_count += wording->count + 1; /* the NULL is there already */
	struct command_piece *piece = &pieces->list[pieces->count++];

	*piece = (struct command_piece){ words, kinds, wording->count, place->flags, place->depth };
	return piece;
}

void pieces_add(struct command_pieces *pieces, const struct wording *wording,
		const struct place *place)
{
	struct command_piece *piece = pieces_append(pieces, wording, place);

	if (!piece || piece->argc == 0)
		return;
	if (piece->words[0] != COMMAND_WORD_PLAIN || piece->argv[0][0] == '\0') {
		pieces_doubt(pieces, "the program's name is unknown");
		return;
	}
	pieces->open(pieces, piece);
}
