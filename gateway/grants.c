#include "gateway/grants.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

void grants_init(struct grants *grants)
{
	keys_init(&grants->table);
	LIST_INIT(&grants->session);
}

void grants_done(struct grants *grants)
{
	grants_forget(grants, &grants->session);
	keys_done(&grants->table);
}

static struct grant *grants_at(const struct grants *grants, uint64_t exec,
			       const struct policy_destination *dst)
{
	struct key_node *node = keys_find(&grants->table, exec, dst);

	return node ? container_of(node, struct grant, node) : NULL;
}

const struct grant *grants_find(const struct grants *grants, uint64_t exec,
				const struct policy_destination *dst)
{
	const struct grant *session = grants_at(grants, 0, dst);
	const struct grant *own = exec ? grants_at(grants, exec, dst) : NULL;

	if (session && session->action != POLICY_ALLOW)
		return session;
	if (own && own->action != POLICY_ALLOW)
		return own;
	return session ? session : own;
}

int grants_put(struct grants *grants, struct grant_list *list, uint64_t exec,
	       const struct policy_destination *dst, enum policy_action action,
	       enum policy_reason reason, const char *by)
{
	struct grant *grant = grants_at(grants, exec, dst);

	if (!grant && grants->table.count >= GRANTS_MAX)
		return -ENOSPC;
	if (!grant) {
		grant = mem_new(sizeof(*grant));
		grant->dst = *dst;
		keys_add(&grants->table, &grant->node, exec, &grant->dst);
		LIST_INSERT_HEAD(list, grant, entry);
	}
	grant->action = action;
	grant->reason = reason;
	(void)snprintf(grant->by, sizeof(grant->by), "%s", by);
	return 0;
}

void grants_forget(struct grants *grants, struct grant_list *list)
{
	struct grant *grant;

	while ((grant = LIST_FIRST(list))) {
		LIST_REMOVE(grant, entry);
		keys_remove(&grants->table, &grant->node);
		free(grant);
	}
}
