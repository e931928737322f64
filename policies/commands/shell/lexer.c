#include <string.h>

#include "policies/commands/shell/lexer_impl.h"

/* One word that is being read. */
struct lexer {
	struct command_pieces *pieces;
	const char *text;
	size_t len, at;
	char *out; /* text_len of @pieces moves only when the word is complete */
	size_t room, used;
	struct lexer_word *word;
};

bool lexer_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Does this byte end an unquoted word? */
static bool lexer_is_end(char c)
{
	return c == '\0' || strchr(" \t\n;|&()<>", c) != NULL;
}

static void lexer_doubt(struct lexer *lexer, const char *why)
{
	lexer->word->kind = COMMAND_WORD_UNKNOWN;
	pieces_doubt(lexer->pieces, why);
}

static void lexer_put(struct lexer *lexer, char c)
{
	if (lexer->used + 1 < lexer->room)
		lexer->out[lexer->used++] = c;
	else
		lexer_doubt(lexer, "it is too long");
}

static char lexer_peek(const struct lexer *lexer, size_t ahead)
{
	return lexer->at + ahead < lexer->len ? lexer->text[lexer->at + ahead] : '\0';
}

static void lexer_add_span(struct lexer *lexer, size_t from, size_t until)
{
	struct lexer_word *word = lexer->word;

	if (word->span_count < LEXER_SPANS_MAX && until > from)
		word->spans[word->span_count++] = (struct lexer_span){ from, until - from };
}

size_t lexer_find_close(const char *text, size_t len, size_t at)
{
	char quote = '\0';
	size_t open = 1;

	for (; at < len; at++) {
		char c = text[at];

		if (c == '\\' && quote != '\'') {
			at++;
		} else if (quote) {
			quote = c == quote ? '\0' : quote;
		} else if (c == '\'' || c == '"') {
			quote = c;
		} else if (c == '(') {
			open++;
		} else if (c == ')' && --open == 0) {
			break;
		}
	}
	return at < len ? at : len;
}

static void lexer_skip_span(struct lexer *lexer, size_t from, size_t until)
{
	lexer_add_span(lexer, from, until);
	lexer->at = until < lexer->len ? until + 1 : lexer->len;
}

/* At a `$`. It stands for itself only where no shell could expand it. */
static void lexer_dollar(struct lexer *lexer, bool is_in_quotes)
{
	char next = lexer_peek(lexer, 1);

	if (next == '(') {
		lexer_doubt(lexer, "a substitution: $(...)");
		lexer_skip_span(lexer, lexer->at + 2,
				lexer_find_close(lexer->text, lexer->len, lexer->at + 2));
		return;
	}
	if (!lexer_is_end(next) && !(is_in_quotes && next == '"'))
		lexer_doubt(lexer, "it has an expansion: $...");
	lexer_put(lexer, '$');
	lexer->at++;
}

static void lexer_backtick(struct lexer *lexer)
{
	size_t from = lexer->at + 1, until = from;

	while (until < lexer->len && lexer->text[until] != '`')
		until += lexer->text[until] == '\\' ? 2 : 1;
	lexer_doubt(lexer, "it has a substitution in backticks");
	lexer_skip_span(lexer, from, until < lexer->len ? until : lexer->len);
}

static void lexer_single(struct lexer *lexer)
{
	for (lexer->at++; lexer->at < lexer->len; lexer->at++) {
		if (lexer->text[lexer->at] == '\'') {
			lexer->at++;
			return;
		}
		lexer_put(lexer, lexer->text[lexer->at]);
	}
	lexer->word->is_whole = false;
}

static void lexer_double(struct lexer *lexer)
{
	for (lexer->at++; lexer->at < lexer->len;) {
		char c = lexer->text[lexer->at], next = lexer_peek(lexer, 1);

		if (c == '"') {
			lexer->at++;
			return;
		}
		if (c == '$') {
			lexer_dollar(lexer, true);
		} else if (c == '`') {
			lexer_backtick(lexer);
		} else if (c == '\\' && next && strchr("$`\"\\\n", next)) {
			if (next != '\n')
				lexer_put(lexer, next);
			lexer->at += 2;
		} else {
			lexer_put(lexer, c);
			lexer->at++;
		}
	}
	lexer->word->is_whole = false;
}

static void lexer_backslash(struct lexer *lexer)
{
	char next = lexer_peek(lexer, 1);

	if (lexer->at + 1 >= lexer->len)
		lexer->word->is_whole = false;
	else if (next != '\n')
		lexer_put(lexer, next);
	lexer->at += lexer->at + 1 < lexer->len ? 2 : 1;
}

/* An unquoted byte that some shell may interpret. */
static void lexer_plain(struct lexer *lexer, size_t start)
{
	char c = lexer->text[lexer->at];
	bool is_first = lexer->at == start;

	if (c == '{' || c == '}') {
		bool is_pair = c == '{' ? lexer_peek(lexer, 1) == '}'
					: !is_first && lexer->text[lexer->at - 1] == '{';
		bool is_alone = is_first && lexer_is_end(lexer_peek(lexer, 1));

		if (!is_pair && !is_alone)
			lexer_doubt(lexer, "braces");
	} else if (strchr("*?[", c) || (c == '~' && is_first)) {
		if (lexer->word->kind == COMMAND_WORD_PLAIN)
			lexer->word->kind = COMMAND_WORD_GLOB;
	} else if (c == '=' && is_first && !lexer_is_end(lexer_peek(lexer, 1))) {
		lexer_doubt(lexer, "it has a word that begins with =");
	} else if ((unsigned char)c < ' ' || c == 0x7f) {
		lexer_doubt(lexer, "it has a control character");
	}
	lexer_put(lexer, c);
	lexer->at++;
}

static void lexer_step(struct lexer *lexer, size_t start)
{
	char c = lexer->text[lexer->at];

	if (strchr("'\"\\", c))
		lexer->word->is_quoted = true;
	if (c == '\'')
		lexer_single(lexer);
	else if (c == '"')
		lexer_double(lexer);
	else if (c == '\\')
		lexer_backslash(lexer);
	else if (c == '$')
		lexer_dollar(lexer, false);
	else if (c == '`')
		lexer_backtick(lexer);
	else
		lexer_plain(lexer, start);
}

void lexer_read(struct command_pieces *pieces, const char *text, size_t len, size_t *at,
		struct lexer_word *ret)
{
	struct lexer lexer = {
		.pieces = pieces,
		.text = text,
		.len = len,
		.at = *at,
		.out = pieces->text + pieces->text_len,
		.room = PIECES_TEXT_MAX - pieces->text_len,
		.word = ret,
	};

	*ret = (struct lexer_word){ .is_whole = true };
	while (lexer.at < len && !lexer_is_end(text[lexer.at]))
		lexer_step(&lexer, *at);
	if (!ret->is_whole)
		lexer_doubt(&lexer, "a quote is not closed");
	*at = lexer.at;
	ret->len = lexer.used;
	ret->text = pieces_text(pieces, lexer.used);
}

void lexer_read_body(struct command_pieces *pieces, const char *text, size_t from, size_t until,
		     struct lexer_word *ret)
{
	struct lexer lexer = {
		.pieces = pieces, .text = text, .len = until, .at = from, .word = ret
	};

	*ret = (struct lexer_word){ .is_whole = true };
	while (lexer.at < until) {
		if (text[lexer.at] == '\\')
			lexer.at += 2;
		else if (text[lexer.at] == '$' && lexer_peek(&lexer, 1) == '(')
			lexer_dollar(&lexer, true);
		else if (text[lexer.at] == '`')
			lexer_backtick(&lexer);
		else if (text[lexer.at++] == '$' && !lexer_is_end(lexer_peek(&lexer, 0)))
			lexer_doubt(&lexer, "it has an expansion: $...");
	}
}
