#include "policies/commands/shell/script_impl.h"

#include <string.h>

#include "base/mem.h"
#include "policies/commands/shell/lexer_impl.h"
#include "policies/commands/shell/redirect_impl.h"
#include "policies/commands/shell/reserved_impl.h"
#include "policies/commands/shell/shell_impl.h"
#include "policies/commands/shell/variable_impl.h"

#define SCRIPT_WORDS_MAX    1024 /* of one command */
#define SCRIPT_GROUPS_MAX   16
#define SCRIPT_HEREDOCS_MAX 8
#define SCRIPT_SPANS_MAX    64

struct heredoc {
	const char *delimiter;
	size_t len;
	bool is_literal, is_stripped;
	size_t piece;
};

struct script {
	struct command_pieces *pieces;
	const char *text;
	size_t len, at;
	struct place place;
	/* The command being read. */
	const char *words[SCRIPT_WORDS_MAX];
	unsigned char kinds[SCRIPT_WORDS_MAX];
	size_t count, first_redirect;
	struct lexer_span spans[SCRIPT_SPANS_MAX];
	size_t span_count;
	bool has_assigned, has_risky, is_dropped;
	/* State between commands. */
	bool is_wanted;  /* an operator must be followed by a command */
	bool is_piped;   /* the next command reads the output of the last one */
	bool is_grouped; /* a group has just ended */
	char groups[SCRIPT_GROUPS_MAX];
	size_t group_count;
	struct heredoc heredocs[SCRIPT_HEREDOCS_MAX];
	size_t heredoc_count;
};

static void doubt(struct script *s, const char *why)
{
	pieces_doubt(s->pieces, why);
}

static bool has_command(const struct script *s)
{
	return s->count > 0 || s->has_assigned || s->is_dropped ||
	       s->pieces->redirect_count > s->first_redirect;
}

static void read_spans(struct script *s, const struct lexer_span *spans, size_t count)
{
	struct place place = { s->place.flags | COMMAND_INSERTED, s->place.depth + 1 };

	for (size_t i = 0; i < count && s->place.depth < COMMAND_DEPTH_MAX; i++)
		script_read(s->pieces, s->text + spans[i].at, spans[i].len, &place);
}

static void commit(struct script *s)
{
	struct place place = s->place;
	struct wording wording = { s->words, s->kinds, s->count };

	for (size_t i = s->first_redirect; i < s->pieces->redirect_count; i++)
		s->pieces->redirects[i].piece = s->pieces->count;
	place.flags |= COMMAND_IN_SHELL | (s->has_risky ? COMMAND_ASSIGNS : 0U) |
		       (s->is_piped ? COMMAND_PIPED : 0U);
	if (!s->is_dropped)
		pieces_add(s->pieces, &wording, &place);
	/* An assignment without a command stays in effect, and so does a change of directory. */
	if (s->count == 0 && s->has_risky)
		s->place.flags |= COMMAND_ASSIGNS;
	if (s->count > 0 && shell_moves(s->words[0]))
		s->place.flags |= COMMAND_MOVED;
}

/* False: there was no command. */
static bool end_command(struct script *s)
{
	if (!has_command(s)) {
		bool is_fine = s->is_grouped;

		s->is_grouped = false;
		return is_fine;
	}
	if (s->is_grouped)
		doubt(s, "there is unexpected text after a group");
	commit(s);

	size_t span_count = s->span_count;

	s->count = 0;
	s->span_count = 0;
	s->has_assigned = s->has_risky = s->is_dropped = false;
	s->is_wanted = s->is_piped = s->is_grouped = false;
	read_spans(s, s->spans, span_count);
	s->first_redirect = s->pieces->redirect_count;
	return true;
}

static bool is_delimiter(const struct heredoc *heredoc, const char *line, size_t len)
{
	while (heredoc->is_stripped && len > 0 && *line == '\t') {
		line++;
		len--;
	}
	return len == heredoc->len && memcmp(line, heredoc->delimiter, len) == 0;
}

static void use_body(struct script *s, const struct heredoc *heredoc, size_t from, size_t until)
{
	const struct command_piece *piece =
		heredoc->piece < s->pieces->count ? &s->pieces->list[heredoc->piece] : NULL;
	struct lexer_word word = { 0 };

	if (!heredoc->is_literal) {
		lexer_read_body(s->pieces, s->text, from, until, &word);
		read_spans(s, word.spans, word.span_count);
	}
	if (piece && piece->argc > 0 && shell_is(piece) && s->place.depth < COMMAND_DEPTH_MAX)
		script_read(s->pieces, s->text + from, until - from,
			    &(struct place){ s->place.flags, s->place.depth + 1 });
}

/* Reads the here-document bodies that begin at @at, behind a newline. */
static void read_heredocs(struct script *s)
{
	for (size_t i = 0; i < s->heredoc_count; i++) {
		const struct heredoc *heredoc = &s->heredocs[i];
		size_t from = s->at;
		bool is_ended = false;

		while (s->at < s->len && !is_ended) {
			size_t start = s->at;
			const char *newline = memchr(s->text + start, '\n', s->len - start);
			size_t until = newline ? (size_t)(newline - s->text) : s->len;

			is_ended = is_delimiter(heredoc, s->text + start, until - start);
			/* The next line is part of this one, so it cannot be the end. */
			if (!heredoc->is_literal && until > start && s->text[until - 1] == '\\')
				doubt(s, "a here-document has a line that ends with a backslash");
			s->at = newline ? until + 1 : until;
			if (is_ended)
				use_body(s, heredoc, from, start);
		}
		if (is_ended)
			continue;
		doubt(s, "a here-document has no end");
		use_body(s, heredoc, from, s->len);
	}
	s->heredoc_count = 0;
}

static void keep_spans(struct script *s, const struct lexer_word *word)
{
	for (size_t i = 0; i < word->span_count && s->span_count < SCRIPT_SPANS_MAX; i++)
		s->spans[s->span_count++] = word->spans[i];
}

static void add_heredoc(struct script *s, const struct lexer_word *word, bool is_stripped)
{
	if (s->heredoc_count == SCRIPT_HEREDOCS_MAX || !word->text) {
		doubt(s, "there are too many here-documents");
		return;
	}
	s->heredocs[s->heredoc_count++] = (struct heredoc){ word->text, word->len, word->is_quoted,
							    is_stripped, s->pieces->count };
}

static void add_word(struct script *s, const char *text, enum command_word kind)
{
	if (s->count == SCRIPT_WORDS_MAX) {
		doubt(s, "a command has too many words");
		return;
	}
	s->kinds[s->count] = (unsigned char)kind;
	s->words[s->count++] = text;
}

/* <(...) and >(...), at the parenthesis. */
static void read_process(struct script *s)
{
	size_t from = s->at + 1, until = lexer_find_close(s->text, s->len, from);

	doubt(s, "it has a process substitution");
	if (s->span_count < SCRIPT_SPANS_MAX)
		s->spans[s->span_count++] = (struct lexer_span){ from, until - from };
	add_word(s, "", COMMAND_WORD_UNKNOWN);
	s->at = until < s->len ? until + 1 : until;
}

static void read_redirect(struct script *s)
{
	const char *operator= redirect_operator(s->text + s->at, s->len - s->at);
	struct lexer_word word;

	s->at += strlen(operator);
	if (s->at < s->len && s->text[s->at] == '(') {
		read_process(s);
		return;
	}
	while (s->at < s->len && lexer_is_blank(s->text[s->at]))
		s->at++;
	size_t start = s->at;

	lexer_read(s->pieces, s->text, s->len, &s->at, &word);
	if (s->at == start || !word.text) {
		doubt(s, "a redirection has no target");
		return;
	}
	keep_spans(s, &word);
	if (strcmp(operator, "<<") == 0 || strcmp(operator, "<<-") == 0)
		add_heredoc(s, &word, operator[2] == '-');
	else if (word.kind != COMMAND_WORD_PLAIN && strcmp(operator, "<<<") != 0)
		doubt(s, "a redirection has an unknown target");
	else if (redirect_is_odd(operator, word.text))
		doubt(s, "shells disagree about a redirection");
	pieces_add_redirect(s->pieces, redirect_kind(operator, word.text), word.text);
}

static void open_group(struct script *s, char c)
{
	if (has_command(s)) {
		doubt(s, "there is a parenthesis inside a command");
		(void)end_command(s);
	}
	if (s->is_grouped)
		doubt(s, "there is unexpected text after a group");
	if (s->group_count == SCRIPT_GROUPS_MAX) {
		doubt(s, "groups are nested too deeply");
		return;
	}
	s->groups[s->group_count++] = c;
	s->is_wanted = true;
	s->is_grouped = false;
}

static void close_group(struct script *s, char c)
{
	(void)end_command(s);
	if (s->group_count == 0 || s->groups[s->group_count - 1] != c || s->is_wanted)
		doubt(s, "a closing bracket does not match its opening bracket");
	s->group_count -= s->group_count > 0;
	s->is_grouped = true;
	s->is_wanted = false;
}

static void read_newline(struct script *s)
{
	(void)end_command(s);
	s->at++;
	read_heredocs(s);
}

/* ; & | && || |& ( ) */
static void read_operator(struct script *s)
{
	char c = s->text[s->at], next = s->at + 1 < s->len ? s->text[s->at + 1] : '\0';
	bool is_double = next == c && (c == '&' || c == '|');

	s->at++;
	if (c == '(') {
		if (next == '(')
			doubt(s, "arithmetic: ((...))");
		open_group(s, '(');
		return;
	}
	if (c == ')') {
		close_group(s, '(');
		return;
	}
	if (!end_command(s))
		doubt(s, "an operator has no command");
	if (is_double || (c == '|' && next == '&'))
		s->at++;
	if (c == ';' && (next == ';' || next == '&'))
		doubt(s, "it has ;; or another end of a case");
	s->is_wanted = is_double || c == '|';
	s->is_piped = c == '|' && !is_double;
}

/* Words that begin or end a construct. True: @word was one, and is consumed. */
static bool read_reserved(struct script *s, const struct lexer_word *word)
{
	if (s->count > 0 || s->has_assigned || word->is_quoted)
		return false;
	if (strcmp(word->text, "!") == 0)
		return true;
	if (strcmp(word->text, "{") == 0 && !has_command(s)) {
		open_group(s, '{');
		return true;
	}
	if (strcmp(word->text, "}") == 0 && !has_command(s)) {
		close_group(s, '{');
		return true;
	}
	enum reserved reserved = reserved_find(word->text);

	if (reserved == RESERVED_NOT)
		return false;
	doubt(s, "it has a compound command");
	s->is_dropped |= reserved == RESERVED_LINE;
	s->is_grouped = s->is_grouped && reserved == RESERVED_LINE;
	return true;
}

static void read_word(struct script *s)
{
	size_t start = s->at;
	struct lexer_word word;

	size_t digits = redirect_descriptor(s->text + s->at, s->len - s->at);

	if (digits > 0) {
		s->at += digits;
		read_redirect(s);
		return;
	}
	lexer_read(s->pieces, s->text, s->len, &s->at, &word);
	if (!word.text)
		return;
	keep_spans(s, &word);
	if (s->heredoc_count > 0 && memchr(s->text + start, '\n', s->at - start))
		doubt(s, "there is a newline inside a word before a here-document");
	if (read_reserved(s, &word))
		return;
	if (!word.is_quoted && (strcmp(word.text, "{") == 0 || strcmp(word.text, "}") == 0))
		doubt(s, "there is a brace that some shells read as the start of a group");
	if (s->count == 0 && variable_is_assignment(s->text + start, s->at - start)) {
		s->has_assigned = true;
		s->has_risky |= word.kind != COMMAND_WORD_PLAIN || !variable_is_harmless(word.text);
		return;
	}
	add_word(s, word.text, word.kind);
}

/* Processes a byte outside of words. */
static void read_step(struct script *s)
{
	char c = s->text[s->at], next = s->at + 1 < s->len ? s->text[s->at + 1] : '\0';

	if (lexer_is_blank(c)) {
		s->at++;
	} else if (c == '\\' && next == '\n') {
		s->at += 2;
	} else if (c == '\n') {
		read_newline(s);
	} else if (c == '#') {
		while (s->at < s->len && s->text[s->at] != '\n')
			s->at++;
	} else if (c == '<' || c == '>' || (c == '&' && next == '>')) {
		read_redirect(s);
	} else if (c != '\0' && strchr(";|&()", c)) {
		read_operator(s);
	} else if (c == '\0') {
		doubt(s, "a NUL");
		s->at++;
	} else {
		read_word(s);
	}
}

static void read_all(struct script *s)
{
	size_t before = s->pieces->count;

	while (s->at < s->len)
		read_step(s);
	(void)end_command(s);
	if (s->is_wanted)
		doubt(s, "it ends with an operator");
	if (s->group_count > 0)
		doubt(s, "a group is not closed");
	if (s->heredoc_count > 0)
		doubt(s, "a here-document has no end");
	if (s->pieces->count == before)
		doubt(s, "the script has no command");
}

void script_read(struct command_pieces *pieces, const char *text, size_t len,
		 const struct place *place)
{
	if (len > COMMAND_SCRIPT_MAX) {
		pieces_doubt(pieces, "the script is too long");
		return;
	}
	auto_free struct script *s = mem_new(sizeof(*s));

	*s = (struct script){ .pieces = pieces,
			      .text = text,
			      .len = len,
			      .place = *place,
			      .first_redirect = pieces->redirect_count };
	read_all(s);
}
