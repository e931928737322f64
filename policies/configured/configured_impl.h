/* To add a tool: write one file here with its struct configured_ops, add it to table.c, to enum
 * configured_tool and to meson.build, and its files to tests/unit/configured/. A tool reads text
 * that others may have written: what it does not understand is an error with file and line, not a
 * guess, and no user name or password of a URL is ever shown. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policies/configured/configured.h"

struct reading;

struct configured_ops {
	const char *name;
	int (*read)(struct reading *reading); /* 0 or -errno with reading->why */
};

extern const struct configured_ops npm_ops, pip_ops, cargo_ops, go_ops, maven_ops, apt_ops,
	docker_ops, git_ops;
extern const struct configured_ops *const configured_table[CONFIGURED_TOOLS];

/* A value that one place set; the first place that set it wins. */
struct setting {
	char *key, *value, *where;
};

struct reading {
	const struct configured_environment *env;
	struct setting *settings;
	size_t setting_count;
	struct setting *found; /* key: the destination */
	size_t found_count;
	char **notes;
	size_t note_count;
	char *file; /* being read, visible; NULL: none */
	char *where;
	struct err *why;
};

/* Reads one file's text. 0 or -errno with reading->why. */
typedef int (*reading_parse_fn)(struct reading *reading, const char *text, size_t len);

void reading_done(struct reading *reading);
/* 1: @parse has read it; 0: not there, or not to be read (a note says so); -errno. @path: absolute.
 */
int reading_file(struct reading *reading, const char *path, reading_parse_fn parse);
/* The names in folder @path, sorted, NULL-terminated, returned owned; empty when there is no such
 * folder. */
int reading_folder(struct reading *reading, const char *path, char ***ret_names);
/* "FILE:LINE" of the file being read; borrowed until the next call. */
const char *reading_where(struct reading *reading, size_t line);
/* -EBADMSG with "WHERE: words". */
int reading_refuse(struct reading *reading, const char *where, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void reading_note(struct reading *reading, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* An environment variable, or NULL when unset or empty. */
const char *reading_variable(const struct reading *reading, const char *name);
/* A folder: the variable's value when it is absolute, else @fallback below home; NULL: neither.
 * Returned owned. */
char *reading_place(struct reading *reading, const char *variable, const char *fallback);
/* Keeps @value for @key unless it is set already. 0 or -E2BIG. */
int reading_set(struct reading *reading, const char *key, const char *value, size_t len,
		const char *where);
const struct setting *reading_get(const struct reading *reading, const char *key);
/* Adds what @url names. Other schemes than @allowed's are noted; text that is no URL is refused. */
int reading_url(struct reading *reading, const char *where, const char *url, size_t len);
/* "host", "host:5000", "host/path": https; with @is_plain_too also http. */
int reading_host(struct reading *reading, const char *where, const char *text, size_t len,
		 bool is_plain_too);
/* The URLs among the words of @text, separated by blanks; words without "://" are files, and
 * skipped. */
int reading_urls(struct reading *reading, const char *where, const char *text);
/* Asks the tool. 1: *@ret_output is returned owned; 0: it could not be asked, and a note says so.
 */
int reading_ask(struct reading *reading, const char *const *argv, char **ret_output);

/* source: files of the disk. 1: read; 0: not there; SOURCE_WITHIN: in the command's reach; -errno.
 */
#define SOURCE_WITHIN 2
int source_read(const struct configured_environment *env, const char *path, char **ret_text,
		size_t *ret_len, struct err *why);
int source_list(const struct configured_environment *env, const char *path, char ***ret_names,
		struct err *why);

/* url: which host, and how. */
enum url_scheme { URL_ELSE, URL_HTTP, URL_HTTPS, URL_SSH, URL_GIT };
#define URL_HOST_MAX        254
#define URL_DESTINATION_MAX (URL_HOST_MAX + 24)
struct url {
	enum url_scheme scheme;
	char host[URL_HOST_MAX]; /* lower case; IPv6 in brackets */
	uint16_t port;
};
/* -EBADMSG with words that never repeat the text. URL_ELSE: a scheme that names no host we know how
 * to reach. */
int url_parse(const char *text, size_t len, struct url *ret, struct err *why);
const char *url_destination(const struct url *url, char out[URL_DESTINATION_MAX]);

/* lines: text, line by line, without the end and the blanks around it. */
struct lines {
	const char *at;
	size_t left;
	size_t number; /* of the line below, from 1 */
	const char *text;
	size_t len;
	bool is_indented;
};
bool lines_next(struct lines *lines);
/* "key = value" of the line, by the first of @separators; false: there is none. Blanks around both
 * are taken off. */
struct lines_pair {
	const char *key, *value;
	size_t key_len, value_len;
};
bool lines_pair(const struct lines *lines, const char *separators, struct lines_pair *ret);
void lines_trim(const char **text, size_t *len);
/* Is @text exactly @word? */
bool lines_is(const char *text, size_t len, const char *word);

/* toml: the strings of a TOML document (1.0), each with the keys that lead to it; other values are
 * read over. */
#define TOML_DEPTH_MAX 16
#define TOML_KEY_MAX   128 /* bytes */
struct toml_string {
	const char *const *keys; /* elements of arrays have the array's keys */
	size_t depth;
	const char *text;
	size_t len, line;
};
typedef int (*toml_string_fn)(const struct toml_string *string, void *arg);
/* -EBADMSG with @why and the line, or what @each returned. */
int toml_read(const char *text, size_t len, toml_string_fn each, void *arg, size_t *ret_line,
	      struct err *why);

/* xml: the elements of a document, each when it ends, with its own text. */
#define XML_DEPTH_MAX 32
#define XML_NAME_MAX  64 /* bytes */
struct xml_element {
	const char *const *names; /* from the root to this one */
	size_t depth;
	const char *text; /* blanks around it taken off */
	size_t len, line;
};
typedef int (*xml_element_fn)(const struct xml_element *element, void *arg);
int xml_read(const char *text, size_t len, xml_element_fn each, void *arg, size_t *ret_line,
	     struct err *why);
