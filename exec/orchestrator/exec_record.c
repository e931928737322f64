#include "exec/orchestrator/exec_record.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "exec/orchestrator/setting.h"

/* Reports what has changed, while the exec runs. */
static void tell(void *arg)
{
	struct exec_record *exec = arg;
	const struct orchestrator_config *config = &exec->execs->setting->config;

	if (!exec_record_is_live(exec))
		return;
	if (exec->is_told_paused != (exec->pauses > 0)) {
		exec->is_told_paused = exec->pauses > 0;
		config->ops->pause(exec->number, exec->is_told_paused, config->arg);
	}
	if (exec->wants_stop && !exec->is_told_stop) {
		exec->is_told_stop = true;
		config->ops->stop(exec->number, exec->stop_why, config->arg);
	}
}

static void wake(struct exec_record *exec)
{
	loop_defer(exec->execs->setting->loop, &exec->task, tell, exec);
}

void exec_record_list_init(struct exec_records *execs, struct setting *setting)
{
	execs->setting = setting;
	TAILQ_INIT(&execs->list);
}

void exec_record_list_done(struct exec_records *execs)
{
	struct exec_record *exec;

	while ((exec = TAILQ_FIRST(&execs->list)))
		exec_record_free(exec);
}

struct exec_record *exec_record_new(struct exec_records *execs, uint64_t request,
				    const struct orchestrator_request *wanted)
{
	struct exec_record *exec = mem_new(sizeof(*exec));

	exec->execs = execs;
	exec->number = ++*execs->setting->config.last_exec;
	exec->request = request;
	exec->on_denial = wanted->on_denial;
	exec->is_running = true;
	TAILQ_INSERT_TAIL(&execs->list, exec, entry);
	execs->count++;
	return exec;
}

struct exec_record *exec_record_find(const struct exec_records *execs, uint64_t number)
{
	struct exec_record *exec;

	TAILQ_FOREACH (exec, &execs->list, entry) {
		if (exec->number == number)
			return exec;
	}
	return NULL;
}

void exec_record_free(struct exec_record *exec)
{
	TAILQ_REMOVE(&exec->execs->list, exec, entry);
	exec->execs->count--;
	loop_timer_stop(&exec->task);
	for (uint64_t i = 0; i < exec->network.block_count; i++) {
		free((char *)exec->network.blocks[i].host);
		free((char *)exec->network.blocks[i].protocol);
		free((char *)exec->network.blocks[i].words);
	}
	free(exec);
}

bool exec_record_is_live(const struct exec_record *exec)
{
	return !exec->network.is_settled && (exec->is_running || exec->is_deferred);
}

void exec_record_hold_clock(struct exec_record *exec)
{
	exec->pauses++;
	wake(exec);
}

void exec_record_release_clock(struct exec_record *exec)
{
	assert(exec->pauses > 0);
	exec->pauses--;
	wake(exec);
}

void exec_record_stop(struct exec_record *exec, const char *why)
{
	if (exec->wants_stop)
		return;
	exec->wants_stop = true;
	(void)snprintf(exec->stop_why, sizeof(exec->stop_why), "%s", why);
	wake(exec);
}

static const char *words_of(const struct orchestrator_block *block)
{
	if (block->words && *block->words)
		return block->words;
	if (block->kind == ORCHESTRATOR_NETWORK_BY_PERSON)
		return "an answer denied it";
	if (block->kind == ORCHESTRATOR_NETWORK_DISCONNECTED)
		return "it ended before the question was answered";
	return "the policy blocked it";
}

static void describe(struct exec_record *exec, const struct orchestrator_block *block)
{
	bool has_host = block->host && *block->host;
	auto_free char *text = has_host ? mem_printf("%s: %s", block->host, words_of(block))
					: mem_strdup(words_of(block));

	exec->network.kind = block->kind;
	(void)text_visible(exec->network.text, sizeof(exec->network.text), text, strlen(text));
}

static void keep(struct exec_record *exec, const struct orchestrator_block *block)
{
	if (exec->network.block_count == ORCHESTRATOR_BLOCKS_MAX)
		return;
	struct orchestrator_block *kept = &exec->network.blocks[exec->network.block_count++];

	*kept = *block;
	kept->host = block->host ? mem_strndup(block->host, ORCHESTRATOR_TEXT_MAX) : NULL;
	kept->protocol = block->protocol ? mem_strndup(block->protocol, 16) : NULL;
	kept->words = block->words ? mem_strndup(block->words, ORCHESTRATOR_TEXT_MAX) : NULL;
}

int exec_record_block(struct exec_record *exec, const struct orchestrator_block *block)
{
	if (block->kind <= ORCHESTRATOR_NETWORK_NOTHING ||
	    block->kind > ORCHESTRATOR_NETWORK_BY_PERSON)
		return -EINVAL;
	if (exec->network.is_settled)
		return -ESTALE;
	exec->network.blocked++;
	keep(exec, block);
	if (block->kind == ORCHESTRATOR_NETWORK_BY_PERSON ||
	    exec->network.kind == ORCHESTRATOR_NETWORK_NOTHING)
		describe(exec, block);
	if (exec->on_denial == ORCHESTRATOR_STOP)
		exec_record_stop(exec, exec->network.text);
	return 0;
}

void exec_record_settle(struct exec_record *exec)
{
	exec->network.is_settled = true;
}

struct orchestrator_network_outcome exec_record_outcome(const struct exec_record *exec)
{
	return (struct orchestrator_network_outcome){
		.kind = exec->network.kind,
		.text = exec->network.text,
		.blocked = exec->network.blocked,
		.blocks = exec->network.blocks,
		.block_count = exec->network.block_count,
		.is_denial = exec->on_denial != ORCHESTRATOR_REPORT &&
			     exec->network.kind != ORCHESTRATOR_NETWORK_NOTHING,
	};
}

bool exec_record_has_denied(const struct exec_record *exec,
			    const struct orchestrator_access *access)
{
	for (uint64_t i = 0; i < exec->network.block_count; i++) {
		const struct orchestrator_block *block = &exec->network.blocks[i];

		if (block->kind == ORCHESTRATOR_NETWORK_BY_PERSON && block->host &&
		    strcmp(block->host, access->name) == 0 && block->port == access->port)
			return true;
	}
	/* More denials than are kept: one that is not known counts as a denial by that person. */
	return exec->network.kind == ORCHESTRATOR_NETWORK_BY_PERSON &&
	       exec->network.blocked > exec->network.block_count;
}
