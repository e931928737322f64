/* To add an export format: write one const struct export_format in the format's file, and name it
 * in policies/exchange/formats.def. An export is never wider than the policy: an allow that the
 * format cannot narrow is left out, and so is one that would cover a denial or a question;
 * export_judge.c verifies this with policy_diff(). */
#pragma once

#include "policies/exchange/exchange_impl.h"
#include "policies/engine/pattern_impl.h"

#define EXPORT_RULES_MAX 16384 /* a wider entry is searched for in all of them */
#define EXPORT_PORTS_MAX 16    /* of one host, each written as a separate rule */

/* One host of a rule, as the format expresses it. */
struct export_entry {
	struct pattern pattern; /* a tree is two entries if the format cannot express it as one */
	size_t rule;            /* index in policy->rules */
	bool is_deny;
	bool has_all_ports;
	bool is_left_out;
	char host[POLICY_HOST_MAX + 4];
};

struct export
{
	struct exchange *exchange; /* receives the text and the losses */
	const struct export_format *format;
	const struct policy *policy;
	bool has_allow; /* the policy has a rule that allows */
	bool may_widen; /* ignore ports and protocols of allows, and inexpressible denials */
	struct export_entry *entries;
	size_t entry_count, entry_room;
};

struct export_format {
	unsigned int hosts; /* BIT() of each supported enum pattern_kind; a block: one address */
	bool has_ports;     /* after a host; otherwise a host means all ports */
	bool needs_ports;   /* and cannot express "all" */
	bool needs_dot;     /* its reader refuses the whole file for a host of one label */
	bool is_once;       /* each host is written once; only for formats without ports */
	bool asks;          /* asks about unlisted hosts, so that a denial must be written */
	bool carves;        /* a denial has precedence over an allow */
	void (*write)(const struct export *export);
};

/* Adds "FILE:LINE: what" to the list of losses. */
void export_lose(const struct export *export, size_t rule, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The @index-th port of the entry, or 0 after the last. */
unsigned int export_port(const struct export *export, const struct export_entry *entry,
			 size_t index);
/* The next entry at or after *@at that is written and is (not) a denial, or NULL. */
const struct export_entry *export_next(const struct export *export, bool is_deny, size_t *at);
/* "PROTOCOL://HOST:PORTS" in the policy language. Returned owned. */
char *export_text(const struct policy *policy, const struct pattern *pattern, bool is_any);

/* Marks every allow that would allow more than the policy does. 0, or -errno with a message. */
int export_judge(struct export *export);

#define FORMAT(name, read, write) extern const struct export_format write;
#include "policies/exchange/formats.def"
#undef FORMAT
