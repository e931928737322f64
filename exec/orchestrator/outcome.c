#include "exec/orchestrator/outcome.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

static const char *const reason_words[ORCHESTRATOR_NETWORK_REASONS] = {
	[ORCHESTRATOR_BLOCKED] = "blocked by policy",
	[ORCHESTRATOR_BLOCKED_DENIED] = "denied by a rule, which no answer changes",
	[ORCHESTRATOR_BLOCKED_UNLISTED] = "not allowed by any rule",
	[ORCHESTRATOR_BLOCKED_LOCAL] = "a local or private address, which no rule allows",
	[ORCHESTRATOR_BLOCKED_METHOD] = "not with this method",
	[ORCHESTRATOR_BLOCKED_NO_GATE] = "the gate is not open",
};

static const char *words_of(const struct orchestrator_block *block)
{
	if (block->words && *block->words)
		return block->words;
	if (block->kind == ORCHESTRATOR_NETWORK_BY_PERSON)
		return "denied by an answer";
	if (block->kind == ORCHESTRATOR_NETWORK_DISCONNECTED)
		return "nobody answered before it was over";
	return reason_words[block->reason];
}

static void describe(struct outcome_record *record, const struct orchestrator_block *block)
{
	bool has_host = block->host && *block->host;
	auto_free char *text = has_host ? mem_printf("%s: %s", block->host, words_of(block))
					: mem_strdup(words_of(block));

	record->kind = block->kind;
	record->reason = block->reason;
	(void)text_visible(record->text, sizeof(record->text), text, strlen(text));
}

static void keep(struct outcome_record *record, const struct orchestrator_block *block)
{
	if (record->block_count == ORCHESTRATOR_BLOCKS_MAX)
		return;
	struct orchestrator_block *kept = &record->blocks[record->block_count++];

	*kept = *block;
	kept->host = block->host ? mem_strndup(block->host, ORCHESTRATOR_TEXT_MAX) : NULL;
	kept->protocol = block->protocol ? mem_strndup(block->protocol, 16) : NULL;
	kept->words = block->words ? mem_strndup(block->words, ORCHESTRATOR_TEXT_MAX) : NULL;
}

int outcome_add(struct outcome_record *record, const struct orchestrator_block *block)
{
	if (block->kind <= ORCHESTRATOR_NETWORK_NOTHING ||
	    block->kind > ORCHESTRATOR_NETWORK_BY_PERSON ||
	    (unsigned int)block->reason >= ORCHESTRATOR_NETWORK_REASONS)
		return -EINVAL;
	if (record->is_settled)
		return -ESTALE;
	record->blocked++;
	keep(record, block);
	if (block->kind == ORCHESTRATOR_NETWORK_BY_PERSON ||
	    record->kind == ORCHESTRATOR_NETWORK_NOTHING)
		describe(record, block);
	return 0;
}

void outcome_settle(struct outcome_record *record)
{
	record->is_settled = true;
}

struct orchestrator_network_outcome outcome_look(const struct outcome_record *record)
{
	return (struct orchestrator_network_outcome){
		.kind = record->kind,
		.reason = record->reason,
		.text = record->text,
		.blocked = record->blocked,
		.blocks = record->blocks,
		.block_count = record->block_count,
	};
}

bool outcome_has_denied(const struct outcome_record *record,
			const struct orchestrator_access *access)
{
	for (uint64_t i = 0; i < record->block_count; i++) {
		const struct orchestrator_block *block = &record->blocks[i];

		if (block->kind == ORCHESTRATOR_NETWORK_BY_PERSON && block->host &&
		    strcmp(block->host, access->name) == 0 && block->port == access->port)
			return true;
	}
	/* More than are kept: what is not known is a denial. */
	return record->kind == ORCHESTRATOR_NETWORK_BY_PERSON &&
	       record->blocked > record->block_count;
}

void outcome_done(struct outcome_record *record)
{
	for (uint64_t i = 0; i < record->block_count; i++) {
		free((char *)record->blocks[i].host);
		free((char *)record->blocks[i].protocol);
		free((char *)record->blocks[i].words);
	}
	record->block_count = 0;
}
