#include <string.h>

#include "base/mem.h"
#include "policies/commands/command_pieces_impl.h"
#include "policies/commands/launcher_impl.h"
#include "policies/commands/shell_impl.h"

static const char too_long[] = "it is too long";

void command_pieces_doubt(struct command_pieces *pieces, const char *why)
{
	if (!pieces->why)
		pieces->why = why;
}

/* The text was written there already; this keeps it. */
char *command_pieces_text(struct command_pieces *pieces, size_t len)
{
	char *text = pieces->text + pieces->text_len;

	if (len >= PIECES_TEXT_MAX - pieces->text_len) {
		command_pieces_doubt(pieces, too_long);
		return NULL;
	}
	text[len] = '\0';
	pieces->text_len += len + 1;
	return text;
}

void command_pieces_add_redirect(struct command_pieces *pieces, enum command_redirect_kind kind,
				 const char *target)
{
	if (pieces->redirect_count == PIECES_REDIRECTS_MAX) {
		command_pieces_doubt(pieces, "it has too many redirections");
		return;
	}
	pieces->redirects[pieces->redirect_count++] =
		(struct command_redirect){ pieces->count, kind, target };
}

const char *command_pieces_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static struct command_piece *append(struct command_pieces *pieces, const struct wording *wording,
				    const struct place *place)
{
	if (pieces->count == COMMAND_PIECES_MAX ||
	    wording->count >= COMMAND_WORDS_MAX - pieces->word_count) {
		command_pieces_doubt(pieces, too_long);
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

void command_pieces_add(struct command_pieces *pieces, const struct wording *wording,
			const struct place *place)
{
	struct command_piece *piece = append(pieces, wording, place);

	if (!piece || piece->argc == 0)
		return;
	if (piece->words[0] != COMMAND_WORD_PLAIN || piece->argv[0][0] == '\0') {
		command_pieces_doubt(pieces, "the program's name is not known");
		return;
	}
	if (place->depth >= COMMAND_DEPTH_MAX) {
		if (shell_is(piece) || launcher_is(piece))
			command_pieces_doubt(pieces, "too many commands inside one another");
		return;
	}
	if (shell_is(piece))
		shell_open(pieces, piece);
	else
		launcher_open(pieces, piece);
}

struct command_pieces *command_pieces_new(const char *const *argv)
{
	struct command_pieces *pieces = mem_new(sizeof(*pieces));
	struct wording wording = { .words = argv };

	while (argv[wording.count] && wording.count < COMMAND_WORDS_MAX)
		wording.count++;
	if (wording.count == 0)
		command_pieces_doubt(pieces, "there is no command");
	else
		command_pieces_add(pieces, &wording, &(struct place){ 0 });
	return pieces;
}

void command_pieces_free(struct command_pieces *pieces)
{
	free(pieces);
}

size_t command_pieces_count(const struct command_pieces *pieces)
{
	return pieces->count;
}

const struct command_piece *command_pieces_get(const struct command_pieces *pieces, size_t index)
{
	return index < pieces->count ? &pieces->list[index] : NULL;
}

const struct command_redirect *command_pieces_redirects(const struct command_pieces *pieces,
							size_t *ret_count)
{
	*ret_count = pieces->redirect_count;
	return pieces->redirects;
}

const char *command_pieces_why(const struct command_pieces *pieces)
{
	return pieces->why;
}
