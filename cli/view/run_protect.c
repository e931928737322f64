#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process/user.h"
#include "cli/cli.h"
#include "cli/view/run_places.h"
#include "cli/run/run_policy.h"
#include "cli/view/run_view.h"

/* Adds the canonical path, once; skips a path that does not exist. */
static void add_named(char ***list, const char *given)
{
	auto_free char *path = given && given[0] == '/' ? realpath(given, NULL) : NULL;

	for (char **at = *list; path && at && *at; at++)
		if (strcmp(*at, path) == 0)
			return;
	if (path)
		mem_append_list(list, take(path));
}

/* "/" is not a home directory: services that need none have it. */
static void add_home(char ***homes, const char *given)
{
	if (given && given[strspn(given, "/")] != '\0')
		add_named(homes, given);
}

/* The home of the user; and all homes, if the command runs as root. */
static char **find_homes(void)
{
	static const char folder[] = "/home";
	struct user user;
	char **homes = NULL;
	const struct dirent *entry;

	add_home(&homes, getenv("HOME"));
	if (user_find(geteuid(), &user))
		add_home(&homes, user.home);
	if (geteuid() != 0)
		return homes;
	add_home(&homes, "/root");
	DIR *directory = opendir(folder);

	while (directory && (entry = readdir(directory)) != NULL) {
		auto_free char *path = mem_printf("%s/%s", folder, entry->d_name);

		if (entry->d_name[0] != '.')
			add_home(&homes, path);
	}
	if (directory)
		(void)closedir(directory);
	return homes;
}

/* "/x", "~/x" and "./x" are one place; "x" is any file of that name, at any depth. NULL: there is
 * no home directory. */
static char *expand(const struct run_places *places, const char *given)
{
	const char *home = getenv("HOME");
	char *path;

	if (given[0] == '~' && (!home || home[0] != '/'))
		return NULL;
	if (given[0] == '~')
		path = mem_printf("%s%s", home, given + 1);
	else if (given[0] == '.' && (given[1] == '/' || given[1] == '\0'))
		path = mem_printf("%s%s", places->cwd, given + 1);
	else
		path = mem_strdup(given);
	for (size_t len = strlen(path); len > 1 && path[len - 1] == '/'; len--)
		path[len - 1] = '\0';
	return path;
}

static int find(const struct policy *policy, const struct run_places *places, enum policy_path what,
		char ***ret)
{
	const char *given;

	for (size_t i = 0; (given = policy_get_path(policy, what, i)) != NULL; i++) {
		char *path = expand(places, given);

		if (!path)
			return cli_fail(
				CLI_ERROR, "HOME is not set, and the policy says %s %s; set HOME",
				what == POLICY_PATH_PROTECT ? "protect" : "unprotect", given);
		mem_append_list(ret, path);
	}
	return CLI_OK;
}

int run_protect_find(struct run_view *view, const struct policy *policy,
		     const struct run_places *places)
{
	int status = find(policy, places, POLICY_PATH_PROTECT, &view->protect);

	if (status == CLI_OK)
		status = find(policy, places, POLICY_PATH_UNPROTECT, &view->unprotect);
	view->homes = find_homes();
	for (char *const *path = view->writable; path && *path; path++)
		add_named(&view->named, *path);
	view->protection = (struct policy_protection){
		.homes = (const char *const *)view->homes,
		.named = (const char *const *)view->named,
		.protect = (const char *const *)view->protect,
		.unprotect = (const char *const *)view->unprotect,
	};
	return status;
}
