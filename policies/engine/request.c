/* Every comparison is made twice: with the bytes as they are sent, and as a server may read them
 * after decoding, merging slashes and dropping parameters. A rule that loosens must match both, a
 * rule that tightens one of them. */
#include "policies/engine/request_impl.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"

static int request_hex(char digit)
{
	const char *digits = "0123456789abcdef";
	const char *at = strchr(digits, digit >= 'A' && digit <= 'F' ? digit - 'A' + 'a' : digit);

	return digit != '\0' && at ? (int)(at - digits) : -1;
}

/* The byte that %XX at @at means, or -1. */
static int request_escape(const char *at)
{
	int high = at[0] == '%' ? request_hex(at[1]) : -1;
	int low = high < 0 ? -1 : request_hex(at[2]);

	return low < 0 ? -1 : high * 16 + low;
}

static char request_lower(char byte)
{
	return byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
}

/* Compares one byte of the glob with one of the text: returns the length of the former, or 0. */
static size_t request_glob_byte(const char *glob, char byte, bool is_loose)
{
	int escaped = is_loose ? request_escape(glob) : -1;
	char wanted = escaped < 0 ? *glob : (char)escaped;

	if (is_loose ? request_lower(wanted) != request_lower(byte) : wanted != byte)
		return 0;
	return escaped < 0 ? 1 : 3;
}

/* Does the glob match all of @text? `*` matches any run of bytes, in a path (@stops) without a
 * slash; `**` any run. @is_loose: ignores ASCII case, and %XX in @glob means its byte.
 *
 * Backtracks to two positions: the last `*`, until a slash, and the last `**`. Earlier ones need
 * not be tried again, because the shortest match leaves most for the rest. */
static bool request_glob(const char *glob, const char *text, bool stops, bool is_loose)
{
	const char *star = NULL, *star_text = NULL, *wide = NULL, *wide_text = NULL;

	while (*text || *glob) {
		size_t step;

		if (glob[0] == '*' && (glob[1] == '*' || !stops)) {
			while (*glob == '*')
				glob++;
			wide = glob;
			wide_text = text;
			star = NULL;
		} else if (glob[0] == '*') {
			star = ++glob;
			star_text = text;
		} else if (*text && *glob && (step = request_glob_byte(glob, *text, is_loose))) {
			glob += step;
			text++;
		} else if (star && *star_text && *star_text != '/') {
			glob = star;
			text = ++star_text;
		} else if (wide && *wide_text) {
			glob = wide;
			text = ++wide_text;
			star = NULL;
		} else {
			return false;
		}
	}
	return true;
}

/* Could a server read a segment of @path as `.` or `..`, or find another slash or end in it? */
static bool request_is_doubtful(const char *path)
{
	for (const char *at = path; *at; at++) {
		int byte = request_escape(at);

		if (*at == '\\' || (*at == '%' && byte < 0))
			return true;
		/* Also %25, for servers that decode twice. */
		if (byte == '/' || byte == '\\' || byte == '.' || byte == '%' || byte == ';' ||
		    (byte >= 0 && byte < 0x20) || byte == 0x7f)
			return true;
		if (*at == '/') {
			size_t dots = strspn(at + 1, ".");

			if ((dots == 1 || dots == 2) && strchr("/;", at[1 + dots]))
				return true; /* strchr() also finds the NUL */
		}
	}
	return false;
}

/* Normalises @path as a server may read it: decoded, slashes merged, without ;parameters. */
static void request_normal(const char *path, char out[POLICY_PATH_MAX])
{
	size_t len = 0;

	for (const char *at = path; *at && len < POLICY_PATH_MAX - 1; at++) {
		int byte = request_escape(at);

		if (*at == ';')
			at += strcspn(at, "/") - 1;
		else if (*at == '/' && len > 0 && out[len - 1] == '/')
			continue;
		else
			out[len++] = byte > 0 ? (char)byte : *at;
		if (byte > 0)
			at += 2;
	}
	out[len] = '\0';
}

static bool request_method(const char *wanted, const struct policy_request *request,
			   bool is_loosening)
{
	if (is_loosening)
		return strcmp(wanted, request->method) == 0;
	return text_equal_nocase(request->method, strlen(request->method), wanted);
}

static bool request_path(const char *glob, const struct policy_request *request, bool is_loosening)
{
	char normal[POLICY_PATH_MAX];

	if (request_is_doubtful(request->path))
		return !is_loosening;
	request_normal(request->path, normal);
	bool as_sent = request_glob(glob, request->path, true, false);
	bool as_read = request_glob(glob, normal, true, true);

	return is_loosening ? as_sent && as_read
			    : as_sent || as_read || request_glob(glob, request->path, true, true);
}

/* Decodes as a server may: with blanks for pluses. False: it is ambiguous. */
static bool request_decode(const char *text, size_t len, char out[POLICY_QUERY_MAX])
{
	bool is_plain = true;
	size_t used = 0;

	for (size_t i = 0; i < len && used < POLICY_QUERY_MAX - 1; i++) {
		int byte = len - i > 2 ? request_escape(text + i) : -1;

		is_plain &= text[i] != '%' || byte > 0;
		out[used++] = byte > 0 ? (char)byte : text[i] == '+' ? ' ' : text[i];
		i += byte > 0 ? 2 : 0;
	}
	out[used] = '\0';
	return is_plain;
}

/* Matches NAME or NAME=GLOB with one parameter. */
static bool request_parameter(const char *wanted, const char *parameter, size_t len,
			      bool is_loosening)
{
	char sent[POLICY_QUERY_MAX], read[POLICY_QUERY_MAX];
	const char *mark = strchr(wanted, '=') ? NULL : memchr(parameter, '=', len);

	if (mark)
		len = (size_t)(mark - parameter);
	memcpy(sent, parameter, len);
	sent[len] = '\0';
	bool is_plain = request_decode(parameter, len, read);
	bool as_sent = request_glob(wanted, sent, false, false);
	bool as_read = request_glob(wanted, read, false, true);

	return is_loosening ? is_plain && as_sent && as_read : !is_plain || as_sent || as_read;
}

/* The values of one kind of clause of a rule. */
struct request_values {
	const struct policy *policy;
	const struct rule *rule;
	enum clause_kind kind;
};

typedef bool (*request_value_fn)(const char *value, const void *part, size_t len,
				 bool is_loosening);

static bool request_any(const struct request_values *values, request_value_fn fn, const void *part,
			size_t len, bool is_loosening)
{
	for (uint32_t i = 0; i < values->rule->clause_count; i++) {
		const struct clause *clause = &values->policy->clauses[values->rule->clauses + i];

		if (clause->kind == values->kind &&
		    fn(values->policy->names + clause->text, part, len, is_loosening))
			return true;
	}
	return false;
}

static bool request_is_method(const char *value, const void *part, size_t len, bool is_loosening)
{
	return request_method(value, part, is_loosening);
}

static bool request_is_path(const char *value, const void *part, size_t len, bool is_loosening)
{
	return request_path(value, part, is_loosening);
}

static bool request_is_parameter(const char *value, const void *part, size_t len, bool is_loosening)
{
	return request_parameter(value, part, len, is_loosening);
}

/* A rule that loosens must list every parameter of the query, and there must be one; for a rule
 * that tightens, any match is enough. Some servers also split at semicolons. */
static bool request_query(const struct request_values *values, const char *query, bool is_loosening)
{
	if (is_loosening && (query[0] == '\0' || strchr(query, ';')))
		return false;
	for (const char *at = query; *at;) {
		size_t len = strcspn(at, "&;");
		bool is_listed = request_any(values, request_is_parameter, at, len, is_loosening);

		if (is_listed != is_loosening)
			return !is_loosening;
		at += len + (at[len] != '\0');
	}
	return is_loosening;
}

/* Are the names equal except for case and bytes that are not letters or digits? Applications that
 * get fields as variables cannot tell them apart. */
static bool request_is_name_like(const char *name, const char *wanted, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (strncasecmp(name + i, wanted + i, 1) != 0 &&
		    (isalnum((unsigned char)name[i]) || isalnum((unsigned char)wanted[i])))
			return false;
	}
	return true;
}

/* Matches "NAME" or "NAME: GLOB". A field with a similar name is ambiguous. If there are several
 * fields of that name, a rule that loosens must match all of them. */
static bool request_is_field(const char *value, const void *part, size_t len, bool is_loosening)
{
	const struct policy_request *request = part;
	size_t name = strcspn(value, ":");
	const char *glob = value[name] ? value + name + 2 : "*";
	bool has_any = false;

	for (size_t i = 0; i < request->field_count; i++) {
		const struct policy_field *field = &request->fields[i];

		if (strlen(field->name) != name || !request_is_name_like(field->name, value, name))
			continue;
		if (strncasecmp(field->name, value, name) != 0)
			return !is_loosening;
		bool matches = request_glob(glob, field->value, false, false) ||
			       (!is_loosening && request_glob(glob, field->value, false, true));

		if (matches != is_loosening)
			return !is_loosening;
		has_any = true;
	}
	return has_any && is_loosening;
}

static bool request_is_known(const struct policy_request *request, enum clause_kind kind)
{
	switch ((unsigned int)kind) {
	case CLAUSE_METHOD:
		return request->method != NULL;
	case CLAUSE_PATH:
		return request->path != NULL;
	case CLAUSE_QUERY:
		return request->query != NULL;
	case CLAUSE_HEADER:
		return request->fields != NULL;
	default:
		return false;
	}
}

static bool request_meets_one(const struct request_values *values,
			      const struct policy_request *request, bool is_loosening)
{
	if (request->has_override && (values->kind == CLAUSE_METHOD || values->kind == CLAUSE_PATH))
		return !is_loosening;
	switch ((unsigned int)values->kind) {
	case CLAUSE_METHOD:
		return request_any(values, request_is_method, request, 0, is_loosening);
	case CLAUSE_PATH:
		return request_any(values, request_is_path, request, 0, is_loosening);
	case CLAUSE_QUERY:
		return request_query(values, request->query, is_loosening);
	default:
		return request_any(values, request_is_field, request, 0, is_loosening);
	}
}

enum request_match request_meets(const struct policy *policy, const struct rule *rule,
				 const struct policy_request *request, bool is_loosening)
{
	enum request_match match = REQUEST_MET;

	for (unsigned int kind = CLAUSE_METHOD; kind <= CLAUSE_HEADER; kind++) {
		const struct request_values values = { policy, rule, (enum clause_kind)kind };

		if (!(rule->clause_kinds & BIT(kind)))
			continue;
		if (!request || !request_is_known(request, values.kind))
			match = REQUEST_UNKNOWN;
		else if (!request_meets_one(&values, request, is_loosening))
			return REQUEST_UNMET;
	}
	return match;
}
