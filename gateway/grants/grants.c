#include "gateway/grants/accounts.h"
#include "gateway/grants/grants.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "gateway/grants/domains.h"
#include "gateway/grants/width.h"
#include "policies/policies_tools.h"

#define GRANT_RELOADS  2 /* after so many reloads, a removed line is surely out of the policy */
#define GRANTS_ACCOUNT (UINT64_C(1) << 63) /* the numbers of rules are smaller */
#define GRANTS_SESSION (UINT64_C(1) << 62) /* the numbers of execs are smaller */

/* The wide grants of one exec that are found by one host or domain. */
struct grant_group {
	struct key_node node;
	struct policy_destination key; /* only its host is set */
	struct grant_list grants;
};

/* The number in the keys of a grant. */
static uint64_t grants_owner(uint64_t exec, uint64_t session)
{
	return exec == 0 && session != 0 ? GRANTS_SESSION | session : exec;
}

void grants_init(struct grants *grants)
{
	*grants = (struct grants){ 0 };
	grants->domains = domains_new();
	keys_init(&grants->table);
	keys_init(&grants->groups);
	keys_init(&grants->ids);
	LIST_INIT(&grants->session);
	TAILQ_INIT(&grants->all);
	TAILQ_INIT(&grants->retired);
	TAILQ_INIT(&grants->withdrawn);
}

static void grant_free_text(struct grant *grant)
{
	policy_free(grant->wide);
	free(grant->program);
	free(grant->text);
	free(grant->words);
	free(grant->from);
}

static void grant_free(struct grant *grant)
{
	grant_free_text(grant);
	free(grant);
}

static void grants_restore(struct grants *grants, struct grant *withdrawn)
{
	TAILQ_REMOVE(&grants->withdrawn, withdrawn, order);
	grant_free(withdrawn);
}

void grants_done(struct grants *grants)
{
	grants_forget(grants, &grants->session);
	while (!TAILQ_EMPTY(&grants->retired))
		grants_drop(grants, TAILQ_FIRST(&grants->retired));
	while (!TAILQ_EMPTY(&grants->withdrawn))
		grants_restore(grants, TAILQ_FIRST(&grants->withdrawn));
	keys_done(&grants->table);
	keys_done(&grants->groups);
	keys_done(&grants->ids);
	domains_free(take(grants->domains));
}

static struct grant_group *group_find(const struct grants *grants, uint64_t exec, const char *host)
{
	struct policy_destination key = { .port = 0 };

	memcpy(key.host, host, strnlen(host, sizeof(key.host) - 1));
	struct key_node *node = keys_find(&grants->groups, exec, &key);

	return node ? container_of(node, struct grant_group, node) : NULL;
}

static struct grant_group *group_find_or_new(struct grants *grants, uint64_t exec, const char *host)
{
	struct grant_group *group = group_find(grants, exec, host);

	if (group)
		return group;
	group = mem_new(sizeof(*group));
	(void)snprintf(group->key.host, sizeof(group->key.host), "%s", host);
	LIST_INIT(&group->grants);
	keys_add(&grants->groups, &group->node, exec, &group->key);
	return group;
}

static bool grant_is_over(const struct grant *grant, int64_t now_s)
{
	return grant->until_s != 0 && now_s >= grant->until_s;
}

/* An allow for a program is valid for the file that asked; a file that replaces it is asked about
 * again. A denial is valid for both. */
static bool grant_is_for(const struct grant *grant, const struct socket_owner_file *program_file)
{
	static const struct socket_owner_file unknown;

	return grant->action != POLICY_ALLOW ||
	       socket_owner_file_equal(&grant->program_file, &unknown) ||
	       socket_owner_file_equal(&grant->program_file, program_file);
}

/* The first valid denial and the first valid allow. */
struct found {
	struct grant *deny, *allow;
};

static void found_note(struct found *found, struct grant *grant, int64_t now_s)
{
	struct grant **place = grant->action == POLICY_ALLOW ? &found->allow : &found->deny;

	if (!*place && !grant->is_spent && !grant_is_over(grant, now_s))
		*place = grant;
}

static void found_in_group(struct found *found, const struct grants *grants, uint64_t exec,
			   const char *host, const struct policy_facts *facts,
			   const struct socket_owner_file *program_file)
{
	struct grant_group *group = group_find(grants, exec, host);
	struct grant *grant;

	if (!group)
		return;
	LIST_FOREACH (grant, &group->grants, group_entry) {
		if (grant_is_for(grant, program_file) && width_covers(grant->wide, facts))
			found_note(found, grant, facts->now);
	}
}

static void found_of(struct found *found, const struct grants *grants, uint64_t exec,
		     const char *domain, const struct policy_facts *facts,
		     const struct socket_owner_file *program_file)
{
	struct policy_destination any = facts->dst;
	struct key_node *node = keys_find(&grants->table, exec, &facts->dst);

	if (node)
		found_note(found, container_of(node, struct grant, node), facts->now);
	/* An answer about raw TCP covers every protocol of a TCP connection. */
	any.protocol = facts->dst.protocol == POLICY_UDP ? POLICY_UDP : POLICY_TCP;
	node = facts->dst.protocol != any.protocol ? keys_find(&grants->table, exec, &any) : NULL;
	if (node)
		found_note(found, container_of(node, struct grant, node), facts->now);
	if (grants->wide_count == 0)
		return;
	found_in_group(found, grants, exec, facts->dst.host, facts, program_file);
	if (domain && strcmp(domain, facts->dst.host) != 0)
		found_in_group(found, grants, exec, domain, facts, program_file);
}

struct grant *grants_find(const struct grants *grants, uint64_t exec, uint64_t session,
			  const struct policy_facts *facts,
			  const struct socket_owner_file *program_file)
{
	struct found found = { 0 };
	const char *domain = NULL;

	if (grants->wide_count > 0 && facts->dst.addr.family == 0)
		domain = domains_find(grants->domains, facts->dst.host);
	found_of(&found, grants, 0, domain, facts, program_file);
	if (session != 0)
		found_of(&found, grants, grants_owner(0, session), domain, facts, program_file);
	if (exec != 0)
		found_of(&found, grants, exec, domain, facts, program_file);
	return found.deny ? found.deny : found.allow;
}

static bool grant_is_withdrawn(const struct grant *grant)
{
	return grant->over == POLICY_REVOKED && grant->scope == GATEWAY_ALWAYS &&
	       grant->action == POLICY_ALLOW && grant->reloads < GRANT_RELOADS;
}

static bool grant_covers(const struct grant *grant, const struct policy_facts *facts)
{
	return grant->wide ? width_covers(grant->wide, facts)
			   : policy_destination_equal(&grant->dst, &facts->dst);
}

bool grants_are_withdrawn(const struct grants *grants, const struct policy_facts *facts)
{
	const struct grant *grant;

	TAILQ_FOREACH (grant, &grants->retired, order) {
		if (grant_is_withdrawn(grant) && grant_covers(grant, facts))
			return true;
	}
	TAILQ_FOREACH (grant, &grants->withdrawn, order) {
		if (grant_covers(grant, facts))
			return true;
	}
	return false;
}

/* One policy may have been read before the line was removed; the next was read after it. */
static void grant_reloaded(struct grant *grant, const struct policy *policy, int64_t now_s)
{
	const struct policy_facts facts = { .dst = grant->dst,
					    .carries = grant->dst.protocol,
					    .now = now_s };
	struct policy_verdict verdict;

	policy_decide(policy, &facts, &verdict);
	grant->reloads++;
	/* The asking program is not known here. */
	if (!strstr(grant->text, " by ") && verdict.reason != POLICY_ANSWER_ALLOW)
		grant->reloads = GRANT_RELOADS;
}

void grants_reloaded(struct grants *grants, const struct policy *policy, int64_t now_s)
{
	struct grant *grant;

	TAILQ_FOREACH (grant, &grants->retired, order)
		grant_reloaded(grant, policy, now_s);
	grant = TAILQ_FIRST(&grants->withdrawn);
	while (grant) {
		struct grant *next = TAILQ_NEXT(grant, order);

		grant_reloaded(grant, policy, now_s);
		if (!grant_is_withdrawn(grant))
			grants_restore(grants, grant);
		grant = next;
	}
}

struct grant *grants_by_id(const struct grants *grants, uint64_t id)
{
	struct key_node *node = keys_find(&grants->ids, id, NULL);

	return node ? container_of(node, struct grant, id_node) : NULL;
}

bool grants_has_room(const struct grants *grants, size_t count, bool is_wide)
{
	return grants->table.count + grants->wide_count + count <= GRANTS_MAX &&
	       (!is_wide || grants->wide_count + count <= GRANTS_WIDE_MAX);
}

/* The host or domain under which a wide grant is found. */
static const char *grants_group_host(const struct grant_order *order)
{
	const char *domain = order->width.is_domain ? policy_host_domain(order->dst->host) : NULL;

	return domain ? domain : order->dst->host;
}

static bool grants_is_program(const struct grant *grant, const struct grant_order *order)
{
	if (!grant->program || !order->width.is_program)
		return !grant->program && !order->width.is_program;
	return strcmp(grant->program, order->program) == 0;
}

struct grant *grants_same(const struct grants *grants, const struct grant_order *order)
{
	size_t len = strcspn(order->text, " ");
	uint64_t owner = grants_owner(order->exec, order->session);
	struct key_node *node = keys_find(&grants->table, owner, order->dst);
	struct grant_group *group;
	struct grant *grant;

	if (!width_is_wide(&order->width))
		return node ? container_of(node, struct grant, node) : NULL;
	group = group_find(grants, owner, grants_group_host(order));
	if (!group)
		return NULL;
	LIST_FOREACH (grant, &group->grants, group_entry) {
		if (strcspn(grant->text, " ") == len &&
		    memcmp(grant->text, order->text, len) == 0 && grants_is_program(grant, order))
			return grant;
	}
	return NULL;
}

static struct grant *grants_add(struct grants *grants, struct grant_list *list,
				const struct grant_order *order)
{
	struct grant *grant = mem_new(sizeof(*grant));
	uint64_t owner = grants_owner(order->exec, order->session);

	grant->dst = *order->dst;
	grant->exec = order->exec;
	grant->session = order->session;
	keys_add(&grants->ids, &grant->id_node, ++grants->last_id, NULL);
	TAILQ_INSERT_TAIL(&grants->all, grant, order);
	LIST_INSERT_HEAD(list, grant, entry);
	if (width_is_wide(&order->width)) {
		grant->group = group_find_or_new(grants, owner, grants_group_host(order));
		LIST_INSERT_HEAD(&grant->group->grants, grant, group_entry);
		grants->wide_count++;
	} else {
		keys_add(&grants->table, &grant->node, owner, &grant->dst);
	}
	return grant;
}

static void grants_forget_account(const struct grants *grants, struct grant *grant)
{
	if (grants->accounts)
		accounts_forget(grants->accounts, grant->limits.account);
	grant->limits.account = 0;
}

/* Gives it a budget of its own. */
static void grants_limit(struct grants *grants, struct grant *grant)
{
	const struct approver_width *width = &grant->width;

	grants_forget_account(grants, grant); /* of the previous answer */
	grant->until_s = width->for_s > 0 ? grant->since_s + width->for_s : 0;
	grant->limits = (struct policy_limits){ .upload = width->upload_max,
						.download = width->download_max,
						.connections = width->connections_max,
						.until_s = grant->until_s };
	if (width->upload_max || width->download_max || width->connections_max)
		grant->limits.account = GRANTS_ACCOUNT | ++grants->last_account;
	grant->is_spent = false;
}

/* The same answer was given again: forgets that it was withdrawn. */
static void grants_say_again(struct grants *grants, const struct grant_order *order)
{
	struct grant *grant = TAILQ_FIRST(&grants->withdrawn);

	while (order->scope == GATEWAY_ALWAYS && order->action == POLICY_ALLOW && grant) {
		struct grant *next = TAILQ_NEXT(grant, order);

		if (policy_destination_equal(&grant->dst, order->dst))
			grants_restore(grants, grant);
		grant = next;
	}
}

struct grant *grants_put(struct grants *grants, struct grant_list *list,
			 const struct grant_order *order, struct err *why)
{
	bool is_wide = width_is_wide(&order->width);
	struct grant *grant = grants_same(grants, order);
	struct policy *wide = NULL;

	if (!grant && !grants_has_room(grants, 1, is_wide)) {
		(void)err_set(why, -ENOSPC,
			      "too many answers are remembered; answer with the scope once");
		return NULL;
	}
	if (is_wide)
		wide = width_policy(order->dst, order->program, order->action, order->text,
				    order->since_s, why);
	if (is_wide && !wide)
		return NULL;
	grants_say_again(grants, order);
	if (!grant)
		grant = grants_add(grants, list, order);
	grants->wants_program |= order->width.is_program;
	grant_free_text(grant);
	grant->wide = wide;
	grant->width = order->width;
	grant->program = order->width.is_program ? mem_strdup(order->program) : NULL;
	grant->program_file = order->program_file;
	grant->text = mem_strdup(order->text);
	grant->words = mem_strdup(order->words);
	grant->from = mem_strdup_or_null(order->from);
	grant->answer = order->answer;
	grant->action = order->action;
	grant->reason = order->reason;
	grant->scope = order->scope;
	grant->since_s = order->since_s;
	grants_limit(grants, grant);
	(void)snprintf(grant->by, sizeof(grant->by), "%s", order->by);
	return grant;
}

void grants_retire(struct grants *grants, struct grant *grant, enum policy_reason why,
		   const char *by)
{
	LIST_REMOVE(grant, entry);
	TAILQ_REMOVE(&grants->all, grant, order);
	TAILQ_INSERT_TAIL(&grants->retired, grant, order);
	if (!grant->group) {
		keys_remove(&grants->table, &grant->node);
	} else {
		LIST_REMOVE(grant, group_entry);
		grants->wide_count--;
		if (LIST_EMPTY(&grant->group->grants)) {
			keys_remove(&grants->groups, &grant->group->node);
			free(grant->group);
		}
	}
	grant->over = why;
	(void)snprintf(grant->over_by, sizeof(grant->over_by), "%s", by);
}

void grants_drop(struct grants *grants, struct grant *retired)
{
	TAILQ_REMOVE(&grants->retired, retired, order);
	keys_remove(&grants->ids, &retired->id_node);
	grants_forget_account(grants, retired);
	if (grant_is_withdrawn(retired))
		TAILQ_INSERT_TAIL(&grants->withdrawn, retired, order);
	else
		grant_free(retired);
}

void grants_forget(struct grants *grants, struct grant_list *list)
{
	struct grant *grant;

	while ((grant = LIST_FIRST(list))) {
		grants_retire(grants, grant, POLICY_EXEC_ENDED, "");
		grants_drop(grants, grant);
	}
}
