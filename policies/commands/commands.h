/* commands: which command lines may run. Rules by argv prefix; scripts cut into pieces; launchers
 * unwrapped. Pure: no I/O, the caller looks files up. The language is in sallyport-policy(5). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMMAND_SCRIPT_MAX    65536 /* bytes of a `sh -c` script */
#define COMMAND_WORDS_MAX     8192  /* of all pieces together */
#define COMMAND_PIECES_MAX    256
#define COMMAND_DEPTH_MAX     8 /* scripts and launchers inside one another */
#define COMMAND_RULES_MAX     16384
#define COMMAND_TOKENS_MAX    64 /* of one rule */
#define COMMAND_TEXT_MAX      512
#define COMMAND_PATH_MAX      1024
#define COMMAND_PROPOSALS_MAX 4

/* Zero is the safe end; the order is the strength: the strongest of all pieces wins. UNMATCHED: no
 * rule says anything, the default does. */
enum command_action { COMMAND_DENY, COMMAND_ASK, COMMAND_UNMATCHED, COMMAND_ALLOW };

/* A word of a policy line, as it stands there: quotes off, escapes (\" and \\) still in. */
struct command_token {
	const char *text;
	size_t len;
	bool is_quoted;
};
/* What is wrong with a line: at which of its tokens (their count: behind the last), at which byte
 * of it, and what to write instead ("" when there is nothing better to say). */
struct command_flaw {
	size_t token, at;
	char words[128];
	char instead[128];
};

struct command_file {
	char path[COMMAND_PATH_MAX];
	uint64_t device, inode;
};
/* What the caller knows of the world; any function may be NULL. */
struct command_world {
	/* The file that @name (bare: looked up in PATH; else as the command would open it) stands
	 * for. 0 or -errno. A PATH with relative entries must be refused by the caller. */
	int (*resolve)(const char *name, struct command_file *ret, void *arg);
	/* May a redirection write @path? Without it only the null device and the like. */
	bool (*may_write)(const char *path, void *arg);
	void *arg;
};

enum command_word { COMMAND_WORD_PLAIN, COMMAND_WORD_GLOB, COMMAND_WORD_UNKNOWN };
enum command_piece_flag {
	COMMAND_PASSES_ON = 1 << 0, /* a launcher that adds nothing: needs no allow of its own */
	COMMAND_GUESS = 1 << 1,     /* may be run by what was not understood: denials only */
	COMMAND_OPEN = 1 << 2,      /* more words come from standard input */
	COMMAND_ELSEWHERE = 1 << 3, /* looks its program up in another place: never allowed */
	COMMAND_IN_SHELL = 1 << 4,  /* builtins of the shell are meant */
	COMMAND_PIPED = 1 << 5,     /* reads what the piece before it writes */
	COMMAND_ASSIGNS = 1 << 6,   /* sets a variable that may change what runs */
	COMMAND_MOVED = 1 << 7,     /* runs in a folder that is not known */
	COMMAND_INSERTED = 1 << 8,  /* stands in a substitution: its output becomes words */
};
enum command_redirect_kind { COMMAND_READS, COMMAND_WRITES, COMMAND_COPIES_FD, COMMAND_HERE };
struct command_redirect {
	size_t piece;
	enum command_redirect_kind kind;
	const char *target; /* file name, descriptor, or the here-string or delimiter */
};
/* One simple command. A launcher stands before what it runs. */
struct command_piece {
	const char *const *argv;    /* NULL-terminated; unquoted */
	const unsigned char *words; /* enum command_word of each */
	size_t argc;                /* 0: only assignments or redirections */
	unsigned int flags, depth;
};

/* @argv cut into what it would run. Keeps @argv's strings; returned owned. Never fails: what was
 * not understood is said by command_pieces_why(), and the pieces are then those that were seen. */
struct command_pieces *command_pieces_new(const char *const *argv);
void command_pieces_free(struct command_pieces *pieces);
size_t command_pieces_count(const struct command_pieces *pieces);
const struct command_piece *command_pieces_get(const struct command_pieces *pieces, size_t index);
/* Borrowed list of all redirections, those of a piece side by side. */
const struct command_redirect *command_pieces_redirects(const struct command_pieces *pieces,
							size_t *ret_count);
/* NULL: everything was understood. */
const char *command_pieces_why(const struct command_pieces *pieces);

struct command_rules *command_rules_new(void);
void command_rules_free(struct command_rules *rules);
/* `command ACTION TOKEN... [because "TEXT"] [unconfined]`: @tokens are those behind `command`.
 * @place ("FILE:LINE") and @line are shown when it decides. -EBADMSG with @flaw (may be NULL). */
int command_rules_add(struct command_rules *rules, const char *place, const char *line,
		      const struct command_token *tokens, size_t count, struct command_flaw *flaw);
/* `program NAME PATH...`: @tokens are those behind `program`. A second line for a name narrows. */
int command_rules_add_program(struct command_rules *rules, const struct command_token *tokens,
			      size_t count, struct command_flaw *flaw);
size_t command_rules_count(const struct command_rules *rules);
bool command_rules_has_denials(const struct command_rules *rules);

struct command_verdict {
	enum command_action action;
	enum command_action seen; /* of the pieces; differs where not all was understood */
	bool is_understood;
	bool is_unconfined; /* allowed, and every piece by a rule that says so */
	bool is_safe;       /* what no rule allows is known to read only */
	size_t piece;       /* which decided: index into command_pieces_new() of the same argv */
	char piece_text[COMMAND_TEXT_MAX];
	size_t number; /* of the rule that decided, from 1 in the order they were added; 0: none */
	char rule[COMMAND_TEXT_MAX]; /* "FILE:LINE: the line", or "" */
	char because[COMMAND_TEXT_MAX];
	char why[256];    /* not understood, or why no rule could allow; or "" */
	char danger[128]; /* why what no rule names is dangerous; or "" */
	/* What argv[0] was found to be, to be executed as exactly that; path "" when not looked up.
	 */
	struct command_file program;
};
/* Borrows all; @world may be NULL. Never fails: what is not understood is COMMAND_ASK at best. */
void command_rules_decide(const struct command_rules *rules, const struct command_world *world,
			  const char *const *argv, struct command_verdict *ret);
const char *command_action_name(enum command_action action); /* static */

/* The file that is about to be executed, as it was opened, and the one that its #! line names. */
struct command_opened {
	const char *path;
	uint64_t device, inode;
	const struct command_opened *interpreter; /* NULL: no script */
};
/* As command_rules_decide(), of @program started with the words @argv, whose first is the caller's
 * choice. @is_seen_enough: `seen` counts where a script is not understood. docs/decisions/0240. */
void command_program_decide(const struct command_rules *rules, const struct command_world *world,
			    const struct command_opened *program, const char *const *argv,
			    bool is_seen_enough, struct command_verdict *ret);

/* Understood, and every piece is known to read only, whatever it is given. */
bool command_is_safe(const char *const *argv);
/* NAME=VALUE that changes nothing of what a command does but its messages. */
bool command_is_harmless_variable(const char *assignment);
/* Some piece destroys or publishes. @ret_why: static text; may be NULL. */
bool command_is_dangerous(const char *const *argv, const char **ret_why);

/* Lines for "always" ("command allow npm run build"), which together would allow @argv; none where
 * a prefix would allow more than was seen (interpreters, launchers, shells, downloaders). */
struct command_proposal {
	char lines[COMMAND_PROPOSALS_MAX][COMMAND_TEXT_MAX];
	size_t count;
};
void command_proposal(const struct command_rules *rules, const struct command_world *world,
		      const char *const *argv, struct command_proposal *ret);
