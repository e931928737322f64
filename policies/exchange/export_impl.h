/* To add the way back to a format: one const struct export_format in the format's file, its
 * declaration here and its name in the line of table.c. Never wider than the policy: an allow that
 * the format cannot narrow is left out, and so is one that would reach over a denial or a question;
 * export_judge.c proves it by policy_diff(). */
#pragma once

#include "policies/exchange/exchange_impl.h"
#include "policies/pattern_impl.h"

#define EXPORT_RULES_MAX 16384 /* what is wider is looked up among all of them */
#define EXPORT_PORTS_MAX 16    /* of one host, where each is written by itself */

/* One host of a rule, as the format says it. */
struct export_entry {
	struct pattern pattern; /* a tree is two entries where the format has no word for it */
	size_t rule;            /* in policy->rules */
	bool is_deny;
	bool has_all_ports;
	bool is_left_out;
	char host[POLICY_HOST_MAX + 4];
};

struct export
{
	struct exchange *exchange; /* where text and losses go */
	const struct export_format *format;
	const struct policy *policy;
	bool may_widen; /* ports and bytes of what is allowed, and denials that cannot be said */
	struct export_entry *entries;
	size_t entry_count, entry_room;
};

struct export_format {
	unsigned int hosts; /* BIT() of each enum pattern_kind it can say; a block: one address */
	bool has_ports;     /* behind a host; else a host stands for all of them */
	bool needs_ports;   /* and cannot say "all" */
	bool needs_dot;     /* refuses the whole file for a host of one label */
	bool is_once;       /* a host stands once; only where it has no ports */
	bool asks;          /* about what is not listed, so that a denial has to be said */
	bool carves;        /* a denial holds within an allow */
	void (*write)(const struct export *export);
};

/* "FILE:LINE: what", in the list of what is not said. */
void export_lose(const struct export *export, size_t rule, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The @index-th port of the entry, or 0 behind the last. */
unsigned int export_port(const struct export *export, const struct export_entry *entry,
			 size_t index);
/* The next entry at or behind *@at that is written and is (not) a denial, or NULL. */
const struct export_entry *export_next(const struct export *export, bool is_deny, size_t *at);
/* "PROTOCOL://HOST:PORTS" as the language writes it. Returned owned. */
char *export_text(const struct policy *policy, const struct pattern *pattern, bool is_any);

/* Marks every allow that would let out what the policy does not. 0, or -errno with words. */
int export_judge(struct export *export);

extern const struct export_format codex_config_export;
extern const struct export_format codex_rules_export;
extern const struct export_format runtime_export;
extern const struct export_format runtime_export_nested;
extern const struct export_format smokescreen_export;
extern const struct export_format harden_export;
