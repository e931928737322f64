/* resolve: names to addresses, asynchronously: --resolve first, then the hosts file, then DNS by
 * c-ares. Called only after an allow. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policies/policies.h"

#define RESOLVE_ADDRS_MAX   16
#define RESOLVE_ALIASES_MAX 24 /* of both families */

struct loop;
struct err;
struct proxy_config;
struct resolver;
struct resolve_query;

struct resolve_answer {
	enum policy_reason
		reason; /* POLICY_DONE, POLICY_DNS_FAILED, POLICY_DNS_TIMEOUT, POLICY_OVERLOADED */
	bool is_mapped; /* the operator named these addresses (--resolve) */
	size_t count;
	struct addr addrs[RESOLVE_ADDRS_MAX]; /* in order of preference, families interleaved (RFC
						 8305 §4) */
	/* The names that CNAMEs led to, canonical: policy decides them too. */
	size_t alias_count;
	char aliases[RESOLVE_ALIASES_MAX][POLICY_HOST_MAX];
	char cause[96];
};
/* From the loop, at most once; @answer borrowed. */
typedef void (*resolve_fn)(const struct resolve_answer *answer, void *arg);

/* Opens every file it needs: no file is opened after resolver_new(). Copies what it needs of
 * @config. Returned owned. */
struct resolver *resolver_new(struct loop *loop, const struct proxy_config *config,
			      struct err *why);
void resolver_free(struct resolver *resolver);
/* Replaces the host's files with these descriptors, positioned at the start, or -1 for a missing
 * file; taken. An unreadable file keeps the previous content. Does nothing with --dns, where no
 * file is used. */
void resolver_take_files(struct resolver *resolver, int resolv_conf, int hosts);
/* Keeps @arg. The query dies when @done runs or is withdrawn. */
struct resolve_query *resolve_start(struct resolver *resolver, const char *name, resolve_fn done,
				    void *arg);
/* Its addresses do not answer: the next query asks for them again. */
void resolve_forget(struct resolver *resolver, const char *name);
void resolve_withdraw(struct resolve_query *query);
