/* policy: the rules as plain data. Arrays, offsets and one hash index, no pointers from rule to
 * rule, so that all of it can later be laid out as one flat image that workers map. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/addr.h"
#include "policies/policies.h"

#define RULE_NONE           UINT32_MAX
#define POLICY_SOURCES_MAX  256U
#define POLICY_TOTAL_MAX    (1U << 30) /* bytes of all files together: offsets are 32 bits */
#define POLICY_PROBLEMS_MAX 100U       /* shown; the rest are counted */
#define POLICY_LINE_MAX     4096U
#define POLICY_BECAUSE_MAX  400U

/* Which host a destination of a rule stands for. */
enum pattern_kind {
	PATTERN_EXACT, /* a.test */
	PATTERN_BELOW, /* *.a.test */
	PATTERN_TREE,  /* **.a.test */
	PATTERN_ANY,   /* * */
	PATTERN_BLOCK, /* an address or CIDR */
};

/* @key: in policy->names, unterminated. A name, or for a block PATTERN_BLOCK_KEY bytes: NUL,
 * family, bits, 16 bytes of address. A name has no NUL, so both live in one index. */
#define PATTERN_BLOCK_KEY 19
struct pattern {
	uint32_t key;
	uint32_t ports; /* first of @port_count in policy->ports */
	uint16_t port_count;
	uint8_t key_len;
	uint8_t kind;
	uint8_t protocol; /* enum policy_protocol; NO_PROTOCOL: none was written */
	bool has_ports;   /* written, not the default */
};

struct pattern_port {
	uint16_t first, last;
};
/* What every policy starts with in policy->ports: 80, 443 and all. */
#define POLICY_PORTS_HTTP  0
#define POLICY_PORTS_HTTPS 1
#define POLICY_PORTS_ALL   2

enum rule_action { RULE_DENY, RULE_ASK, RULE_ALLOW, RULE_ANSWER_DENY, RULE_ANSWER_ALLOW };

struct rule {
	struct pattern pattern;
	uint32_t next;       /* the next rule with the same key, or RULE_NONE */
	uint32_t exceptions; /* first of @exception_count in policy->exceptions */
	uint16_t exception_count;
	uint8_t action;
	bool is_private;
	bool is_broad;
	uint32_t source;         /* in policy->sources */
	uint32_t number;         /* of the line, from 1 */
	uint32_t line, line_len; /* in the text of the source */
	uint32_t because;        /* in policy->names, terminated; 0: none */
	uint32_t by, by_len;     /* who answered: in the text of the source */
};

/* One file. The text is kept: rules are shown as they were written. */
struct source {
	char *name; /* visible */
	char *text;
	size_t len;
	dev_t device; /* with @inode: the same file is read once. 0, 0: not a file */
	ino_t inode;
	bool is_open; /* being read: an include of it is a cycle */
};

/* An `expect` line, checked once all is read. */
struct expectation {
	struct policy_destination dst;
	uint8_t action; /* enum policy_action */
	uint32_t source, number, line, line_len, column;
};

struct problems {
	char *text;
	size_t len, room;
	size_t shown_len; /* of the text without its last line, the count */
	size_t count;
};

struct policy {
	struct source *sources;
	size_t source_count, source_room;
	size_t total_bytes;
	struct rule *rules;
	size_t rule_count, rule_room;
	struct pattern *exceptions;
	size_t exception_count, exception_room;
	struct pattern_port *ports;
	size_t port_count, port_room;
	char *names; /* [0] is NUL, so that offset 0 is "none" */
	size_t names_len, names_room;
	struct expectation *expects;
	size_t expect_count, expect_room;

	uint32_t *slots; /* index: head of a chain of rules, or RULE_NONE; a power of two, open
			    addressing */
	size_t slot_count, slot_used;
	uint32_t any_head;                  /* chain of the rules for `*` */
	uint64_t v4_lengths, v6_lengths[3]; /* which prefix lengths occur */
	bool has_address_exceptions;

	bool has_default, has_set_default;
	enum policy_action written_default, set_default;
	struct problems problems;
};

/* Grows @array (its room in @room) so that @count elements of @size fit. Returns it. */
void *rules_reserve(void *array, size_t *room, size_t count, size_t size);
/* Adds to policy->names, terminated; returns the offset. */
uint32_t rules_add_name(struct policy *policy, const char *bytes, size_t len);
/* Copies @rule to the end and indexes it. */
void rules_add(struct policy *policy, const struct rule *rule);
/* The chain of rules whose key is @key; RULE_NONE: there is none. */
uint32_t rules_find(const struct policy *policy, const char *key, size_t len);
/* The chain of rules for exactly this block; @addr is masked here. */
uint32_t rules_find_block(const struct policy *policy, const struct addr *addr, uint8_t bits);
bool rules_has_length(const struct policy *policy, uint8_t family, uint8_t bits);
/* The key of @block as it stands in policy->names. */
void rules_block_key(const struct addr *addr, uint8_t bits, char ret[PATTERN_BLOCK_KEY]);

/* Where in a file something is wrong. @text may be NULL: no line to show. */
struct spot {
	const char *file; /* visible */
	size_t number;    /* of the line, from 1; 0: the file as a whole */
	const char *text;
	size_t len;
	size_t at; /* byte offset of the fault in @text */
};
/* Adds a problem in compiler form. @instead: what to write, or "" or NULL. */
void problems_add(struct policy *policy, const struct spot *spot, const char *instead,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The verdict on rules alone, without kept answers: for `expect`. */
void decide_by_rules(const struct policy *policy, const struct policy_facts *facts,
		     struct policy_verdict *ret);
