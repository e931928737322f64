#include "exec/orchestrator/questions/key.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "exec/orchestrator/judging/access.h"

/* A digest over fields. Each step hashes the digest so far and one more field, so that two
 * different lists of fields never give the same text. */
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

/* Is it a shell of the system, and not a program that a command put into a folder of PATH? */
static bool is_shell(const struct command_world *world, const char *argv0)
{
	static const char *const shells[] = { "/usr/bin/sh", "/usr/bin/bash", "/usr/bin/dash",
					      "/bin/sh",     "/bin/bash",     "/bin/dash" };
	struct command_file file;
	const char *path = argv0;

	if (world && world->resolve)
		path = world->resolve(argv0, &file, world->arg) == 0 ? file.path : "";
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		if (strcmp(path, shells[i]) == 0 ||
		    (!world && strcmp(path, strrchr(shells[i], '/') + 1) == 0))
			return true;
	}
	return false;
}

/* The words of `sh -c 'one plain command'`, which runs just that command. NULL: use @argv itself. A
 * login shell (`-lc`) reads files that may change the meaning of a word, so it never matches. */
static const struct command_piece *find_inner(const struct command_pieces *pieces,
					      const struct command_world *world,
					      const char *const *argv)
{
	size_t redirects;

	if (!is_shell(world, argv[0]) || !argv[1] || strcmp(argv[1], "-c") != 0 || !argv[2] ||
	    argv[3])
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

static void mix_command(struct mixer *mixer, const struct orchestrator_request *wanted,
			const struct command_file *program)
{
	const struct command_world *world = wanted->world;
	struct command_pieces *pieces = command_pieces_new(wanted->argv);
	const struct command_piece *inner = find_inner(pieces, world, wanted->argv);
	const char *const *argv = inner ? inner->argv : wanted->argv;
	struct command_file file = *program;

	if (inner && (!world || !world->resolve || world->resolve(argv[0], &file, world->arg) < 0))
		file = (struct command_file){ 0 };
	mix_file(mixer, &file);
	for (; *argv; argv++)
		mix(mixer, *argv);
	command_pieces_free(pieces);
}

static void mix_accesses(struct mixer *mixer, const struct orchestrator_request *wanted)
{
	mix_number(mixer, wanted->access_count);
	for (size_t i = 0; i < wanted->access_count; i++) {
		auto_free char *text = access_text(&wanted->accesses[i]);

		mix(mixer, text);
	}
}

static void mix_env(struct mixer *mixer, const struct orchestrator_request *wanted)
{
	size_t count = 0;

	while (wanted->env[count])
		count++;
	mix_number(mixer, count);
	for (size_t i = 0; i < count; i++)
		mix(mixer, wanted->env[i]);
}

static void mix_sandbox(struct mixer *mixer, const struct exec_sandbox *sandbox)
{
	auto_free char *text = sandbox ? exec_sandbox_key(sandbox) : NULL;

	mix_number(mixer, sandbox != NULL);
	mix(mixer, text ? text : "");
}

/* Mixes in everything that must be equal for two requests to share an answer, except what they are
 * about. An approval to leave one sandbox does not apply to leaving another. */
static void mix_run(struct mixer *mixer, const struct orchestrator_request *wanted,
		    const struct key_run *run)
{
	mix_number(mixer, wanted->kind);
	mix(mixer, wanted->cwd);
	mix_number(mixer, wanted->has_tty);
	mix_env(mixer, wanted);
	mix_sandbox(mixer, wanted->sandbox);
	mix_sandbox(mixer, run->sandbox);
	mix_number(mixer, run->is_wider);
	mix_number(mixer, wanted->must_confine);
	mix_accesses(mixer, wanted);
}

int key_of_access(struct key *ret, const struct orchestrator_access *access)
{
	struct mixer mixer = { 0 };
	auto_free char *text = access_text(access);

	mix_number(&mixer, ORCHESTRATOR_NETWORK);
	mix(&mixer, text);
	if (mixer.has_failed)
		return -1;
	memcpy(ret->digest, mixer.digest, sizeof(ret->digest));
	ret->text = text_visible_dup(text);
	return 0;
}

static int make_one(struct key *ret, const struct orchestrator_request *wanted, size_t index,
		    const struct key_run *run)
{
	struct mixer mixer = { 0 };
	auto_free char *line = NULL;

	mix_run(&mixer, wanted, run);
	if (wanted->kind == ORCHESTRATOR_EXEC) {
		mix_command(&mixer, wanted, &run->program);
		line = text_command_line(wanted->argv, ORCHESTRATOR_TEXT_MAX);
	} else {
		mix(&mixer, wanted->keys[index]);
	}
	if (mixer.has_failed)
		return -1;
	memcpy(ret->digest, mixer.digest, sizeof(ret->digest));
	ret->text = text_visible_dup(line ? line : wanted->keys[index]);
	return 0;
}

void key_make(struct key_list *ret, const struct orchestrator_request *wanted,
	      const struct key_run *run)
{
	size_t count = wanted->kind == ORCHESTRATOR_EXEC ? 1 : wanted->key_count;
	struct mixer all = { 0 };

	*ret = (struct key_list){ .list = mem_new_array(count ? count : 1, sizeof(*ret->list)) };
	if (wanted->kind == ORCHESTRATOR_PERMISSIONS)
		return;
	mix_number(&all, wanted->client);
	mix(&all, wanted->changes ? wanted->changes : "");
	for (; ret->count < count; ret->count++) {
		if (make_one(&ret->list[ret->count], wanted, ret->count, run) < 0) {
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
