/* policy: the rules as plain data: arrays, offsets and one hash index, without pointers between
 * rules, so that all of it fits into one flat image that workers map. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/addr.h"
#include "policies/engine/index_data_impl.h"
#include "policies/language/problems_impl.h"
#include "policies/policies_tools.h"
#include "policies/engine/rule_impl.h"
#include "policies/language/setting_impl.h"

#define POLICY_SOURCES_MAX 256U
#define POLICY_TOTAL_MAX   (1U << 30) /* bytes of all files: offsets have 32 bits */
#define POLICY_LINE_MAX    4096U
#define POLICY_BECAUSE_MAX 400U
/* One file. The text is kept, because rules are shown as they were written. */
struct source {
	char *name; /* visible */
	char *text;
	size_t len;
	dev_t device; /* with @inode: identifies a file that is read twice. 0, 0: not a file */
	ino_t inode;
	uint32_t at;  /* of @text, in the text of an image */
	bool is_open; /* being read: an include of it would be a cycle */
	bool is_preset;
	uint32_t parent; /* index + 1 of the source with the `configured` line that made this; 0:
			    none */
	uint8_t layer;
	bool is_changed; /* changed since it was trusted */
	bool has_default;
	uint8_t default_action; /* enum policy_action */
};

/* An `expect` line, which is checked when all is read. */
struct expectation {
	struct policy_destination dst;
	uint8_t action;  /* enum policy_action */
	bool is_command; /* the command on the line, instead of @dst */
	uint32_t source, number, line, line_len, column;
};

struct command_line;
struct command_rules;
struct configured_environment;
struct configured_list;

struct policy {
	/* Not NULL: the policy is an image, which holds the arrays and the text, read-only. They
	 * have moved, so references to them must be offsets. NULL: all arrays are owned. */
	void *image;
	size_t image_len; /* of the mapping; 0: the image is borrowed */

	struct source *sources;
	size_t source_count, source_room;
	size_t total_bytes;
	struct packed_rule *rules; /* only rules_get() reads them */
	size_t rule_count, rule_room;
	struct rule *wides;
	size_t wide_count, wide_room;
	struct pattern *exceptions;
	size_t exception_count, exception_room;
	struct pattern_port *ports;
	size_t port_count, port_room;
	char *names; /* [0] is NUL, so that offset 0 means "none" */
	size_t names_len, names_room;
	struct expectation *expects;
	size_t expect_count, expect_room;

	struct index_slot *slots;
	const char *text; /* of all sources, in an image; else NULL */
	struct index index;
	bool has_address_exceptions;

	struct clause *clauses;
	size_t clause_count, clause_room;
	size_t shared_weight; /* of rules that share a key, counting exceptions and clauses */
	struct setting *settings;
	size_t setting_count, setting_room;

	bool has_only;
	bool has_set_default;
	enum policy_action set_default;
	int64_t start;
	struct command_line *command_lines;
	size_t command_count, command_room;
	struct command_rules *commands_read; /* every line, to find errors in it */
	struct command_rules *commands;      /* the lines that count; NULL until all is read */

	policy_trust_fn trust;
	void *trust_arg;
	const struct configured_environment *environment; /* borrowed while files are read */
	bool is_text_only;       /* do not read the configuration of tools */
	char **configured_files; /* the files that were read for it; NULL-terminated; NULL: none */
	size_t configured_file_count;
	struct configured_list *configured; /* CONFIGURED_TOOLS entries; NULL: no tool was read */
	policy_witness_fn witness;
	void *witness_arg;
	struct problems problems, notes;
};
