#include <stdio.h>
#include <string.h>

#include "policies/hosts/host_impl.h"
#include "policies/language/rule_line_impl.h"

#define HTTP_METHOD_MAX 32
#define HTTP_VALUE_MAX  1024
/* RFC 9110 §5.6.2 */
#define HTTP_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define HTTP_TOKEN   "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz" HTTP_LETTERS

/* NULL, or the error in one value of a clause. */
typedef const char *(*clauses_http_check_fn)(const char *text);

static const char *clauses_http_check_method(const char *text)
{
	if (text[strspn(text, HTTP_LETTERS "0123456789-_")] != '\0' ||
	    strlen(text) > HTTP_METHOD_MAX)
		return "a method has only capital letters";
	return NULL;
}

static bool clauses_http_is_dots(const char *segment, size_t len)
{
	return (len == 1 || len == 2) && strncmp(segment, "..", len) == 0;
}

/* Reads the path as a server would, and refuses an ambiguous one. */
static const char *clauses_http_check_path(const char *text)
{
	if (text[0] != '/')
		return "a path must begin with /";
	for (const char *at = text; *at; at++) {
		if (*at <= ' ' || *at >= 0x7f || strchr("?#\\\"<>", *at))
			return "a path must not contain ?, #, backslashes, blanks or bytes that "
			       "are not ASCII";
		if (*at == '%' && (strspn(at + 1, "0123456789ABCDEFabcdef") < 2))
			return "% in a path must be followed by two hexadecimal digits";
		if (*at == '/' && clauses_http_is_dots(at + 1, strcspn(at + 1, "/")))
			return "the path without . and .. segments";
	}
	return NULL;
}

static const char *clauses_http_check_query(const char *text)
{
	for (const char *at = text; *at; at++) {
		if (*at <= ' ' || *at >= 0x7f || strchr("?#&\\\"<>", *at))
			return "a parameter is NAME or NAME=VALUE, one parameter for each word";
	}
	return text[0] == '=' ? "the parameter has no name" : NULL;
}

static const char *clauses_http_check_header(const char *text)
{
	size_t name = strspn(text, HTTP_TOKEN);

	if (name > 0 && text[name] == '\0')
		return NULL;
	if (name == 0 || text[name] != ':' || text[name + 1] != ' ' || text[name + 2] == '\0')
		return "a header field is NAME, or \"NAME: VALUE\" in quotes";
	for (const char *at = text + name; *at; at++) {
		if (*at < ' ' || *at >= 0x7f)
			return "the value of a header field may only contain printable ASCII";
	}
	return NULL;
}

/* Reads one or more values and checks each. */
static bool clauses_http_values(struct rule_line *rl, enum clause_kind kind, const char *advice,
				clauses_http_check_fn check)
{
	char text[HTTP_VALUE_MAX];

	clauses_begin(rl, kind);
	do {
		size_t at = rule_line_has_word(rl) ? rule_line_word(rl)->at : 0;

		if (!clauses_take(rl, advice, true, text, sizeof(text)))
			return false;
		const char *wrong = check(text);

		if (wrong)
			rule_line_problem(rl, at, advice, wrong);
		clauses_add(rl, kind, text, 0, 0);
	} while (!rule_line_is_clause_over(rl));
	return true;
}

bool clauses_http_method(struct rule_line *rl)
{
	return clauses_http_values(rl, CLAUSE_METHOD, "method GET HEAD", clauses_http_check_method);
}

bool clauses_http_path(struct rule_line *rl)
{
	return clauses_http_values(rl, CLAUSE_PATH, "path /api/** /login", clauses_http_check_path);
}

bool clauses_http_query(struct rule_line *rl)
{
	return clauses_http_values(rl, CLAUSE_QUERY, "query page q=*", clauses_http_check_query);
}

bool clauses_http_header(struct rule_line *rl)
{
	return clauses_http_values(rl, CLAUSE_HEADER, "header \"accept: text/*\"",
				   clauses_http_check_header);
}

bool clauses_http_fronted_by(struct rule_line *rl)
{
	static const char advice[] = "fronted-by edge.example.net";

	clauses_begin(rl, CLAUSE_FRONTED_BY);
	do {
		size_t at = rule_line_has_word(rl) ? rule_line_word(rl)->at : 0;
		struct host host = { 0 };
		struct flaw flaw = { 0 };
		char text[HTTP_VALUE_MAX];

		if (!clauses_take(rl, advice, true, text, sizeof(text)))
			return false;
		if (host_canonical(text, strlen(text), &host, &flaw) < 0)
			rule_line_problem(rl, at, advice, flaw.words);
		else if (host.addr.family != 0)
			rule_line_problem(rl, at, advice, "a server name cannot be an address");
		clauses_add(rl, CLAUSE_FRONTED_BY, host.text, 0, 0);
	} while (!rule_line_is_clause_over(rl));
	return true;
}
