/* policy: the rules as plain data. Arrays, offsets and one hash index, no pointers from rule to
 * rule, so that all of it can later be laid out as one flat image that workers map. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/addr.h"
#include "policies/index_data_impl.h"
#include "policies/problems_impl.h"
#include "policies/policies_tools.h"
#include "policies/rule_impl.h"
#include "policies/setting_impl.h"

#define POLICY_SOURCES_MAX 256U
#define POLICY_TOTAL_MAX   (1U << 30) /* bytes of all files together: offsets are 32 bits */
#define POLICY_LINE_MAX    4096U
#define POLICY_BECAUSE_MAX 400U
/* One file. The text is kept: rules are shown as they were written. */
struct source {
	char *name; /* visible */
	char *text;
	size_t len;
	dev_t device; /* with @inode: the same file is read once. 0, 0: not a file */
	ino_t inode;
	uint32_t at;  /* of @text, in the text of an image */
	bool is_open; /* being read: an include of it is a cycle */
	bool is_preset;
	uint32_t parent; /* index + 1 of the source that holds the `configured` line this is made
			    of; 0: none */
	uint8_t layer;
	bool is_changed; /* since it was trusted */
	bool has_default;
	uint8_t default_action; /* enum policy_action */
};

/* An `expect` line, checked once all is read. */
struct expectation {
	struct policy_destination dst;
	uint8_t action;  /* enum policy_action */
	bool is_command; /* the words behind `command` on the line, instead of @dst */
	uint32_t source, number, line, line_len, column;
};

struct command_line;
struct command_rules;
struct configured_environment;
struct configured_list;

struct policy {
	/* Not NULL: it has been made an image, and all that the image has is in there, read-only:
	 * text and arrays have moved, what else is kept of them must be offsets. Else all are
	 * owned. */
	void *image;
	size_t image_len; /* mapped; 0: the image is borrowed */

	struct source *sources;
	size_t source_count, source_room;
	size_t total_bytes;
	struct packed_rule *rules; /* by rules_get() alone */
	size_t rule_count, rule_room;
	struct rule *wides;
	size_t wide_count, wide_room;
	struct pattern *exceptions;
	size_t exception_count, exception_room;
	struct pattern_port *ports;
	size_t port_count, port_room;
	char *names; /* [0] is NUL, so that offset 0 is "none" */
	size_t names_len, names_room;
	struct expectation *expects;
	size_t expect_count, expect_room;

	struct index_slot *slots;
	const char *text; /* of all sources, in an image; else NULL */
	struct index index;
	bool has_address_exceptions;

	struct clause *clauses;
	size_t clause_count, clause_room;
	struct setting *settings;
	size_t setting_count, setting_room;

	bool has_only;
	bool has_set_default;
	enum policy_action set_default;
	int64_t start;
	struct command_line *command_lines;
	size_t command_count, command_room;
	struct command_rules *commands_read; /* every line, for what is wrong with it */
	struct command_rules *commands;      /* those that count; NULL until all is read */

	policy_trust_fn trust;
	void *trust_arg;
	const struct configured_environment *environment; /* borrowed while files are read */
	bool is_text_only;       /* what tools are configured to use is not looked up */
	char **configured_files; /* that said so; NULL-terminated; NULL: none */
	size_t configured_file_count;
	struct configured_list *configured; /* CONFIGURED_TOOLS of them; NULL: none was asked */
	policy_witness_fn witness;
	void *witness_arg;
	struct problems problems, notes;
};

/* Grows @array (its room in @room) so that @count elements of @size fit. Returns it. */
void *rules_reserve(void *array, size_t *room, size_t count, size_t size);
/* Adds to policy->names, terminated; returns the offset. */
uint32_t rules_add_name(struct policy *policy, const char *bytes, size_t len);
/* Copies @rule to the end; index_build() makes it count. */
void rules_add(struct policy *policy, const struct rule *rule);
/* Rule @index, from 0, as it was added; its key may stand elsewhere. */
void rules_get(const struct policy *policy, uint32_t index, struct rule *ret);
/* The same but for its line: for whoever only compares. */
void rules_get_bare(const struct policy *policy, uint32_t index, struct rule *ret);
uint32_t rules_next(const struct policy *policy, uint32_t index);
/* The key of a rule or an exception. */
const char *pattern_key(const struct policy *policy, const struct pattern *pattern);

/* What counts of a file, by its layer. */
bool layers_may_loosen(const struct policy *policy, uint32_t source);
bool layers_may_set(const struct policy *policy, uint32_t source);
/* What holds where no rule does: for a destination and a command alike, no file and no option
 * loosens the managed layer's. */
enum policy_action layers_otherwise(const struct policy *policy);
/* Notes about files and rules, once all is read. */
void layers_note(struct policy *policy);

/* The verdict on rules alone, without kept answers: for `expect`. */
void decide_by_rules(const struct policy *policy, const struct policy_facts *facts,
		     struct policy_verdict *ret);
