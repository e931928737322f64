#include "policies/commands/launcher_impl.h"

#include <string.h>

#include "base/mem.h"
#include "policies/commands/option_impl.h"
#include "policies/commands/shell/shell_impl.h"
#include "policies/commands/shell/variable_impl.h"

#define LAUNCHER_GUESSES_MAX 16

enum launcher_flag {
	LAUNCHER_PASSES_ON = 1 << 0, /* the command it runs needs a rule, the launcher does not */
	LAUNCHER_ASSIGNS = 1 << 1,   /* NAME=VALUE before the command */
	LAUNCHER_APPENDS = 1 << 2,   /* words from standard input */
	LAUNCHER_ELSEWHERE = 1 << 3,
	LAUNCHER_NUMBER = 1 << 4,   /* takes -10 */
	LAUNCHER_IN_SHELL = 1 << 5, /* a builtin: has this meaning only in a script */
	LAUNCHER_OPTIONAL = 1 << 6, /* is itself a command without operands */
	LAUNCHER_BUILTIN = 1 << 7,  /* it may run a builtin */
};

/* ld.so(8), by any of its names: ld-linux-x86-64.so.2, ld-musl-aarch64.so.1, ld-2.31.so. */
static const char loader[] = "ld.so";

static bool is_loader(const char *base)
{
	return strncmp(base, "ld-", 3) == 0 && strstr(base, ".so") != NULL;
}

/* To add a launcher: one line. With an option that is not listed here, it is not understood. */
static const struct launcher {
	const char *name;
	unsigned int flags;
	const char *alone;     /* short options without an argument */
	const char *taking;    /* short options with an argument */
	const char *names;     /* long options; "name=" has an argument */
	unsigned int operands; /* operands before the command */
} launchers[] = {
	{ "env", LAUNCHER_PASSES_ON | LAUNCHER_ASSIGNS | LAUNCHER_OPTIONAL, "iv0", "u",
	  "ignore-environment unset= debug null", 0 },
	{ "nice", LAUNCHER_PASSES_ON | LAUNCHER_NUMBER | LAUNCHER_OPTIONAL, "", "n",
	  "adjustment=", 0 },
	{ "nohup", LAUNCHER_PASSES_ON, "", "", "", 0 },
	{ "timeout", LAUNCHER_PASSES_ON, "vfp", "ks",
	  "preserve-status foreground verbose kill-after= signal=", 1 },
	{ "stdbuf", LAUNCHER_PASSES_ON, "", "ioe", "input= output= error=", 0 },
	{ "time", LAUNCHER_PASSES_ON, "pvqa", "f", "portability verbose quiet format=", 0 },
	{ "ionice", LAUNCHER_PASSES_ON | LAUNCHER_OPTIONAL, "t", "cn", "class= classdata= ignore",
	  0 },
	{ "setsid", LAUNCHER_PASSES_ON, "cfw", "", "ctty fork wait", 0 },
	{ "command", LAUNCHER_PASSES_ON | LAUNCHER_IN_SHELL | LAUNCHER_OPTIONAL | LAUNCHER_BUILTIN,
	  "", "", "", 0 },
	{ "builtin", LAUNCHER_PASSES_ON | LAUNCHER_IN_SHELL | LAUNCHER_BUILTIN, "", "", "", 0 },
	{ "exec", LAUNCHER_PASSES_ON | LAUNCHER_IN_SHELL | LAUNCHER_OPTIONAL, "cl", "a", "", 0 },
	{ "xargs", LAUNCHER_APPENDS | LAUNCHER_OPTIONAL, "0rtx", "nPILsdaE",
	  "null no-run-if-empty verbose exit max-args= max-procs= max-lines max-chars= delimiter= "
	  "arg-file= replace",
	  0 },
	{ "sudo", LAUNCHER_ASSIGNS, "nEHSkbAB", "ugprtC",
	  "non-interactive preserve-env set-home stdin reset-timestamp background askpass user= "
	  "group= prompt=",
	  0 },
	{ "doas", 0, "n", "u", "", 0 },
	{ "busybox", LAUNCHER_OPTIONAL, "", "", "", 0 },
	{ "toybox", LAUNCHER_OPTIONAL, "", "", "", 0 },
	{ loader, LAUNCHER_PASSES_ON, "", "",
	  "library-path= preload= audit= argv0= inhibit-rpath= inhibit-cache", 0 },
	{ "chroot", LAUNCHER_ELSEWHERE, "", "", "userspec= groups= skip-chdir", 1 },
	{ "unshare", LAUNCHER_ELSEWHERE | LAUNCHER_OPTIONAL, "rnmpuiUCTfc", "SGRw",
	  "map-root-user map-current-user net mount pid uts ipc user cgroup time fork setuid= "
	  "setgid= root= wd=",
	  0 },
};

static const struct launcher *find(const char *name)
{
	const char *base = pieces_base(name);

	base = is_loader(base) ? loader : base;
	for (size_t i = 0; i < ARRAY_SIZE(launchers); i++) {
		if (strcmp(base, launchers[i].name) == 0)
			return &launchers[i];
	}
	return NULL;
}

bool launcher_is_name(const char *name)
{
	return find(name) != NULL || strcmp(pieces_base(name), "find") == 0;
}

bool launcher_is(const struct command_piece *piece)
{
	return launcher_is_name(piece->argv[0]);
}

/* Steps over the short options in the word at *@at. False: one is unknown. */
static bool skip_cluster(const struct launcher *launcher, const struct command_piece *piece,
			 size_t *at)
{
	const char *word = piece->argv[*at];

	if (launcher->flags & LAUNCHER_NUMBER && strspn(word + 1, "0123456789") == strlen(word + 1))
		return true;
	for (const char *c = word + 1; *c; c++) {
		if (strchr(launcher->alone, *c))
			continue;
		if (!strchr(launcher->taking, *c))
			return false;
		if (!c[1])
			(*at)++;
		return *at < piece->argc;
	}
	return true;
}

static bool skip_name(const struct launcher *launcher, const struct command_piece *piece,
		      size_t *at)
{
	const char *word = piece->argv[*at];
	bool takes_word = false;

	if (!option_find(word, launcher->names, &takes_word))
		return false;
	if (takes_word && !strchr(word, '='))
		(*at)++;
	return *at < piece->argc;
}

/* Finds where the options end. False: one is unknown, or is not a plain word. */
static bool skip_options(const struct launcher *launcher, const struct command_piece *piece,
			 size_t *ret_at)
{
	size_t at = 1;
	bool is_known = true;

	for (; is_known && at < piece->argc; at++) {
		const char *word = piece->argv[at];

		if (piece->words[at] != COMMAND_WORD_PLAIN)
			break;
		if (strcmp(word, "--") == 0) {
			at++;
			break;
		}
		if (word[0] != '-' || (!word[1] && strcmp(launcher->name, "env") != 0))
			break;
		is_known = word[1] == '-' ? skip_name(launcher, piece, &at)
					  : skip_cluster(launcher, piece, &at);
	}
	*ret_at = at;
	return is_known;
}

/* Adds guesses for a launcher that was not understood: the words from each position on. */
static void guess(struct command_pieces *pieces, const struct command_piece *piece,
		  const struct place *inner)
{
	struct place place = { inner->flags | COMMAND_GUESS, inner->depth };

	for (size_t i = 1; i < piece->argc && i <= LAUNCHER_GUESSES_MAX; i++) {
		struct wording wording = { piece->argv + i, piece->words + i, piece->argc - i };

		if (piece->argv[i][0] != '-' && piece->words[i] == COMMAND_WORD_PLAIN &&
		    piece->argv[i][0])
			pieces_add(pieces, &wording, &place);
	}
}

/* xargs -I X: every X in the command is replaced by unknown words. NULL: no such option. */
static const char *find_replaced(struct command_pieces *pieces, const struct command_piece *piece,
				 size_t until)
{
	const char *found = NULL;

	for (size_t i = 1; i < until; i++) {
		const char *word = piece->argv[i], *equals = strchr(word, '=');
		const char *letter = option_has_letter(word, "I") ? strchr(word, 'I') + 1 : NULL;

		if (!letter && strncmp(word, "--r", 3) != 0)
			continue;
		if (found)
			pieces_doubt(pieces, "xargs has two replacement options");
		if (!letter)
			found = equals ? equals + 1 : "{}";
		else
			found = *letter ? letter : i + 1 < until ? piece->argv[i + 1] : "{}";
	}
	return found && *found ? found : NULL;
}

/* Adds @count words of @piece from @first on; words that contain @hole are unknown. */
static void add_inner(struct command_pieces *pieces, const struct command_piece *piece,
		      size_t first, size_t count, const char *hole, const struct place *place)
{
	auto_free unsigned char *kinds = mem_new_array(count, 1);
	struct wording wording = { piece->argv + first, kinds, count };

	memcpy(kinds, piece->words + first, count);
	for (size_t i = 0; hole && i < count; i++) {
		if (strstr(piece->argv[first + i], hole) && kinds[i] == COMMAND_WORD_PLAIN)
			kinds[i] = COMMAND_WORD_GLOB;
	}
	pieces_add(pieces, &wording, place);
}

/* find: adds the words behind -exec and similar options, up to ; or +. */
static void open_find(struct command_pieces *pieces, const struct command_piece *piece)
{
	struct place place = { piece->flags & ~(unsigned int)COMMAND_IN_SHELL, piece->depth + 1 };

	if (piece->flags & COMMAND_OPEN)
		pieces_doubt(pieces, "find has unknown arguments");
	for (size_t i = 1; i < piece->argc; i++) {
		size_t first = i + 1, end = first;

		/* It could expand to -exec. */
		if (piece->words[i] != COMMAND_WORD_PLAIN && strchr("*?[{%", piece->argv[i][0]))
			pieces_doubt(pieces, "find has unknown arguments");

		if (!option_is_one_of(piece->argv[i], "-exec -execdir -ok -okdir"))
			continue;
		while (end < piece->argc && strcmp(piece->argv[end], ";") != 0 &&
		       !(strcmp(piece->argv[end], "+") == 0 &&
			 strcmp(piece->argv[end - 1], "{}") == 0))
			end++;
		if (end > first)
			add_inner(pieces, piece, first, end - first, "{}", &place);
		i = end;
	}
}

/* NAME=VALUE words before the command. */
static size_t skip_assignments(const struct command_piece *piece, size_t at, struct place *place)
{
	for (; at < piece->argc && strchr(piece->argv[at], '='); at++) {
		if (piece->words[at] != COMMAND_WORD_PLAIN ||
		    !variable_is_harmless(piece->argv[at]))
			place->flags |= COMMAND_ASSIGNS;
	}
	return at;
}

/* command -v NAME only looks the name up. */
static bool is_query(const struct command_piece *piece)
{
	return piece->argc > 1 && strcmp(piece->argv[0], "command") == 0 &&
	       option_is_one_of(piece->argv[1], "-v -V");
}

/* Are the words before @until plain words? */
static bool is_plain(const struct command_piece *piece, size_t until)
{
	for (size_t i = 0; i < until && i < piece->argc; i++) {
		if (piece->words[i] != COMMAND_WORD_PLAIN)
			return false;
	}
	return true;
}

static void open_known(struct command_pieces *pieces, struct command_piece *piece,
		       const struct launcher *launcher)
{
	struct place place = { piece->flags, piece->depth + 1 };
	bool is_builtin = launcher->flags & LAUNCHER_BUILTIN;
	const char *hole = NULL;
	size_t at;

	if (!is_builtin)
		place.flags &= ~(unsigned int)COMMAND_IN_SHELL;
	if (launcher->flags & LAUNCHER_ELSEWHERE)
		place.flags |= COMMAND_ELSEWHERE;
	if (!skip_options(launcher, piece, &at) || !is_plain(piece, at + launcher->operands)) {
		pieces_doubt(pieces, "a launcher has an unknown option");
		guess(pieces, piece, &place);
		return;
	}
	/* env may remove the variable that the program is looked up by. */
	if (at > 1 && strcmp(launcher->name, "env") == 0)
		place.flags |= COMMAND_ASSIGNS;
	if (launcher->flags & LAUNCHER_APPENDS) {
		hole = find_replaced(pieces, piece, at);
		place.flags |= COMMAND_OPEN;
	}
	if (launcher->flags & LAUNCHER_ASSIGNS)
		at = skip_assignments(piece, at, &place);
	at += launcher->operands;
	if (at >= piece->argc) {
		if (!(launcher->flags & LAUNCHER_OPTIONAL) || piece->flags & COMMAND_OPEN)
			pieces_doubt(pieces, "a launcher has no command");
		return;
	}
	if (launcher->flags & LAUNCHER_PASSES_ON)
		piece->flags |= COMMAND_PASSES_ON;
	place.flags &= ~(unsigned int)COMMAND_PASSES_ON;
	add_inner(pieces, piece, at, piece->argc - at, hole, &place);
}

void launcher_open(struct command_pieces *pieces, struct command_piece *piece)
{
	const struct launcher *launcher = find(piece->argv[0]);

	if (shell_bends(piece))
		pieces_doubt(pieces, "a shell builtin changes how the rest is run");
	if (strcmp(pieces_base(piece->argv[0]), "find") == 0) {
		open_find(pieces, piece);
		return;
	}
	if (!launcher ||
	    (launcher->flags & LAUNCHER_IN_SHELL && !(piece->flags & COMMAND_IN_SHELL) &&
	     strcmp(launcher->name, "command") != 0))
		return;
	if (!is_query(piece))
		open_known(pieces, piece, launcher);
}
