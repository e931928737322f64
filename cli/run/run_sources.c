#include "cli/run/run_sources.h"

#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cli/bundle_files.h"
#include "policies/policies_tools.h"

void run_sources_copy(struct run_sources *ours, const struct run_sources *sources)
{
	const struct policy_layers *layers = &sources->layers;

	*ours = *sources;
	ours->layers.managed = mem_strdup_or_null(layers->managed);
	ours->layers.user = mem_strdup_or_null(layers->user);
	ours->layers.cwd = mem_strdup_or_null(layers->cwd);
	ours->layers.state = mem_strdup_or_null(layers->state);
	ours->layers.extra = mem_strdup_or_null(layers->extra);
	ours->layers.extra_name = mem_strdup_or_null(layers->extra_name);
	ours->layers.arguments = mem_copy_list((const char *const *)layers->arguments);
	ours->layers.projects = mem_copy_list((const char *const *)layers->projects);
	ours->replies = mem_new_array(sources->reply_count + 1, sizeof(*ours->replies));
	for (size_t i = 0; i < sources->reply_count; i++) {
		const struct bundle_reply *reply = &sources->replies[i];

		ours->replies[i] = (struct bundle_reply){
			.path = mem_strdup_or_null(reply->path),
			.text = mem_strndup(reply->text, reply->len),
		};
		ours->replies[i].len = strlen(ours->replies[i].text); /* JSON contains no NUL */
	}
}

/* The strings were allocated by run_sources_copy(). */
void run_sources_done(struct run_sources *ours)
{
	const char *texts[] = { ours->layers.managed, ours->layers.user,  ours->layers.cwd,
				ours->layers.state,   ours->layers.extra, ours->layers.extra_name };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free((char *)(uintptr_t)texts[i]);
	mem_free_list((char **)(uintptr_t)ours->layers.arguments);
	mem_free_list((char **)(uintptr_t)ours->layers.projects);
	bundle_files_forget(ours->replies, ours->reply_count);
	*ours = (struct run_sources){ 0 };
}

/* A file without a digest counts as changed: it equals no earlier one. */
static void on_file(const char *path, const char *asked, enum policy_layer layer, const void *bytes,
		    size_t len, void *arg)
{
	struct run_loaded *loaded = arg;
	const char *by = policy_layer_name(layer);

	loaded->files = mem_grow(loaded->files, loaded->file_count + 1, sizeof(*loaded->files));
	struct run_file *file = &loaded->files[loaded->file_count++];

	*file = (struct run_file){
		.path = mem_strdup(path),
		.asked = mem_strdup(asked),
		.layer = layer,
	};
	(void)digest_text(bytes, len, NULL, 0, file->bytes);
	(void)digest_text(by, strlen(by) + 1, bytes, len, file->digest);
}

/* The digest over "DIGEST  PATH" of every file, one per line. */
static void digest_all(struct run_loaded *loaded)
{
	char so_far[DIGEST_TEXT_MAX] = "";

	for (size_t i = 0; i < loaded->file_count; i++) {
		auto_free char *line =
			mem_printf("%s  %s\n", loaded->files[i].digest, loaded->files[i].path);

		(void)digest_text(so_far, strlen(so_far), line, strlen(line), loaded->digest);
		memcpy(so_far, loaded->digest, sizeof(so_far));
	}
}

static int64_t now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void run_sources_read(struct run_loaded *ret, const struct run_sources *sources)
{
	enum policy_action ignored;
	struct policy *policy = policy_new();

	*ret = (struct run_loaded){ .policy = policy, .since_us = now_us() };
	policy_set_witness(policy, on_file, ret);
	ret->is_good = policy_layers_load(policy, &sources->layers);
	policy_set_witness(policy, NULL, NULL);
	/* The answers are checked each time against the approvers that the policy now names. */
	if (ret->is_good && sources->reply_count > 0)
		(void)bundle_files_answer(policy, sources->replies, sources->reply_count,
					  time(NULL), &ret->lacking, &ret->left_out);
	/* The default is to ask. If there is no approver, the gateway denies at once and says so.
	 */
	if (sources->has_default || !policy_get_default(policy, &ignored))
		policy_set_default(policy,
				   sources->has_default ? sources->default_action : POLICY_ASK);
	ret->is_good = ret->is_good && policy_finish(policy) == 0;
	digest_all(ret);
}

void run_sources_forget(struct run_loaded *loaded)
{
	if (loaded->has_image)
		fd_close(loaded->image);
	free(loaded->failure);
	policy_free(loaded->policy);
	for (size_t i = 0; i < loaded->file_count; i++) {
		free(loaded->files[i].path);
		free(loaded->files[i].asked);
	}
	free(loaded->files);
	*loaded = (struct run_loaded){ 0 };
}
