#include "cli/policy/policy_layers.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/crypto/digest.h"
#include "base/mem.h"
#include "cli/policy/policy_environment.h"
#include "cli/view/trust_store.h"

#define PROJECT_FILE ".sallyport/policy"

static int is_trusted(const char *path, const void *bytes, size_t len, void *arg)
{
	char text[DIGEST_TEXT_MAX];

	if (digest_text(bytes, len, NULL, 0, text) < 0)
		return POLICY_UNTRUSTED;
	return trust_store_look(arg, path, text);
}

/* A link is not followed here: if it leads nowhere, the file cannot be loaded, which is an error.
 */
static bool exists(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0;
}

static bool exists_below(const char *folder, size_t len, const char *name)
{
	auto_free char *path = mem_printf("%.*s/%s", (int)len, folder, name);

	return exists(path);
}

/* Outside of a repository only the folder itself is searched: other users may own the folders above
 * it. */
static size_t root_len(const char *cwd)
{
	for (size_t len = strlen(cwd); len > 0;) {
		if (exists_below(cwd, len, ".git"))
			return len;
		while (len > 0 && cwd[--len] != '/')
			;
	}
	return strlen(cwd);
}

/* All of them count: a command that may write below must not override a file above with a nearer
 * one. */
char **policy_layers_projects(const char *cwd)
{
	size_t root = root_len(cwd), count = 0;
	char **list = mem_new_array(strlen(cwd) + 1, sizeof(*list)); /* at most one per slash */

	for (size_t len = strlen(cwd); len >= root && len > 0;) {
		if (exists_below(cwd, len, PROJECT_FILE))
			list[count++] = mem_printf("%.*s/%s", (int)len, cwd, PROJECT_FILE);
		while (len > 0 && cwd[--len] != '/')
			;
	}
	return list;
}

char **policy_layers_places(const struct policy_layers *layers)
{
	char *const *const lists[] = { layers->arguments, layers->projects };
	char **list = mem_new_array(mem_count_list(lists[0]) + mem_count_list(lists[1]) + 4,
				    sizeof(*list));
	size_t count = 0;

	list[count++] = mem_strdup(layers->managed ? layers->managed : POLICY_LAYERS_MANAGED);
	if (layers->user)
		list[count++] = mem_strdup(layers->user);
	if (layers->state)
		list[count++] = mem_printf("%s/" TRUST_STORE_TRUSTED, layers->state);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		for (char *const *path = lists[i]; path && *path; path++)
			list[count++] = mem_strdup(*path);
	}
	return list;
}

bool policy_layers_load(struct policy *policy, const struct policy_layers *layers)
{
	const char *managed = layers->managed ? layers->managed : POLICY_LAYERS_MANAGED;
	auto_free_list char **found =
		layers->cwd && !layers->projects ? policy_layers_projects(layers->cwd) : NULL;
	char *const *projects = layers->projects ? layers->projects : found;
	auto_free char *store = trust_store_load(layers->state, TRUST_STORE_TRUSTED);
	struct policy_environment environment;

	policy_set_start(policy, layers->start ? layers->start : time(NULL));
	policy_set_trust(policy, is_trusted, store);
	policy_environment_open(&environment, policy);
	bool is_good = policy_load_folder(policy, managed, POLICY_MANAGED) == 0;

	if (layers->user && access(layers->user, F_OK) == 0)
		is_good &= policy_load_layer(policy, layers->user, POLICY_USER) == 0;
	for (char *const *path = projects; path && *path; path++) {
		if (found || exists(*path))
			is_good &= policy_load_layer(policy, *path, POLICY_PROJECT) == 0;
	}
	for (char *const *path = layers->arguments; path && *path; path++)
		is_good &= policy_load(policy, *path) == 0;
	if (layers->extra)
		is_good &= policy_load_text(policy, layers->extra_name, layers->extra) == 0;
	policy_environment_close(&environment, policy);
	policy_set_trust(policy, NULL, NULL); /* @store is freed */
	return is_good;
}
