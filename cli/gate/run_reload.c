/* When a file changes, a process reads all files of the policy and the gateway gets the result.
 * Only one process reads at a time; a change meanwhile causes one more reading. A policy with
 * errors is reported once and not used. */
#include "cli/gate/run_reload.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/watch.h"
#include "cli/gate/run_loader.h"
#include "cli/run/run_policy.h"
#include "cli/run/run_sources.h"
#include "gateway/gateway.h"
#include "policies/policies_agent.h"
#include "policies/policies_tools.h"

#define ERRORS_SHOWN_MAX 4096
#define FILES_TEXT_MAX   480
#define AGAIN_MS         1000
/* To close an inotify descriptor, the kernel waits for all readers of its list: 13 ms, as long as
 * four short runs. So the watch starts late, when short runs have ended; it reports a change from
 * before that. */
#define BEGIN_MS 500

struct run_reload {
	struct run_reload_config config;
	struct watch *watch;
	struct run_loader *loader; /* NULL: nothing is being read */
	bool has_changed;          /* since the reading began */
	bool has_failed;           /* about the last reading */
	bool is_late;              /* the last process has failed; that was said */
	char failed[DIGEST_TEXT_MAX];
	char *errors; /* the last reading's; NULL: none */
	struct loop_timer again, begin;
};

static void reload_begin(void *arg);

/* Watches every path that determines the policy: its files, the paths where further files may
 * appear, and what they include. */
static void reload_watch(struct run_reload *reload, const struct run_loaded *loaded)
{
	auto_free_list char **paths = policy_layers_places(&reload->config.sources->layers);
	const char *cwd = reload->config.sources->layers.cwd;
	size_t count = 0;

	while (paths[count]) {
		if (paths[count][0] != '/') {
			char *absolute = mem_printf("%s/%s", cwd, paths[count]);

			free(paths[count]);
			paths[count] = absolute;
		}
		count++;
	}
	paths = mem_grow(paths, count + loaded->file_count + 1, sizeof(*paths));
	for (size_t i = 0; i < loaded->file_count; i++) {
		if (loaded->files[i].path[0] == '/')
			paths[count++] = mem_strdup(loaded->files[i].path);
	}
	paths[count] = NULL;
	watch_set(reload->watch, paths, loaded->since_us);
}

static const struct run_file *find_file(const struct run_loaded *loaded,
					const struct run_file *file)
{
	for (size_t i = 0; i < loaded->file_count; i++) {
		if (strcmp(loaded->files[i].path, file->path) == 0)
			return &loaded->files[i];
	}
	return NULL;
}

static void add_name(char out[FILES_TEXT_MAX], const char *what, const char *path)
{
	size_t len = strlen(out);

	(void)snprintf(out + len, FILES_TEXT_MAX - len, "%s%s%s", len > 0 ? ", " : "", what, path);
}

/* Lists the files that were added, removed or changed. Returns @out. */
static const char *compare(const struct run_loaded *before, const struct run_loaded *after,
			   char out[FILES_TEXT_MAX])
{
	out[0] = '\0';
	for (size_t i = 0; i < after->file_count; i++) {
		const struct run_file *same = find_file(before, &after->files[i]);

		if (!same)
			add_name(out, "added ", after->files[i].path);
		else if (strcmp(same->digest, after->files[i].digest) != 0)
			add_name(out, "", after->files[i].path);
	}
	for (size_t i = 0; i < before->file_count; i++) {
		if (!find_file(after, &before->files[i]))
			add_name(out, "removed ", before->files[i].path);
	}
	return out;
}

static void say_errors(const char *errors)
{
	static const char head[] =
		"sallyport: the policy changed and has errors; the last good one stays in force\n";
	size_t len = strlen(errors);

	log_text(head, sizeof(head) - 1);
	if (len <= ERRORS_SHOWN_MAX) {
		log_text(errors, len);
		return;
	}
	for (len = ERRORS_SHOWN_MAX; len > 0 && errors[len - 1] != '\n'; len--)
		;
	log_text(errors, len);
	log_text("...\n", 4);
}

static void say_left_out(const struct err *why)
{
	auto_free char *line = mem_printf("sallyport: answers no longer count: %s\n", why->text);

	log_text(line, strlen(line));
}

static void reload_fail(struct run_reload *reload, const struct run_loaded *loaded,
			const char *errors)
{
	char digest[DIGEST_TEXT_MAX] = "", files[FILES_TEXT_MAX];

	(void)digest_text(loaded->digest, strlen(loaded->digest), errors, strlen(errors), digest);
	if (reload->has_failed && strcmp(digest, reload->failed) == 0)
		return; /* reported already */
	reload->has_failed = true;
	memcpy(reload->failed, digest, sizeof(digest));
	free(reload->errors);
	reload->errors = mem_strdup(errors);
	say_errors(errors);
	gateway_reload(reload->config.gateway,
		       &(struct gateway_reload){
			       .files = compare(reload->config.loaded, loaded, files),
			       .digest = loaded->digest,
			       .errors = errors,
		       });
}

static bool is_within(const char *path, const char *folder)
{
	auto_free char *real = realpath(folder, NULL);
	size_t len = real ? strlen(real) : 0;

	return real && strncmp(path, real, len) == 0 && (path[len] == '/' || len == 1);
}

/* A file that the command may write must not widen what the command may do. A project's file can
 * only narrow it, or has the digest that is trusted. A change of any other file in a writable
 * folder counts from the next run on. (The file itself is read-only for the command, until it is
 * replaced from outside.) Returned owned; NULL: there is no such change. */
static char *find_doubtful(const struct run_reload *reload, const struct run_loaded *loaded)
{
	for (size_t i = 0; i < loaded->file_count; i++) {
		const struct run_file *file = &loaded->files[i];
		const struct run_file *same = find_file(reload->config.loaded, file);

		if (file->layer == POLICY_PROJECT || file->layer == POLICY_TRUSTED ||
		    (same && strcmp(same->digest, file->digest) == 0))
			continue;
		for (char *const *folder = reload->config.writable; *folder; folder++) {
			if (is_within(file->path, *folder))
				return mem_printf("%s: error: the command can write this file, so "
						  "the change takes effect in the next run, if you "
						  "trust it: sallyport policy trust %s\n",
						  file->path, file->path);
		}
	}
	return NULL;
}

static void reload_object(struct run_reload *reload, const struct run_loaded *loaded,
			  const char *objection)
{
	auto_free char *line = mem_printf("error: %s\n", objection);

	reload_fail(reload, loaded, line);
}

/* Takes the content of @loaded. */
static void reload_replace(struct run_reload *reload, struct run_loaded *loaded)
{
	struct policy *policy = take(loaded->policy);
	char files[FILES_TEXT_MAX];
	struct gateway_reload change = {
		.policy = policy,
		.files = compare(reload->config.loaded, loaded, files),
		.digest = loaded->digest,
		.image = loaded->image,
	};

	if (!reload->config.has_prompt_timeout)
		(void)policy_get_prompt_timeout(policy, &change.prompt_timeout_ms);
	if (loaded->left_out.text[0] != '\0')
		say_left_out(&loaded->left_out);
	gateway_reload(reload->config.gateway, &change);
	if (reload->config.on_policy)
		reload->config.on_policy(policy, reload->config.arg);
	policy_free(*reload->config.policy);
	*reload->config.policy = policy;
	run_sources_forget(reload->config.loaded);
	*reload->config.loaded = *loaded;
	*loaded = (struct run_loaded){ 0 };
	reload->has_failed = false;
	free(take(reload->errors));
}

static bool is_same_helper(const struct policy_helper *left, const struct policy_helper *right)
{
	size_t i = 0;

	while (left->argv[i] && right->argv[i] && strcmp(left->argv[i], right->argv[i]) == 0)
		i++;
	return !left->argv[i] && !right->argv[i] && left->kinds == right->kinds &&
	       left->is_reviewer == right->is_reviewer && left->is_trusted == right->is_trusted;
}

/* Programs are found and checked once, before any command runs, so a changed line about them is
 * rejected. Returned owned; NULL: they are the same. */
static char *object_to_programs(const struct policy *before, const struct policy *after,
				unsigned int kinds)
{
	struct policy_helper left, right;
	bool has_left, has_right, is_same = true;

	for (size_t i = 0; is_same; i++) {
		has_left = policy_get_helper(before, kinds, i, &left);
		has_right = policy_get_helper(after, kinds, i, &right);
		is_same = has_left == has_right && (!has_left || is_same_helper(&left, &right));
		if (has_left)
			policy_helper_done(&left);
		if (has_right)
			policy_helper_done(&right);
		if (!has_left && !has_right)
			return NULL;
	}
	return mem_strdup(
		"a hook or a reviewer has changed; the change takes effect at the next start");
}

/* Takes @loaded. */
static void reload_take(struct run_reload *reload, struct run_loaded *loaded)
{
	bool is_same = !reload->has_failed &&
		       (loaded->digest[0] != '\0' || loaded->file_count == 0) &&
		       strcmp(loaded->digest, reload->config.loaded->digest) == 0;

	auto_free char *doubt = find_doubtful(reload, loaded);
	auto_free char *objection =
		loaded->is_good ? run_policy_objection(loaded->policy, reload->config.writable)
				: NULL;

	if (!objection && loaded->is_good)
		objection = object_to_programs(*reload->config.policy, loaded->policy,
					       reload->config.kinds);

	reload_watch(reload, loaded);
	if (!loaded->is_good)
		reload_fail(reload, loaded, loaded->failure);
	else if (doubt)
		reload_fail(reload, loaded, doubt);
	else if (objection)
		reload_object(reload, loaded, objection);
	else if (!is_same)
		reload_replace(reload, loaded);

	run_sources_forget(loaded);
	free(loaded);
	if (reload->has_changed)
		reload_begin(reload);
	else if (reload->config.on_read)
		reload->config.on_read(reload->config.arg);
}

/* The process has failed, not the policy: the policy in force stays until it can be read. */
static void reload_retry(struct run_reload *reload, const char *why)
{
	if (!reload->is_late)
		log_warn("the policy changed, but cannot be read again now (%s); the last good "
			 "one stays in force",
			 why);
	reload->is_late = true;
	loop_timer_start(reload->config.loop, &reload->again, AGAIN_MS, reload_begin, reload);
}

static void on_loaded(struct run_loaded *loaded, const char *why, void *arg)
{
	struct run_reload *reload = arg;

	run_loader_free(take(reload->loader));
	if (!loaded)
		return reload_retry(reload, why);
	reload->is_late = false;
	reload_take(reload, loaded);
}

static void reload_begin(void *arg)
{
	struct run_reload *reload = arg;

	reload->has_changed = false;
	reload->loader =
		run_loader_start(reload->config.loop, reload->config.sources, on_loaded, reload);
}

static void on_change(void *arg)
{
	struct run_reload *reload = arg;

	if (reload->loader || reload->again.is_armed)
		reload->has_changed = true;
	else
		reload_begin(reload);
}

static void on_begin(void *arg)
{
	struct run_reload *reload = arg;

	if (reload->watch)
		return;
	reload->watch = watch_new(reload->config.loop, true, on_change, reload);
	reload_watch(reload, reload->config.loaded);
}

struct run_reload *run_reload_new(const struct run_reload_config *config)
{
	struct run_reload *reload = mem_new(sizeof(*reload));

	reload->config = *config;
	loop_timer_start(config->loop, &reload->begin, BEGIN_MS, on_begin, reload);
	return reload;
}

void run_reload_now(struct run_reload *reload)
{
	on_begin(reload); /* a reading watches what it has read */
	on_change(reload);
}

void run_reload_set_writable(struct run_reload *reload, char *const *writable)
{
	reload->config.writable = writable;
}

const char *run_reload_errors(const struct run_reload *reload)
{
	return reload->errors ? reload->errors : "";
}

void run_reload_free(struct run_reload *reload)
{
	if (!reload)
		return;
	loop_timer_stop(&reload->begin);
	loop_timer_stop(&reload->again);
	run_loader_free(reload->loader);
	watch_free(reload->watch);
	free(reload->errors);
	free(reload);
}
