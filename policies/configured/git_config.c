#include <string.h>

#include "base/mem.h"
#include "policies/configured/configured_impl.h"

#define GIT_NAME_MAX  256  /* bytes of a section, subsection or key */
#define GIT_VALUE_MAX 4096 /* bytes of a value */

/* The state while one configuration file is read: git-config(1), Syntax. */
struct git {
	struct reading *reading;
	const char *at, *end;
	size_t line;
	bool is_repository; /* remotes count; otherwise only url.*.insteadOf */
	char section[GIT_NAME_MAX + 1], subsection[GIT_NAME_MAX + 1];
	char key[GIT_NAME_MAX + 1], value[GIT_VALUE_MAX + 1];
	size_t value_len;
};

static int git_refuse(struct git *git, const char *words)
{
	return reading_refuse(git->reading, reading_where(git->reading, git->line), "%s", words);
}

static void git_skip_blanks(struct git *git)
{
	while (git->at < git->end && (*git->at == ' ' || *git->at == '\t' || *git->at == '\r'))
		git->at++;
}

/* Reads a word of letters, digits, - and ., and converts it to lower case. */
static int git_word(struct git *git, char out[GIT_NAME_MAX + 1])
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
	size_t len = 0;

	for (; git->at < git->end; git->at++) {
		char c = (char)(*git->at >= 'A' && *git->at <= 'Z' ? *git->at + 32 : *git->at);

		if (c == '\0' || !strchr(plain, c))
			break;
		if (len == GIT_NAME_MAX)
			return git_refuse(git, "the name has more than 256 bytes");
		out[len++] = c;
	}
	out[len] = '\0';
	return len == 0 ? git_refuse(git, "the name is missing") : 0;
}

static int git_subsection(struct git *git)
{
	size_t len = 0;

	for (git->at++; git->at < git->end && *git->at != '"' && *git->at != '\n'; git->at++) {
		if (*git->at == '\\' && git->at + 1 < git->end && git->at[1] != '\n')
			git->at++;
		if (len == GIT_NAME_MAX)
			return git_refuse(git, "the name has more than 256 bytes");
		git->subsection[len++] = *git->at;
	}
	git->subsection[len] = '\0';
	if (git->at == git->end || *git->at != '"')
		return git_refuse(git, "the subsection is not closed");
	git->at++;
	return 0;
}

static int git_header(struct git *git)
{
	git->at++;
	git->subsection[0] = '\0';
	git_skip_blanks(git);
	int r = git_word(git, git->section);

	git_skip_blanks(git);
	if (r == 0 && git->at < git->end && *git->at == '"')
		r = git_subsection(git);
	if (r == 0 && (git->at == git->end || *git->at != ']'))
		r = git_refuse(git, "the section is not closed");
	if (r == 0)
		git->at++;
	return r;
}

/* Reads one byte of a value, or an escape sequence; a backslash at the end of a line continues the
 * value. */
static int git_value_byte(struct git *git)
{
	static const char names[] = "ntb\"\\", values[] = "\n\t\b\"\\";
	char c = *git->at++;

	if (c == '\\') {
		const char *name = git->at < git->end && *git->at ? strchr(names, *git->at) : NULL;

		if (git->at < git->end && *git->at == '\n') {
			git->at++;
			git->line++;
			return 0;
		}
		if (!name)
			return git_refuse(git, "unknown escape; git expects n, t, b, a quote or a "
					       "backslash after a backslash");
		c = values[name - names];
		git->at++;
	}
	if (git->value_len == GIT_VALUE_MAX)
		return git_refuse(git, "the value has more than 4096 bytes");
	git->value[git->value_len++] = c;
	return 0;
}

static int git_value(struct git *git)
{
	bool is_quoted = false;
	size_t kept = 0; /* unquoted trailing blanks are not part of the value */

	git->value_len = 0;
	git_skip_blanks(git);
	while (git->at < git->end && *git->at != '\n') {
		char c = *git->at;

		if (c == '"') {
			is_quoted = !is_quoted;
			git->at++;
			kept = git->value_len;
			continue;
		}
		if (!is_quoted && (c == '#' || c == ';')) {
			while (git->at < git->end && *git->at != '\n')
				git->at++;
			break;
		}
		int r = git_value_byte(git);

		if (r < 0)
			return r;
		if (is_quoted || (c != ' ' && c != '\t' && c != '\r'))
			kept = git->value_len;
	}
	git->value_len = kept;
	git->value[kept] = '\0';
	return is_quoted ? git_refuse(git, "the quoted text is not closed") : 0;
}

/* The settings are a list: every value has a key of its own. "remote" and "push": URLs; "base N"
 * and "push base N": replacements, with the text that they replace as where. */
static int git_keep(struct git *git, const char *kind, const char *value, const char *where)
{
	auto_free char *key = mem_printf("%s %zu", kind, git->reading->setting_count);

	return reading_set(git->reading, key, value, strlen(value), where);
}

static int git_use(struct git *git)
{
	auto_free char *where = mem_strdup(reading_where(git->reading, git->line));
	bool is_remote = git->is_repository && strcmp(git->section, "remote") == 0;
	bool is_module = git->is_repository && strcmp(git->section, "submodule") == 0;
	bool is_url = strcmp(git->section, "url") == 0;

	if ((is_remote || is_module) && strcmp(git->key, "url") == 0)
		return git_keep(git, "remote", git->value, where);
	if (is_remote && strcmp(git->key, "pushurl") == 0)
		return git_keep(git, "push", git->value, where);
	/* An empty text would match the start of every URL. */
	if (is_url && git->value[0] && strcmp(git->key, "insteadof") == 0)
		return git_keep(git, "base", git->subsection, git->value);
	if (is_url && git->value[0] && strcmp(git->key, "pushinsteadof") == 0)
		return git_keep(git, "pushbase", git->subsection, git->value);
	if (strncmp(git->section, "include", strlen("include")) == 0 &&
	    strcmp(git->key, "path") == 0)
		reading_note(git->reading, "%s: the file that it includes is not read", where);
	return 0;
}

static int git_pair(struct git *git)
{
	int r = git_word(git, git->key);

	if (r < 0)
		return r;
	if (!git->section[0])
		return git_refuse(git, "the value is before the first [section]");
	git_skip_blanks(git);
	git->value[0] = '\0';
	if (git->at == git->end || *git->at != '=') {
		/* A name without a value means true. */
		bool is_end = git->at == git->end || *git->at == '\n' || *git->at == '#' ||
			      *git->at == ';';

		return is_end ? 0 : git_refuse(git, "the line is not \"name = value\"");
	}
	git->at++;
	r = git_value(git);
	return r < 0 ? r : git_use(git);
}

int git_config_read(struct reading *reading, const char *text, size_t len, bool is_repository)
{
	auto_free struct git *git = mem_new(sizeof(*git));
	int r = 0;

	git->reading = reading;
	git->at = text;
	git->end = text + len;
	git->line = 1;
	git->is_repository = is_repository;
	while (r == 0 && git->at < git->end) {
		char c = *git->at;

		if (c == '\n')
			git->line++;
		if (c == '#' || c == ';') {
			while (git->at < git->end && *git->at != '\n')
				git->at++;
		} else if (c == '[') {
			r = git_header(git);
		} else if (c == '\n' || c == ' ' || c == '\t' || c == '\r') {
			git->at++;
		} else {
			r = git_pair(git);
		}
	}
	return r;
}
