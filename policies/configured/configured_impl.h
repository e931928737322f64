/* To add a tool: write one file here with its struct configured_ops, add it to table.c, to enum
 * configured_tool and to meson.build, and its files to tests/unit/policies/configured/. A tool's
 * file parses text that others may have written: text that it does not understand is an error with
 * file and line, not a guess, and it never shows the user name or password of a URL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policies/configured/configured.h"
#include "policies/configured/formats_impl.h"

struct reading;

struct configured_ops {
	const char *name;
	int (*read)(struct reading *reading); /* 0 or -errno with reading->why */
};

extern const struct configured_ops npm_ops, pip_ops, cargo_ops, go_ops, maven_ops, apt_ops,
	docker_ops, git_ops;
extern const struct configured_ops *const configured_table[CONFIGURED_TOOLS];

/* A value that one place set; the first place that sets it wins. */
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
	char *file; /* being read, printable; NULL: none */
	/* A file that the tool uses wherever it runs was left out, because a command could write
	 * it. */
	bool has_left_out;
	char *where;
	struct err *why;
};

/* Reads one file's text. 0 or -errno with reading->why. */
typedef int (*reading_parse_fn)(struct reading *reading, const char *text, size_t len);

void reading_done(struct reading *reading);
/* 1: @parse has read it; 0: it does not exist, or must not be read (a note says so); -errno. @path:
 * absolute. */
int reading_file(struct reading *reading, const char *path, reading_parse_fn parse);
/* The same of @name below reading_place(@variable, @fallback); 0 too if there is no such place. */
int reading_below(struct reading *reading, const char *variable, const char *fallback,
		  const char *name, reading_parse_fn parse);
/* The names in folder @path, sorted, NULL-terminated, returned owned; empty if the folder does not
 * exist. */
int reading_folder(struct reading *reading, const char *path, char ***ret_names);
/* "FILE:LINE" of the file being read; borrowed until the next call. */
const char *reading_where(struct reading *reading, size_t line);
/* -EBADMSG with "WHERE: words". */
int reading_refuse(struct reading *reading, const char *where, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* What a person can do something about. */
void reading_note(struct reading *reading, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* What is as it is: said only to who asks for it. */
void reading_remark(struct reading *reading, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* An environment variable, or NULL if it is unset or empty. */
const char *reading_variable(const struct reading *reading, const char *name);
/* A folder: the variable's value if it is absolute, else @fallback below home; NULL: neither.
 * Returned owned. */
char *reading_place(struct reading *reading, const char *variable, const char *fallback);
/* Keeps @value for @key unless the key is set already. 0 or -E2BIG. */
int reading_set(struct reading *reading, const char *key, const char *value, size_t len,
		const char *where);
const struct setting *reading_get(const struct reading *reading, const char *key);
/* Adds the host of @url; file: is skipped, other schemes are noted, and text that is not a URL is
 * refused. */
int reading_url(struct reading *reading, const char *where, const char *url, size_t len);
/* "host", "host:5000", "host/path": https; with @is_plain_too also http. */
int reading_host(struct reading *reading, const char *where, const char *text, size_t len,
		 bool is_plain_too);
/* Adds the URLs among the words of @text, separated by blanks; words without "://" are files, and
 * are skipped. */
int reading_urls(struct reading *reading, const char *where, const char *text);
/* Asks the tool. 1: *@ret_output is returned owned; 0: it could not be asked, and a remark says so.
 */
int reading_ask(struct reading *reading, const char *const *argv, char **ret_output);
/* The same for a tool that reads its files itself when it is asked: not if one was left out. */
int reading_ask_with_files(struct reading *reading, const char *const *argv, char **ret_output);

/* source: files on the disk. 1: read; 0: it does not exist; SOURCE_WITHIN: the command can write
 * it; SOURCE_LINK: it is in the project, and a link or cannot be opened; -errno. */
#define SOURCE_WITHIN 2
#define SOURCE_LINK   3
int source_read(const struct configured_environment *env, const char *path, char **ret_text,
		size_t *ret_len, struct err *why);
/* Compares the paths as text. */
bool source_is_below(const char *path, const char *folder);
int source_list(const struct configured_environment *env, const char *path, char ***ret_names,
		struct err *why);

/* git_config: a file of git's configuration (git-config(1), Syntax). Its settings are a list, so
 * each has a key of its own. "remote N" and "push N", with @is_repository only, are URLs. "base N"
 * and "pushbase N" are replacements; the text that each one replaces is stored as its where. */
int git_config_read(struct reading *reading, const char *text, size_t len, bool is_repository);
