/* commands: decides which command lines may run: sallyport-policy(5). Scripts are split into
 * pieces; launchers are unwrapped. Pure: no I/O, the caller looks files up. */
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

/* Zero is the safe value; the order is the strength: the strongest action of all pieces wins.
 * UNMATCHED: no rule matches, the default decides. */
enum command_action { COMMAND_DENY, COMMAND_ASK, COMMAND_UNMATCHED, COMMAND_ALLOW };

/* A word of a policy line, as written: without quotes, but with escapes (\" and \\). */
struct command_token {
	const char *text;
	size_t len;
	bool is_quoted;
};
/* The error in a line: at which token (their count: behind the last), at which byte of it, and what
 * to write instead ("" without a suggestion). */
struct command_flaw {
	size_t token, at;
	char words[128];
	char instead[128];
};

struct command_file {
	char path[COMMAND_PATH_MAX];
	uint64_t device, inode;
};
/* What the caller knows about files; any function may be NULL. */
struct command_world {
	/* Finds the file of @name (bare: in PATH, which has no relative entries). 0 or -errno. */
	int (*resolve)(const char *name, struct command_file *ret, void *arg);
	/* May a redirection write @path? If NULL, only the null device and similar ones. */
	bool (*may_write)(const char *path, void *arg);
	/* Could a command in a sandbox choose the file of @name, or its content? If NULL, no. */
	bool (*may_be_theirs)(const char *name, void *arg);
	void *arg;
};

enum command_word { COMMAND_WORD_PLAIN, COMMAND_WORD_GLOB, COMMAND_WORD_UNKNOWN };
enum command_piece_flag {
	COMMAND_PASSES_ON = 1 << 0, /* a launcher: adds nothing, so it needs no allow of its own */
	COMMAND_GUESS = 1 << 1, /* perhaps run by something that was not understood: denials only */
	COMMAND_OPEN = 1 << 2,  /* more words come from standard input */
	COMMAND_ELSEWHERE = 1 << 3, /* its program is looked up in another place: never allowed */
	COMMAND_IN_SHELL = 1 << 4,  /* means builtins of the shell */
	COMMAND_PIPED = 1 << 5,     /* reads the output of the piece before it */
	COMMAND_ASSIGNS = 1 << 6,   /* sets a variable that may change what runs */
	COMMAND_MOVED = 1 << 7,     /* runs in an unknown directory */
	COMMAND_INSERTED = 1 << 8,  /* in a substitution: its output becomes words */
};
enum command_redirect_kind { COMMAND_READS, COMMAND_WRITES, COMMAND_COPIES_FD, COMMAND_HERE };
struct command_redirect {
	size_t piece;
	enum command_redirect_kind kind;
	const char *target; /* file name, descriptor, or the here-string or delimiter */
};
/* One simple command. A launcher comes before the command it runs. */
struct command_piece {
	const char *const *argv;    /* NULL-terminated; unquoted */
	const unsigned char *words; /* enum command_word of each */
	size_t argc;                /* 0: assignments or redirections only */
	unsigned int flags, depth;
};

/* Splits @argv into the commands it would run. Keeps @argv's strings; returned owned. The pieces
 * are those that were found: command_pieces_why() says what was not understood. */
struct command_pieces *command_pieces_new(const char *const *argv);
void command_pieces_free(struct command_pieces *pieces);
size_t command_pieces_count(const struct command_pieces *pieces);
const struct command_piece *command_pieces_get(const struct command_pieces *pieces, size_t index);
/* Borrowed list of all redirections; those of one piece are adjacent. */
const struct command_redirect *command_pieces_redirects(const struct command_pieces *pieces,
							size_t *ret_count);
/* What was not understood; NULL: nothing. */
const char *command_pieces_why(const struct command_pieces *pieces);

struct command_rules *command_rules_new(void);
void command_rules_free(struct command_rules *rules);
/* `command ACTION TOKEN... [because "TEXT"] [unconfined]`: @tokens follow `command`. @place
 * ("FILE:LINE") and @line are shown when the rule decides. -EBADMSG with @flaw (may be NULL). */
int command_rules_add(struct command_rules *rules, const char *place, const char *line,
		      const struct command_token *tokens, size_t count, struct command_flaw *flaw);
/* `program NAME PATH...`: @tokens are those behind `program`. A second line for the same name keeps
 * only the paths of both. */
int command_rules_add_program(struct command_rules *rules, const struct command_token *tokens,
			      size_t count, struct command_flaw *flaw);
size_t command_rules_count(const struct command_rules *rules);
bool command_rules_has_denials(const struct command_rules *rules);

struct command_verdict {
	enum command_action action;
	enum command_action seen; /* of the pieces; differs when not all was understood */
	bool is_understood;
	bool is_unconfined; /* allowed, by `unconfined` for every piece, and none may be theirs */
	bool is_safe;       /* the pieces that no rule allows only read */
	size_t piece;       /* that decided: index into command_pieces_new() of the same argv */
	enum command_action own; /* `seen`; of a shell alone, if that piece is executed by it */
	char piece_text[COMMAND_TEXT_MAX];
	size_t number; /* of the rule that decided, from 1 in the order they were added; 0: none */
	char rule[COMMAND_TEXT_MAX]; /* "FILE:LINE: the line", or "" */
	char because[COMMAND_TEXT_MAX];
	char why[256];    /* what was not understood, or why no rule can allow it; or "" */
	char danger[128]; /* why a command without a rule is dangerous; or "" */
	struct command_file program; /* of argv[0], to be executed; path "": not looked up */
};
/* Borrows all; @world may be NULL. What was not understood is COMMAND_ASK at best. */
void command_rules_decide(const struct command_rules *rules, const struct command_world *world,
			  const char *const *argv, struct command_verdict *ret);
const char *command_action_name(enum command_action action); /* static */

/* The opened file that is about to be executed, and the one that its #! line names. */
struct command_opened {
	const char *path;
	uint64_t device, inode;
	const struct command_opened *interpreter; /* NULL: not a script */
};
/* As command_rules_decide(), for @program started with @argv, whose first word the caller chose.
 * What a shell executes is decided then: here it can only be denied. docs/decisions/0030. */
void command_program_decide(const struct command_rules *rules, const struct command_world *world,
			    const struct command_opened *program, const char *const *argv,
			    struct command_verdict *ret);

/* It was understood, and every piece only reads, whatever its operands are. */
bool command_is_safe(const char *const *argv);
/* Is it a NAME=VALUE that changes nothing about a command but its messages? */
bool command_is_harmless_variable(const char *assignment);
/* A piece destroys or publishes something. @ret_why: static text; may be NULL. */
bool command_is_dangerous(const char *const *argv, const char **ret_why);

/* Lines for "always" ("command allow npm run build"), which together would allow @argv. None where
 * a prefix would allow more than this command (interpreters, launchers, shells, downloaders). */
struct command_proposal {
	char lines[COMMAND_PROPOSALS_MAX][COMMAND_TEXT_MAX];
	size_t count;
};
void command_proposal(const struct command_rules *rules, const struct command_world *world,
		      const char *const *argv, struct command_proposal *ret);
