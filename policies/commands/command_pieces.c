#include "base/mem.h"
#include "policies/commands/launcher_impl.h"
#include "policies/commands/shell/pieces_impl.h"
#include "policies/commands/shell/shell_impl.h"
#include "policies/commands/shell/shell_open_impl.h"

/* Adds the commands that @piece runs, if it is a shell or a launcher. */
static void command_pieces_open(struct command_pieces *pieces, struct command_piece *piece)
{
	if (piece->depth >= COMMAND_DEPTH_MAX) {
		if (shell_is(piece) || launcher_is(piece))
			pieces_doubt(pieces, "commands are nested too deeply");
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

	pieces->open = command_pieces_open;
	while (argv[wording.count] && wording.count < COMMAND_WORDS_MAX)
		wording.count++;
	if (wording.count == 0)
		pieces_doubt(pieces, "there is no command");
	else
		pieces_add(pieces, &wording, &(struct place){ 0 });
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
