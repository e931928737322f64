#include "exec/orchestrator/key.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "exec/orchestrator/access.h"

/* A digest over fields. Each step takes the digest so far and one more field, so that no two lists
 * of fields are one text. */
struct mixer {
	char digest[DIGEST_TEXT_MAX];
	bool has_failed;
};

static void mix(struct mixer *mixer, const char *field)
{
	char next[DIGEST_TEXT_MAX];

	if (digest_text(mixer->digest, strlen(mixer->digest), field, strlen(field), next) < 0)
		mixer->has_failed = true;
	else
		memcpy(mixer->digest, next, sizeof(next));
}

static void mix_number(struct mixer *mixer, uint64_t number)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	mix(mixer, text);
}

/* The words of `sh -c 'one plain command'`, which is that command. NULL: @argv is as it is. A login
 * shell reads files that may change what a word means, so `-lc` never is. */
static const struct command_piece *find_inner(const struct command_pieces *pieces,
					      const char *const *argv)
{
	static const char *const shells[] = { "sh",          "bash",          "dash",
					      "/bin/sh",     "/bin/bash",     "/bin/dash",
					      "/usr/bin/sh", "/usr/bin/bash", "/usr/bin/dash" };
	bool is_shell = false;
	size_t redirects;

	for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
		is_shell |= strcmp(argv[0], shells[i]) == 0;
	if (!is_shell || !argv[1] || strcmp(argv[1], "-c") != 0 || !argv[2] || argv[3])
		return NULL;
	(void)command_pieces_redirects(pieces, &redirects);
	if (command_pieces_why(pieces) || command_pieces_count(pieces) != 2 || redirects > 0)
		return NULL;
	const struct command_piece *inner = command_pieces_get(pieces, 1);

	if (inner->argc == 0 || (inner->flags & ~(unsigned int)COMMAND_IN_SHELL) != 0)
		return NULL;
	for (size_t i = 0; i < inner->argc; i++) {
		if (inner->words[i] != COMMAND_WORD_PLAIN)
			return NULL;
	}
	return inner;
}

static void mix_file(struct mixer *mixer, const struct command_file *file)
{
	mix(mixer, file->path);
	mix_number(mixer, file->device);
	mix_number(mixer, file->inode);
}

static void mix_command(struct mixer *mixer, const struct orchestrator_request *request,
			const struct command_file *program)
{
	const struct command_world *world = request->world;
	struct command_pieces *pieces = command_pieces_new(request->argv);
	const struct command_piece *inner = find_inner(pieces, request->argv);
	const char *const *argv = inner ? inner->argv : request->argv;
	struct command_file file = *program;

	if (inner && (!world || !world->resolve || world->resolve(argv[0], &file, world->arg) < 0))
		file = (struct command_file){ 0 };
	mix_file(mixer, &file);
	for (; *argv; argv++)
		mix(mixer, *argv);
	command_pieces_free(pieces);
}

static void mix_accesses(struct mixer *mixer, const struct orchestrator_request *request)
{
	mix_number(mixer, request->access_count);
	for (size_t i = 0; i < request->access_count; i++) {
		auto_free char *text = access_text(&request->accesses[i]);

		mix(mixer, text);
	}
}

static void mix_env(struct mixer *mixer, const struct orchestrator_request *request)
{
	size_t count = 0;

	while (request->env[count])
		count++;
	mix_number(mixer, count);
	for (size_t i = 0; i < count; i++)
		mix(mixer, request->env[i]);
}

static void mix_sandbox(struct mixer *mixer, const struct exec_sandbox *sandbox)
{
	auto_free char *text = sandbox ? exec_sandbox_key(sandbox) : NULL;

	mix_number(mixer, sandbox != NULL);
	mix(mixer, text ? text : "");
}

/* All that two requests have in common whose answers are the same, but what they are about. That
 * one leaves its sandbox says nothing of another that would leave another one. */
static void mix_run(struct mixer *mixer, const struct orchestrator_request *request,
		    const struct key_run *run)
{
	mix_number(mixer, request->kind);
	mix(mixer, request->environment);
	mix(mixer, request->cwd);
	mix_number(mixer, request->has_tty);
	mix_env(mixer, request);
	mix_sandbox(mixer, request->sandbox);
	mix_sandbox(mixer, run->sandbox);
	mix_number(mixer, run->is_wider);
	mix_accesses(mixer, request);
}

static char *place_text(const char *text, const char *environment)
{
	auto_free char *visible = text_visible_dup(text);

	if (!*environment)
		return take(visible);
	auto_free char *place = text_visible_dup(environment);

	return mem_printf("%s (in %s)", visible, place);
}

int key_of_destination(struct key *ret, const char *environment,
		       const struct orchestrator_access *access)
{
	struct mixer mixer = { 0 };
	auto_free char *text = access_text(access);

	mix_number(&mixer, ORCHESTRATOR_NETWORK);
	mix(&mixer, environment);
	mix(&mixer, text);
	if (mixer.has_failed)
		return -1;
	memcpy(ret->digest, mixer.digest, sizeof(ret->digest));
	ret->text = place_text(text, environment);
	return 0;
}

static int make_one(struct key *ret, const struct orchestrator_request *request, size_t index,
		    const struct key_run *run)
{
	struct mixer mixer = { 0 };
	auto_free char *line = NULL;

	if (request->kind == ORCHESTRATOR_NETWORK)
		return key_of_destination(ret, request->environment, &request->accesses[0]);
	mix_run(&mixer, request, run);
	if (request->kind == ORCHESTRATOR_EXEC) {
		mix_command(&mixer, request, &run->program);
		line = text_command_line(request->argv, ORCHESTRATOR_TEXT_MAX);
	} else {
		mix(&mixer, request->keys[index]);
	}
	if (mixer.has_failed)
		return -1;
	memcpy(ret->digest, mixer.digest, sizeof(ret->digest));
	ret->text = place_text(line ? line : request->keys[index], request->environment);
	return 0;
}

void key_make(struct key_list *ret, const struct orchestrator_request *request,
	      const struct key_run *run)
{
	bool is_one = request->kind == ORCHESTRATOR_EXEC || request->kind == ORCHESTRATOR_NETWORK;
	size_t count = is_one ? 1 : request->key_count;
	struct mixer all = { 0 };

	*ret = (struct key_list){ .list = mem_new_array(count ? count : 1, sizeof(*ret->list)) };
	if (request->kind == ORCHESTRATOR_PERMISSIONS)
		return;
	mix_number(&all, request->client);
	for (; ret->count < count; ret->count++) {
		if (make_one(&ret->list[ret->count], request, ret->count, run) < 0) {
			all.has_failed = true;
			break;
		}
		mix(&all, ret->list[ret->count].digest);
	}
	if (all.has_failed) {
		key_free(ret);
	} else if (count > 0) {
		memcpy(ret->all, all.digest, sizeof(ret->all));
	}
}

void key_free(struct key_list *keys)
{
	for (size_t i = 0; i < keys->count; i++)
		free(keys->list[i].text);
	free(keys->list);
	*keys = (struct key_list){ 0 };
}
