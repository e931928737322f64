/* reader: one policy file being read, line by line. To add a statement: one line in the table of
 * reader.c and a function that takes the line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "policies/engine/policy_impl.h"
#include "policies/language/words_impl.h"

#define READER_DEPTH_MAX 8 /* nested includes */

struct reader {
	struct policy *policy;
	uint32_t source;
	int folder; /* of the file, for its includes; -1: text without a folder. Borrowed. */
	const char *folder_name; /* visible; borrowed */
	unsigned int depth;
	bool has_version, has_default, has_statement;
	bool said_cr;
};

struct line {
	struct reader *reader;
	uint32_t number;
	uint32_t offset; /* in the text of the source */
	const char *text;
	size_t len;
	struct words words;
};

/* Reads all lines of policy->sources[@reader->source]; errors go to the policy's problems. */
void reader_run(struct reader *reader);
/* For problems_add(): byte @at of @line. */
struct spot reader_spot(const struct line *line, size_t at);

/* Reports an error at byte @at of the line; returns false, for the caller to return. */
bool reader_refuse(const struct line *line, size_t at, const char *instead, const char *words);
/* The column behind the last word, for errors about missing words. */
size_t reader_end(const struct line *line);
/* True when the line has exactly @count words; otherwise an error was reported, with @instead. */
bool reader_has_words(const struct line *line, size_t count, const char *instead);

/* `only ...`, and the settings */
void only_line_read(struct line *line);
void settings_read_timeout(struct line *line);
void settings_read_cache(struct line *line);
void settings_read_paths(struct line *line);
/* `upstream URL [credentials-file PATH] [ca-file PATH]`, `upstream none` */
void settings_read_upstream(struct line *line);
/* `approvals`, `on-denial`, `hook`, `reviewer` */
void agent_line_read_approvals(struct line *line);
void agent_line_read_on_denial(struct line *line);
void agent_line_read_helper(struct line *line);
bool agent_line_is_reviewer(const struct setting *helper);
bool agent_line_counts(const struct policy *policy, const struct setting *approvals);
/* `limit KIND N`; does the line count in its layer? */
void limit_line_read(struct line *line);
void limit_line_read_durable(struct line *line); /* `durable strict|batch` */
void limit_line_read_keep(struct line *line);    /* `audit keep AGE SIZE` */
bool limit_line_counts(const struct policy *policy, const struct setting *limit);
/* `allow|ask|deny|answer ...` */
void rule_line_read(struct line *line);
/* Statements that are kept but not enforced: `secret`, `socket`; the warnings about them. */
void later_line_read(struct line *line);
void later_line_note(struct policy *policy);
/* `approver NAME KEY`, `approvers-needed N`; a warning when there are too few approvers. */
void approver_line_read(struct line *line);
void approver_line_read_needed(struct line *line);
void approver_line_note(struct policy *policy);
/* `command ...`, `program ...`; the rest of `expect ACTION command ...` */
void command_line_read(struct line *line);
void command_line_read_expect(struct line *line, enum policy_action action);

/* Takes @text as a new source; returns its index. */
uint32_t load_add_source(struct policy *policy, const char *name, char *text, size_t len,
			 const struct stat *status, enum policy_layer layer);
/* Opens, checks and reads the file of an `include` line. @name: relative; @word: its position. */
void load_include(struct line *line, const char *name, const struct word *word);
/* `include preset NAME`; @word: the name. */
void load_preset(struct line *line, const struct word *word);
