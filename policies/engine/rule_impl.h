/* rule: one rule as plain data: offsets into the arrays of struct policy. To add a field to struct
 * rule: if it is zero in an ordinary line, it costs nothing; rules.c stores other rules
 * unpacked. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policies/policies.h"

#define RULE_NONE UINT32_MAX

/* Which hosts a pattern matches. */
enum pattern_kind {
	PATTERN_EXACT, /* a.test */
	PATTERN_BELOW, /* *.a.test */
	PATTERN_TREE,  /* **.a.test */
	PATTERN_ANY,   /* * */
	PATTERN_BLOCK, /* an address or CIDR */
};

/* @key: not terminated, see pattern_key(). A name, or for a block PATTERN_BLOCK_KEY bytes: NUL,
 * family, bits, 16 bytes of address. A name contains no NUL, so both fit in one index. */
#define PATTERN_BLOCK_KEY 19
struct pattern {
	uint32_t key;   /* in policy->names, or in the text of source @key_source - 1 */
	uint32_t ports; /* first of @port_count in policy->ports */
	uint16_t port_count;
	uint8_t key_len;
	uint8_t kind;
	uint8_t protocol;    /* enum policy_protocol; NO_PROTOCOL: none was written */
	bool has_ports;      /* written, not the default */
	uint16_t key_source; /* 0: policy->names */
};

struct pattern_port {
	uint16_t first, last;
};
/* The port lists at the start of policy->ports: 80, 443 and all. */
#define POLICY_PORTS_HTTP  0
#define POLICY_PORTS_HTTPS 1
#define POLICY_PORTS_ALL   2

/* ONLY does not decide by itself: a destination that no `only` matches cannot be allowed. */
enum rule_action {
	RULE_DENY,
	RULE_ASK,
	RULE_ALLOW,
	RULE_ANSWER_DENY,
	RULE_ANSWER_ALLOW,
	RULE_ONLY,
};

enum clause_kind {
#define X(kind, word, read) CLAUSE_##kind,
#include "policies/engine/clauses.def"
#undef X
	CLAUSE_COUNT
};
_Static_assert(CLAUSE_COUNT < 32, "struct rule keeps the kinds in 32 bits");

/* One value of one clause; a clause with several values is stored several times. */
struct clause {
	int64_t value; /* bytes, a count, seconds */
	uint32_t text; /* in policy->names, terminated; 0: none */
	uint8_t kind;
	char unit; /* of a rate */
};

/* A rule as the parser makes it and other code reads it. It is stored packed: rules_add(),
 * rules_get(). */
struct rule {
	struct pattern pattern;
	uint32_t exceptions; /* first of @exception_count in policy->exceptions */
	uint16_t exception_count;
	uint16_t clause_count;
	uint32_t clause_kinds; /* BIT(kind) of each */
	uint8_t action;
	bool is_private;
	bool is_broad;
	uint8_t spare[1];        /* instead of padding, because rules are compared with memcmp() */
	uint32_t clauses;        /* first of @clause_count in policy->clauses */
	uint32_t source;         /* in policy->sources */
	uint32_t number;         /* of the line, from 1 */
	uint32_t line, line_len; /* in the text of the source */
	uint32_t because;        /* in policy->names, terminated; 0: none */
	uint32_t by, by_len;     /* who gave the answer: in the text of the source */
};

/* The stored form. Most rules are one canonical host and nothing else: then the key is part of the
 * line, and everything else follows from it and from @bits. Other rules have RULE_WIDE in @bits,
 * and @place is the index in policy->wides. */
struct packed_rule {
	uint32_t key;   /* in the text of its source */
	uint32_t next;  /* the next rule with the same key, or RULE_NONE */
	uint32_t place; /* the number of the line, or in policy->wides */
	uint32_t bits;  /* from the lowest: length of the key, source, other bits */
};
#define RULE_SOURCE_AT   8
#define RULE_KIND_AT     16
#define RULE_ACTION_AT   19
#define RULE_PROTOCOL_AT 22
#define RULE_PORTS_AT    25
#define RULE_PRIVATE     (1U << 27)
#define RULE_BROAD       (1U << 28)
#define RULE_HAS_PORTS   (1U << 29)
#define RULE_UNUSED      (1U << 30)
#define RULE_WIDE        (1U << 31)
