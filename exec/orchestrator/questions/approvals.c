#include "exec/orchestrator/questions/approvals.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"
#include "exec/orchestrator/judging/access.h"

int approvals_new_id(char ret[ORCHESTRATOR_ID_MAX])
{
	unsigned char bytes[(ORCHESTRATOR_ID_MAX - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

void approvals_init(struct approvals *approvals)
{
	TAILQ_INIT(&approvals->list);
	approvals->count = 0;
}

static void drop(struct approvals *approvals, struct approvals_entry *entry)
{
	TAILQ_REMOVE(&approvals->list, entry, entry);
	approvals->count--;
	free(entry->key.text);
	free((char *)entry->access.name);
	free((char *)entry->access.protocol);
	free(entry);
}

void approvals_done(struct approvals *approvals)
{
	struct approvals_entry *entry;

	while ((entry = TAILQ_FIRST(&approvals->list)))
		drop(approvals, entry);
}

static bool has_ended(const struct approvals_entry *entry, int64_t now_ms)
{
	return entry->ends_ms > 0 && entry->ends_ms <= now_ms;
}

static struct approvals_entry *find(const struct approvals *approvals, const struct key *key)
{
	struct approvals_entry *entry;

	TAILQ_FOREACH (entry, &approvals->list, entry) {
		if (strcmp(entry->key.digest, key->digest) == 0)
			return entry;
	}
	return NULL;
}

enum approvals_says approvals_look(struct approvals *approvals, const struct key *key,
				   int64_t now_ms)
{
	const struct approvals_entry *entry = find(approvals, key);

	if (!entry || has_ended(entry, now_ms))
		return APPROVALS_NOTHING;
	return entry->is_denial ? APPROVALS_DENIED : APPROVALS_ALLOWED;
}

enum approvals_says approvals_look_all(struct approvals *approvals, const struct key_list *keys,
				       int64_t now_ms)
{
	enum approvals_says all = keys->count > 0 ? APPROVALS_ALLOWED : APPROVALS_NOTHING;

	for (size_t i = 0; i < keys->count; i++) {
		enum approvals_says one = approvals_look(approvals, &keys->list[i], now_ms);

		if (one == APPROVALS_DENIED)
			return one;
		if (one == APPROVALS_NOTHING)
			all = one;
	}
	return all;
}

static void forget_ended(struct approvals *approvals, int64_t now_ms)
{
	struct approvals_entry *entry = TAILQ_FIRST(&approvals->list), *next;

	for (; entry; entry = next) {
		next = TAILQ_NEXT(entry, entry);
		if (has_ended(entry, now_ms))
			drop(approvals, entry);
	}
}

bool approvals_add(struct approvals *approvals, const struct approvals_new *add, int64_t now_ms)
{
	struct approvals_entry *old = find(approvals, add->key);
	char id[ORCHESTRATOR_ID_MAX];

	if (old)
		drop(approvals, old);
	if (approvals->count >= ORCHESTRATOR_APPROVALS_MAX)
		forget_ended(approvals, now_ms);
	if (approvals->count >= ORCHESTRATOR_APPROVALS_MAX || approvals_new_id(id) < 0)
		return false;
	struct approvals_entry *entry = mem_new(sizeof(*entry));

	entry->key = *add->key;
	entry->key.text = mem_strdup(add->key->text);
	memcpy(entry->id, id, sizeof(id));
	entry->is_denial = add->is_denial;
	if (add->access) {
		entry->access = *add->access;
		entry->access.name = mem_strdup(add->access->name);
		entry->access.protocol = mem_strdup_or_null(add->access->protocol);
	}
	entry->client = add->client;
	entry->ends_ms = add->ends_ms;
	TAILQ_INSERT_TAIL(&approvals->list, entry, entry);
	approvals->count++;
	return true;
}

struct exec_sandbox *approvals_widen(const struct approvals *approvals,
				     const struct exec_sandbox *sandbox, int64_t now_ms)
{
	struct exec_sandbox *wider = exec_sandbox_copy(sandbox);
	const struct approvals_entry *entry;

	TAILQ_FOREACH (entry, &approvals->list, entry) {
		if (entry->access.name && !entry->is_denial && !has_ended(entry, now_ms))
			wider = access_widen_if(wider, &entry->access);
	}
	return wider;
}

int approvals_revoke(struct approvals *approvals, const char *id)
{
	struct approvals_entry *entry;

	TAILQ_FOREACH (entry, &approvals->list, entry) {
		if (strcmp(entry->id, id) == 0) {
			drop(approvals, entry);
			return 0;
		}
	}
	return -ENOENT;
}
